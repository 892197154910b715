"""The panels of Compare: input, ground truth and one heatmap a method, with scores underneath."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import streamlit as st

from core.figures.heatmap import heatmap
from core.figures.style import SCALES, limits, shown
from core.registry import DATASETS, METHODS, METRICS
from core.types import Attribution, Score
from pages.components.shared import controls
from pages.components.shared.map_panel import WIDTH, View, mark, photograph, say, show, title

IMPORTANT = {0: "not important", 100: "important"}  # a pixel of the ground truth
BLANK = 0.05  # a map weaker than this share of the shared scale looks empty


@dataclass(frozen=True)
class Result:
    """One panel's content: the attribution, or why there is none; scores as far as they are known."""

    method: str
    attribution: Attribution | None = None
    reason: str = ""
    score: Score | None = None

    @property
    def label(self) -> str:
        return METHODS[self.method].label


def draw(results: Sequence[Result], view: View) -> None:
    """Draws the image, the ground truth and a panel for every result, with its scores and ranks."""
    drawn = [r for r in results if r.attribution]
    first = drawn[0].attribution if drawn else None
    if first is None:
        st.info("No map to show: choose at least one method that applies to this model.")
        return
    data = DATASETS[first.spec.dataset]
    if not (truth := data.has_ground_truth):
        say(f"Nobody knows which pixels matter in {data.label}, so maps have no scores here. How exactly one "
            "explains the model can be known: see Regions.")
    st.html(legend(view, any(r.attribution.signed for r in drawn), any(not r.attribution.signed for r in drawn),
                   truth))
    maps = [r.attribution.values for r in drawn]
    limit = dict(zip((r.method for r in drawn), limits(maps, view.scale)))
    ranks = ranked(results)
    with st.container(horizontal=True, gap="small", key="panels"):
        _input(first, view)
        if truth:
            _truth(first, view)
        for result in results:
            with st.container(width=WIDTH, gap="xsmall", key=f"panel.{result.method}"):
                if optional := view.options and bool(METHODS[result.method].options):
                    controls.method_options(result.method)
                heading = "" if optional else result.label
                if result.attribution:
                    below = score_lines(result, ranks) if truth else ""
                    _map(result, limit[result.method], view, heading, below + remarks(
                        result, limit[result.method], view))
                else:
                    title(heading)
                    st.caption(f"Does not apply: {result.reason}")


def legend(view: View, signed: bool, magnitude: bool, truth: bool = True) -> str:
    """One line: what the colours mean in all panels."""
    ramps = []
    if signed:
        ramps.append(_ramp("against", view.theme.signed, "for the explained class"))
    if magnitude:
        ramps.append(_ramp("0", view.theme.magnitude, "largest, where a method gives no sign"))
    text = f"{SCALES[view.scale]}. Under the pointer: percent of each map's largest value." \
        + " EMD and IME: lower is better." * truth
    return f"<div class='al-quiet'>{' &nbsp; '.join(ramps)} &nbsp; {text[0].upper() + text[1:]}</div>"


def _ramp(low: str, colours: Sequence[str], high: str) -> str:
    return f"{low}<span class='al-ramp' style='background:linear-gradient(90deg,{','.join(colours)})'></span>{high}"


def _input(first: Attribution, view: View) -> None:
    classes, sure = DATASETS[first.spec.dataset].classes, first.probabilities[first.predicted]
    right = "correct" if first.predicted == first.label else "wrong"
    with st.container(width=WIDTH, key="panel.of-input"):
        show(photograph(first.image, view, mask=first.mask if view.outline else None, pixel=view.pixel),
             "chart.of-input", f"Test image {first.spec.image}, class {classes[first.label]}.", title="Image",
             below=f"<div class='al-scores'>Label {classes[first.label]}, predicted {classes[first.predicted]} "
                   f"({right})<br>Probability {percent(sure)}</div>", choose=mark)


def _truth(first: Attribution, view: View) -> None:
    count, share = int(first.mask.sum()), first.mask.mean()
    with st.container(width=WIDTH, key="panel.of-truth"):
        show(heatmap(first.mask.astype(float), 1.0, (view.theme.background, view.theme.outline), view.theme,
                     signed=False, mask=first.mask, pixel=view.pixel, words=IMPORTANT),
             "chart.of-truth", f"The {count} important pixels.", title="Ground truth",
             below=f"<div class='al-scores'>{count} important pixels<br><span class='al-quiet'>{share:.0%} of the "
                   f"image, so an even map has IME {1 - share:.3f}</span></div>", choose=mark)


def _map(result: Result, limit: float, view: View, heading: str, below: str) -> None:
    a = result.attribution
    values, limit = shown(a.values, limit, view.scale)
    colours = view.theme.signed if a.signed else view.theme.magnitude
    show(heatmap(values, limit, colours, view.theme, signed=a.signed,
                 mask=a.mask if view.outline else None, pixel=view.pixel),
         f"chart.{result.method}", f"{result.label} map of test image {a.spec.image}.", title=heading, below=below,
         choose=mark)


def small(results: Sequence[Result], view: View, key: str) -> None:
    """Image and maps in a row with their scores, without options or remarks: it may change every second."""
    drawn = [r for r in results if r.attribution]
    if not drawn:
        st.info("No map to show.")
        return
    first, ranks = drawn[0].attribution, ranked(drawn)
    with st.container(horizontal=True, gap="small"):
        with st.container(width=WIDTH):
            show(photograph(first.image, view, mask=first.mask if view.outline else None), f"{key}.image",
                 f"Test image {first.spec.image} at SNR {first.spec.snr:g}.", title="Image",
                 below=f"<div class='al-scores'>Label {first.label}, predicted {first.predicted}</div>")
        for r in drawn:
            values = r.attribution.values / (float(np.abs(r.attribution.values).max()) or 1.0)
            colours = view.theme.signed if r.attribution.signed else view.theme.magnitude
            with st.container(width=WIDTH):
                show(heatmap(values, 1.0, colours, view.theme, signed=r.attribution.signed,
                             mask=r.attribution.mask if view.outline else None), f"{key}.{r.method}",
                     f"{r.label} map at SNR {first.spec.snr:g}.", title=r.label, below=score_lines(r, ranks))


def remarks(result: Result, limit: float, view: View) -> str:
    """The map's own size, and what a reader must know of it."""
    a = result.attribution
    largest = float(np.abs(a.values).max())
    said = [f"{a.seconds:.2f} s, largest |value| {largest:.3g}"]
    if largest == 0:
        said = ["Empty map: every value is zero."]
    elif view.scale == "shared" and largest < BLANK * limit:
        said.append("Nearly blank at the shared scale; choose Per panel.")
    elif largest < 1e-6 and a.spec.output == "probability":
        said.append("The probability is saturated: explain the margin instead.")
    if "fit" in a.facts:
        said.append(f"Surrogate R² {a.facts['fit']:.2f}")
    if "effective_neighbours" in a.facts:
        said.append(f"{a.facts['neighbours']:,} neighbours, worth {a.facts['effective_neighbours']:,.0f}")
    return f"<div class='al-quiet'>{'<br>'.join(map(escape, [*said, *a.notes]))}</div>"


def score_lines(result: Result, ranks: Mapping[str, Mapping[str, int]]) -> str:
    """The scores with their ranks, as they stand under a map."""
    rows = []
    for name, metric in METRICS.items():
        value = result.score.values.get(name) if result.score else None
        rank = ranks.get(name, {}).get(result.method)
        place = f" · {rank}{ordinal(rank)}" if rank else ""
        text = "…" if value is None else \
            f"undefined: {escape(result.score.reasons.get(name, ''))}" if math.isnan(value) else f"{value:.3f}{place}"
        best = " class='al-best'" if rank == 1 else ""
        rows.append(f"<span{best}>{metric.label} {text}</span>")
    return f"<div class='al-scores'>{'<br>'.join(rows)}</div>"


def ranked(results: Sequence[Result]) -> dict[str, dict[str, int]]:
    """Rank of each method by each metric, 1 the best; equal scores share a rank, undefined ones have none."""
    table = {}
    for name, metric in METRICS.items():
        sign = 1 if metric.lower_is_better else -1
        known = {r.method: sign * r.score.values[name] for r in results
                 if r.score and not math.isnan(r.score.values.get(name, math.nan))}
        table[name] = {m: 1 + sum(other < v for other in known.values()) for m, v in known.items()}
    return table


def ordinal(rank: int) -> str:
    return "th" if 10 <= rank % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")


def percent(p: float) -> str:
    """A probability in words that never say 100 % of less."""
    return "> 99.99 %" if p > 0.9999 else f"{100 * p:.2f} %"
