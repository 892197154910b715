"""What the Suppressors and Methods pages show: a lesson in steps, cards with a live example, a glossary.

Why a perfect model must use a variable that has nothing to do with the answer, why explanations highlight it, and why
a pattern does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.lessons.cards import FAMILIES, Example, Picture, entries, example
from core.lessons.glossary import GLOSSARY
from core.lessons.images import (
    BACKGROUNDS,
    IMAGE_SPEC,
    PICTURED,
    PLANE_SPEC,
    THRESHOLDS,
    ZONES,
    Background,
    SuppressorPlane,
    images,
    suppressor_plane,
)
from core.lessons.sliders import SLIDERS, check
from core.lessons.two_variables import (
    BEST,
    EXPLAINED,
    WEIGHTS,
    TwoVariables,
    WeightToPattern,
    two_variables,
    weight_to_pattern,
)
from core.lessons.xor import CURVE, SAMPLED, BandwidthCurve, Xor, bandwidth_curve, xor
from core.methods.pattern import distances
from core.registry import METHODS
from core.types import Spec

LESSON_STEPS = {
    "idea": (),
    "two variables": ("sigma_d", "x2_weight"),
    "weight to pattern": ("sigma_d",),
    "XOR": ("sigma_d", "tau", "bandwidth"),
    "bandwidth": ("sigma_d", "bandwidth"),
    "images": ("lesson_image", "correlation"),
}  # with their sliders

SIMPLEST = Spec(scenario="LIN", background="CORR", snr=0.05, size=64, model="LLR")  # two variables, as images

__all__ = [
    "BACKGROUNDS",
    "BEST",
    "CURVE",
    "FAMILIES",
    "GLOSSARY",
    "IMAGE_SPEC",
    "LESSON_STEPS",
    "PLANE_SPEC",
    "SAMPLED",
    "SIMPLEST",
    "SLIDERS",
    "THRESHOLDS",
    "WEIGHTS",
    "ZONES",
    "Background",
    "BandwidthCurve",
    "Example",
    "Picture",
    "SuppressorPlane",
    "TwoVariables",
    "WeightToPattern",
    "Xor",
    "bandwidth_curve",
    "check",
    "comparison",
    "entries",
    "example",
    "images",
    "numbers",
    "suppressor_plane",
    "two_variables",
    "weight_to_pattern",
    "xor",
]


def numbers(step: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of one step as plain values, for the sliders' ``settings`` (see ``check``)."""
    compute = {
        "idea": suppressor_plane,
        "two variables": two_variables,
        "weight to pattern": weight_to_pattern,
        "XOR": xor,
        "bandwidth": bandwidth_curve,
        "images": images,
    }[step]
    result = compute(*(settings[name] for name in LESSON_STEPS[step]))
    return {b.name: b.numbers() for b in result} if isinstance(result, tuple) else result.numbers()


def comparison(step: str, settings: Mapping[str, Any]) -> tuple[Spec, dict[str, dict[str, Any]]]:
    """What Compare shows with a step's settings: a Spec, and methods with their options.

    Steps on points have no images of their own: the corresponding scenario takes their place. A kernel keeps its
    width as a multiple of the points' median distance, which is the method's unit.
    """
    if step == "idea":
        return PLANE_SPEC, {"gradient": {}, "patternlocal": {}}
    if step == "images":
        return IMAGE_SPEC.replace(background="CORR", image=settings["lesson_image"]), dict(PICTURED)
    if step in ("two variables", "weight to pattern"):
        return SIMPLEST, dict(EXPLAINED)
    option = next(o for o in METHODS["patternlocal"].options if o.name == "bandwidth")
    x = xor(settings["sigma_d"], settings["tau"], settings["bandwidth"]).x[:500]
    wide = settings["bandwidth"] / float(np.median(distances(x, x)))
    return IMAGE_SPEC.replace(background="CORR"), {
        "gradient": {},
        "lime": {},
        "kernelshap": {},
        "patternlocal": {"bandwidth": round(min(max(wide, option.low), option.high), 3)},
    }
