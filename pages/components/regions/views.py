"""What the Regions page shows, one idea at a time: what is not shown is not computed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import pipeline, regions
from core.figures import screen
from core.registry import DATASETS, METHODS
from core.types import NotApplicable, Spec
from pages.components.shared import choices, fields, frame, scored_results, share
from pages.components.shared.map_panel import WIDTH, View, photograph, say, show, signed, title
from pages.components.shared.progress import counted
from pages.components.shared.result_panels import Result, percent

BORDERS = 60  # borders up to which a line shows them
SOON = 0.8  # seconds after which what is known is shown while the rest is computed
FLIP = 0.1  # of its map's largest value: below it a sign means little


def bar() -> None:
    """Which of the views."""
    st.segmented_control("View", fields.VIEWS, key="region_view", required=True, label_visibility="collapsed",
                         format_func=_sentence)


def page(spec: Spec) -> None:
    """The chosen view of one image."""
    views = _decision, _consistency, _map, _line, _errors, _removals, _innocent
    dict(zip(fields.VIEWS, views, strict=True))[st.session_state.region_view](spec, View.chosen())
    share.popover(lambda: share.of_maps([choices.of_method(spec, "openapi")]))
    frame.fetch_charts()


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _decide(spec: Spec) -> regions.Decision:
    """OpenAPI on the image, with progress when it takes longer than a moment."""
    with counted() as progress:
        return regions.decision(spec.replace(method="openapi"), st.session_state.sampling, progress=progress)


def _decision(spec: Spec, view: View) -> None:
    say("A ReLU network, or a tree of linear models, is linear around every image. OpenAPI finds the weights of "
        "that region from probabilities alone and tests them; here the model's own weights are known.")
    st.segmented_control("Sampling", regions.SAMPLINGS, key="sampling", required=True,
                         help="orthogonal: one step along every pixel. hypercube: the paper's way, which solves a "
                              "system of as many equations as pixels at every try: half a minute or more at 64 × 64.")
    d = _decide(spec)
    with st.container(horizontal=True, gap="small", key="decision"):
        with st.container(width=WIDTH, gap="xsmall"):
            title("Image")
            show(photograph(d.image, view), "region.image", f"Test image {spec.image}.")
            name = DATASETS[spec.dataset].classes[d.target]
            say(f"Class {name} is explained, probability {percent(d.probability)}")
        with st.container(width=WIDTH, gap="xsmall"):
            title("OpenAPI, from probabilities")
            if d.features.exact:
                signed(d.values, view, "region.found", "OpenAPI's decision features.")
            else:
                st.info(f"No exact answer: {d.features.reason}.")
            say(f"{d.features.queries:,} queries in {d.features.rounds} rounds, {d.seconds:.2f} s"
                + (f"<br>Radius {d.features.radius:.2g}, error at most {d.features.error:.0e}" if d.features.exact else ""))
        with st.container(width=WIDTH, gap="xsmall"):
            title("The model's own weights")
            signed(d.truth, view, "region.truth", "The exact weights, read from inside the model.")
            say("Known only with access to the model")
        if d.features.exact:
            with st.container(width=WIDTH, gap="xsmall"):
                title("On the image")
                _overlay(d, view)
                say("The strongest tenth of the pixels by |weight|: red for the class, blue against")
    if d.features.exact:
        st.html(f"<div class='al-scores'><b>L1 distance to the model's own weights: {d.error:.1e}</b> of their "
                f"size. OpenAPI's test points bound it by {d.features.error:.1e} without knowing them; up to 1e-6 the "
                "answer is called exact.</div>")
    with st.expander("Rounds"):
        st.dataframe([{"Radius": r.radius, "Largest residual": r.residual, "Accepted": "yes" if r.accepted else "no"}
                      for r in d.features.trace], hide_index=True,
                     column_config={"Radius": st.column_config.NumberColumn(format="%.3g"),
                                    "Largest residual": st.column_config.NumberColumn(format="%.2e")})


def _overlay(d: regions.Decision, view: View) -> None:
    strong = np.abs(d.values) >= np.quantile(np.abs(d.values), 0.9)
    limit = float(np.abs(d.values).max()) or 1.0
    over = np.where(strong, np.clip(d.values / (0.6 * limit), -1, 1), np.nan)
    show(photograph(d.image, view, over=over), "region.overlay", "The strongest weights drawn over the image.")


def _consistency(spec: Spec, view: View) -> None:
    say("Inside one region the model is one linear function, so an exact explanation is the "
        "same everywhere in it. Methods that look beyond the region differ even there.")
    st.segmented_control("Compared with", regions.COMPARISON_POINTS, key="partner", required=True,
                         format_func=_sentence)
    kind = st.session_state.partner
    other = regions.comparison_point(spec, kind)
    where = "the same region" if other.same else "another region"
    what = f"Test image {other.number}" if other.number is not None else "A point half way to the first border"
    border = "No border lies on the way" if other.border >= 1 else \
        f"The first border on the way to the nearest image lies after {100 * other.border:.2g} % of it"
    st.caption(f"{what}, {other.distance:.3g} away, in {where}. {border}.")
    with counted() as progress:
        found = regions.agreements(spec, kind, progress=progress)
    with st.container(horizontal=True, gap="small", key="agreement"):
        for a in found:
            with st.container(width=WIDTH, gap="xsmall", key=f"agreement.{a.method}"):
                title(METHODS[a.method].label)
                if a.at_image is None:
                    st.caption(f"Does not apply: {a.reason}")
                    continue
                flips = _flips(a)
                signed(a.at_point, view, f"there.{a.method}", f"{METHODS[a.method].label} at the other input, hatched "
                       "where its sign differs from that at the image.", hatched=flips)
                say(f"<span class='al-scores'>Cosine {a.cosine:.6f}<br>L1 difference {a.relative:.1e}</span><br>"
                    f"{_pixels(int(flips.sum()))} of another sign")


def _flips(a: regions.Agreement) -> np.ndarray:
    """Pixels that speak clearly at both inputs and say the opposite."""
    clear = [np.abs(m) > FLIP * np.abs(m).max() for m in (a.at_image, a.at_point)]
    return clear[0] & clear[1] & (np.sign(a.at_image) != np.sign(a.at_point))


def _pixels(count: int) -> str:
    return "no pixel" if count == 0 else "1 pixel (hatched)" if count == 1 else f"{count} pixels (hatched)"


def _map(spec: Spec, view: View) -> None:
    say("A plane through the image (cross) and two near images of different classes. Colour: "
        "how far the exact weights there agree with those at the image.")
    st.slider("Zoom out", 0, 10, key="zoom", width=420,
              help="0: the radius OpenAPI accepted. 10: as far as the nearest test image.")
    d = _decide(spec)
    half, near = (regions.half_width(spec, d.features, zoom) for zoom in (st.session_state.zoom / 10, 0.0))
    with counted() as progress:
        points = 31 if spec.model == "CNN" and spec.size == 64 else 41
        found = regions.region_map(spec, half, points, progress=progress)
    tried = [(r.radius, False) for r in d.features.trace[:-1]] + [(d.features.radius, True)] * d.features.exact
    shadows, same = regions.tested(spec, d.features, found.axes)
    few = found.count < regions.REGIONS_WITH_BORDERS
    figure = screen.region_map(found.at, found.cosine, found.margin, found.region if few else None, tried, view.theme,
                               (shadows, same))
    st.plotly_chart(figure, key="region.map", theme=None, height=430, width=520, config={"displayModeBar": False},
                    alt=f"{found.count} regions in the plane; the lowest cosine is {np.nanmin(found.cosine):.2f}.")
    rings = "; rings: the tried radii, the accepted one bold" if half < 64 * near else ""
    shown = (np.abs(shadows) <= half).all(1)
    rings += (f"; {shown.sum()} test points as they lie on this plane, {(shown & same).sum()} in the image's region "
              f"(dots), {(shown & ~same).sum()} in others (open squares)")
    crossed = "; dashed line: where the model's answer changes" if (found.margin > 0).any() and (
        found.margin < 0).any() else ""
    borders = "thin lines: borders of regions" if few else "too many regions to draw their borders"
    say(f"Half width {half:.3g} pixel units. {found.count:,} regions among {found.region.size:,} points, lowest "
        f"cosine {np.nanmin(found.cosine):.2f}; {borders}{crossed}{rings}.")


def _line(spec: Spec, view: View) -> None:
    number = regions.nearest(spec)
    with counted() as progress:
        found = regions.line(spec, number, progress=progress)
    names = {"exact": "Exact weights"} | {m: METHODS[m].label for m in regions.METHODS_ALONG}
    few = len(found.borders) <= BORDERS and len(found.borders) < len(found.t) - 1
    st.plotly_chart(screen.curves(found.t, {names[n]: y for n, y in found.cosine.items()},
                                  f"way from image {spec.image} to its nearest, image {number}",
                                  "cosine to the map at the start", view.theme, found.borders if few else (),
                                  found.class_change),
                    key="region.line", theme=None, height=380, config={"displayModeBar": False},
                    alt="At the end: " + ", ".join(f"{names[n]} {y[-1]:.2f}" for n, y in found.cosine.items()))
    borders = (f"{len(found.borders)} of {len(found.t) - 1} steps cross a border of regions"
               + (" (grey)" if few else ": too many to draw"))
    change = f"; the model's answer changes {len(found.class_change)} time(s) (dashed)" if len(
        found.class_change) else "; the model's answer stays the same"
    say(f"{borders}{change}. Exact weights are constant inside a region and jump at its borders.")


def _errors(spec: Spec, view: View) -> None:
    say("Other ways to weights from probabilities need a distance h, chosen beforehand. Too "
        "large, and the points leave the region; too small, and only rounding is left. They cannot tell.")
    found, place, start = [], st.empty(), time.monotonic()
    with counted() as progress:
        for error in regions.errors(spec.replace(method="openapi"), progress=progress):
            if found and found[-1].method != error.method and time.monotonic() - start > SOON:
                _scale(found, place, view)  # what is known so far, while the slow ways go on
            found.append(error)
    _scale(found, place, view)
    say("L1 distance to the model's own weights, as a share of their size; further left is better. At 1 nothing of "
        "the answer is right." + ("" if len(found) > 7 else " At this size ZOO is asked about 512 random pixels; "
                                  "regressions would take minutes and are left out."))
    for e in found:
        if e.reason:
            say(f"{e.method}: {e.reason}")


def _scale(found: Sequence[regions.Error], place: DeltaGenerator, view: View) -> None:
    """The errors on one axis."""
    place.plotly_chart(screen.errors([(e.method, e.h, e.error) for e in found], view.theme), theme=None, height=340,
                       key=f"region.errors.{len(found)}", config={"displayModeBar": False},
                       alt="; ".join(f"{e.method}{'' if np.isnan(e.h) else f' at h {e.h:g}'}: {e.error:.1e}"
                                     for e in found))


def _removals(spec: Spec, view: View) -> None:
    say("Pixels are taken away one by one, those a method finds most important first: one that speaks for the class "
        "becomes 0, one that speaks against it 1. The sooner the probability falls, the better the order was.")
    with counted() as progress:
        found = regions.deletion_curves(spec.replace(method="gradient"), progress=progress)
    drawn = {METHODS[m].label: one for m, one in found.items() if not isinstance(one, str)}
    longest = np.arange(max(len(one.probability) for one in drawn.values()) if drawn else 0)
    changed = {name: int(one.changed.argmax()) if one.changed.any() else None for name, one in drawn.items()}
    said = [f"{name} after {k}" if k else f"{name} never" for name, k in changed.items()]
    st.plotly_chart(screen.curves(longest, {name: one.probability for name, one in drawn.items()},
                                  "pixels taken away", "probability of the class", view.theme),
                    key="region.removals", theme=None, height=380, config={"displayModeBar": False},
                    alt=f"The answer changes: {', '.join(said)} pixels.")
    say(f"The answer first changes: {', '.join(said)} of at most {len(longest) - 1} pixels. This asks what the model "
        "uses, not what matters in the world: a suppressor counts here as well.")
    for method, one in found.items():
        if isinstance(one, str):
            say(f"{METHODS[method].label}: {one}")


def _innocent(spec: Spec, view: View) -> None:
    say("Exact is not innocent: a pixel that only cancels noise has a weight in the model, so "
        "the exact weights mark it. The pattern of the same weights asks what moves with the answer.")
    found = []
    for method, options in (("openapi", {}), ("patternlocal", {"surrogate": "openapi"})):
        try:
            attribution = pipeline.explain(spec.replace(method=method, options=options))
        except NotApplicable as reason:
            found.append(Result(method, reason=str(reason)))
            continue
        found.append(Result(method, attribution, score=scored_results.known(attribution)))
    scored_results.show(found, replace(view, options=False))
    if st.button("Open both in Compare", icon=":material/compare:"):
        _to_compare()


def _to_compare() -> None:
    st.session_state.methods = ["openapi", "patternlocal"]
    choices.set_method_options("patternlocal", {"surrogate": "openapi"})
    st.switch_page(frame.ROOT / "pages" / "compare.py")
