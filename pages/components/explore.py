"""What Compare and Regions do alike: read the link, offer data, model and image, then show one image."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core import pipeline
from core.types import InputError, NotApplicable, Spec
from pages.components import choices, controls, jobs, views


def run(bar: Callable[[], None], show: Callable[[Spec], None]) -> None:
    """A page: its own ``bar`` of controls under the image's, and ``show`` for the chosen image.

    Choices are settled and written into the address before anything is computed.
    """
    choices.restore()
    top = st.container()
    controls.data_and_model()
    saved = st.sidebar.container()
    spec = choices.spec()
    try:
        ready = pipeline.has_model(spec)
        image = controls.image_bar(spec) if ready else None
        bar()
        choices.write()
        views.manage(saved)
        for notice in choices.notices():
            top.warning(f"The link could not be followed in full. {notice}")
        if not ready:
            jobs.train_panel(spec)
        elif image is None:
            st.info(f"No {spec.split} image is “{st.session_state.images}” here. Choose another filter.")
        else:
            show(spec.replace(image=image))
    except InputError as error:
        st.error(str(error))
    except NotApplicable as reason:
        st.info(f"Does not apply here: {reason}")
    if pipeline.trouble():
        st.warning(pipeline.trouble())
