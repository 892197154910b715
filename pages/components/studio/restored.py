"""A figure restored from its sidecar: the upload, and what could not be restored."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core import studio
from core.studio import FigureSpec
from core.types import InputError
from pages.components.shared import choices
from pages.components.studio import settings

KEY = "restored_figure"


@dataclass(frozen=True)
class _Restored:
    """What an uploaded sidecar gave: the figure it described, and what is wrong with it."""

    figure: FigureSpec | None
    sidecar: studio.Sidecar | None
    error: str = ""


def upload() -> None:
    """The field for a sidecar, and why one could not be read."""
    st.file_uploader(
        "Restore a figure",
        type=["json"],
        key="sidecar",
        on_change=_read,
        max_upload_size=1,
        help="Drop a figure's sidecar (json) here to restore all its settings.",
    )
    restored: _Restored | None = st.session_state.get(KEY)
    if restored and restored.error:
        st.error(restored.error)


def notices(figure: FigureSpec) -> None:
    """What a sidecar could not restore, as long as its figure is on screen."""
    restored: _Restored | None = st.session_state.get(KEY)
    if restored is None or restored.sidecar is None or restored.figure != figure:
        return
    problems = [*restored.sidecar.notices, *studio.differences(restored.sidecar)]
    for problem in problems:
        st.warning(problem)
    if not problems:
        st.success("Figure restored. Model and data are unchanged.")


def _read() -> None:
    """Puts the choices of an uploaded sidecar into the session, as far as they are valid."""
    file = st.session_state.get("sidecar")
    st.session_state.pop(KEY, None)
    if file is None:
        return
    try:
        sidecar = studio.read(file.getvalue())
        _choose(sidecar.figure)
        st.session_state[KEY] = _Restored(settings.figure(), sidecar)
    except InputError as error:
        st.session_state[KEY] = _Restored(None, None, str(error))


def _choose(figure: FigureSpec) -> None:
    """Makes the choices that describe this figure."""
    state = st.session_state
    choices.choose(figure.rows[0] if figure.rows else choices.spec())
    base = choices.spec()
    preset = studio.preset(figure.kind, base).rows
    state.figure, state.below = figure.kind, list(figure.below)
    state.rows = [] if figure.rows == preset else [studio.row_text(row, base) for row in figure.rows]
    state.columns = [
        studio.column_text(name, dict(options), choices.method_options(name)) for name, options in figure.columns
    ]
    choices.set_method_options(figure.kind, dict(figure.settings))
    layout = figure.layout
    state.width, state.points, state.scale, state.palette = layout.width, layout.points, layout.scale, layout.palette
    state.outline, state.dpi, state.title = layout.outline, layout.dpi, figure.title
    state.row_titles, state.column_titles = " | ".join(figure.row_titles), " | ".join(figure.column_titles)
