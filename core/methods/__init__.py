"""Explanation methods: ``function(context, **options) -> (h,w)``. Order here is the order on screen."""

from core.methods import gradient, surrogate, patternlocal, filters  # noqa: F401, I001  (registers)
from core.registry import METHODS

__all__ = ["METHODS"]
