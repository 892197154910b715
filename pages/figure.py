"""Figure studio: a figure for a paper or a slide, with everything that rebuilds it."""

from pages.components.shared import frame

frame.guard()

import streamlit as st  # noqa: E402

st.title("Figure studio", anchor=False)
with frame.opening():
    from core import pipeline
    from pages.components.shared import choices, controls, image_page, messages
    from pages.components.studio import preview, restored, settings

choices.restore()
notices = st.container()
controls.data_and_model()
sheet, side = st.columns([5, 2], gap="large")
with messages.errors_shown(sheet), pipeline.same_networks():
    with side:
        settings.choose_content()
        settings.choose_look()
        restored.upload()
    image_page.write_link(notices)
    preview.show(settings.figure())
