"""The lesson's steps with two and three variables."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core import lessons
from core.figures import lesson as figures
from core.figures.lesson import X1, X2
from core.registry import METHODS
from pages.components.suppressors.parts import MOST, Step, ask, chart, cloud, notes, numbers, slide

SIGNS = ("s < 0", "s > 0")


def two_variables(step: Step) -> None:
    found = lessons.two_variables(**step.sliders)
    left, right = st.columns([5, 7], gap="medium")
    with left:
        st.markdown("The answer is the sign of a signal *s*. We see **x₁ = s + d**, the signal with a distraction, "
                    "and **x₂ = d**, the distraction alone.")
        slide("sigma_d", "x2_weight")
        suppressor = "x₁ − x₂ = s: what x₂ is good for is cancelling d. It is a **suppressor**."
        ask("x₂ knows nothing of the answer. Which variables does the best model use?",
            ("only x₁", "only x₂", "both"), *((2, suppressor) if found.sigma_d else (0, "")))
        rows = [("Your model is right", f"{found.accuracy['yours']:.1%} of 2,500 points")]
        if step.reveal:
            rows += [("½ + arcsin(1 / √(1 + (1+v)² σ_d²)) / π", f"{found.closed['yours']:.1%}"),
                     ("Best weight, by least squares", f"{_vector(found.best)}, right {found.accuracy['best']:.0%}"),
                     ("x₁ alone, x₂ alone", f"{found.closed['x1 alone']:.1%}, {found.closed['x2 alone']:.0%}"),
                     ("Correlation of x₂ with s", f"{found.correlation:.3f}".replace("-", "−"))]
        numbers(rows)
        notes(found.note)
    places = right.columns(2 if step.reveal else 1, gap="small")
    edge = max(3.5, 3 * float(np.hypot(1, found.sigma_d)))
    boundary = np.array([[-found.x2_weight, 1], [found.x2_weight, -1]]) * 2 * edge
    with places[0]:
        chart(_plane(found, step, edge, lines={"your model": boundary}), "two.plane",
              f"Points by their two variables. The line of your model separates {found.accuracy['yours']:.1%} "
              "rightly; only "
              "the diagonal x1 = x2 separates all.", step.height)
    if step.reveal:
        with places[1]:
            chart(figures.curve(lessons.WEIGHTS, found.curve, step.theme, size=step.size, y_range=(0.45, 1.08),
                                x_label=f"v: weight of {X2}", y_label="right answers",
                                marks={"yours": (found.x2_weight, found.closed["yours"]), "best": (-1.0, 1.0)}),
                  "two.curve", f"Right answers over the weight of x2: yours {found.closed['yours']:.1%} at "
                  f"{found.x2_weight:g}, the best 100 % at −1.", step.height)


def _plane(found: lessons.TwoVariables | lessons.WeightToPattern, step: Step, edge: float, **drawn):
    return figures.plane(found.x, found.positive, step.theme, size=step.size, x_label=f"{X1} = s + d",
                         y_label=f"{X2} = d", span=((-edge, edge), (-edge, edge)), names=SIGNS,
                         labels=((-0.5 * edge, 0.85 * edge), (0.5 * edge, -0.85 * edge)), **drawn)


def weight_to_pattern(step: Step) -> None:
    found = lessons.weight_to_pattern(**step.sliders)
    labels = {m: METHODS[m].label for m in found.importance}
    shares = ", ".join(f"{labels[m]} {v:.2f}" for m, v in found.share.items())
    left, right = st.columns([5, 7], gap="medium")
    with left:
        st.markdown("The best model is x₁ − x₂. A **weight** says how to read the answer off the variables. A "
                    "**pattern** says how the variables move when the answer moves.")
        slide("sigma_d")
        ask("One of these gives x₂ nothing. Which?", list(labels.values()), list(labels).index("pattern"),
            "The others ask what the model uses, and it does use x₂. OpenAPI is exact, and marks it as well."
            if found.sigma_d else "")
        if step.reveal:
            (a, b), (c, d) = found.covariance
            numbers([("Σ = Cov(x)", f"[{a:.2f}, {b:.2f}; {c:.2f}, {d:.2f}]"), ("weight w", _vector(lessons.BEST)),
                     ("pattern a = Σ w / (wᵀ Σ w)", f"<b>{_vector(found.pattern)}</b>"),
                     ("the same from 2,500 points", _vector(found.measured_pattern)),
                     ("share of x₂, by method", shares)])
        notes(found.note, *(f"{labels[m]} does not apply: {v}" for m, v in found.importance.items()
                            if isinstance(v, str)))
    places = right.columns(2 if step.reveal else 1, gap="small")
    edge = max(3.2, 2.2 * float(np.hypot(1, found.sigma_d)))
    arrows = {"weight": 0.55 * edge * lessons.BEST / np.sqrt(2)}
    if step.reveal:
        arrows["pattern"] = 0.55 * edge * found.pattern / np.linalg.norm(found.pattern)
    with places[0]:
        boundary = {"x₁ = x₂": np.array([[-9, -9], [9, 9]])}
        chart(_plane(found, step, edge, arrows=arrows, lines=boundary), "weight.plane",
              "The weight stands at right angles to the boundary and has a part along x2"
              + ("; the pattern lies along x1 alone." if step.reveal else "."), step.height)
    if step.reveal:
        values = {labels[m]: v for m, v in found.importance.items() if not isinstance(v, str)}
        with places[1]:
            chart(figures.bars(values, ("x₁", "x₂"), step.theme, size=step.size), "weight.bars",
                  f"Share of importance that x2 gets: {shares}", step.height)


def xor(step: Step) -> None:
    found = lessons.xor(**step.sliders)
    left, right = st.columns([5, 7], gap="medium")
    with left:
        st.markdown("Now the answer is whether two signals agree: sign(s₁ s₂). We see **x₁ = s₁ + d, x₂ = s₂ − d, "
                    "x₃ = d**. The model is tanh((x₁ − x₃)(x₂ + x₃) / τ).")
        slide("sigma_d", "tau", "bandwidth")
        near = "But only when its neighbourhood reaches far enough: slide b up."
        ask("x₃ knows nothing of the answer. Who leaves it alone?", ("Gradient", "LIME and SHAP", "PatternLocal"), 2,
            near if step.settings["bandwidth"] < 5 else "")
        if step.reveal:
            st.markdown("The weight is w ∝ (x₂+x₃, x₁−x₃, x₁−x₂−2x₃), so w₁ − w₂ + w₃ = 0: it spares x₃ only where "
                        "w₁ = w₂.")
            numbers([("PatternLocal's mean, in closed form", f"{found.closed:.3f}"),
                     ("A neighbourhood is worth", f"{found.effective_sample_size:,.0f} of 2,500 points"),
                     ("Correlation of x₃ with the answer", f"{found.correlation:.3f}")])
    with right:
        if step.reveal:
            _clouds(found, step)
        else:
            span = (-4.5, 4.5)
            chart(figures.plane(found.x[:, :2], found.y > 0, step.theme, size=step.size, x_label=X1, y_label=X2,
                                span=(span, span), names=("signs differ", "signs agree")), "xor.plane",
                  "Points by x1 and x2: equal signs mostly give one answer, different signs the other.", step.height)
        notes(*found.notes)


def _clouds(found: lessons.Xor, step: Step) -> None:
    """Four methods, each with the mean share of x3 in its title."""
    ramp = ",".join(figures.shades(step.theme))
    st.html("<div class='al-quiet'>Each of the 2,500 points shows the share of importance x₃ gets there: 0 <span "
            f"class='al-ramp' style='background:linear-gradient(90deg,{ramp})'></span> {MOST:g}. Titles: the "
            "mean.</div>")
    with st.container(horizontal=True, gap="small", key="clouds"):
        for method, share in found.share.items():
            mean, empty, label = found.mean[method], found.empty[method], METHODS[method].label
            text = "undefined" if np.isnan(mean) else f"{mean:.3f}"
            edge = int(step.height * 0.6)
            cloud(found.x, share, step, f"{label}: mean |x₃| {text}{f' ({empty:,} empty)' * (empty > 0)}", edge,
                  f"{label} gives x3 {text} of the importance on average.")


def bandwidth(step: Step) -> None:
    found = lessons.bandwidth_curve(**step.sliders)
    left, right = st.columns([5, 7], gap="medium")
    with left:
        st.markdown("PatternLocal looks at the points around the one it explains; **b** is the width of its Gaussian "
                    "kernel. The signals have a spread of 1.")
        slide("sigma_d", "bandwidth")
        ask("What happens to x₃'s importance when the neighbourhood shrinks?",
            ("it stays 0", "it comes back", "it changes sign"),
            *((1, "The pattern protects only as far as its neighbourhood reaches.") if found.sigma_d else (0, "")))
        if step.reveal:
            numbers([("local covariance", "(Σ⁻¹ + I / b²)⁻¹, at every point"),
                     ("b → 0", f"the gradient's weights: {found.gradient:.3f}"),
                     (f"b = {_b(found.bandwidth)}", f"<b>{found.at:.3f}</b>"),
                     ("b → ∞", "the covariance of all data: 0")])
            st.html("<div class='al-quiet'>A kind word on the paper: it says a₃ = 0 for any isotropic kernel. Its "
                    "proof takes the neighbourhood's covariance for that of all data, which holds for a wide one, "
                    "as in its Figure 2. The sentence needs the words “wide enough”.</div>")
        notes(found.note)
    with right:
        if step.reveal:
            chart(figures.reach(lessons.CURVE, found.closed, lessons.SAMPLED, found.sampled, found.gradient,
                                (found.bandwidth, found.at), step.theme, size=step.size), "reach.curve",
                  f"The share of x3 falls from the gradient's {found.gradient:.3f} to {found.closed[-1]:.3f} as the "
                  f"neighbourhood widens; at b = {_b(found.bandwidth)} it is {found.at:.3f}.", step.height)
            notes("So near, a neighbourhood holds hardly two points: the estimate from points follows chance and "
                  "leaves "
                  "the closed form." if found.bandwidth < lessons.SAMPLED[1] else "")
        else:
            seen = lessons.xor(found.sigma_d, step.settings["tau"], found.bandwidth)
            cloud(seen.x, seen.share["patternlocal"], step, "PatternLocal, coloured by the share of x₃", step.height,
                  "PatternLocal's share of x3 at 2,500 points; the answer shows its mean over b.")


def _vector(values: np.ndarray) -> str:
    return "[" + ", ".join(f"{round(float(v), 2) + 0.0:.2f}".replace("-", "−") for v in values) + "]"


def _b(value: float) -> str:
    return "∞" if np.isinf(value) else f"{value:g}"
