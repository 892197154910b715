"""Numbers that describe maps and sets of maps, beside the metrics that score one against the ground truth."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np


def share_of_mass(values: np.ndarray, pixel: tuple[int, int]) -> float:
    """The share of the map's sum of |value| that one pixel (row, column) has; NaN in an all-zero map."""
    mass = float(np.abs(values).sum())
    return abs(float(values[pixel])) / mass if mass else math.nan


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Pearson's correlation of two arrays of one size; NaN where one of them is constant."""
    return float(np.corrcoef(a.ravel(), b.ravel())[0, 1]) if np.ptp(a) and np.ptp(b) else math.nan


def effective_number(weights: np.ndarray) -> float:
    """How many equal weights vary as little as these ``(n,)``, whose sum is 1: ``1 / sum p^2`` (Kish)."""
    return 1 / float(np.square(weights).sum())


@dataclass(frozen=True)
class Variation:
    """How maps of one image vary: their standard ``deviation (h,w)`` as a share of the mean map's largest |value|,
    its ``average`` as a multiple of the mean map's average |value|, and whether all maps are ``identical``.
    """

    deviation: np.ndarray
    average: float
    identical: bool


def variation(maps: Sequence[np.ndarray]) -> Variation:
    """How maps ``(h,w)`` of one image vary, for instance over seeds."""
    values = np.stack(maps)
    deviation, mean = values.std(0), np.abs(values.mean(0))
    return Variation(
        deviation / (mean.max() or 1.0),
        float(deviation.mean() / (mean.mean() or 1.0)),
        not np.ptp(values, axis=0).any(),
    )


def ranks(scores: Mapping[str, float], lower_is_better: bool) -> dict[str, int]:
    """The rank of each score by name, 1 the best; equal scores share a rank, undefined (NaN) ones have none."""
    sign = 1 if lower_is_better else -1
    known = {name: sign * score for name, score in scores.items() if not math.isnan(score)}
    return {name: 1 + sum(other < score for other in known.values()) for name, score in known.items()}
