"""The few things everything else speaks of: a Spec goes in, an Attribution and its Score come out."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


class InputError(ValueError):
    """What was asked, what was given, what would work."""


class NotApplicable(Exception):
    """The method does not fit this model or image; the text says why."""


class MethodFailed(NotApplicable):
    """The method has a fault: it raised what it should not, or its map is not finite. Not kept; the log has more."""


Progress = Callable[[int, int, str], None]  # done, total, what is being done; may raise to stop


def silent(done: int, total: int, text: str) -> None:
    """Progress that nobody follows."""


SNR_DECIMALS = 8  # nearer ones are one and the same: 0.1 + 0.05 is a data set with 0.15
LONGEST_NUMBER, LONGEST_QUOTE = 40, 60  # characters that are read as a whole number, and quoted in a message
XAI_TRIS = {"scenario": "XOR", "background": "CORR", "snr": 0.05, "size": 64, "samples": 10_000, "data_seed": 0}


def _of(group: str, default: Any = None) -> Any:
    """A Spec's field: what it is about, and its default. None: the data set's own."""
    return field(default=default, metadata={"group": group})


@dataclass(frozen=True)
class Spec:
    """The address of one explanation: which image of which data, which model, which method, how.

    It is the cache key, the link and what a figure's sidecar file records. Each field is about the ``data``, the
    ``model``, the ``method`` or the ``view`` of them (which image, against which truth); ``data_key`` and
    ``model_key`` are the Specs of data and of a model alone.

    A data set's options are fields of their own where XAI-TRIS has them, too; others are ``data_options``. A field
    left out takes the default of its data set, at once for XAI-TRIS, else by ``core.registry.canonical``, which also
    blanks those that the data set does not have. ``options`` holds the method's own options. Both are sorted pairs;
    an option left out takes its default. ``seed`` is the method's: it changes neither data (``data_seed``) nor model
    (``model_seed``).
    """

    dataset: str = _of("data", "xai-tris")
    scenario: str | None = _of("data")
    background: str | None = _of("data")
    snr: float | None = _of("data")
    size: int | None = _of("data")
    samples: int | None = _of("data")
    data_seed: int | None = _of("data")
    data_options: tuple[tuple[str, Any], ...] = _of("data", ())
    model: str = _of("model", "MLP")
    model_seed: int = _of("model", 0)
    method: str = _of("method", "patternlocal")
    options: tuple[tuple[str, Any], ...] = _of("method", ())
    seed: int = _of("method", 0)
    split: str = _of("view", "test")
    image: int = _of("view", 0)
    output: str = _of("method", "margin")
    target: str = _of("method", "predicted")
    truth: str = _of("view", "default")

    def __post_init__(self) -> None:
        put = functools.partial(object.__setattr__, self)
        for name, default in XAI_TRIS.items():
            if getattr(self, name) is None and self.dataset == Spec.dataset:
                put(name, default)
        for name in ("size", "samples", "data_seed", "model_seed", "seed", "image"):
            if getattr(self, name) is not None or name not in XAI_TRIS:
                put(name, whole_number(name, getattr(self, name)))
        if self.snr is not None:
            put("snr", round(number("snr", self.snr), SNR_DECIMALS))
        for name in ("options", "data_options"):
            put(name, _pairs(name, getattr(self, name)))
        for name, allowed in SPEC_CHOICES.items():
            one_of(name, getattr(self, name), allowed)

    @classmethod
    def names(cls, *groups: str) -> tuple[str, ...]:
        """The names of the fields, all or those of some groups."""
        return tuple(f.name for f in dataclasses.fields(cls) if not groups or f.metadata["group"] in groups)

    def only(self, *groups: str, also: tuple[str, ...] = ()) -> Spec:
        """The fields of some groups, and those named beside; the rest at their defaults."""
        part = Spec(**{name: getattr(self, name) for name in (*self.names(*groups), *also)})
        part.__dict__["checked"] = {"data", "model"} <= set(groups) and self.checked
        return part

    @property
    def checked(self) -> bool:
        """Whether data and model are known to be spelt canonically (``core.registry.canonical``)."""
        return self.__dict__.get("checked", False)

    def data_key(self) -> Spec:
        """The data set alone."""
        return self.only("data")

    def model_key(self) -> Spec:
        """The model alone, and the data it was trained on."""
        return self.only("data", "model")

    def replace(self, **changes: Any) -> Spec:
        """The same Spec with some fields changed."""
        return dataclasses.replace(self, **changes)

    def to_dict(self, *groups: str) -> dict[str, Any]:
        """Plain values for JSON, of all fields or of some groups; ``Spec.from_dict`` reads them back."""
        values = {name: getattr(self, name) for name in self.names(*groups)}
        values |= {name: dict(values[name]) for name in ("options", "data_options") if name in values}
        return {name: value for name, value in values.items() if name != "data_options" or value}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Spec:
        """A Spec from plain values; unknown names are an InputError."""
        if unknown := set(values) - set(cls.names()):
            raise InputError(f"A Spec has no field {sorted(unknown)}. Its fields: {sorted(cls.names())}.")
        return cls(**values)


def _pairs(name: str, given: Any) -> tuple[tuple[str, Any], ...]:
    """Options as sorted pairs of a name and a value."""
    try:
        return tuple(sorted((str(k), v) for k, v in (given.items() if isinstance(given, Mapping) else given)))
    except (TypeError, ValueError):
        raise InputError(f"{name} must be pairs of a name and a value, not {quoted(given)}.") from None


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
    pixels important in any image, ``default_truth`` which of ``union`` and ``shown`` counts by default.
    ``fresh(seed)`` draws new training
    images of the same recipe (synthetic data only).
    """

    recipe: Mapping[str, Any]
    train: Split
    val: Split
    test: Split
    union: np.ndarray
    default_truth: str
    fresh: Callable[[int], Split] | None = None

    def mask(self, split: str, image: int, truth: str = "default") -> np.ndarray:
        """The important pixels ``(h,w)`` of one image under one reading of the ground truth."""
        truth = self.default_truth if truth == "default" else truth
        return self.union if truth == "union" else np.asarray(getattr(self, split).shown[image])


@dataclass(frozen=True)
class ModelRecord:
    """What is known of a trained model: which ``spec`` (data and model) it is of, and its test ``accuracy``.

    ``file`` is None where training did not reach the accuracy that makes scores meaningful; else its ``bytes`` and
    ``sha256``. ``origin`` is "shipped" or "trained here", ``command`` the one that makes it again. ``facts`` hold
    what its training reported: ``training`` mode, ``epochs``, accuracy on the ``validation`` images and ``on_train``,
    library ``versions``.
    """

    spec: Spec
    accuracy: float
    file: str | None = None
    bytes: int = 0
    sha256: str = ""
    origin: str = ""
    licence: str = ""
    command: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def available(self) -> bool:
        """Whether there is a model to load."""
        return bool(self.file)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, as ``assets/manifest.json`` holds them; ``ModelRecord.from_dict`` reads them."""
        about = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in ("spec", "facts")}
        return {**self.spec.to_dict("data", "model"), **about, **self.facts}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ModelRecord:
        """A record from plain values. InputError: no record of a model."""
        address, own = set(Spec.names("data", "model")), {f.name for f in dataclasses.fields(cls)} - {"spec", "facts"}
        try:
            return cls(
                Spec(**{n: v for n, v in values.items() if n in address}),
                **{n: v for n, v in values.items() if n in own},
                facts={n: v for n, v in values.items() if n not in address | own},
            )
        except TypeError as error:
            raise InputError(f"This is no record of a model: {error}.") from None


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
class PatternLocalTrace:
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
        raise InputError(f"{name} must be a finite number, not {quoted(value)}.")
    return result


def whole_number(name: str, value: Any, low: int = 0, high: int = 2**63 - 1) -> int:
    """``value`` as an int within [low, high], or InputError; 3.0 counts as 3."""
    if isinstance(value, str) and value.lstrip("+-").isdecimal() and len(value) <= LONGEST_NUMBER:
        value = int(value)
    exact = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    result = value if exact else number(name, value)
    if int(result) != result or not low <= result <= high:
        raise InputError(f"{name} must be a whole number from {low} to {high}, not {quoted(value)}.")
    return int(result)


def one_of(name: str, value: Any, allowed: Any) -> Any:
    """``value`` if it is allowed, or InputError with the list."""
    if value not in allowed:
        raise InputError(f"{name} must be one of {', '.join(map(str, allowed))}, not {quoted(value)}.")
    return value


def quoted(value: Any) -> str:
    """``value`` as a message quotes it: from a link it may be thousands of characters long."""
    try:
        text = repr(value)
    except ValueError:  # Python writes no whole number of more than 4,300 digits
        return "a number of thousands of digits"
    return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}… ({len(text):,} characters)"
