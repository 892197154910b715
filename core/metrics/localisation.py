"""How much of a map's mass lies on the important pixels."""

from __future__ import annotations

import numpy as np

from core.metrics.distribution import mass_and_mask
from core.registry import METRICS


@METRICS.register(
    "ime", label="IME",
    formula="1 − Σ_{F⁺}|s| / Σ|s|",
    misleads="A map of one pixel inside the shape is perfect, however little it tells; read it beside EMD.",
    reference="PatternLocal, equation 11",
    summary="Importance mass error: the share of |map| that lies outside the important pixels. 0 when nothing "
            "lies outside; a network may use a part of the shape without being punished.")
def ime(values: np.ndarray, mask: np.ndarray) -> float:
    """``1 - sum of |s| over F+ / sum of |s|`` of values (h,w) under mask (h,w), in [0, 1]."""
    mass, mask = mass_and_mask(values, mask)
    inside, outside = mass[mask].sum(), mass[~mask].sum()
    return float(outside / (inside + outside))  # at most 1, which a sum of shares may exceed by rounding


@METRICS.register(
    "precision", label="Precision", lower_is_better=False,
    formula="|top-|F⁺| of |s| ∩ F⁺| / |F⁺|",
    misleads="It sees order only: a hair's breadth between two pixels counts as much as a factor of ten.",
    reference="XAI-TRIS, precision",
    summary="Precision@|F+|: of as many largest pixels as there are important ones, the share that is. 1 when "
            "the strongest pixels are exactly the important ones.")
def precision(values: np.ndarray, mask: np.ndarray) -> float:
    """Share of the |F+| largest |s| that lie in F+; pixels tied at the border count by their share."""
    mass, mask = mass_and_mask(values, mask)
    count = int(mask.sum())
    border = np.partition(mass, -count, axis=None)[-count]
    above, tied = mass > border, mass == border
    places = count - int(above.sum())
    return float((above & mask).sum() + places * (tied & mask).sum() / tied.sum()) / count
