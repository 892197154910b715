"""Data sets: XAI-TRIS, whose important pixels are known, and digits, on models whose weights are."""

# ruff: noqa: I001  (the order here is the order on screen)
import sys

from core.datasets.tetromino import xai_tris
from core.datasets.digits import fashion_mnist, mnist
from core.registry import DATASETS, discover

discover(sys.modules[__name__])  # a new file needs no line here

__all__ = ["DATASETS", "fashion_mnist", "mnist", "xai_tris"]
