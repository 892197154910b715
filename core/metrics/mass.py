"""How much of a map's mass lies on the important pixels."""

from __future__ import annotations

import numpy as np

from core.registry import METRICS
from core.types import InputError, NotApplicable


def mass_and_mask(values: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """|values| with sum 1 and the mask, both ``(h,w)``; every metric starts here.

    InputError for other shapes, NaN or infinite values and an empty mask; NotApplicable for a map
    without mass, whose score is undefined.
    """
    values, mask = np.asarray(values, np.float64), np.asarray(mask)
    if values.ndim != 2 or values.shape != mask.shape:
        raise InputError(f"Map and mask must be images of one shape (h,w), not {values.shape} and {mask.shape}.")
    if mask.dtype != bool:
        raise InputError(f"A mask must be of type bool, not {mask.dtype}.")
    if bad := int((~np.isfinite(values)).sum()):
        raise InputError(f"The map holds {bad} values that are NaN or infinite, the first at "
                         f"{tuple(map(int, np.argwhere(~np.isfinite(values))[0]))}.")
    if not mask.any():
        raise InputError("The mask is empty: no pixel is important, so nothing can be scored.")
    mass = np.abs(values)
    largest = mass.max()
    if largest == 0:
        raise NotApplicable("empty map")
    mass /= largest
    return mass / mass.sum(), mask


@METRICS.register(
    "ime", label="IME", reference="PatternLocal, equation 11",
    summary="Importance mass error: the share of |map| that lies outside the important pixels.")
def ime(values: np.ndarray, mask: np.ndarray) -> float:
    """``1 - sum of |s| over F+ / sum of |s|`` of values (h,w) under mask (h,w), in [0, 1]."""
    mass, mask = mass_and_mask(values, mask)
    return float(mass[~mask].sum())


@METRICS.register(
    "precision", label="Precision", lower_is_better=False, reference="XAI-TRIS, precision",
    summary="Precision@|F+|: of as many largest pixels as there are important ones, the share that is.")
def precision(values: np.ndarray, mask: np.ndarray) -> float:
    """Share of the |F+| largest |s| that lie in F+; pixels tied at the border count by their share."""
    mass, mask = mass_and_mask(values, mask)
    count = int(mask.sum())
    border = np.partition(mass, -count, axis=None)[-count]
    above, tied = mass > border, mass == border
    places = count - int(above.sum())
    return float((above & mask).sum() + places * (tied & mask).sum() / tied.sum()) / count
