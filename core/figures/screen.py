"""Charts for the browser, in plotly: the map of regions, curves, errors, points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from core.figures.style import Theme

MARKS = "#064d2b"  # on cividis, whose light end is nearly the themes' own outline


def region_map(at: np.ndarray, cosine: np.ndarray, margin: np.ndarray, region: np.ndarray | None,
               radii: Sequence[tuple[float, bool]], theme: Theme,
               samples: tuple[np.ndarray, np.ndarray] | None = None) -> go.Figure:
    """Cosine (k,k) to the image's own weights over a plane with coordinates ``at (k,)``; the image is at 0, 0.

    Colours run from the lowest cosine (at most .99) to 1. The class border is where margin is 0; borders of
    ``region`` numbers are drawn when given; ``radii`` are the tried radii, accepted ones bold; ``samples`` the test
    points (k,2) with whether each lies in the image's region (dots) or in another (open squares).
    """
    step = at[1] - at[0]
    traces: list = [go.Heatmap(
        x=at, y=at, z=cosine.astype(np.float32), customdata=margin.astype(np.float32), zsmooth=False,
        zmin=min(float(np.nanmin(cosine)), 0.99), zmax=1,
        colorscale=[[i / (len(theme.magnitude) - 1), colour] for i, colour in enumerate(theme.magnitude)],
        colorbar={"thickness": 10, "tickfont": {"color": theme.text}, "outlinewidth": 0,
                  "title": {"text": "cosine", "font": {"color": theme.text}}},
        hovertemplate="cosine %{z:.3f}<br>margin %{customdata:.3g}<extra></extra>")]
    if region is not None:
        across, down = np.diff(region, axis=1) != 0, np.diff(region, axis=0) != 0
        half = step / 2
        borders = [((at[c] + half, at[r] - half), (at[c] + half, at[r] + half)) for r, c in np.argwhere(across)]
        borders += [((at[c] - half, at[r] + half), (at[c] + half, at[r] + half)) for r, c in np.argwhere(down)]
        traces.append(_lines(borders, "rgba(255,255,255,.55)", 0.8))
    if (margin > 0).any() and (margin < 0).any():
        traces.append(go.Contour(x=at, y=at, z=margin, contours={"start": 0, "end": 0, "size": 1, "coloring": "none"},
                                 line={"color": "#ffffff", "width": 2.5, "dash": "dash"}, showscale=False,
                                 hoverinfo="skip"))
    turn = np.linspace(0, 2 * np.pi, 73)
    for radius, accepted in radii:
        if step / 4 < radius <= at[-1]:
            traces.append(go.Scatter(x=radius * np.cos(turn), y=radius * np.sin(turn), mode="lines", hoverinfo="skip",
                                     line={"color": MARKS, "width": 3 if accepted else 1}))
    for inside, symbol in ((True, "circle"), (False, "square-open")) if samples else ():
        x, y = samples[0][(samples[1] == inside) & (np.abs(samples[0]) <= at[-1]).all(1)].T
        traces.append(go.Scatter(x=x, y=y, mode="markers", hoverinfo="skip",
                                 marker={"color": MARKS, "size": 5, "symbol": symbol}))
    traces.append(go.Scatter(x=[0], y=[0], mode="markers", hoverinfo="skip",
                             marker={"color": MARKS, "size": 9, "symbol": "x"}))
    axis = {"showgrid": False, "zeroline": False, "fixedrange": True, "nticks": 5,
            "tickfont": {"size": 10, "color": theme.text}, "constrain": "domain"}
    return go.Figure(traces, {
        "margin": {"l": 40, "r": 4, "t": 6, "b": 36}, "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)", "showlegend": False, "dragmode": False, "font": {"color": theme.text},
        "xaxis": {**axis, "title": {"text": "towards the nearest image", "font": {"size": 11}}},
        "yaxis": {**axis, "title": {"text": "towards one of another class", "font": {"size": 11}},
                  "scaleanchor": "x"}})


def curves(x: np.ndarray, lines: Mapping[str, np.ndarray], x_label: str, y_label: str, theme: Theme,
           marks: Sequence[float] = (), strong_marks: Sequence[float] = ()) -> go.Figure:
    """Named curves over x (k,), told apart by dash as well as colour; thin and dashed upright lines at the marks."""
    colours, dashes = (theme.outline, "#4393c3", "#d6604d", "#948e77"), ("solid", "dash", "dot", "dashdot")
    traces = [go.Scatter(x=x, y=y, name=name, mode="lines", line={"color": c, "dash": d, "width": 2.5},
                         hovertemplate=f"{name} %{{y:.3f}}<extra></extra>")
              for (name, y), c, d in zip(lines.items(), colours, dashes)]
    upright = [{"type": "line", "x0": m, "x1": m, "y0": 0, "y1": 1, "yref": "paper",
                "line": {"color": "rgba(128,128,128,.45)", "width": 1}} for m in marks]
    upright += [{"type": "line", "x0": m, "x1": m, "y0": 0, "y1": 1, "yref": "paper",
                 "line": {"color": theme.text, "width": 2, "dash": "dash"}} for m in strong_marks]
    axis = {"showgrid": False, "zeroline": True, "zerolinecolor": "rgba(128,128,128,.5)", "fixedrange": True,
            "tickfont": {"size": 11, "color": theme.text}}
    return go.Figure(traces, {
        "margin": {"l": 50, "r": 4, "t": 6, "b": 40}, "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)", "dragmode": False, "font": {"color": theme.text}, "shapes": upright,
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}, "hovermode": "x unified",
        "xaxis": {**axis, "title": {"text": x_label}}, "yaxis": {**axis, "title": {"text": y_label}}})


def errors(rows: Sequence[tuple[str, float, float]], theme: Theme) -> go.Figure:
    """Relative errors (method, h, error) on a logarithmic axis, a line a method, a symbol a distance h."""
    names = list(dict.fromkeys(name for name, _, _ in rows))
    traces = []
    for h, symbol in zip(dict.fromkeys(h for _, h, _ in rows if not np.isnan(h)), ("circle", "square", "diamond")):
        here = [(name, error) for name, at, error in rows if at == h]
        traces.append(go.Scatter(x=[e for _, e in here], y=[n for n, _ in here], mode="markers", name=f"h = {h:g}",
                                 marker={"symbol": symbol, "size": 12, "color": "#4393c3"},
                                 hovertemplate="%{y}, " + f"h = {h:g}: " + "%{x:.1e}<extra></extra>"))
    free = [(name, error) for name, at, error in rows if np.isnan(at)]
    traces.append(go.Scatter(x=[e for _, e in free], y=[n for n, _ in free], mode="markers", name="no h needed",
                             marker={"symbol": "star", "size": 15, "color": theme.outline},
                             hovertemplate="%{y}: %{x:.1e}<extra></extra>"))
    axis = {"fixedrange": True, "tickfont": {"size": 12, "color": theme.text}, "zeroline": False}
    return go.Figure(traces, {
        "margin": {"l": 110, "r": 10, "t": 6, "b": 44}, "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)", "dragmode": False, "font": {"color": theme.text},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "xaxis": {**axis, "type": "log", "gridcolor": "rgba(128,128,128,.25)", "exponentformat": "power",
                  "title": {"text": "relative L1 error"}},
        "yaxis": {**axis, "categoryorder": "array", "categoryarray": names[::-1],
                  "gridcolor": "rgba(128,128,128,.25)"}})


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
