"""A figure as a file: the same figure gives the same bytes, its fonts inside, its settings in the metadata."""

from __future__ import annotations

import base64
import io
import json
import string
import threading
from collections.abc import Mapping
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.text import Text

from core.figures.paper import text as typography
from core.types import one_of

MIME = {"pdf": "application/pdf", "svg": "image/svg+xml", "png": "image/png"}
# Type 42: TrueType, which every publisher takes. An SVG's ids come from its content, its text stays text.
SETTINGS = {
    "pdf.fonttype": 42,
    "pdf.compression": 6,
    "svg.fonttype": "none",
    "svg.hashsalt": "attribution-lab",
    "svg.image_inline": True,
    "savefig.facecolor": "auto",
    "savefig.bbox": None,
    "savefig.pad_inches": 0,
    "path.simplify": False,
    "agg.path.chunksize": 0,
    "image.composite_image": False,
    "text.usetex": False,
}
_saving = threading.Lock()  # matplotlib's settings are shared by all threads


def save(figure: Figure, ending: str, about: Mapping[str, Any] | None = None) -> bytes:
    """The figure as ``pdf``, ``svg`` or ``png``; ``about`` (JSON content) goes into its metadata."""
    one_of("a figure's file", ending, MIME)
    keywords = json.dumps(about or {}, sort_keys=True)
    metadata = {
        "pdf": {"Creator": "Attribution Lab", "CreationDate": None, "Keywords": keywords},
        "svg": {"Creator": "Attribution Lab", "Date": None, "Description": keywords},
        "png": {"Description": keywords},
    }[ending]
    file = io.BytesIO()
    with _saving, matplotlib.rc_context(SETTINGS):
        figure.savefig(file, format=ending, dpi=figure.dpi, metadata=metadata)
    return _with_font(file.getvalue(), figure) if ending == "svg" else file.getvalue()


def _with_font(svg: bytes, figure: Figure) -> bytes:
    """The SVG with the characters it uses embedded as a font, so that it looks the same everywhere."""
    # All of ASCII, so that most figures share one subset of the font, which is made only once.
    letters = "".join(sorted({*string.printable, *(c for t in figure.findobj(Text) for c in t.get_text())}))
    font = base64.b64encode(typography.subset(letters)).decode()
    style = (
        f"<style>@font-face {{font-family: '{typography.FAMILY}'; "
        f"src: url(data:font/ttf;base64,{font}) format('truetype');}}</style>"
    )
    return svg.replace(b"<defs>", f"<defs>{style}".encode(), 1)
