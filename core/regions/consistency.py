"""Explanations of the image and of another input, in the same region or beyond its border."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core import pipeline
from core.methods.context import Context
from core.models import white_box
from core.regions.common import by_distance, default_map_at, nearest
from core.regions.measures import cosine, relative_l1, sign_flips
from core.registry import METHODS
from core.types import NotApplicable, Progress, Spec, one_of

COMPARISON_POINTS = POINT_IN_REGION, NEAREST_IMAGE, IMAGE_IN_REGION = (
    "a point in the same region",
    "the nearest test image",
    "a test image in the same region",
)
METHODS_COMPARED = ("openapi", "gradient_x_input", "integrated_gradients", "lime")


@dataclass(frozen=True)
class ComparisonPoint:
    """Another input ``image (h,w)``: test image ``number`` or, where that is None, a point on the line to one.

    ``distance`` is its Euclidean distance from the Spec's image; ``border`` the share of the line to the other image
    at which the first border lies; ``same`` whether it lies in the Spec's image's region.
    """

    image: np.ndarray
    number: int | None
    distance: float
    border: float
    same: bool


@dataclass(frozen=True)
class Agreement:
    """One method's maps ``at_image (h,w)`` and ``at_point (h,w)``, for the class predicted at the image.

    ``cosine`` is that of the angle between them, ``relative`` their relative L1 distance; where the method does not
    apply, ``reason`` says why.
    """

    method: str
    at_image: np.ndarray | None = None
    at_point: np.ndarray | None = None
    cosine: float = float("nan")
    relative: float = float("nan")
    reason: str = ""

    @property
    def flips(self) -> np.ndarray:
        """The pixels ``(h,w)`` whose sign differs clearly between the two maps."""
        return sign_flips(self.at_image, self.at_point)


@pipeline.remembered(64)
def comparison_point(spec: Spec, kind: str) -> ComparisonPoint:
    """The input with which the Spec's image is compared; ``kind`` is one of COMPARISON_POINTS.

    NotApplicable when no other image of the split lies in the image's region. Source: OpenAPI, section V-B.
    """
    one_of("comparison point", kind, COMPARISON_POINTS)
    context, number = pipeline.context(spec), nearest(spec)
    if kind == IMAGE_IN_REGION:
        number = nearest_in_same_region(spec)
    image = context.image.astype(np.float64)
    other = np.asarray(getattr(pipeline.dataset(spec), spec.split).x[number], np.float64)
    border = first_border(context, image, other)
    length = float(np.linalg.norm(other - image))
    if kind == POINT_IN_REGION:
        return ComparisonPoint(image + border / 2 * (other - image), None, border / 2 * length, border, True)
    return ComparisonPoint(other, number, length, border, border >= 1)


def nearest_in_same_region(spec: Spec) -> int:
    """The number of the nearest other image of the split that lies in the region of the Spec's image.

    NotApplicable where there is none, as is nearly always the case for a network.
    """
    switches = _switches(spec.replace(method="gradient", options=(), image=0))
    in_region = (switches == switches[spec.image]).all(1)
    in_region[spec.image] = False
    if not in_region.any():
        raise NotApplicable(f"No other of the {len(switches):,} {spec.split} images lies in this region.")
    return next(int(number) for number in by_distance(spec) if in_region[number])


@pipeline.remembered(4)
def _switches(spec: Spec) -> np.ndarray:
    """Activation patterns ``(n,k)`` of all images of the Spec's split."""
    return white_box.activation_patterns(pipeline.model(spec).double, getattr(pipeline.dataset(spec), spec.split).x)


def first_border(context: Context, start: np.ndarray, end: np.ndarray) -> float:
    """The share of the line from ``start`` to ``end (h,w)`` that lies in start's region, to one part in 1e12."""

    def same(t: np.ndarray) -> np.ndarray:
        points = start + t[:, None, None] * (end - start)
        rows = white_box.activation_patterns(context.network.double, np.concatenate([start[None], points]))
        return (rows[1:] == rows[0]).all(1)

    low, high = 0.0, 1.0
    if same(np.ones(1))[0]:
        return 1.0  # regions are convex: everything between lies in it as well
    for _ in range(8):
        t = np.linspace(low, high, 34)[1:-1]
        inside = same(t)
        count = len(t) if inside.all() else int(inside.argmin())
        low, high = (t[count - 1] if count else low), (t[count] if count < len(t) else high)
    return float(low)


@pipeline.same_networks()
def agreements(
    spec: Spec, kind: str, methods: Sequence[str] = METHODS_COMPARED, progress: Progress | None = None
) -> list[Agreement]:
    """How well each method's maps agree at the image and at its comparison point, for the same class.

    A method that does not apply is reported with its reason. Source: OpenAPI, section V-B.
    """
    point, rows = comparison_point(spec, kind), []
    for done, method in enumerate(methods):
        if progress:
            progress(done, len(methods), METHODS[method].label)
        try:
            at_image, at_point = (default_map_at(spec, method, image) for image in (None, point.image))
        except NotApplicable as reason:
            rows.append(Agreement(method, reason=str(reason)))
            continue
        rows.append(
            Agreement(method, at_image, at_point, cosine(at_image, at_point), relative_l1(at_point, at_image))
        )
    return rows
