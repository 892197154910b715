"""The Figure studio: what stands in the figure, how it looks, the figure itself, and the files to take away."""

from __future__ import annotations

import base64
from dataclasses import dataclass

import streamlit as st

from core import pipeline, studio
from core.figures import paper
from core.figures.style import PALETTES, SCALES
from core.registry import METHODS, METRICS
from core.studio import FIGURES, FigureSpec
from core.types import InputError
from pages.components.shared import choices, controls, fields, image_page, share
from pages.components.shared.map_panel import say
from pages.components.shared.progress import counted
from pages.components.shared.result_panels import BLANK

PREVIEW_DPI = 200
RESTORED, CANCELLED = "restored_figure", "cancelled_figure"
ENDINGS = {"pdf": "PDF", "svg": "SVG", "png": "PNG"}


def page() -> None:
    """The figure and its files; what it shows and how it looks beside it."""
    choices.restore()
    top = st.container()
    controls.data_and_model()
    saved = st.sidebar.container()
    sheet, settings = st.columns([5, 2], gap="large")
    with image_page.told(sheet), pipeline.same_networks():
        with settings:
            _content()
            _look()
            _restore()
        image_page.settle(top, saved)
        _show(chosen())


def chosen() -> FigureSpec:
    """The figure that the choices describe."""
    state, base = st.session_state, choices.spec()
    kind = state.figure
    figure = studio.preset(kind, base)
    columns = state.columns or ["image", "truth", *state.methods]
    options = {method: choices.method_options(method) for method in METHODS}
    return figure.replace(
        rows=tuple(studio.read_row(text, base) for text in state.rows) or figure.rows,
        columns=tuple(studio.read_column(text, options) for text in columns) if kind == "maps" else (),
        settings=tuple(choices.method_options(kind).items()), below=tuple(state.below),
        layout=paper.Layout(state.width, state.points, state.scale, state.palette, state.outline, state.dpi),
        title=state.title, row_titles=_titles(state.row_titles), column_titles=_titles(state.column_titles))


def _titles(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split("|")) if text.strip() else ()


def _content() -> None:
    """Kind of figure, rows, columns, and what stands below the maps."""
    state = st.session_state
    st.selectbox("Figure", list(FIGURES), key="figure", format_func=lambda n: FIGURES[n].label,
                 on_change=_forget_rows)
    entry = FIGURES[state.figure]
    st.caption(f"{entry.summary} {entry.reference}.")
    if state.figure == "maps":
        _rows()
        _columns()
        st.multiselect("Below each map", fields.BELOW, key="below", wrap=True,
                       format_func=lambda n: METRICS[n].label if n in METRICS else "Largest value")
    elif state.figure == "regions":
        _rows()
    given = entry.check(choices.method_options(entry.name))
    if entry.options:
        values = {o.name: controls.option_widget(f"{entry.name}.{o.name}={given[o.name]}", o, given[o.name])
                  for o in entry.options}
        if values != given:
            choices.set_method_options(entry.name, values)
            st.rerun()


def _forget_rows() -> None:
    st.session_state.rows = []


def _rows() -> None:
    base, state = choices.spec(), st.session_state
    offered = list(dict.fromkeys([*state.rows, *studio.suggested_rows(base)]))

    def add(more: list[str]) -> None:
        state.rows = list(dict.fromkeys([*state.rows, *more]))

    st.multiselect("Rows", offered, key="rows", format_func=studio.row_label, accept_new_options=True, wrap=True,
                   placeholder="The image of Compare",
                   help="One row each, in this order. A number adds that test image; other data is written like "
                   "image=3,scenario=LIN,snr=0.05.")
    last = studio.read_row(state.rows[-1], base) if state.rows else base
    with st.container(horizontal=True, gap="small"):
        started = state.rows or [studio.row_text(base, base)]
        st.button("Add an image", icon=":material/add:", on_click=add, type="tertiary",
                  args=([*started, studio.row_text(last.replace(image=last.image + 1), base)],))
        st.button("Every scenario", icon=":material/grid_on:", on_click=add, type="tertiary",
                  args=(studio.scenarios(base),),
                  help="One row for each scenario and background with a trained model.")


def _columns() -> None:
    state = st.session_state
    plain = ["image", "truth", *METHODS]
    st.multiselect("Columns", list(dict.fromkeys([*state.columns, *plain])), key="columns", wrap=True,
                   accept_new_options=True,
                   format_func=studio.column_label, placeholder="Those of Compare",
                   help="Nothing chosen: image, truth and the methods of Compare. A method takes the options chosen "
                   "for it on Compare. The same method with others is written like "
                   "patternlocal:surrogate=lime,count=500.")


def _look() -> None:
    """Width, type, colours and titles."""
    state = st.session_state
    st.segmented_control("Width", list(paper.WIDTHS), key="width", required=True, width="stretch",
                         format_func=str.capitalize,
                         help="; ".join(w.label for w in paper.WIDTHS.values()))
    if state.figure in ("maps", "regions"):
        st.segmented_control("Colour scale", list(SCALES), key="scale", required=True, width="stretch",
                             format_func=controls.WORDS.get,
                             help=" ".join(f"**{controls.WORDS[n]}**: {text}." for n, text in SCALES.items()))
    st.selectbox("Colours", list(PALETTES), key="palette", format_func=lambda n: PALETTES[n].label,
                 help="All can be told apart by colour-blind readers.")
    if state.figure == "maps":
        st.toggle("Outline of the important pixels", key="outline")
    with st.expander("Type and titles"):
        st.number_input("Size of all text, points", 0.0, 32.0, step=0.5, key="points",
                        help=f"0: as usual for the width, {paper.WIDTHS[state.width].points:g} points.")
        st.text_input("Title", key="title", max_chars=300)
        st.text_input("Row titles", key="row_titles", max_chars=300, placeholder="made from the rows",
                      help="One for each row, separated by |")
        st.text_input("Column titles", key="column_titles", max_chars=300, placeholder="made from the columns",
                      help="One for each column, separated by |")


@dataclass(frozen=True)
class _Restored:
    """What an uploaded sidecar gave: the figure it described, and what is wrong with it."""

    figure: FigureSpec | None
    found: studio.Sidecar | None
    error: str = ""


def _restore() -> None:
    st.file_uploader("Bring a figure back", type=["json"], key="sidecar", on_change=_upload, max_upload_size=1,
                     help="Drop the json file of a figure here: all its settings return.")
    restored: _Restored | None = st.session_state.get(RESTORED)
    if restored and restored.error:
        st.error(restored.error)


def _upload() -> None:
    """Puts the choices of an uploaded sidecar into the session, as far as they make sense."""
    file = st.session_state.get("sidecar")
    st.session_state.pop(RESTORED, None)
    if file is None:
        return
    try:
        found = studio.read(file.getvalue())
        _choose(found.figure)
        st.session_state[RESTORED] = _Restored(chosen(), found)
    except InputError as error:
        st.session_state[RESTORED] = _Restored(None, None, str(error))


def _choose(figure: FigureSpec) -> None:
    """Sets every choice so that ``chosen()`` is this figure."""
    state = st.session_state
    base = figure.rows[0] if figure.rows else choices.spec()
    choices.choose(base)
    base = choices.spec()
    plain = studio.preset(figure.kind, base).rows
    state.figure, state.below = figure.kind, list(figure.below)
    state.rows = [] if figure.rows == plain else [studio.row_text(r, base) for r in figure.rows]
    state.columns = [studio.column_text(n, dict(o), choices.method_options(n)) for n, o in figure.columns]
    choices.set_method_options(figure.kind, dict(figure.settings))
    layout = figure.layout
    state.width, state.points, state.scale, state.palette = layout.width, layout.points, layout.scale, layout.palette
    state.outline, state.dpi, state.title = layout.outline, layout.dpi, figure.title
    state.row_titles, state.column_titles = " | ".join(figure.row_titles), " | ".join(figure.column_titles)


def _show(figure: FigureSpec) -> None:
    """The figure, its files and its caption."""
    state = st.session_state
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.segmented_control("File", list(ENDINGS), key="file", required=True, format_func=ENDINGS.get)
        if state.file == "png":
            st.segmented_control("Resolution, dpi", sorted({150, 300, 600, state.dpi}), key="dpi", required=True)
    if state.get(CANCELLED) == figure:
        st.info("Cancelled. What was computed is kept.")
        st.button("Go on", on_click=state.pop, args=(CANCELLED,))
        return
    ending, place = state.file, st.empty()
    shown = "png" if ending == "pdf" else ending
    preview = figure.replace(layout=paper.Layout(**{**figure.layout.to_dict(), "dpi": PREVIEW_DPI})) \
        if ending == "pdf" else figure

    with place.container():
        bar = st.container()
        # Pressing any button stops the run at its next word of progress; this one also keeps it from starting again.
        st.button("Cancel", icon=":material/close:", key="cancel_figure", on_click=state.__setitem__,
                  args=(CANCELLED, figure))
    with bar, counted() as tell:
        content = studio.content(figure, progress=tell)
        picture = studio.draw(preview, shown, progress=tell)
    place.empty()
    page = figure.layout.page
    st.html(f"<div class='al-sheet'><img alt=\"{_alt(figure)}\" style='width:{page.inches * 130:.0f}px' "
            f"src='data:{paper.MIME[shown]};base64,{base64.b64encode(picture).decode()}'></div>")
    say(f"{page.inches:g} in wide, all text {figure.layout.type_size:g} points, fonts embedded. Shown: "
        + ("the same drawing as PNG." if ending == "pdf" else "the file itself."))
    if faint := _faint(content, figure):
        say(f"Nearly blank at the shared scale: {', '.join(faint)}. Choose Per panel.")
    _notices(figure)
    _files(figure, ending)
    st.markdown("**Caption**", help="A draft: data, SNR, model, accuracy and settings are all in it.")
    st.code(content.caption, language=None, wrap_lines=True)


def _faint(content: studio.Content, figure: FigureSpec) -> list[str]:
    """Methods whose maps are too weak to be seen beside the strongest one."""
    sizes = [(t["method"], t["largest"]) for t in content.table if t.get("largest")]
    if figure.layout.scale != "shared" or not sizes:
        return []
    strongest = max(size for _, size in sizes)
    return list(dict.fromkeys(METHODS[name].label for name, size in sizes if size < BLANK * strongest))


def _alt(figure: FigureSpec) -> str:
    """What the figure shows, in a sentence."""
    return studio.content(figure).caption.replace('"', "'")


def _notices(figure: FigureSpec) -> None:
    """What an uploaded sidecar could not restore, as long as its figure is on screen."""
    restored: _Restored | None = st.session_state.get(RESTORED)
    if restored is None or restored.found is None or restored.figure != figure:
        return
    problems = [*restored.found.notices, *studio.differences(restored.found)]
    for notice in problems:
        st.warning(notice)
    if not problems:
        st.success("The figure is back, from the same model and data.")


def _files(figure: FigureSpec, ending: str) -> None:
    """Everything that can be taken away; a file is built when asked for."""
    name = f"figure_{figure.kind}"
    files = {
        f"Figure ({ENDINGS[ending]})": (ending, lambda: studio.draw(figure, ending)),
        "Sidecar (json)": ("json", lambda: studio.sidecar(figure, endings=(ending,))),
        "Arrays (npz)": ("npz", lambda: studio.arrays(figure)),
        "Table (csv)": ("csv", lambda: studio.table(figure, "csv")),
        "Table (parquet)": ("parquet", lambda: studio.table(figure, "parquet")),
        "All of it (zip)": ("zip", lambda: studio.archive(figure, ending, name))}
    with st.container(horizontal=True, gap="small"):
        for i, (label, (kind, build)) in enumerate(files.items()):
            st.download_button(label, build, f"{name}.{kind}", paper.MIME.get(kind, "application/octet-stream"),
                               on_click="ignore", key=f"download.{kind}.{ending}", icon=":material/download:",
                               type="primary" if i == 0 else "secondary")
        share.popover(lambda: (f"python -m core figure {name}.json --to {name}.{ending}", _python(figure, ending)))


def _python(figure: FigureSpec, ending: str) -> str:
    """Python that draws the figure."""
    return ("from pathlib import Path\n\nfrom core import studio\n\n"
            f"figure, _ = studio.restore({figure.to_dict()!r})\n"
            f'Path("figure.{ending}").write_bytes(studio.draw(figure, "{ending}"))')
