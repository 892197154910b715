"""The lesson's steps with images: the idea in one picture, and the same methods on two backgrounds."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core import lessons
from core.figures import lesson as figures
from core.registry import METHODS
from pages.components.shared import fields
from pages.components.shared.progress import counted
from pages.components.suppressors.parts import Step, ask, chart, picture, row, slide


def idea(step: Step) -> None:
    found = lessons.suppressor_plane()
    left, right = st.columns([5, 7], gap="medium")
    with left:
        st.markdown("A network tells two kinds of images apart: whether two hidden shapes, a T and an L, have equal "
                    "or different signs. Each mark is one image, in a plane through one of them (the star).")
        st.markdown("Where the solid line runs the network changes its answer; the dashed line is its straight "
                    "stand-in near the star. Most explanations report the **weight** of that stand-in. PatternLocal "
                    "turns it into a **pattern**.")
        ask("Both arrows explain the star. Which shows how the classes differ?", ("the weight", "the pattern"), 1,
            f"The clouds are shifted against each other along it. The weight is tilted {found.angle:.0f}° away, "
            "because it must also cancel the noise all images share. Drawn as maps, the pattern shows the shapes; "
            "the weight marks background too.")
    with right:
        weight, pattern = np.stack([found.weight, found.pattern]) * 0.45 * float(np.ptp(found.up))
        span = ((found.across[0], max(found.across[-1], 1.25 * weight[0], 1.25 * pattern[0])),
                (found.up[0], max(found.up[-1], 1.2 * weight[1])))
        chart(figures.plane(
            found.points, found.labels == 1, step.theme, size=step.size, x_label="along the pattern", span=span,
            y_label="across it", names=("equal signs", "different signs"), star="the explained image",
            lines={"local linear surrogate": found.line}, border=(found.across, found.up, found.margin),
            arrows={"weight": weight, "pattern": pattern}), "idea.plane",
            f"Weight and pattern of one image are {found.angle:.0f} degrees apart: the weight stands across the "
            "boundary, the pattern points from one cloud of images to the other.", step.height - 60 * step.reveal)
        if step.reveal:
            _idea_maps(found, step)


def _idea_maps(found: lessons.SuppressorPlane, step: Step) -> None:
    first, edge = found.maps["gradient"], 150 if step.large else 112
    drawn = [
        picture(first.image, first, step, "Image", edge,
                f"Test image {first.spec.image}: a T and an L hidden in noise."),
        picture(first.mask, first, step, "Ground truth", edge,
                f"The {int(first.mask.sum())} pixels of the two shapes.", kind="truth")]
    for name, a in (("Weight", first), ("Pattern", found.maps["patternlocal"])):
        inside = found.inside[a.spec.method]
        drawn.append(picture(a.values, a, step, name, edge, kind="map", below=f"{inside:.0%} on the shapes",
                             alt=f"{inside:.0%} of the {name.lower()}'s mass lies on the shapes."))
    row(drawn)


def backgrounds(step: Step) -> None:
    with counted() as tell:
        found = lessons.images(*step.sliders.values(), progress=tell)
    corr = found[-1]
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("XOR at SNR .05, twice. In **WHITE** every pixel's noise is its own. In **CORR** noise is "
                    "smooth: pixels beside a shape tell about the noise under it. They are suppressors.")
        slide("lesson_image", "correlation")
    with right:
        most = int(np.argmax(corr.zones["gradient"]))
        ask("On CORR, where does most of the gradient's mass lie?", lessons.ZONES, most,
            f"{corr.zones['gradient'][most]:.0%} of it. PatternLocal has {corr.zones['patternlocal'][0]:.0%} inside "
            "the shape.")
    if step.reveal:
        st.segmented_control("Show", fields.PICTURED, key="pictured", required=True, label_visibility="collapsed",
                             format_func={"maps": "Maps", "curve": "Share over the threshold"}.get)
    if step.reveal and st.session_state.pictured == "curve":
        _curve(corr, step)
    else:
        for b in found:
            _row(b, step)
        st.html("<div class='al-quiet'>Under each map: share of |map| <b>inside</b> the shape · on <b>correlated</b> "
                "background · <b>elsewhere</b>. OpenAPI is exact: it equals the gradient.</div>")


def _row(b: lessons.Background, step: Step) -> None:
    """One background: the image, the zones, then each method's map with its three shares."""
    first, edge = next(iter(b.maps.values())), 138 if step.large else 114
    near = ~first.mask & (b.related > step.settings["correlation"])
    drawn = [
        picture(first.image, first, step, b.name, edge, f"Test image {first.spec.image} with {b.name} background.",
                below=f"{b.accuracy:.1%} right"),
        picture(first.mask + 0.35 * near, first, step, "Zones", edge, f"The shape, and the {near.mean():.0%} of the "
                "image that is background correlated with it.", kind="truth", below=f"even {_shares(b.even)}")]
    for method, a in b.maps.items() if step.reveal else ():
        label, zones = METHODS[method].label, b.zones[method]
        said = ", ".join(f"{v:.0%} {zone}" for v, zone in zip(zones, lessons.ZONES))
        drawn.append(picture(a.values, a, step, label, edge, f"{label} on {b.name}: {said}", kind="map",
                             below=_shares(zones)))
    row(drawn)


def _curve(b: lessons.Background, step: Step) -> None:
    here = step.settings["correlation"]
    lines = {METHODS[m].label: y for m, y in b.curve.items() if m != "openapi"} | {"even map": b.even_curve}
    at = int(np.argmin(np.abs(lessons.THRESHOLDS - here)))
    shares = ", ".join(f"{name} {y[at]:.0%}" for name, y in lines.items())
    chart(figures.thresholds(lessons.THRESHOLDS, lines, here, step.theme, size=step.size), "images.curve",
          f"Share on background with correlation above {here:g}: {shares}", step.height - 20)
    below = (b.curve["patternlocal"] <= b.even_curve).all()
    st.html("<div class='al-quiet'>CORR. OpenAPI's line is the gradient's."
            + " PatternLocal stays below the even map at every threshold." * bool(below) + "</div>")


def _shares(values: np.ndarray) -> str:
    return "empty map" if np.isnan(values).any() else " · ".join(f"{100 * v:.0f}" for v in values) + " %"
