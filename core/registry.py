"""One place to add a method, metric, data set or model: a function with a decorator.

Everything the screen and the command line offer is read from here: selectors, option widgets, links,
cards and the family tests. An option's default stands once, in the function's signature.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Generic, TypeVar

from core.types import InputError, Spec, number, one_of, whole_number


@dataclass(frozen=True)
class Option:
    """One choice: what it means and what is allowed, by ``choices`` or by the range [low, high].

    ``when`` holds pairs of another option's name and the values of it for which this one matters.
    ``default`` is the one in the function's signature unless it is given here.
    """

    name: str
    help: str
    choices: tuple = ()
    low: float | None = None
    high: float | None = None
    log: bool = False
    when: tuple[tuple[str, tuple], ...] = ()
    default: Any = None

    @property
    def label(self) -> str:
        return self.name.replace("_", " ").capitalize()

    def matters(self, values: Mapping[str, Any]) -> bool:
        """Whether this option has an effect beside the other options' values."""
        return all(values[name] in allowed for name, allowed in self.when if name in values)

    def check(self, value: Any) -> Any:
        """``value`` in this option's own type, or InputError; text from a link or a flag is read."""
        if isinstance(self.default, bool):
            words = {"true": True, "false": False, "1": True, "0": False}
            return one_of(self.name, words.get(str(value).lower(), value), (True, False))
        if self.choices:
            by_text = {str(choice): choice for choice in self.choices}
            return by_text[one_of(self.name, str(value), tuple(by_text))]
        if isinstance(self.default, int):
            return whole_number(self.name, _read(value), int(self.low), int(self.high))
        result = number(self.name, value)
        if not self.low <= result <= self.high:
            raise InputError(f"{self.name} must lie between {self.low} and {self.high}, not {value!r}.")
        return result


def _read(value: Any) -> Any:
    """The number a text stands for; anything else unchanged, for the checks to judge."""
    if not isinstance(value, str):
        return value
    try:
        return int(value)
    except ValueError:
        return value


@dataclass(frozen=True)
class Entry:
    """A registered function with what a reader must know of it."""

    name: str
    label: str
    function: Callable
    summary: str
    reference: str
    options: tuple[Option, ...] = ()
    formula: str = ""  # in plain characters, for cards and lists
    misleads: str = ""  # when not to believe it

    def check(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """All options, those left out at their defaults; unknown or out of range is an InputError."""
        known = {option.name: option for option in self.options}
        if unknown := [name for name in given if name not in known]:
            raise InputError(f"{self.label} has no option {', '.join(map(repr, unknown))}. "
                             f"Its options: {', '.join(known) or 'none'}.")
        return {name: option.check(given.get(name, option.default)) for name, option in known.items()}

    def changed(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Those of the given options that differ from the defaults."""
        plain = self.check({})
        return {name: value for name, value in dict(given).items() if value != plain[name]}


@dataclass(frozen=True)
class Data(Entry):
    """``function(**options) -> Dataset``. An option's name is a Spec's field; ``seed`` is its ``data_seed``.

    ``truth``: whether it is known which pixels matter; ``classes`` are their names.
    """

    truth: bool = True
    classes: tuple[str, ...] = ("0", "1")

    def arguments(self, spec: Spec) -> dict[str, Any]:
        """What the function is called with for a Spec."""
        return {o.name: getattr(spec, FIELDS.get(o.name, o.name)) for o in self.options}


@dataclass(frozen=True)
class Method(Entry):
    """``function(context, **options) -> (h,w)``; see core.methods.context.

    ``signed``: its map has two signs; ``seeded``: it draws random numbers; ``group``: its family.
    """

    signed: bool = True
    seeded: bool = False
    group: str = ""


@dataclass(frozen=True)
class Metric(Entry):
    """``function(values (h,w), mask (h,w)) -> float``; ``slow`` ones run beside the page."""

    lower_is_better: bool = True
    slow: bool = False


@dataclass(frozen=True)
class Model(Entry):
    """``function(size) -> torch module`` from images (n,h,w) to logits (n,C).

    ``datasets``: which it is made for; if they have one size, that is the function's default. ``whitening``: its
    first layer is dense, so that whitened training can be folded into it. ``rate``: Adam's step size that trains it
    on every scenario it can solve; ``patience``: epochs at chance that are borne before a training is given up.
    ``fit(module, dataset, seed, progress)`` trains what is not trained by gradient steps through the whole, and says
    how many passes it took.
    """

    datasets: tuple[str, ...] = ("xai-tris",)
    whitening: bool = False
    rate: float = 1e-3
    patience: int = 10
    fit: Callable | None = None


E = TypeVar("E", bound=Entry)


class Registry(Mapping, Generic[E]):
    """Entries by name, in the order they were registered."""

    def __init__(self, kind: str, entry: type[E]):
        self.kind, self._entry, self._entries = kind, entry, {}

    def register(self, name: str, *, options: tuple[Option, ...] = (), **about: Any) -> Callable:
        """Decorator: adds the function under ``name``; its keyword defaults become the options'."""

        def add(function: Callable) -> Callable:
            parameters = inspect.signature(function).parameters
            keywords = {p.name for p in parameters.values() if p.kind is p.KEYWORD_ONLY}
            passed_on = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
            names = {option.name for option in options}
            if not keywords <= names or not (passed_on or names <= set(parameters)):
                raise TypeError(f"{name}: keyword arguments {sorted(keywords)} and options {sorted(names)} differ")
            bound = tuple(replace(
                option, when=tuple(pair for pair in option.when if pair[0] in names),
                default=parameters[option.name].default if option.default is None else option.default)
                for option in options)
            for option in bound:
                option.check(option.default)
            self._entries[name] = self._entry(name=name, function=function, options=bound, **about)
            return function

        return add

    def __getitem__(self, name: str) -> E:
        if name not in self._entries:
            close = difflib.get_close_matches(str(name), self._entries, n=1)
            hint = f" Did you mean {close[0]}?" if close else ""
            raise InputError(f"There is no {self.kind} {name!r}.{hint} There are: {', '.join(self._entries)}.")
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


FIELDS = {"seed": "data_seed"}  # a data set's options that have another name in a Spec
OF_DATA = ("scenario", "background", "snr", "size", "samples", "data_seed")  # a Spec's fields that are such options

DATASETS: Registry[Data] = Registry("data set", Data)
MODELS: Registry[Model] = Registry("model", Model)
METHODS: Registry[Method] = Registry("method", Method)
METRICS: Registry[Metric] = Registry("metric", Metric)


def settled(spec: Spec) -> Spec:
    """The Spec with those fields blank that its data set does not have: two ways to say the same become one."""
    named = {FIELDS.get(option.name, option.name) for option in DATASETS[spec.dataset].options}
    return spec.replace(**{name: type(getattr(spec, name))() for name in OF_DATA if name not in named})


def named(spec: Spec) -> dict[str, Any]:
    """The fields that have to be named to mean this Spec again, but its options: those not at their defaults."""
    spec, plain = settled(spec), Spec()
    has = {FIELDS.get(option.name, option.name) for option in DATASETS[spec.dataset].options}
    return {name: value for name in asdict(plain) if name != "options" and (name in has or name not in OF_DATA)
            and (value := getattr(spec, name)) != getattr(plain, name)}


def models_for(dataset: str) -> tuple[str, ...]:
    """Names of the models made for a data set."""
    return tuple(name for name, model in MODELS.items() if DATASETS[dataset].name in model.datasets)


def usual_model(dataset: str) -> str:
    """The model of a data set that is meant when none is named."""
    fitting = models_for(dataset)
    return Spec.model if Spec.model in fitting else fitting[0]
