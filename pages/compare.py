"""Compare: one image with ground truth, one model, several explanation methods side by side."""

from pages.components.shared import frame

frame.guard()

import streamlit as st  # noqa: E402

st.title("Compare explanations", anchor=False)
with frame.opening():
    from core import pipeline
    from pages.components.compare import details, downloads, results
    from pages.components.shared import choices, controls, image_page, messages, scored_results
    from pages.components.shared.map_panel import PanelStyle

choices.restore()
notices = st.container()
controls.data_and_model()
with messages.errors_shown(), pipeline.same_networks():
    spec = image_page.choose_image()
    controls.view_bar()
    image_page.write_link(notices)
    if image_page.ready(spec):
        maps, style = results.compute(spec, st.session_state.methods), PanelStyle.chosen()
        scored_results.show(maps, style)
        downloads.bar(maps, style.scale, style.outline)
        details.look(maps, style)
