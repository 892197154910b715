"""The XOR problem with a suppressor, and what four methods make of it."""

from __future__ import annotations

import numpy as np

from core.figures import paper
from core.registry import Option
from core.studio import toy
from core.studio.kinds.common import Content
from core.studio.spec import FIGURES, FigureSpec
from core.types import Progress


@FIGURES.register(
    "toy",
    label="XOR with a suppressor",
    reference="PatternLocal, section 3.2 and Figure 2",
    has_rows=False,
    summary="The share of the importance that four methods give to a variable that knows nothing of the class.",
    options=(
        Option("samples", "Points drawn.", low=50, high=5000),
        Option("sigma_d", "Size of the noise that the suppressor shares with x1 and x2.", low=0.1, high=5.0),
        Option("tau", "Softness of the classifier tanh((x1 - x3)(x2 + x3) / tau).", low=0.01, high=5.0),
        Option(
            "bandwidth",
            "Width of PatternLocal's Gaussian neighbourhood. Only without end does the suppressor "
            "drop out altogether.",
            low=0.05,
            high=100.0,
            log=True,
        ),
        Option("seed", "Seed of the points.", low=0, high=2**31 - 1),
    ),
)
def toy_figure(
    figure: FigureSpec,
    progress: Progress | None,
    *,
    samples: int = 2500,
    sigma_d: float = 1.0,
    tau: float = 0.1,
    bandwidth: float = 5.0,
    seed: int = 0,
) -> Content:
    problem = toy.importance_of_the_suppressor(samples, sigma_d, tau, bandwidth, seed)
    reach = float(np.ceil(np.quantile(np.abs(problem.x[:, :2]), 0.999)))
    means = {name: float(np.nanmean(share)) for name, share in problem.shares.items()}
    panels = [
        [
            paper.Points(problem.x[:, :2], share, ("x1", "x2"), (("mean", means[name]),), reach=reach)
            for name, share in problem.shares.items()
        ]
    ]
    caption = (
        f"Importance of the suppressor x3 in the XOR problem x = (s1 + d, s2 − d, d), y = sign(s1 s2), for "
        f"{samples:,} points (σ of d {sigma_d:g}, seed {seed}) and the classifier tanh((x1 − x3)(x2 + x3)/τ), "
        f"τ = {tau:g}. Colour: |a3| / Σ|a|, its mean below each plot: "
        f"{', '.join(f'{n} {m:.3f}' for n, m in means.items())}. PatternLocal follows the gradient in a "
        f"Gaussian neighbourhood of width {bandwidth:g}."
    )
    return Content(
        panels,
        figure.column_titles or list(problem.shares),
        figure.row_titles,
        caption,
        notes=("Colour: share of the importance given to the suppressor x3.",),
        arrays={"x": problem.x, **{f"share_{n}": s for n, s in problem.shares.items()}},
        table=[{"method": n, "mean_share": m} for n, m in means.items()],
    )
