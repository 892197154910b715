"""The lesson's steps with two and three variables."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import streamlit as st

from core import lessons
from core.figures import lesson as figures
from core.figures.lesson import X1, X2
from core.registry import METHODS
from pages.components.shared.charts import draw_chart
from pages.components.shared.map_panel import small_text
from pages.components.suppressors.parts import MOST, Step, ask, cloud, notes, numbers, slide

SIGNS = ("s < 0", "s > 0")


def two_variables(step: Step) -> None:
    """Step 1: a variable that is independent of the class and yet needed."""
    result = lessons.two_variables(**step.sliders)
    left, right = st.columns([5, 7], gap="medium")
    with left:
        st.markdown(
            "The class is the sign of a signal *s*. We observe **x₁ = s + d**, the signal plus a distractor, "
            "and **x₂ = d**, the distractor alone."
        )
        slide("sigma_d", "x2_weight")
        suppressor = "x₁ − x₂ = s: x₂ serves to cancel d. It is a **suppressor**."
        ask(
            "x₂ is independent of the class. Which variables does the best model use?",
            ("only x₁", "only x₂", "both"),
            *((2, suppressor) if result.sigma_d else (0, "")),
        )
        rows = [("Accuracy of your model", f"{result.accuracy['yours']:.1%} of 2,500 points")]
        if step.reveal:
            rows += [
                ("½ + arcsin(1 / √(1 + (1+v)² σ_d²)) / π", f"{result.closed['yours']:.1%}"),
                ("Least-squares weight", f"{_vector(result.best)}, accuracy {result.accuracy['best']:.0%}"),
                (
                    "Accuracy of x₁ alone, x₂ alone",
                    f"{result.closed['x1 alone']:.1%}, {result.closed['x2 alone']:.0%}",
                ),
                ("Correlation of x₂ with s", _minus(f"{result.correlation:.3f}")),
            ]
        numbers(rows)
        notes(result.note)
    columns = right.columns(2 if step.reveal else 1, gap="small")
    edge = max(3.5, 3 * math.hypot(1, result.sigma_d))
    with columns[0]:
        line = figures.boundary((1, result.x2_weight), 2 * edge)
        draw_chart(
            _plane(result, step, edge, lines={"your model": line}),
            "two.plane",
            f"Your model's line classifies {result.accuracy['yours']:.1%} of the points correctly; only the "
            "diagonal x₁ = x₂ gets all of them right.",
            step.height,
        )
    if step.reveal:
        with columns[1]:
            draw_chart(
                figures.curve(
                    lessons.WEIGHTS,
                    result.curve,
                    step.theme,
                    size=step.size,
                    y_range=(0.45, 1.08),
                    x_label=f"v: weight of {X2}",
                    y_label="accuracy",
                    marks={"yours": (result.x2_weight, result.closed["yours"]), "best": (-1.0, 1.0)},
                ),
                "two.curve",
                f"Accuracy against the weight of x₂: yours is {result.closed['yours']:.1%} at "
                f"{result.x2_weight:g}, the best 100 % at −1.",
                step.height,
            )


def _plane(result: lessons.TwoVariables | lessons.WeightToPattern, step: Step, edge: float, **drawn: Any) -> Any:
    """The points by x1 and x2, up to ``edge`` in each direction."""
    return figures.plane(
        result.x,
        result.positive,
        step.theme,
        size=step.size,
        x_label=f"{X1} = s + d",
        y_label=f"{X2} = d",
        span=((-edge, edge), (-edge, edge)),
        names=SIGNS,
        labels=((-0.5 * edge, 0.85 * edge), (0.5 * edge, -0.85 * edge)),
        **drawn,
    )


def weight_to_pattern(step: Step) -> None:
    """Step 2: a weight extracts the class from the variables, a pattern shows how they vary with it."""
    result = lessons.weight_to_pattern(**step.sliders)
    labels = {method: METHODS[method].label for method in result.importance}
    shares = ", ".join(f"{labels[method]} {share:.2f}" for method, share in result.share.items())
    left, right = st.columns([5, 7], gap="medium")
    with left:
        st.markdown(
            "The best model is x₁ − x₂. Its **weight** extracts the class from the variables. Its "
            "**pattern** shows how the variables change with the class."
        )
        slide("sigma_d")
        ask(
            "One of these methods gives x₂ no importance. Which?",
            list(labels.values()),
            list(labels).index("pattern"),
            "The others explain what the model uses, and it does use x₂. OpenAPI is exact, and highlights x₂ as well."
            if result.sigma_d
            else "",
        )
        if step.reveal:
            numbers(_from_weight_to_pattern(result, shares))
        notes(
            result.note,
            *(
                f"{labels[method]} does not apply: {reason}"
                for method, reason in result.importance.items()
                if isinstance(reason, str)
            ),
        )
    columns = right.columns(2 if step.reveal else 1, gap="small")
    edge = max(3.2, 2.2 * math.hypot(1, result.sigma_d))
    arrows = {"weight": figures.arrow(lessons.BEST, 0.55 * edge)}
    if step.reveal:
        arrows["pattern"] = figures.arrow(result.pattern, 0.55 * edge)
    with columns[0]:
        lines = {"x₁ = x₂": figures.boundary(lessons.BEST, 9)}
        draw_chart(
            _plane(result, step, edge, arrows=arrows, lines=lines),
            "weight.plane",
            "The weight is perpendicular to the boundary and has a component along x₂"
            + ("; the pattern lies along x₁ alone." if step.reveal else "."),
            step.height,
        )
    if step.reveal:
        values = {labels[m]: v for m, v in result.importance.items() if not isinstance(v, str)}
        with columns[1]:
            draw_chart(
                figures.bars(values, ("x₁", "x₂"), step.theme, size=step.size),
                "weight.bars",
                f"Share of the importance given to x₂: {shares}",
                step.height,
            )


def _from_weight_to_pattern(result: lessons.WeightToPattern, shares: str) -> list[tuple[str, str]]:
    (a, b), (c, d) = result.covariance
    return [
        ("Σ = Cov(x)", f"[{a:.2f}, {b:.2f}; {c:.2f}, {d:.2f}]"),
        ("weight w", _vector(lessons.BEST)),
        ("pattern a = Σ w / (wᵀ Σ w)", f"<b>{_vector(result.pattern)}</b>"),
        ("estimate from 2,500 points", _vector(result.measured_pattern)),
        ("share of x₂, by method", shares),
    ]


def xor(step: Step) -> None:
    """Step 3: a suppressor beside two signals that only count together."""
    result = lessons.xor(**step.sliders)
    left, right = st.columns([5, 7], gap="medium")
    with left:
        st.markdown(
            "Now the class is whether two signals agree in sign: sign(s₁ s₂). We observe **x₁ = s₁ + d, "
            "x₂ = s₂ − d, x₃ = d**. The model is tanh((x₁ − x₃)(x₂ + x₃) / τ)."
        )
        slide("sigma_d", "tau", "bandwidth")
        narrow = "But only if its neighbourhood is wide enough: increase b."
        ask(
            "x₃ is independent of the class. Which method gives it no importance?",
            ("Gradient", "LIME and SHAP", "PatternLocal"),
            2,
            narrow if step.settings["bandwidth"] < 5 else "",
        )
        if step.reveal:
            st.markdown(
                "The weight is w ∝ (x₂+x₃, x₁−x₃, x₁−x₂−2x₃), so w₁ − w₂ + w₃ = 0: it is zero for x₃ only "
                "where w₁ = w₂."
            )
            numbers(
                [
                    ("PatternLocal's mean, closed form", f"{result.closed:.3f}"),
                    ("Effective size of a neighbourhood", f"{result.effective_sample_size:,.0f} of 2,500 points"),
                    ("Correlation of x₃ with the class", f"{result.correlation:.3f}"),
                ]
            )
    with right:
        if step.reveal:
            _clouds(result, step)
        else:
            span = (-4.5, 4.5)
            draw_chart(
                figures.plane(
                    result.x[:, :2],
                    result.y > 0,
                    step.theme,
                    size=step.size,
                    x_label=X1,
                    y_label=X2,
                    span=(span, span),
                    names=("signs differ", "signs agree"),
                ),
                "xor.plane",
                "Points by x₁ and x₂: where their signs agree most points are of one class, where they "
                "differ of the other.",
                step.height,
            )
        notes(*result.notes)


def _clouds(result: lessons.Xor, step: Step) -> None:
    """Four methods, each with the mean share of x3 in its title."""
    ramp = ",".join(figures.shades(step.theme))
    small_text(
        f"0<span class='al-ramp' style='background:linear-gradient(90deg,{ramp})'></span>{MOST:g} &nbsp; "
        "Share of the importance given to x₃ at each of the 2,500 points. Titles: the mean share."
    )
    with st.container(horizontal=True, gap="small", key="clouds"):
        for method, share in result.share.items():
            mean, empty, label = result.mean[method], result.empty[method], METHODS[method].label
            text = "undefined" if math.isnan(mean) else f"{mean:.3f}"
            without = f" ({empty:,} empty)" if empty else ""
            cloud(
                result.x,
                share,
                step,
                f"{label}: mean |x₃| {text}{without}",
                int(step.height * 0.6),
                f"{label} gives x₃ {text} of the importance on average.",
            )


def bandwidth(step: Step) -> None:
    """Between steps 3 and 4: how wide the neighbourhood must be."""
    result = lessons.bandwidth_curve(**step.sliders)
    left, right = st.columns([5, 7], gap="medium")
    with left:
        st.markdown(
            "PatternLocal weights the points around the explained one with a Gaussian kernel of width **b**. "
            "The signals have standard deviation 1."
        )
        slide("sigma_d", "bandwidth")
        ask(
            "What happens to the importance of x₃ as the neighbourhood shrinks?",
            ("it stays 0", "it comes back", "it changes sign"),
            *(
                (1, "A pattern removes the suppressor only if the neighbourhood is wide enough.")
                if result.sigma_d
                else (0, "")
            ),
        )
        if step.reveal:
            numbers(
                [
                    ("local covariance", "(Σ⁻¹ + I / b²)⁻¹, at every point"),
                    ("b → 0", f"the gradient's share: {result.gradient:.3f}"),
                    (f"b = {_bandwidth(result.bandwidth)}", f"<b>{result.at:.3f}</b>"),
                    ("b → ∞", "the covariance of all data: 0"),
                ]
            )
            small_text(
                "A note on the paper: it says a₃ = 0 for any isotropic kernel. Its proof equates the "
                "covariance of the neighbourhood with that of all data, which holds for a wide kernel, as in "
                "its Figure 2. The statement needs the words “wide enough”."
            )
        notes(result.note)
    with right:
        if step.reveal:
            _bandwidth_curve(result, step)
        else:
            points = lessons.xor(result.sigma_d, step.settings["tau"], result.bandwidth)
            cloud(
                points.x,
                points.share["patternlocal"],
                step,
                "PatternLocal, coloured by the share of x₃",
                step.height,
                "PatternLocal's share of x₃ at 2,500 points; the answer shows its mean against b.",
            )


def _bandwidth_curve(result: lessons.BandwidthCurve, step: Step) -> None:
    width = _bandwidth(result.bandwidth)
    draw_chart(
        figures.reach(
            lessons.CURVE,
            result.closed,
            lessons.SAMPLED,
            result.sampled,
            result.gradient,
            (result.bandwidth, result.at),
            step.theme,
            size=step.size,
        ),
        "reach.curve",
        f"The share of x₃ falls from the gradient's {result.gradient:.3f} to {result.closed[-1]:.3f} as the "
        f"neighbourhood widens; at b = {width} it is {result.at:.3f}.",
        step.height,
    )
    if result.bandwidth < lessons.SAMPLED[1]:
        notes(
            "At this bandwidth a neighbourhood holds barely two points, so the sampled estimate is mostly noise "
            "and departs from the closed form."
        )


def _vector(values: Iterable[float]) -> str:
    return "[" + ", ".join(_minus(f"{round(float(v), 2) + 0.0:.2f}") for v in values) + "]"


def _minus(number: str) -> str:
    return number.replace("-", "−")


def _bandwidth(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:g}"
