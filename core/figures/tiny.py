"""Small pictures as PNG files: where many maps stand together, on paper too, and no pointer reads them."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw

from core.figures.style import Theme, outline

EDGE = 256  # pixels of a picture at least, so that outlines are fine and zooming stays crisp


def coloured(values: np.ndarray, limit: float, colours: Sequence[str], *, signed: bool) -> np.ndarray:
    """Values (...) as RGB (..., 3) uint8: from -limit (``signed``) or 0 to limit through evenly spaced colours."""
    stops = np.array([[int(c[i:i + 2], 16) for i in (1, 3, 5)] for c in colours], float)
    low = -limit if signed else 0.0
    where = (np.clip(np.nan_to_num(values), low, limit) - low) / (limit - low) * (len(stops) - 1)
    return np.stack([np.interp(where, np.arange(len(stops)), stops[:, i]) for i in range(3)], -1).round().astype(np.uint8)


def picture(values: np.ndarray, colours: Sequence[str], theme: Theme, *, signed: bool, mask: np.ndarray | None = None,
            limit: float | None = None) -> bytes:
    """A map (h,w) as a PNG file: row 0 on top, zero neutral, crisp pixels, ``mask`` outlined.

    ``limit`` is drawn in full colour, by default the largest |value|.
    """
    limit = float(np.abs(values).max()) if limit is None else limit
    cell = max(1, EDGE // max(values.shape))
    pixels = coloured(values, limit or 1.0, colours, signed=signed).repeat(cell, 0).repeat(cell, 1)
    image = Image.fromarray(pixels)
    if mask is not None:
        draw, width = ImageDraw.Draw(image), max(2, EDGE // 96)
        for start, end in outline(mask):
            draw.line([((x + 0.5) * cell, (y + 0.5) * cell) for x, y in (start, end)], theme.outline, width)
    return png(image)


def dots(points: np.ndarray, values: np.ndarray, limit: float, colours: Sequence[str], span: float,
         edge: int = 440) -> bytes:
    """Points (n,2) as discs on a clear square from -span to span, coloured by values (n,) from 0 to limit.

    The largest values are drawn last; points without a value are small rings.
    """
    image = Image.new("RGBA", (edge, edge))
    draw = ImageDraw.Draw(image)
    places = (points * (1, -1) / span + 1) / 2 * edge
    shades = coloured(values, limit, colours, signed=False)
    radius = edge / 150
    for i in np.argsort(np.nan_to_num(values, nan=-1.0), kind="stable"):
        x, y = places[i]
        box = (x - radius, y - radius, x + radius, y + radius)
        if np.isnan(values[i]):
            draw.ellipse(box, outline=(128, 128, 128, 160))
        else:
            draw.ellipse(box, fill=(*shades[i].tolist(), 235))
    return png(image)


def png(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def address(data: bytes) -> str:
    """A PNG file as an address that holds the picture itself."""
    return "data:image/png;base64," + base64.b64encode(data).decode()
