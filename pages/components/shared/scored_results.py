"""Results with their scores as far as they are known; the missing ones are filled in as they arrive."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import streamlit as st

from core import keys, pipeline
from core.registry import METRICS
from core.types import Attribution, NotApplicable, Score, Spec
from pages.components.shared import result_panels, score_jobs
from pages.components.shared.map_panel import PanelStyle
from pages.components.shared.result_panels import Result

TOGETHER = 6.0  # seconds: scores that arrive within it are shown by one run
SLOW = [name for name, metric in METRICS.items() if metric.slow]


def result(spec: Spec, score: Callable[[Attribution], Score]) -> Result:
    """The map of a Spec with its scores, or the reason why there is none."""
    try:
        attribution = pipeline.explain(spec)
    except NotApplicable as reason:
        return Result(spec.method, reason=str(reason))
    return Result(spec.method, attribution, score=score(attribution))


def known(attribution: Attribution) -> Score:
    """The scores of a map that can be had at once."""
    score = Score({}, {}, {})
    for name in METRICS:
        if part := score_jobs.known_score(attribution, name):
            score = merged(score, part)
    return score


def merged(a: Score, b: Score) -> Score:
    """The scores of both."""
    return Score({**a.values, **b.values}, {**a.reasons, **b.reasons}, {**a.seconds, **b.seconds})


def drop_waiting(results: Sequence[Result]) -> None:
    """Cancels the scores that were waiting for maps that are no longer on screen."""
    maps = [r.attribution for r in results if r.attribution]
    score_jobs.drop_waiting({keys.score_key(attribution, name) for attribution in maps for name in SLOW})


def show(results: Sequence[Result], style: PanelStyle) -> None:
    """Panels with their scores, and the scores as a table if the reader wants one."""
    result_panels.draw(results, style)
    drawn = [r for r in results if r.attribution]
    if waiting := [r for r in drawn if set(r.score.values) != set(METRICS)]:
        specs = [r.attribution.spec for r in drawn]
        seen_before = st.session_state.get("scores_of") == specs
        st.session_state["scores_of"] = specs
        _wait(waiting, [time.monotonic()] if seen_before else [])
    if st.session_state.table and drawn:
        _table(drawn)


def _table(drawn: Sequence[Result]) -> None:
    rows = [
        {
            "Method": r.label,
            **{m.label: r.score.values.get(name) for name, m in METRICS.items()},
            "Seconds": r.attribution.seconds,
        }
        for r in drawn
    ]
    st.dataframe(
        rows,
        hide_index=True,
        column_config={column: st.column_config.NumberColumn(format="%.4f") for column in list(rows[0])[1:]},
    )


@st.fragment(run_every=0.8)
def _wait(waiting: Sequence[Result], calls: list[float]) -> None:
    """Has the missing scores computed; a full run then shows and ranks them. ``calls``: when it was called.

    Nothing is computed in the very run that sends the maps: the browser's timer calls again when it has drawn
    them, and from then on the clock runs.
    """
    missing = len(waiting) * len(SLOW)
    calls.append(time.monotonic())
    if len(calls) > 1:
        futures = [score_jobs.start_score(r.attribution, name) for r in waiting for name in SLOW]
        missing = sum(not future.done() for future in futures)
        if not missing or (missing < len(futures) and calls[-1] - calls[1] > TOGETHER):
            st.rerun()
    st.caption(f"Computing {' and '.join(METRICS[name].label for name in SLOW)}: {missing} to go")
