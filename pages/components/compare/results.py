"""Compare's results: computing the maps with counted progress, and filling in scores as they are ready."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core import keys, pipeline
from core.registry import METHODS, METRICS
from core.types import NotApplicable, Spec
from pages.components.compare import details, downloads
from pages.components.shared import choices, result_panels, score_jobs
from pages.components.shared.map_panel import View
from pages.components.shared.progress import counted
from pages.components.shared.result_panels import Result
from pages.components.shared.scored_results import SLOW, known, show


def page(spec: Spec) -> None:
    """The comparison of one image, what can be taken away of it, and a closer look."""
    found, view = results(spec, st.session_state.methods), View.chosen()
    show(found, view)
    if any(r.attribution for r in found):
        downloads.bar(found, view.scale, view.outline)
        details.look(found, view)


def results(base: Spec, methods: Sequence[str]) -> list[Result]:
    """The maps of all methods with the scores known so far, in the order the reader chose."""
    found = []
    with counted() as tell:
        for done, method in enumerate(methods):
            tell(done, len(methods), f"maps, {METHODS[method].label} next")
            try:
                attribution = pipeline.explain(choices.of_method(base, method))
            except NotApplicable as reason:
                found.append(Result(method, reason=str(reason)))
            else:
                found.append(Result(method, attribution, score=known(attribution)))
    score_jobs.drop_waiting({keys.score_key(r.attribution, name) for r in found if r.attribution for name in SLOW})
    return _sorted(found)


def _sorted(found: list[Result]) -> list[Result]:
    by = next((name for name, m in METRICS.items() if m.label == st.session_state.sort), None)
    if by is None:
        return found
    rank = result_panels.ranked(found)[by]
    return sorted(found, key=lambda r: rank.get(r.method, len(found) + 1))
