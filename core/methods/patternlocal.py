"""The methods that turn the weights of a local linear surrogate into a pattern: Pattern (global) and PatternLocal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from core.methods import surrogate as surrogates
from core.methods.context import Context
from core.methods.gradient import NOISE, smoothgrad
from core.methods.openapi import exact_weights
from core.methods.pattern import KERNELS, LocalOutputs
from core.methods.simplification import SIMPLIFICATION_OPTIONS, Simplification
from core.methods.surrogate import Surrogate
from core.registry import METHODS, Option
from core.types import NotApplicable, PatternLocalTrace

PATTERN_OPTIONS = (
    Option(
        "surrogate",
        "Which linear surrogate supplies the weights.",
        choices=("gradient", "openapi", "smoothgrad", "lime", "kernelshap"),
    ),
    *SIMPLIFICATION_OPTIONS,
    *(
        replace(o, default="data")
        if o.name == "sampling"
        else replace(o, default="uniform")
        if o.name == "proximity"
        else o
        for o in surrogates.SURROGATE_OPTIONS
    ),
    replace(NOISE, default=0.1, when=(("surrogate", ("smoothgrad",)),)),
    Option(
        "share",
        "Share of the training images in the neighbourhood, the nearest first.",
        low=0.001,
        high=1.0,
        log=True,
    ),
    Option("count", "Training images in the neighbourhood; 0 uses the share instead.", low=0, high=1_000_000),
    Option("kernel", "How a neighbour's weight decreases with its distance.", choices=tuple(KERNELS)),
    Option("bandwidth", "Kernel width in units of the neighbours' median distance.", low=0.05, high=10.0, log=True),
    Option("project", "Centre the neighbourhood on the nearest point of the surrogate's decision plane."),
    Option(
        "solver",
        "covariance: the right-hand side of equation 7. eq7-left: its left-hand side, which is not "
        "equal (with a weak penalty it returns the surrogate's weights); for comparison only.",
        choices=("covariance", "eq7-left"),
    ),
    Option(
        "pattern_penalty",
        "Penalty Q of equation 6. l2 scales the whole map, which changes neither its picture nor "
        "its scores; l1 sets small values to zero.",
        choices=("l2", "l1"),
        when=(("solver", ("covariance",)),),
        aliases=("regression",),
    ),
    Option(
        "strength",
        "Strength of that penalty. l2: relative to the variance of the surrogate's output. l1: as a "
        "share of the strength that sets the whole map to zero. eq7-left: relative to the features' mean "
        "square.",
        low=0.0,
        high=1.0,
    ),
    Option(
        "shrinkage",
        "0 gives the pattern, 1 the surrogate's weights.",
        low=0.0,
        high=1.0,
        when=(("solver", ("covariance",)),),
    ),
)


@METHODS.register(
    "pattern",
    label="Pattern (global)",
    group="pattern",
    summary="How strongly each pixel varies together with the local weights' output over all training images. A "
    "pixel that only cancels noise does not vary with the output and drops out.",
    misleads="It interprets this image's weights by the whole data set: where shapes move, they blur into one.",
    formula="a = Cov(x) w / Var(wᵀx)",
    reference="Haufe et al. 2014, NeuroImage 87, 96-110; PatternLocal, equation 4",
)
def pattern(context: Context) -> np.ndarray:
    """``Cov(x) w / Var(w'x)`` ``(h,w)`` over all training images; NotApplicable where the gradient is zero."""
    weights = context.gradient.ravel()
    if not weights.any():
        raise NotApplicable("The gradient is zero everywhere, so it has no output to follow.")
    data = context.training.x
    alike = LocalOutputs.weighted(data, weights[None], np.full((1, len(data)), 1 / len(data)))
    alike.must_apply()
    return alike.patterns()[0].reshape(context.shape)


@METHODS.register(
    "patternlocal",
    label="PatternLocal",
    group="pattern",
    seeded=True,
    options=PATTERN_OPTIONS,
    summary="Turns the local weights into a pattern: how strongly each pixel varies together with the surrogate's "
    "output among training images near this one. Pixels that only cancel noise drop out.",
    misleads="It needs training images similar to this one: where shapes move (RIGID), few neighbours share the "
    "shape.",
    formula="a = Covₚ(h, y) / (Varₚ(y) + λ), y = wᵀh, p near the image",
    reference="PatternLocal, equations 6 and 7",
)
def patternlocal(
    context: Context,
    *,
    surrogate: str = "gradient",
    share: float = 1.0,
    count: int = 0,
    kernel: str = "gaussian",
    bandwidth: float = 1.0,
    project: bool = False,
    solver: str = "covariance",
    pattern_penalty: str = "l2",
    strength: float = 0.0,
    shrinkage: float = 0.0,
    **settings,
) -> np.ndarray:
    """The pattern ``(h,w)`` of the named surrogate around the image; see ``steps``."""
    return steps(
        context,
        surrogate=surrogate,
        share=share,
        count=count,
        kernel=kernel,
        bandwidth=bandwidth,
        project=project,
        solver=solver,
        pattern_penalty=pattern_penalty,
        strength=strength,
        shrinkage=shrinkage,
        **settings,
    ).pattern


def steps(
    context: Context,
    *,
    surrogate: str,
    share: float,
    count: int,
    kernel: str,
    bandwidth: float,
    project: bool,
    solver: str,
    pattern_penalty: str,
    strength: float,
    shrinkage: float,
    **settings,
) -> PatternLocalTrace:
    """PatternLocal with all its intermediate results; the options are those of the method.

    NotApplicable where the surrogate has no weights, its output does not vary, or fewer than two neighbours have
    weight. Source: PatternLocal, equations 5 to 7.
    """
    h, fitted = fit_surrogate(context, surrogate, settings)
    if not fitted.weights.any():
        raise NotApplicable("The surrogate's weights are all zero, so it has no output to follow.")
    data, x = surrogates.features(context, h), h.project(context.image.reshape(1, -1))[0].astype(np.float64)
    if count > len(data):
        raise NotApplicable(f"count is {count:,}, but there are only {len(data):,} training images.")
    local = LocalOutputs.around(
        data,
        fitted.weights[None],
        _nearest_on_plane(x, fitted, context.output)[None] if project else x[None],
        share=share,
        count=count or None,
        kernel=kernel,
        bandwidth=bandwidth,
        squares=context.training.squares if data is context.training.x else None,
    )
    local.must_apply()
    if solver == "eq7-left":
        strength = max(strength, 1e-9) * float(local.p[0] @ np.square(data).mean(1, dtype=np.float64))
    elif pattern_penalty == "l1" or strength:
        strength *= local.penalty_scale(pattern_penalty)
    values = local.patterns(pattern_penalty, strength, shrinkage, solver)[0]
    p = local.p[0]
    context.facts |= {"neighbours": int(np.count_nonzero(p)), "effective_neighbours": float(1 / np.square(p).sum())}
    if not values.any():
        context.notes.append("The pattern is empty: the l1 penalty removed every pixel")
    return PatternLocalTrace(
        weights=h.to_map(fitted.weights).reshape(context.shape),
        pattern=h.to_map(values).reshape(context.shape),
        neighbours=p,
        distances=local.distances[0],
        fit=fitted.fit,
        outputs=fitted.output + (local.outputs[0] - x @ fitted.weights),
    )


def _nearest_on_plane(x: np.ndarray, surrogate: Surrogate, output: str) -> np.ndarray:
    """The point ``(D,)`` nearest to x on the surrogate's decision plane, where its output is undecided."""
    undecided = 0.5 if output == "probability" else 0.0
    return x - (surrogate.output - undecided) * surrogate.weights / (surrogate.weights @ surrogate.weights)


def fit_surrogate(context: Context, surrogate: str, settings: Mapping[str, Any]) -> tuple[Simplification, Surrogate]:
    """The simplification, and the named surrogate with weights per unit of h."""
    if surrogate in ("gradient", "openapi", "smoothgrad"):
        pixels = {
            "gradient": lambda: context.gradient,
            "openapi": lambda: exact_weights(context),
            "smoothgrad": lambda: smoothgrad(
                context, n_samples=min(settings["n_samples"], 50), noise=settings["noise"]
            ),
        }[surrogate]()
        h = surrogates.simplified(context, settings)
        output = float(context.outputs(context.image[None])[0])
        return h, Surrogate(h.pullback(pixels.ravel()), math.nan, math.nan, output)
    switched = surrogate == "kernelshap" or settings["sampling"] == "mask"
    h, fitted = surrogates.fitted(context, surrogate, settings, per="unit" if switched else "presence")
    surrogates.report(context, fitted, settings["n_samples"])
    return h, fitted
