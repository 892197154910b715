"""What becomes of the prediction when the pixels an explanation names first are taken away."""

from __future__ import annotations

from core import pipeline
from core.metrics.ablation import Ablation, ablation
from core.regions.common import KEPT, Progress, explain
from core.registry import METHODS
from core.types import NotApplicable, Spec

REMOVED = ("openapi", "saliency", "gradient_x_input", "lime")


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
