"""Old values of links: what a choice was called before. Links and saved views made then still open."""

from __future__ import annotations

ALIASES = {
    ("region_view", "map of regions"): "region map",
    ("region_view", "along a line"): "line scan",
    ("region_view", "other ways"): "finite-difference estimates",
    ("region_view", "pixels taken away"): "deletion curve",
    ("region_view", "exact is not innocent"): "exact can still mislead",
    ("closer", "how PatternLocal works"): "PatternLocal step by step",
    ("closer", "spread over seeds"): "variation over seeds",
    ("closer", "through SNR"): "SNR series",
}


def current(name: str, value: str) -> str:
    """Today's value of a choice for one that may be an old one."""
    return ALIASES.get((name, value), value)
