"""Patterns: what moves together with a linear surrogate's output, so that suppressors drop out.

PatternLocal's second half, "Minimizing False-Positive Attributions in Explanations of Non-Linear Models",
equations 6 and 7; the global Pattern is Haufe et al. 2014 (NeuroImage 87).

``LocalOutputs`` carries everything from one step to the next, so that a pattern reads the n images twice: once for
distances and outputs, once for their covariance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.methods.equation_7 import left_side
from core.types import InputError, NotApplicable, one_of

BLOCK_VALUES = 2**18  # of the data at a time: they stay in the cache while several vectors are multiplied with them
FEW_VECTORS = 4  # up to which that is faster than one matrix product
KERNELS = {  # weight over distance / bandwidth
    "gaussian": lambda u: np.exp(-np.square(u) / 2),
    "uniform": lambda u: (u <= 1).astype(float),
    "triangular": lambda u: np.maximum(1 - u, 0),
    "epanechnikov": lambda u: np.maximum(1 - u**2, 0),
    "biweight": lambda u: np.maximum(1 - u**2, 0) ** 2,
    "tricube": lambda u: np.maximum(1 - u**3, 0) ** 3,
    "cosine": lambda u: np.where(u <= 1, np.cos(np.pi * np.minimum(u, 1) / 2), 0),
    "logistic": lambda u: 1 / (np.exp(np.minimum(u, 500)) + 2 + np.exp(-u)),
}


def local_pattern(
    weights: np.ndarray,
    data: np.ndarray,
    center: np.ndarray,
    *,
    share: float = 1.0,
    count: int | None = None,
    kernel: str = "gaussian",
    bandwidth: float | None = None,
    penalty: str = "l2",
    strength: float = 0.0,
    shrinkage: float = 0.0,
    solver: str = "covariance",
) -> np.ndarray:
    """PatternLocal's second half: the pattern ``(d,)`` of surrogate weights (d,) around center (d,).

    data (n,d) are the training images in the surrogate's space. The nearest ``count`` of them, or
    floor(share*n), get weights p by ``kernel`` of distance/bandwidth (default: their median distance).
    With y = data @ weights the pattern is ``Cov_p[h, y] / (Var_p[y] + strength)`` for the ``l2`` penalty
    (right side of equation 7, centred as in the published program; equation 6 read literally has no
    intercept and would give raw moments) and ``soft(Cov_p[h, y], strength/2) / Var_p[y]`` for ``l1``.
    ``shrinkage`` g in [0, 1]: ``(1-g) C w + g mean(diag C) w`` in place of ``C w``.
    ``solver="eq7-left"`` is the left side of equation 7, ``(M + strength I)^-1 M w`` with the raw second
    moment M; it is not equal to the right side (strength 0 gives w back) and is there for comparison.

    InputError for shapes that do not fit, numbers that are not finite and options out of range; NotApplicable where
    fewer than two images have weight or the output does not vary. Source: PatternLocal, equations 6 and 7.
    """
    weights, center, data = np.asarray(weights, np.float64), np.asarray(center, np.float64), np.asarray(data)
    if data.ndim != 2 or data.shape[1:] != weights.shape or weights.shape != center.shape:
        raise InputError(
            f"Shapes do not fit: data {data.shape}, weights {weights.shape}, center {center.shape}; "
            "needed are (n,d), (d,), (d,)."
        )
    local = _local_outputs(weights[None], data, center[None], share, count, kernel, bandwidth, strength, shrinkage)
    local.must_apply()
    return local.patterns(penalty, strength, shrinkage, solver)[0]


def local_patterns(
    weights: np.ndarray,
    data: np.ndarray,
    centers: np.ndarray,
    *,
    share: float = 1.0,
    count: int | None = None,
    kernel: str = "gaussian",
    bandwidth: float | None = None,
    penalty: str = "l2",
    strength: float = 0.0,
    shrinkage: float = 0.0,
    solver: str = "covariance",
    squares: np.ndarray | None = None,
) -> np.ndarray:
    """``local_pattern`` for m images at once: weights (m,d), centers (m,d) -> ``(m,d)``.

    All passes over the data are matrix products. ``squares (n,)``, the squared lengths of the data's rows,
    saves computing them. A row is NaN where fewer than two images have weight or the output does not vary.
    """
    weights, centers, data = np.asarray(weights, np.float64), np.asarray(centers, np.float64), np.asarray(data)
    local = _local_outputs(weights, data, centers, share, count, kernel, bandwidth, strength, shrinkage, squares)
    return local.patterns(penalty, strength, shrinkage, solver)


def _local_outputs(
    weights: np.ndarray,
    data: np.ndarray,
    centers: np.ndarray,
    share: float,
    count: int | None,
    kernel: str,
    bandwidth: float | None,
    strength: float,
    shrinkage: float,
    squares: np.ndarray | None = None,
) -> LocalOutputs:
    """The outputs around centers, after a check of all numbers."""
    for name, array in (("weights", weights), ("center", centers)):
        _must_be_finite(name, array)
    if not strength >= 0:
        raise InputError(f"strength must be at least 0, not {strength}.")
    if not 0 <= shrinkage <= 1:
        raise InputError(f"shrinkage must lie in [0, 1], not {shrinkage}.")
    if bandwidth is not None and not bandwidth > 0:
        raise InputError(f"bandwidth must be positive, not {bandwidth}.")
    data = data if np.issubdtype(data.dtype, np.floating) else data.astype(np.float64)
    width = 1.0 if bandwidth is None else bandwidth
    return LocalOutputs.around(
        data,
        weights,
        centers,
        share=share,
        count=count,
        kernel=kernel,
        bandwidth=width,
        relative=bandwidth is None,
        squares=squares,
    )


@dataclass(frozen=True)
class LocalOutputs:
    """The outputs of m linear surrogates on n images that are weighted by their nearness to m centres.

    ``data (n,d)`` are the images; ``unit_weights (m,d)`` times ``size (m,1)`` the surrogates' weights (see
    ``_sized``) and ``y (m,n)`` times ``size`` their outputs without intercept; ``p (m,n)`` the images' weights, each
    row with sum 1 or NaN; ``distances (m,n)`` to the centres.
    """

    data: np.ndarray
    unit_weights: np.ndarray
    size: np.ndarray
    y: np.ndarray
    p: np.ndarray
    distances: np.ndarray | None = None

    @classmethod
    def around(
        cls,
        data: np.ndarray,
        weights: np.ndarray,
        centers: np.ndarray,
        *,
        share: float,
        count: int | None,
        kernel: str,
        bandwidth: float,
        relative: bool = True,
        squares: np.ndarray | None = None,
    ) -> LocalOutputs:
        """Those of weights (m,d) around centers (m,d), in one pass over data (n,d); see ``neighbour_weights``."""
        unit_weights, size = _sized(weights)
        products, squares = _one_pass(data, np.concatenate([centers, unit_weights]), squares)
        distance = _distances(products[: len(centers)], centers, squares)
        p = neighbour_weights(distance, share, count, kernel, bandwidth, relative)
        return cls(data, unit_weights, size, products[len(centers) :], p, distance)

    @classmethod
    def weighted(cls, data: np.ndarray, weights: np.ndarray, p: np.ndarray) -> LocalOutputs:
        """Those of weights (m,d) under given neighbour weights p (m,n)."""
        unit_weights, size = _sized(weights)
        return cls(data, unit_weights, size, _products(data, unit_weights), p)

    @property
    def outputs(self) -> np.ndarray:
        """The surrogates' outputs without intercept ``data @ w (m,n)`` float64."""
        return self.size * self.y

    @cached_property
    def _deviation(self) -> np.ndarray:
        return self.y - (self.p * self.y).sum(1, keepdims=True)

    @cached_property
    def variance(self) -> np.ndarray:
        """``Var_p[y] (m,)``, NaN where the output is constant."""
        variance = (self.p * np.square(self._deviation)).sum(1)
        variance[~(variance > 1e-12 * (self.p * np.square(self.y)).sum(1))] = np.nan
        return variance

    @cached_property
    def covariance(self) -> np.ndarray:
        """``Cov_p[h, y] (m,d)``, in the second pass over the data; never a d x d matrix."""
        q = self.p * self._deviation
        q -= self.p * q.sum(1, keepdims=True)  # rounding: a constant feature has covariance zero
        return self._weighted_sums(q)

    def _weighted_sums(self, rows: np.ndarray) -> np.ndarray:
        return (rows.astype(self.data.dtype) @ self.data).astype(np.float64)

    def must_apply(self) -> None:
        """NotApplicable with the reason, when an image has no neighbourhood or its output does not vary."""
        if np.isnan(self.p).any():
            raise NotApplicable(
                "Fewer than two training images have weight in this neighbourhood, or half of them "
                "lie on the image itself: take a larger share or bandwidth."
            )
        if np.isnan(self.variance).any():
            raise NotApplicable("The surrogate's output is the same for all neighbours, so no pixel can follow it.")

    def penalty_scale(self, penalty: str) -> float:
        """The penalty that strength 1 stands for: Var_p[y] for l2, the smallest that empties the map for l1."""
        size = self.size[0, 0]
        return float(size * (size * self.variance[0] if penalty == "l2" else 2 * np.abs(self.covariance).max()))

    def patterns(
        self, penalty: str = "l2", strength: float = 0.0, shrinkage: float = 0.0, solver: str = "covariance"
    ) -> np.ndarray:
        """The patterns ``(m,d)`` in the units of the data over those of the output; see ``local_pattern``."""
        one_of("solver", solver, ("covariance", "eq7-left"))
        one_of("penalty", penalty, ("l1", "l2"))
        if solver == "eq7-left":
            return self.size * np.stack(
                [left_side(self.data, w, row, strength) for w, row in zip(self.unit_weights, self.p)]
            )
        covariance, variance = self._shrunk_covariance(shrinkage), self.size * self.variance[:, None]
        if penalty == "l1":
            return np.sign(covariance) * np.maximum(np.abs(covariance) - strength / self.size / 2, 0) / variance
        return covariance / (variance + strength / self.size)

    def _shrunk_covariance(self, shrinkage: float) -> np.ndarray:
        """``(1-g) C w + g mean(diag C) w`` (m,d) for shrinkage g."""
        if not shrinkage:
            return self.covariance
        p = self.p.astype(self.data.dtype)
        first, second = p @ self.data, p @ np.square(self.data)
        mean = (second - np.square(first)).mean(1, dtype=np.float64)[:, None]
        return (1 - shrinkage) * self.covariance + shrinkage * mean * self.unit_weights


def _one_pass(
    data: np.ndarray, vectors: np.ndarray, squares: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """``data @ v (k,n)`` of vectors (k,d), and the squared lengths ``(n,)`` of the data's rows; both float64.

    InputError where the data hold numbers that are not finite.
    """
    if squares is None:
        squares = np.einsum("ij,ij->i", data, data).astype(np.float64)
    if not np.isfinite(squares).all():
        _must_be_finite("data", data)
    return _products(data, vectors), squares


def _products(data: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """``data @ v (k,n)`` float64 of vectors (k,d), multiplied in the data's own precision."""
    vectors = vectors.astype(data.dtype)
    if len(vectors) > FEW_VECTORS or not data.size:
        return (vectors @ data.T).astype(np.float64)
    products = np.empty((len(vectors), len(data)), data.dtype)
    rows = max(1, BLOCK_VALUES // data.shape[1])
    for first in range(0, len(data), rows):
        block = data[first : first + rows]
        for vector, product in zip(vectors, products):
            np.matmul(block, vector, out=product[first : first + rows])
    return products.astype(np.float64)


def _must_be_finite(name: str, array: np.ndarray) -> None:
    if bad := int((~np.isfinite(array)).sum()):
        raise InputError(f"{name} must be finite numbers; {bad} are NaN or infinite.")


def distances(data: np.ndarray, centers: np.ndarray, squares: np.ndarray | None = None) -> np.ndarray:
    """Euclidean distances ``(m,n)`` float64 from centers (m,d) to the rows of data (n,d)."""
    products, squares = _one_pass(data, centers, squares)
    return _distances(products, centers, squares)


def _distances(products: np.ndarray, centers: np.ndarray, squares: np.ndarray) -> np.ndarray:
    square = np.square(centers.astype(np.float64)).sum(1)[:, None] + squares - 2 * products
    return np.sqrt(np.maximum(square, 0))


def neighbour_weights(
    distance: np.ndarray, share: float, count: int | None, kernel: str, bandwidth: float, relative: bool = True
) -> np.ndarray:
    """Weights p ``(m,n)`` of the rows of distance (m,n): they sum to 1 and are zero beyond the nearest.

    The nearest are ``count`` or floor(share*n) images. ``bandwidth`` is in units of their median distance unless
    ``relative`` is False. A row is NaN where fewer than two images have weight. InputError: an option out of range.
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
        nearest = slice(None) if count == n else np.argsort(d, kind="stable")[:count]
        width = bandwidth * float(np.median(d[nearest])) if relative else bandwidth
        if width > 0:
            row[nearest] = KERNELS[kernel](d[nearest] / width)
        if np.count_nonzero(row) < 2:
            row[:] = np.nan
        row /= row.sum()
    return p


def haufe_patterns(data: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Patterns of several outputs at once: ``A = Cov(x) W Cov(W'x)^-1`` (equation 3).

    data (n,d), weights W (d,K) -> ``(d,K)``. NotApplicable when the outputs are linearly dependent.
    """
    weights, size = _sized(weights.T)
    outputs = data @ weights.T.astype(data.dtype)
    outputs = outputs.astype(np.float64) - outputs.mean(0, dtype=np.float64)
    inner = outputs.T @ outputs
    if np.linalg.matrix_rank(inner, hermitian=True) < inner.shape[0]:
        raise NotApplicable("The outputs are linearly dependent, so their patterns cannot be separated.")
    return (np.linalg.solve(inner, (outputs.astype(data.dtype).T @ data).astype(np.float64)) / size).T


def _sized(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights (m,d) as ``size (m,1)`` times weights of largest value 1 to 2, which float32 can hold in any unit.

    Sizes are powers of two, so that nothing is rounded.
    """
    power = np.frexp(np.abs(weights).max(1, keepdims=True))[1] - 1
    return np.ldexp(weights, -power), np.ldexp(1.0, power)
