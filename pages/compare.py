"""Compare: one image of known truth, one model, several explanation methods side by side."""

from pages.components import frame

frame.guard()

import streamlit as st  # noqa: E402

st.title("Compare explanations", anchor=False)
with frame.opening():
    from core import pipeline
    from core.types import InputError
    from pages.components import choices, closer, comparison, controls, downloads, jobs, panels

choices.restore()
top = st.container()
controls.data_and_model()
spec = choices.spec()
try:
    ready = pipeline.has_model(spec)
    image = controls.image_bar(spec) if ready else None
    controls.view_bar()
    choices.write()
    for notice in choices.notices():
        top.warning(f"The link could not be followed in full. {notice}")
    if not ready:
        jobs.train_panel(spec)
    elif image is None:
        st.info(f"No {spec.split} image is “{st.session_state.images}” here. Choose another filter.")
    else:
        results = comparison.results(spec.replace(image=image), st.session_state.methods)
        view = panels.View.chosen()
        comparison.show(results, view)
        if any(r.attribution for r in results):
            downloads.bar(results, view.scale, view.outline)
            closer.look(results, view)
except InputError as error:
    st.error(str(error))
if pipeline.trouble():
    st.warning(pipeline.trouble())
