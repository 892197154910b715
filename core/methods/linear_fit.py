"""Weighted linear fits: ridge in whichever space is smaller, lasso by scikit-learn (PatternLocal, equation 5)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

LASSO_ITERATIONS = 500  # of coordinate descent


@dataclass(frozen=True)
class Surrogate:
    """A linear model ``f ~ intercept + weights'z`` of the network near one image.

    ``weights (D,)`` float64; ``fit`` is the weighted R2 on its samples (NaN where there are none), ``output`` its
    value at the explained image, ``note`` a sentence for the reader.
    """

    weights: np.ndarray
    intercept: float
    fit: float
    output: float = math.nan
    note: str = ""


def weighted_ridge(z: np.ndarray, f: np.ndarray, p: np.ndarray, ridge: float) -> Surrogate:
    """Minimises ``sum p_i (f_i - b - w'z_i)^2 + lam |w|^2`` with the intercept b unpenalised.

    z (N,D), f (N,), p (N,) non-negative weights, normalised to sum 1; ``lam = ridge * trace(C) / min(N, D)``
    with C the weighted covariance of z, so that ``ridge`` has no unit.
    """
    rows, target, zbar, fbar = centred(z, f, p)
    weights = ridge_weights(rows, target, ridge)
    return Surrogate(weights, fbar - float(weights @ zbar), r_squared(rows, target, weights))


def weighted_lasso(z: np.ndarray, f: np.ndarray, p: np.ndarray, lasso: float) -> Surrogate:
    """Minimises ``sum p_i (f_i - b - w'z_i)^2 / 2 + lam |w|_1`` over w and the intercept b.

    z (N,D), f (N,), p (N,) non-negative weights. ``lam = lasso * max|Cov_p(z, f)|``: 1 is the smallest penalty that
    sets every weight to zero. A note says so when the solver stops before it has converged.
    """
    from sklearn.linear_model import Lasso  # late: slow to import

    rows, target, zbar, fbar = centred(z, f, p)
    largest, note = float(np.abs(rows.T @ target).max()), ""
    if largest == 0 or lasso >= 1:
        weights = np.zeros(z.shape[1])
    else:
        scale = np.sqrt(len(rows))  # scikit-learn divides the squares by the number of samples
        solver = Lasso(alpha=lasso * largest, fit_intercept=False, max_iter=LASSO_ITERATIONS)
        weights = solver.fit(rows * scale, target * scale).coef_.astype(np.float64)
        if solver.n_iter_ >= LASSO_ITERATIONS:
            note = f"The lasso stopped after {LASSO_ITERATIONS} iterations; its weights are approximate"
    return Surrogate(weights, fbar - float(weights @ zbar), r_squared(rows, target, weights), note=note)


def centred(z: np.ndarray, f: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Rows and target without their weighted means, times sqrt(p); and the means."""
    p = p / p.sum()
    zbar = np.einsum("i,ij->j", p, z, dtype=np.float64)
    fbar = float(f[0] + p @ (f - f[0]))  # exactly f where all answers are the same
    root = np.sqrt(p)
    return (z - zbar.astype(z.dtype)) * root[:, None].astype(z.dtype), root * (f - fbar), zbar, fbar


def ridge_weights(rows: np.ndarray, target: np.ndarray, ridge: float) -> np.ndarray:
    """``argmin |rows w - target|^2 + lam |w|^2`` in float64; products in the rows' own precision."""
    n, d = rows.shape
    gram = (rows @ rows.T if n < d else rows.T @ rows).astype(np.float64)
    lam = ridge * float(np.trace(gram)) / min(n, d)
    if lam == 0.0:
        return np.zeros(d)  # no sample differs from any other
    gram[np.diag_indices_from(gram)] += lam
    if n < d:
        return rows.T.astype(np.float64) @ np.linalg.solve(gram, target)
    return np.linalg.solve(gram, rows.T.astype(np.float64) @ target)


def r_squared(rows: np.ndarray, target: np.ndarray, weights: np.ndarray) -> float:
    total = float(target @ target)
    residual = target - rows @ weights
    return 1.0 - float(residual @ residual) / total if total > 0 else math.nan
