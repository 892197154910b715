"""What explanations say at the image and at another input, in the same region or beyond its border."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core import pipeline
from core.methods.context import Context
from core.models import white_box
from core.regions.common import Progress, by_distance, explain, nearest
from core.regions.measures import cosine, relative_l1, sign_flips
from core.registry import METHODS
from core.types import NotApplicable, Spec, one_of

PARTNERS = ("a point in the same region", "the nearest test image", "a test image in the same region")
COMPARED = ("openapi", "gradient_x_input", "integrated_gradients", "lime")


@dataclass(frozen=True)
class Partner:
    """Another input ``image (h,w)``: test image ``number`` or, where that is None, a point on the way to one.

    ``distance`` to the image; ``border`` the share of the way to the nearest test image at which the
    first border lies; whether it lies in the ``same`` region.
    """

    image: np.ndarray
    number: int | None
    distance: float
    border: float
    same: bool


@dataclass(frozen=True)
class Agreement:
    """One method's maps ``here`` and ``there (h,w)`` at two inputs, for the class explained here.

    ``cosine`` between them; ``relative`` L1 distance; or the reason why there are none.
    """

    method: str
    here: np.ndarray | None = None
    there: np.ndarray | None = None
    cosine: float = float("nan")
    relative: float = float("nan")
    reason: str = ""

    @property
    def flips(self) -> np.ndarray:
        """The pixels ``(h,w)`` whose sign differs clearly between the two maps."""
        return sign_flips(self.here, self.there)


@pipeline.remembered(64)
def partner(spec: Spec, kind: str) -> Partner:
    """The input with which the image's explanation is compared."""
    one_of("partner", kind, PARTNERS)
    context, number = pipeline.context(spec), nearest(spec)
    if kind == PARTNERS[2]:
        number = nearest_mate(spec)
    here = context.image.astype(np.float64)
    there = np.asarray(getattr(pipeline.dataset(spec), spec.split).x[number], np.float64)
    border = first_border(context, here, there)
    away = float(np.linalg.norm(there - here))
    if kind == PARTNERS[0]:
        return Partner(here + border / 2 * (there - here), None, border / 2 * away, border, True)
    return Partner(there, number, away, border, border >= 1)


def nearest_mate(spec: Spec) -> int:
    """Number of the nearest other image of the split in the Spec's image's region.

    NotApplicable where there is none, as nearly always in a network.
    """
    switches = _switches(spec.replace(method="gradient", options=(), image=0))
    mates = (switches == switches[spec.image]).all(1)
    mates[spec.image] = False
    if not mates.any():
        raise NotApplicable(f"No other of the {len(switches):,} {spec.split} images lies in this region.")
    return next(int(number) for number in by_distance(spec) if mates[number])


@pipeline.remembered(4)
def _switches(spec: Spec) -> np.ndarray:
    """Switch settings ``(n,k)`` of all images of the Spec's split."""
    return white_box.patterns(pipeline.model(spec).double, getattr(pipeline.dataset(spec), spec.split).x)


def first_border(context: Context, here: np.ndarray, there: np.ndarray) -> float:
    """The share of the way from here to there, to one part in 1e12, up to which all inputs lie in here's region."""
    def same(t: np.ndarray) -> np.ndarray:
        points = here + t[:, None, None] * (there - here)
        rows = white_box.patterns(context.network.double, np.concatenate([here[None], points]))
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
def agreements(spec: Spec, kind: str, methods: Sequence[str] = COMPARED,
               progress: Progress | None = None) -> list[Agreement]:
    """How far each method says the same at the image and at its partner, explaining the same class."""
    other, found = partner(spec, kind), []
    for done, method in enumerate(methods):
        if progress:
            progress(done, len(methods), METHODS[method].label)
        try:
            here, there = (explain(spec, method, image) for image in (None, other.image))
        except NotApplicable as reason:
            found.append(Agreement(method, reason=str(reason)))
            continue
        found.append(Agreement(method, here, there, cosine(here, there), relative_l1(there, here)))
    return found
