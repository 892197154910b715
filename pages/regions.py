"""Regions: the linear region around an image, OpenAPI's exact weights in it, and what happens at its borders."""

from pages.components.shared import frame

frame.guard()

import streamlit as st  # noqa: E402

st.title("Linear regions", anchor=False)
with frame.opening():
    from pages.components.regions import views
    from pages.components.shared import image_page

image_page.run(views.bar, views.page)
