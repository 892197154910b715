"""Regions: the linear region around an image, OpenAPI's exact weights in it, and what happens at its borders."""

from pages.components import frame

frame.guard()

import streamlit as st  # noqa: E402

st.title("Linear regions", anchor=False)
with frame.opening():
    from core import pipeline
    from core.types import InputError, NotApplicable
    from pages.components import choices, controls, jobs, region_views
    from pages.components.panels import View

choices.restore()
top = st.container()
controls.data_and_model()
spec = choices.spec()
try:
    ready = pipeline.has_model(spec)
    image = controls.image_bar(spec) if ready else None
    st.segmented_control("Show", choices.VIEWS, key="region_view", required=True, label_visibility="collapsed",
                         format_func=lambda text: text[0].upper() + text[1:])
    choices.write()
    for notice in choices.notices():
        top.warning(f"The link could not be followed in full. {notice}")
    if not ready:
        jobs.train_panel(spec)
    elif image is None:
        st.info(f"No {spec.split} image is “{st.session_state.images}” here. Choose another filter.")
    else:
        region_views.show(st.session_state.region_view, spec.replace(image=image), View.chosen())
except InputError as error:
    st.error(str(error))
except NotApplicable as reason:
    st.info(f"Does not apply here: {reason}")
