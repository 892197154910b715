"""XOR with a suppressor (PatternLocal, section 3.2 and Figure 2): 2,500 points, four methods, one bandwidth.

``x = (s1 + d, s2 - d, d)``; the answer is sign(s1 s2), about which x3 carries no information. Methods run on all
points at once; tests compare them with the registered ones.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.cache import cached
from core.datasets import toy
from core.lessons.two_variables import POINTS
from core.registry import METHODS

METHODS_SHOWN = ("gradient", "lime", "kernelshap", "patternlocal")
CURVE = np.geomspace(0.05, 20, 40)
SAMPLED = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
CENTRES_PER_BLOCK = 10  # products this small fit a cache, and BLAS does not start (and wait for) threads for them
FAINT = -80.0  # smallest exponent of a weight: below, numbers are subnormal, which is slow
FLAT_SLOPE = 1e-12  # below, a gradient is only rounding
LIME = {"sampling": "gaussian", "n_samples": 400}  # options of the registered method; the others at their defaults


@dataclass(frozen=True)
class Xor:
    """Step 3. Points ``x (n,3)`` with answers ``y (n,)``; per method the ``share (n,)`` of importance x3 gets.

    A share is ``|a3| / sum |a|``, NaN where the method's map is empty. ``closed`` is PatternLocal's mean share in
    closed form at the same points; ``effective_sample_size`` is the mean ``1 / sum p^2`` of the neighbourhoods.
    ``notes`` explain what happens at extreme settings.
    """

    x: np.ndarray
    y: np.ndarray
    share: Mapping[str, np.ndarray]
    closed: float
    effective_sample_size: float
    correlation: float
    notes: tuple[str, ...]

    @property
    def mean(self) -> dict[str, float]:
        """The mean share of x3 by method, over the points where it is defined."""
        return {m: float(np.nanmean(v)) if np.isfinite(v).any() else math.nan for m, v in self.share.items()}

    @property
    def empty(self) -> dict[str, int]:
        """The number of points at which a method's map is empty."""
        return {m: int(np.isnan(v).sum()) for m, v in self.share.items()}

    def numbers(self) -> dict[str, Any]:
        """The numbers of this step as plain values."""
        return {
            "mean_share_of_x3": self.mean,
            "empty": self.empty,
            "patternlocal_closed_form": self.closed,
            "effective_sample_size": self.effective_sample_size,
            "correlation_of_x3_with_y": self.correlation,
            "notes": list(self.notes),
        }


@cached(32)
def _points(sigma_d: float, samples: int = POINTS) -> tuple[np.ndarray, np.ndarray]:
    return toy.xor_suppressor(samples, sigma_d, np.random.default_rng(0))


@cached(32)
def xor(sigma_d: float = 1.0, tau: float = 0.5, bandwidth: float = 5.0) -> Xor:
    """The importance that four methods give to the suppressor x3, for the classifier ``tanh(f/tau)``."""
    x, y = _points(sigma_d)
    pattern_shares, effective_sample_size = _pattern_shares(sigma_d, bandwidth)
    share = {
        "gradient": toy.shares(toy.xor_direction(x)),
        "lime": _lime_shares(sigma_d, tau),
        "kernelshap": _shapley_shares(sigma_d, tau),
        "patternlocal": pattern_shares,
    }
    correlation = float(np.corrcoef(x[:, 2], y)[0, 1]) if sigma_d else 0.0
    closed = toy.third_share(toy.xor_pattern(x, sigma_d, bandwidth))
    return Xor(
        x,
        y,
        share,
        closed,
        effective_sample_size,
        correlation,
        _notes(
            sigma_d,
            bandwidth,
            int((toy.xor_slope(x, tau) < FLAT_SLOPE).sum()),
            effective_sample_size,
            int(np.isnan(pattern_shares).sum()),
        ),
    )


def _notes(sigma_d: float, bandwidth: float, flat: int, effective_sample_size: float, alone: int) -> tuple[str, ...]:
    notes = []
    if not sigma_d:
        notes.append(
            "Without d, x3 is always 0. The gradient still gives it a weight, because the output would "
            "change if x3 did. LIME, SHAP and the pattern take into account how x3 varies in the data, and "
            "it does not."
        )
    if flat:
        notes.append(
            f"The classifier is almost a step: at {flat:,} of {POINTS:,} points its slope is below 1e-12. "
            "There the gradient is zero in practice; its direction is computed from the formula."
        )
    if alone or effective_sample_size < 2:
        what = f"{alone:,} points have no neighbour within reach and so no pattern. " if alone else ""
        notes.append(
            f"b = {bandwidth:g} is smaller than the gaps between points: {what}The effective sample size of "
            f"a neighbourhood is {effective_sample_size:.1f}, so a pattern follows a single pair of points "
            "and is mostly noise."
        )
    return tuple(notes)


@cached(64)
def _pattern_shares(sigma_d: float, bandwidth: float) -> tuple[np.ndarray, float]:
    x = _points(sigma_d)[0]
    pattern, effective_sample_size = xor_patterns(x, toy.xor_direction(x), x, bandwidth)
    return toy.shares(pattern), effective_sample_size


def xor_patterns(
    data: np.ndarray, weights: np.ndarray, centers: np.ndarray, bandwidth: float
) -> tuple[np.ndarray, float]:
    """PatternLocal ``Cov_p(x) w`` (m,3) for weights and centers (m,3), p a Gaussian kernel over data (n,3).

    Few variables and many centres: all local covariances come from one product of p with x and its squares. NaN where
    no second point has weight. Also the mean effective sample size ``1 / sum p^2`` of the neighbourhoods.
    """
    upper = np.triu_indices(3)
    moments = np.column_stack([np.ones(len(data)), data, data[:, upper[0]] * data[:, upper[1]]])
    # -|x - c|^2 / 2 as one product; weights in single precision are another kernel by 1e-7, all sums are double.
    x, c = data / bandwidth, centers / bandwidth
    x = np.column_stack([x, np.ones(len(x)), np.square(x).sum(1) / -2]).T
    c = np.column_stack([c, np.square(c).sum(1) / -2, np.ones(len(c))])
    sums, squares = np.empty((len(centers), moments.shape[1])), np.empty(len(centers))
    for first in range(0, len(centers), CENTRES_PER_BLOCK):
        rows = slice(first, first + CENTRES_PER_BLOCK)
        p = np.exp(np.maximum(c[rows] @ x, FAINT).astype(np.float32)).astype(np.float64)
        sums[rows], squares[rows] = p @ moments, np.einsum("ij,ij->i", p, p)
    total, mean, second = np.split(sums, [1, 4], axis=1)
    mean, second = mean / total, second / total
    covariance = np.zeros((len(centers), 3, 3))
    covariance[:, *upper] = covariance[:, *upper[::-1]] = second - mean[:, upper[0]] * mean[:, upper[1]]
    counts = total[:, 0] ** 2 / squares
    pattern = np.einsum("ijk,ik->ij", covariance, weights)
    return np.where(counts[:, None] < 1 + FLAT_SLOPE, np.nan, pattern), float(counts.mean())


@cached(64)
def _lime_shares(sigma_d: float, tau: float) -> np.ndarray:
    return toy.shares(lime(_points(sigma_d)[0], tau))


def lime(x: np.ndarray, tau: float, seed: int = 0) -> np.ndarray:
    """LIME's weights (n,3) at points x (n,3): the registered method with the options LIME, all points at once.

    All points share one draw of perturbations, in units of each variable's standard deviation, and the kernel and
    ridge that belong to it.
    """
    options = METHODS["lime"].check(LIME)
    data = x.astype(np.float32)
    deviation = data.std(0, dtype=np.float64).astype(np.float32)
    z = deviation * np.random.default_rng(seed).standard_normal((options["n_samples"], 3), dtype=np.float32)
    z *= np.float32(options["spread"])
    square = np.square(z, dtype=np.float64).sum(1)
    p = np.exp(-square / square.mean() / (2 * options["kernel_width"]) ** 2)
    p /= p.sum()
    rows = (z - p @ z) * np.sqrt(p)[:, None]
    gram = rows.T @ rows
    solved = np.linalg.solve(gram + options["ridge"] * np.trace(gram) / 3 * np.eye(3), rows.T)
    weights = []
    for part in np.array_split(data, max(1, len(x) // 100)):
        f = toy.xor_output((part[:, None] + z).reshape(-1, 3), tau).reshape(len(part), -1).astype(np.float64)
        weights.append((np.sqrt(p) * (f - (f @ p)[:, None])) @ solved.T)
    return np.concatenate(weights)


@cached(64)
def _shapley_shares(sigma_d: float, tau: float) -> np.ndarray:
    return toy.shares(shapley(_points(sigma_d)[0], tau))


def shapley(x: np.ndarray, tau: float) -> np.ndarray:
    """Shapley values (n,3) of ``tanh(f/tau)`` at points x (n,3), an absent variable being 0.

    Identical to the registered KernelSHAP when it evaluates all coalitions.
    """
    players = range(x.shape[1])
    value = {
        s: toy.xor_output(x * np.isin(players, s), tau)
        for size in range(len(players) + 1)
        for s in itertools.combinations(players, size)
    }
    values = np.zeros_like(x)
    for s, before in value.items():
        share = math.factorial(len(s)) * math.factorial(len(players) - len(s) - 1) if len(s) < len(players) else 0
        for i in set(players) - set(s):
            values[:, i] += share / math.factorial(len(players)) * (value[tuple(sorted((*s, i)))] - before)
    return values


@dataclass(frozen=True)
class BandwidthCurve:
    """The bandwidth lesson: the mean share of the pattern that falls on x3, as a function of the kernel's width.

    ``closed (k,)`` is the closed form at CURVE, ``sampled (m,)`` the estimate from ``samples`` points at SAMPLED.
    ``gradient`` is the limit of a narrow kernel; that of a wide one is 0. ``at`` is the closed form at ``bandwidth``
    and ``local (3,3)`` its local covariance.
    """

    sigma_d: float
    bandwidth: float
    closed: np.ndarray
    sampled: np.ndarray
    gradient: float
    at: float
    local: np.ndarray
    samples: int
    note: str = ""

    def numbers(self) -> dict[str, Any]:
        """The numbers of this step as plain values."""
        return {
            "bandwidths": CURVE.tolist(),
            "closed_form": self.closed.tolist(),
            "sampled_at": list(SAMPLED),
            "sampled": self.sampled.tolist(),
            "samples": self.samples,
            "gradient": self.gradient,
            "at_bandwidth": self.at,
            "local_covariance": self.local.tolist(),
            "note": self.note,
        }


def bandwidth_curve(sigma_d: float = 1.0, bandwidth: float = 5.0) -> BandwidthCurve:
    """How large a neighbourhood must be for the suppressor to drop out."""
    local = toy.local_covariance(toy.xor_covariance(sigma_d), bandwidth)
    note = (
        ""
        if sigma_d
        else ("Without d, x3 never varies, so no pattern highlights it, however small the neighbourhood.")
    )
    return BandwidthCurve(
        sigma_d,
        bandwidth,
        _closed_curve(sigma_d),
        sampled_curve(sigma_d),
        toy.xor_share(sigma_d, 0),
        toy.xor_share(sigma_d, bandwidth),
        local,
        POINTS,
        note,
    )


@cached(64)
def _closed_curve(sigma_d: float) -> np.ndarray:
    return np.array([toy.xor_share(sigma_d, b) for b in CURVE])


@cached(64)
def sampled_curve(sigma_d: float, samples: int = POINTS, centers: int = 500) -> np.ndarray:
    """The share estimated from ``samples`` points at the first ``centers`` of them, for each width in SAMPLED."""
    x = _points(sigma_d, samples)[0]
    at = x[:centers]
    patterns = (xor_patterns(x, toy.xor_direction(at), at, bandwidth)[0] for bandwidth in SAMPLED)
    return np.array([float(np.nanmean(toy.shares(a))) for a in patterns])
