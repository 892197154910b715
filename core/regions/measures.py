"""How well an explanation knows its linear region, and how alike two explanations are (OpenAPI, section V)."""

from __future__ import annotations

import numpy as np


def region_difference(here: np.ndarray, samples: np.ndarray) -> int:
    """RD: 0 if all samples have the input's own switch settings, else 1, of ``here (k,)`` and ``samples (n,k)``."""
    return int((samples != here).any())


def weight_difference(here: np.ndarray, regions: np.ndarray, shares: np.ndarray) -> float:
    """WD: mean over samples i of sum_{c'} ``|D_{c,c'} - D^i_{c,c'}|_1``, of ``here (C-1,d)`` and the samples'
    ``regions (r,C-1,d)``, in each of which a share ``(r,)`` of them lies.
    """
    return float(sum(share * np.abs(pairs - here).sum() for pairs, share in zip(regions, shares)))


def l1_distance(found: np.ndarray, truth: np.ndarray) -> float:
    """L1Dist: ``sum |D*_c - D_c|`` of an explanation and the true decision features."""
    return float(np.abs(found - truth).sum())


def relative_l1(found: np.ndarray, truth: np.ndarray) -> float:
    """L1Dist as a share of ``sum |D_c|``; NaN where the truth is all zero."""
    size = float(np.abs(truth).sum())
    return l1_distance(found, truth) / size if size else float("nan")


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    """CS: cosine of the angle between two maps; NaN where one of them is zero."""
    length = np.linalg.norm(a) * np.linalg.norm(b)
    return float((a * b).sum() / length) if length > 0 else float("nan")


def sign_flips(a: np.ndarray, b: np.ndarray, share: float = 0.1) -> np.ndarray:
    """The pixels ``(h,w)`` with opposite signs in two maps, above ``share`` of each map's largest |value|."""
    return (np.sign(a) == -np.sign(b)) & np.all([np.abs(m) > share * np.abs(m).max() for m in (a, b)], axis=0)
