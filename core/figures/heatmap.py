"""A map for the browser: its picture, the lines over it, and what the pointer reads. assets/heatmap.js shows it."""

from __future__ import annotations

import base64
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from core.figures import thumbnails
from core.figures.style import Theme, coloured, outline, peak, two_sided

MARK = "#ff8c00"  # the chosen pixel; seen on every colour scale
FRAME = "<div class='al-title'></div><div class='al-map'></div><div class='al-below'></div>"  # filled by the script


@functools.cache
def script_and_style() -> tuple[str, str]:
    """The JavaScript and the CSS that show a panel in a FRAME."""
    assets = Path(__file__).parents[2] / "assets"
    return (assets / "heatmap.js").read_text(), (assets / "heatmap.css").read_text()


def heatmap(
    values: np.ndarray,
    limit: float,
    kind: str,
    theme: Theme,
    *,
    mask: np.ndarray | None = None,
    pixel: tuple[int, int] | None = None,
    hatched: np.ndarray | None = None,
    over: np.ndarray | None = None,
    words: Mapping[int, str] | None = None,
) -> dict:
    """One panel of values (h,w): row 0 on top, zero neutral, crisp pixels; all of it can be written as JSON.

    The colours of the ``kind`` (one of ``core.figures.style.KINDS``) run from -limit or 0 to limit. ``over (h,w)``
    from -1 to 1 covers them in signed colours where it is not NaN. ``mask`` is outlined, ``pixel`` (row, column)
    marked, pixels in ``hatched (h,w)`` crossed by a stroke. Under the pointer stands each pixel's value in whole
    percents of the map's largest |value|, or the ``words`` for it.
    """
    low = -limit if two_sided(kind, values) else 0.0
    picture = coloured(values, low, limit, theme.colours(kind))
    if over is not None:
        picture = np.where(np.isnan(over)[..., None], picture, coloured(over, -1.0, 1.0, theme.signed))
    lines = []
    if mask is not None:
        lines.append(_line(outline(mask), theme.outline, 1.5))
    if hatched is not None:
        strokes = [((c - 0.35, r + 0.35), (c + 0.35, r - 0.35)) for r, c in np.argwhere(hatched).tolist()]
        lines.append(_line(strokes, theme.text, 1.0))
    if pixel is not None:
        row, column = pixel
        corners = [
            (column + x, row + y) for x, y in ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5))
        ]
        lines.append(_line(list(zip(corners, corners[1:])), MARK, 2.5))
    rows, columns = values.shape
    return {
        "rows": rows,
        "columns": columns,
        "picture": thumbnails.address(thumbnails.png(Image.fromarray(picture))),
        "percents": base64.b64encode(percents(values).tobytes()).decode(),
        "lines": lines,
        "words": dict(words or {}),
    }


def percents(values: np.ndarray) -> np.ndarray:
    """Values (h,w) as whole percents of the largest |value|, int8; 0 everywhere in an empty map."""
    return np.rint(100 * values / peak(values)).astype(np.int8)


def _line(segments: Sequence[tuple], colour: str, width: float) -> dict:
    """Segments between pixel centres as an SVG path, in which a pixel's corner and not its centre is whole."""
    path = "".join(f"M{x0 + 0.5:g} {y0 + 0.5:g}L{x1 + 0.5:g} {y1 + 0.5:g}" for (x0, y0), (x1, y1) in segments)
    return {"path": path, "colour": colour, "width": width}
