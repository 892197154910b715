"""What a page has to say: mistakes, what does not apply, and parts of a link that could not be used."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import pipeline
from core.types import InputError, NotApplicable
from pages.components.shared import choices


@contextlib.contextmanager
def errors_shown(container: DeltaGenerator | None = None) -> Iterator[None]:
    """Draws into a container; a mistake, or what does not apply, becomes a sentence there."""
    container = container or st.container()
    try:
        with container:
            yield
    except InputError as error:
        container.error(str(error))
    except NotApplicable as reason:
        container.info(f"Does not apply here: {reason}")
    if pipeline.trouble():
        st.warning(pipeline.trouble())


def link_notices(container: DeltaGenerator | None = None) -> None:
    """What could not be used of the link, and what has another name today."""
    for notice in choices.notices():
        (container or st).warning(notice)
