"""What screen and paper share: colours, limits and outlines, so that both show the same picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.cache import cached
from core.types import Attribution, InputError, one_of

# ColorBrewer RdBu (reversed) and Crameri's berlin, their middle replaced by the page's own background so
# that zero looks like nothing; cividis (Nunez et al. 2018) for magnitudes.
_RED_BLUE = (
    "#053061",
    "#2065ab",
    "#4393c3",
    "#90c4dd",
    "#d1e5f0",
    "#ffffff",
    "#fddbc7",
    "#f3a481",
    "#d6604d",
    "#b1182b",
    "#67001f",
)
_BERLIN = (
    "#9eb0ff",
    "#62a6e0",
    "#3280a6",
    "#20526a",
    "#112732",
    "#0e1117",
    "#371000",
    "#61200b",
    "#964a36",
    "#ca7b71",
    "#ffadad",
)
_CIVIDIS = (
    "#00224e",
    "#083370",
    "#35456c",
    "#4f576c",
    "#666970",
    "#7d7c78",
    "#948e77",
    "#aea371",
    "#c8b866",
    "#e5cf52",
    "#fee838",
)
_GREYS = ("#000000", "#808080", "#ffffff")
# ColorBrewer PuOr and Purples.
_PURPLE_ORANGE = (
    "#2d004b",
    "#532687",
    "#8073ac",
    "#b1aad1",
    "#d8daeb",
    "#ffffff",
    "#fee0b6",
    "#fcb761",
    "#e08214",
    "#b25706",
    "#7f3b08",
)
_PURPLES = ("#ffffff", "#efedf5", "#dadaeb", "#bcbddc", "#9e9ac8", "#807dba", "#6a51a3", "#54278f", "#3f007d")
Array = np.ndarray  # for pages, which compute nothing with arrays
LEVELS = 255  # odd, so that zero has a colour of its own
MISSING = "#d9d9d9"

KINDS = ("signed", "magnitude", "image", "truth")  # a map with two signs or one, an image in greys, a mask

SCALES = {
    "panel": "scaled per panel: each map divided by its largest value",
    "shared": "one scale for all maps, in each method's own units",
    "raw": "each map in its own units",
}


@dataclass(frozen=True)
class Theme:
    """Colours of a page: ``signed`` and ``magnitude`` colour maps, outline, text and background."""

    signed: tuple[str, ...]
    outline: str
    text: str
    background: str
    magnitude: tuple[str, ...] = _CIVIDIS
    image: tuple[str, ...] = _GREYS

    def colours(self, kind: str) -> tuple[str, ...]:
        """The colours of a panel of one of KINDS."""
        return {
            "signed": self.signed,
            "magnitude": self.magnitude,
            "image": self.image,
            "truth": (self.background, self.outline),
        }[kind]


LIGHT = Theme(_RED_BLUE, "#0a8f4e", "#31333f", "#ffffff")
DARK = Theme(_BERLIN, "#3fe08f", "#fafafa", "#0e1117")


@dataclass(frozen=True)
class Palette:
    """Colours for print: ``signed`` from against to for, ``magnitude`` from nothing to most.

    Colour-blind readers can distinguish all of them; ``grey`` says whether a grey print still shows the signs.
    """

    label: str
    signed: tuple[str, ...]
    magnitude: tuple[str, ...]
    grey: bool
    outline: str = "#0a8f4e"


PALETTES = {
    "red-blue": Palette("Red for, blue against", _RED_BLUE, _CIVIDIS, False),
    "purple-orange": Palette("Orange for, purple against", _PURPLE_ORANGE, _PURPLES, False),
    "cividis": Palette("Yellow for, blue against (grey print keeps signs)", _CIVIDIS, _CIVIDIS, True, "#c2185b"),
    "greys": Palette(
        "White for, black against (grey print keeps signs)", _GREYS, ("#ffffff", "#000000"), True, "#c2185b"
    ),
}


def coloured(values: np.ndarray, low: float, high: float, colours: Sequence[str]) -> np.ndarray:
    """Values (...) as colours ``(...,3)`` uint8: the first colour at low, the last at high, NaN light grey."""
    stops = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in (*colours, MISSING)], float)
    levels = np.linspace(0, len(colours) - 1, LEVELS)
    table = np.stack([np.interp(levels, np.arange(len(colours)), channel) for channel in stops[:-1].T], -1)
    table = np.concatenate([table, stops[-1:]]).round().astype(np.uint8)
    share = (np.asarray(values, np.float64) - low) / ((high - low) or 1.0)
    return table[np.where(np.isnan(share), LEVELS, np.clip(share, 0, 1) * (LEVELS - 1)).round().astype(int)]


def kind_of(attribution: Attribution) -> str:
    """Which of KINDS a map is."""
    return "signed" if attribution.signed else "magnitude"


def two_sided(kind: str, values: np.ndarray) -> bool:
    """Whether zero has the middle colour: in signed maps, and in images that have negative values."""
    return kind == "signed" or kind == "image" and bool(values.min() < 0)


def peak(values: np.ndarray) -> float:
    """The largest |value|, which is drawn in full colour; 1 where all values are zero."""
    return float(np.abs(values).max()) or 1.0


def scaled(values: np.ndarray) -> np.ndarray:
    """A map divided by its largest |value|; an all-zero map as it is."""
    return values / peak(values)


def strongest(values: np.ndarray, share: float = 0.1) -> np.ndarray:
    """The ``share`` of the pixels with the largest |value|, from -1 to 1 (at 60 % of the peak); NaN elsewhere."""
    size = np.abs(values)
    return np.where(size >= np.quantile(size, 1 - share), np.clip(values / (0.6 * peak(values)), -1, 1), np.nan)


def limits(maps: list[np.ndarray], scale: str) -> list[float]:
    """The value drawn in full colour for each map; 0 where a map is all zero.

    Colours run from -limit to limit (signed) or 0 to limit, so zero is neutral in every map.
    """
    one_of("scale", scale, SCALES)
    largest = [float(np.abs(values).max()) for values in maps]
    return [max(largest)] * len(maps) if scale == "shared" else largest


def shown(values: np.ndarray, limit: float, scale: str) -> tuple[np.ndarray, float]:
    """The numbers a panel shows and their limit: divided by the largest when scaled per panel."""
    if limit == 0:
        return values, 1.0
    return (values / limit, 1.0) if scale == "panel" else (values, limit)


def region_borders(region: np.ndarray, at: np.ndarray) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Line segments ((x0, y0), (x1, y1)) between neighbouring points of a plane in different regions.

    ``region (k,k)`` numbers the regions; ``at (k,)`` are the coordinates of columns (x) and of rows (y).
    """
    half = (at[1] - at[0]) / 2
    across, down = np.diff(region, axis=1) != 0, np.diff(region, axis=0) != 0
    return [
        *(((at[c] + half, at[r] - half), (at[c] + half, at[r] + half)) for r, c in np.argwhere(across)),
        *(((at[c] - half, at[r] + half), (at[c] + half, at[r] + half)) for r, c in np.argwhere(down)),
    ]


def outline(mask: np.ndarray) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Line segments ((x0, y0), (x1, y1)) along the pixel edges that separate a mask (h,w) from the rest.

    Pixel (row, column) covers x from column - .5 to column + .5, y likewise; straight runs are joined.
    """
    if mask.ndim != 2:
        raise InputError(f"A mask must be (h,w), not {mask.shape}.")
    return list(_outline(mask.shape, np.ascontiguousarray(mask, bool).tobytes()))


@cached(64)
def _outline(shape: tuple[int, int], content: bytes) -> tuple:
    padded = np.pad(np.frombuffer(content, bool).reshape(shape), 1).astype(int)
    across = np.diff(padded, axis=0)[:, 1:-1] != 0  # edge above row i
    down = np.diff(padded, axis=1)[1:-1] != 0  # edge left of column j
    lines = [((a - 0.5, i - 0.5), (b - 0.5, i - 0.5)) for i, row in enumerate(across) for a, b in _runs(row)]
    return (
        *lines,
        *(((j - 0.5, a - 0.5), (j - 0.5, b - 0.5)) for j, column in enumerate(down.T) for a, b in _runs(column)),
    )


def _runs(flags: np.ndarray) -> list[tuple[int, int]]:
    """First and one past the last index of each run of True."""
    edges = np.flatnonzero(np.diff(np.pad(flags, 1).astype(int)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist()))
