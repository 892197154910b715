"""Weights from differences at a distance h that is chosen beforehand: what OpenAPI is compared with.

All speak about the same log ratios of probabilities as OpenAPI. None can tell whether its points left the
region: with a large h they do, with a small one rounding is all that is left.
"""

from __future__ import annotations

import numpy as np

from core.methods.context import Context
from core.registry import METHODS, Option
from core.types import NotApplicable, margin

H = Option("h", "Distance at which the model is asked, in pixel units.", low=1e-12, high=1.0, log=True)
PAPER = "OpenAPI, section V"


@METHODS.register(
    "naive", label="Naive solve", group="black box", seeded=True, options=(H,),
    summary="As many equations as pixels from random points at a fixed distance, solved, never tested. It is "
            "what OpenAPI is without the test.",
    misleads="It gives numbers even when its points lie in several regions, and does not say so.",
    formula="solve (zᵢ − x)ᵀD = Δ ln(y_c/y_c′)",
    reference=PAPER)
def naive(context: Context, *, h: float = 1e-4) -> np.ndarray:
    unit = context.rng.uniform(-1.0, 1.0, (context.image.size,) * 2)
    return (np.linalg.solve(unit, log_ratios(context, unit * h)) / h).reshape(context.shape)


@METHODS.register(
    "zoo", label="ZOO", group="black box", options=(H,),
    summary="Central differences: every pixel a little up and a little down. It needs two questions a pixel.",
    misleads="Right only if h fits this very image: too large crosses borders, too small is rounding.",
    formula="(L(x + h eⱼ) − L(x − h eⱼ)) / 2h, L = ln(y_c/y_c′)",
    reference="Chen et al. 2017, ZOO; " + PAPER)
def zoo(context: Context, *, h: float = 1e-4) -> np.ndarray:
    steps = h * np.eye(context.image.size)
    return ((log_ratios(context, steps) - log_ratios(context, -steps)) / (2 * h)).reshape(context.shape)


def regression(context: Context, h: float, ridge: float = 0.0) -> np.ndarray:
    """LIME on log ratios as in the paper: a linear (or ridge) regression, weights ``(h,w)``.

    On 2 (d + 1) points of a cube of half-edge h around the image. ``ridge`` is the penalty on weights per pixel unit.
    """
    d = context.image.size
    unit = context.rng.uniform(-1.0, 1.0, (2 * (d + 1), d))
    y = log_ratios(context, unit * h)
    x = unit - unit.mean(0)
    normal = x.T @ x + ridge / h**2 * np.eye(d)
    return (np.linalg.solve(normal, x.T @ (y - y.mean())) / h).reshape(context.shape)


def log_ratios(context: Context, offsets: np.ndarray) -> np.ndarray:
    """Mean of ln(y_c / y_c') over the other classes at x + offsets ``(n,d)``, minus the same at x; ``(n,)``."""
    y = context.predict_proba(np.concatenate([np.zeros((1, offsets.shape[1])), offsets])
                              + context.image.ravel().astype(np.float64))
    if (y == 0).any():
        raise NotApplicable("A probability is exactly 0, so its logarithm says nothing.")
    value = margin(np.log(y), context.target)
    return value[1:] - value[0]
