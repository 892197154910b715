"""What every score begins with: a map as a distribution of importance."""

from __future__ import annotations

import numpy as np

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
