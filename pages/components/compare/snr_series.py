"""The same image at every SNR with a trained model: play it, and watch maps and scores change."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import streamlit as st

from core import pipeline
from core.registry import DATASETS, METHODS, METRICS
from core.types import Score, Spec
from pages.components.shared import choices, controls, result_panels, scored_results
from pages.components.shared.map_panel import PanelStyle, small_text
from pages.components.shared.progress import counted
from pages.components.shared.result_panels import Result

SECONDS = 1.5  # a frame is on screen
FRAMES, SHOWN, PLAYING = "morph", "morph_snr", "morph_playing"
DRAWN = "morph_shown"  # the SNR that was on screen last
Frames = dict[float, list[Result]]  # by SNR


def look(spec: Spec, methods: Sequence[str], style: PanelStyle) -> None:
    """A slider over the trained SNR values, a switch that plays through them, and the panels of the shown one."""
    if "snr" not in DATASETS[spec.dataset].arguments(spec):
        st.info(f"{DATASETS[spec.dataset].label} is not mixed with noise, so there is no SNR to vary.")
        return
    snrs = controls.ready_snrs(spec)
    if len(snrs) < 2:
        st.info(f"Only {len(snrs)} SNR has a trained {spec.model} here. Train another with the SNR slider.")
        return
    frames = _frames(spec, methods, snrs)
    if st.session_state.get(SHOWN) not in snrs:
        st.session_state[SHOWN] = spec.snr if spec.snr in snrs else snrs[0]
    st.toggle("Play", key=PLAYING, help="Goes through all SNR values.")
    st.fragment(_frame, run_every=SECONDS if st.session_state[PLAYING] else None)(frames, snrs, style)
    _table(frames)


def _frame(frames: Frames, snrs: Sequence[float], style: PanelStyle) -> None:
    """The panels of one SNR; while playing, the next one each time it is called."""
    state = st.session_state
    if state[PLAYING] and state.get(DRAWN) == state[SHOWN]:
        state[SHOWN] = snrs[(snrs.index(state[SHOWN]) + 1) % len(snrs)]
    st.select_slider("SNR shown", snrs, key=SHOWN, format_func=lambda snr: f"{snr:g}", width=420)
    state[DRAWN] = state[SHOWN]
    with st.container(key="morph"):
        result_panels.draw_small(frames[state[SHOWN]], style, "morph")


def _frames(spec: Spec, methods: Sequence[str], snrs: Sequence[float]) -> Frames:
    """Maps and scores at every SNR, remembered for as long as nothing else changes."""
    specs = [choices.of_method(spec.replace(snr=snrs[0]), method) for method in methods]
    key = (*specs, *snrs)
    remembered = st.session_state.get(FRAMES)
    if remembered and remembered[0] == key:
        return remembered[1]
    frames: Frames = {}
    with counted() as progress:
        for done, (snr, at_first) in enumerate(itertools.product(snrs, specs)):
            progress(done, len(snrs) * len(specs), f"maps, SNR {snr:g}")
            frames.setdefault(snr, []).append(scored_results.result(at_first.replace(snr=snr), pipeline.score))
    st.session_state[FRAMES] = key, frames
    return frames


def _table(frames: Frames) -> None:
    """Scores against SNR: what the panels show one after another."""
    rows = [
        {"SNR": f"{snr:g}", "Method": METHODS[r.method].label, **_scores(r.score)}
        for snr, results in frames.items()
        for r in results
        if r.attribution
    ]
    st.dataframe(
        rows,
        hide_index=True,
        width=520,
        key="morph.table",
        column_config={m.label: st.column_config.NumberColumn(format="%.4f") for m in METRICS.values()},
    )
    small_text(
        "The same image number at every SNR: shapes and noise are the same, only their mixture changes. Each "
        "SNR has its own model."
    )


def _scores(score: Score | None) -> dict[str, float | None]:
    return {m.label: score.values.get(name) if score else None for name, m in METRICS.items()}
