"""Details of Compare's maps, one view at a time: a pixel, PatternLocal step by step, variation over seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from core import map_statistics, pipeline
from core.figures import screen
from core.figures.heatmap import heatmap
from core.registry import METHODS, METRICS, MetricEntry
from core.types import Attribution, NotApplicable, PatternLocalTrace, Spec
from pages.components.compare import pinned, snr_series
from pages.components.shared import choices, fields, score_jobs, scored_results
from pages.components.shared.charts import draw_chart
from pages.components.shared.map_panel import WIDTH, PanelStyle, panel_title, show, show_signed, small_text, thumbnail
from pages.components.shared.number_field import number_field
from pages.components.shared.progress import counted
from pages.components.shared.result_panels import Result

SEEDS = 5


def look(results: Sequence[Result], style: PanelStyle) -> None:
    """The view the reader has chosen, and nothing else: what is not shown is not computed."""
    drawn = [r for r in results if r.attribution]
    if not drawn:
        return
    st.segmented_control("Details", fields.DETAILS, key="closer", required=True, format_func=fields.sentence)
    views: dict[str, Callable[[], None]] = {
        "one pixel": lambda: _one_pixel(drawn),
        "PatternLocal step by step": lambda: _patternlocal_steps(drawn[0].attribution.spec, style),
        "variation over seeds": lambda: _variation(drawn, style),
        "pin and compare": lambda: pinned.look(drawn, choices.spec(), style),
        "SNR series": lambda: snr_series.look(choices.spec(), [r.method for r in drawn], style),
    }
    views[st.session_state.closer]()


def _one_pixel(drawn: Sequence[Result]) -> None:
    """One pixel by row and column, in all maps: what hovering shows, by keyboard."""
    first = drawn[0].attribution
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        for name, size in zip(("row", "column"), first.values.shape):
            number_field(name, f"Pixel {name}", 0, size - 1, optional=True, placeholder="none", width=130)
        if st.session_state.row is None or st.session_state.column is None:
            st.html(
                "<div class='al-quiet' style='padding-bottom:.7rem'>Enter a row and a column to mark a pixel in "
                "all panels and read its values.</div>"
            )
            return
    pixel = st.session_state.row, st.session_state.column
    importance = "important" if first.mask[pixel] else "not important"
    st.caption(f"Row {pixel[0]}, column {pixel[1]}: {importance}, image value {first.image[pixel]:.4g}.")
    share = "Share of |map|, per mille"
    rows = [
        {
            "Method": r.label,
            "Value": r.attribution.values[pixel],
            share: 1000 * map_statistics.share_of_mass(r.attribution.values, pixel),
        }
        for r in drawn
    ]
    st.dataframe(
        rows,
        hide_index=True,
        width=520,
        column_config={
            "Value": st.column_config.NumberColumn(format="%.4g"),
            share: st.column_config.NumberColumn(format="%.3f"),
        },
    )


def _patternlocal_steps(spec: Spec, style: PanelStyle) -> None:
    """From weights to pattern in four panels, each with its numbers."""
    spec = choices.of_method(spec.replace(options=()), "patternlocal")
    try:
        steps = pipeline.steps(spec)
    except NotApplicable as reason:
        st.info(f"PatternLocal does not apply: {reason}")
        return
    panels: dict[str, Callable[[], None]] = {
        "1 · Surrogate weights": lambda: _weights(steps, spec, style),
        "2 · Neighbourhood": lambda: _neighbours(steps, style),
        "3 · Surrogate output": lambda: _outputs(steps, style),
        "4 · Pattern": lambda: _pattern(steps, style),
    }
    with st.container(horizontal=True, gap="small", key="steps"):
        for title, draw in panels.items():
            with st.container(width=WIDTH, gap="xsmall"):
                panel_title(title)
                draw()


def _weights(steps: PatternLocalTrace, spec: Spec, style: PanelStyle) -> None:
    show_signed(steps.weights, style, "steps.weights", "The surrogate's weights")
    fit = "exact at the image" if math.isnan(steps.fit) else f"R² {steps.fit:.2f} on its samples"
    small_text(
        f"{METHODS[dict(spec.options)['surrogate']].label}, {fit}. These weights extract the class from the "
        "image; they also cancel noise."
    )


def _neighbours(steps: PatternLocalTrace, style: PanelStyle) -> None:
    tiles = (
        f"<figure><img src='{thumbnail(image, 'image', style.theme)}' alt='Training image {number}'>"
        f"{1000 * steps.neighbours[number]:.2f} ‰</figure>"
        for image, number in zip(steps.images, steps.nearest)
    )
    st.html(f"<div class='al-tiles'>{''.join(tiles)}</div>")
    small_text(
        f"The training images with the largest weights, of {(steps.neighbours != 0).sum():,}; effective "
        f"number of neighbours: {map_statistics.effective_number(steps.neighbours):,.0f}."
    )


def _outputs(steps: PatternLocalTrace, style: PanelStyle) -> None:
    surrogate = steps.outputs[steps.compared]
    draw_chart(
        screen.scatter(steps.model_outputs, surrogate, "model", "surrogate", style.theme),
        "steps.outputs",
        "Surrogate output against model output on the neighbourhood",
        WIDTH,
    )
    correlation = map_statistics.correlation(steps.model_outputs, surrogate)
    small_text(
        f"Surrogate against model on the {len(surrogate)} neighbours with the largest weights, correlation "
        f"{correlation:.2f}. A surrogate is accurate near the image, not everywhere."
    )


def _pattern(steps: PatternLocalTrace, style: PanelStyle) -> None:
    show_signed(steps.pattern, style, "steps.pattern", "The pattern")
    small_text(
        "Covariance of each pixel with that output over the neighbourhood: pixels that vary with the class "
        "remain, pixels that only cancel noise drop out."
    )


def _variation(drawn: Sequence[Result], style: PanelStyle) -> None:
    """How much random methods depend on their seed: maps and scores over SEEDS seeds."""
    random = [r for r in drawn if METHODS[r.method].seeded]
    if not random:
        small_text("None of the chosen methods draws random numbers.")
        return
    maps = _maps_over_seeds(random)
    with st.container(horizontal=True, gap="small", key="spread"):
        for method, attributions in maps.items():
            with st.container(width=WIDTH, gap="xsmall"):
                _deviation(METHODS[method].label, attributions, style)
    if _complete(maps):
        _score_table(maps)
    else:
        _wait_for_scores(maps)


def _maps_over_seeds(random: Sequence[Result]) -> dict[str, list[Attribution]]:
    specs = [spec for r in random for spec in pipeline.seeds(r.attribution.spec, SEEDS)]
    maps: dict[str, list[Attribution]] = {}
    with counted() as progress:
        for done, spec in enumerate(specs):
            progress(done, len(specs), "maps")
            maps.setdefault(spec.method, []).append(pipeline.explain(spec))
    return maps


def _deviation(label: str, attributions: Sequence[Attribution], style: PanelStyle) -> None:
    """The standard deviation of each pixel over the seeds, as a map."""
    variation = map_statistics.variation([a.values for a in attributions])
    panel_title(f"{label} · deviation")
    show(
        heatmap(variation.deviation, 1.0, "magnitude", style.theme, mask=style.mask_of(attributions[0])),
        f"spread.{attributions[0].spec.method}",
        f"Standard deviation of {label} over {SEEDS} seeds",
    )
    small_text(
        "The same for every seed: with these options nothing is random."
        if variation.identical
        else f"Standard deviation over {SEEDS} seeds, as a share of the mean map's largest value. On average it is "
        f"{variation.average:.1f} times the mean map's size."
    )


def _complete(maps: Mapping[str, Sequence[Attribution]]) -> bool:
    """Whether all slow scores are known; those that are not are started."""
    futures = [
        score_jobs.start_score(attribution, name)
        for attributions in maps.values()
        for attribution in attributions
        for name in scored_results.SLOW
    ]
    return all(future.done() for future in futures)


def _score_table(maps: Mapping[str, Sequence[Attribution]]) -> None:
    """Mean and deviation of each score, one row per method."""
    st.dataframe(
        [
            {
                "Method": METHODS[method].label,
                **{metric.label: _score_over_seeds(attributions, metric) for metric in METRICS.values()},
            }
            for method, attributions in maps.items()
        ],
        hide_index=True,
        width=620,
    )


def _score_over_seeds(attributions: Sequence[Attribution], metric: MetricEntry) -> str:
    """A score's mean and deviation, or how many scores have been computed so far."""
    if metric.slow:
        futures = [score_jobs.start_score(a, metric.name) for a in attributions]
        done = sum(future.done() for future in futures)
        if done < len(futures):
            return f"{done} of {len(futures)} computed"
        scores = [future.result() for future in futures]
    else:
        scores = [pipeline.score(a, [metric.name]) for a in attributions]
    summary = pipeline.summary(scores, metric.name)
    if summary["mean"] is None:
        return "undefined"
    undefined = f" ({summary['undefined']} undefined)" if summary["undefined"] else ""
    return f"{summary['mean']:.4f} ± {summary['std']:.4f}{undefined}"


@st.fragment(run_every=0.5)
def _wait_for_scores(maps: Mapping[str, Sequence[Attribution]]) -> None:
    if _complete(maps):
        st.rerun()
    _score_table(maps)
