"""Maps in the browser: one panel as assets/heatmap.js draws it, and the words around it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import streamlit as st

from core.figures.heatmap import FRAME, heatmap, program
from core.figures.style import DARK, LIGHT, Theme
from pages.components.shared import frame

WIDTH = 212  # pixels of one panel: four in a row beside the sidebar on a 1280 pixel screen


@dataclass(frozen=True)
class View:
    """How the panels are drawn."""

    scale: str
    outline: bool
    pixel: tuple[int, int] | None
    theme: Theme
    options: bool = True  # whether a method's options can be changed in its panel

    @classmethod
    def chosen(cls) -> View:
        state = st.session_state
        pixel = None if state.row is None or state.column is None else (state.row, state.column)
        return cls(state.scale, state.outline, pixel, DARK if frame.dark() else LIGHT)


def show(panel: dict, key: str, alt: str, *, title: str = "", below: str = "",
         choose: Callable[[tuple[int, int]], None] | None = None) -> None:
    """A panel of core.figures.heatmap with its text alternative, a title above and HTML of our own below it.

    All in one element: a page of twelve maps follows its reader faster. A clicked (row, column) goes to ``choose``.
    """
    def clicked() -> None:
        if at := st.session_state[key].pixel:
            choose((int(at[0]), int(at[1])))

    _component()(key=key, data={**panel, "alt": alt, "title": title, "below": below, "choose": choose is not None},
                 **({"on_pixel_change": clicked} if choose else {}))


@functools.cache
def _component() -> Callable:
    script, style = program()
    return st.components.v2.component("attribution_lab_map", html=FRAME, js=script, css=style, isolate_styles=False)


def mark(at: tuple[int, int]) -> None:
    """Marks a clicked pixel in all maps; the marked one is unmarked."""
    state = st.session_state
    state.row, state.column = (None, None) if at == (state.row, state.column) else at


def photograph(image: np.ndarray, view: View, **more) -> dict:
    """The panel of an image (h,w) in greys; zero is the middle one where there are negative values."""
    peak = float(np.abs(image).max()) or 1.0
    return heatmap(image, peak, view.theme.image, view.theme, signed=bool(image.min() < 0), **more)


def signed(values: np.ndarray, view: View, key: str, alt: str, **more) -> None:
    """Shows a signed map (h,w), divided by its largest value."""
    limit = float(np.abs(values).max()) or 1.0
    show(heatmap(values, limit, view.theme.signed, view.theme, signed=True, pixel=view.pixel, **more), key, alt)


def plot(figure, key: str, alt: str) -> None:
    """A square plotly chart as wide as a map, with a text alternative."""
    st.plotly_chart(figure, key=key, alt=alt, theme=None, height=WIDTH, config={"displayModeBar": False})


def title(text: str) -> None:
    """A panel's heading."""
    st.html(f"<div class='al-title' title='{text}'>{text}</div>")


def say(text: str) -> None:
    """Quiet words under a panel."""
    st.html(f"<div class='al-quiet'>{text}</div>")
