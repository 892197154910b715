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
    report,
    sidecar,
    table,
)
from core.studio.spec import FIGURES, LARGEST, PICTURES, FigureSpec, column, layout, restore
from core.studio.words import (
    column_label,
    column_text,
    from_words,
    read_column,
    read_row,
    row_label,
    row_text,
    scenarios,
    suggested_rows,
)

__all__ = ["FIGURES", "LARGEST", "PICTURES", "Content", "FigureSpec", "Sidecar", "archive", "arrays", "column",
           "column_label", "column_text", "content",
           "differences", "draw", "fingerprints", "from_words", "layout", "preset", "read", "read_column",
           "read_file", "read_row", "report", "restore", "row_label", "row_text", "scenarios", "sidecar",
           "suggested_rows", "table"]
