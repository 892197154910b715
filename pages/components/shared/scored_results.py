"""Results with their scores as far as they are known; the missing ones are filled in as they arrive."""

from __future__ import annotations

import time
from collections.abc import Sequence

import streamlit as st

from core.registry import METRICS
from core.types import Attribution, Score
from pages.components.shared import result_panels, score_jobs
from pages.components.shared.map_panel import View
from pages.components.shared.result_panels import Result

TOGETHER = 6.0  # seconds: scores that arrive within it are shown by one run
SLOW = [name for name, metric in METRICS.items() if metric.slow]


def known(attribution: Attribution) -> Score:
    """The scores of a map that need not be waited for."""
    score = Score({}, {}, {})
    for name in METRICS:
        if found := score_jobs.known_score(attribution, name):
            score = merged(score, found)
    return score


def merged(one: Score, other: Score) -> Score:
    return Score({**one.values, **other.values}, {**one.reasons, **other.reasons}, {**one.seconds, **other.seconds})


def show(found: Sequence[Result], view: View) -> None:
    """Panels with their scores; those still being computed are filled in as they arrive."""
    result_panels.draw(found, view)
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
        futures = [score_jobs.start_score(r.attribution, name) for r in waiting for name in SLOW]
        missing = sum(not future.done() for future in futures)
        if not missing or (missing < len(futures) and calls[-1] - calls[1] > TOGETHER):
            st.rerun()
    st.caption(f"Solving {' and '.join(METRICS[n].label for n in SLOW)}: {missing} to go")
