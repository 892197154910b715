"""Finite-difference estimates of the weights, at a distance h that is chosen beforehand: OpenAPI's competitors.

All of them use the same log ratios of probabilities as OpenAPI. None can detect that its points have left the
region: with a large h they do, and with a small one only rounding errors remain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core.methods.context import Context
from core.registry import METHODS, Option
from core.types import NotApplicable, margin

DISTANCE = Option("h", "Distance of the queries from the image, in pixel units.", low=1e-12, high=1.0, log=True)
REFERENCE = "OpenAPI, section V"
POINTS_PER_QUERY = 256  # small enough for the processor's cache
RIDGE = 1.0  # penalty on the squared weights, which are per pixel unit


@dataclass(frozen=True)
class Estimator:
    """One way to estimate weights from queries at a distance h.

    ``points(d, rng)`` gives the queries' offsets ``(n,d)`` from the image, as multiples of h. ``solve(points, ratios
    (n,k), h (k,))`` gives the weights ``(d,k)`` at k distances: with the same points for all of them, the system of
    equations is factorised once.
    """

    label: str
    points: Callable[[int, np.random.Generator], np.ndarray]
    solve: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def _linear(points: np.ndarray, ratios: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Least squares with a constant term."""
    x = points - points.mean(0)
    return np.linalg.solve(x.T @ x, x.T @ (ratios - ratios.mean(0))) / h


def _ridge(points: np.ndarray, ratios: np.ndarray, h: np.ndarray) -> np.ndarray:
    """The same with a penalty on the weights per pixel unit, so that each h has a system of its own."""
    x = points - points.mean(0)
    square, right = x.T @ x, x.T @ (ratios - ratios.mean(0)) / h
    return np.column_stack(
        [
            np.linalg.solve(square + RIDGE / distance**2 * np.eye(len(square)), column)
            for distance, column in zip(h, right.T)
        ]
    )


def _cube(count: Callable[[int], int]) -> Callable:
    return lambda d, rng: rng.uniform(-1.0, 1.0, (count(d), d))


ESTIMATORS = {
    "naive": Estimator(
        "Naive solve", _cube(lambda d: d), lambda points, ratios, h: np.linalg.solve(points, ratios) / h
    ),
    "zoo": Estimator(
        "ZOO",
        lambda d, rng: np.concatenate([np.eye(d), -np.eye(d)]),
        lambda points, ratios, h: np.subtract(*np.split(ratios, 2)) / (2 * h),
    ),
    "linear": Estimator("LIME, linear", _cube(lambda d: 2 * (d + 1)), _linear),
    "ridge": Estimator("LIME, ridge", _cube(lambda d: 2 * (d + 1)), _ridge),
}


def log_ratio_differences(context: Context, points: np.ndarray, h: float) -> np.ndarray:
    """Mean log ratios ``(n,)`` of the target to the other classes at x + h points (n,d), minus those at the image x.

    NotApplicable where a probability is exactly 0.
    """
    x = context.image.ravel().astype(np.float64)
    parts = np.array_split(points, -(-len(points) // POINTS_PER_QUERY))
    at_x = context.predict_proba(x)
    at_points = np.concatenate([context.predict_proba(x + h * part) for part in parts])
    if (at_x == 0).any() or (at_points == 0).any():
        raise NotApplicable("A probability is exactly 0, so the log ratio is undefined.")
    return margin(np.log(at_points), context.target) - margin(np.log(at_x), context.target)


def weights(estimator: Estimator, points: np.ndarray, ratios: np.ndarray, h: np.ndarray) -> np.ndarray:
    """An estimator's weights ``(d,k)`` at k distances. NotApplicable where the equations have no solution."""
    try:
        return estimator.solve(points, ratios, h)
    except np.linalg.LinAlgError as error:
        raise NotApplicable(f"The equations have no solution: {error}") from None


def _at(name: str, context: Context, h: float) -> np.ndarray:
    """The map ``(h,w)`` of a named estimator at one distance."""
    points = ESTIMATORS[name].points(context.image.size, context.rng)
    ratios = log_ratio_differences(context, points, h)
    return weights(ESTIMATORS[name], points, ratios[:, None], np.array([h])).reshape(context.shape)


@METHODS.register(
    "naive",
    label="Naive solve",
    group="black box",
    seeded=True,
    options=(DISTANCE,),
    summary="Solves as many equations as there are pixels, from random points at a fixed distance, and never tests "
    "the result: OpenAPI without its test.",
    misleads="It returns numbers even when its points lie in several regions, without any warning.",
    formula="solve (zᵢ − x)ᵀD = Δ ln(y_c/y_c′)",
    reference=REFERENCE,
)
def naive(context: Context, *, h: float = 1e-4) -> np.ndarray:
    """The solution ``(h,w)`` of d equations at random points of a cube of half width h."""
    return _at("naive", context, h)


@METHODS.register(
    "zoo",
    label="ZOO",
    group="black box",
    options=(DISTANCE,),
    summary="Central differences: every pixel is raised and lowered a little. It needs two queries for each pixel.",
    misleads="It is right only if h suits this particular image: a large h crosses borders, a small one drowns in "
    "rounding errors.",
    formula="(L(x + h eⱼ) − L(x − h eⱼ)) / 2h, L = ln(y_c/y_c′)",
    reference="Chen et al. 2017, ZOO; " + REFERENCE,
)
def zoo(context: Context, *, h: float = 1e-4) -> np.ndarray:
    """Symmetric differences ``(h,w)`` of step h along every pixel."""
    return _at("zoo", context, h)
