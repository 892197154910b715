"""Heatmaps for the browser, in plotly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from core.figures.style import Theme, outline


def heatmap(values: np.ndarray, limit: float, colours: Sequence[str], theme: Theme, *, signed: bool,
            mask: np.ndarray | None = None, pixel: tuple[int, int] | None = None,
            hover: np.ndarray | None = None, hover_names: Sequence[str] = ()) -> go.Figure:
    """One square panel of values (h,w): row 0 on top, zero neutral, crisp pixels.

    Colours run from -limit (``signed``) or 0 to limit. ``mask`` is outlined, ``pixel`` (row, column)
    marked. ``hover (h,w,k)`` gives the numbers shown under the pointer beside their ``hover_names``.
    """
    rows, columns = values.shape
    lines = [f"{name}: %{{customdata[{i}]:.3g}}" for i, name in enumerate(hover_names)]
    traces = [go.Heatmap(
        z=values.astype(np.float32), zmin=-limit if signed else 0.0, zmax=limit, zsmooth=False,
        colorscale=[[i / (len(colours) - 1), colour] for i, colour in enumerate(colours)], showscale=False,
        customdata=None if hover is None else hover.astype(np.float32),
        hovertemplate="<br>".join(["row %{y}, column %{x}", *lines]) + "<extra></extra>")]
    if mask is not None:
        traces.append(_lines(outline(mask), theme.outline, 1.5))
    if pixel is not None:
        row, column = pixel
        corners = [(column + x, row + y) for x, y in ((-.5, -.5), (.5, -.5), (.5, .5), (-.5, .5), (-.5, -.5))]
        traces.append(_lines(list(zip(corners, corners[1:])), "#ff8c00", 2.5))
    axis = {"visible": False, "constrain": "domain", "fixedrange": True}
    return go.Figure(traces, {
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0}, "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)", "showlegend": False, "dragmode": False,
        "hoverlabel": {"font": {"family": "monospace", "size": 12}},
        "xaxis": {**axis, "range": [-0.5, columns - 0.5]},
        "yaxis": {**axis, "range": [rows - 0.5, -0.5], "scaleanchor": "x"}})


def tiles(images: np.ndarray, theme: Theme, labels: Sequence[str], across: int = 3) -> go.Figure:
    """Small pictures (k,h,w) in rows of ``across``, each on its own grey scale with its label below."""
    count, rows, columns = images.shape
    down = -(-count // across)
    gap, line = max(1, columns // 16), max(2, rows // 4)
    sheet = np.full((down * (rows + line), across * (columns + gap) - gap), np.nan, np.float32)
    notes = []
    for i, (image, label) in enumerate(zip(images, labels)):
        top, left = i // across * (rows + line), i % across * (columns + gap)
        sheet[top:top + rows, left:left + columns] = image / (np.abs(image).max() or 1.0)
        notes.append({"x": left + columns / 2 - 0.5, "y": top + rows + line / 2 - 0.5, "text": label,
                      "showarrow": False, "font": {"size": 11, "color": theme.text}})
    figure = heatmap(sheet, 1.0, theme.image, theme, signed=True)
    figure.update_traces(hoverinfo="skip", hovertemplate=None)
    return figure.update_layout(annotations=notes)


def scatter(x: np.ndarray, y: np.ndarray, x_label: str, y_label: str, theme: Theme) -> go.Figure:
    """Points (n,) against each other, with light axes through zero."""
    figure = go.Figure(go.Scatter(x=x, y=y, mode="markers",
                                  marker={"size": 4, "color": theme.outline, "opacity": 0.5},
                                    hovertemplate=f"{x_label} %{{x:.3g}}<br>{y_label} %{{y:.3g}}<extra></extra>"))
    axis = {"zeroline": True, "zerolinecolor": "rgba(128,128,128,.5)", "showgrid": False, "fixedrange": True,
            "tickfont": {"size": 10, "color": theme.text}, "nticks": 4}
    return figure.update_layout(
        margin={"l": 42, "r": 4, "t": 4, "b": 34}, paper_bgcolor="rgba(0,0,0,0)", plot_bgcolor="rgba(0,0,0,0)",
        showlegend=False, dragmode=False, font={"size": 11, "color": theme.text},
        xaxis={**axis, "title": {"text": x_label, "standoff": 4}},
        yaxis={**axis, "title": {"text": y_label, "standoff": 2}})


def _lines(segments: list, colour: str, width: float) -> go.Scatter:
    x = [v for (x0, _), (x1, _) in segments for v in (x0, x1, None)]
    y = [v for (_, y0), (_, y1) in segments for v in (y0, y1, None)]
    return go.Scatter(x=x, y=y, mode="lines", line={"color": colour, "width": width}, hoverinfo="skip")
