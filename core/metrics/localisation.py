"""How much of a map's mass lies on the important pixels.

On absolute values, IME is 1 minus the relevance mass accuracy and Precision is the relevance rank accuracy of
Arras et al. 2020 (CLEVR-XAI, arXiv 2003.07258).
"""

from __future__ import annotations

import numpy as np

from core.metrics.distribution import mass_and_mask
from core.registry import METRICS


@METRICS.register(
    "ime",
    label="IME",
    formula="1 − Σ_{F⁺}|s| / Σ|s|",
    misleads="A map with a single pixel inside the shape is perfect, however little it reveals; read it with EMD.",
    reference="PatternLocal, equation 11",
    summary="Importance mass error: the share of |map| that lies outside the important pixels; 0 when nothing does. "
    "A network that uses only part of the shape is not penalised.",
)
def ime(values: np.ndarray, mask: np.ndarray) -> float:
    """``1 - sum of |s| over F+ / sum of |s|`` of a map ``values (h,w)`` and a ``mask (h,w)``, in [0, 1]; 0 is best.

    NotApplicable for an all-zero map. Source: PatternLocal, equation 11.
    """
    mass, mask = mass_and_mask(values, mask)
    inside, outside = mass[mask].sum(), mass[~mask].sum()
    return float(outside / (inside + outside))  # the sum as computed, so that rounding leaves at most 1


@METRICS.register(
    "precision",
    label="Precision",
    lower_is_better=False,
    formula="|top-|F⁺| of |s| ∩ F⁺| / |F⁺|",
    misleads="Only the order of pixels counts: a tiny difference between two weighs as much as a factor of ten.",
    reference="XAI-TRIS, precision",
    summary="Precision@|F+|: with k important pixels, the share of the k strongest pixels that are important. 1 "
    "when the strongest pixels are exactly the important ones.",
)
def precision(values: np.ndarray, mask: np.ndarray) -> float:
    """The share of the |F+| largest |s| of ``values (h,w)`` that lie in F+, the ``mask (h,w)``; 1 is best.

    Of pixels tied for the last places, the share that lies in F+ counts. NotApplicable for an all-zero map. Source:
    XAI-TRIS, precision.
    """
    mass, mask = mass_and_mask(values, mask)
    count = int(mask.sum())
    threshold = np.partition(mass, -count, axis=None)[-count]
    above, tied = mass > threshold, mass == threshold
    places = count - int(above.sum())
    return float((above & mask).sum() + places * (tied & mask).sum() / tied.sum()) / count
