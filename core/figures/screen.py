"""Charts for the browser, in plotly: the map of regions, curves, errors, points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from core.figures.chart_layout import ABOVE, GRID, layout
from core.figures.style import Theme, region_borders

MARKS = "#064d2b"  # on cividis, whose light end is nearly the themes' own outline


def region_map(
    at: np.ndarray,
    cosine: np.ndarray,
    margin: np.ndarray,
    region: np.ndarray | None,
    radii: Sequence[tuple[float, bool]],
    theme: Theme,
    samples: tuple[np.ndarray, np.ndarray] | None = None,
) -> go.Figure:
    """Cosine (k,k) to the image's own weights over a plane with coordinates ``at (k,)``; the image is at 0, 0.

    Colours run from the lowest cosine (at most .99) to 1. The class border is where margin is 0; borders of
    ``region`` numbers are drawn when given; ``radii`` are the tried radii, accepted ones bold; ``samples`` the test
    points (k,2) with whether each lies in the image's region (dots) or in another (open squares).
    """
    step = at[1] - at[0]
    traces: list = [
        go.Heatmap(
            x=at,
            y=at,
            z=cosine.astype(np.float32),
            customdata=margin.astype(np.float32),
            zsmooth=False,
            zmin=min(float(np.nanmin(cosine)), 0.99),
            zmax=1,
            colorscale=[[i / (len(theme.magnitude) - 1), colour] for i, colour in enumerate(theme.magnitude)],
            colorbar={
                "thickness": 10,
                "tickfont": {"color": theme.text},
                "outlinewidth": 0,
                "title": {"text": "cosine", "font": {"color": theme.text}},
            },
            hovertemplate="cosine %{z:.3f}<br>margin %{customdata:.3g}<extra></extra>",
        )
    ]
    if region is not None:
        traces.append(_lines(region_borders(region, at), "rgba(255,255,255,.55)", 0.8))
    if (margin > 0).any() and (margin < 0).any():
        traces.append(
            go.Contour(
                x=at,
                y=at,
                z=margin,
                contours={"start": 0, "end": 0, "size": 1, "coloring": "none"},
                line={"color": "#ffffff", "width": 2.5, "dash": "dash"},
                showscale=False,
                hoverinfo="skip",
            )
        )
    turn = np.linspace(0, 2 * np.pi, 73)
    for radius, accepted in radii:
        if step / 4 < radius <= at[-1]:
            traces.append(
                go.Scatter(
                    x=radius * np.cos(turn),
                    y=radius * np.sin(turn),
                    mode="lines",
                    hoverinfo="skip",
                    line={"color": MARKS, "width": 3 if accepted else 1},
                )
            )
    for inside, symbol in ((True, "circle"), (False, "square-open")) if samples else ():
        x, y = samples[0][(samples[1] == inside) & (np.abs(samples[0]) <= at[-1]).all(1)].T
        traces.append(
            go.Scatter(
                x=x, y=y, mode="markers", hoverinfo="skip", marker={"color": MARKS, "size": 5, "symbol": symbol}
            )
        )
    traces.append(
        go.Scatter(x=[0], y=[0], mode="markers", hoverinfo="skip", marker={"color": MARKS, "size": 9, "symbol": "x"})
    )
    axis = {"zeroline": False, "nticks": 5, "constrain": "domain"}
    return go.Figure(
        traces,
        layout(
            theme,
            "towards the nearest image",
            "towards one of another class",
            margin=(40, 4, 6, 36),
            x=axis,
            y={**axis, "scaleanchor": "x"},
        ),
    )


def curves(
    x: np.ndarray,
    lines: Mapping[str, np.ndarray],
    x_label: str,
    y_label: str,
    theme: Theme,
    marks: Sequence[float] = (),
    strong_marks: Sequence[float] = (),
) -> go.Figure:
    """Named curves over x (k,), told apart by dash as well as colour; thin and dashed upright lines at the marks."""
    colours, dashes = (theme.outline, "#4393c3", "#d6604d", "#948e77"), ("solid", "dash", "dot", "dashdot")
    traces = [
        go.Scatter(
            x=x,
            y=y,
            name=name,
            mode="lines",
            line={"color": c, "dash": d, "width": 2.5},
            hovertemplate=f"{name} %{{y:.3f}}<extra></extra>",
        )
        for (name, y), c, d in zip(lines.items(), colours, dashes)
    ]
    upright = [
        {
            "type": "line",
            "x0": m,
            "x1": m,
            "y0": 0,
            "y1": 1,
            "yref": "paper",
            "line": {"color": "rgba(128,128,128,.45)", "width": 1},
        }
        for m in marks
    ]
    upright += [
        {
            "type": "line",
            "x0": m,
            "x1": m,
            "y0": 0,
            "y1": 1,
            "yref": "paper",
            "line": {"color": theme.text, "width": 2, "dash": "dash"},
        }
        for m in strong_marks
    ]
    return go.Figure(
        traces,
        layout(theme, x_label, y_label, margin=(50, 4, 6, 40), legend=ABOVE, shapes=upright, hovermode="x unified"),
    )


def errors(rows: Sequence[tuple[str, float, float]], theme: Theme) -> go.Figure:
    """Relative errors (method, h, error) on a logarithmic axis, a line a method, a symbol a distance h."""
    names = list(dict.fromkeys(name for name, _, _ in rows))
    traces = []
    for h, symbol in zip(dict.fromkeys(h for _, h, _ in rows if not np.isnan(h)), ("circle", "square", "diamond")):
        x, y = [e for _, at, e in rows if at == h], [n for n, at, _ in rows if at == h]
        traces.append(
            go.Scatter(
                x=x,
                y=y,
                mode="markers",
                name=f"h = {h:g}",
                marker={"symbol": symbol, "size": 12, "color": "#4393c3"},
                hovertemplate="%{y}, " + f"h = {h:g}: " + "%{x:.1e}<extra></extra>",
            )
        )
    x, y = [e for _, at, e in rows if np.isnan(at)], [n for n, at, _ in rows if np.isnan(at)]
    traces.append(
        go.Scatter(
            x=x,
            y=y,
            mode="markers",
            name="no h needed",
            marker={"symbol": "star", "size": 15, "color": theme.outline},
            hovertemplate="%{y}: %{x:.1e}<extra></extra>",
        )
    )
    axis = {"zeroline": False, "showgrid": True, "gridcolor": GRID}
    return go.Figure(
        traces,
        layout(
            theme,
            "relative L1 error",
            "",
            margin=(110, 10, 6, 44),
            size=12,
            legend=ABOVE,
            x={**axis, "type": "log", "exponentformat": "power"},
            y={**axis, "categoryorder": "array", "categoryarray": names[::-1]},
        ),
    )


def scatter(x: np.ndarray, y: np.ndarray, x_label: str, y_label: str, theme: Theme) -> go.Figure:
    """Points (n,) against each other, with light axes through zero."""
    points = go.Scatter(
        x=x,
        y=y,
        mode="markers",
        marker={"size": 4, "color": theme.outline, "opacity": 0.5},
        hovertemplate=f"{x_label} %{{x:.3g}}<br>{y_label} %{{y:.3g}}<extra></extra>",
    )
    return go.Figure(points, layout(theme, x_label, y_label, margin=(42, 4, 4, 34), x={"nticks": 4}, y={"nticks": 4}))


def _lines(segments: list, colour: str, width: float) -> go.Scatter:
    x = [v for (x0, _), (x1, _) in segments for v in (x0, x1, None)]
    y = [v for (_, y0), (_, y1) in segments for v in (y0, y1, None)]
    return go.Scatter(x=x, y=y, mode="lines", line={"color": colour, "width": width}, hoverinfo="skip")
