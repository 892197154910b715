"""How seconds grow, for print: one small panel a task, in matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import Protocol

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from core.figures.style import LIGHT

MARKERS, DASHES = ("o", "s", "^"), ("-", "--", ":")


class Line(Protocol):
    """What is drawn: seconds ``y`` at ``x`` (core.bench.Curve)."""

    panel: str
    x_label: str
    name: str
    x: Sequence[float]
    y: Sequence[float]


def growth(lines: Sequence[Line], width: float = 9.0, across: int = 3) -> Figure:
    """Both axes logarithmic, so that a power of the size is a straight line."""
    panels = list(dict.fromkeys(line.panel for line in lines))
    down = -(-len(panels) // across)
    figure = Figure(figsize=(width, 2.4 * down), dpi=200, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(down, across, squeeze=False).ravel()
    for axis, panel in zip(axes, panels):
        here = [line for line in lines if line.panel == panel]
        for line, marker, dash, colour in zip(here, MARKERS, DASHES, (LIGHT.outline, "#2065ab", "#d6604d")):
            axis.loglog(line.x, line.y, dash, marker=marker, markersize=4, color=colour, linewidth=1.4,
                        label=f"{line.name}: {line.y[-1]:.2g} s at {line.x[-1]:,g}")
        axis.set_title(panel, fontsize=9, loc="left")
        axis.set_xlabel(here[0].x_label, fontsize=8)
        axis.set_ylabel("seconds", fontsize=8)
        longest = max((line.x for line in here), key=len)
        axis.set_xticks(longest, [f"{x:,g}" for x in longest])
        axis.xaxis.set_minor_locator(NullLocator())
        axis.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
        axis.yaxis.set_minor_formatter(NullFormatter())
        low, high = min(min(line.y) for line in here), max(max(line.y) for line in here)
        axis.set_ylim(10 ** floor(log10(low)), 10 ** ceil(log10(2 * high)))
        axis.tick_params(labelsize=7)
        axis.grid(True, color="#dddddd", linewidth=0.5)
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(fontsize=7, frameon=False)
    for axis in axes[len(panels):]:
        axis.set_visible(False)
    return figure
