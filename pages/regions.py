"""Regions: the linear region around an image, OpenAPI's exact weights in it, and what happens at its borders."""

from pages.components import frame

frame.guard()

import streamlit as st  # noqa: E402

st.title("Linear regions", anchor=False)
with frame.opening():
    from pages.components import explore, region_views

explore.run(region_views.bar, region_views.page)
