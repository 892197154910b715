"""Maps in the browser: one panel as assets/heatmap.js draws it, and the text around it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.figures import thumbnails
from core.figures.heatmap import FRAME, heatmap, script_and_style
from core.figures.style import DARK, LIGHT, Array, Theme, kind_of, peak, two_sided
from core.types import Attribution
from pages.components.shared import frame

WIDTH = 212  # pixels of one panel: four in a row beside the sidebar on a 1280 pixel screen


@dataclass(frozen=True)
class PanelStyle:
    """How the panels are drawn."""

    scale: str
    outline: bool
    pixel: tuple[int, int] | None
    theme: Theme
    options: bool = True  # whether a method's options can be changed in its panel

    @classmethod
    def chosen(cls) -> PanelStyle:
        """What the reader has chosen."""
        state = st.session_state
        pixel = None if state.row is None or state.column is None else (state.row, state.column)
        return cls(state.scale, state.outline, pixel, DARK if frame.dark() else LIGHT)

    def mask_of(self, attribution: Attribution) -> Array | None:
        """The mask to be outlined, if any."""
        return attribution.mask if self.outline else None


def show(
    panel: dict,
    key: str,
    alt: str,
    *,
    title: str = "",
    below: str = "",
    choose: Callable[[tuple[int, int]], None] | None = None,
) -> None:
    """A panel of core.figures.heatmap with its text alternative, a title above and HTML of our own below it.

    All in one element: a page of twelve maps follows its reader faster. A clicked (row, column) goes to ``choose``.
    """

    def clicked() -> None:
        if pixel := st.session_state[key].pixel:
            choose((int(pixel[0]), int(pixel[1])))

    _component()(
        key=key,
        data={**panel, "alt": alt, "title": title, "below": below, "choose": choose is not None},
        **({"on_pixel_change": clicked} if choose else {}),
    )


@functools.cache
def _component() -> Callable:
    script, style = script_and_style()
    return st.components.v2.component("attribution_lab_map", html=FRAME, js=script, css=style, isolate_styles=False)


def mark(pixel: tuple[int, int]) -> None:
    """Marks a clicked pixel in all maps, or unmarks it."""
    state = st.session_state
    state.row, state.column = (None, None) if pixel == (state.row, state.column) else pixel


def image_panel(image: Array, style: PanelStyle, **more: Any) -> dict:
    """The panel of an image ``(h,w)`` in greys; where it has negative values, zero is the middle grey."""
    return heatmap(image, peak(image), "image", style.theme, **more)


def map_panel(
    attribution: Attribution, values: Array, limit: float, style: PanelStyle, pixel: tuple[int, int] | None = None
) -> dict:
    """The panel of an attribution that shows ``values (h,w)``, with ``limit`` in full colour."""
    return heatmap(values, limit, kind_of(attribution), style.theme, mask=style.mask_of(attribution), pixel=pixel)


def show_signed(values: Array, style: PanelStyle, key: str, alt: str, **more: Any) -> None:
    """Shows a signed map ``(h,w)`` with its largest |value| in full colour."""
    show(heatmap(values, peak(values), "signed", style.theme, pixel=style.pixel, **more), key, alt)


def thumbnail(values: Array, kind: str, theme: Theme, mask: Array | None = None) -> str:
    """The address of a small picture of values ``(h,w)``, for HTML of our own."""
    return thumbnails.address(
        thumbnails.picture(values, theme.colours(kind), theme, signed=two_sided(kind, values), mask=mask)
    )


def panel_title(text: str) -> None:
    """A panel's heading."""
    st.html(f"<div class='al-title' title='{text}'>{text}</div>")


def small_text(content: str) -> None:
    """Small grey HTML under a panel."""
    st.html(f"<div class='al-quiet'>{content}</div>")
