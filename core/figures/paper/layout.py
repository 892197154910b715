"""The layout of a figure for print: its width, type, scale and colours, independent of its content."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.figures.style import PALETTES, SCALES, Palette
from core.types import InputError, number, one_of, whole_number


@dataclass(frozen=True)
class Width:
    """``inches`` wide, at most ``height`` inches high, with type of ``points``."""

    label: str
    inches: float
    height: float
    points: float


WIDTHS = {
    "column": Width("One column, 3.25 in", 3.25, 9.0, 7),
    "page": Width("Two columns, 6.75 in", 6.75, 9.0, 7),
    "slide": Width("Slide, 13.33 in", 13.33, 7.5, 16),
}
SMALLEST_TYPE, LARGEST_TYPE = 4.0, 32.0  # points


@dataclass(frozen=True)
class Layout:
    """How a figure is laid out.

    ``width``: one of WIDTHS; ``points``: size of all text (0: the width's default); ``scale``: one of style.SCALES;
    ``palette``: one of style.PALETTES; ``outline``: whether important pixels are outlined; ``dpi`` of a PNG.

    InputError for any other value.
    """

    width: str = "page"
    points: float = 0
    scale: str = "panel"
    palette: str = "red-blue"
    outline: bool = True
    dpi: int = 300

    def __post_init__(self) -> None:
        one_of("width", self.width, WIDTHS)
        one_of("scale", self.scale, SCALES)
        one_of("palette", self.palette, PALETTES)
        one_of("outline", self.outline, (True, False))
        object.__setattr__(self, "outline", bool(self.outline))
        object.__setattr__(self, "dpi", whole_number("dpi", self.dpi, 50, 1200))
        object.__setattr__(self, "points", number("points", self.points))
        if self.points and not SMALLEST_TYPE <= self.points <= LARGEST_TYPE:
            raise InputError(
                f"points must be 0 or lie between {SMALLEST_TYPE:g} and {LARGEST_TYPE:g}, not {self.points:g}."
            )

    @property
    def page(self) -> Width:
        """The page's measures."""
        return WIDTHS[self.width]

    @property
    def type_size(self) -> float:
        """The size of all text in the figure, in points."""
        return self.points or self.page.points

    @property
    def colours(self) -> Palette:
        """The palette's colours."""
        return PALETTES[self.palette]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Layout:
        """A Layout from plain values; unknown names are an InputError."""
        known = [f.name for f in dataclasses.fields(cls)]
        if unknown := sorted(set(values) - set(known)):
            raise InputError(
                f"A layout has no field {', '.join(map(repr, unknown))}. Its fields: {', '.join(known)}."
            )
        return cls(**values)
