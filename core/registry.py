"""One place to add a method, metric, data set or model: a function with a decorator.

Everything the screen and the command line offer is read from here: selectors, option widgets, links,
cards and the family tests. An option's default stands once, in the function's signature.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, Generic, TypeVar

from core.types import LONGEST_NUMBER, XAI_TRIS, InputError, Spec, number, one_of, quoted, whole_number


@dataclass(frozen=True)
class Option:
    """One choice: what it means and what is allowed, by ``choices`` or by the range [low, high].

    ``when`` holds pairs of another option's name and the values of it for which this one matters.
    ``default`` is the one in the function's signature unless it is given here. ``form`` is how a value reads in a
    caption. ``on_pages``: whether forms and links offer it, or only the command line and Python. ``aliases`` are its
    earlier names: old links, sidecars and scripts go on working. ``decimals``: fractions that differ only beyond them
    are one and the same.
    """

    name: str
    help: str
    choices: tuple = ()
    low: float | None = None
    high: float | None = None
    log: bool = False
    when: tuple[tuple[str, tuple], ...] = ()
    default: Any = None
    form: str = ""
    on_pages: bool = True
    aliases: tuple[str, ...] = ()
    decimals: int | None = None

    @property
    def label(self) -> str:
        return self.name.removeprefix("n_").replace("_", " ").capitalize()

    def text(self, value: Any) -> str:
        """The value as a caption has it: ``SNR 0.05``, ``contrast 0.5``."""
        return (
            self.form.format(value)
            if self.form
            else f"{self.label.lower()} {f'{value:g}' if isinstance(value, float) else value}"
        )

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
        if self.decimals is not None:
            result = round(result, self.decimals)
        if not self.low <= result <= self.high:
            raise InputError(f"{self.name} must lie between {self.low} and {self.high}, not {quoted(value)}.")
        return result


def _read(value: Any) -> Any:
    """The number a text stands for; anything else unchanged, for the checks to judge."""
    if not isinstance(value, str):
        return value
    try:
        return int(value) if len(value) <= LONGEST_NUMBER else value
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
        if unknown := [name for name in given if self.current_name(name) not in known]:
            raise InputError(
                f"{self.label} has no option {', '.join(map(repr, unknown))}. "
                f"Its options: {', '.join(known) or 'none'}."
            )
        if len(current := {self.current_name(name): value for name, value in given.items()}) < len(given):
            raise InputError(
                f"{self.label} was given the same option twice, by its name and by an earlier one: "
                f"{', '.join(given)}."
            )
        return {name: option.check(current.get(name, option.default)) for name, option in known.items()}

    def current_name(self, name: str) -> str:
        """The name that an option has today; ``name`` itself if it is none that an option had before."""
        return next((option.name for option in self.options if name in option.aliases), name)

    def changed(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Those of the given options that differ from the defaults."""
        plain = self.check({})
        return {name: value for name, value in dict(given).items() if value != plain[name]}


@dataclass(frozen=True)
class DatasetEntry(Entry):
    """``function(**options) -> Dataset``. An option is a Spec's field of that name, ``seed`` its ``data_seed``, or
    else one of its ``data_options``.

    ``has_ground_truth``: whether it is known which pixels matter; ``classes`` are their names.
    """

    has_ground_truth: bool = True
    classes: tuple[str, ...] = ("0", "1")

    def __post_init__(self) -> None:
        own = set(Spec.names()) - set(Spec.names("data")) | {"dataset", "data_options"}
        if clashes := sorted(own & {o.name for o in self.options} - {"seed"}):
            raise InputError(
                f"The option {clashes[0]!r} of the data set {self.name!r} has the name of a Spec's field "
                f"{clashes[0]!r}, which means something else. Give the option another name."
            )

    def spec(self, **options: Any) -> Spec:
        """The Spec of this data set with some of its options."""
        fields = {field_of(o): options.pop(o.name) for o in self.options if field_of(o) and o.name in options}
        return Spec(dataset=self.name, **fields, data_options=options)

    def arguments(self, spec: Spec) -> dict[str, Any]:
        """What the function is called with for a Spec: its checked options."""
        further = dict(spec.data_options)
        given = {
            o.name: getattr(spec, field_of(o), None) if field_of(o) else further.pop(o.name, None)
            for o in self.options
        }
        return self.check({name: value for name, value in (given | further).items() if value is not None})

    def fields(self, spec: Spec) -> dict[str, Any]:
        """The fields of a Spec that are about the data, checked; blank those that this data set does not have."""
        arguments = self.arguments(spec)
        named = {field_of(o): arguments.pop(o.name) for o in self.options if field_of(o)}
        return {name: type(default)() for name, default in XAI_TRIS.items()} | named | {"data_options": arguments}

    def texts(self, spec: Spec) -> list[str]:
        """The options that pages offer, as captions have them: ``XOR``, ``CORR``, ``SNR 0.05``, ``64 × 64``."""
        arguments = self.arguments(spec)
        return [o.text(arguments[o.name]) for o in self.options if o.on_pages]

    def describe(self, spec: Spec) -> str:
        """The data in words: ``XAI-TRIS XOR CORR, SNR 0.05, 64 × 64``."""
        bare = [o.form == "{}" for o in self.options if o.on_pages]
        words = [("" if plain else ",") + " " + text for plain, text in zip(bare, self.texts(spec))]
        return self.label + "".join(words)


def field_of(option: Option) -> str:
    """The Spec's field that holds a data set's option; empty for one of its ``data_options``."""
    name = "data_seed" if option.name == "seed" else option.name
    return name if name in XAI_TRIS else ""


@dataclass(frozen=True)
class MethodEntry(Entry):
    """``function(context, **options) -> (h,w)``; see core.methods.context.

    ``signed``: its map has two signs; ``seeded``: it draws random numbers; ``group``: its family.
    """

    signed: bool = True
    seeded: bool = False
    group: str = ""


@dataclass(frozen=True)
class MetricEntry(Entry):
    """``function(values (h,w), mask (h,w)) -> float``; ``slow`` ones run beside the page."""

    lower_is_better: bool = True
    slow: bool = False


@dataclass(frozen=True)
class ModelEntry(Entry):
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
            bound = tuple(
                replace(
                    option,
                    when=tuple(pair for pair in option.when if pair[0] in names),
                    default=parameters[option.name].default if option.default is None else option.default,
                )
                for option in options
            )
            for option in bound:
                option.check(option.default)
            self._entries[name] = self._entry(name=name, function=function, options=bound, **about)
            return function

        return add

    @contextlib.contextmanager
    def temporary(self) -> Iterator[None]:
        """Inside the block entries may be added; afterwards there are those there were before."""
        before = dict(self._entries)
        try:
            yield
        finally:
            self._entries.clear()
            self._entries.update(before)

    def __getitem__(self, name: str) -> E:
        if name not in self._entries:
            close = difflib.get_close_matches(str(name), self._entries, n=1)
            hint = f" Did you mean {close[0]}?" if close else ""
            raise InputError(f"There is no {self.kind} {quoted(name)}.{hint} There are: {', '.join(self._entries)}.")
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def discover(package: ModuleType) -> None:
    """Imports every module of a package, so that whatever stands in one of its files is registered."""
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")


DATASETS: Registry[DatasetEntry] = Registry("data set", DatasetEntry)
MODELS: Registry[ModelEntry] = Registry("model", ModelEntry)
METHODS: Registry[MethodEntry] = Registry("method", MethodEntry)
METRICS: Registry[MetricEntry] = Registry("metric", MetricEntry)


def canonical(spec: Spec) -> Spec:
    """The Spec in its one spelling: every option filled in and checked, and blank what its data set does not have.

    InputError for a name or a value that does not exist, or a model that is not made for the data. A canonical Spec
    is known as such and given back as it is.
    """
    if spec.__dict__.get("canonical"):
        return spec
    data = DATASETS[spec.dataset]
    if spec.dataset not in MODELS[spec.model].datasets:
        fitting = " and ".join(models_for(spec.dataset))
        raise InputError(
            f"{spec.model} is not made for {data.label}; " + (f"{fitting} are." if fitting else "no model is yet.")
        )
    result = spec.replace(**data.fields(spec), options=METHODS[spec.method].check(dict(spec.options)))
    result.__dict__.update(canonical=True, checked=True)
    return result


def model_key(spec: Spec) -> Spec:
    """The model a Spec means and its data, in their one spelling."""
    return (spec if spec.checked else canonical(spec)).model_key()


def non_default_fields(spec: Spec) -> dict[str, Any]:
    """What has to be named to mean this Spec again, but its method's options: what is not at its default.

    The data set's further options stand among the fields, under their own names.
    """
    spec, default = canonical(spec), canonical(Spec(dataset=spec.dataset, model=usual_model(spec.dataset)))
    fields = {
        name: getattr(spec, name)
        for name in Spec.names()
        if name not in ("options", "data_options")
        and getattr(spec, name) != getattr(Spec() if name in ("dataset", "model") else default, name)
    }
    return fields | {name: value for name, value in spec.data_options if (name, value) not in default.data_options}


def spec_of(values: Mapping[str, Any]) -> Spec:
    """A Spec from plain values, as links have them: a data set's further options under their own names."""
    values = dict(values)
    options = DATASETS[values.get("dataset", Spec.dataset)].options
    further = {o.name: values.pop(o.name) for o in options if not field_of(o) and o.name in values}
    return Spec.from_dict({**values, "data_options": further})


def models_for(dataset: str) -> tuple[str, ...]:
    """Names of the models made for a data set."""
    return tuple(name for name, model in MODELS.items() if DATASETS[dataset].name in model.datasets)


def usual_model(dataset: str) -> str:
    """The model of a data set that is meant when none is named."""
    fitting = models_for(dataset)
    return Spec.model if Spec.model in fitting else fitting[0]
