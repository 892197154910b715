"""The views of the Regions page, one at a time: what is not shown is not computed."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core.types import Spec
from pages.components.regions import exact, methods, other_inputs
from pages.components.shared import fields
from pages.components.shared.map_panel import PanelStyle

VIEWS: dict[str, Callable[[Spec, PanelStyle], None]] = {
    "decision features": exact.decision_features,
    "same region": other_inputs.consistency,
    "region map": other_inputs.region_map,
    "line scan": other_inputs.line_scan,
    "finite-difference estimates": methods.finite_differences,
    "deletion curve": methods.deletion_curves,
    "exact can still mislead": methods.weights_and_pattern,
}


def choose() -> None:
    """The choice of a view."""
    st.segmented_control(
        "View",
        fields.REGION_VIEWS,
        key="region_view",
        required=True,
        label_visibility="collapsed",
        format_func=fields.sentence,
    )


def show(spec: Spec) -> None:
    """The chosen view of one image."""
    VIEWS[st.session_state.region_view](spec, PanelStyle.chosen())
