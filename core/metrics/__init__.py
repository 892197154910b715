"""Scores of one map against the important pixels. All read |map| normalised to mass 1.

Order here is the order on screen.
"""

# ruff: noqa: I001
from core.metrics.transport import emd, emds
from core.metrics.mass import ime, precision
from core.registry import METRICS

__all__ = ["METRICS", "emd", "emds", "ime", "precision"]
