"""Counted progress: what is being computed and how much of it, once it takes longer than a moment."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

import streamlit as st

MOMENT = 0.5  # seconds before a bar appears
PAUSE = 0.3  # seconds between two updates: the browser redraws the page for each


@contextlib.contextmanager
def counted() -> Iterator[Callable[[int, int, str], None]]:
    """A bar that shows the progress reported inside the block as (done, total, text), and disappears after it."""
    bar, last = st.empty(), time.monotonic() + MOMENT - PAUSE

    def report(done: int, total: int, text: str) -> None:
        nonlocal last
        if time.monotonic() - last > PAUSE:
            bar.progress(min(done / total, 1.0), f"{text[:1].upper()}{text[1:]}: {done} of {total}")
            last = time.monotonic()

    yield report
    bar.empty()
