"""Four methods on the XOR problem with a suppressor (PatternLocal, section 3.2 and Figure 2), at every point."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from core.datasets import toy
from core.methods.pattern import local_patterns
from core.methods.surrogate import coalitions, weighted_ridge

CHUNK = 250  # points whose neighbourhoods are weighed at a time


@dataclass(frozen=True)
class Toy:
    """Points x (n,3) and for each method the share ``|a3| / sum |a|`` (n,) it gives to the suppressor."""

    x: np.ndarray
    shares: dict[str, np.ndarray]


def importance_of_the_suppressor(samples: int, sigma_d: float, tau: float, bandwidth: float, seed: int) -> Toy:
    """Gradient, LIME, KernelSHAP and PatternLocal of the smooth classifier at ``samples`` points.

    LIME and KernelSHAP switch variables to 0, their mean, and see all 8 coalitions; LIME's kernel is
    ``exp(-(zeros / (D/2))^2)``. PatternLocal follows the gradient in a Gaussian neighbourhood of ``bandwidth``
    among the points themselves.
    """
    x, _ = toy.xor_suppressor(samples, sigma_d, np.random.default_rng(seed))
    masks, shapley = _shapley()
    answers = np.stack([toy.xor_output(x * mask, tau) for mask in masks], -1)  # (n,8)
    zeros = 3 - masks.sum(1)
    p = np.exp(-np.square(zeros / 1.5))
    lime = np.stack([weighted_ridge(masks, one, p, 1e-6).weights for one in np.eye(8)], -1)
    gradient = toy.xor_direction(x)  # the true one has a positive factor more, which no share sees
    pattern = np.concatenate([local_patterns(gradient[i:i + CHUNK], x, x[i:i + CHUNK], bandwidth=bandwidth)
                              for i in range(0, samples, CHUNK)])
    maps = {"Gradient": gradient, "LIME": answers @ lime.T, "KernelSHAP": answers @ shapley.T,
            "PatternLocal": pattern}
    return Toy(x, {name: _share(a) for name, a in maps.items()})


def _share(a: np.ndarray) -> np.ndarray:
    size = np.abs(a)
    total = size.sum(1)
    return np.divide(size[:, 2], total, out=np.full(len(a), np.nan), where=total > 0)


def _shapley() -> tuple[np.ndarray, np.ndarray]:
    """All coalitions of three variables (8,3), and the matrix (3,8) from their answers to Shapley values."""
    inner, _ = coalitions(3, 0, np.random.default_rng(0))
    masks = np.concatenate([np.zeros((1, 3)), inner, np.ones((1, 3))])
    matrix = np.zeros((3, 8))
    for row, mask in enumerate(masks):
        k = int(mask.sum())
        for j in range(3):
            without = k - int(mask[j])  # size of the coalition that variable j joins or has joined
            weight = math.factorial(without) * math.factorial(2 - without) / math.factorial(3)
            matrix[j, row] = weight if mask[j] else -weight
    return masks, matrix
