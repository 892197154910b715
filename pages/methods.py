"""Methods: a card for every method, metric, data set and model, and the words of the field."""

from pages.components import frame

frame.guard()

import streamlit as st  # noqa: E402

st.title("Methods", anchor=False)
