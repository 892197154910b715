"""Maps as a file of numpy arrays."""

from __future__ import annotations

import io
from collections.abc import Mapping

import numpy as np


def npz(arrays: Mapping[str, np.ndarray], texts: Mapping[str, str]) -> bytes:
    """An npz file of arrays and texts by name; ``numpy.load`` reads it."""
    file = io.BytesIO()
    np.savez_compressed(file, **arrays, **{name: np.array(text) for name, text in texts.items()})
    return file.getvalue()
