"""Image, ground truth and one heatmap per method side by side, with scores and remarks below."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import streamlit as st

from core.figures.heatmap import heatmap
from core.figures.style import SCALES, Array, limits, scaled, shown
from core.map_statistics import ranks
from core.registry import DATASETS, METHODS, METRICS
from core.types import Attribution, Score
from pages.components.shared import controls
from pages.components.shared.map_panel import (
    WIDTH,
    PanelStyle,
    image_panel,
    map_panel,
    mark,
    panel_title,
    show,
    small_text,
)

IMPORTANT = {0: "not important", 100: "important"}  # a pixel of the ground truth
BLANK = 0.05  # a map weaker than this share of the shared scale looks empty
Ranks = Mapping[str, Mapping[str, int]]  # by metric and method


@dataclass(frozen=True)
class Result:
    """One panel's content: the attribution, or why there is none; scores as far as they are known."""

    method: str
    attribution: Attribution | None = None
    reason: str = ""
    score: Score | None = None

    @property
    def label(self) -> str:
        """The method's label."""
        return METHODS[self.method].label


def draw(results: Sequence[Result], style: PanelStyle) -> None:
    """Draws the image, the ground truth and a panel for every result, with its scores and ranks."""
    drawn = [r for r in results if r.attribution]
    if not drawn:
        st.info("No map to show: choose at least one method that applies to this model.")
        return
    first = drawn[0].attribution
    data = DATASETS[first.spec.dataset]
    if not data.has_ground_truth:
        small_text(
            f"{data.label} has no ground truth, so maps are not scored here. Whether a map is faithful to the "
            "model can be measured: see Regions."
        )
    st.html(_legend(drawn, style, data.has_ground_truth))
    full_colour = dict(zip((r.method for r in drawn), limits([r.attribution.values for r in drawn], style.scale)))
    ranking = ranked(results)
    with st.container(horizontal=True, gap="small", key="panels"):
        _image(first, style)
        if data.has_ground_truth:
            _ground_truth(first, style)
        for result in results:
            with st.container(width=WIDTH, gap=None, key=f"panel.{result.method}"):
                _result(result, full_colour.get(result.method, 0.0), style, ranking, data.has_ground_truth)


def _result(result: Result, limit: float, style: PanelStyle, ranking: Ranks, scored: bool) -> None:
    """A method's name, with its options behind it; its map, or why there is none."""
    has_options = style.options and bool(METHODS[result.method].options)
    if has_options:
        controls.method_options(result.method)
    title = "" if has_options else result.label
    if not result.attribution:
        panel_title(title)
        st.caption(f"Does not apply: {result.reason}")
        return
    scores = score_lines(result, ranking) if scored else ""
    values, full_colour = shown(result.attribution.values, limit, style.scale)
    _map(
        result,
        values,
        full_colour,
        style,
        f"chart.{result.method}",
        title,
        scores + _remarks(result.attribution, limit, style),
        choose=mark,
    )


def draw_small(results: Sequence[Result], style: PanelStyle, key: str) -> None:
    """Image and maps with their scores only, each map scaled to its own peak: it may change every second."""
    drawn = [r for r in results if r.attribution]
    if not drawn:
        st.info("No map to show.")
        return
    first, ranking = drawn[0].attribution, ranked(drawn)
    with st.container(horizontal=True, gap="small"):
        with st.container(width=WIDTH):
            show(
                image_panel(first.image, style, mask=style.mask_of(first)),
                f"{key}.image",
                f"Test image {first.spec.image} at SNR {first.spec.snr:g}.",
                title="Image",
                below=f"<div class='al-scores'>Label {first.label}, predicted {first.predicted}</div>",
            )
        for result in drawn:
            with st.container(width=WIDTH):
                _map(
                    result,
                    scaled(result.attribution.values),
                    1.0,
                    style,
                    f"{key}.{result.method}",
                    result.label,
                    score_lines(result, ranking),
                )


def _map(
    result: Result,
    values: Array,
    limit: float,
    style: PanelStyle,
    key: str,
    title: str,
    below: str,
    choose: Callable[[tuple[int, int]], None] | None = None,
) -> None:
    """A result's map; where pixels can be chosen, the chosen one is marked."""
    attribution = result.attribution
    pixel = style.pixel if choose else None
    show(
        map_panel(attribution, values, limit, style, pixel),
        key,
        f"{result.label} map of test image {attribution.spec.image}.",
        title=title,
        below=below,
        choose=choose,
    )


def _image(first: Attribution, style: PanelStyle) -> None:
    """The image with its label and the prediction."""
    classes, probability = DATASETS[first.spec.dataset].classes, first.probabilities[first.predicted]
    verdict = "correct" if first.predicted == first.label else "wrong"
    with st.container(width=WIDTH, key="panel.of-input"):
        show(
            image_panel(first.image, style, mask=style.mask_of(first), pixel=style.pixel),
            "chart.of-input",
            f"Test image {first.spec.image}, class {classes[first.label]}.",
            title="Image",
            below=f"<div class='al-scores'>Label {classes[first.label]}, predicted {classes[first.predicted]} "
            f"({verdict})<br>Probability {percent(probability)}</div>",
            choose=mark,
        )


def _ground_truth(first: Attribution, style: PanelStyle) -> None:
    """The mask of the important pixels."""
    count, share = int(first.mask.sum()), first.mask.mean()
    with st.container(width=WIDTH, key="panel.of-truth"):
        show(
            heatmap(
                first.mask.astype(float),
                1.0,
                "truth",
                style.theme,
                mask=first.mask,
                pixel=style.pixel,
                words=IMPORTANT,
            ),
            "chart.of-truth",
            f"The {count} important pixels.",
            title="Ground truth",
            below=f"<div class='al-scores'>{count} important pixels<br><span class='al-quiet'>{share:.0%} of the "
            f"image, so a uniform map has IME {1 - share:.3f}</span></div>",
            choose=mark,
        )


def _legend(drawn: Sequence[Result], style: PanelStyle, scored: bool) -> str:
    """One line: what the colours mean in all panels, and which scores are better."""
    ramps = []
    if any(r.attribution.signed for r in drawn):
        ramps.append(_ramp("against", style.theme.signed, "for the explained class"))
    if not all(r.attribution.signed for r in drawn):
        ramps.append(_ramp("0", style.theme.magnitude, "largest, for methods without a sign"))
    scale = SCALES[style.scale]
    text = f"{scale[0].upper()}{scale[1:]}. Under the pointer: percent of each map's largest value."
    if scored:
        text += f" {directions()}"
    return f"<div class='al-quiet'>{' &nbsp; '.join([*ramps, text])}</div>"


def directions() -> str:
    """Which way each metric is better: ``EMD and IME: lower is better. Precision: higher is better.``"""
    return " ".join(
        f"{', '.join(labels[:-1])}{' and ' if labels[:-1] else ''}{labels[-1]}: {word} is better."
        for lower, word in ((True, "lower"), (False, "higher"))
        if (labels := [m.label for m in METRICS.values() if m.lower_is_better == lower])
    )


def _ramp(low: str, colours: Sequence[str], high: str) -> str:
    return f"{low}<span class='al-ramp' style='background:linear-gradient(90deg,{','.join(colours)})'></span>{high}"


def _remarks(attribution: Attribution, limit: float, style: PanelStyle) -> str:
    """Time, size of the map, and what a reader must know of it."""
    facts, largest = attribution.facts, float(abs(attribution.values).max())
    remarks = [f"{attribution.seconds:.2f} s, largest |value| {largest:.3g}"]
    if largest == 0:
        remarks = ["Empty map: every value is zero."]
    elif style.scale == "shared" and largest < BLANK * limit:
        remarks.append("Nearly blank at the shared scale; choose Per panel.")
    elif largest < 1e-6 and attribution.spec.output == "probability":
        remarks.append("The probability is saturated: explain the margin instead.")
    if "fit" in facts:
        remarks.append(f"Surrogate R² {facts['fit']:.2f}")
    if "effective_neighbours" in facts:
        remarks.append(f"{facts['neighbours']:,} neighbours, effective number {facts['effective_neighbours']:,.0f}")
    return f"<div class='al-quiet'>{'<br>'.join(map(escape, [*remarks, *attribution.notes]))}</div>"


def score_lines(result: Result, ranking: Ranks) -> str:
    """The scores with their ranks, as HTML for below a map."""
    rows = []
    for name, metric in METRICS.items():
        rank = ranking.get(name, {}).get(result.method)
        best = " class='al-best'" if rank == 1 else ""
        rows.append(f"<span{best}>{metric.label} {_score_text(result.score, name, rank)}</span>")
    return f"<div class='al-scores'>{'<br>'.join(rows)}</div>"


def _score_text(score: Score | None, metric: str, rank: int | None) -> str:
    value = score.values.get(metric) if score else None
    if value is None:
        return "…"
    if math.isnan(value):
        return f"undefined: {escape(score.reasons.get(metric, ''))}"
    return f"{value:.3f} · {rank}{ordinal(rank)}" if rank else f"{value:.3f}"


def ranked(results: Sequence[Result]) -> dict[str, dict[str, int]]:
    """The rank of each method by each metric, as far as scores are known."""
    scores = [(r.method, r.score.values) for r in results if r.score]
    return {
        name: ranks({method: values[name] for method, values in scores if name in values}, metric.lower_is_better)
        for name, metric in METRICS.items()
    }


def ordinal(rank: int) -> str:
    """The ending of a rank: st, nd, rd or th."""
    return "th" if 10 <= rank % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")


def percent(probability: float) -> str:
    """A probability as text that never rounds up to 100 %."""
    return "> 99.99 %" if probability > 0.9999 else f"{100 * probability:.2f} %"
