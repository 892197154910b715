"""Warnings of libraries that this program expects and handles: switched off where a program starts, not on import."""

from __future__ import annotations

import warnings

EXPECTED = (
    "Setting (forward, )?backward hooks",  # captum, at every call; it is given a copy of the model for just that
    "Objective did not converge",  # scikit-learn's lasso; the surrogate carries a note about it
)


def ignore_expected_warnings() -> None:
    """Filters them out for the whole process; a program calls this once, a library's user need not."""
    for message in EXPECTED:
        warnings.filterwarnings("ignore", message, UserWarning)
