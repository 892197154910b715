"""The lesson's steps with images: the idea in one picture, and the same methods on two backgrounds."""

from __future__ import annotations

import math
from collections.abc import Iterable

import streamlit as st

from core import lessons
from core.figures import lesson as figures
from core.figures.style import kind_of
from core.registry import METHODS
from pages.components.shared import fields
from pages.components.shared.charts import draw_chart
from pages.components.shared.map_panel import small_text
from pages.components.shared.progress import counted
from pages.components.suppressors.parts import Step, ask, picture, row, slide


def idea(step: Step) -> None:
    """PatternLocal's Figure 1 on real images: why a weight differs from a pattern."""
    result = lessons.suppressor_plane()
    left, right = st.columns([5, 7], gap="medium")
    with left:
        st.markdown(
            "A network separates two classes of images: two hidden shapes, a T and an L, have either equal "
            "or different signs. Each mark is one image, in a plane through one of them (the star)."
        )
        st.markdown(
            "The solid line is the network's decision boundary; the dashed line is its linear surrogate near "
            "the star. Most explanations report the **weight** of that surrogate. PatternLocal turns it into "
            "a **pattern**."
        )
        ask(
            "Both arrows explain the star. Which shows how the classes differ?",
            ("the weight", "the pattern"),
            1,
            f"The two clouds are shifted along it. The weight is tilted by {result.angle:.0f}°, because it must also "
            "cancel the noise that all images share. As maps, the pattern shows the shapes; the weight highlights "
            "background too.",
        )
    with right:
        _idea_plane(result, step)
        if step.reveal:
            _idea_maps(result, step)


def _idea_plane(result: lessons.SuppressorPlane, step: Step) -> None:
    length = 0.45 * float(result.up[-1] - result.up[0])
    weight, pattern = length * result.weight, length * result.pattern
    span = (
        (result.across[0], max(result.across[-1], 1.25 * weight[0], 1.25 * pattern[0])),
        (result.up[0], max(result.up[-1], 1.2 * weight[1])),
    )
    chart = figures.plane(
        result.points,
        result.labels == 1,
        step.theme,
        size=step.size,
        x_label="along the pattern",
        span=span,
        y_label="perpendicular to it",
        names=("equal signs", "different signs"),
        star="the explained image",
        lines={"local linear surrogate": result.line},
        border=(result.across, result.up, result.margin),
        arrows={"weight": weight, "pattern": pattern},
    )
    height = step.height - 60 if step.reveal else step.height  # below the chart the answer shows maps
    draw_chart(
        chart,
        "idea.plane",
        f"Weight and pattern of one image are {result.angle:.0f} degrees apart: the "
        "weight is perpendicular to the boundary, the pattern points from one cloud of images to the other.",
        height,
    )


def _idea_maps(result: lessons.SuppressorPlane, step: Step) -> None:
    """The image, its ground truth, and both arrows as maps."""
    gradient, edge = result.maps["gradient"], 150 if step.large else 112
    image, mask = gradient.image, gradient.mask
    pictures = [
        picture(
            image,
            "image",
            mask,
            step,
            "Image",
            edge,
            f"Test image {gradient.spec.image}: a T and an L hidden in noise.",
        ),
        picture(mask, "truth", mask, step, "Ground truth", edge, f"The {int(mask.sum())} pixels of the two shapes."),
    ]
    for name, attribution in (("Weight", gradient), ("Pattern", result.maps["patternlocal"])):
        inside = f"{result.inside[attribution.spec.method]:.0%}"
        pictures.append(
            picture(
                attribution.values,
                kind_of(attribution),
                mask,
                step,
                name,
                edge,
                f"{inside} of the {name.lower()}'s mass lies on the shapes.",
                below=f"{inside} on the shapes",
            )
        )
    row(pictures)


def backgrounds(step: Step) -> None:
    """Step 4: the same methods on white and on correlated noise."""
    with counted() as progress:
        results = lessons.images(*step.sliders.values(), progress=progress)
    corr = results[-1]
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown(
            "XOR at SNR .05, twice. In **WHITE** each pixel has independent noise. In **CORR** noise is "
            "smooth: pixels beside a shape predict its noise. They are suppressors."
        )
        slide("lesson_image", "correlation")
    with right:
        gradient = corr.zones["gradient"]
        most = int(gradient.argmax())
        ask(
            "On CORR, where does most of the gradient's mass lie?",
            lessons.ZONES,
            most,
            f"{gradient[most]:.0%} of it. PatternLocal has {corr.zones['patternlocal'][0]:.0%} inside the shape.",
        )
    if step.reveal:
        st.segmented_control(
            "Show",
            fields.PICTURED,
            key="pictured",
            required=True,
            label_visibility="collapsed",
            format_func={"maps": "Maps", "curve": "Share against threshold"}.get,
        )
    if step.reveal and st.session_state.pictured == "curve":
        _threshold_curve(corr, step)
    else:
        for result in results:
            _background_row(result, step)
        small_text(
            "Below each map: share of |map| <b>inside</b> the shape · on <b>correlated</b> background · "
            "<b>elsewhere</b> (Zones: of a uniform map). OpenAPI equals the gradient."
        )


def _background_row(result: lessons.Background, step: Step) -> None:
    """One background: the image, the zones, then each method's map with its three shares."""
    first, edge = next(iter(result.maps.values())), 138 if step.large else 114
    pictures = [
        picture(
            first.image,
            "image",
            first.mask,
            step,
            result.name,
            edge,
            f"Test image {first.spec.image} with {result.name} background.",
            below=f"accuracy {result.accuracy:.1%}",
        ),
        picture(
            result.zone_map,
            "truth",
            first.mask,
            step,
            "Zones",
            edge,
            f"The shape, and the {result.near.mean():.0%} of the image that is background correlated with it.",
            below=_percents(result.even),
        ),
    ]
    for method, attribution in result.maps.items() if step.reveal else ():
        label, zones = METHODS[method].label, result.zones[method]
        shares = ", ".join(f"{share:.0%} {zone}" for share, zone in zip(zones, lessons.ZONES))
        pictures.append(
            picture(
                attribution.values,
                kind_of(attribution),
                first.mask,
                step,
                label,
                edge,
                f"{label} on {result.name}: {shares}",
                below=_percents(zones),
            )
        )
    row(pictures)


def _threshold_curve(corr: lessons.Background, step: Step) -> None:
    """The share on correlated background against what counts as correlated."""
    threshold = step.settings["correlation"]
    methods = [method for method in corr.curve if method != "openapi"]
    lines = {METHODS[method].label: corr.curve[method] for method in methods} | {"uniform map": corr.even_curve}
    shares = [corr.zones[method][1] for method in methods] + [corr.even[1]]
    text = ", ".join(f"{name} {share:.0%}" for name, share in zip(lines, shares))
    draw_chart(
        figures.thresholds(lessons.THRESHOLDS, lines, threshold, step.theme, size=step.size),
        "images.curve",
        f"Share on background with correlation above {threshold:g}: {text}",
        step.height - 20,
    )
    below = " PatternLocal stays below the uniform map at every threshold." if corr.below_even("patternlocal") else ""
    small_text(f"CORR. OpenAPI's curve is the gradient's.{below}")


def _percents(shares: Iterable[float]) -> str:
    if any(map(math.isnan, shares)):
        return "all-zero map"
    return " · ".join(f"{100 * share:.0f}" for share in shares) + " %"
