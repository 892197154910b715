"""How explanations change along the line from the image to another one: constant in a region, a jump at a border."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core import pipeline
from core.models import white_box
from core.regions.common import RESULTS_KEPT, default_map_at
from core.regions.measures import cosine
from core.registry import METHODS
from core.types import InputError, Progress, Spec

METHODS_ALONG = ("gradient_x_input", "integrated_gradients")  # cheap enough for every point of a line


@dataclass(frozen=True)
class Line:
    """The line from the image (t = 0) to another one (t = 1), sampled at ``t (k,)``.

    ``cosine`` holds, by method, the cosine ``(k,)`` of the map at t to the map at the image. ``borders`` are the t at
    which the region changes and ``class_change`` those at which the prediction does, to half a step.
    """

    t: np.ndarray
    cosine: dict[str, np.ndarray]
    borders: np.ndarray
    class_change: np.ndarray


@pipeline.remembered(RESULTS_KEPT)
def line(spec: Spec, number: int, points: int = 41, *, progress: Progress | None = None) -> Line:
    """How the exact weights and a few fast methods change on the line to image ``number`` of the split.

    InputError when there is no such image, or it is the Spec's own.
    """
    context = pipeline.context(spec)
    part = pipeline.images(spec)
    if not 0 <= number < len(part) or number == spec.image:
        raise InputError(f"Image {number} was asked for; any of 0 to {len(part) - 1} but {spec.image} will do.")
    start, end = context.image.astype(np.float64), np.asarray(part.x[number], np.float64)
    t = np.linspace(0, 1, points)
    images = start + t[:, None, None] * (end - start)
    rows, weights, margin = white_box.inside(context.network.double, images, context.target)
    maps = {"exact": weights}
    for done, method in enumerate(METHODS_ALONG):
        if progress:
            progress(done, len(METHODS_ALONG), METHODS[method].label)
        maps[method] = np.stack([default_map_at(spec, method, image) for image in images])
    middle = (t[1:] + t[:-1]) / 2
    return Line(
        t,
        {name: np.array([cosine(m[0], at_t) for at_t in m]) for name, m in maps.items()},
        middle[(rows[1:] != rows[:-1]).any(1)],
        middle[np.diff(margin > 0)],
    )
