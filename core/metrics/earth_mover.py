"""Earth Mover's Distance between a map and the important pixels."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from core.metrics import transport_solver
from core.metrics.distribution import mass_and_mask
from core.processors import processors
from core.registry import METRICS
from core.types import InputError, NotApplicable


@METRICS.register(
    "emd",
    label="EMD",
    slow=True,
    formula="OT(|s|, F⁺) / δ",
    misleads="A network that rightly uses only part of the shape is penalised for the rest; IME is not affected.",
    reference="PatternLocal, equation 10; Bonneel et al. 2011",
    summary="Earth mover's distance: how far the mass of |map| must move to be spread evenly over the important "
    "pixels, as a share of the image's diagonal. Exact.",
)
def emd(values: np.ndarray, mask: np.ndarray) -> float:
    """``OT(|s|, F+) / delta`` of a map ``values (h,w)`` and a ``mask (h,w)``, in [0, 1]; 0 is best.

    s is normalised to mass 1, F+ is uniform over the mask, costs are Euclidean distances between pixel centres and
    delta is the largest of them (89.095 pixels at 64x64). Exact: mass common to both stays where it is (the cost is
    a metric), and the rest follows the cheapest plan, proved by its dual (core.metrics.transport_solver).
    NotApplicable for an all-zero map, and when there is no proof. Source: PatternLocal, equation 10. The
    benchmark's program publishes 1 - OT/sqrt(2 d) instead, where higher is better (sqrt(2 d) is 90.51).
    """
    mass, mask = mass_and_mask(values, mask)
    surplus = mass - mask / mask.sum()
    sources, targets = np.argwhere(surplus > 0), np.argwhere(surplus < 0)
    farthest = float(np.hypot(mass.shape[0] - 1, mass.shape[1] - 1))
    if not len(sources) or not len(targets) or farthest == 0:
        return 0.0  # a map within rounding of the mask may leave mass on one side only
    source_mass, target_mass = surplus[surplus > 0], -surplus[surplus < 0]
    plan = transport_solver.plan(sources, source_mass / source_mass.sum(), targets, target_mass / target_mass.sum())
    pixels = plan.flow @ transport_solver.distance(sources[plan.source], targets[plan.sink])
    return min(float(pixels * source_mass.sum()) / farthest, 1.0)  # which rounding may exceed from corner to corner


def emds(values: np.ndarray, masks: np.ndarray, workers: int | None = None) -> np.ndarray:
    """``emd`` of many maps, ``(n,)``: values (n,h,w), masks (n,h,w) or one (h,w) for all; NaN where undefined.

    ``workers``: the number of threads, by default one for each processor. Threads suffice because the solver
    releases the GIL (two take half the time of one). InputError for the first bad map, with its number.
    """
    values, masks = np.asarray(values), np.asarray(masks)
    if values.ndim != 3 or masks.shape not in (values.shape, values.shape[1:]):
        raise InputError(f"Maps must be (n,h,w) and masks (n,h,w) or (h,w), not {values.shape} and {masks.shape}.")

    def score(number: int) -> float:
        try:
            return emd(values[number], masks[number] if masks.ndim == 3 else masks)
        except NotApplicable:
            return math.nan
        except InputError as error:
            raise InputError(f"Map {number}: {error}") from None

    with ThreadPoolExecutor(workers or processors()) as pool:
        return np.array(list(pool.map(score, range(len(values)))))
