"""What the reader has chosen on Compare, in the session and in the address: copying one restores the other.

Every choice has a name, a default and a reader that checks a text from an address. Widgets use the name
as their key. Streamlit's own binding of widgets to addresses is not used: it does not follow values set
by code (previous, next, nearest ready SNR), and it drops a bad value without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from core import lessons, pipeline
from core.figures.style import SCALES
from core.pipeline import DEFAULT_METHODS
from core.regions import PARTNERS, SAMPLINGS
from core.registry import DATASETS, METHODS, MODELS
from core.types import SPEC_CHOICES, InputError, Spec, one_of, whole_number

FILTERS = {"all images": {}, "class 0": {"label": 0}, "class 1": {"label": 1},
           "correct": {"correct": True}, "wrong": {"correct": False}}
SORTS = ("as chosen", "EMD", "IME", "Precision")
CLOSER = ("one pixel", "how PatternLocal works", "spread over seeds")
VIEWS = ("decision features", "same region, same answer", "map of regions", "along a line",
         "against other ways", "exact is not innocent")
PICTURED = ("maps", "curve")
FAMILIES = ("methods", "metrics", "data sets", "models", "glossary")
SPEC = ("dataset", "scenario", "background", "size", "snr", "model", "truth", "output", "target", "seed", "image")
STATE, WRITTEN, NOTICES, OPTIONS = "choices", "address_written", "address_notices", "method_options"


def _choice(allowed: Any) -> Callable[[str, str], Any]:
    return lambda name, text: one_of(name, text, tuple(allowed))


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


PLAIN = Spec()
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
    "images": ("all images", _choice(FILTERS)),
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
    for name in READERS:
        state[name] = kept[name]


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
    return Spec(**{name: st.session_state[name] for name in SPEC})


def of_method(base: Spec, method: str) -> Spec:
    """The Spec of one method with the options chosen for it."""
    return pipeline.check(base.replace(method=method, options=method_options(method)))


def method_options(method: str) -> Mapping[str, Any]:
    return st.session_state[STATE][OPTIONS].get(method, {})


def set_method_options(method: str, values: Mapping[str, Any]) -> None:
    """Keeps those that differ from the method's defaults."""
    defaults = METHODS[method].check({})
    st.session_state[STATE][OPTIONS][method] = {n: v for n, v in values.items() if v != defaults[n]}


def _address(kept: Mapping[str, Any]) -> dict[str, str]:
    plain = {name: ",".join(value) if isinstance(value, list) else str(value)
             for name, value in kept.items() if name in READERS and value != READERS[name][0]}
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
                entry = METHODS[method]
                kept[OPTIONS].setdefault(method, {})[option] = entry.check({option: text})[option]
            elif name in READERS:
                kept[name] = READERS[name][1](name, text)
            else:
                raise InputError(f"There is no choice named {name!r}.")
        except InputError as error:
            tell(str(error))
