"""The comparison as a file for print, in matplotlib: no browser, no global state, fonts embedded."""

from __future__ import annotations

import io
from collections.abc import Sequence

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from core.figures.style import LIGHT, SCALES, limits, outline, shown
from core.types import Attribution


def comparison(attributions: Sequence[Attribution], labels: Sequence[str], captions: Sequence[str], *,
               scale: str = "panel", title: str = "", width: float = 6.75, with_outline: bool = True) -> Figure:
    """Input, ground truth and one panel per attribution in a row, ``width`` inches wide.

    All attributions are of one image. ``captions`` stand under the maps (scores); the scale's meaning is
    written on the figure.
    """
    first = attributions[0]
    panels = len(attributions) + 2
    side = width / panels
    figure = Figure(figsize=(width, side + 0.75), dpi=300)
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, panels, squeeze=False)[0]
    peak = float(abs(first.image).max()) or 1.0
    _panel(axes[0], first.image, peak, LIGHT.image, True, "Input", f"class {first.label}")
    _panel(axes[1], first.mask, 1.0, (LIGHT.background, LIGHT.outline), False, "Ground truth",
           f"{int(first.mask.sum())} pixels")
    maps = [a.values for a in attributions]
    for axis, a, limit, label, caption in zip(axes[2:], attributions, limits(maps, scale), labels, captions):
        values, limit = shown(a.values, limit, scale)
        _panel(axis, values, limit, LIGHT.signed if a.signed else LIGHT.magnitude, a.signed, label, caption)
    for axis in axes if with_outline else ():
        axis.add_collection(LineCollection(outline(first.mask), colors=LIGHT.outline, linewidths=0.6))
    figure.subplots_adjust(left=0.005, right=0.995, top=1 - 0.36 / (side + 0.75), bottom=0.34 / (side + 0.75),
                           wspace=0.06)
    figure.text(0.005, 0.995, title, ha="left", va="top", fontsize=6)
    figure.text(0.005, 0.005, f"Colours: {SCALES[scale]}.", ha="left", va="bottom", fontsize=5, color="#555555")
    return figure


def png(figure: Figure) -> bytes:
    """The figure as a PNG file."""
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


def _panel(axis, values, limit: float, colours: Sequence[str], signed: bool, label: str, caption: str) -> None:
    axis.imshow(values, cmap=LinearSegmentedColormap.from_list("", list(colours)), vmin=-limit if signed else 0,
                vmax=limit, interpolation="nearest")
    axis.set_title(label, fontsize=6, pad=2)
    axis.set_xlabel(caption, fontsize=5, labelpad=2)
    axis.set(xticks=[], yticks=[])
    for side in axis.spines.values():
        side.set(linewidth=0.3, color="#999999")
