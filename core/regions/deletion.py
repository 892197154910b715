"""Deletion curves (pixel flipping): the prediction as the most important features are removed one after another.

OpenAPI, section V-A; Ancona et al. 2018.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core import pipeline
from core.regions.common import RESULTS_KEPT, default_map_at
from core.registry import METHODS
from core.types import NotApplicable, Progress, Spec

MAX_FEATURES = 200  # removed, as in the paper
METHODS_COMPARED = ("openapi", "saliency", "gradient_x_input", "lime")


@dataclass(frozen=True)
class DeletionCurve:
    """The model's answer after k = 0..count removed features.

    ``probability (count+1,)`` of the explained class, and whether the predicted class has ``changed (count+1,)``. The
    paper's CPP is the mean of ``cpp`` over images, its NLCI the number of images whose label changed.
    """

    probability: np.ndarray
    changed: np.ndarray

    @property
    def cpp(self) -> np.ndarray:
        """Absolute change of the explained class's probability ``(count+1,)``."""
        return np.abs(self.probability - self.probability[0])

    @property
    def first_change(self) -> int | None:
        """After how many altered features the label first changes; None if it never does."""
        return int(self.changed.argmax()) if self.changed.any() else None


def deletion_curve(
    predict_proba: Callable[[np.ndarray], np.ndarray],
    x: np.ndarray,
    weights: np.ndarray,
    target: int,
    count: int = MAX_FEATURES,
) -> DeletionCurve:
    """Removes up to ``count`` features of ``x (d,)`` one by one, those with the largest ``|weights| (d,)`` first.

    A feature with a positive weight is set to 0, one with a negative weight to 1; one with weight 0 stays.
    ``predict_proba`` takes inputs (n,d) and gives probabilities (n,C); ``target`` is the class that is followed.
    Source: OpenAPI, section V-A.
    """
    x, weights = np.asarray(x, np.float64).ravel(), np.asarray(weights, np.float64).ravel()
    order = np.argsort(-np.abs(weights), kind="stable")[:count]
    inputs = np.repeat(x[None], len(order) + 1, axis=0)
    for k, feature in enumerate(order, start=1):
        if weights[feature] != 0:
            inputs[k:, feature] = weights[feature] < 0
    y = predict_proba(inputs)
    return DeletionCurve(y[:, target], y.argmax(1) != y[0].argmax())


@pipeline.remembered(RESULTS_KEPT)
def deletion_curves(spec: Spec, *, progress: Progress | None = None) -> dict[str, DeletionCurve | str]:
    """The deletion curve of each compared method's map, or the reason why it has none."""
    context, curves = pipeline.context(spec), {}
    for done, method in enumerate(METHODS_COMPARED):
        if progress:
            progress(done, len(METHODS_COMPARED), METHODS[method].label)
        try:
            weights = default_map_at(spec, method, None)
        except NotApplicable as reason:
            curves[method] = str(reason)
        else:
            curves[method] = deletion_curve(context.predict_proba, context.image, weights, context.target)
    return curves
