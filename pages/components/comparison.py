"""Compare's results: computing the maps with counted progress, and filling in scores as they are ready."""

from __future__ import annotations

import time
from collections.abc import Sequence

import streamlit as st

from core import pipeline
from core.registry import METHODS, METRICS
from core.types import Attribution, NotApplicable, Score, Spec
from pages.components import choices, closer, downloads, jobs, panels
from pages.components.maps import View
from pages.components.panels import Result
from pages.components.progress import counted

TOGETHER = 6.0  # seconds: scores that arrive within it are shown by one run
SLOW = [name for name, metric in METRICS.items() if metric.slow]


def page(spec: Spec) -> None:
    """The comparison of one image, what can be taken away of it, and a closer look."""
    found, view = results(spec, st.session_state.methods), View.chosen()
    show(found, view)
    if any(r.attribution for r in found):
        downloads.bar(found, view.scale, view.outline)
        closer.look(found, view)


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
    jobs.drop_waiting({pipeline.score_key(r.attribution, name) for r in found if r.attribution for name in SLOW})
    return _sorted(found)


def known(attribution: Attribution) -> Score:
    """The scores of a map that need not be waited for."""
    score = Score({}, {}, {})
    for name in METRICS:
        if found := jobs.known_score(attribution, name):
            score = merged(score, found)
    return score


def merged(one: Score, other: Score) -> Score:
    return Score({**one.values, **other.values}, {**one.reasons, **other.reasons}, {**one.seconds, **other.seconds})


def _sorted(found: list[Result]) -> list[Result]:
    by = next((name for name, m in METRICS.items() if m.label == st.session_state.sort), None)
    if by is None:
        return found
    rank = panels.ranked(found)[by]
    return sorted(found, key=lambda r: rank.get(r.method, len(found) + 1))


def show(found: Sequence[Result], view: View) -> None:
    """Panels with their scores; those still being computed are filled in as they arrive."""
    panels.draw(found, view)
    drawn = [r for r in found if r.attribution]
    if waiting := [r for r in drawn if set(r.score.values) != set(METRICS)]:
        specs = [r.attribution.spec for r in drawn]
        again, st.session_state["scores_of"] = st.session_state.get("scores_of") == specs, specs
        _wait(waiting, [time.monotonic()] * again)
    if st.session_state.table and drawn:
        content = [{"Method": r.label, **{m.label: r.score.values.get(n) for n, m in METRICS.items()},
                    "Seconds": r.attribution.seconds} for r in drawn]
        st.dataframe(content, hide_index=True, column_config={
            column: st.column_config.NumberColumn(format="%.4f") for column in list(content[0])[1:]})


@st.fragment(run_every=0.8)
def _wait(waiting: Sequence[Result], calls: list[float]) -> None:
    """Has the missing scores computed; a full run shows and ranks what has come. ``calls``: when it was called.

    Nothing is computed in the very run that sends the maps: the browser's timer calls again when it has drawn
    them, and from then on the clock runs.
    """
    missing = len(waiting) * len(SLOW)
    calls.append(time.monotonic())
    if len(calls) > 1:
        futures = [jobs.start_score(r.attribution, name) for r in waiting for name in SLOW]
        missing = sum(not future.done() for future in futures)
        if not missing or (missing < len(futures) and calls[-1] - calls[1] > TOGETHER):
            st.rerun()
    st.caption(f"Solving {' and '.join(METRICS[n].label for n in SLOW)}: {missing} to go")
