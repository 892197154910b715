"""A number that is typed or set by code, without either losing to the other."""

from __future__ import annotations

from typing import Any

import streamlit as st


def number_field(name: str, label: str, low: int, high: int, *, optional: bool = False, **more: Any) -> None:
    """A field for the whole number that the session holds under ``name``; None if ``optional`` and left empty.

    Streamlit sends what code has set to the browser, where it replaces what is being typed; and the browser sends
    what it shows with the reader's next click, which replaces what code has set meanwhile. Here the number is none
    of the widget's, and the widget is a new one whenever code has changed the number: what an old one says is void.
    """
    state, slot = st.session_state, f"{name}.field"
    version, shown = state.get(slot, (0, state[name]))
    if shown != state[name]:
        version += 1
    key = f"{name}.{version}"
    state[slot] = version, state[name]
    if key not in state:
        state[key] = state[name]

    def entered() -> None:
        state[name] = state[key]
        state[slot] = version, state[key]

    with st.container(key=name, width=more.get("width", "stretch")):
        st.number_input(label, low, high, None if optional else "min", key=key, on_change=entered, **more)
