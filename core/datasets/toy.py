"""Toy problems small enough for closed forms: a suppressor in two variables, and in XOR (PatternLocal, 2.2, 3.2)."""

from __future__ import annotations

import numpy as np


def linear_suppressor(samples: int, sigma_d: float, rng: np.random.Generator) -> np.ndarray:
    """``x1 = s + d, x2 = d`` (n,2): the best readout [1,-1] uses x2, which knows nothing of the signal s."""
    s, d = rng.standard_normal(samples), sigma_d * rng.standard_normal(samples)
    return np.column_stack([s + d, d])


def linear_covariance(sigma_d: float) -> np.ndarray:
    """Covariance (2,2) of x in the linear problem."""
    return np.array([[1 + sigma_d**2, sigma_d**2], [sigma_d**2, sigma_d**2]])


def linear_accuracy(sigma_d: float, x2_weight: float) -> float:
    """How often ``sign(x1 + v x2)`` is the sign of s: ``1/2 + arcsin(r)/pi``, r their correlation.

    Two normal variables with correlation r have the same sign that often; here x1 + v x2 = s + (1 + v) d.
    """
    return 0.5 + float(np.arcsin(1 / np.hypot(1, (1 + x2_weight) * sigma_d))) / np.pi


def xor_suppressor(samples: int, sigma_d: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """``x = (s1 + d, s2 - d, d)`` (n,3) and ``y = sign(s1 s2)`` (n,), equation 8: x3 is a suppressor."""
    s1, s2, d = rng.standard_normal((3, samples)) * np.array([[1.0], [1.0], [sigma_d]])
    return np.column_stack([s1 + d, s2 - d, d]), np.sign(s1 * s2)


def xor_decision(x: np.ndarray) -> np.ndarray:
    """The optimal decision function ``f = (x1 - x3)(x2 + x3)`` (n,) of points (n,3)."""
    return (x[:, 0] - x[:, 2]) * (x[:, 1] + x[:, 2])


def xor_output(x: np.ndarray, tau: float) -> np.ndarray:
    """The smooth classifier ``tanh(f / tau)`` (n,) of points (n,3)."""
    return np.tanh(xor_decision(x) / tau)


def xor_slope(x: np.ndarray, tau: float) -> np.ndarray:
    """Its steepness ``c = sech^2(f / tau) / tau`` (n,), equation 9: the gradient is c times the direction."""
    far = np.minimum(np.abs(xor_decision(x)) / tau, 350)  # beyond, cosh^2 leaves float64
    return 1 / (tau * np.square(np.cosh(far)))


def xor_direction(x: np.ndarray) -> np.ndarray:
    """Direction of its gradient ``(x2 + x3, x1 - x3, x1 - x2 - 2 x3)`` (n,3), equation 9; w1 - w2 + w3 = 0."""
    return np.column_stack([x[:, 1] + x[:, 2], x[:, 0] - x[:, 2], x[:, 0] - x[:, 1] - 2 * x[:, 2]])


def xor_covariance(sigma_d: float) -> np.ndarray:
    """Covariance (3,3) of x in the XOR problem."""
    mixing = np.array([[1, 0, 1], [0, 1, -1], [0, 0, 1]], float) * np.array([1, 1, sigma_d])
    return mixing @ mixing.T


def xor_pattern(x: np.ndarray, sigma_d: float, bandwidth: float) -> np.ndarray:
    """PatternLocal's direction (n,3) at points x for a Gaussian kernel of any width, in closed form.

    x is normal, so under a Gaussian kernel of width b its covariance is ``(S^-1 + I/b^2)^-1`` at every point.
    The paper's "a3 = 0 for any isotropic kernel" is this for b = infinity; b -> 0 gives the gradient back.
    """
    return xor_direction(x) @ local_covariance(xor_covariance(sigma_d), bandwidth)


def xor_share(sigma_d: float, bandwidth: float, angles: int = 3600) -> float:
    """x3's mean share ``|a3| / sum |a|`` of PatternLocal's direction in the XOR problem; bandwidth 0: the gradient's.

    The direction is ``(s2, s1, s1 - s2)`` up to a linear map, so the share depends on the angle of (s1, s2)
    only, and that is uniform: the mean is an integral over one turn.
    """
    turn = 2 * np.pi * (np.arange(angles) + 0.5) / angles
    x = np.column_stack([np.cos(turn), np.sin(turn), np.zeros(angles)])
    return third_share(xor_pattern(x, sigma_d, bandwidth) if bandwidth else xor_direction(x))


def local_covariance(covariance: np.ndarray, bandwidth: float) -> np.ndarray:
    """Covariance (d,d) of normal data seen through a Gaussian kernel: ``(S^-1 + I/b^2)^-1``, wherever its centre.

    Written ``S (I + S/b^2)^-1``, so that S may be singular (a variable that never moves) and b infinite.
    """
    return covariance @ np.linalg.inv(np.eye(len(covariance)) + covariance / bandwidth**2)


def shares(vectors: np.ndarray) -> np.ndarray:
    """``|a_d| / sum |a|`` (n,) of vectors (n,d): the importance given to the last variable, NaN where all are 0."""
    size = np.abs(vectors)
    total = size.sum(1)
    return np.divide(size[:, -1], total, out=np.full(len(size), np.nan), where=total > 0)


def third_share(vectors: np.ndarray) -> float:
    """Mean of ``|a3| / sum |a|`` over vectors (n,3): the importance given to the suppressor."""
    return float(shares(vectors).mean())
