"""Slow scores beside the page, on threads."""

from __future__ import annotations

from collections.abc import Container
from concurrent.futures import Future, ThreadPoolExecutor

import streamlit as st

from core import keys, pipeline
from core.processors import processors
from core.types import Attribution, Score

WORKERS = processors()  # scores begin once the browser has drawn the maps, so nobody else needs a core
KEPT = 500  # scores a session remembers


@st.cache_resource
def _pool() -> ThreadPoolExecutor:
    # Threads are enough: the solver releases the GIL while it works, so two take half the time of one.
    return ThreadPoolExecutor(WORKERS, thread_name_prefix="score")


def start_score(attribution: Attribution, metric: str) -> Future[Score]:
    """The future score of a map; asking again for the same map and metric gives the same future."""
    futures = st.session_state.setdefault("score_futures", {})
    key = keys.score_key(attribution, metric)
    if key not in futures:
        while len(futures) >= KEPT:
            futures.pop(next(iter(futures)))
        futures[key] = _pool().submit(pipeline.score, attribution, [metric])
    return futures[key]


def known_score(attribution: Attribution, metric: str) -> Score | None:
    """The score of a map if it need not be waited for."""
    future = st.session_state.get("score_futures", {}).get(keys.score_key(attribution, metric))
    if future and future.done():
        return future.result()
    return pipeline.score(attribution, [metric]) if pipeline.ready(attribution, metric) else None


def drop_waiting(needed: Container[str]) -> None:
    """Takes back scores, but the needed (by ``keys.score_key``), that have not been started."""
    futures = st.session_state.get("score_futures", {})
    for key in [k for k, f in futures.items() if k not in needed and not f.done() and f.cancel()]:
        del futures[key]
