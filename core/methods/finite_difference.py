"""Weights from differences at a distance h that is chosen beforehand: what OpenAPI is compared with.

All speak about the same log ratios of probabilities as OpenAPI. None can tell whether its points left the
region: with a large h they do, with a small one rounding is all that is left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core.methods.context import Context
from core.registry import METHODS, Option
from core.types import NotApplicable, margin

DISTANCE = Option("h", "Distance at which the model is asked, in pixel units.", low=1e-12, high=1.0, log=True)
REFERENCE = "OpenAPI, section V"
POINTS_PER_QUERY = 256  # points in one question
RIDGE = 1.0  # penalty on the squared weights per pixel unit


@dataclass(frozen=True)
class Estimator:
    """``points(d, rng)`` asked about, as multiples (n,d) of h, and ``solve(points, ratios (n,k), h (k,))`` -> (d,k).

    The same points serve k distances: the system of equations is factorised once.
    """

    label: str
    points: Callable[[int, np.random.Generator], np.ndarray]
    solve: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def _linear(points: np.ndarray, ratios: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Least squares with a constant term."""
    x = points - points.mean(0)
    return np.linalg.solve(x.T @ x, x.T @ (ratios - ratios.mean(0))) / h


def _ridge(points: np.ndarray, ratios: np.ndarray, h: np.ndarray) -> np.ndarray:
    """The same with a penalty on the weights per pixel unit, so that each h has its own system."""
    x = points - points.mean(0)
    square, right = x.T @ x, x.T @ (ratios - ratios.mean(0)) / h
    return np.column_stack([np.linalg.solve(square + RIDGE / distance**2 * np.eye(len(square)), column)
                            for distance, column in zip(h, right.T)])


def _cube(count: Callable[[int], int]) -> Callable:
    return lambda d, rng: rng.uniform(-1.0, 1.0, (count(d), d))


ESTIMATORS = {
    "naive": Estimator("Naive solve", _cube(lambda d: d),
                       lambda points, ratios, h: np.linalg.solve(points, ratios) / h),
    "zoo": Estimator("ZOO", lambda d, rng: np.concatenate([np.eye(d), -np.eye(d)]),
               lambda points, ratios, h: np.subtract(*np.split(ratios, 2)) / (2 * h)),
    "linear": Estimator("LIME, linear", _cube(lambda d: 2 * (d + 1)), _linear),
    "ridge": Estimator("LIME, ridge", _cube(lambda d: 2 * (d + 1)), _ridge),
}


def log_ratio_differences(context: Context, points: np.ndarray, h: float) -> np.ndarray:
    """Mean log ratios ``(n,)`` at x + h points (n,d), minus the same at x. NotApplicable: a probability of 0."""
    x = context.image.ravel().astype(np.float64)
    parts = np.array_split(points, -(-len(points) // POINTS_PER_QUERY))  # each small enough to stay in a cache
    at_x = context.predict_proba(x)
    at_points = np.concatenate([context.predict_proba(x + h * part) for part in parts])
    if (at_x == 0).any() or (at_points == 0).any():
        raise NotApplicable("A probability is exactly 0, so the log ratio is undefined.")
    return margin(np.log(at_points), context.target) - margin(np.log(at_x), context.target)


def weights(estimator: Estimator, points: np.ndarray, ratios: np.ndarray, h: np.ndarray) -> np.ndarray:
    """A way's weights ``(d,k)`` at k distances. NotApplicable: equations without a solution."""
    try:
        return estimator.solve(points, ratios, h)
    except np.linalg.LinAlgError as error:
        raise NotApplicable(f"The equations have no solution: {error}") from None


def _at(name: str, context: Context, h: float) -> np.ndarray:
    """The map of a way at one distance."""
    points = ESTIMATORS[name].points(context.image.size, context.rng)
    ratios = log_ratio_differences(context, points, h)
    return weights(ESTIMATORS[name], points, ratios[:, None], np.array([h])).reshape(context.shape)


@METHODS.register(
    "naive", label="Naive solve", group="black box", seeded=True, options=(DISTANCE,),
    summary="As many equations as pixels from random points at a fixed distance, solved, never tested. It is "
            "what OpenAPI is without the test.",
    misleads="It gives numbers even when its points lie in several regions, and does not say so.",
    formula="solve (zᵢ − x)ᵀD = Δ ln(y_c/y_c′)",
    reference=REFERENCE)
def naive(context: Context, *, h: float = 1e-4) -> np.ndarray:
    return _at("naive", context, h)


@METHODS.register(
    "zoo", label="ZOO", group="black box", options=(DISTANCE,),
    summary="Central differences: every pixel a little up and a little down. It needs two questions a pixel.",
    misleads="Right only if h fits this very image: too large crosses borders, too small is rounding.",
    formula="(L(x + h eⱼ) − L(x − h eⱼ)) / 2h, L = ln(y_c/y_c′)",
    reference="Chen et al. 2017, ZOO; " + REFERENCE)
def zoo(context: Context, *, h: float = 1e-4) -> np.ndarray:
    return _at("zoo", context, h)
