"""OpenAPI's answer for one image, and other ways to it, beside the network's own weights."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core import pipeline
from core.methods import numeric
from core.methods.openapi import DecisionFeatures, decision_features
from core.models import white_box
from core.regions.common import Progress, remembered
from core.types import NotApplicable, Spec

DISTANCES = (1e-2, 1e-4, 1e-8)  # as in the paper
LARGE = 400  # pixels up to which regressions on 2 (d + 1) points are quick


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
    error = float(np.abs(found.weights - truth.ravel()).sum() / np.abs(truth).sum()) if truth.any() else float("nan")
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
