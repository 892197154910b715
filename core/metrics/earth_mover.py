"""Earth Mover's Distance between a map and the important pixels."""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from core.metrics import transport_solver
from core.metrics.distribution import mass_and_mask
from core.registry import METRICS
from core.types import InputError, NotApplicable


@METRICS.register(
    "emd", label="EMD", slow=True,
    formula="OT(|s|, F⁺) / δ",
    misleads="A network that rightly uses a part of the shape is punished for the rest; IME forgives that.",
    reference="PatternLocal, equation 10; Bonneel et al. 2011",
    summary="Earth mover's distance: how far |map| must be carried to lie evenly on the important pixels, "
            "as a share of the image's diagonal. Exact.")
def emd(values: np.ndarray, mask: np.ndarray) -> float:
    """``OT(|s|, F+) / delta``: s normalised to mass 1, F+ uniform over mask (h,w), Euclidean distance
    between pixel centres, delta the largest such distance (89.095 at 64x64). In [0, 1].

    The benchmark's program publishes 1 - OT/sqrt(2 d), where higher is better (sqrt(2 d) is 90.51).
    Exact: mass common to both stays where it is (the cost is a metric), the rest goes by the cheapest
    plan, proved by its dual (core.metrics.transport_solver). NotApplicable when there is no proof.
    """
    mass, mask = mass_and_mask(values, mask)
    surplus = mass - mask / mask.sum()
    give, take = np.argwhere(surplus > 0), np.argwhere(surplus < 0)
    farthest = float(np.hypot(mass.shape[0] - 1, mass.shape[1] - 1))
    if not len(give) or not len(take) or farthest == 0:
        return 0.0  # within rounding of the mask one side may be all that is left
    much, little = surplus[surplus > 0], -surplus[surplus < 0]
    best = transport_solver.plan(give, much / much.sum(), take, little / little.sum())
    pixels = best.flow @ transport_solver.distance(give[best.source], take[best.sink])
    return min(float(pixels * much.sum()) / farthest, 1.0)  # which rounding may exceed from corner to corner


def emds(values: np.ndarray, masks: np.ndarray, workers: int | None = None) -> np.ndarray:
    """``emd`` of many maps, ``(n,)``: values (n,h,w), masks (n,h,w) or one (h,w) for all; NaN where undefined.

    ``workers`` are threads, by default one a processor. Threads are enough: the solver lets go of Python (two
    take half the time of one), and they start at once. InputError of the first bad map, with its number.
    """
    values, masks = np.asarray(values), np.asarray(masks)
    if values.ndim != 3 or masks.shape not in (values.shape, values.shape[1:]):
        raise InputError(f"Maps must be (n,h,w) and masks (n,h,w) or (h,w), not {values.shape} and {masks.shape}.")

    def one(number: int) -> float:
        try:
            return emd(values[number], masks[number] if masks.ndim == 3 else masks)
        except NotApplicable:
            return math.nan
        except InputError as error:
            raise InputError(f"Map {number}: {error}") from None

    with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        return np.array(list(pool.map(one, range(len(values)))))
