"""The figure on screen, its files and its caption."""

from __future__ import annotations

import base64

import streamlit as st

from core import studio
from core.figures import paper
from core.registry import METHODS
from core.studio import FigureSpec
from pages.components.shared import share
from pages.components.shared.map_panel import small_text
from pages.components.shared.progress import counted
from pages.components.shared.result_panels import BLANK
from pages.components.studio import restored

PREVIEW_DPI = 200
CANCELLED = "cancelled_figure"
ENDINGS = {"pdf": "PDF", "svg": "SVG", "png": "PNG"}


def show(figure: FigureSpec) -> None:
    """The figure, its files and its caption."""
    state = st.session_state
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.segmented_control("File", list(ENDINGS), key="file", required=True, format_func=ENDINGS.get)
        if state.file == "png":
            st.segmented_control("Resolution, dpi", sorted({150, 300, 600, state.dpi}), key="dpi", required=True)
    if state.get(CANCELLED) == figure:
        st.info("Cancelled. What was computed so far is kept.")
        st.button("Resume", on_click=state.pop, args=(CANCELLED,))
        return
    content, picture = _draw(figure)
    _sheet(figure, content, picture)
    restored.notices(figure)
    _files(figure)
    st.markdown("**Caption**", help="A draft with data, SNR, model, accuracy and settings.")
    st.code(content.caption, language=None, wrap_lines=True)


def _draw(figure: FigureSpec) -> tuple[studio.Content, bytes]:
    """The figure's content and its picture for the screen, with progress and Cancel."""
    container = st.empty()
    with container.container():
        bar = st.container()
        # Any button stops the run at its next report of progress; this one also keeps it from starting again.
        st.button(
            "Cancel",
            icon=":material/close:",
            key="cancel_figure",
            on_click=st.session_state.__setitem__,
            args=(CANCELLED, figure),
        )
    with bar, counted() as progress:
        content = studio.content(figure, progress=progress)
        if st.session_state.file == "pdf":
            preview = figure.replace(layout=paper.Layout(**{**figure.layout.to_dict(), "dpi": PREVIEW_DPI}))
        else:
            preview = figure
        picture = studio.draw(preview, _shown_ending(), progress=progress)
    container.empty()
    return content, picture


def _shown_ending() -> str:
    """The format on screen: browsers show no PDF in a page."""
    return "png" if st.session_state.file == "pdf" else st.session_state.file


def _sheet(figure: FigureSpec, content: studio.Content, picture: bytes) -> None:
    """The picture as on paper, and what to know about it."""
    page, alt = figure.layout.page, content.caption.replace('"', "'")
    st.html(
        f"<div class='al-sheet'><img alt=\"{alt}\" style='width:{page.inches * 130:.0f}px' "
        f"src='data:{paper.MIME[_shown_ending()]};base64,{base64.b64encode(picture).decode()}'></div>"
    )
    shown = "the same drawing as PNG" if st.session_state.file == "pdf" else "the file itself"
    small_text(
        f"{page.inches:g} in wide, all text {figure.layout.type_size:g} points, fonts embedded. Shown: {shown}."
    )
    if faint := _faint(content, figure):
        small_text(f"Nearly blank at the shared scale: {', '.join(faint)}. Choose Per panel.")


def _faint(content: studio.Content, figure: FigureSpec) -> list[str]:
    """Methods whose maps are too weak to be seen beside the strongest one."""
    peaks = [(row["method"], row["largest"]) for row in content.table if row.get("largest")]
    if figure.layout.scale != "shared" or not peaks:
        return []
    strongest = max(peak for _, peak in peaks)
    return list(dict.fromkeys(METHODS[name].label for name, peak in peaks if peak < BLANK * strongest))


def _files(figure: FigureSpec) -> None:
    """Buttons that download the figure and its data; a file is built when its button is clicked."""
    name, ending = f"figure_{figure.kind}", st.session_state.file
    files = {
        f"Figure ({ENDINGS[ending]})": (ending, lambda: studio.draw(figure, ending)),
        "Sidecar (json)": ("json", lambda: studio.sidecar(figure, endings=(ending,))),
        "Arrays (npz)": ("npz", lambda: studio.arrays(figure)),
        "Table (csv)": ("csv", lambda: studio.table(figure, "csv")),
        "Table (parquet)": ("parquet", lambda: studio.table(figure, "parquet")),
        "All files (zip)": ("zip", lambda: studio.archive(figure, ending, name)),
    }
    with st.container(horizontal=True, gap="small"):
        for number, (label, (kind, build)) in enumerate(files.items()):
            st.download_button(
                label,
                build,
                f"{name}.{kind}",
                paper.MIME.get(kind, "application/octet-stream"),
                on_click="ignore",
                key=f"download.{kind}.{ending}",
                icon=":material/download:",
                type="primary" if number == 0 else "secondary",
            )
        share.popover(lambda: (f"python -m core figure {name}.json --to {name}.{ending}", _python(figure, ending)))


def _python(figure: FigureSpec, ending: str) -> str:
    """Python that draws the figure."""
    return (
        "from pathlib import Path\n\nfrom core import studio\n\n"
        f"figure, _ = studio.restore({figure.to_dict()!r})\n"
        f'Path("figure.{ending}").write_bytes(studio.draw(figure, "{ending}"))'
    )
