"""Compare's results: computing the maps with counted progress, and filling in scores as they are ready."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from core import pipeline
from core.registry import METHODS, METRICS
from core.types import NotApplicable, Score, Spec
from pages.components import choices, jobs, panels
from pages.components.panels import Result

FAST = [name for name, metric in METRICS.items() if not metric.slow]
SLOW = [name for name, metric in METRICS.items() if metric.slow]


def results(base: Spec, methods: Sequence[str]) -> list[Result]:
    """The maps of all methods with the scores known so far, in the order the reader chose."""
    found, place, start = [], st.empty(), time.monotonic()
    for done, method in enumerate(methods):
        if time.monotonic() - start > 0.5:
            place.progress(done / len(methods), f"{done} of {len(methods)} maps, {METHODS[method].label} next")
        try:
            attribution = pipeline.explain(choices.of_method(base, method))
        except NotApplicable as reason:
            found.append(Result(method, reason=str(reason)))
            continue
        found.append(Result(method, attribution, score=_known(attribution)))
    place.empty()
    jobs.drop_waiting({(r.attribution.spec, name) for r in found if r.attribution for name in SLOW})
    return _sorted(found)


def _known(attribution) -> Score:
    score = pipeline.score(attribution, FAST)
    for name in SLOW:
        future = jobs.start_score(attribution, name)
        if future.done():
            score = merged(score, future.result())
    return score


def merged(one: Score, other: Score) -> Score:
    return Score({**one.values, **other.values}, {**one.reasons, **other.reasons}, {**one.seconds, **other.seconds})


def _sorted(found: list[Result]) -> list[Result]:
    by = next((name for name, m in METRICS.items() if m.label == st.session_state.sort), None)
    if by is None:
        return found
    rank = panels.ranked(found)[by]
    return sorted(found, key=lambda r: rank.get(r.method, len(found) + 1))


def show(found: Sequence[Result], view: panels.View) -> None:
    """Panels with their scores; those still being computed are filled in as they arrive."""
    places = panels.draw(found, view)
    waiting = [r for r in found if r.method in places and set(r.score.values) != set(METRICS)]
    _fill(found, places)
    if waiting:
        _wait(found, places)
    if st.session_state.table and places:
        content = pd.DataFrame([{"Method": r.label, **{m.label: r.score.values.get(n) for n, m in METRICS.items()},
                                 "Seconds": r.attribution.seconds} for r in found if r.method in places])
        st.dataframe(content, hide_index=True, column_config={
            column: st.column_config.NumberColumn(format="%.4f") for column in content.columns[1:]})


def _fill(found: Sequence[Result], places: dict) -> None:
    ranks = panels.ranked(found)
    for result in found:
        if result.method in places:
            places[result.method].html(panels.score_lines(result, ranks))


@st.fragment(run_every=0.4)
def _wait(found: Sequence[Result], places: dict) -> None:
    """Looks for finished scores; when all are there, one full run sorts and ranks for good."""
    now, missing = [], 0
    for result in found:
        if result.method in places:
            futures = [jobs.start_score(result.attribution, name) for name in SLOW]
            for future in futures:
                if future.done():
                    result = Result(result.method, result.attribution, score=merged(result.score, future.result()))
                else:
                    missing += 1
        now.append(result)
    if not missing:
        st.rerun()
    total = len(places) * len(SLOW)
    st.caption(f"{' and '.join(METRICS[n].label for n in SLOW)}: {total - missing} of {total} solved")
    _fill(now, places)


def inspect(found: Sequence[Result]) -> None:
    """One pixel by row and column, in all maps: what hovering shows, by keyboard."""
    drawn = [r for r in found if r.attribution]
    first = drawn[0].attribution
    rows, columns = first.values.shape
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        for name, size in (("row", rows), ("column", columns)):
            if st.session_state[name] is not None and st.session_state[name] >= size:
                st.session_state[name] = size - 1
            st.number_input(f"Pixel {name}", 0, size - 1, key=name, placeholder="none", width=130)
        if st.session_state.row is None or st.session_state.column is None:
            st.html("<div class='al-quiet' style='padding-bottom:.7rem'>Enter a row and a column to mark a pixel in "
                    "all panels and read its values.</div>")
            return
    at = st.session_state.row, st.session_state.column
    inside = "important" if first.mask[at] else "not important"
    st.caption(f"Row {at[0]}, column {at[1]}: {inside}, image value {first.image[at]:.4g}.")
    content = []
    for r in drawn:
        mass = abs(r.attribution.values).sum()
        content.append({"Method": r.label, "Value": r.attribution.values[at],
                        "Share of |map|, per mille": 1000 * abs(r.attribution.values[at]) / mass if mass else None})
    st.dataframe(pd.DataFrame(content), hide_index=True, width=520, column_config={
        "Value": st.column_config.NumberColumn(format="%.4g"),
        "Share of |map|, per mille": st.column_config.NumberColumn(format="%.3f")})
