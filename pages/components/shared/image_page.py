"""What pages on an image do alike: read the link, offer data, model and image, show, and say what cannot be done."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import model_library, pipeline
from core.types import InputError, NotApplicable, Spec
from pages.components.shared import choices, controls, saved_views, training_job


def run(bar: Callable[[], None], show: Callable[[Spec], None]) -> None:
    """A page: its own ``bar`` of controls under the image's, and ``show`` for the chosen image.

    All of it is about one network, though that be trained anew meanwhile.
    """
    choices.restore()
    top = st.container()
    controls.data_and_model()
    saved = st.sidebar.container()
    spec = choices.spec()
    with told(st.container()), pipeline.same_networks():
        ready = model_library.has_model(spec)
        image = controls.image_bar(spec) if ready else None
        bar()
        settle(top, saved)
        if not ready:
            training_job.train_panel(spec)
        elif image is None:
            st.info(f"No {spec.split} image is “{st.session_state.images}” here. Choose another filter.")
        else:
            show(spec.replace(image=image))


def settle(top: DeltaGenerator, saved: DeltaGenerator) -> None:
    """Writes the choices into the address before anything is computed; on ``top`` what could not be followed."""
    choices.write()
    saved_views.manage(saved)
    for notice in choices.notices():
        top.warning(f"The link could not be followed in full. {notice}")


@contextlib.contextmanager
def told(place: DeltaGenerator) -> Iterator[None]:
    """A mistake, or what does not apply, inside the block becomes a sentence in ``place``."""
    try:
        with place:
            yield
    except InputError as error:
        place.error(str(error))
    except NotApplicable as reason:
        place.info(f"Does not apply here: {reason}")
    if pipeline.trouble():
        st.warning(pipeline.trouble())
