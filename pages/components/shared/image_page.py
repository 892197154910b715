"""What the pages about one image share: choosing it, writing the link, and what to do when there is none."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import model_library
from core.types import Spec
from pages.components.shared import choices, controls, messages, saved_views, training_job


def choose_image() -> Spec | None:
    """The controls for the image, and the Spec of the chosen one; None without a model or a passing image."""
    spec = choices.spec()
    image = controls.image_bar(spec) if model_library.has_model(spec) else None
    return None if image is None else spec.replace(image=image)


def write_link(notices: DeltaGenerator) -> None:
    """Writes all choices into the address, before anything is computed; offers saved views in the sidebar."""
    choices.write()
    saved_views.manage(st.sidebar.container())
    messages.link_notices(notices)


def ready(spec: Spec | None) -> bool:
    """Whether there is an image to explain; if not, offers to train the model or to choose another filter."""
    chosen = choices.spec()
    if spec is not None:
        return True
    if model_library.has_model(chosen):
        st.info(f"No {chosen.split} image is “{st.session_state.images}” here. Choose another filter.")
    else:
        training_job.train_panel(chosen)
    return False
