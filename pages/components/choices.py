"""What the reader has chosen on Compare, in the session and in the address: copying one restores the other.

Every choice has a name, a default and a reader that checks a text from an address. Widgets use the name
as their key. Streamlit's own binding of widgets to addresses is not used: it does not follow values set
by code (previous, next, nearest ready SNR), and it drops a bad value without a word.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode

import streamlit as st

from core import lessons, pipeline
from core.figures.style import SCALES
from core.pipeline import DEFAULT_METHODS
from core.regions import PARTNERS, SAMPLINGS
from core.registry import DATASETS, FIELDS, METHODS, METRICS, MODELS, OF_DATA, Entry, models_for, usual_model
from core.types import SPEC_CHOICES, InputError, Spec, one_of, whole_number

ALL_IMAGES = "all images"
SORTS = ("as chosen", "EMD", "IME", "Precision")
CLOSER = ("one pixel", "how PatternLocal works", "spread over seeds", "pin and compare", "through SNR")
VIEWS = ("decision features", "same region", "map of regions", "along a line", "other ways", "pixels taken away",
         "exact is not innocent")
PICTURED = ("maps", "curve")
FAMILIES = ("methods", "metrics", "data sets", "models", "glossary")
STATE, WRITTEN, NOTICES, OPTIONS = "choices", "address_written", "address_notices", "method_options"


def _choice(allowed: Any) -> Callable[[str, str], Any]:
    allowed = tuple(dict.fromkeys(allowed))
    return lambda name, text: one_of(name, text, allowed)


def _option(family: Any, entry: str, name: str) -> Callable[[str, str], Any]:
    option = next(o for o in family[entry].options if o.name == name)
    return lambda _, text: option.check(text)


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
    return [one_of(name, part, BELOW) for part in text.split(",") if part]


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
BELOW = (*METRICS, "largest")
SHARED = ("dataset", "scenario", "background", "size", "snr", "model", "truth", "output", "target", "seed", "image")
KINDS = ("maps", "examples", "toy", "regions")
SEPARATORS = {"rows": ";", "columns": ";", "views": "|"}  # of lists whose parts may hold commas
READERS: dict[str, tuple[Any, Callable[[str, str], Any]]] = {
    "dataset": (PLAIN.dataset, _choice(DATASETS)),
    "scenario": (PLAIN.scenario, _option(DATASETS, "xai-tris", "scenario")),
    "background": (PLAIN.background, _option(DATASETS, "xai-tris", "background")),
    "size": (PLAIN.size, _option(DATASETS, "xai-tris", "size")),
    "snr": (PLAIN.snr, _option(DATASETS, "xai-tris", "snr")),
    "model": (PLAIN.model, _choice(MODELS)),
    "truth": (PLAIN.truth, _choice(SPEC_CHOICES["truth"])),
    "output": (PLAIN.output, _choice(SPEC_CHOICES["output"])),
    "target": (PLAIN.target, _choice(SPEC_CHOICES["target"])),
    "seed": (PLAIN.seed, _whole(0, 2**31 - 1)),
    "image": (PLAIN.image, _whole(0, 10**9)),
    "images": (ALL_IMAGES, _choice(name for dataset in DATASETS for name in filters(dataset))),
    "methods": (list(DEFAULT_METHODS), _methods),
    "scale": ("panel", _choice(SCALES)),
    "outline": (True, _flag),
    "sort": ("as chosen", _choice(SORTS)),
    "row": (None, _whole(0, 10**4)),
    "column": (None, _whole(0, 10**4)),
    "table": (False, _flag),
    "closer": ("one pixel", _choice(CLOSER)),
    "sampling": (next(iter(SAMPLINGS)), _choice(SAMPLINGS)),
    "region_view": (VIEWS[0], _choice(VIEWS)),
    "partner": (PARTNERS[0], _choice(PARTNERS)),
    "zoom": (6, _whole(0, 10)),
    "step": (next(iter(lessons.STEPS)), _choice(lessons.STEPS)),
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


def restore() -> None:
    """Puts the choices into the session before any widget is drawn: from the address when the reader
    opened or went back to one, else as they were left."""
    state, kept = st.session_state, st.session_state.setdefault(STATE, {})
    for name, (default, _) in READERS.items():
        kept[name] = state.get(name, kept.get(name, default))
    kept.setdefault(OPTIONS, {})
    address = st.query_params.to_dict()
    written = state.get(WRITTEN)
    if written is None or (address != written and _address(kept) == written):
        _read(address, kept)
    to_data(kept)
    for name in READERS:
        state[name] = kept[name]


def to_data(kept: Any) -> None:
    """Makes choices fit the chosen data set: its usual model and all images in place of what it does not have."""
    if kept["model"] not in models_for(kept["dataset"]):
        if st.query_params.get("model") == kept["model"]:
            tell(f"{kept['model']} is not made for {DATASETS[kept['dataset']].label}; "
                 f"{' and '.join(models_for(kept['dataset']))} are.")
        kept["model"] = usual_model(kept["dataset"])
    if kept["images"] not in filters(kept["dataset"]):
        kept["images"] = ALL_IMAGES


def write() -> None:
    """Puts the choices into the address; called once the page's choices are settled."""
    kept = st.session_state[STATE]
    kept.update({name: st.session_state[name] for name in READERS if name in st.session_state})
    address, written = _address(kept), st.session_state.get(WRITTEN)
    if written not in (None, address):
        st.session_state.pop(NOTICES, None)
    if address != written or address != st.query_params.to_dict():
        st.query_params.from_dict(address)
    st.session_state[WRITTEN] = address


def tell(notice: str) -> None:
    """Something in the address that could not be followed."""
    st.session_state.setdefault(NOTICES, []).append(notice)


def notices() -> list[str]:
    """What could not be followed in the address; told until the reader chooses something else."""
    return st.session_state.get(NOTICES, [])


def spec() -> Spec:
    """The Spec of the chosen data, model and image; ``of_method`` adds a method."""
    return Spec(**{name: st.session_state[name] for name in SHARED})


def spec_text(spec: Spec) -> str:
    """A Spec as a short text for a link; ``read_spec`` reads it."""
    plain = {f.name: f.default for f in dataclasses.fields(Spec) if f.name != "options"}
    fields = {n: getattr(spec, n) for n in plain if n == "method" or getattr(spec, n) != plain[n]}
    return urlencode(fields | {f"{spec.method}.{n}": v for n, v in changed(spec).items()})


def read_spec(text: str) -> Spec:
    """The checked Spec a text means; InputError for a mistake in it."""
    given = dict(parse_qsl(text))
    options = {n.partition(".")[2]: v for n, v in given.items() if "." in n}
    return pipeline.check(Spec.from_dict({n: v for n, v in given.items() if "." not in n} | {"options": options}))


def address() -> dict[str, str]:
    """What the address holds: every choice that is not the default."""
    return _address(st.session_state[STATE])


def changed(spec: Spec) -> dict[str, Any]:
    """The Spec's options that differ from its method's own."""
    plain = METHODS[spec.method].check({})
    return {name: value for name, value in spec.options if value != plain[name]}


def of_method(base: Spec, method: str) -> Spec:
    """The Spec of one method with the options chosen for it."""
    return pipeline.check(base.replace(method=method, options=method_options(method)))


def method_options(method: str) -> Mapping[str, Any]:
    return st.session_state[STATE][OPTIONS].get(method, {})


def set_method_options(method: str, values: Mapping[str, Any]) -> None:
    """Keeps those that differ from the defaults of the method, or of the kind of figure."""
    defaults = _entry(method).check({})
    st.session_state[STATE][OPTIONS][method] = {n: v for n, v in values.items() if v != defaults[n]}


def _entry(name: str) -> Entry:
    """The method or the kind of figure whose options a link names."""
    if name in METHODS or name not in KINDS:
        return METHODS[name]
    from core.studio import FIGURES

    return FIGURES[name]


def _address(kept: Mapping[str, Any]) -> dict[str, str]:
    has = {FIELDS.get(option.name, option.name) for option in DATASETS[kept["dataset"]].options}
    plain = {name: SEPARATORS.get(name, ",").join(value) if isinstance(value, list) else str(value)
             for name, value in kept.items()
             if name in READERS and value != READERS[name][0] and (name in has or name not in OF_DATA)}
    options = {f"{method}.{name}": str(value) for method, values in kept[OPTIONS].items()
               for name, value in values.items()}
    return plain | options


def _read(address: Mapping[str, str], kept: dict[str, Any]) -> None:
    kept.update({name: default for name, (default, _) in READERS.items()}, **{OPTIONS: {}})
    st.session_state.pop(NOTICES, None)
    st.session_state.pop(WRITTEN, None)
    for name, text in address.items():
        try:
            method, dot, option = name.partition(".")
            if dot:
                entry = _entry(method)
                kept[OPTIONS].setdefault(method, {})[option] = entry.check({option: text})[option]
            elif name in READERS:
                kept[name] = READERS[name][1](name, text)
            else:
                raise InputError(f"There is no choice named {name!r}.")
        except InputError as error:
            tell(str(error))
