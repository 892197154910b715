"""Earth Mover's Distance between a map and the important pixels."""

from __future__ import annotations

import numpy as np

from core.metrics.normalise import mass_and_mask
from core.registry import METRICS
from core.types import NotApplicable

MOST_STEPS = 10_000_000  # of the network simplex; POT's default of 100,000 is too few at 64x64


@METRICS.register(
    "emd", label="EMD", slow=True, reference="PatternLocal, equation 10; Bonneel et al. 2011",
    summary="Earth mover's distance: how far |map| must be carried to lie evenly on the important pixels, "
            "as a share of the image's diagonal. Exact.")
def emd(values: np.ndarray, mask: np.ndarray) -> float:
    """``OT(|s|, F+) / delta``: s normalised to mass 1, F+ uniform over mask (h,w), Euclidean distance
    between pixel centres, delta the largest such distance (89.095 at 64x64). In [0, 1].

    The benchmark's program publishes 1 - OT/sqrt(2 d), where higher is better (sqrt(2 d) is 90.51).
    Exact: mass common to both stays where it is (the cost is a metric), the rest is solved by POT's
    network simplex. NotApplicable when it does not converge: an unfinished plan costs too little.
    """
    mass, mask = mass_and_mask(values, mask)
    surplus = mass - mask / mask.sum()
    give, take = np.argwhere(surplus > 0), np.argwhere(surplus < 0)
    farthest = float(np.hypot(mass.shape[0] - 1, mass.shape[1] - 1))
    if not len(give) or farthest == 0:
        return 0.0
    return _transport(give, surplus[surplus > 0], take, -surplus[surplus < 0]) / farthest


def _transport(give: np.ndarray, much: np.ndarray, take: np.ndarray, little: np.ndarray) -> float:
    """The least mass times distance (pixels) that moves ``much`` at ``give`` to ``little`` at ``take``."""
    import ot  # late: it is slow to import and only this needs it

    cost = np.hypot(give[:, None, 0] - take[None, :, 0], give[:, None, 1] - take[None, :, 1])
    moved = much.sum()
    value, log = ot.emd2(much / moved, little / little.sum(), cost, numItermax=MOST_STEPS, log=True)
    if log["warning"] is not None:
        raise NotApplicable(f"not converged ({log['warning']})")
    return float(value * moved)
