"""The image beside other inputs: one in the same region, a plane of them, a line of them."""

from __future__ import annotations

import streamlit as st

from core import regions
from core.figures import screen
from core.registry import METHODS
from core.types import Spec
from pages.components.regions.exact import decide
from pages.components.shared import fields
from pages.components.shared.charts import draw_chart
from pages.components.shared.map_panel import WIDTH, PanelStyle, panel_title, show_signed, small_text
from pages.components.shared.progress import counted

BORDERS = 60  # borders up to which a line shows them


def consistency(spec: Spec, style: PanelStyle) -> None:
    """Each method's maps of the image and of another input."""
    small_text(
        "Inside a region the model is one linear function, so an exact explanation is the same for all its "
        "inputs. Methods that depend on inputs outside the region differ even there."
    )
    st.segmented_control(
        "Compared with", regions.COMPARISON_POINTS, key="partner", required=True, format_func=fields.sentence
    )
    kind = st.session_state.partner
    st.caption(_where(regions.comparison_point(spec, kind)))
    with counted() as progress:
        agreements = regions.agreements(spec, kind, progress=progress)
    with st.container(horizontal=True, gap="small", key="agreement"):
        for agreement in agreements:
            with st.container(width=WIDTH, gap="xsmall", key=f"agreement.{agreement.method}"):
                panel_title(METHODS[agreement.method].label)
                if agreement.at_image is None:
                    st.caption(f"Does not apply: {agreement.reason}")
                else:
                    _agreement(agreement, style)


def _where(point: regions.ComparisonPoint) -> str:
    """Which other input it is, how far away, and where the first border lies."""
    name = "A point half way to the first border" if point.number is None else f"Test image {point.number}"
    region = "the same region" if point.same else "another region"
    border = (
        "There is no border on the line to it"
        if point.border >= 1
        else f"The first border on the line to the nearest image lies after {100 * point.border:.2g} % of it"
    )
    return f"{name}, {point.distance:.3g} away, in {region}. {border}."


def _agreement(agreement: regions.Agreement, style: PanelStyle) -> None:
    label, flips = METHODS[agreement.method].label, agreement.flips
    show_signed(
        agreement.at_point,
        style,
        f"at_point.{agreement.method}",
        f"{label} at the other input, hatched where its sign differs from that at the image.",
        hatched=flips,
    )
    small_text(
        f"<span class='al-scores'>Cosine {agreement.cosine:.6f}<br>L1 difference {agreement.relative:.1e}"
        f"</span><br>{_sign_changes(int(flips.sum()))}"
    )


def _sign_changes(count: int) -> str:
    if count == 0:
        return "No pixel changes sign"
    return "1 pixel changes sign (hatched)" if count == 1 else f"{count} pixels change sign (hatched)"


def region_map(spec: Spec, style: PanelStyle) -> None:
    """A plane through the image, coloured by the agreement of the exact weights."""
    small_text(
        "A plane through the image (cross) and two nearby images of different classes. Colour: the cosine "
        "between the exact weights there and those at the image."
    )
    st.slider(
        "Zoom out",
        0,
        10,
        key="zoom",
        width=420,
        help="0: the radius OpenAPI accepted. 10: as far as the nearest test image.",
    )
    features = decide(spec).features
    half, near = (regions.half_width(spec, features, zoom) for zoom in (st.session_state.zoom / 10, 0.0))
    with counted() as progress:
        points = 31 if spec.model == "CNN" and spec.size == 64 else 41
        plane = regions.region_map(spec, half, points, progress=progress)
    tried = [(r.radius, False) for r in features.trace[:-1]]
    if features.exact:
        tried.append((features.radius, True))
    samples = regions.tested(spec, features, plane.axes)
    borders = plane.region if plane.count < regions.REGIONS_WITH_BORDERS else None
    draw_chart(
        screen.region_map(plane.at, plane.cosine, plane.margin, borders, tried, style.theme, samples),
        "region.map",
        f"{plane.count} regions in the plane; the lowest cosine is {plane.lowest:.2f}.",
        430,
        width=520,
    )
    small_text(_map_caption(plane, samples, rings=half < 64 * near))


def _map_caption(plane: regions.RegionMap, samples: tuple, rings: bool) -> str:
    """The numbers of a region map, and what its lines and marks mean."""
    projections, same = samples
    drawn = plane.covers(projections)
    parts = [
        f"Half width {plane.at[-1]:.3g} pixel units. {plane.count:,} regions among {plane.region.size:,} "
        f"points, lowest cosine {plane.lowest:.2f}"
    ]
    if plane.count < regions.REGIONS_WITH_BORDERS:
        parts.append("thin lines: borders of regions")
    else:
        parts.append("too many regions to draw their borders")
    if plane.has_class_border:
        parts.append("dashed line: the decision boundary")
    if rings:
        parts.append("rings: the radii tried, the accepted one bold")
    parts.append(
        f"{drawn.sum()} test points projected on this plane, {(drawn & same).sum()} in the image's region "
        f"(dots), {(drawn & ~same).sum()} in others (open squares)"
    )
    return "; ".join(parts) + "."


def line_scan(spec: Spec, style: PanelStyle) -> None:
    """How explanations change on the line to the nearest image."""
    number = regions.nearest(spec)
    with counted() as progress:
        line = regions.line(spec, number, progress=progress)
    names = {"exact": "Exact weights"} | {method: METHODS[method].label for method in regions.METHODS_ALONG}
    curves = {names[method]: cosines for method, cosines in line.cosine.items()}
    steps = len(line.t) - 1
    few = len(line.borders) <= BORDERS and len(line.borders) < steps
    draw_chart(
        screen.curves(
            line.t,
            curves,
            f"position between image {spec.image} and its nearest, image {number}",
            "cosine to the map at the start",
            style.theme,
            line.borders if few else (),
            line.class_change,
        ),
        "region.line",
        "At the end: " + ", ".join(f"{name} {cosines[-1]:.2f}" for name, cosines in curves.items()),
        380,
    )
    borders = f"{len(line.borders)} of {steps} steps cross a border" + (" (grey)" if few else ": too many to draw")
    changes = (
        f"the prediction changes {len(line.class_change)} time(s) (dashed)"
        if len(line.class_change)
        else "the prediction does not change"
    )
    small_text(f"{borders}; {changes}. Exact weights are constant inside a region and jump at its borders.")
