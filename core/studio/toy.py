"""The XOR problem with a suppressor (PatternLocal, section 3.2 and Figure 2) as the figure studio draws it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.datasets import toy
from core.lessons.xor import lime, shapley, xor_patterns
from core.registry import METHODS


@dataclass(frozen=True)
class Toy:
    """Points x (n,3) and by each method's name the share ``|a3| / sum |a|`` (n,) it gives to the suppressor."""

    x: np.ndarray
    shares: dict[str, np.ndarray]


def importance_of_the_suppressor(samples: int, sigma_d: float, tau: float, bandwidth: float, seed: int) -> Toy:
    """The four methods of the lesson (core.lessons) on any number of points with any seed."""
    x, _ = toy.xor_suppressor(samples, sigma_d, np.random.default_rng(seed))
    gradient = toy.xor_direction(x)  # the true one has a positive factor more, which no share sees
    maps = {
        "gradient": gradient,
        "lime": lime(x, tau, seed),
        "kernelshap": shapley(x, tau),
        "patternlocal": xor_patterns(x, gradient, x, bandwidth)[0],
    }
    return Toy(x, {METHODS[name].label: toy.shares(a) for name, a in maps.items()})
