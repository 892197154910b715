"""Patterns: what moves together with a linear surrogate's output, so that suppressors drop out.

PatternLocal's second half, "Minimizing False-Positive Attributions in Explanations of Non-Linear Models",
equations 6 and 7; the global Pattern is Haufe et al. 2014 (NeuroImage 87).
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from core.types import InputError, NotApplicable, one_of

DIRECT = 2000  # rows or columns up to which the left side of equation 7 is solved directly
KERNELS = {
    "gaussian": lambda u: np.exp(-np.square(u) / 2),
    "uniform": lambda u: (u <= 1).astype(float),
    "triangular": lambda u: np.maximum(1 - u, 0),
    "epanechnikov": lambda u: np.maximum(1 - u**2, 0),
    "biweight": lambda u: np.maximum(1 - u**2, 0)**2,
    "tricube": lambda u: np.maximum(1 - u**3, 0)**3,
    "cosine": lambda u: np.where(u <= 1, np.cos(np.pi * np.minimum(u, 1) / 2), 0),
    "logistic": lambda u: 1 / (np.exp(np.minimum(u, 500)) + 2 + np.exp(-u)),
}


def local_pattern(weights: np.ndarray, data: np.ndarray, center: np.ndarray, *, share: float = 1.0,
                  count: int | None = None, kernel: str = "gaussian", bandwidth: float | None = None,
                  penalty: str = "l2", strength: float = 0.0, shrinkage: float = 0.0,
                  solver: str = "covariance") -> np.ndarray:
    """PatternLocal's second half: the pattern ``(d,)`` of surrogate weights (d,) around center (d,).

    data (n,d) are the training images in the surrogate's space. The nearest ``count`` of them, or
    floor(share*n), get weights p by ``kernel`` of distance/bandwidth (default: their median distance).
    With y = data @ weights the pattern is ``Cov_p[h, y] / (Var_p[y] + strength)`` for the ``l2`` penalty
    (right side of equation 7, centred as in the published program; equation 6 read literally has no
    intercept and would give raw moments) and ``soft(Cov_p[h, y], strength/2) / Var_p[y]`` for ``l1``.
    ``shrinkage`` g in [0, 1]: ``(1-g) C w + g mean(diag C) w`` in place of ``C w``.
    ``solver="eq7-left"`` is the left side of equation 7, ``(M + strength I)^-1 M w`` with the raw second
    moment M; it is not equal to the right side (strength 0 gives w back) and is there for comparison.
    """
    weights, center, data = np.asarray(weights, np.float64), np.asarray(center, np.float64), np.asarray(data)
    data = data if np.issubdtype(data.dtype, np.floating) else data.astype(np.float64)
    if data.ndim != 2 or data.shape[1:] != weights.shape or weights.shape != center.shape:
        raise InputError(f"Shapes do not fit: data {data.shape}, weights {weights.shape}, center {center.shape}; "
                         "needed are (n,d), (d,), (d,).")
    _check_numbers(weights, data, center, strength, shrinkage, bandwidth)
    distance = distances(data, center[None])
    p = neighbourhoods(distance, share, count, kernel, 1.0 if bandwidth is None else bandwidth, bandwidth is None)
    must_apply(p, output_variance(data, weights[None], p))
    return patterns(data, weights[None], p, penalty=penalty, strength=strength, shrinkage=shrinkage,
                    solver=solver)[0]


def _check_numbers(weights: np.ndarray, data: np.ndarray, center: np.ndarray, strength: float, shrinkage: float,
                   bandwidth: float | None) -> None:
    for name, array in (("weights", weights), ("data", data), ("center", center)):
        if not np.isfinite(array).all():
            bad = int((~np.isfinite(array)).sum())
            raise InputError(f"{name} must be finite numbers; {bad} are NaN or infinite.")
    if not strength >= 0:
        raise InputError(f"strength must be at least 0, not {strength}.")
    if not 0 <= shrinkage <= 1:
        raise InputError(f"shrinkage must lie in [0, 1], not {shrinkage}.")
    if bandwidth is not None and not bandwidth > 0:
        raise InputError(f"bandwidth must be positive, not {bandwidth}.")


def local_patterns(weights: np.ndarray, data: np.ndarray, centers: np.ndarray, *, share: float = 1.0,
                   count: int | None = None, kernel: str = "gaussian", bandwidth: float | None = None,
                   penalty: str = "l2", strength: float = 0.0, shrinkage: float = 0.0, solver: str = "covariance",
                   squares: np.ndarray | None = None) -> np.ndarray:
    """``local_pattern`` for m images at once: weights (m,d), centers (m,d) -> ``(m,d)``.

    All passes over the data are matrix products. ``squares (n,)``, the squared lengths of the data's rows,
    saves one of them. A row is NaN where fewer than two images have weight or the output does not vary.
    """
    distance = distances(data, centers, squares)
    width = 1.0 if bandwidth is None else bandwidth
    p = neighbourhoods(distance, share, count, kernel, width, relative=bandwidth is None)
    return patterns(data, weights, p, penalty=penalty, strength=strength, shrinkage=shrinkage, solver=solver)


def distances(data: np.ndarray, centers: np.ndarray, squares: np.ndarray | None = None) -> np.ndarray:
    """Euclidean distances ``(m,n)`` float64 from centers (m,d) to the rows of data (n,d)."""
    if squares is None:
        squares = np.einsum("ij,ij->i", data, data).astype(np.float64)
    products = (centers.astype(data.dtype) @ data.T).astype(np.float64)
    square = np.square(centers.astype(np.float64)).sum(1)[:, None] + squares - 2 * products
    return np.sqrt(np.maximum(square, 0))


def neighbourhoods(distance: np.ndarray, share: float, count: int | None, kernel: str, bandwidth: float,
                   relative: bool = True) -> np.ndarray:
    """Weights p ``(m,n)`` with rows that sum to 1, zero beyond the nearest ``count`` or floor(share*n).

    ``bandwidth`` is in units of the median distance of those kept unless ``relative`` is False. A row is NaN
    where fewer than two images have weight.
    """
    one_of("kernel", kernel, KERNELS)
    n = distance.shape[1]
    if count is not None and not 1 <= count <= n:
        raise InputError(f"count must lie between 1 and the {n} training images, not {count}.")
    if count is None and not 0 < share <= 1:
        raise InputError(f"share must lie in (0, 1], not {share}.")
    count = max(1, int(np.floor(share * n))) if count is None else count
    p = np.zeros_like(distance)
    for row, d in zip(p, distance):
        kept = np.arange(n) if count == n else np.argsort(d, kind="stable")[:count]
        width = bandwidth * float(np.median(d[kept])) if relative else bandwidth
        if width > 0:
            row[kept] = KERNELS[kernel](d[kept] / width)
        if np.count_nonzero(row) < 2:
            row[:] = np.nan
        row /= row.sum()
    return p


def output_variance(data: np.ndarray, weights: np.ndarray, p: np.ndarray) -> np.ndarray:
    """``Var_p[y]`` (m,) in units of the weights' size, NaN where the output y = data @ w does not vary."""
    return _centred_output(data, _sized(weights)[0], p)[1]


def must_apply(p: np.ndarray, variance: np.ndarray) -> None:
    """NotApplicable with the reason, when a single image has no neighbourhood or no varying output."""
    if np.isnan(p).any():
        raise NotApplicable("Fewer than two training images have weight in this neighbourhood, or half of them lie "
                            "on the image itself: take a larger share or bandwidth.")
    if np.isnan(variance).any():
        raise NotApplicable("The surrogate's output is the same for all neighbours: there is nothing to follow.")


def patterns(data: np.ndarray, weights: np.ndarray, p: np.ndarray, *, penalty: str = "l2", strength: float = 0.0,
             shrinkage: float = 0.0, solver: str = "covariance") -> np.ndarray:
    """The patterns ``(m,d)`` of weights (m,d) under neighbourhood weights p (m,n); see ``local_pattern``."""
    one_of("solver", solver, ("covariance", "eq7-left"))
    if solver == "eq7-left":
        weights, size = _sized(weights)
        return size * np.stack([_equation_7_left(data, w, row, strength) for w, row in zip(weights, p)])
    return covariance_patterns(data, weights, p, penalty=penalty, strength=strength, shrinkage=shrinkage)


def covariance_patterns(data: np.ndarray, weights: np.ndarray, p: np.ndarray, *, penalty: str = "l2",
                        strength: float = 0.0, shrinkage: float = 0.0) -> np.ndarray:
    """``Cov_p[h, y] / Var_p[y]`` with y = data @ w, row by row; never a d x d matrix."""
    one_of("penalty", penalty, ("l1", "l2"))
    weights, size = _sized(weights)
    q, variance = _centred_output(data, weights, p)
    covariance = (q.astype(data.dtype) @ data).astype(np.float64)
    if shrinkage:
        first, second = p.astype(data.dtype) @ data, p.astype(data.dtype) @ np.square(data)
        mean = (second - np.square(first)).mean(1, dtype=np.float64)[:, None]
        covariance = (1 - shrinkage) * covariance + shrinkage * mean * weights
    if penalty == "l1":
        soft = np.sign(covariance) * np.maximum(np.abs(covariance) - strength / size / 2, 0)
        return soft / (size * variance[:, None])
    return covariance / (size * variance[:, None] + strength / size)


def penalty_scale(data: np.ndarray, weights: np.ndarray, p: np.ndarray, penalty: str) -> float:
    """The penalty that strength 1 stands for: Var_p[y] for l2, the smallest that empties the map for l1."""
    weights, size = _sized(weights[None])
    q, variance = _centred_output(data, weights, p)
    return float(size[0, 0] * (size[0, 0] * variance[0] if penalty == "l2" else
                               2 * float(np.abs(q.astype(data.dtype) @ data).max())))


def haufe_patterns(data: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Patterns of several outputs at once: ``A = Cov(x) W Cov(W'x)^-1`` (equation 3).

    data (n,d), weights W (d,K) -> ``(d,K)``. NotApplicable when the outputs are linearly dependent.
    """
    weights, size = _sized(weights.T)
    outputs = data @ weights.T.astype(data.dtype)
    outputs = outputs.astype(np.float64) - outputs.mean(0, dtype=np.float64)
    inner = outputs.T @ outputs
    if np.linalg.matrix_rank(inner, hermitian=True) < inner.shape[0]:
        raise NotApplicable("The outputs depend linearly on each other, so their patterns cannot be told apart.")
    return (np.linalg.solve(inner, (outputs.astype(data.dtype).T @ data).astype(np.float64)) / size).T


def outputs(data: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The surrogate's output without its intercept, ``data @ w`` (n,) float64."""
    weights, size = _sized(weights[None])
    return size[0] * (data @ weights[0].astype(data.dtype)).astype(np.float64)


def _sized(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights (m,d) as ``size (m,1)`` times weights of largest value 1 to 2, which float32 can hold in any unit.

    Sizes are powers of two, so that nothing is rounded.
    """
    power = np.frexp(np.abs(weights).max(1, keepdims=True))[1] - 1
    return np.ldexp(weights, -power), np.ldexp(1.0, power)


def _centred_output(data: np.ndarray, weights: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``p_i (y_i - ybar)`` (m,n) and ``Var_p[y]`` (m,), NaN where the output is constant."""
    y = (weights.astype(data.dtype) @ data.T).astype(np.float64)
    moved = y - (p * y).sum(1, keepdims=True)
    variance = (p * np.square(moved)).sum(1)
    variance[~(variance > 1e-12 * (p * np.square(y)).sum(1))] = np.nan
    q = p * moved
    return q - p * q.sum(1, keepdims=True), variance  # rounding: a constant feature has covariance zero


def _equation_7_left(data: np.ndarray, weights: np.ndarray, p: np.ndarray, strength: float) -> np.ndarray:
    """``(M + strength I)^-1 M w``, M = sum p_i h_i h_i', through the smaller of the two spaces."""
    if not strength > 0:
        raise InputError("solver eq7-left needs strength > 0: at 0 it returns the weights themselves.")
    rows = np.sqrt(p[p > 0])[:, None].astype(data.dtype) * data[p > 0]
    n, d = rows.shape
    if min(n, d) > DIRECT:
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
