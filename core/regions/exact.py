"""OpenAPI's answer for one image, and other ways to it, beside the network's own weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from core import pipeline
from core.methods import finite_difference
from core.methods.openapi import DecisionFeatures, answer
from core.models import white_box
from core.regions.common import KEPT, Progress
from core.regions.measures import relative_l1
from core.types import NotApplicable, Spec

DISTANCES = (1e-2, 1e-4, 1e-8)  # as in the paper
LARGE = 800  # pixels up to which regressions on 2 (d + 1) points are quick
SOME = 512  # pixels at which ZOO is looked at beyond


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


@pipeline.remembered(KEPT)
def decision(spec: Spec, sampling: str = "orthogonal", *, progress: Progress | None = None) -> Decision:
    """OpenAPI on the Spec's image, compared with the network's own weights."""
    context = pipeline.context(spec)
    found, seconds = answer(context, sampling, progress)
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


def errors(spec: Spec, *, progress: Progress | None = None) -> Iterator[Error]:
    """How far OpenAPI and the ways that need a distance h are from the network's own weights, the quick ones first.

    Beyond LARGE pixels ZOO, whose pixels do not depend on each other, is asked about SOME random ones, and
    regressions, which solve for all pixels twice over, are left out.
    """
    networks: dict = {}
    with pipeline.same_networks(networks):
        d = decision(spec, progress=progress)
    yield Error("OpenAPI", float("nan"), d.error, d.found.reason)
    for name in ("zoo", "naive") if d.image.size > LARGE else ("zoo", "linear", "ridge", "naive"):
        with pipeline.same_networks(networks):
            found = _errors(spec, name, progress=progress)
        yield from found


@pipeline.remembered(KEPT)
def _errors(spec: Spec, name: str, *, progress: Progress | None = None) -> tuple[Error, ...]:
    """Those of one way at all distances."""
    context, way, truth = pipeline.context(spec), finite_difference.WAYS[name], decision(spec).truth.ravel()
    rng, label, h, ratios = np.random.default_rng(spec.seed), way.label, np.array(DISTANCES), []
    if name == "zoo" and truth.size > LARGE:
        seen = np.sort(rng.choice(truth.size, SOME, replace=False))
        truth, points, label = truth[seen], _steps(seen, truth.size), f"{label}, {SOME} pixels"
    else:
        points = way.points(truth.size, rng)
    try:
        for done, one in enumerate(h):
            if progress:
                progress(done, len(h), f"{label}, h = {one:g}")
            ratios.append(finite_difference.ask(context, points, one))
        weights = finite_difference.weights(way, points, np.column_stack(ratios), h)
    except NotApplicable as reason:
        return tuple(Error(label, float(one), float("nan"), str(reason)) for one in h)
    return tuple(Error(label, float(one), relative_l1(w, truth)) for one, w in zip(h, weights.T))


def _steps(pixels: np.ndarray, size: int) -> np.ndarray:
    """A step up, then one down, at each of these pixels ``(2 k,size)``."""
    up = np.zeros((len(pixels), size))
    up[np.arange(len(pixels)), pixels] = 1
    return np.concatenate([up, -up])
