"""What the rooms of this package share: neighbours, cosines, explanations of any input, and a memory."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from core import pipeline
from core.registry import METHODS
from core.types import Spec

Progress = Callable[[int, int, str], None]
KEPT = 32  # results of each kind that stay in memory


def remembered(function: Callable) -> Callable:
    """Keeps the last results by their arguments, whatever ``progress`` was told."""
    kept: dict[tuple, object] = {}

    @functools.wraps(function)
    def call(*arguments, progress: Progress | None = None):
        if (found := kept.get(arguments)) is None:
            found = function(*arguments, progress=progress)
            while len(kept) >= KEPT:
                kept.pop(next(iter(kept)), None)
            kept[arguments] = found
        return found
    return call


def nearest(spec: Spec) -> int:
    """The number of the nearest other image of the split, by Euclidean distance."""
    return int(by_distance(spec)[0])


def by_distance(spec: Spec) -> np.ndarray:
    """Numbers of the split's other images, the nearest first."""
    part = getattr(pipeline.dataset(spec), spec.split)
    flat = part.x.reshape(len(part), -1)
    order = np.square(flat - flat[spec.image]).sum(1, dtype=np.float64).argsort(kind="stable")
    return order[order != spec.image]


@functools.lru_cache(maxsize=256)
def _explained(spec: Spec, method: str, image: bytes | None) -> np.ndarray:
    whole = pipeline.check(spec.replace(method=method, options=()))
    context = pipeline.context(whole)
    if image is not None:
        context = pipeline.context(whole, np.frombuffer(image).reshape(context.shape), context.target)
    return np.asarray(METHODS[method].function(context, **dict(whole.options)), np.float64)


def explain(spec: Spec, method: str, image: np.ndarray | None) -> np.ndarray:
    """The map ``(h,w)`` of a method with default options at the Spec's image or at another, for the same class."""
    return _explained(spec, method, None if image is None else np.ascontiguousarray(image, np.float64).tobytes())
