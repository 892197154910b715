"""PatternLocal: a local linear surrogate turned into a pattern, so that suppressors drop out.

"Minimizing False-Positive Attributions in Explanations of Non-Linear Models", equations 6 and 7. The
global Pattern is Haufe et al. 2014 (NeuroImage 87), equation 4 there.
"""

from __future__ import annotations

import numpy as np

from core.methods.context import Context
from core.methods.gradient import gradient
from core.methods.surrogate import RIDGE, SAMPLES, SPREAD, data_lime, report
from core.registry import METHODS, Option
from core.types import InputError, NotApplicable, one_of

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


@METHODS.register(
    "pattern", label="Pattern (global)", group="pattern",
    summary="Which pixels move together with the local surrogate's output over all training images.",
    misleads="It explains the weights of this image by the whole data set: nothing local is left in the "
             "neighbourhood.",
    reference="Haufe et al. 2014, NeuroImage 87, 96-110; PatternLocal, equation 4")
def pattern(context: Context) -> np.ndarray:
    weights = gradient(context).ravel()
    n = len(context.training.x)
    return covariance_pattern(context.training.x, weights, np.full(n, 1 / n)).reshape(context.shape)


@METHODS.register(
    "patternlocal", label="PatternLocal", group="pattern", seeded=True,
    options=(
        Option("surrogate", "Whose weights become a pattern: the gradient, or LIME with data sampling.",
               choices=("gradient", "lime")),
        Option("share", "Share of the training images in the neighbourhood, the nearest first.", low=0.001,
               high=1.0, log=True),
        Option("kernel", "How a neighbour's weight falls with its distance.", choices=tuple(KERNELS)),
        Option("bandwidth", "Kernel width in units of the neighbours' median distance.", low=0.05, high=10.0,
               log=True),
        Option("shrinkage", "0: the pattern; 1: back to the surrogate's weights.", low=0.0, high=1.0),
        Option("samples", SAMPLES.help, low=10, high=5000, log=True, when=("surrogate", ("lime",))),
        Option("ridge", RIDGE.help, low=RIDGE.low, high=RIDGE.high, log=True, when=("surrogate", ("lime",))),
        Option("spread", SPREAD.help, low=SPREAD.low, high=SPREAD.high, when=("surrogate", ("lime",)))),
    summary="Turns the local weights into a pattern: which pixels move together with the surrogate's output "
            "among training images near this one. Pixels used only to cancel noise drop out.",
    misleads="It needs training images like this one: where shapes move (RIGID) few neighbours share the shape.",
    reference="PatternLocal, equations 6 and 7")
def patternlocal(context: Context, *, surrogate: str = "gradient", share: float = 1.0,
                 kernel: str = "gaussian", bandwidth: float = 1.0, shrinkage: float = 0.0,
                 samples: int = 1000, ridge: float = 1e-2, spread: float = 0.5) -> np.ndarray:
    if surrogate == "gradient":
        weights = gradient(context).ravel()
    else:
        weights = report(context, data_lime(context, samples, ridge, spread), samples).weights
    if not weights.any():
        raise NotApplicable("The surrogate's weights are all zero, so it has no output to follow.")
    data, center = context.training.x, context.image.ravel()
    distance = distances(data, center)
    kept = nearest(distance, share)
    p = kernel_weights(distance, kept, kernel, bandwidth * float(np.median(distance[kept])))
    context.facts |= {"neighbours": int(kept.size), "effective_neighbours": float(1 / np.square(p).sum())}
    return covariance_pattern(data, weights, p, shrinkage=shrinkage).reshape(context.shape)


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
    weights, center = np.asarray(weights, np.float64), np.asarray(center, np.float64)
    data = np.asarray(data)
    if data.ndim != 2 or data.shape[1:] != weights.shape or weights.shape != center.shape:
        raise InputError(f"Shapes do not fit: data {data.shape}, weights {weights.shape}, center {center.shape}; "
                         "needed are (n,d), (d,), (d,).")
    one_of("solver", solver, ("covariance", "eq7-left"))
    distance = distances(data, center)
    kept = nearest(distance, share, count)
    if bandwidth is None:
        bandwidth = float(np.median(distance[kept]))
    p = kernel_weights(distance, kept, kernel, bandwidth)
    if solver == "eq7-left":
        return _equation_7_left(data, weights, p, strength)
    return covariance_pattern(data, weights, p, penalty=penalty, strength=strength, shrinkage=shrinkage)


def distances(data: np.ndarray, center: np.ndarray) -> np.ndarray:
    """Euclidean distance ``(n,)`` float64 of each row of data (n,d) to center (d,)."""
    center = np.asarray(center, data.dtype)
    squares = np.empty(len(data))
    for start in range(0, len(data), 1024):
        difference = data[start:start + 1024] - center
        squares[start:start + 1024] = np.einsum("ij,ij->i", difference, difference)
    return np.sqrt(squares)


def nearest(distance: np.ndarray, share: float = 1.0, count: int | None = None) -> np.ndarray:
    """Indices of the nearest ``count``, or floor(share*n) but at least one, ties by position."""
    n = len(distance)
    if count is not None and not 1 <= count <= n:
        raise InputError(f"count must lie between 1 and the {n} training images, not {count}.")
    if count is None and not 0 < share <= 1:
        raise InputError(f"share must lie in (0, 1], not {share}.")
    count = max(1, int(np.floor(share * n))) if count is None else count
    return np.arange(n) if count == n else np.argsort(distance, kind="stable")[:count]


def kernel_weights(distance: np.ndarray, kept: np.ndarray, kernel: str, bandwidth: float) -> np.ndarray:
    """Weights p ``(n,)`` that sum to 1, zero outside ``kept``; NotApplicable below two neighbours."""
    one_of("kernel", kernel, KERNELS)
    if not bandwidth > 0:
        raise NotApplicable(f"The bandwidth is {bandwidth:g}: the neighbours all lie on the image itself.")
    p = np.zeros(len(distance))
    p[kept] = KERNELS[kernel](distance[kept] / bandwidth)
    if np.count_nonzero(p) < 2:
        raise NotApplicable(f"Fewer than two training images have weight in this neighbourhood "
                            f"({kept.size} kept): take a larger share or bandwidth.")
    return p / p.sum()


def covariance_pattern(data: np.ndarray, weights: np.ndarray, p: np.ndarray, *, penalty: str = "l2",
                       strength: float = 0.0, shrinkage: float = 0.0) -> np.ndarray:
    """``Cov_p[h, y] / Var_p[y]`` with y = data @ weights; see ``local_pattern``. Never d x d."""
    one_of("penalty", penalty, ("l1", "l2"))
    kept = np.flatnonzero(p)
    if 2 * kept.size < len(p):
        data, p = data[kept], p[kept]
    y = data @ weights.astype(data.dtype)
    moved = y - p @ y
    variance = float(p @ np.square(moved))
    if not variance > 1e-12 * float(p @ np.square(y)):
        raise NotApplicable("The surrogate's output is the same for all neighbours: there is nothing to follow.")
    q = p * moved
    q -= p * q.sum()  # rounding: a constant feature has covariance zero
    covariance = (q.astype(data.dtype) @ data).astype(np.float64)
    if shrinkage:
        first, second = p.astype(data.dtype) @ data, p.astype(data.dtype) @ np.square(data)
        covariance = (1 - shrinkage) * covariance + shrinkage * float(np.mean(second - first**2)) * weights
    if penalty == "l1":
        return np.sign(covariance) * np.maximum(np.abs(covariance) - strength / 2, 0) / variance
    return covariance / (variance + strength)


def _equation_7_left(data: np.ndarray, weights: np.ndarray, p: np.ndarray, strength: float) -> np.ndarray:
    """``(M + strength I)^-1 M w``, M = sum p_i h_i h_i', through the smaller of the two spaces."""
    if not strength > 0:
        raise InputError("solver eq7-left needs strength > 0: at 0 it returns the weights themselves.")
    rows = np.sqrt(p[p > 0])[:, None] * data[p > 0].astype(np.float64)
    n, d = rows.shape
    if n < d:  # (R'R + l I)^-1 R' = R' (R R' + l I)^-1
        return rows.T @ np.linalg.solve(rows @ rows.T + strength * np.eye(n), rows @ weights)
    moment = rows.T @ rows
    return np.linalg.solve(moment + strength * np.eye(d), moment @ weights)
