"""The figure studio: a FigureSpec goes in, a figure for print comes out, and its sidecar brings it back."""

from core.studio.kinds import Content, preset
from core.studio.sidecar import (
    Sidecar,
    archive,
    arrays,
    content,
    differences,
    draw,
    fingerprints,
    read,
    read_file,
    sidecar,
    table,
)
from core.studio.spec import FIGURES, LARGEST, PICTURES, FigureSpec, column, layout, restore

__all__ = ["FIGURES", "LARGEST", "PICTURES", "Content", "FigureSpec", "Sidecar", "archive", "arrays", "column", "content",
           "differences", "draw", "fingerprints", "layout", "preset", "read", "read_file",
           "restore", "sidecar", "table"]
