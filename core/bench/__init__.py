"""What this program costs: ``beside`` other programs, and its ``growth`` with the size of the task."""

from core.bench.beside import Row, run
from core.bench.growth import Curve, curves

__all__ = ["Curve", "Row", "curves", "run"]
