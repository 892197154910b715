"""Explanation methods: ``function(context, **options) -> (h,w)``. Order here is the order on screen."""

# ruff: noqa: F401, I001
import sys

import core.methods.gradient
import core.methods.surrogate
import core.methods.openapi
import core.methods.finite_difference
import core.methods.patternlocal
import core.methods.filters
from core.registry import METHODS, discover

discover(sys.modules[__name__])  # a new file needs no line here

__all__ = ["METHODS"]
