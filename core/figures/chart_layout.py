"""The layout that all charts of the browser share: clear ground, quiet axes, no dragging."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.figures.style import Theme

CLEAR = "rgba(0,0,0,0)"
GRID = "rgba(128,128,128,.25)"
ZERO = "rgba(128,128,128,.45)"
ABOVE = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}  # a legend over the chart


def layout(
    theme: Theme,
    x_label: str,
    y_label: str,
    *,
    margin: Sequence[int],
    size: int = 11,
    legend: Mapping[str, Any] | None = None,
    x: Mapping[str, Any] | None = None,
    y: Mapping[str, Any] | None = None,
    **more: Any,
) -> dict:
    """A chart's layout as a plain dictionary, which plotly checks once, when the figure is made.

    ``margin`` is left, right, top, bottom and ``size`` that of all type, in pixels; ``x`` and ``y`` add to the axes,
    ``more`` to the rest. There is a legend when one is given.
    """
    axis = {
        "showgrid": False,
        "zeroline": True,
        "zerolinecolor": ZERO,
        "fixedrange": True,
        "tickfont": {"size": size, "color": theme.text},
    }
    return {
        "margin": dict(zip("lrtb", margin)),
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "dragmode": False,
        "font": {"size": size, "color": theme.text},
        "showlegend": legend is not None,
        "legend": dict(legend or {}),
        "xaxis": {**axis, "title": {"text": x_label, "standoff": 5}, **(x or {})},
        "yaxis": {**axis, "title": {"text": y_label, "standoff": 4}, **(y or {})},
        **more,
    }
