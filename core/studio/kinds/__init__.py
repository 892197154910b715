"""The kinds of figures: what stands in their cells, what is said about it, and the numbers behind it."""

from core.studio.kinds import comparison, examples, region_maps, suppressor  # noqa: F401  (register, in this order)
from core.studio.kinds.common import Content
from core.studio.spec import FIGURES, FigureSpec
from core.types import Spec

__all__ = ["Content", "preset"]


def preset(kind: str, base: Spec | None = None) -> FigureSpec:
    """A figure of one kind as it starts, with the data, model and image of ``base``."""
    base, entry = base or Spec(), FIGURES[kind]
    return FigureSpec(kind=kind, rows=(base,) if entry.has_rows else ()).replace(**entry.start(base))
