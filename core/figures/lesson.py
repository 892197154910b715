"""The lesson's charts, in plotly, and its clouds: one size for the desk, a larger one for the back of a room.

Classes differ by symbol, lines by dash, bars by hatching, as well as by colour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from core.figures import chart_layout, thumbnails
from core.figures.style import Theme, coloured

SYMBOLS = (("circle", "●", "disc"), ("x-thin-open", "×", "cross"))  # of the two classes: legend, label, picture
X1, X2 = "x<sub>1</sub>", "x<sub>2</sub>"
SPAN = 4.5  # a cloud's axes reach so far from zero
DASHES = ("dash", "dot", "dashdot", "longdash", "longdashdot", "solid")


def _light(theme: Theme) -> bool:
    return theme.background == "#ffffff"


def class_colours(theme: Theme) -> tuple[str, str]:
    return ("#2f6fb0", "#c2571a") if _light(theme) else ("#7db4ea", "#f3a15f")


def weight_colour(theme: Theme) -> str:
    """Of whatever is a weight; patterns take the theme's outline."""
    return "#b1182b" if _light(theme) else "#f28b82"


def shades(theme: Theme) -> tuple[str, ...]:
    """From "hardly any" to "much", visible on the theme's background at both ends."""
    return ("#c3c7cd" if _light(theme) else "#474d59", *theme.signed[len(theme.signed) // 2 + 2 :])


def arrow(direction: np.ndarray, length: float) -> np.ndarray:
    """The tip ``(2,)`` of an arrow from the origin along a direction ``(2,)``."""
    return length * np.asarray(direction) / np.linalg.norm(direction)


def boundary(weight: Sequence[float], reach: float) -> np.ndarray:
    """Two points ``(2,2)`` of the line where ``weight (2,)`` gives 0, ``reach`` times its length away."""
    return reach * np.array([[-weight[1], weight[0]], [weight[1], -weight[0]]])


def plane(
    points: np.ndarray,
    positive: np.ndarray,
    theme: Theme,
    *,
    size: int,
    x_label: str,
    y_label: str,
    span: tuple[Sequence[float], Sequence[float]],
    names: Sequence[str],
    labels: Sequence[tuple[float, float]] = (),
    lines: Mapping[str, np.ndarray] | None = None,
    arrows: Mapping[str, np.ndarray] | None = None,
    border: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
    star: str = "",
) -> go.Figure:
    """Points (n,2) of two classes with equal axes, ``positive (n,)`` saying which are of the second.

    The classes' ``names`` stand at ``labels``, or in a legend when there are none. ``lines`` hold two points (2,2)
    each; ``arrows`` the tips (2,) of arrows from the origin, first a weight, then a pattern; ``border`` x (k,),
    y (m,) and values (m,k) whose zero line is the model's. ``star`` names the origin.
    """
    traces: list = [
        go.Scatter(  # for the legend; the points are a picture, however many they are
            x=[None], y=[None], mode="markers", name=name, marker={"color": colour, "symbol": symbol, "size": 8}
        )
        for name, colour, (symbol, _, _) in zip(names, class_colours(theme), SYMBOLS)
    ]
    layers = [
        (points[positive == value], np.tile(thumbnails.rgb(colour), (int((positive == value).sum()), 1)), mark)
        for value, colour, (_, _, mark) in zip((False, True), class_colours(theme), SYMBOLS)
    ]
    if border is not None:
        traces.append(
            go.Contour(
                x=border[0],
                y=border[1],
                z=border[2],
                showscale=False,
                hoverinfo="skip",
                contours={"start": 0, "end": 0, "size": 1, "coloring": "none"},
                showlegend=True,
                line={"color": theme.text, "width": 2.5},
                name="network's boundary",
            )
        )
    for (name, ends), dash in zip((lines or {}).items(), DASHES):
        traces.append(
            go.Scatter(
                x=ends[:, 0],
                y=ends[:, 1],
                mode="lines",
                name=name,
                hoverinfo="skip",
                line={"color": theme.text, "width": 2, "dash": dash},
            )
        )
    if star:
        traces.append(
            go.Scatter(
                x=[0],
                y=[0],
                mode="markers",
                name=star,
                hoverinfo="skip",
                marker={"color": theme.text, "symbol": "star", "size": 13},
            )
        )
    content = layout(theme, size, x_label, y_label, legend=not labels)
    figure = go.Figure(traces, content | _picture(layers, span, content))
    for (x, y), name, colour, (_, sign, _) in zip(labels, names, class_colours(theme), SYMBOLS):
        _label(figure, x, y, f"{sign} {name}", colour, size + 1, theme)
    for (name, tip), colour in zip((arrows or {}).items(), (weight_colour(theme), theme.outline)):
        figure.add_annotation(
            x=tip[0],
            y=tip[1],
            ax=0,
            ay=0,
            axref="x",
            ayref="y",
            text="",
            arrowhead=2,
            arrowwidth=4,
            arrowsize=0.9,
            arrowcolor=colour,
        )
        _label(figure, tip[0], tip[1], name, colour, size + 2, theme, size if tip[1] >= 0 else -size)
    return figure


def curve(
    x: np.ndarray,
    y: np.ndarray,
    theme: Theme,
    *,
    size: int,
    x_label: str,
    y_label: str,
    marks: Mapping[str, tuple[float, float]],
    y_range: Sequence[float],
) -> go.Figure:
    """One curve of shares over x (k,) with named points on it: the chosen one, then the best."""
    figure = go.Figure(
        go.Scatter(
            x=x,
            y=y,
            mode="lines",
            line={"color": theme.text, "width": 2.5},
            hovertemplate="%{x:.2f}: %{y:.3f}<extra></extra>",
        ),
        layout(theme, size, x_label, y_label),
    )
    kinds = zip(marks.items(), ("diamond", "star"), (weight_colour(theme), theme.outline))
    for (name, (at, height)), symbol, colour in kinds:
        figure.add_trace(
            go.Scatter(
                x=[at],
                y=[height],
                mode="markers",
                hoverinfo="skip",
                marker={"symbol": symbol, "size": 15, "color": colour},
            )
        )
        _label(figure, at, height, name, colour, size + 1, theme, 12 + size)
    return figure.update_yaxes(range=list(y_range), tickformat=".0%")


def bars(values: Mapping[str, np.ndarray], names: Sequence[str], theme: Theme, *, size: int) -> go.Figure:
    """For each method (from the top) the importance of two variables, divided by the sum of |importance|."""
    colours, traces = (class_colours(theme)[0], weight_colour(theme)), []
    for i, (name, colour, hatching) in enumerate(zip(names, colours, ("", "/"))):
        share = [v[i] / np.abs(v).sum() for v in values.values()]
        traces.append(
            go.Bar(
                x=share,
                y=list(values),
                orientation="h",
                name=name,
                hoverinfo="skip",
                cliponaxis=False,
                text=[f"{s:+.2f}".replace("-", "−") for s in share],
                textposition="outside",
                marker={"color": colour, "pattern": {"shape": hatching}},
            )
        )
    figure = go.Figure(traces, layout(theme, size, "signed share", "", legend=True))
    figure.update_layout(barmode="group", bargap=0.25, margin={"l": 9 * size})
    figure.update_xaxes(range=[-1.9, 2.1], tickvals=[0, 1], tickangle=0, zerolinewidth=2)
    return figure.update_yaxes(autorange="reversed", zeroline=False)


def cloud(points: np.ndarray, share: np.ndarray, limit: float, theme: Theme, *, span: float = SPAN) -> bytes:
    """Points (n,2) coloured by share (n,) from 0 to limit, the largest on top; points without one are rings.

    A PNG file that covers -span to span both ways: several pictures follow a slider faster than charts do.
    """
    known, order = ~np.isnan(share), np.argsort(share)
    order = order[known[order]]
    grey = np.full(((~known).sum(), 3), 128, np.uint8)
    layers = [
        (points[~known], grey, "ring"),
        (points[order], coloured(share[order], 0.0, limit, shades(theme)), "disc"),
    ]
    return thumbnails.dots(layers, ((-span, span), (-span, span)), width=400)


def _picture(
    layers: Sequence[tuple[np.ndarray, np.ndarray, str]], span: tuple[Sequence[float], Sequence[float]], content: dict
) -> dict:
    """The part of a layout that puts points as one picture under the traces, with equal axes that cover ``span``."""
    (left, right), (bottom, top) = span
    source = thumbnails.address(thumbnails.dots(layers, span))
    return {
        "images": [
            {
                "source": source,
                "xref": "x",
                "yref": "y",
                "x": left,
                "y": top,
                "sizex": right - left,
                "sizey": top - bottom,
                "sizing": "stretch",
                "layer": "below",
            }
        ],
        "xaxis": content["xaxis"] | {"range": [left, right], "constrain": "domain"},
        "yaxis": content["yaxis"] | {"range": [bottom, top], "constrain": "domain", "scaleanchor": "x"},
    }


def reach(
    x: np.ndarray,
    closed: np.ndarray,
    at: Sequence[float],
    sampled: np.ndarray,
    gradient: float,
    chosen: tuple[float, float],
    theme: Theme,
    *,
    size: int,
) -> go.Figure:
    """x3's share over the kernel's width x (k,), logarithmic: closed form, estimate, gradient, and the reader's."""
    position = float(np.clip(chosen[0], x[0], x[-1]))
    figure = go.Figure(
        [
            go.Scatter(
                x=x,
                y=closed,
                mode="lines",
                name="closed form",
                line={"color": theme.outline, "width": 3},
                hovertemplate="b = %{x:.2f}: %{y:.3f}<extra>closed form</extra>",
            ),
            go.Scatter(
                x=list(at),
                y=sampled,
                mode="markers",
                name="from 2,500 points",
                marker={"symbol": "circle-open", "size": 11, "color": theme.text, "line": {"width": 2}},
                hovertemplate="b = %{x:g}: %{y:.3f}<extra>sampled</extra>",
            ),
            go.Scatter(
                x=[x[0], x[-1]],
                y=[gradient] * 2,
                mode="lines",
                hoverinfo="skip",
                name=f"gradient, {gradient:.3f}",
                line={"color": weight_colour(theme), "width": 2, "dash": "dash"},
            ),
            go.Scatter(
                x=[position],
                y=[chosen[1]],
                mode="markers",
                hoverinfo="skip",
                showlegend=False,
                marker={"symbol": "diamond", "size": 16, "color": theme.outline},
            ),
        ],
        layout(theme, size, "width b of the neighbourhood", "share of x<sub>3</sub>", legend=True),
    )
    _label(
        figure, float(np.log10(position)), chosen[1], f"{chosen[1]:.3f}", theme.outline, size + 3, theme, up=12 + size
    )
    ticks = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20]
    figure.update_xaxes(type="log", tickvals=ticks, range=np.log10([0.045, 22]).tolist())
    return figure.update_yaxes(range=[-0.01, 0.45], nticks=6)


def thresholds(
    x: np.ndarray, lines: Mapping[str, np.ndarray], chosen: float, theme: Theme, *, size: int
) -> go.Figure:
    """Shares over the correlation that counts as correlated, a dash a method, with the reader's threshold."""
    colours = (weight_colour(theme), *class_colours(theme), theme.outline, "#888888")
    traces = [
        go.Scatter(
            x=x,
            y=y,
            name=name,
            mode="lines",
            line={"color": c, "dash": d, "width": 2.5},
            hovertemplate=f"{name} %{{y:.0%}}<extra></extra>",
        )
        for (name, y), c, d in zip(lines.items(), colours, DASHES)
    ]
    figure = go.Figure(
        traces,
        layout(theme, size, "correlation with the noise under the shape, more than", "share of |map|", legend=True),
    )
    figure.add_vline(chosen, line={"color": theme.text, "width": 1.5, "dash": "dot"})
    return figure.update_layout(hovermode="x unified").update_yaxes(tickformat=".0%", rangemode="tozero")


def _label(
    figure: go.Figure, x: float, y: float, text: str, colour: str, size: int, theme: Theme, up: int = 0
) -> None:
    """A bold label at x, y in units of the axes, ``up`` pixels above it."""
    figure.add_annotation(
        x=x,
        y=y,
        text=f"<b>{text}</b>",
        showarrow=False,
        yshift=up,
        bgcolor=theme.background,
        opacity=0.92,
        font={"color": colour, "size": size},
    )


def layout(theme: Theme, size: int, x_label: str, y_label: str, *, legend: bool = False) -> dict:
    """The layout of a chart of the lesson with type of ``size`` pixels."""
    above = {**chart_layout.ABOVE, "itemclick": False, "itemdoubleclick": False}
    return chart_layout.layout(
        theme,
        x_label,
        y_label,
        margin=(4 * size + 6, 6, 6, 3 * size + 10),
        size=size,
        legend=above if legend else None,
    )
