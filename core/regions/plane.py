"""The linear regions on a plane through the image, and how the exact weights change across it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core import pipeline
from core.methods.openapi import DecisionFeatures
from core.models import white_box
from core.regions.common import RESULTS_KEPT, by_distance
from core.regions.consistency import NEAREST_IMAGE, comparison_point
from core.regions.measures import cosine
from core.types import InputError, NotApplicable, Progress, Spec

REGIONS_WITH_BORDERS = 600  # more regions than this, and borders drawn on a map hide it


@dataclass(frozen=True)
class RegionMap:
    """A plane with the image at ``(0,0)``, sampled on a grid of k by k points.

    Axis 0 points to the nearest other image, axis 1 towards the nearest one that the model puts into another class
    than that. ``axes (2,h,w)`` are the two unit directions and ``at (k,)`` the coordinates along both, in pixel
    units. With rows along axis 1: ``cosine (k,k)`` of the exact weights to those at the image, the model's ``margin
    (k,k)``, and the number of the ``region (k,k)`` that each point lies in; ``count`` regions in all.
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


@pipeline.remembered(RESULTS_KEPT)
def region_map(spec: Spec, half_width: float, points: int = 41, *, progress: Progress | None = None) -> RegionMap:
    """The plane through the image and two near ones of different classes, from -half_width to half_width.

    ``half_width`` is in pixel units, ``points`` is the number of grid points along each axis. InputError for a width
    or number that is too small; NotApplicable where both neighbours lie in one direction, or the model's regions
    cannot be read.
    """
    if not half_width > 0 or points < 2:
        raise InputError(f"half_width must be above 0 and points at least 2, not {half_width} and {points}.")
    context = pipeline.context(spec)
    images = pipeline.images(spec).x
    image = context.image.astype(np.float64)
    neighbours, predicted = by_distance(spec), pipeline.split_predictions(spec).argmax(1)
    others = neighbours[predicted[neighbours] != predicted[neighbours[0]]]
    across, up = _plane(image, images[neighbours[0]], images[others[0] if len(others) else neighbours[1]])
    start = white_box.decision_weights(context.network.double, image[None], context.target)[0].ravel()
    at, rows, agreement, margins = np.linspace(-half_width, half_width, points), [], [], []
    for done, height in enumerate(at):
        if progress:
            progress(done, points, "rows of the plane")
        row = image + at[:, None, None] * across + height * up
        switches, weights, margin = white_box.inside(context.network.double, row, context.target)
        rows.append(switches)
        agreement.append([cosine(w, start) for w in weights.reshape(points, -1)])
        margins.append(margin)
    region = white_box.distinct(np.concatenate(rows))[1].reshape(points, points)
    return RegionMap(
        np.stack([across, up]), at, np.array(agreement), np.array(margins), region, int(region.max()) + 1
    )


def _plane(image: np.ndarray, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two orthonormal directions ``(h,w)`` from the image: to the first neighbour, and towards the second."""
    across = first - image
    across = across / np.linalg.norm(across)
    up = second - image
    up = up - (up * across).sum() * across
    if not np.linalg.norm(up) > 1e-12:
        raise NotApplicable("Both neighbours lie in the same direction, so they span no plane.")
    return across, up / np.linalg.norm(up)


def half_width(spec: Spec, features: DecisionFeatures, zoom: float) -> float:
    """The half width of a region map in pixel units, on a logarithmic scale.

    ``zoom`` 0 is the radius that OpenAPI accepted, 1 the distance of the nearest image.
    """
    far = comparison_point(spec, NEAREST_IMAGE).distance
    near = features.radius if features.exact else 1e-4 * far
    return float(near * (far / near) ** zoom)


def tested(spec: Spec, features: DecisionFeatures, axes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """OpenAPI's test points of all rounds, projected on a plane.

    Gives their coordinates ``(k,2)`` along ``axes (2,h,w)`` through the image, in pixel units, and whether each point
    lies in the image's region ``(k,)``.
    """
    context = pipeline.context(spec)
    offsets = np.concatenate([r.tested for r in features.trace])
    images = (features.x + np.concatenate([np.zeros((1, offsets.shape[1])), offsets])).reshape(-1, *context.shape)
    rows = white_box.activation_patterns(context.network.double, images)
    return offsets @ axes.reshape(2, -1).T, (rows[1:] == rows[0]).all(1)
