"""The panels of a figure for print: a map, a cloud of points, a plane through regions.

Anything that follows the protocol Panel can be one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.patches import Circle

from core.figures.paper.layout import Layout
from core.figures.style import LIGHT, coloured, outline
from core.types import InputError, one_of

KINDS = ("signed", "magnitude", "image", "truth")
PICTURE_PIXELS = 512  # edge of a map's picture in a file: a viewer that smooths it blurs only a little of each cell
EDGE_COLOUR = "#999999"


@dataclass(frozen=True)
class Look:
    """How a figure draws: its layout, and the value in full colour if all maps share one."""

    layout: Layout
    shared: float | None = None


@dataclass(frozen=True)
class Bar:
    """A colour bar below the figure: ``low`` text, colours, ``high`` text."""

    colours: tuple[str, ...]
    low: str
    high: str


class Panel(Protocol):
    """A cell of the figure.

    ``lines`` of (name, value) are written below it; ``axis_margin`` (left, below) is for axis labels, in text sizes.
    """

    lines: Sequence[tuple[str, str | float]]
    axis_margin: tuple[float, float]

    def draw(self, axis: Any, look: Look) -> None:
        """Draws the panel's content into a matplotlib axis."""

    def bar(self, look: Look) -> Bar | None:
        """The colour bar that the panel needs at the bottom of the figure, if any."""


@dataclass(frozen=True)
class Map:
    """A map ``values (h,w)``: row 0 on top, crisp cells.

    ``signed``: zero is neutral; ``magnitude``: colours start at 0; ``image``: in greys over its own range;
    ``truth``: a mask. ``mask`` is outlined. Without values, the ``note`` is written in the empty cell.
    """

    values: np.ndarray | None
    kind: str = "signed"
    mask: np.ndarray | None = None
    lines: Sequence[tuple[str, str | float]] = ()
    note: str = ""
    axis_margin: tuple[float, float] = (0, 0)

    def __post_init__(self) -> None:
        one_of("kind", self.kind, KINDS)
        for name in ("values", "mask"):
            array = getattr(self, name)
            if array is not None and np.ndim(array) != 2:
                raise InputError(f"A map's {name} must be (h,w), not {np.shape(array)}.")

    @property
    def largest(self) -> float:
        """The largest absolute value."""
        return 0.0 if self.values is None else float(np.nanmax(np.abs(self.values), initial=0))

    def draw(self, axis: Any, look: Look) -> None:
        if self.values is None:
            return
        rows, columns = self.values.shape
        picture(
            axis,
            coloured(self.values, *self._range(look), self._colours(look)),
            (-0.5, columns - 0.5, rows - 0.5, -0.5),
        )
        if self.mask is not None and look.layout.outline and self.mask.any():
            edges, width = outline(self.mask), look.layout.type_size / 10
            # A line in white under the coloured one: it shows on light and dark.
            axis.add_collection(LineCollection(edges, colors="#ffffff", linewidths=2 * width, capstyle="projecting"))
            axis.add_collection(
                LineCollection(edges, colors=look.layout.colours.outline, linewidths=width, capstyle="projecting")
            )

    def bar(self, look: Look) -> Bar | None:
        if self.values is None or self.kind in ("image", "truth"):
            return None
        largest = {"panel": "1", "raw": "max"}.get(look.layout.scale) or short(look.shared or 0)
        low = f"−{largest}" if self.kind == "signed" else "0"
        return Bar(self._colours(look), low, largest)

    def _colours(self, look: Look) -> tuple[str, ...]:
        palette = look.layout.colours
        return {
            "signed": palette.signed,
            "magnitude": palette.magnitude,
            "image": LIGHT.image,
            "truth": ("#ffffff", palette.outline),
        }[self.kind]

    def _range(self, look: Look) -> tuple[float, float]:
        if self.kind == "truth":
            return 0.0, 1.0
        limit = self.largest or 1.0
        if self.kind == "image":
            return (-limit if self.values.min() < 0 else 0.0), limit
        limit = look.shared or limit
        return (-limit if self.kind == "signed" else 0.0), limit


@dataclass(frozen=True)
class Points:
    """A cloud of points (n,2), coloured by values (n,) from 0 to 1 in the magnitude colours."""

    points: np.ndarray
    values: np.ndarray
    labels: tuple[str, str] = ("", "")
    lines: Sequence[tuple[str, str | float]] = ()
    axis_margin: tuple[float, float] = (2.6, 2.6)
    reach: float = 0.0  # the axes run from -reach to reach; 0: as far as the points

    def draw(self, axis: Any, look: Look) -> None:
        reach = self.reach or float(np.ceil(np.abs(self.points).max()))
        colours = coloured(self.values, 0, 1, look.layout.colours.magnitude) / 255
        axis.scatter(*self.points.T, c=colours, s=(look.layout.type_size / 5) ** 2, linewidths=0)
        ticks = [-int(reach), 0, int(reach)]
        axis.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xticks=ticks, yticks=ticks)
        label(axis, self.labels, look)

    def bar(self, look: Look) -> Bar | None:
        return Bar(look.layout.colours.magnitude, "0", "1")


@dataclass(frozen=True)
class Plane:
    """A plane through linear regions: ``cosine`` (k,k) over coordinates ``at`` (k,), the image in the middle.

    Dashed where ``margin`` (k,k) changes its sign; thin lines between ``region`` numbers (k,k) when given.
    """

    at: np.ndarray
    cosine: np.ndarray
    margin: np.ndarray
    region: np.ndarray | None = None
    lines: Sequence[tuple[str, str | float]] = ()
    axis_margin: tuple[float, float] = (0, 0)
    lowest: float = 0.0

    def draw(self, axis: Any, look: Look) -> None:
        half = (self.at[1] - self.at[0]) / 2
        ends = self.at[0] - half, self.at[-1] + half
        # Axis 1 of the plane points up, so its rows are drawn from the bottom.
        picture(axis, coloured(self.cosine[::-1], self.lowest, 1, look.layout.colours.magnitude), (*ends, *ends))
        width = look.layout.type_size / 14
        if self.region is not None:
            axis.add_collection(LineCollection(self._borders(half), colors="#333333", linewidths=width / 2))
        if (self.margin > 0).any() and (self.margin < 0).any():
            axis.contour(self.at, self.at, self.margin, levels=[0], colors="#ffffff", linewidths=2.4 * width)
            axis.contour(
                self.at, self.at, self.margin, levels=[0], colors="#000000", linewidths=width, linestyles="dashed"
            )
        axis.add_patch(
            Circle(
                (0, 0),
                (ends[1] - ends[0]) / 60,
                facecolor=LIGHT.outline,
                edgecolor="#ffffff",
                linewidth=width,
                clip_on=True,
            )
        )
        axis.set(xlim=ends, ylim=ends)

    def bar(self, look: Look) -> Bar | None:
        return Bar(look.layout.colours.magnitude, f"cosine {short(self.lowest)}", "1")

    def _borders(self, half: float) -> list:
        across, down = np.diff(self.region, axis=1) != 0, np.diff(self.region, axis=0) != 0
        at = self.at
        return [
            *(((at[c] + half, at[r] - half), (at[c] + half, at[r] + half)) for r, c in np.argwhere(across)),
            *(((at[c] - half, at[r] + half), (at[c] + half, at[r] + half)) for r, c in np.argwhere(down)),
        ]


def picture(axis: Any, colours: np.ndarray, extent: tuple[float, float, float, float]) -> None:
    """Draws cells of one colour each (h,w,4) as an image with a whole number of pixels for each cell.

    Rectangles would be crisp too, but viewers show hairlines between them and take seconds for 64 x 64 cells.
    """
    times = max(1, PICTURE_PIXELS // max(colours.shape[:2]))
    fine = colours.repeat(times, 0).repeat(times, 1)
    axis.imshow(fine, extent=extent, interpolation="none", interpolation_stage="rgba", aspect="equal")


def label(axis: Any, texts: tuple[str, str], look: Look) -> None:
    """Writes names and ticks of a panel's axes in the figure's type."""
    size = look.layout.type_size
    axis.tick_params(labelsize=size, length=size / 4, width=0.4, pad=size / 5)
    axis.set_xlabel(texts[0], fontsize=size, labelpad=0, parse_math=False)
    axis.set_ylabel(texts[1], fontsize=size, labelpad=-size / 2, parse_math=False)


def short(value: float) -> str:
    """A number in three digits, with a true minus sign."""
    return f"{value:.3g}".replace("-", "−")
