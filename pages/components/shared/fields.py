"""Every choice a reader of the pages can make: its name, its default, and how a text from an address is checked.

Widgets use the name as their key; pages.components.shared.choices keeps what was chosen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode

from core import lessons
from core.figures.style import SCALES
from core.pipeline import DEFAULT_METHODS
from core.regions import COMPARISON_POINTS, SAMPLINGS
from core.registry import DATASETS, METHODS, METRICS, MODELS, Entry, Option, canonical, non_default_fields, spec_of
from core.types import SPEC_CHOICES, InputError, Spec, one_of, whole_number

ALL_IMAGES = "all images"
AS_CHOSEN = "as chosen"
DETAILS = ("one pixel", "PatternLocal step by step", "variation over seeds", "pin and compare", "SNR series")
REGION_VIEWS = (
    "decision features",
    "same region",
    "region map",
    "line scan",
    "finite-difference estimates",
    "deletion curve",
    "exact can still mislead",
)
PICTURED = ("maps", "curve")
FAMILIES = ("methods", "metrics", "data sets", "models", "glossary")


Reader = Callable[[str, str], Any]


def sentence(text: str) -> str:
    """A choice as a button reads: with a capital."""
    return text[0].upper() + text[1:]


def _choice(allowed: Container) -> Reader:
    """A reader for one of some names; a registry is looked at when a link is read, as it may grow."""
    return lambda name, text: one_of(name, text, allowed)


def data_options(dataset: str) -> dict[str, Option]:
    """The options of a data set that pages offer, by name."""
    return {option.name: option for option in DATASETS[dataset].options if option.on_pages}


def readers(dataset: str) -> dict[str, tuple[Any, Reader]]:
    """Every choice with its default, and how a text from an address is checked, for one data set."""

    def of(option: Option) -> tuple[Any, Reader]:
        return option.default, lambda _, text: option.check(text)

    return {
        "dataset": (Spec.dataset, _choice(DATASETS)),
        **{name: of(option) for name, option in data_options(dataset).items()},
        **READERS,
    }


def sorts() -> tuple[str, ...]:
    """The orders of results: as chosen, or by a metric."""
    return AS_CHOSEN, *(metric.label for metric in METRICS.values())


def below() -> tuple[str, ...]:
    """What may stand below a map in a figure: a metric, or its largest value."""
    return *METRICS, "largest"


def names() -> list[str]:
    """The names of all choices, whatever the data set."""
    return list({name: None for dataset in DATASETS for name in readers(dataset)})


def _slider(name: str) -> Callable[[str, str], Any]:
    return lambda _, text: lessons.SLIDERS[name].check(text)


def _whole(low: int, high: int) -> Callable[[str, str], int]:
    return lambda name, text: whole_number(name, text, low, high)


def _methods(name: str, text: str) -> list[str]:
    return list(dict.fromkeys(METHODS[part].name for part in text.split(",") if part))


def _flag(name: str, text: str) -> bool:
    return one_of(name, text, ("True", "False")) == "True"


def filters(dataset: str) -> dict[str, dict[str, Any]]:
    """Which images may be kept, and how core chooses them."""
    classes = {f"class {number}": {"label": number} for number in range(len(DATASETS[dataset].classes))}
    return {ALL_IMAGES: {}, **classes, "correct": {"correct": True}, "wrong": {"correct": False}}


def _studio(name: str) -> Callable[[str, str], Any]:
    """A reader for a list of rows or columns; core.studio is loaded when a link speaks of a figure, not before."""

    def read(_: str, text: str) -> list[str]:
        from core import studio

        parts = [part for part in text.split(";") if part]
        for part in parts:
            studio.read_row(part, PLAIN) if name == "rows" else studio.read_column(part, {})
        return parts

    return read


def _layout(name: str) -> Callable[[str, str], Any]:
    def read(_: str, text: str) -> Any:
        from core import studio

        return getattr(studio.layout({name: text}), name)

    return read


def _title(name: str, text: str) -> str:
    from core.figures import paper

    return paper.checked(text)


def _figure(name: str, text: str) -> str:
    from core.studio import FIGURES

    return FIGURES[text].name


def _below(name: str, text: str) -> list[str]:
    return [one_of(name, part, below()) for part in text.split(",") if part]


def _pin(name: str, text: str) -> str:
    read_spec(text)
    return text


def _views(name: str, text: str) -> list[str]:
    return checked_views(text.split(SEPARATORS["views"]))


def checked_views(texts: Sequence[str]) -> list[str]:
    """Saved views ``name?address``, or InputError; what an address says is checked when it is followed."""
    for text in texts:
        view, mark, address = text.partition("?")
        if not mark or not VIEW.fullmatch(view) or len(address) > LONGEST_VIEW:
            raise InputError(f"A saved view is a short name, ? and an address, not {text[:40]!r}.")
    if len(texts) > MOST_VIEWS:
        raise InputError(f"At most {MOST_VIEWS} views can be saved, not {len(texts)}.")
    return list({text.partition("?")[0]: text for text in texts}.values())


PLAIN = Spec()
VIEW, LONGEST_VIEW, MOST_VIEWS = re.compile(r"[\w .,()\-]{1,40}"), 2000, 12
SHARED = ("model", "truth", "output", "target", "seed", "image")  # fields of a Spec beside those of its data
SEPARATORS = {"rows": ";", "columns": ";", "views": "|"}  # of lists whose parts may hold commas
READERS: dict[str, tuple[Any, Reader]] = {
    "model": (PLAIN.model, _choice(MODELS)),
    "truth": (PLAIN.truth, _choice(SPEC_CHOICES["truth"])),
    "output": (PLAIN.output, _choice(SPEC_CHOICES["output"])),
    "target": (PLAIN.target, _choice(SPEC_CHOICES["target"])),
    "seed": (PLAIN.seed, _whole(0, 2**31 - 1)),
    "image": (PLAIN.image, _whole(0, 10**9)),
    "images": (
        ALL_IMAGES,
        lambda name, text: one_of(name, text, [f for dataset in DATASETS for f in filters(dataset)]),
    ),
    "methods": (list(DEFAULT_METHODS), _methods),
    "scale": ("panel", _choice(SCALES)),
    "outline": (True, _flag),
    "sort": (AS_CHOSEN, lambda name, text: one_of(name, text, sorts())),
    "row": (None, _whole(0, 10**4)),
    "column": (None, _whole(0, 10**4)),
    "table": (False, _flag),
    "closer": ("one pixel", _choice(DETAILS)),
    "sampling": (next(iter(SAMPLINGS)), _choice(SAMPLINGS)),
    "region_view": (REGION_VIEWS[0], _choice(REGION_VIEWS)),
    "partner": (COMPARISON_POINTS[0], _choice(COMPARISON_POINTS)),
    "zoom": (6, _whole(0, 10)),
    "step": (next(iter(lessons.LESSON_STEPS)), _choice(lessons.LESSON_STEPS)),
    "present": (False, _flag),
    "reveal": (False, _flag),
    "guess": (None, _whole(0, 4)),
    "pictured": (PICTURED[0], _choice(PICTURED)),
    "family": (FAMILIES[0], _choice(FAMILIES)),
    **{name: (option.default, _slider(name)) for name, option in lessons.SLIDERS.items()},
    "figure": ("maps", _figure),
    "rows": ([], _studio("rows")),
    "columns": ([], _studio("columns")),
    "below": (["emd", "ime"], _below),
    "width": ("page", _layout("width")),
    "points": (0.0, _layout("points")),
    "palette": ("red-blue", _layout("palette")),
    "dpi": (300, _layout("dpi")),
    "file": ("pdf", _choice(("pdf", "svg", "png"))),
    "title": ("", _title),
    "row_titles": ("", _title),
    "column_titles": ("", _title),
    "pin": ("", _pin),
    "views": ([], _views),
}


def entry(name: str) -> Entry:
    """The method or the kind of figure whose options a link names."""
    try:
        return METHODS[name]
    except InputError:
        from core.studio import FIGURES  # late: matplotlib, which only a figure needs

        if name in FIGURES:
            return FIGURES[name]
        raise


def spec_text(spec: Spec) -> str:
    """A Spec as a short text for a link; ``read_spec`` reads it."""
    options = METHODS[spec.method].changed(spec.options)
    return urlencode(
        {**non_default_fields(spec), "method": spec.method} | {f"{spec.method}.{n}": v for n, v in options.items()}
    )


def read_spec(text: str) -> Spec:
    """The checked Spec a text means; InputError for a mistake in it."""
    given = dict(parse_qsl(text))
    options = {n.partition(".")[2]: v for n, v in given.items() if "." in n}
    return canonical(spec_of({n: v for n, v in given.items() if "." not in n} | {"options": options}))
