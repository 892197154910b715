"""OpenAPI's answer for one image, and other ways to it, beside the network's own weights."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from core import pipeline
from core.methods import numeric
from core.methods.openapi import DecisionFeatures, decision_features
from core.metrics.regions import relative_l1
from core.models import white_box
from core.regions.common import Progress, remembered
from core.types import NotApplicable, Spec

DISTANCES = (1e-2, 1e-4, 1e-8)  # as in the paper
LARGE = 800  # pixels up to which regressions on 2 (d + 1) points are quick


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


@remembered
def decision(spec: Spec, sampling: str = "orthogonal", *, progress: Progress | None = None) -> Decision:
    """OpenAPI on the Spec's image, compared with the network's own weights."""
    context = pipeline.context(spec)
    start = time.perf_counter()
    found = decision_features(context.predict_proba, context.image.ravel(), context.target, sampling=sampling,
                              seed=spec.seed, progress=progress)
    seconds = time.perf_counter() - start
    truth = white_box.decision_weights(context.network.double, context.image[None], context.target)[0][0]
    error = relative_l1(found.weights, truth.ravel())
    probability = float(context.predict_proba(context.image[None])[0, context.target])
    return Decision(context.image, context.target, probability, found, truth, error, seconds)


@dataclass(frozen=True)
class Error:
    """Relative L1 distance of a method's weights to the network's own, at distance ``h`` (NaN: it needs none)."""

    method: str
    h: float
    error: float
    reason: str = ""


@remembered
def errors(spec: Spec, *, progress: Progress | None = None) -> list[Error]:
    """How far OpenAPI and the ways that need a distance h are from the network's own weights.

    Regressions solve for all pixels twice over; they are left out beyond LARGE pixels.
    """
    context = pipeline.context(spec)
    truth = white_box.decision_weights(context.network.double, context.image[None], context.target)[0][0]
    ways = [way for name, way in numeric.WAYS.items() if context.image.size <= LARGE or name in ("naive", "zoo")]
    d = decision(spec)
    found = [Error("OpenAPI", float("nan"), d.error, d.found.reason)]
    h, done = np.array(DISTANCES), 0
    for way in ways:
        points, ratios = way.points(context.image.size, np.random.default_rng(spec.seed)), []
        try:
            for one in h:
                if progress:
                    progress(done, len(ways) * len(h), f"{way.label}, h = {one:g}")
                ratios.append(numeric.ask(context, points, one))
                done += 1
            weights = numeric.weights(way, points, np.column_stack(ratios), h)
        except NotApplicable as reason:
            found += [Error(way.label, float(one), float("nan"), str(reason)) for one in h]
        else:
            found += [Error(way.label, float(one), relative_l1(w, truth.ravel())) for one, w in zip(h, weights.T)]
    return found
