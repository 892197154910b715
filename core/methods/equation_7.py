"""The left side of PatternLocal's equation 7, which its right side is not equal to; there for comparison."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from core.types import InputError, NotApplicable

DIRECT_SIZE = 2000  # rows or columns up to which it is solved directly


def left_side(data: np.ndarray, weights: np.ndarray, p: np.ndarray, strength: float) -> np.ndarray:
    """``(M + strength I)^-1 M w``, M = sum p_i h_i h_i', through the smaller of the two spaces."""
    if not strength > 0:
        raise InputError("solver eq7-left needs strength > 0: at 0 it returns the weights themselves.")
    rows = np.sqrt(p[p > 0])[:, None].astype(data.dtype) * data[p > 0]
    n, d = rows.shape
    if min(n, d) > DIRECT_SIZE:
        return _conjugate_gradients(rows, weights, strength)
    rows = rows.astype(np.float64)
    if n < d:  # (R'R + l I)^-1 R' = R' (R R' + l I)^-1
        return rows.T @ np.linalg.solve(rows @ rows.T + strength * np.eye(n), rows @ weights)
    moment = rows.T @ rows
    return np.linalg.solve(moment + strength * np.eye(d), moment @ weights)


def _conjugate_gradients(rows: np.ndarray, weights: np.ndarray, strength: float) -> np.ndarray:
    """``(R'R + strength I)^-1 R'R w`` by products with R only."""

    def moment(v: np.ndarray) -> np.ndarray:
        return ((rows @ v.astype(rows.dtype)) @ rows).astype(np.float64)

    system = LinearOperator((len(weights),) * 2, matvec=lambda v: moment(v) + strength * v, dtype=np.float64)
    solution, unfinished = cg(system, moment(weights), rtol=1e-6, maxiter=300)
    if unfinished:
        raise NotApplicable("The left side of equation 7 was not solved: the strength is too small for this data.")
    return solution
