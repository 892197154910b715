"""What the figure shows and how it looks."""

from __future__ import annotations

import streamlit as st

from core import studio
from core.figures import paper
from core.figures.style import PALETTES, SCALES
from core.registry import METHODS, METRICS
from core.studio import FIGURES, FigureSpec
from pages.components.shared import choices, controls, fields


def figure() -> FigureSpec:
    """The figure that the choices describe."""
    state, base = st.session_state, choices.spec()
    kind = state.figure
    preset = studio.preset(kind, base)
    columns = state.columns or ["image", "truth", *state.methods]
    options = {method: choices.method_options(method) for method in METHODS}
    return preset.replace(
        rows=tuple(studio.read_row(text, base) for text in state.rows) or preset.rows,
        columns=tuple(studio.read_column(text, options) for text in columns)
        if studio.FIGURES[kind].has_columns
        else (),
        settings=tuple(choices.method_options(kind).items()),
        below=tuple(state.below),
        layout=paper.Layout(state.width, state.points, state.scale, state.palette, state.outline, state.dpi),
        title=state.title,
        row_titles=_titles(state.row_titles),
        column_titles=_titles(state.column_titles),
    )


def _titles(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split("|")) if text.strip() else ()


def choose_content() -> None:
    """Kind of figure, rows, columns, and what is written below the maps."""
    state = st.session_state
    st.selectbox(
        "Figure", list(FIGURES), key="figure", format_func=lambda name: FIGURES[name].label, on_change=_clear_rows
    )
    entry = FIGURES[state.figure]
    st.caption(f"{entry.summary} {entry.reference}.")
    if studio.FIGURES[state.figure].needs_model:
        _rows()
    if studio.FIGURES[state.figure].has_columns:
        _columns()
        st.multiselect(
            "Below each map",
            fields.below(),
            key="below",
            wrap=True,
            format_func=lambda name: METRICS[name].label if name in METRICS else "Largest value",
        )
    given = entry.check(choices.method_options(entry.name))
    if entry.options:
        values = {
            o.name: controls.option_widget(f"{entry.name}.{o.name}={given[o.name]}", o, given[o.name])
            for o in entry.options
        }
        if values != given:
            choices.set_method_options(entry.name, values)
            st.rerun()


def _clear_rows() -> None:
    st.session_state.rows = []


def _rows() -> None:
    base, state = choices.spec(), st.session_state
    offered = list(dict.fromkeys([*state.rows, *studio.suggested_rows(base)]))

    def add(more: list[str]) -> None:
        state.rows = list(dict.fromkeys([*state.rows, *more]))

    st.multiselect(
        "Rows",
        offered,
        key="rows",
        format_func=studio.row_label,
        accept_new_options=True,
        wrap=True,
        placeholder="The image chosen on Compare",
        help="One row each, in this order. A number adds that test image; other data are written as in "
        "image=3,scenario=LIN,snr=0.05.",
    )
    last = studio.read_row(state.rows[-1], base) if state.rows else base
    with st.container(horizontal=True, gap="small"):
        rows = state.rows or [studio.row_text(base, base)]
        st.button(
            "Add an image",
            icon=":material/add:",
            on_click=add,
            type="tertiary",
            args=([*rows, studio.row_text(last.replace(image=last.image + 1), base)],),
        )
        st.button(
            "Every scenario",
            icon=":material/grid_on:",
            on_click=add,
            type="tertiary",
            args=(studio.scenarios(base),),
            help="One row for each scenario and background with a trained model.",
        )


def _columns() -> None:
    state = st.session_state
    plain = ["image", "truth", *METHODS]
    st.multiselect(
        "Columns",
        list(dict.fromkeys([*state.columns, *plain])),
        key="columns",
        wrap=True,
        accept_new_options=True,
        format_func=studio.column_label,
        placeholder="Those of Compare",
        help="If none is chosen: image, ground truth and the methods of Compare. A method has the options "
        "chosen for it on Compare. The same method with other options is written as in "
        "patternlocal:surrogate=lime,count=500.",
    )


def choose_look() -> None:
    """Width, colours, type and titles."""
    state = st.session_state
    st.segmented_control(
        "Width",
        list(paper.WIDTHS),
        key="width",
        required=True,
        width="stretch",
        format_func=str.capitalize,
        help="; ".join(w.label for w in paper.WIDTHS.values()),
    )
    if studio.FIGURES[state.figure].needs_model:
        st.segmented_control(
            "Colour scale",
            list(SCALES),
            key="scale",
            required=True,
            width="stretch",
            format_func=controls.WORDS.get,
            help=" ".join(f"**{controls.WORDS[name]}**: {text}." for name, text in SCALES.items()),
        )
    st.selectbox(
        "Colours",
        list(PALETTES),
        key="palette",
        format_func=lambda name: PALETTES[name].label,
        help="Colour-blind readers can distinguish all of them.",
    )
    if studio.FIGURES[state.figure].has_columns:
        st.toggle("Outline of the important pixels", key="outline")
    with st.expander("Type and titles"):
        st.number_input(
            "Size of all text, points",
            0.0,
            32.0,
            step=0.5,
            key="points",
            help=f"0: the usual size for this width, {paper.WIDTHS[state.width].points:g} points.",
        )
        st.text_input("Title", key="title", max_chars=300)
        st.text_input(
            "Row titles",
            key="row_titles",
            max_chars=300,
            placeholder="made from the rows",
            help="One for each row, separated by |",
        )
        st.text_input(
            "Column titles",
            key="column_titles",
            max_chars=300,
            placeholder="made from the columns",
            help="One for each column, separated by |",
        )
