"""Scores of a map against the important pixels. All use |map| normalised to mass 1.

Order here is the order on screen.
"""

# ruff: noqa: I001
import sys

from core.metrics.earth_mover import emd, emds
from core.metrics.localisation import ime, precision
from core.registry import METRICS, discover

discover(sys.modules[__name__])  # a new file needs no line here

__all__ = ["METRICS", "emd", "emds", "ime", "precision"]
