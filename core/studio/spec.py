"""A FigureSpec is to a figure what a Spec is to a map: its whole content in plain values."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from core.figures.paper import Layout, checked
from core.registry import METHODS, METRICS, Entry, Registry, canonical
from core.types import InputError, Spec, one_of, quoted


@dataclass(frozen=True)
class FigureEntry(Entry):
    """``function(figure, progress, **options) -> Content``.

    ``start(base)`` gives the fields a new figure begins with beside its one row ``base``; ``has_rows`` and
    ``has_columns``: whether a reader chooses them; ``needs_model``: whether rows need a trained model.
    """

    start: Callable[[Spec], Mapping[str, Any]] = lambda base: {}
    has_rows: bool = True
    has_columns: bool = False
    needs_model: bool = False


FIGURES: Registry[FigureEntry] = Registry("figure", FigureEntry)  # filled by core.studio.kinds
PICTURES = {"image": "Image", "truth": "Ground truth"}  # columns that are no method
LARGEST = "largest"  # below a map: its largest value
MOST_ROWS, MOST_COLUMNS, MOST_SAMPLES = 24, 24, 40_000
PLAIN = Spec().method
Column = tuple[str, tuple[tuple[str, Any], ...]]
T = TypeVar("T")


@dataclass(frozen=True)
class FigureSpec:
    """The address of one figure for print.

    ``kind`` is one of FIGURES and ``settings`` its options. ``rows`` say which data, model and image; their method
    does not count. ``columns`` are ``image``, ``truth`` or a method with its options. ``below`` a map stand metrics
    or its ``largest`` value. Titles left out are made from what the rows and columns are.
    """

    kind: str = "maps"
    rows: tuple[Spec, ...] = (Spec(),)
    columns: tuple[Column, ...] = ()
    settings: tuple[tuple[str, Any], ...] = ()
    below: tuple[str, ...] = ("emd", "ime")
    layout: Layout = field(default_factory=Layout)
    title: str = ""
    row_titles: tuple[str, ...] = ()
    column_titles: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        entry = FIGURES[_text("kind", self.kind)]
        put = object.__setattr__
        put(self, "settings", tuple(sorted(entry.check(dict(self.settings)).items())))
        put(self, "rows", tuple(row(r) for r in _few("rows", self.rows, MOST_ROWS)))
        put(self, "columns", tuple(column(*c) for c in _few("columns", self.columns, MOST_COLUMNS)))
        put(self, "below", tuple(one_of("below", b, (*METRICS, LARGEST)) for b in dict.fromkeys(self.below)))
        put(self, "title", checked(self.title))
        for name in ("row_titles", "column_titles"):
            put(self, name, tuple(checked(_text(name, t)) for t in _few(name, getattr(self, name), MOST_ROWS)))

    def replace(self, **changes: Any) -> FigureSpec:
        """The same figure with some fields changed."""
        return dataclasses.replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; ``restore`` reads them back."""
        apart = ("method", "options")
        rows = [{n: v for n, v in r.to_dict().items() if n not in apart} for r in self.rows]
        return {
            "kind": self.kind,
            "rows": rows,
            "columns": [[n, dict(o)] for n, o in self.columns],
            "settings": dict(self.settings),
            "below": list(self.below),
            "layout": self.layout.to_dict(),
            "title": self.title,
            "row_titles": list(self.row_titles),
            "column_titles": list(self.column_titles),
        }


def row(spec: Spec) -> Spec:
    """A Spec as a row holds it: checked, and without a method."""
    if not isinstance(spec, Spec):
        raise InputError(f"A row must be a Spec, not {quoted(spec)}.")
    if (spec.samples or 0) > MOST_SAMPLES:
        raise InputError(f"A figure's data set has at most {MOST_SAMPLES:,} samples, not {spec.samples:,}.")
    return canonical(spec.replace(method="input", options=())).replace(method=PLAIN, options=())


def column(name: str, options: Any = ()) -> Column:
    """A column with all its options filled in."""
    if name in PICTURES:
        return name, ()
    given = dict(options)
    return METHODS[_text("column", name)].name, tuple(sorted(METHODS[name].check(given).items()))


def restore(values: Any) -> tuple[FigureSpec, list[str]]:
    """A FigureSpec from plain values, and a sentence for every part that could not be restored.

    Parts that make no sense are left out or take their default, so a file with one mistake still gives a figure.
    """
    if not isinstance(values, Mapping):
        raise InputError("A figure's settings must be an object with names and values.")
    reading = _Reading()
    if unknown := sorted(str(n) for n in set(values) - {f.name for f in dataclasses.fields(FigureSpec)}):
        reading.notices.append(f"A figure has no {', '.join(map(repr, unknown))}; left out.")
    figure = reading.attempt(FigureSpec, kind=values["kind"]) if "kind" in values else FigureSpec()
    for name, read in reading.parts(figure or FigureSpec()).items():
        if name in values and (part := reading.attempt(read, values[name])) is not None:
            figure = reading.attempt(dataclasses.replace, figure or FigureSpec(), **{name: part}) or figure
    return figure or FigureSpec(), list(dict.fromkeys(reading.notices))


class _Reading:
    """Reads part by part and notes what fails."""

    def __init__(self) -> None:
        self.notices: list[str] = []

    def attempt(self, make: Callable[..., T], *arguments: Any, **named: Any) -> T | None:
        """What ``make`` gives, or None and a notice."""
        try:
            return make(*arguments, **named)
        except InputError as error:
            self.notices.append(str(error))
        except (TypeError, ValueError, AttributeError):
            self.notices.append("A part of the figure has not the form it should have, and was left out.")
        return None

    def parts(self, figure: FigureSpec) -> dict[str, Callable[[Any], Any]]:
        """How each field of a figure is read from plain values."""
        return {
            "rows": lambda v: self._each(_few("rows", v, MOST_ROWS), self._row),
            "columns": lambda v: self._each(_few("columns", v, MOST_COLUMNS), self._column),
            "settings": lambda v: self._each(dict(v).items(), lambda pair: _setting(figure.kind, *pair)),
            "layout": self._layout,
            "below": tuple,
            "title": lambda v: _text("title", v),
            "row_titles": tuple,
            "column_titles": tuple,
        }

    def _each(self, values: Iterable, read: Callable[[Any], T]) -> tuple[T, ...]:
        return tuple(part for value in values if (part := self.attempt(read, value)) is not None)

    def _column(self, pair: Any) -> Column:
        result = column(*pair)
        if result[0] not in PICTURES:
            for name in dict(pair[1]):
                if (current := METHODS[result[0]].current_name(name)) != name:
                    self.notices.append(f"The option {name} of {METHODS[result[0]].label} is now called {current}.")
        return result

    def _row(self, values: Any) -> Spec:
        if not isinstance(values, Mapping):
            raise InputError("A row must be an object with the fields of a Spec.")
        about = {n: _plain(n, values[n]) for n in ("dataset", "model") if n in values}
        base = about if self.attempt(_row_of, about) else {}
        rest = {n: v for n, v in values.items() if n not in about and self.attempt(_row_of, base | {n: v})}
        return _row_of(base | rest)

    def _layout(self, values: Any) -> Layout:
        chosen = Layout()
        for name, value in dict(values).items():
            chosen = self.attempt(_layout_with, chosen, name, value) or chosen
        return chosen


def _row_of(values: Mapping[str, Any]) -> Spec:
    """The row of plain values; a data set's further options stand in ``data_options``."""
    options = {n: _plain(n, v) for n, v in dict(values.get("data_options", {})).items()}
    fields = {n: _plain(n, v) for n, v in values.items() if n != "data_options"}
    return row(Spec.from_dict(fields | {"data_options": options}))


def _layout_with(chosen: Layout, name: str, value: Any) -> Layout:
    return Layout.from_dict({**chosen.to_dict(), name: _plain(name, value)})


def _setting(kind: str, name: str, value: Any) -> tuple[str, Any]:
    return name, FIGURES[kind].check({name: value})[name]


def layout(values: Mapping[str, str]) -> Layout:
    """A Layout from texts, as the command line and a link give them."""
    words = {"True": True, "true": True, "False": False, "false": False}
    return Layout.from_dict({n: words.get(v, v) if n == "outline" else v for n, v in values.items()})


def _plain(name: str, value: Any) -> Any:
    """``value`` if it is a text or a number."""
    if not isinstance(value, (str, int, float)):
        raise InputError(f"{name} must be a text or a number, not {type(value).__name__}.")
    return value


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InputError(f"{name} must be a text, not {quoted(value)}.")
    return value


def _few(name: str, values: Iterable, most: int) -> tuple:
    values = tuple(values)
    if len(values) > most:
        raise InputError(f"A figure has at most {most} {name.replace('_', ' ')}, not {len(values)}.")
    return values
