"""What all kinds of figures share: a figure's content, and the pictures of a data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from core import pipeline
from core.figures import paper
from core.studio.spec import FigureSpec
from core.types import InputError, Spec


@dataclass(frozen=True)
class Content:
    """All that a figure shows: panels with their titles, the caption's text, arrays and a table of numbers."""

    panels: Sequence[Sequence[paper.Panel | None]]
    columns: Sequence[str]
    rows: Sequence[str]
    caption: str
    groups: Sequence[tuple[str, int]] = ()
    notes: Sequence[str] = ()
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    table: list[dict[str, Any]] = field(default_factory=list)


def need_rows(figure: FigureSpec) -> None:
    if not figure.rows:
        raise InputError("The figure has no rows: choose at least one image.")


def images_of(row: Spec) -> Any:
    """The row's split, which has its image."""
    part = getattr(pipeline.dataset(row), row.split)
    if row.image >= len(part):
        raise InputError(f"Image {row.image} was asked for; the {row.split} split has images 0 to {len(part) - 1}.")
    return part


def mask_of(row: Spec) -> np.ndarray:
    return np.asarray(pipeline.dataset(row).mask(row.split, row.image, row.truth))


def picture(name: str, image: np.ndarray, mask: np.ndarray, label: str) -> paper.Map:
    shown = mask if mask.any() else None
    if name == "image":
        return paper.Map(image, "image", shown, (("", f"class {label}"),))
    if shown is None:
        return paper.Map(None, note="not known")
    return paper.Map(mask, "truth", shown, (("", f"{int(mask.sum())} pixels"),))


def plain(panel: paper.Map) -> paper.Map:
    """A picture of the data alone: nothing outlined, nothing below."""
    return paper.Map(panel.values, panel.kind, note=panel.note)
