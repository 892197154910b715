"""Small pictures as PNG files, for pages and prints that show many maps without interaction."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw

from core.cache import cached
from core.figures.style import Theme, coloured, outline

SMALLEST_EDGE = 256  # pixels: outlines stay thin and zooming stays crisp


def rgb(colour: str) -> np.ndarray:
    """``#rrggbb`` as three numbers of type uint8."""
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)], np.uint8)


def picture(
    values: np.ndarray,
    colours: Sequence[str],
    theme: Theme,
    *,
    signed: bool,
    mask: np.ndarray | None = None,
    limit: float | None = None,
) -> bytes:
    """A map ``values (h,w)`` as a PNG file: row 0 on top, zero neutral, crisp pixels, ``mask (h,w)`` outlined.

    ``limit`` is drawn in full colour, by default the largest |value|.
    """
    limit = (float(np.abs(values).max()) if limit is None else limit) or 1.0
    cell = max(1, SMALLEST_EDGE // max(values.shape))
    pixels = coloured(values, -limit if signed else 0.0, limit, colours).repeat(cell, 0).repeat(cell, 1)
    image = Image.fromarray(pixels)
    if mask is not None:
        draw, width = ImageDraw.Draw(image), max(2, SMALLEST_EDGE // 96)
        for start, end in outline(mask):
            draw.line([((x + 0.5) * cell, (y + 0.5) * cell) for x, y in (start, end)], theme.outline, width)
    return png(image)


def dots(
    layers: Sequence[tuple[np.ndarray, np.ndarray, str]],
    span: tuple[Sequence[float], Sequence[float]],
    width: int = 480,
) -> bytes:
    """Points as marks on a transparent picture that covers ``span`` ((left, right), (bottom, top)), as a PNG file.

    Each layer has points (n,2), colours (n,3) uint8 and a mark: disc, cross or ring; later points lie on top.
    """
    packed = tuple((points.astype(np.float64).tobytes(), colours.tobytes(), mark) for points, colours, mark in layers)
    return _dots(packed, tuple(map(tuple, span)), width)


@cached(64)
def _dots(layers: tuple, span: tuple, width: int) -> bytes:
    (left, right), (bottom, top) = span
    height = round(width * (top - bottom) / (right - left))
    canvas = np.zeros((height, width, 4), np.uint8)
    for points, colours, mark in layers:
        points, colours = np.frombuffer(points).reshape(-1, 2), np.frombuffer(colours, np.uint8).reshape(-1, 3)
        column = (points[:, 0] - left) / (right - left) * width
        row = (top - points[:, 1]) / (top - bottom) * height
        places = np.column_stack([row, column]).astype(int)[:, None] + _mark(mark, width // 120)
        inside = ((places >= 0) & (places < (height, width))).all(2)
        ink = np.column_stack([colours, np.full(len(colours), 235, np.uint8)])
        canvas[*places[inside].T] = ink.repeat(inside.sum(1), axis=0)
    return png(Image.fromarray(canvas))


def _mark(name: str, radius: int) -> np.ndarray:
    """Offsets (k,2) of the pixels of a mark."""
    row, column = np.mgrid[-radius : radius + 1, -radius : radius + 1]
    far = np.hypot(row, column)
    return (
        np.argwhere(
            {
                "disc": far <= radius - 0.5,
                "ring": np.abs(far - radius + 1) <= 0.7,
                "cross": np.abs(np.abs(row) - np.abs(column)) <= 1,
            }[name]
        )
        - radius
    )


def png(image: Image.Image) -> bytes:
    """The image as a PNG file."""
    file = io.BytesIO()
    image.save(file, "PNG", compress_level=3)
    return file.getvalue()


def address(data: bytes) -> str:
    """A PNG file as a data URL."""
    return "data:image/png;base64," + base64.b64encode(data).decode()
