"""Exact weights on the way from the image to another: where they stay and where they jump."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core import pipeline
from core.models import white_box
from core.regions.common import KEPT, Progress, explain
from core.regions.measures import cosine
from core.registry import METHODS
from core.types import InputError, Spec

ALONG = ("gradient_x_input", "integrated_gradients")  # cheap enough for every point of a line


@dataclass(frozen=True)
class Line:
    """From the image (t = 0) to another (t = 1): cosine of every method's map to that at the start.

    ``borders`` are the t between which regions change, to half a step; ``class_change`` where the
    prediction does.
    """

    t: np.ndarray
    cosine: dict[str, np.ndarray]
    borders: np.ndarray
    class_change: np.ndarray


@pipeline.remembered(KEPT)
def line(spec: Spec, number: int, points: int = 41, *, progress: Progress | None = None) -> Line:
    """How explanations change on the way to image ``number``: the exact weights and cheap methods."""
    context = pipeline.context(spec)
    part = getattr(pipeline.dataset(spec), spec.split)
    if not 0 <= number < len(part) or number == spec.image:
        raise InputError(f"Image {number} was asked for; any of 0 to {len(part) - 1} but {spec.image} will do.")
    here, there = context.image.astype(np.float64), np.asarray(part.x[number], np.float64)
    t = np.linspace(0, 1, points)
    images = here + t[:, None, None] * (there - here)
    rows, weights, margin = white_box.inside(context.network.double, images, context.target)
    maps = {"exact": weights}
    for done, method in enumerate(ALONG):
        if progress:
            progress(done, len(ALONG), METHODS[method].label)
        maps[method] = np.stack([explain(spec, method, image) for image in images])
    middle = (t[1:] + t[:-1]) / 2
    return Line(t, {name: np.array([cosine(m[0], one) for one in m]) for name, m in maps.items()},
                middle[(rows[1:] != rows[:-1]).any(1)], middle[np.diff(margin > 0)])
