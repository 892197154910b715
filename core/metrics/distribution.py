"""The first step of every score: the map as a distribution of importance over pixels."""

from __future__ import annotations

import numpy as np

from core.types import InputError, NotApplicable


def mass_and_mask(values: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``|values|`` scaled to sum 1 (float64) and the mask (bool), both ``(h,w)``; every metric starts here.

    InputError for shapes that differ, a mask that is not bool or is empty, and NaN or infinite values; NotApplicable
    for an all-zero map, whose score is undefined.
    """
    values, mask = np.asarray(values, np.float64), np.asarray(mask)
    if values.ndim != 2 or values.shape != mask.shape:
        raise InputError(f"Map and mask must be images of one shape (h,w), not {values.shape} and {mask.shape}.")
    if mask.dtype != bool:
        raise InputError(f"A mask must be of type bool, not {mask.dtype}.")
    if bad := int((~np.isfinite(values)).sum()):
        raise InputError(
            f"The map holds {bad} values that are NaN or infinite, the first at "
            f"{tuple(map(int, np.argwhere(~np.isfinite(values))[0]))}."
        )
    if not mask.any():
        raise InputError("The mask is empty: no pixel is important, so nothing can be scored.")
    mass = np.abs(values)
    largest = mass.max()
    if largest == 0:
        raise NotApplicable("empty map")
    mass /= largest
    return mass / mass.sum(), mask
