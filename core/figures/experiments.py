"""Figures of the experiments (core.experiments) for print: small multiples in matplotlib."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil, floor, log10
from typing import Any, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from core.figures.style import LIGHT

FIGURE_WIDTH = 6.75  # inches: two columns of a paper
# Okabe and Ito's colours, each with a marker, so that no line is identified by colour alone.
LINES = (
    ("#0072b2", "o", "-"),
    ("#d55e00", "s", "--"),
    ("#009e73", "^", "-."),
    ("#cc79a7", "D", ":"),
    ("#56b4e9", "v", "-"),
)
CURVE_MARKERS, CURVE_DASHES = ("o", "s", "^"), ("-", "--", ":")
CURVE_COLOURS = (LIGHT.outline, "#2065ab", "#d6604d")

Rows = Sequence[Mapping[str, Any]]


def openapi(tables: Mapping[str, Any]) -> dict[str, Figure]:
    """All figures of the OpenAPI paper's experiments by name; a column for each data set and model."""
    exact = tables["exactness"]
    return {
        "figure-2-mean-images": _means(tables["means"]),
        "figure-3-cpp": _columns(
            tables["ablation"], lambda axis, rows: _curves(axis, rows, "cpp"), "features removed", "CPP"
        ),
        "figure-3-nlci": _columns(
            tables["ablation"], lambda axis, rows: _curves(axis, rows, "nlci"), "features removed", "NLCI (images)"
        ),
        "figure-4-consistency": _columns(
            tables["consistency"], _sorted, "images, sorted", "cosine to the neighbour's"
        ),
        **{
            name: _columns(exact, lambda axis, rows, of=of: _against_h(axis, rows, of), "h", label)
            for name, of, label in (
                ("figure-5-region-difference", "rd", "mean RD"),
                ("figure-6-weight-difference", "wd", "mean WD"),
                ("figure-7-l1-distance", "l1_mean", "L1Dist: mean, min, max"),
            )
        },
    }


def _where(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["dataset"], row["model"]


def _columns(rows: Rows, draw: Callable[[Axes, Rows], None], x: str, y: str) -> Figure:
    """One panel for every data set and model, with one legend below."""
    columns = list(dict.fromkeys(_where(row) for row in rows))
    figure = Figure(figsize=(FIGURE_WIDTH, 2.1), dpi=300)
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, len(columns), squeeze=False)[0]
    for axis, column in zip(axes, columns):
        column_rows = [row for row in rows if _where(row) == column]
        draw(axis, column_rows)
        axis.set_title(f"{column[0]}, {column[1]} (n = {column_rows[0]['n']})", fontsize=6.5, pad=3)
        axis.set_xlabel(x, fontsize=6.5, labelpad=1)
        axis.tick_params(labelsize=5.5, length=2, pad=1)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel(y, fontsize=6.5, labelpad=2)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncols=5, fontsize=6, frameon=False)
    figure.subplots_adjust(left=0.075, right=0.99, top=0.9, bottom=0.3, wspace=0.35)
    return figure


def _curves(axis: Axes, rows: Rows, name: str) -> None:
    for row, (colour, marker, dash) in zip(rows, LINES):
        k = np.arange(len(row[name]))
        axis.plot(k, row[name], dash, color=colour, lw=0.9, marker=marker, markevery=40, ms=2.5, label=row["method"])


def _sorted(axis: Axes, rows: Rows) -> None:
    for row, (colour, marker, dash) in zip(rows, LINES):
        values = np.sort(row["cs"])[::-1]
        axis.plot(
            np.arange(1, len(values) + 1),
            values,
            dash,
            color=colour,
            lw=0.9,
            marker=marker,
            markevery=max(1, len(values) // 5),
            ms=2.5,
            label=row["method"],
        )


def _against_h(axis: Axes, rows: Rows, name: str) -> None:
    """A method's value at each h; OpenAPI, which needs none, as a horizontal line."""
    names = list(dict.fromkeys(row["method"] for row in rows))
    for method, (colour, marker, dash) in zip(names, LINES):
        mine = sorted((row for row in rows if row["method"] == method), key=lambda row: row["h"])
        value = np.array([row[name] for row in mine])
        if np.isnan(mine[0]["h"]):
            axis.axhline(value[0], color=colour, lw=1.2, label=method)
            continue
        h = np.array([row["h"] for row in mine])
        axis.plot(h, value, dash, color=colour, lw=0.9, marker=marker, ms=3, label=method)
        if name == "l1_mean":
            axis.vlines(h, [row["l1_min"] for row in mine], [row["l1_max"] for row in mine], color=colour, lw=0.6)
    axis.set(xscale="log", xlim=(3e-9, 3e-2))
    if name == "l1_mean":
        axis.set_yscale("log")
    elif name == "wd":
        axis.set_yscale("symlog", linthresh=1e-3)
        axis.set_ylim(bottom=0)
    else:
        axis.set_ylim(-0.05, 1.05)


def _means(rows: Rows) -> Figure:
    """Mean images of some classes, and below the mean decision features of each model: red for, blue against."""
    sets = {
        dataset: [row for row in rows if row["dataset"] == dataset]
        for dataset in dict.fromkeys(row["dataset"] for row in rows)
    }
    columns = sum(len({row["class"] for row in class_rows}) for class_rows in sets.values())
    models = list(dict.fromkeys(row["model"] for row in rows))
    side = FIGURE_WIDTH / (columns + 0.6)
    figure = Figure(figsize=(FIGURE_WIDTH, side * (1 + len(models)) + 0.25), dpi=300)
    FigureCanvasAgg(figure)
    axes = figure.subplots(1 + len(models), columns, squeeze=False)
    signed = LinearSegmentedColormap.from_list("", list(LIGHT.signed))
    cells = [
        (dataset, name)
        for dataset, class_rows in sets.items()
        for name in dict.fromkeys(row["class"] for row in class_rows)
    ]
    for column, (dataset, name) in zip(axes.T, cells):
        class_rows = {row["model"]: row for row in sets[dataset] if row["class"] == name}
        mean = next(iter(class_rows.values()))["image"]
        column[0].imshow(mean, cmap="gray_r", vmin=0, vmax=1, interpolation="nearest")
        column[0].set_title(name, fontsize=6.5, pad=2)
        for axis, model in zip(column[1:], models):
            weights = class_rows[model]["weights"]
            limit = np.abs(weights).max() or 1.0
            axis.imshow(weights, cmap=signed, vmin=-limit, vmax=limit, interpolation="nearest")
    for axis, label in zip(axes[:, 0], ("mean image", *models)):
        axis.set_ylabel(label, fontsize=6.5, labelpad=2)
    for axis in axes.ravel():
        axis.set(xticks=[], yticks=[])
        axis.spines[:].set(linewidth=0.3, color="#999999")
    figure.subplots_adjust(left=0.03, right=0.995, top=0.93, bottom=0.01, wspace=0.06, hspace=0.06)
    return figure


class Line(Protocol):
    """A curve of seconds ``y`` at sizes ``x`` (core.experiments.growth.Curve)."""

    panel: str
    x_label: str
    name: str
    x: Sequence[float]
    y: Sequence[float]


def growth(lines: Sequence[Line], width: float = 9.0, across: int = 3) -> Figure:
    """How seconds grow, one panel for each task; both axes logarithmic: a power of the size is a straight line."""
    panels = list(dict.fromkeys(line.panel for line in lines))
    down = -(-len(panels) // across)
    figure = Figure(figsize=(width, 2.4 * down), dpi=200, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(down, across, squeeze=False).ravel()
    for axis, panel in zip(axes, panels):
        panel_lines = [line for line in lines if line.panel == panel]
        for line, marker, dash, colour in zip(panel_lines, CURVE_MARKERS, CURVE_DASHES, CURVE_COLOURS):
            axis.loglog(
                line.x,
                line.y,
                dash,
                marker=marker,
                markersize=4,
                color=colour,
                linewidth=1.4,
                label=f"{line.name}: {line.y[-1]:.2g} s at {line.x[-1]:,g}",
            )
        axis.set_title(panel, fontsize=9, loc="left")
        axis.set_xlabel(panel_lines[0].x_label, fontsize=8)
        axis.set_ylabel("seconds", fontsize=8)
        longest = max((line.x for line in panel_lines), key=len)
        axis.set_xticks(longest, [f"{x:,g}" for x in longest])
        axis.xaxis.set_minor_locator(NullLocator())
        axis.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
        axis.yaxis.set_minor_formatter(NullFormatter())
        low, high = min(min(line.y) for line in panel_lines), max(max(line.y) for line in panel_lines)
        axis.set_ylim(10 ** floor(log10(low)), 10 ** ceil(log10(2 * high)))
        axis.tick_params(labelsize=7)
        axis.grid(True, color="#dddddd", linewidth=0.5)
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(fontsize=7, frameon=False)
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    return figure
