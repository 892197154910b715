"""Compare: one image of known truth, one model, several explanation methods side by side."""

from pages.components import frame

frame.guard()

import streamlit as st  # noqa: E402

st.title("Compare explanations", anchor=False)
with frame.opening():
    from pages.components import comparison, controls, explore

explore.run(controls.view_bar, comparison.page)
