"""A figure as a file: the same figure gives the same bytes, its fonts inside, its settings in the metadata."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Mapping
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from core.types import one_of

MIME = {"pdf": "application/pdf", "svg": "image/svg+xml", "png": "image/png"}
# Type 42: TrueType, which every publisher takes. An SVG's ids come from its content, its text stays text.
SETTINGS = {"pdf.fonttype": 42, "pdf.compression": 6, "svg.fonttype": "none", "svg.hashsalt": "attribution-lab",
            "svg.image_inline": True, "savefig.facecolor": "auto", "savefig.bbox": None, "savefig.pad_inches": 0,
            "path.simplify": False, "agg.path.chunksize": 0, "image.composite_image": False, "text.usetex": False}
_saving = threading.Lock()  # matplotlib's settings are shared by all threads


def save(figure: Figure, ending: str, about: Mapping[str, Any] | None = None) -> bytes:
    """The figure as ``pdf``, ``svg`` or ``png``; ``about`` (JSON content) goes into its metadata."""
    one_of("a figure's file", ending, MIME)
    text = json.dumps(about or {}, sort_keys=True)
    metadata = {"pdf": {"Creator": "Attribution Lab", "CreationDate": None, "Keywords": text},
                "svg": {"Creator": "Attribution Lab", "Date": None, "Description": text},
                "png": {"Description": text}}[ending]
    file = io.BytesIO()
    with _saving, matplotlib.rc_context(SETTINGS):
        figure.savefig(file, format=ending, dpi=figure.dpi, metadata=metadata)
    return file.getvalue()
