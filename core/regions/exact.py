"""OpenAPI and finite-difference estimates for one image, compared with the network's own weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from core import pipeline
from core.methods import finite_difference
from core.methods.openapi import DecisionFeatures, answer
from core.models import white_box
from core.regions.common import RESULTS_KEPT
from core.regions.measures import relative_l1
from core.types import NotApplicable, Progress, Spec

DISTANCES = (1e-2, 1e-4, 1e-8)  # as in the paper
REGRESSION_PIXELS = 800  # up to which regressions on 2 (d + 1) points are quick
ZOO_PIXELS = 512  # random pixels at which ZOO is evaluated on larger images


@dataclass(frozen=True)
class Decision:
    """OpenAPI's decision features of one image, and the network's own weights ``truth (h,w)``.

    ``target`` is the explained class and ``probability`` the model's for it. ``error`` is the relative L1 distance
    between the two; NaN where there is no exact answer. ``seconds`` is the time OpenAPI took.
    """

    image: np.ndarray
    target: int
    probability: float
    features: DecisionFeatures
    truth: np.ndarray
    error: float
    seconds: float

    @property
    def values(self) -> np.ndarray:
        """D_c as an image (h,w)."""
        return self.features.weights.reshape(self.truth.shape)


@pipeline.remembered(RESULTS_KEPT)
def decision(spec: Spec, sampling: str = "orthogonal", *, progress: Progress | None = None) -> Decision:
    """OpenAPI on the Spec's image, compared with the network's own weights.

    ``sampling`` is one of core.regions.SAMPLINGS. NotApplicable for a model whose weights cannot be read.
    """
    context = pipeline.context(spec)
    features, seconds = answer(context, sampling, progress)
    truth = white_box.decision_weights(context.network.double, context.image[None], context.target)[0][0]
    error = relative_l1(features.weights, truth.ravel())
    probability = float(context.predict_proba(context.image[None])[0, context.target])
    return Decision(context.image, context.target, probability, features, truth, error, seconds)


@dataclass(frozen=True)
class Error:
    """The relative L1 distance of a method's weights to the network's own, for a step ``h`` (NaN: it needs none)."""

    method: str
    h: float
    error: float
    reason: str = ""


def errors(spec: Spec, *, progress: Progress | None = None) -> Iterator[Error]:
    """Errors of OpenAPI, then of the finite-difference estimates at each of DISTANCES, the fastest first.

    On images of more than REGRESSION_PIXELS pixels, ZOO (whose pixels are independent of one another) is evaluated at
    ZOO_PIXELS random ones, and regressions, which solve for all pixels at once, are left out.
    """
    networks: dict = {}
    with pipeline.same_networks(networks):
        exact = decision(spec, progress=progress)
    yield Error("OpenAPI", float("nan"), exact.error, exact.features.reason)
    for name in ("zoo", "naive") if exact.image.size > REGRESSION_PIXELS else ("zoo", "linear", "ridge", "naive"):
        with pipeline.same_networks(networks):
            estimates = _errors(spec, name, progress=progress)
        yield from estimates


@pipeline.remembered(RESULTS_KEPT)
def _errors(spec: Spec, name: str, *, progress: Progress | None = None) -> tuple[Error, ...]:
    """The errors of one estimator at all distances."""
    context, estimator = pipeline.context(spec), finite_difference.ESTIMATORS[name]
    truth = decision(spec).truth.ravel()
    rng, label, h, ratios = np.random.default_rng(spec.seed), estimator.label, np.array(DISTANCES), []
    if name == "zoo" and truth.size > REGRESSION_PIXELS:
        chosen = np.sort(rng.choice(truth.size, ZOO_PIXELS, replace=False))
        truth, points, label = truth[chosen], _pixel_steps(chosen, truth.size), f"{label}, {ZOO_PIXELS} pixels"
    else:
        points = estimator.points(truth.size, rng)
    try:
        for done, distance in enumerate(h):
            if progress:
                progress(done, len(h), f"{label}, h = {distance:g}")
            ratios.append(finite_difference.log_ratio_differences(context, points, distance))
        weights = finite_difference.weights(estimator, points, np.column_stack(ratios), h)
    except NotApplicable as reason:
        return tuple(Error(label, float(distance), float("nan"), str(reason)) for distance in h)
    return tuple(Error(label, float(distance), relative_l1(w, truth)) for distance, w in zip(h, weights.T))


def _pixel_steps(pixels: np.ndarray, size: int) -> np.ndarray:
    """Unit steps ``(2k,size)``: up at each of the ``pixels (k,)``, then down."""
    up = np.zeros((len(pixels), size))
    up[np.arange(len(pixels)), pixels] = 1
    return np.concatenate([up, -up])
