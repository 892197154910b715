"""Measures of OpenAPI, section V: whether samples stay in one linear region, and how alike two explanations are."""

from __future__ import annotations

import numpy as np


def region_difference(pattern: np.ndarray, samples: np.ndarray) -> int:
    """RD: 0 if all samples lie in the input's region, else 1.

    ``pattern (k,)`` is the activation pattern of the input, ``samples (n,k)`` are those of the samples.
    """
    return int((samples != pattern).any())


def weight_difference(pairs: np.ndarray, regions: np.ndarray, shares: np.ndarray) -> float:
    """WD: the mean over samples i of ``sum_c' |D_{c,c'} - D^i_{c,c'}|_1``.

    ``pairs (C-1,d)`` are the weights at the input; ``regions (r,C-1,d)`` those of the regions in which samples lie, a
    share ``shares (r,)`` of them in each.
    """
    return float(sum(share * np.abs(others - pairs).sum() for others, share in zip(regions, shares)))


def l1_distance(weights: np.ndarray, truth: np.ndarray) -> float:
    """L1Dist: ``sum |D*_c - D_c|`` of an explanation's ``weights`` and the true decision features ``truth``, (d,)."""
    return float(np.abs(weights - truth).sum())


def relative_l1(weights: np.ndarray, truth: np.ndarray) -> float:
    """L1Dist as a share of ``sum |D_c|``; NaN where the truth is zero everywhere."""
    size = float(np.abs(truth).sum())
    return l1_distance(weights, truth) / size if size else float("nan")


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    """CS: the cosine of the angle between two maps of one shape; NaN where one of them is zero everywhere."""
    length = np.linalg.norm(a) * np.linalg.norm(b)
    return float((a * b).sum() / length) if length > 0 else float("nan")


def sign_flips(a: np.ndarray, b: np.ndarray, share: float = 0.1) -> np.ndarray:
    """The pixels ``(h,w)`` with opposite signs in two maps, above ``share`` of each map's largest |value|."""
    return (np.sign(a) == -np.sign(b)) & np.all([np.abs(m) > share * np.abs(m).max() for m in (a, b)], axis=0)
