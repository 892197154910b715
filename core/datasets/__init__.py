"""Data sets: XAI-TRIS, whose important pixels are known, and digits, on models whose weights are."""

# ruff: noqa: I001  (the order here is the order on screen)
from core.datasets.tetromino import xai_tris
from core.datasets.digits import fashion_mnist, mnist
from core.registry import DATASETS

__all__ = ["DATASETS", "fashion_mnist", "mnist", "xai_tris"]
