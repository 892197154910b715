"""A closer look at Compare's maps, one at a time: a pixel, PatternLocal step by step, spread over seeds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from core import pipeline
from core.figures import screen, thumbnails
from core.figures.heatmap import heatmap
from core.registry import METHODS, METRICS
from core.types import NotApplicable, Spec, Steps
from pages.components.compare import pinned, snr_series
from pages.components.shared import choices, fields, score_jobs
from pages.components.shared.map_panel import WIDTH, View, plot, say, show, signed, title
from pages.components.shared.progress import counted
from pages.components.shared.result_panels import Result

SEEDS = 5


def look(found: Sequence[Result], view: View) -> None:
    """The reader's choice of closer look, and nothing else: what is not shown is not computed."""
    st.segmented_control("Look closer", fields.CLOSER, key="closer", required=True,
                         format_func=lambda text: text[0].upper() + text[1:])
    drawn = [r for r in found if r.attribution]
    if st.session_state.closer == "one pixel":
        _one_pixel(drawn)
    elif st.session_state.closer == "how PatternLocal works":
        _pattern_steps(drawn[0].attribution.spec, view)
    elif st.session_state.closer == "pin and compare":
        pinned.look(drawn, choices.spec(), view)
    elif st.session_state.closer == "through SNR":
        snr_series.look(choices.spec(), [r.method for r in drawn], view)
    else:
        _spread(drawn, view)


def _one_pixel(found: Sequence[Result]) -> None:
    """One pixel by row and column, in all maps: what hovering shows, by keyboard."""
    first = found[0].attribution
    rows, columns = first.values.shape
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        for name, size in (("row", rows), ("column", columns)):
            st.number_input(f"Pixel {name}", 0, size - 1, value=None, key=name, placeholder="none", width=130)
        if st.session_state.row is None or st.session_state.column is None:
            st.html("<div class='al-quiet' style='padding-bottom:.7rem'>Enter a row and a column to mark a pixel in "
                    "all panels and read its values.</div>")
            return
    at = st.session_state.row, st.session_state.column
    inside = "important" if first.mask[at] else "not important"
    st.caption(f"Row {at[0]}, column {at[1]}: {inside}, image value {first.image[at]:.4g}.")
    content = []
    for r in found:
        mass = abs(r.attribution.values).sum()
        content.append({"Method": r.label, "Value": r.attribution.values[at],
                        "Share of |map|, per mille": 1000 * abs(r.attribution.values[at]) / mass if mass else None})
    st.dataframe(content, hide_index=True, width=520, column_config={
        "Value": st.column_config.NumberColumn(format="%.4g"),
        "Share of |map|, per mille": st.column_config.NumberColumn(format="%.3f")})


def _pattern_steps(spec: Spec, view: View) -> None:
    """From weights to pattern in four panels, each with its numbers."""
    spec = choices.of_method(spec.replace(options=()), "patternlocal")
    try:
        steps = pipeline.steps(spec)
    except NotApplicable as reason:
        st.info(f"PatternLocal does not apply: {reason}")
        return
    options = dict(spec.options)
    with st.container(horizontal=True, gap="small", key="steps"):
        with st.container(width=WIDTH, gap="xsmall"):
            title("1 · Surrogate weights")
            signed(steps.weights, view, "steps.weights", "The surrogate's weights")
            fit = "exact at the image" if np.isnan(steps.fit) else f"R² {steps.fit:.2f} on its samples"
            say(f"{METHODS[options['surrogate']].label}, {fit}. These weights say how to read the answer; they also "
                 "cancel noise.")
        with st.container(width=WIDTH, gap="xsmall"):
            title("2 · Neighbourhood")
            _neighbours(steps, view)
        with st.container(width=WIDTH, gap="xsmall"):
            title("3 · Surrogate's output")
            _outputs(steps, view)
        with st.container(width=WIDTH, gap="xsmall"):
            title("4 · Pattern")
            signed(steps.pattern, view, "steps.pattern", "The pattern")
            say("Covariance of each pixel with that output over the neighbourhood: what moves with the answer "
                 "stays, what only cancels noise drops out.")


def _neighbours(steps: Steps, view: View) -> None:
    pictures = (
        f"<figure><img src='{thumbnails.address(thumbnails.picture(image, view.theme.image, view.theme, signed=True))}' "
        f"alt='Training image {i}'>{1000 * steps.neighbours[i]:.2f} ‰</figure>"
        for image, i in zip(steps.images, steps.nearest))
    st.html(f"<div class='al-tiles'>{''.join(pictures)}</div>")
    used = int(np.count_nonzero(steps.neighbours))
    worth = 1 / float(np.square(steps.neighbours).sum())
    say(f"The heaviest of {used:,} training images and their weights; together they count like {worth:,.0f} equal "
         "ones.")


def _outputs(steps: Steps, view: View) -> None:
    surrogate = steps.outputs[steps.compared]
    plot(screen.scatter(steps.model_outputs, surrogate, "model", "surrogate", view.theme), "steps.outputs",
         "Surrogate output against model output on the neighbourhood")
    agreement = np.corrcoef(steps.model_outputs, surrogate)[0, 1] if np.ptp(steps.model_outputs) else np.nan
    say(f"Surrogate against model on the {len(surrogate)} heaviest neighbours, correlation {agreement:.2f}. The "
         "surrogate is right near the image, not everywhere.")


def _spread(found: Sequence[Result], view: View) -> None:
    """How much random methods change with their seed: maps and scores over SEEDS seeds."""
    random = [r for r in found if METHODS[r.method].seeded]
    if not random:
        st.html("<div class='al-quiet'>None of the chosen methods draws random numbers.</div>")
        return
    specs = [spec for r in random for spec in pipeline.seeds(r.attribution.spec, SEEDS)]
    maps: dict[str, list] = {}
    with counted() as tell:
        for done, spec in enumerate(specs):
            tell(done, len(specs), "maps")
            maps.setdefault(spec.method, []).append(pipeline.explain(spec))
    with st.container(horizontal=True, gap="small", key="spread"):
        for method, attributions in maps.items():
            values = np.stack([a.values for a in attributions])
            deviation, limit = values.std(0), float(np.abs(values.mean(0)).max()) or 1.0
            with st.container(width=WIDTH, gap="xsmall"):
                title(f"{METHODS[method].label} · deviation")
                show(heatmap(deviation / limit, 1.0, view.theme.magnitude, view.theme, signed=False,
                             mask=attributions[0].mask if view.outline else None),
                     f"spread.{method}", f"Standard deviation of {METHODS[method].label} over {SEEDS} seeds")
                share = float(deviation.mean() / (np.abs(values.mean(0)).mean() or 1.0))
                same = not np.ptp(values, axis=0).any()
                say("The same for every seed: nothing random is used with these options." if same else
                     f"Per pixel over {SEEDS} seeds, as a share of the mean map's largest value. On average "
                     f"{share:.1f} times the mean map's own size.")
    if _score_table(maps, draw=False):
        _score_table(maps)
    else:
        _wait_for_scores(maps)


def _score_table(maps: dict[str, list], draw: bool = True) -> bool:
    """Mean and deviation of each score; those still being solved are counted. Whether all are there."""
    rows, complete = [], True
    for method, attributions in maps.items():
        row = {"Method": METHODS[method].label}
        for name, metric in METRICS.items():
            futures = [score_jobs.start_score(a, name) for a in attributions] if metric.slow else []
            solved = sum(f.done() for f in futures)
            if solved < len(futures):
                row[metric.label], complete = f"{solved} of {len(futures)} solved", False
                continue
            about = pipeline.summary([f.result() for f in futures] or
                                     [pipeline.score(a, [name]) for a in attributions], name)
            undefined = f" ({about['undefined']} undefined)" if about["undefined"] else ""
            row[metric.label] = ("undefined" if about["mean"] is None else
                                 f"{about['mean']:.4f} ± {about['std']:.4f}{undefined}")
        rows.append(row)
    if draw:
        st.dataframe(rows, hide_index=True, width=620)
    return complete


@st.fragment(run_every=0.5)
def _wait_for_scores(maps: dict[str, list]) -> None:
    if _score_table(maps):
        st.rerun()
