"""The lesson's sliders. Widgets, links and command-line flags are made from these."""

from __future__ import annotations

import math

from core.registry import Option

SLIDERS = {
    option.name: option
    for option in (
        Option(
            "sigma_d",
            "Strength of the distractor d: its standard deviation. That of the signal is 1.",
            low=0.0,
            high=3.0,
            default=1.0,
        ),
        Option("x2_weight", "The weight v of x2 in your model x1 + v x2.", low=-2.0, high=1.0, default=0.0),
        Option(
            "tau",
            "Softness of the classifier: with small values it jumps from one class to the other.",
            choices=(0.001, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0),
            default=0.5,
        ),
        Option(
            "bandwidth",
            "Size of PatternLocal's neighbourhood: the width b of its Gaussian kernel.",
            choices=(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, math.inf),
            default=5.0,
        ),
        Option(
            "lesson_image", "Number of the test image, the same for both backgrounds.", low=0, high=499, default=1
        ),
        Option(
            "correlation",
            "A background pixel counts as correlated if the correlation of its noise with that of some "
            "pixel of the shape exceeds this.",
            low=0.0,
            high=0.99,
            default=0.8,
        ),
    )
}


def check(**given: object) -> dict[str, float]:
    """The values of all sliders: those given, checked, and defaults for the rest. InputError names a bad one."""
    return {name: option.check(given[name]) if name in given else option.default for name, option in SLIDERS.items()}
