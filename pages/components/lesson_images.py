"""The lesson's steps with images: the idea in one picture, and the same methods on two backgrounds."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core import lessons
from core.figures import lesson as figures
from core.registry import METHODS
from pages.components import choices
from pages.components import lesson_parts as common
from pages.components.lesson_parts import Step


def idea(step: Step) -> None:
    found = lessons.idea()
    left, right = st.columns([5, 7], gap="medium")
    with left:
        st.markdown("A network tells two kinds of images apart: whether two hidden shapes, a T and an L, have equal "
                    "or different signs. Each mark is one image, in a plane through one of them (the star).")
        st.markdown("Where the solid line runs the network changes its answer; the dashed line is its straight "
                    "stand-in near the star. Most explanations report the **weight** of that stand-in. PatternLocal "
                    "turns it into a **pattern**.")
        common.ask("Both arrows explain the star. Which shows how the classes differ?",
                   ("the weight", "the pattern"), 1,
                   f"The clouds are shifted against each other along it. The weight is tilted {found.angle:.0f}° "
                   "away, because it must also cancel the noise all images share. Drawn as maps, the pattern shows "
                   "the shapes; the weight marks background too.")
    with right:
        length = 0.45 * float(np.ptp(found.up))
        tips = np.stack([found.weight, found.pattern]) * length
        common.chart(figures.plane(
            found.points, found.labels == 1, step.theme, size=step.size, x_label="along the pattern", y_label="across it",
            span=((found.across[0], max(found.across[-1], tips[:, 0].max() * 1.25)), (found.up[0], max(found.up[-1], tips[:, 1].max() * 1.2))),
            names=("different signs", "equal signs"), lines={"local linear surrogate": found.line},
            border=(found.across, found.up, found.margin), at="the explained image",
            arrows={"weight": (np.zeros(2), tips[0]), "pattern": (np.zeros(2), tips[1])}),
            "idea.plane", f"Weight and pattern of one image are {found.angle:.0f} degrees apart: the weight stands "
                          "across the boundary, "
            "the pattern points from one cloud of images to the other.", step.height - 60 * step.reveal)
        if step.reveal:
            _idea_maps(found, step)


def _idea_maps(found: lessons.Idea, step: Step) -> None:
    gradient = found.maps["gradient"]
    edge = 112 if step.size < 15 else 150
    with st.container(horizontal=True, gap="xsmall", key="idea-maps"):
        common.picture(gradient.image, gradient, step, "Image", edge, f"Test image {gradient.spec.image}: a T and an L hidden in noise.")
        common.picture(gradient.mask.astype(float), gradient, step, "Ground truth", edge,
                 f"The {int(gradient.mask.sum())} pixels of the two shapes.", kind="truth")
        for name, a in (("Weight", gradient), ("Pattern", found.maps["patternlocal"])):
            inside = found.inside[a.spec.method]
            common.picture(a.values, a, step, name, edge, f"{inside:.0%} of the {name.lower()}'s mass lies on the shapes.", kind="map",
                     below=f"{inside:.0%} on the shapes")


def backgrounds(step: Step) -> None:
    place = st.empty()
    found = lessons.images(*step.sliders.values(),
                           progress=lambda done, total, text: place.progress(done / total, f"{done} of {total} {text}"))
    place.empty()
    corr = found[-1]
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("XOR at SNR .05, twice. In **WHITE** every pixel's noise is its own. In **CORR** noise is "
                    "smooth: pixels beside a shape tell about the noise under it. They are suppressors.")
        common.slide("lesson_image", "correlation")
    with right:
        worst = int(np.argmax(corr.zones["gradient"]))
        common.ask("On CORR, where does most of the gradient's mass lie?", lessons.ZONES, worst,
                   f"{corr.zones['gradient'][worst]:.0%} of it. PatternLocal has "
                   f"{corr.zones['patternlocal'][0]:.0%} inside the shape.")
    if step.reveal:
        st.segmented_control("Show", choices.PICTURED, key="pictured", required=True, label_visibility="collapsed",
                             format_func={"maps": "Maps", "curve": "Share over the threshold"}.get)
    if step.reveal and st.session_state.pictured == "curve":
        _curve(corr, step)
    else:
        _rows(found, step)


def _rows(found: tuple[lessons.Background, ...], step: Step) -> None:
    """A row a background: the image, then each method's map with its three shares."""
    edge = 114 if step.size < 15 else 138
    for b in found:
        first = next(iter(b.maps.values()))
        near = ~first.mask & (b.related > step.settings["correlation"])
        with st.container(horizontal=True, gap="xsmall", key=f"row.{b.name}"):
            common.picture(first.image, first, step, b.name, edge, f"Test image {first.spec.image} with {b.name} "
                                                                   "background.",
                     below=f"{b.accuracy:.1%} right")
            common.picture(first.mask + 0.35 * near, first, step, "Zones", edge,
                     f"The shape, and the {near.mean():.0%} of the image that is background correlated with it.", kind="truth",
                     below="even " + _shares(b.even))
            for method, a in b.maps.items() if step.reveal else ():
                common.picture(a.values, a, step, METHODS[method].label, edge, f"{METHODS[method].label} on {b.name}: " + ", ".join(
                    f"{v:.0%} {zone}" for v, zone in zip(b.zones[method], lessons.ZONES)), kind="map", below=_shares(b.zones[method]))
    st.html("<div class='al-quiet'>Under each map: share of |map| <b>inside</b> the shape · on <b>correlated</b> "
            "background · <b>elsewhere</b>. OpenAPI is exact: it equals the gradient.</div>")


def _curve(b: lessons.Background, step: Step) -> None:
    here = step.settings["correlation"]
    lines = {METHODS[m].label: y for m, y in b.curve.items() if m != "openapi"} | {"even map": b.even_curve}
    at = int(np.argmin(np.abs(lessons.THRESHOLDS - here)))
    common.chart(figures.thresholds(lessons.THRESHOLDS, lines, here, step.theme, size=step.size), "images.curve",
                 f"Share on background with correlation above {here:g}: " + ", ".join(f"{n} {y[at]:.0%}" for n, y in lines.items()),
                 step.height - 20)
    st.html("<div class='al-quiet'>CORR. OpenAPI's line is the gradient's. PatternLocal stays below the even map at "
            "every threshold "
            "where some background counts.</div>" if (b.curve["patternlocal"] <= b.even_curve).all() else
            "<div class='al-quiet'>CORR. OpenAPI's line is the gradient's.</div>")


def _shares(values: np.ndarray) -> str:
    return "empty map" if np.isnan(values).any() else " · ".join(f"{100 * v:.0f}" for v in values) + " %"
