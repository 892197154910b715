"""Two variables, ``x1 = s + d`` and ``x2 = d``: why the best weight is [1, -1], and what its pattern is.

PatternLocal, section 2.2; Haufe et al. 2014. The answer is the sign of s; x2 carries no information about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from core.cache import cached
from core.datasets import toy
from core.methods.context import Context, TrainingImages
from core.methods.pattern import haufe_patterns
from core.models.model import Model, freeze
from core.registry import METHODS
from core.types import NotApplicable

POINTS = 2500
BEST = np.array([1.0, -1.0])
WEIGHTS = np.linspace(-2, 1, 61)  # of x2, at which the accuracy is drawn
EXPLAINED: dict[str, dict[str, Any]] = {  # methods of the second step, with options that differ from the defaults
    "gradient": {},
    "lime": {"sampling": "gaussian"},
    "kernelshap": {},
    "openapi": {},
    "pattern": {},
}


@dataclass(frozen=True)
class TwoVariables:
    """Step 1. Points ``x (n,2)``, and whether their answer is ``positive (n,)``.

    ``best (2,)`` are the least-squares weights for s. ``accuracy`` on the points and its ``closed`` form are those of
    the reader's model, of x1 alone, of x2 alone and of the best weights; ``curve (61,)`` is the closed form at
    WEIGHTS.
    """

    sigma_d: float
    x2_weight: float
    x: np.ndarray
    positive: np.ndarray
    best: np.ndarray
    accuracy: Mapping[str, float]
    closed: Mapping[str, float]
    curve: np.ndarray
    correlation: float
    note: str = ""

    def numbers(self) -> dict[str, Any]:
        """The numbers of this step as plain values."""
        return {
            "best": self.best.tolist(),
            "accuracy": dict(self.accuracy),
            "closed_form": dict(self.closed),
            "correlation_of_x2_with_s": self.correlation,
            "note": self.note,
        }


@cached(64)
def _points(sigma_d: float) -> tuple[np.ndarray, np.ndarray]:
    x = toy.linear_suppressor(POINTS, sigma_d, np.random.default_rng(0))
    return x, x[:, 0] - x[:, 1]


@cached(64)
def two_variables(sigma_d: float = 1.0, x2_weight: float = 0.0) -> TwoVariables:
    """How often the sign of ``x1 + v x2`` is the sign of s, for the reader's v and for the best one."""
    x, s = _points(sigma_d)
    best = np.linalg.lstsq(x, s, rcond=None)[0]
    readers = {
        "yours": np.array([1.0, x2_weight]),
        "x1 alone": np.array([1.0, 0.0]),
        "x2 alone": np.array([0.0, 1.0]),
        "best": best,
    }
    closed = {
        "yours": toy.linear_accuracy(sigma_d, x2_weight),
        "x1 alone": toy.linear_accuracy(sigma_d, 0.0),
        "x2 alone": 0.5,
        "best": 1.0,
    }
    note = (
        ""
        if sigma_d
        else (
            "Without d, x2 is always 0 and there is nothing to cancel: every weight on it gives "
            "the same answers, and x1 alone is always right."
        )
    )
    return TwoVariables(
        sigma_d,
        x2_weight,
        x,
        s > 0,
        best,
        {name: float(((x @ w > 0) == (s > 0)).mean()) for name, w in readers.items()},
        closed,
        np.array([toy.linear_accuracy(sigma_d, v) for v in WEIGHTS]),
        float(np.corrcoef(x[:, 1], s)[0, 1]) if sigma_d else 0.0,
        note,
    )


@dataclass(frozen=True)
class WeightToPattern:
    """Step 2. ``covariance (2,2)`` and ``pattern (2,)`` in closed form, and as measured on the points ``x (n,2)``.

    ``importance`` holds each method's attribution (2,) at the point ``at (2,)``, or the reason why there is none.
    """

    sigma_d: float
    x: np.ndarray
    positive: np.ndarray
    at: np.ndarray
    covariance: np.ndarray
    pattern: np.ndarray
    measured_covariance: np.ndarray
    measured_pattern: np.ndarray
    importance: Mapping[str, np.ndarray | str]
    note: str = ""

    @property
    def share(self) -> dict[str, float]:
        """The share of each method's importance that falls on x2."""
        return {m: float(toy.shares(v[None])[0]) for m, v in self.importance.items() if not isinstance(v, str)}

    def numbers(self) -> dict[str, Any]:
        """The numbers of this step as plain values."""
        return {
            "covariance": self.covariance.tolist(),
            "weight": BEST.tolist(),
            "pattern": self.pattern.tolist(),
            "measured_covariance": self.measured_covariance.tolist(),
            "measured_pattern": self.measured_pattern.tolist(),
            "at": self.at.tolist(),
            "importance": {m: v if isinstance(v, str) else v.tolist() for m, v in self.importance.items()},
            "share_of_x2": self.share,
            "note": self.note,
        }


@cached(64)
def weight_to_pattern(sigma_d: float = 1.0) -> WeightToPattern:
    """The best weight [1, -1], its pattern ``Cov(x) w / Var(w'x)``, and attributions at s = 1, d = sigma_d."""
    x, s = _points(sigma_d)
    covariance = toy.linear_covariance(sigma_d)
    at = np.array([1 + sigma_d, sigma_d])
    importance: dict[str, np.ndarray | str] = {}
    for method, options in EXPLAINED.items():
        try:
            importance[method] = explain_linear(method, BEST, at, x, options)
        except NotApplicable as reason:
            importance[method] = str(reason)
    note = (
        ""
        if sigma_d
        else (
            "Without d there is nothing to suppress: x2 is always 0. Gradient and OpenAPI still "
            "give it a weight; methods that take into account how x2 varies give it nothing."
        )
    )
    return WeightToPattern(
        sigma_d,
        x,
        s > 0,
        at,
        covariance,
        covariance @ BEST / (BEST @ covariance @ BEST),
        np.cov(x.T),
        haufe_patterns(x, BEST[:, None])[:, 0],
        importance,
        note,
    )


def explain_linear(
    method: str, weights: np.ndarray, at: np.ndarray, data: np.ndarray, options: Mapping[str, Any]
) -> np.ndarray:
    """A registered method's attribution ``(d,)`` float64 at a point ``at (d,)``, of the model ``sign(weights'x)``."""
    layer = nn.Linear(len(weights), 2, bias=False)
    layer.weight.data = torch.tensor(np.stack([-weights, weights]) / 2, dtype=torch.float32)
    model = Model("toy", freeze(nn.Sequential(nn.Flatten(), layer)), 1.0)
    training = TrainingImages(data[:, None, :].astype(np.float32), np.zeros(len(data), np.int64))
    entry = METHODS[method]
    context = Context(model, at[None, :], 1, "margin", training)
    return np.asarray(entry.function(context, **entry.check(options)), np.float64).ravel()
