"""The few things everything else speaks of: a Spec goes in, an Attribution and its Score come out."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


class InputError(ValueError):
    """What was asked, what was given, what would work."""


class NotApplicable(Exception):
    """The method does not fit this model or image; the text says why."""


@dataclass(frozen=True)
class Spec:
    """The address of one explanation: which image of which data, which model, which method, how.

    It is the cache key, the link and what a figure's sidecar file records. ``options`` holds the
    method's own options as sorted pairs; an option left out takes the method's default. ``seed`` is
    the method's: it changes neither data (``data_seed``) nor model (``model_seed``).
    """

    dataset: str = "xai-tris"
    scenario: str = "XOR"
    background: str = "CORR"
    snr: float = 0.05
    size: int = 64
    samples: int = 10_000
    data_seed: int = 0
    model: str = "MLP"
    model_seed: int = 0
    method: str = "patternlocal"
    options: tuple[tuple[str, Any], ...] = ()
    seed: int = 0
    split: str = "test"
    image: int = 0
    output: str = "margin"
    target: str = "predicted"
    truth: str = "default"

    def __post_init__(self) -> None:
        for name in ("size", "samples", "data_seed", "model_seed", "seed", "image"):
            object.__setattr__(self, name, whole_number(name, getattr(self, name)))
        object.__setattr__(self, "snr", number("snr", self.snr))
        try:
            pairs = self.options.items() if isinstance(self.options, Mapping) else self.options
            object.__setattr__(self, "options", tuple(sorted((str(k), v) for k, v in pairs)))
        except (TypeError, ValueError):
            raise InputError(f"options must be pairs of a name and a value, not {self.options!r}.") from None
        for name, allowed in SPEC_CHOICES.items():
            one_of(name, getattr(self, name), allowed)

    def replace(self, **changes: Any) -> Spec:
        """The same Spec with some fields changed."""
        return dataclasses.replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; ``Spec.from_dict`` reads them back."""
        return {**dataclasses.asdict(self), "options": dict(self.options)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Spec:
        """A Spec from plain values; unknown names are an InputError."""
        known = {f.name for f in dataclasses.fields(cls)}
        if unknown := set(values) - known:
            raise InputError(f"A Spec has no field {sorted(unknown)}. Its fields: {sorted(known)}.")
        return cls(**values)


SPEC_CHOICES = {
    "split": ("train", "val", "test"),
    "output": ("margin", "probability"),
    "target": ("predicted", "true"),
    "truth": ("default", "union", "shown"),
}


@dataclass(frozen=True)
class Split:
    """Images ``x (n,h,w)`` float32, labels ``y (n,)`` int64, shape masks ``shown (n,h,w)`` bool."""

    x: np.ndarray
    y: np.ndarray
    shown: np.ndarray

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True)
class Dataset:
    """Three splits of one data set, and where its important pixels are.

    ``recipe`` holds the arguments that made it (and the ``sha256`` of a shipped file), ``union (h,w)`` the
    pixels important in any image, ``truth`` which of ``union`` and ``shown`` counts by default. ``fresh(seed)`` draws new training
    images of the same recipe (synthetic data only).
    """

    recipe: Mapping[str, Any]
    train: Split
    val: Split
    test: Split
    union: np.ndarray
    truth: str
    fresh: Callable[[int], Split] | None = None

    def mask(self, split: str, image: int, truth: str = "default") -> np.ndarray:
        """The important pixels ``(h,w)`` of one image under one reading of the ground truth."""
        truth = self.truth if truth == "default" else truth
        return self.union if truth == "union" else np.asarray(getattr(self, split).shown[image])


@dataclass(frozen=True)
class Attribution:
    """One explanation map with all that is needed to score and draw it.

    ``values (h,w)`` float64, signed where ``signed``; ``mask (h,w)`` the important pixels;
    ``probabilities (C,)``; ``target`` the explained class; ``facts`` what the method reports of
    itself (fit, counts); ``notes`` sentences a reader must see; ``seconds`` the method took when it
    was computed.
    """

    spec: Spec
    values: np.ndarray
    image: np.ndarray
    mask: np.ndarray
    label: int
    probabilities: np.ndarray
    target: int
    signed: bool
    seconds: float
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def predicted(self) -> int:
        return int(np.argmax(self.probabilities))


@dataclass(frozen=True)
class Steps:
    """What PatternLocal passes through on its way to a map.

    Surrogate ``weights (h,w)`` and ``pattern (h,w)``; for every training image (n,) its weight among the
    ``neighbours``, its ``distances`` and the surrogate's ``outputs``; the surrogate's ``fit`` (R2 on its
    samples, NaN for a gradient). ``nearest`` numbers the k heaviest neighbours, with their ``images
    (k,h,w)`` and ``labels (k,)``; ``compared`` numbers those on which the ``model_outputs`` are known.
    """

    weights: np.ndarray
    pattern: np.ndarray
    neighbours: np.ndarray
    distances: np.ndarray
    outputs: np.ndarray
    fit: float
    nearest: np.ndarray | None = None
    images: np.ndarray | None = None
    labels: np.ndarray | None = None
    compared: np.ndarray | None = None
    model_outputs: np.ndarray | None = None


@dataclass(frozen=True)
class Score:
    """The scores of one map by metric name; an undefined one is NaN and has its reason."""

    values: Mapping[str, float]
    reasons: Mapping[str, str] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)

    def __getitem__(self, metric: str) -> float:
        return self.values[metric]

    def __getattr__(self, metric: str) -> float:
        try:
            return self.__dict__["values"][metric]
        except KeyError:
            raise AttributeError(f"no score {metric!r}") from None


def margin(logits: Any, target: int) -> Any:
    """Mean over the other classes c' of logit_c - logit_c', ``(n,)``, of logits or log-probabilities ``(n,C)``.

    An array or a tensor. Inside a linear region its gradient is OpenAPI's D_c (equation 1).
    """
    classes = logits.shape[1]
    return (classes * logits[:, target] - logits.sum(1)) / (classes - 1)


def number(name: str, value: Any) -> float:
    """``value`` as a finite float, or InputError."""
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        result = math.nan
    if isinstance(value, bool) or not math.isfinite(result):
        raise InputError(f"{name} must be a finite number, not {value!r}.")
    return result


def whole_number(name: str, value: Any, low: int = 0, high: int = 2**63 - 1) -> int:
    """``value`` as an int within [low, high], or InputError; 3.0 counts as 3."""
    if isinstance(value, str) and value.lstrip("+-").isdecimal():
        value = int(value)
    exact = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    result = value if exact else number(name, value)
    if int(result) != result or not low <= result <= high:
        raise InputError(f"{name} must be a whole number from {low} to {high}, not {value!r}.")
    return int(result)


def one_of(name: str, value: Any, allowed: Any) -> Any:
    """``value`` if it is allowed, or InputError with the list."""
    if value not in allowed:
        raise InputError(f"{name} must be one of {', '.join(map(str, allowed))}, not {value!r}.")
    return value
