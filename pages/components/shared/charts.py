"""Plotly charts in the browser: no toolbar, our own colours, always with a text alternative."""

from __future__ import annotations

from typing import Any

import streamlit as st

EMPTY = {
    "data": [{"type": "scatter", "x": [0], "y": [0], "visible": False}],
    "layout": {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "xaxis": {"visible": False},
        "yaxis": {"visible": False},
    },
}


def draw_chart(
    figure: Any, key: str, alt: str | None, height: int, *, width: int | str = "stretch", container: Any = st
) -> None:
    """Draws a plotly figure, ``height`` (and ``width``) in pixels, on the page or in a container."""
    container.plotly_chart(
        figure, key=key, alt=alt, theme=None, height=height, width=width, config={"displayModeBar": False}
    )


def fetch_charts() -> None:
    """Draws an empty chart, for which the browser loads plotly before the reader chooses a view with a chart."""
    draw_chart(EMPTY, "fetch.charts", None, 1)
