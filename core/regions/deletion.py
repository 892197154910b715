"""What becomes of a prediction when the most important features are taken away (OpenAPI, V-A; Ancona 2018)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core import pipeline
from core.regions.common import KEPT, Progress, explain
from core.registry import METHODS
from core.types import NotApplicable, Spec

COUNT = 200  # features, as in the paper
REMOVED = ("openapi", "saliency", "gradient_x_input", "lime")


@dataclass(frozen=True)
class Ablation:
    """After k = 0..count altered features: ``probability (count+1,)`` of the explained class, and whether the label
    has ``changed (count+1,)``. CPP is the mean of ``cpp`` over images, NLCI the number of images changed.
    """

    probability: np.ndarray
    changed: np.ndarray

    @property
    def cpp(self) -> np.ndarray:
        """Absolute change of the explained class's probability."""
        return np.abs(self.probability - self.probability[0])

    @property
    def first_change(self) -> int | None:
        """After how many altered features the label first changes; None if it never does."""
        return int(self.changed.argmax()) if self.changed.any() else None


def ablation(predict_proba: Callable[[np.ndarray], np.ndarray], x: np.ndarray, weights: np.ndarray, target: int,
             count: int = COUNT) -> Ablation:
    """Alters the features of ``x (d,)`` one by one, the largest ``|weights| (d,)`` first.

    A feature of positive weight becomes 0, one of negative weight becomes 1; one of weight 0 stays. ``predict_proba``
    takes (n,d) and gives (n,C).
    """
    x, weights = np.asarray(x, np.float64).ravel(), np.asarray(weights, np.float64).ravel()
    order = np.argsort(-np.abs(weights), kind="stable")[:count]
    steps = np.repeat(x[None], len(order) + 1, axis=0)
    for k, feature in enumerate(order, start=1):
        if weights[feature] != 0:
            steps[k:, feature] = weights[feature] < 0
    y = predict_proba(steps)
    return Ablation(y[:, target], y.argmax(1) != y[0].argmax())


@pipeline.remembered(KEPT)
def removals(spec: Spec, *, progress: Progress | None = None) -> dict[str, Ablation | str]:
    """Per method the probabilities on the way (OpenAPI, section V-A), or the reason why there is no map."""
    context, found = pipeline.context(spec), {}
    for done, method in enumerate(REMOVED):
        if progress:
            progress(done, len(REMOVED), METHODS[method].label)
        try:
            weights = explain(spec, method, None)
        except NotApplicable as reason:
            found[method] = str(reason)
        else:
            found[method] = ablation(context.predict_proba, context.image, weights, context.target)
    return found
