"""OpenAPI beside other methods: finite differences, deletion curves, and the pattern of the same weights."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import regions
from core.figures import screen
from core.registry import METHODS
from core.types import Spec
from pages.components.shared import scored_results
from pages.components.shared.charts import draw_chart
from pages.components.shared.map_panel import PanelStyle, small_text
from pages.components.shared.progress import counted
from pages.components.shared.to_compare import open_compare

SOON = 0.8  # seconds after which the first results are shown while the rest is computed
WEIGHTS_AND_PATTERN = {"openapi": {}, "patternlocal": {"surrogate": "openapi"}}


def finite_differences(spec: Spec, style: PanelStyle) -> None:
    """The errors of other estimates of the same weights."""
    small_text(
        "Other estimates of the weights from probabilities need a step size h, fixed in advance. If it is too "
        "large, the points leave the region; if it is too small, only rounding errors remain. The estimates "
        "cannot detect either."
    )
    errors, container, start = [], st.empty(), time.monotonic()
    with counted() as progress:
        for error in regions.errors(spec.replace(method="openapi"), progress=progress):
            if errors and errors[-1].method != error.method and time.monotonic() - start > SOON:
                _error_chart(errors, container, style)  # the first ones, while the slow ones are computed
            errors.append(error)
    _error_chart(errors, container, style)
    small_text(
        "L1 distance to the model's own weights, relative to their size; smaller is better. At 1 the estimate "
        f"is worthless. {_left_out(errors)}"
    )
    for error in errors:
        if error.reason:
            small_text(f"{error.method}: {error.reason}")


def _left_out(errors: Sequence[regions.Error]) -> str:
    """What is not computed on large images."""
    sampled = next((e.method for e in errors if e.method.endswith("pixels")), None)
    return (
        f"At this size: {sampled}, drawn at random; regressions would take minutes and are left out."
        if sampled
        else ""
    )


def _error_chart(errors: Sequence[regions.Error], container: DeltaGenerator, style: PanelStyle) -> None:
    texts = [f"{e.method}{'' if math.isnan(e.h) else f' at h {e.h:g}'}: {e.error:.1e}" for e in errors]
    draw_chart(
        screen.errors([(e.method, e.h, e.error) for e in errors], style.theme),
        f"region.errors.{len(errors)}",
        "; ".join(texts),
        340,
        container=container,
    )


def deletion_curves(spec: Spec, style: PanelStyle) -> None:
    """The probability of the class as pixels are deleted in each method's order."""
    small_text(
        "Pixels are deleted one by one, in the order of importance each method gives them: a pixel for the "
        "class is set to 0, a pixel against it to 1. The sooner the probability falls, the better the order."
    )
    with counted() as progress:
        curves = regions.deletion_curves(spec.replace(method="gradient"), progress=progress)
    drawn = {METHODS[m].label: curve for m, curve in curves.items() if not isinstance(curve, str)}
    longest = max((len(curve.probability) for curve in drawn.values()), default=0)
    changes = ", ".join(
        f"{name} never" if curve.first_change is None else f"{name} after {curve.first_change}"
        for name, curve in drawn.items()
    )
    draw_chart(
        screen.curves(
            list(range(longest)),
            {name: curve.probability for name, curve in drawn.items()},
            "deleted pixels",
            "probability of the class",
            style.theme,
        ),
        "region.removals",
        f"The prediction changes: {changes} pixels.",
        380,
    )
    small_text(
        f"The prediction first changes: {changes} of at most {longest - 1} pixels. A deletion curve "
        "measures what the model uses, not what matters in the world: suppressors count as well."
    )
    for method, reason in curves.items():
        if isinstance(reason, str):
            small_text(f"{METHODS[method].label}: {reason}")


def weights_and_pattern(spec: Spec, style: PanelStyle) -> None:
    """The exact weights, and the pattern made of them."""
    small_text(
        "A pixel that only cancels noise has a weight in the model, so exact weights highlight it. The "
        "pattern of the same weights shows which pixels vary with the class."
    )
    results = [
        scored_results.result(spec.replace(method=method, options=options), scored_results.known)
        for method, options in WEIGHTS_AND_PATTERN.items()
    ]
    scored_results.show(results, replace(style, options=False))
    if st.button("Open both in Compare", icon=":material/compare:"):
        open_compare(WEIGHTS_AND_PATTERN)
