"""The same image at every SNR with a trained model: play, and watch maps and scores change."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import streamlit as st

from core import pipeline
from core.registry import DATASETS, METHODS, METRICS
from core.types import NotApplicable, Score, Spec
from pages.components.shared import choices, controls, result_panels
from pages.components.shared.map_panel import View, say
from pages.components.shared.progress import counted
from pages.components.shared.result_panels import Result

SECONDS = 1.5  # a frame is on screen
KEPT, AT, PLAYING = "morph", "morph_snr", "morph_playing"


def look(spec: Spec, methods: Sequence[str], view: View) -> None:
    """A slider over the trained SNR values, a switch that plays through them, and the panels of the one in view."""
    if "snr" not in DATASETS[spec.dataset].arguments(spec):
        st.info(f"{DATASETS[spec.dataset].label} is not mixed with noise, so there is no SNR to go through.")
        return
    ready = controls.ready_snrs(spec)
    if len(ready) < 2:
        st.info(f"Only {len(ready)} SNR has a trained {spec.model} here. Train another one with the SNR slider.")
        return
    frames = _frames(spec, methods, ready)
    if st.session_state.get(AT) not in ready:
        st.session_state[AT] = spec.snr if spec.snr in ready else ready[0]
    st.toggle("Play", key=PLAYING, help="One SNR after another.")
    st.fragment(_frame, run_every=SECONDS if st.session_state[PLAYING] else None)(frames, ready, view)
    _table(frames)


def _frame(frames: dict[float, list[Result]], ready: Sequence[float], view: View) -> None:
    state = st.session_state
    if state[PLAYING] and state.get("morph_shown") == state[AT]:
        state[AT] = ready[(ready.index(state[AT]) + 1) % len(ready)]
    st.select_slider("SNR shown", ready, key=AT, format_func=lambda v: f"{v:g}", width=420)
    state["morph_shown"] = state[AT]
    with st.container(key="morph"):
        result_panels.small(frames[state[AT]], view, "morph")


def _frames(spec: Spec, methods: Sequence[str], ready: Sequence[float]) -> dict[float, list[Result]]:
    """Maps and scores at every SNR, kept for as long as nothing else changes."""
    wanted = [choices.of_method(spec.replace(snr=ready[0]), m) for m in methods]
    key = (*wanted, *ready)
    kept = st.session_state.get(KEPT)
    if kept and kept[0] == key:
        return kept[1]
    frames: dict[float, list[Result]] = {}
    with counted() as tell:
        for done, (snr, one) in enumerate(itertools.product(ready, wanted)):
            tell(done, len(ready) * len(wanted), f"maps, SNR {snr:g}")
            found = frames.setdefault(snr, [])
            try:
                a = pipeline.explain(one.replace(snr=snr))
            except NotApplicable as reason:
                found.append(Result(one.method, reason=str(reason)))
            else:
                found.append(Result(one.method, a, score=pipeline.score(a)))
    st.session_state[KEPT] = key, frames
    return frames


def _table(frames: dict[float, list[Result]]) -> None:
    """Scores against SNR: what the panels show one after another."""
    rows = [{"SNR": f"{snr:g}", "Method": METHODS[r.method].label, **_numbers(r.score)}
            for snr, found in frames.items() for r in found if r.attribution]
    st.dataframe(rows, hide_index=True, width=520, key="morph.table", column_config={
        m.label: st.column_config.NumberColumn(format="%.4f") for m in METRICS.values()})
    say("The same image number at every SNR: shapes and noise are the same, only their mixture changes. Each SNR "
        "has a model of its own.")


def _numbers(score: Score | None) -> dict[str, float | None]:
    return {m.label: score.values.get(n) if score else None for n, m in METRICS.items()}
