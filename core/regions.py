"""Linear regions around an image: exact weights and their proof, maps and lines through regions, consistency.

What the Regions page shows. Inside one region a piecewise linear model is a linear function, so an exact
explanation is the same for all its inputs; where a border is crossed it jumps.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from core import pipeline
from core.methods import numeric
from core.methods.context import Context
from core.methods.openapi import DecisionFeatures, decision_features
from core.models import white_box
from core.registry import METHODS
from core.types import InputError, NotApplicable, Spec, one_of

PARTNERS = ("a point in the same region", "the nearest test image")
COMPARED = ("openapi", "gradient_x_input", "integrated_gradients", "lime")
ALONG = ("gradient_x_input", "integrated_gradients")  # cheap enough for every point of a line
DISTANCES = (1e-2, 1e-4, 1e-8)  # as in the paper
LARGE = 400  # pixels up to which regressions on 2 (d + 1) points are quick
KEPT = 32  # results of each kind that stay in memory
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Decision:
    """OpenAPI's answer for one image beside the network's own weights ``truth (h,w)``.

    ``error`` is their L1 distance as a share of the truth's; NaN where there is no exact answer.
    """

    image: np.ndarray
    target: int
    probability: float
    found: DecisionFeatures
    truth: np.ndarray
    error: float
    seconds: float

    @property
    def values(self) -> np.ndarray:
        """D_c as an image (h,w)."""
        return self.found.weights.reshape(self.truth.shape)


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


@dataclass(frozen=True)
class RegionMap:
    """A plane through the image at ``(0,0)``: axis 0 points to the nearest image, axis 1 to the nearest that the
    model gives another class than that one.

    ``at (k,)`` coordinates; ``cosine``, ``margin (k,k)`` rows along axis 1; ``region (k,k)`` numbers the
    regions met, ``count`` of them.
    """

    at: np.ndarray
    cosine: np.ndarray
    margin: np.ndarray
    region: np.ndarray
    count: int


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


def _remembered(function: Callable) -> Callable:
    """Keeps the last results by their arguments, whatever ``progress`` was told."""
    found: dict[tuple, object] = {}

    @functools.wraps(function)
    def call(*arguments, progress: Progress | None = None):
        if arguments not in found:
            result = function(*arguments, progress=progress)
            while len(found) >= KEPT:
                found.pop(next(iter(found)), None)
            found[arguments] = result
        return found[arguments]
    return call


@_remembered
def decision(spec: Spec, sampling: str = "orthogonal", *, progress: Progress | None = None) -> Decision:
    """OpenAPI on the Spec's image, compared with the network's own weights."""
    context = pipeline.context(spec)
    start = time.perf_counter()
    found = decision_features(context.predict_proba, context.image.ravel(), context.target, sampling=sampling,
                              seed=spec.seed, progress=progress)
    seconds = time.perf_counter() - start
    truth = white_box.decision_weights(context.double, context.image[None], context.target)[0][0]
    error = float(np.abs(found.weights - truth.ravel()).sum() / np.abs(truth).sum()) if truth.any() else float("nan")
    probability = float(context.predict_proba(context.image[None])[0, context.target])
    return Decision(context.image, context.target, probability, found, truth, error, seconds)


def nearest(spec: Spec) -> int:
    """The number of the nearest other image of the split, by Euclidean distance."""
    return int(_by_distance(spec)[0])


def _by_distance(spec: Spec) -> np.ndarray:
    """Numbers of the split's other images, the nearest first."""
    part = getattr(pipeline.dataset(spec), spec.split)
    flat = part.x.reshape(len(part), -1)
    order = np.square(flat - flat[spec.image]).sum(1, dtype=np.float64).argsort(kind="stable")
    return order[order != spec.image]


@functools.lru_cache(maxsize=64)
def partner(spec: Spec, kind: str) -> Partner:
    """The input with which the image's explanation is compared."""
    one_of("partner", kind, PARTNERS)
    context, number = pipeline.context(spec), nearest(spec)
    here = context.image.astype(np.float64)
    there = np.asarray(getattr(pipeline.dataset(spec), spec.split).x[number], np.float64)
    border = first_border(context, here, there)
    away = float(np.linalg.norm(there - here))
    if kind == PARTNERS[0]:
        return Partner(here + border / 2 * (there - here), None, border / 2 * away, border, True)
    return Partner(there, number, away, border, border >= 1)


def first_border(context: Context, here: np.ndarray, there: np.ndarray) -> float:
    """The share of the way from here to there, to one part in 1e12, up to which all inputs lie in here's region."""
    def same(t: np.ndarray) -> np.ndarray:
        points = here + t[:, None, None] * (there - here)
        rows = white_box.patterns(context.double, np.concatenate([here[None], points]))
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


def agreements(spec: Spec, kind: str, methods: Sequence[str] = COMPARED,
               progress: Progress | None = None) -> list[Agreement]:
    """How far each method says the same at the image and at its partner, explaining the same class."""
    other, found = partner(spec, kind), []
    for done, method in enumerate(methods):
        if progress:
            progress(done, len(methods), METHODS[method].label)
        try:
            here, there = (_explain(spec, method, image) for image in (None, other.image))
        except NotApplicable as reason:
            found.append(Agreement(method, reason=str(reason)))
            continue
        size = np.abs(here).sum()
        found.append(Agreement(method, here, there, _cosine(here, there),
                               float(np.abs(here - there).sum() / size) if size else float("nan")))
    return found


@functools.lru_cache(maxsize=256)
def _explain_cached(spec: Spec, method: str, image: bytes | None) -> np.ndarray:
    whole = pipeline.check(spec.replace(method=method, options=()))
    context = pipeline.context(whole)
    if image is not None:
        context = pipeline.context(whole, np.frombuffer(image).reshape(context.shape), context.target)
    return np.asarray(METHODS[method].function(context, **dict(whole.options)), np.float64)


def _explain(spec: Spec, method: str, image: np.ndarray | None) -> np.ndarray:
    return _explain_cached(spec, method, None if image is None else np.ascontiguousarray(image, np.float64).tobytes())


@functools.lru_cache(maxsize=16)
def region_map(spec: Spec, half_width: float, points: int = 41) -> RegionMap:
    """The plane through the image and two near ones of different classes, out to ``half_width`` pixel units."""
    if not half_width > 0 or points < 2:
        raise InputError(f"half_width must be above 0 and points at least 2, not {half_width} and {points}.")
    context = pipeline.context(spec)
    images = getattr(pipeline.dataset(spec), spec.split).x
    here = context.image.astype(np.float64)
    order, predicted = _by_distance(spec), pipeline.split_predictions(spec).argmax(1)
    other = order[predicted[order] != predicted[order[0]]]
    across, up = _plane(here, images[order[0]], images[other[0] if len(other) else order[1]])
    at = np.linspace(-half_width, half_width, points)
    grid = np.stack(np.meshgrid(at, at), axis=-1).reshape(-1, 2)
    images = here + (grid[:, :1, None] * across + grid[:, 1:, None] * up)
    rows = white_box.patterns(context.double, images)
    weights, margin = white_box.decision_weights(context.double, images, context.target)
    start = white_box.decision_weights(context.double, here[None], context.target)[0].ravel()
    flat = weights.reshape(len(weights), -1)
    length = np.linalg.norm(flat, axis=1) * np.linalg.norm(start)
    cosine = np.divide(flat @ start, length, out=np.full(len(flat), np.nan), where=length > 0)
    region = np.unique(rows, axis=0, return_inverse=True)[1].reshape(points, points)
    return RegionMap(at, cosine.reshape(points, points), margin.reshape(points, points), region,
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


@_remembered
def line(spec: Spec, number: int, points: int = 41, *, progress: Progress | None = None) -> Line:
    """How explanations change on the way to image ``number``: the exact weights and cheap methods."""
    context = pipeline.context(spec)
    part = getattr(pipeline.dataset(spec), spec.split)
    if not 0 <= number < len(part) or number == spec.image:
        raise InputError(f"Image {number} was asked for; any of 0 to {len(part) - 1} but {spec.image} will do.")
    here, there = context.image.astype(np.float64), np.asarray(part.x[number], np.float64)
    t = np.linspace(0, 1, points)
    images = here + t[:, None, None] * (there - here)
    rows = white_box.patterns(context.double, images)
    weights, margin = white_box.decision_weights(context.double, images, context.target)
    maps = {"exact": weights}
    for done, method in enumerate(ALONG):
        if progress:
            progress(done, len(ALONG), METHODS[method].label)
        maps[method] = np.stack([_explain(spec, method, image) for image in images])
    middle = (t[1:] + t[:-1]) / 2
    return Line(t, {name: np.array([_cosine(m[0], one) for one in m]) for name, m in maps.items()},
                middle[(rows[1:] != rows[:-1]).any(1)], middle[np.diff(margin > 0)])


@dataclass(frozen=True)
class Error:
    """Relative L1 distance of a method's weights to the network's own, at distance ``h`` (NaN: it needs none)."""

    method: str
    h: float
    error: float
    reason: str = ""


@_remembered
def errors(spec: Spec, *, progress: Progress | None = None) -> list[Error]:
    """How far OpenAPI and the ways that need a distance h are from the network's own weights.

    Regressions solve for all pixels twice over; they are left out beyond LARGE pixels.
    """
    context = pipeline.context(spec)
    truth = white_box.decision_weights(context.double, context.image[None], context.target)[0][0]
    ways: dict[str, Callable[[float], np.ndarray]] = {
        "Naive solve": lambda h: numeric.naive(context, h=h), "ZOO": lambda h: numeric.zoo(context, h=h)}
    if context.image.size <= LARGE:
        ways |= {"LIME, linear": lambda h: numeric.regression(context, h),
                 "LIME, ridge": lambda h: numeric.regression(context, h, ridge=1.0)}
    d = decision(spec)
    found = [Error("OpenAPI", float("nan"), d.error, d.found.reason)]
    for done, (name, h) in enumerate((name, h) for name in ways for h in DISTANCES):
        if progress:
            progress(done, len(ways) * len(DISTANCES), f"{name}, h = {h:g}")
        try:
            error = float(np.abs(ways[name](h) - truth).sum() / np.abs(truth).sum())
        except (NotApplicable, np.linalg.LinAlgError) as reason:
            found.append(Error(name, h, float("nan"), str(reason)))
        else:
            found.append(Error(name, h, error))
    return found


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    length = np.linalg.norm(a) * np.linalg.norm(b)
    return float((a * b).sum() / length) if length > 0 else float("nan")
