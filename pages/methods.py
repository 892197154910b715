"""Methods: a card for every method, metric, data set and model, with a live example; and the words of the field."""

from pages.components.shared import frame

frame.guard()

import streamlit as st  # noqa: E402

st.title("Methods", anchor=False)
with frame.opening():
    from pages.components.methods import cards

cards.page()
