"""Counted progress: what is being done and how much of it, once it takes longer than a moment."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

import streamlit as st

MOMENT = 0.5  # seconds before anything is said
PAUSE = 0.3  # seconds between two words: the browser draws the page anew for each


@contextlib.contextmanager
def counted() -> Iterator[Callable[[int, int, str], None]]:
    """A bar that counts what the block tells it as (done, total, text), and is gone after it."""
    place, last = st.empty(), time.monotonic() + MOMENT - PAUSE

    def tell(done: int, total: int, text: str) -> None:
        nonlocal last
        if time.monotonic() - last > PAUSE:
            place.progress(min(done / total, 1.0), f"{text[:1].upper()}{text[1:]}: {done} of {total}")
            last = time.monotonic()

    yield tell
    place.empty()
