"""Compare's results: the maps of the chosen methods, computed with counted progress, in the chosen order."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.registry import METHODS, METRICS
from core.types import Spec
from pages.components.shared import choices, result_panels, scored_results
from pages.components.shared.progress import counted
from pages.components.shared.result_panels import Result


def compute(spec: Spec, methods: Sequence[str]) -> list[Result]:
    """The maps of all methods with the scores known so far, in the chosen order."""
    results = []
    with counted() as progress:
        for done, method in enumerate(methods):
            progress(done, len(methods), f"maps, {METHODS[method].label} next")
            results.append(scored_results.result(choices.of_method(spec, method), scored_results.known))
    scored_results.drop_waiting(results)
    return _sorted(results)


def _sorted(results: list[Result]) -> list[Result]:
    metric = next((name for name, m in METRICS.items() if m.label == st.session_state.sort), None)
    if metric is None:
        return results
    ranks = result_panels.ranked(results)[metric]
    return sorted(results, key=lambda result: ranks.get(result.method, len(results) + 1))
