"""Scores of one map against the important pixels. All read |map| normalised to mass 1."""

from core.metrics import mass, transport  # noqa: F401  (registers)
from core.metrics.mass import ime, precision
from core.metrics.transport import emd
from core.registry import METRICS

__all__ = ["METRICS", "emd", "ime", "precision"]
