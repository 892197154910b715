"""What a class can slide. Widgets, links and flags of the command line are made from these."""

from __future__ import annotations

import math

from core.registry import Option

SLIDERS = {option.name: option for option in (
    Option("sigma_d", "How strong the distraction d is: its standard deviation. The signal's is 1.",
           low=0.0, high=3.0, default=1.0),
    Option("x2_weight", "Your model reads x1 + v x2. Choose v.", low=-2.0, high=1.0, default=0.0),
    Option("tau", "How soft the classifier is: small values make it a step from one class to the other.",
           choices=(0.001, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0), default=0.5),
    Option("bandwidth", "How far PatternLocal's neighbourhood reaches: the width b of its Gaussian kernel.",
           choices=(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, math.inf), default=5.0),
    Option("lesson_image", "Number of the test image, the same for both backgrounds.", low=0, high=499, default=1),
    Option("correlation", "A background pixel counts as correlated when its noise and the noise under some pixel of "
           "the shape correlate more than this.", low=0.0, high=0.99, default=0.8),
)}


def check(**given: object) -> dict[str, float]:
    """All sliders' values, those given checked, the rest at their defaults. InputError names a bad one."""
    return {name: option.check(given[name]) if name in given else option.default for name, option in SLIDERS.items()}
