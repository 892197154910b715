"""The way to Compare with other choices than those on screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from core.types import Spec
from pages.components.shared import choices, fields
from pages.components.shared.frame import ROOT


def open_compare(methods: Mapping[str, Mapping[str, Any]], spec: Spec | None = None) -> None:
    """Opens Compare with these methods and their options, and with a Spec's data, model and image if one is given."""
    if spec is not None:
        choices.choose(spec)
        st.session_state.images = fields.ALL_IMAGES
    st.session_state.methods = list(methods)
    for method, options in methods.items():
        choices.set_method_options(method, options)
    st.switch_page(ROOT / "pages" / "compare.py")
