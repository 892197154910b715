"""Shared by the modules of this package: neighbours of an image, and maps of any input."""

from __future__ import annotations

import numpy as np

from core import pipeline
from core.registry import METHODS, canonical
from core.types import Spec

RESULTS_KEPT = 32  # of each function, in memory


def nearest(spec: Spec) -> int:
    """The number of the nearest other image in the Spec's split, by Euclidean distance."""
    return int(by_distance(spec)[0])


def by_distance(spec: Spec) -> np.ndarray:
    """The numbers ``(n-1,)`` of the split's other images, nearest first."""
    part = getattr(pipeline.dataset(spec), spec.split)
    flat = part.x.reshape(len(part), -1)
    order = np.square(flat - flat[spec.image]).sum(1, dtype=np.float64).argsort(kind="stable")
    return order[order != spec.image]


@pipeline.remembered(256)
def _default_map_at(spec: Spec, method: str, image: bytes | None) -> np.ndarray:
    whole = canonical(spec.replace(method=method, options=()))
    context = pipeline.context(whole)
    if image is not None:
        context = pipeline.context(whole, np.frombuffer(image).reshape(context.shape), context.target)
    return np.asarray(METHODS[method].function(context, **dict(whole.options)), np.float64)


def default_map_at(spec: Spec, method: str, image: np.ndarray | None) -> np.ndarray:
    """The map ``(h,w)`` of a method with default options at the Spec's image or at another, for the same class."""
    return _default_map_at(spec, method, None if image is None else np.ascontiguousarray(image, np.float64).tobytes())
