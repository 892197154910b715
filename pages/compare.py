"""Compare: one image of known truth, one model, several explanation methods side by side."""

from pages.components.shared import frame

frame.guard()

import streamlit as st  # noqa: E402

st.title("Compare explanations", anchor=False)
with frame.opening():
    from pages.components.compare import results
    from pages.components.shared import controls, image_page

image_page.run(controls.view_bar, results.page)
