"""The exact weights of the image's region, as OpenAPI finds them, beside those inside the model."""

from __future__ import annotations

import streamlit as st

from core import regions
from core.figures.style import strongest
from core.registry import DATASETS
from core.types import Spec
from pages.components.shared.map_panel import (
    WIDTH,
    PanelStyle,
    image_panel,
    panel_title,
    show,
    show_signed,
    small_text,
)
from pages.components.shared.progress import counted
from pages.components.shared.result_panels import percent


def decide(spec: Spec) -> regions.Decision:
    """OpenAPI on the image, with progress when it takes longer than a moment."""
    with counted() as progress:
        return regions.decision(spec.replace(method="openapi"), st.session_state.sampling, progress=progress)


def decision_features(spec: Spec, style: PanelStyle) -> None:
    """The image, OpenAPI's weights, the model's own weights, and the strongest of them on the image."""
    small_text(
        "A ReLU network, or a tree of linear models, is linear in a region around each image. OpenAPI "
        "recovers the weights of that region from probabilities alone and tests them; here the model's own "
        "weights are known for comparison."
    )
    st.segmented_control(
        "Sampling",
        regions.SAMPLINGS,
        key="sampling",
        required=True,
        help="orthogonal: one step along each pixel. hypercube: as published; every round solves a "
        "system with as many equations as pixels, half a minute or more at 64 × 64.",
    )
    decision = decide(spec)
    with st.container(horizontal=True, gap="small", key="decision"):
        _image(decision, spec, style)
        _openapi(decision, style)
        _own_weights(decision, style)
        if decision.features.exact:
            _overlay(decision, style)
    if decision.features.exact:
        st.html(
            f"<div class='al-scores'><b>L1 distance to the model's own weights: {decision.error:.1e}</b> of "
            f"their size. OpenAPI's test points bound it by {decision.features.error:.1e} without knowing "
            "them; below 1e-6 the answer is called exact.</div>"
        )
    _rounds(decision)


def _image(decision: regions.Decision, spec: Spec, style: PanelStyle) -> None:
    with st.container(width=WIDTH, gap="xsmall"):
        panel_title("Image")
        show(image_panel(decision.image, style), "region.image", f"Test image {spec.image}.")
        label = DATASETS[spec.dataset].classes[decision.target]
        small_text(f"Explained class {label}, probability {percent(decision.probability)}")


def _openapi(decision: regions.Decision, style: PanelStyle) -> None:
    features = decision.features
    with st.container(width=WIDTH, gap="xsmall"):
        panel_title("OpenAPI, from probabilities")
        if features.exact:
            show_signed(decision.values, style, "region.openapi", "OpenAPI's decision features.")
        else:
            st.info(f"No exact answer: {features.reason}.")
        bound = f"<br>Radius {features.radius:.2g}, error at most {features.error:.0e}" if features.exact else ""
        small_text(f"{features.queries:,} queries in {features.rounds} rounds, {decision.seconds:.2f} s{bound}")


def _own_weights(decision: regions.Decision, style: PanelStyle) -> None:
    with st.container(width=WIDTH, gap="xsmall"):
        panel_title("The model's own weights")
        show_signed(decision.truth, style, "region.truth", "The exact weights, read from inside the model.")
        small_text("Known only with access to the model")


def _overlay(decision: regions.Decision, style: PanelStyle) -> None:
    with st.container(width=WIDTH, gap="xsmall"):
        panel_title("On the image")
        show(
            image_panel(decision.image, style, over=strongest(decision.values)),
            "region.overlay",
            "The strongest weights drawn over the image.",
        )
        small_text("The tenth of the pixels with the largest |weight|: red for the class, blue against it")


def _rounds(decision: regions.Decision) -> None:
    with st.expander("Rounds"):
        st.dataframe(
            [
                {"Radius": r.radius, "Largest residual": r.residual, "Accepted": "yes" if r.accepted else "no"}
                for r in decision.features.trace
            ],
            hide_index=True,
            column_config={
                "Radius": st.column_config.NumberColumn(format="%.3g"),
                "Largest residual": st.column_config.NumberColumn(format="%.2e"),
            },
        )
