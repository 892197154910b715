"""Figure studio: a figure for a paper or a slide, with all that rebuilds it."""

from pages.components.shared import frame

frame.guard()

import streamlit as st  # noqa: E402

st.title("Figure studio", anchor=False)
with frame.opening():
    from pages.components.studio import page

page.page()
