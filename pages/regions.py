"""Regions: the linear region around an image, OpenAPI's exact weights in it, and what happens at its borders."""

from pages.components.shared import frame

frame.guard()

import streamlit as st  # noqa: E402

st.title("Linear regions", anchor=False)
with frame.opening():
    from core import pipeline
    from pages.components.regions import views
    from pages.components.shared import charts, choices, controls, image_page, messages, share

choices.restore()
notices = st.container()
controls.data_and_model()
with messages.errors_shown(), pipeline.same_networks():
    spec = image_page.choose_image()
    views.choose()
    image_page.write_link(notices)
    if image_page.ready(spec):
        views.show(spec)
        share.popover(lambda: share.of_maps([choices.of_method(spec, "openapi")]))
        charts.fetch_charts()
