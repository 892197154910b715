"""The lesson's charts, in plotly: one size for the desk, a larger one for the back of a room.

Classes differ by symbol, lines by dash, as well as by colour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from core.figures import tiny
from core.figures.style import Theme

CLASSES = (("#2f6fb0", "circle"), ("#c2571a", "x-thin-open"))
DARK_CLASSES = (("#7db4ea", "circle"), ("#f3a15f", "x-thin-open"))
WEIGHT = ("#b1182b", "#f28b82")  # weights on light and dark; patterns take the theme's outline
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


def shades(theme: Theme) -> tuple[str, ...]:
    """From "hardly any" to "much", visible on the theme's background at both ends."""
    return ("#c3c7cd" if theme.background == "#ffffff" else "#474d59", *theme.signed[len(theme.signed) // 2 + 2:])


def weight_colour(theme: Theme) -> str:
    return WEIGHT[0] if theme.background == "#ffffff" else WEIGHT[1]


def plane(points: np.ndarray, positive: np.ndarray, theme: Theme, *, size: int, x_label: str, y_label: str,
          span: tuple[Sequence[float], Sequence[float]], names: Sequence[str],
          labels: Sequence[tuple[float, float]] = (), lines: Mapping[str, np.ndarray] | None = None,
          arrows: Mapping[str, tuple[np.ndarray, np.ndarray]] | None = None,
          border: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None, at: str = "") -> go.Figure:
    """Points (n,2) of two classes with equal axes; ``lines`` hold two points (2,2) each, ``arrows`` a start and an end.

    The classes' names stand at ``labels``, or in a legend when there are none. ``border``: x (k,), y (m,), values (m,k)
    whose zero line is the model's; the origin is marked by a star named ``at``. The first arrow is a
    weight, the second a pattern.
    """
    kinds = CLASSES if theme.background == "#ffffff" else DARK_CLASSES
    traces: list = []
    for value, name, (colour, symbol) in zip((False, True), names, kinds):
        part = points[positive == value]
        traces.append(go.Scatter(x=part[:, 0], y=part[:, 1], mode="markers", name=name, hoverinfo="skip",
                                 marker={"color": colour, "symbol": symbol, "size": 5, "opacity": 0.55,
                                         "line": {"width": 1, "color": colour}}))
    if border is not None:
        traces.append(go.Contour(x=border[0], y=border[1], z=border[2], showscale=False, hoverinfo="skip",
                                 contours={"start": 0, "end": 0, "size": 1, "coloring": "none"},
                                 line={"color": theme.text, "width": 2.5}, name="network's boundary", showlegend=True))
    for (name, ends), dash in zip((lines or {}).items(), DASHES[1:]):
        traces.append(go.Scatter(x=ends[:, 0], y=ends[:, 1], mode="lines", name=name, hoverinfo="skip",
                                 line={"color": theme.text, "width": 2, "dash": dash}))
    if at:
        traces.append(go.Scatter(x=[0], y=[0], mode="markers", name=at, hoverinfo="skip",
                                 marker={"color": theme.text, "symbol": "star", "size": 13}))
    figure = go.Figure(traces, layout(theme, size, x_label, y_label, legend=not labels))
    figure.update_xaxes(range=list(span[0]), constrain="domain")
    figure.update_yaxes(range=list(span[1]), scaleanchor="x", constrain="domain")
    for (x, y), name, (colour, symbol) in zip(labels, names, kinds):
        sign = "●" if symbol == "circle" else "×"
        figure.add_annotation(x=x, y=y, text=f"<b>{sign} {name}</b>", showarrow=False, font={"color": colour, "size": size + 1},
                              bgcolor=theme.background, opacity=0.9)
    for (name, (start, end)), colour in zip((arrows or {}).items(), (weight_colour(theme), theme.outline)):
        figure.add_annotation(x=end[0], y=end[1], ax=start[0], ay=start[1], axref="x", ayref="y", text="", arrowhead=2,
                              arrowwidth=4, arrowsize=0.9, arrowcolor=colour)
        figure.add_annotation(x=end[0], y=end[1], text=f"<b>{name}</b>", showarrow=False, bgcolor=theme.background, opacity=0.92,
                              font={"color": colour, "size": size + 2}, yshift=size if end[1] >= start[1] else -size)
    return figure


def curve(x: np.ndarray, y: np.ndarray, theme: Theme, *, size: int, x_label: str, y_label: str,
          marks: Mapping[str, tuple[float, float]], y_range: Sequence[float]) -> go.Figure:
    """One curve over x (k,) with named points on it, each with its name beside it."""
    figure = go.Figure(go.Scatter(x=x, y=y, mode="lines", line={"color": theme.text, "width": 2.5},
                                  hovertemplate="%{x:.2f}: %{y:.3f}<extra></extra>"),
                       layout(theme, size, x_label, y_label))
    for (name, (at, height)), symbol, colour in zip(marks.items(), ("diamond", "star"), (weight_colour(theme), theme.outline)):
        figure.add_trace(go.Scatter(x=[at], y=[height], mode="markers", hoverinfo="skip",
                                    marker={"symbol": symbol, "size": 15, "color": colour}))
        figure.add_annotation(x=at, y=height, text=f"<b>{name}</b>", showarrow=False, yshift=16,
                              font={"color": colour, "size": size + 1}, bgcolor=theme.background, opacity=0.9)
    return figure.update_yaxes(range=list(y_range), tickformat=".0%")


def bars(values: Mapping[str, np.ndarray], names: Sequence[str], theme: Theme, *, size: int) -> go.Figure:
    """For each method (from the top) the importance of each variable (k,), divided by the sum of |importance|."""
    labels = list(values)
    traces = []
    for i, (name, colour, pattern) in enumerate(zip(names, ("#2f6fb0" if theme.background == "#ffffff" else "#7db4ea",
                                                            weight_colour(theme)), ("", "/"))):
        part = [v[i] / np.abs(v).sum() for v in values.values()]
        traces.append(go.Bar(x=part, y=labels, orientation="h", name=name, text=[f"{p:+.2f}".replace("-", "−") for p in part],
                             textposition="outside", cliponaxis=False, hoverinfo="skip",
                             marker={"color": colour, "pattern": {"shape": pattern}}))
    figure = go.Figure(traces, layout(theme, size, "share, with its sign", "", legend=True))
    figure.update_layout(barmode="group", bargap=0.25, margin={"l": int(7.5 * size)})
    return figure.update_xaxes(range=[-1.2, 1.6], tickvals=[-0.5, 0, 0.5, 1], zerolinewidth=2).update_yaxes(autorange="reversed", zeroline=False)


def cloud(points: np.ndarray, share: np.ndarray, limit: float, theme: Theme, *, size: int, span: float = 4.5) -> go.Figure:
    """Points (n,2) coloured by share (n,) from 0 to limit: a picture within axes, however many points."""
    data = tiny.dots(points, share, limit, shades(theme), span)
    figure = go.Figure(layout=layout(theme, size - 1, "x<sub>1</sub>", "x<sub>2</sub>"))
    figure.add_layout_image({"source": tiny.address(data), "xref": "x", "yref": "y", "x": -span, "y": span, "sizex": 2 * span,
                             "sizey": 2 * span, "sizing": "stretch", "layer": "above"})
    figure.add_trace(go.Scatter(x=[0], y=[0], mode="markers", marker={"opacity": 0}, hoverinfo="skip"))
    figure.update_layout(margin={"l": 3 * size, "r": 4, "t": 4, "b": 3 * size})
    figure.update_xaxes(range=[-span, span], tickvals=[-4, 0, 4], constrain="domain", title={"standoff": 4})
    return figure.update_yaxes(range=[-span, span], tickvals=[-4, 0, 4], scaleanchor="x", constrain="domain", title={"standoff": 2})


def reach(x: np.ndarray, closed: np.ndarray, at: Sequence[float], sampled: np.ndarray, gradient: float,
          here: tuple[float, float], theme: Theme, *, size: int) -> go.Figure:
    """x3's share over the kernel's width on a logarithmic axis: closed form, estimate, the gradient's and the reader's."""
    figure = go.Figure([
        go.Scatter(x=x, y=closed, mode="lines", name="closed form", line={"color": theme.outline, "width": 3},
                   hovertemplate="b = %{x:.2f}: %{y:.3f}<extra>closed form</extra>"),
        go.Scatter(x=list(at), y=sampled, mode="markers", name="from 2,500 points",
                   marker={"symbol": "circle-open", "size": 11, "color": theme.text, "line": {"width": 2}},
                   hovertemplate="b = %{x:g}: %{y:.3f}<extra>sampled</extra>"),
        go.Scatter(x=[x[0], x[-1]], y=[gradient] * 2, mode="lines", name=f"gradient, {gradient:.3f}", hoverinfo="skip",
                   line={"color": weight_colour(theme), "width": 2, "dash": "dash"})],
        layout(theme, size, "width b of the neighbourhood", "share of x<sub>3</sub>", legend=True))
    place = float(np.clip(here[0], x[0], x[-1]))
    figure.add_trace(go.Scatter(x=[place], y=[here[1]], mode="markers", hoverinfo="skip", showlegend=False,
                                marker={"symbol": "diamond", "size": 16, "color": theme.outline}))
    figure.add_annotation(x=np.log10(place), y=here[1], text=f"<b>{here[1]:.3f}</b>", showarrow=False, yshift=18,
                          xshift=14, font={"color": theme.outline, "size": size + 3})
    figure.update_xaxes(type="log", tickvals=[0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20], range=np.log10([0.045, 22]).tolist())
    return figure.update_yaxes(range=[-0.01, 0.45], nticks=6)


def thresholds(x: np.ndarray, lines: Mapping[str, np.ndarray], here: float, theme: Theme, *, size: int) -> go.Figure:
    """Shares over the correlation that counts as correlated, a dash a method, with the reader's threshold."""
    light = theme.background == "#ffffff"
    colours = (weight_colour(theme), "#2f6fb0" if light else "#7db4ea", "#8a6d1f" if light else "#d9b95b", "#7a4fa3" if light else "#c4a1e8",
               theme.outline, "#888888")
    traces = [go.Scatter(x=x, y=y, name=name, mode="lines", line={"color": c, "dash": d, "width": 2.5},
                         hovertemplate=f"{name} %{{y:.0%}}<extra></extra>")
              for (name, y), c, d in zip(lines.items(), colours, (*DASHES[1:], "solid"))]
    figure = go.Figure(traces, layout(theme, size, "correlation with the noise under the shape, more than",
                                      "share of |map|", legend=True))
    figure.add_vline(here, line={"color": theme.text, "width": 1.5, "dash": "dot"})
    return figure.update_layout(hovermode="x unified").update_yaxes(tickformat=".0%", rangemode="tozero")


def layout(theme: Theme, size: int, x_label: str, y_label: str, *, legend: bool = False) -> go.Layout:
    axis = {"showgrid": False, "zeroline": True, "zerolinecolor": "rgba(128,128,128,.35)", "fixedrange": True,
            "tickfont": {"size": size, "color": theme.text}}
    return go.Layout({
        "margin": {"l": 4 * size + 6, "r": 6, "t": 6, "b": 3 * size + 10}, "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)", "dragmode": False, "showlegend": legend, "font": {"size": size, "color": theme.text},
        "legend": {"orientation": "h", "y": 1.01, "yanchor": "bottom", "x": 0, "itemclick": False, "itemdoubleclick": False},
        "xaxis": {**axis, "title": {"text": x_label, "standoff": 6}},
        "yaxis": {**axis, "title": {"text": y_label, "standoff": 4}}})
