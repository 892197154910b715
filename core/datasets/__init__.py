"""Data sets whose important pixels are known."""

from core.datasets.tetromino import xai_tris
from core.registry import DATASETS

__all__ = ["DATASETS", "xai_tris"]
