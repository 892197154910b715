"""A map of the linear regions on a plane through the image."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core import pipeline
from core.methods.openapi import DecisionFeatures
from core.models import white_box
from core.regions.common import KEPT, Progress, by_distance
from core.regions.consistency import PARTNERS, partner
from core.regions.measures import cosine
from core.types import InputError, NotApplicable, Spec

FEW = 600  # regions up to which their borders tell something on a map


@dataclass(frozen=True)
class RegionMap:
    """A plane through the image at ``(0,0)``: axis 0 points to the nearest image, axis 1 to the nearest that the
    model gives another class than that one.

    ``axes (2,h,w)`` of length 1; ``at (k,)`` coordinates; ``cosine``, ``margin (k,k)`` rows along axis 1; ``region
    (k,k)`` numbers the regions met, ``count`` of them.
    """

    axes: np.ndarray
    at: np.ndarray
    cosine: np.ndarray
    margin: np.ndarray
    region: np.ndarray
    count: int

    @property
    def lowest(self) -> float:
        """The lowest cosine."""
        return float(np.nanmin(self.cosine))

    @property
    def has_class_border(self) -> bool:
        """Whether the prediction changes on the plane."""
        return bool((self.margin > 0).any() and (self.margin < 0).any())

    def covers(self, points: np.ndarray) -> np.ndarray:
        """Which points ``(k,2)`` of the plane lie within its edges."""
        return (np.abs(points) <= self.at[-1]).all(1)


@pipeline.remembered(KEPT)
def region_map(spec: Spec, half_width: float, points: int = 41, *, progress: Progress | None = None) -> RegionMap:
    """The plane through the image and two near ones of different classes, out to ``half_width`` pixel units."""
    if not half_width > 0 or points < 2:
        raise InputError(f"half_width must be above 0 and points at least 2, not {half_width} and {points}.")
    context = pipeline.context(spec)
    images = getattr(pipeline.dataset(spec), spec.split).x
    here = context.image.astype(np.float64)
    order, predicted = by_distance(spec), pipeline.split_predictions(spec).argmax(1)
    other = order[predicted[order] != predicted[order[0]]]
    across, up = _plane(here, images[order[0]], images[other[0] if len(other) else order[1]])
    start = white_box.decision_weights(context.network.double, here[None], context.target)[0].ravel()
    at, rows, agreement, margins = np.linspace(-half_width, half_width, points), [], [], []
    for done, height in enumerate(at):
        if progress:
            progress(done, points, "rows of the plane")
        row = here + at[:, None, None] * across + height * up
        switches, weights, margin = white_box.inside(context.network.double, row, context.target)
        rows.append(switches)
        agreement.append([cosine(one, start) for one in weights.reshape(points, -1)])
        margins.append(margin)
    region = white_box.distinct(np.concatenate(rows))[1].reshape(points, points)
    return RegionMap(np.stack([across, up]), at, np.array(agreement), np.array(margins), region,
                     int(region.max()) + 1)


def _plane(here: np.ndarray, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Orthonormal directions (h,w) from here towards the first and, as far as it differs, the second image."""
    across = first - here
    across = across / np.linalg.norm(across)
    up = second - here
    up = up - (up * across).sum() * across
    if not np.linalg.norm(up) > 1e-12:
        raise NotApplicable("Both neighbours lie in the same direction, so they span no plane.")
    return across, up / np.linalg.norm(up)


def half_width(spec: Spec, found: DecisionFeatures, zoom: float) -> float:
    """Of a region map, in pixel units: ``zoom`` 0 is OpenAPI's accepted radius, 1 the nearest image; logarithmic."""
    far = partner(spec, PARTNERS[1]).distance
    near = found.radius if found.exact else 1e-4 * far
    return float(near * (far / near) ** zoom)


def tested(spec: Spec, found: DecisionFeatures, axes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """OpenAPI's test points of all rounds: their shadows ``(k,2)`` on a plane of ``axes (2,h,w)`` through the image,
    and whether each lies in the image's region ``(k,)``.
    """
    context = pipeline.context(spec)
    offsets = np.concatenate([r.tested for r in found.trace])
    images = (found.x + np.concatenate([np.zeros((1, offsets.shape[1])), offsets])).reshape(-1, *context.shape)
    rows = white_box.patterns(context.network.double, images)
    return offsets @ axes.reshape(2, -1).T, (rows[1:] == rows[0]).all(1)
