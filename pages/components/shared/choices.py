"""What the reader has chosen, in the session and in the address: copying one restores the other.

pages.components.shared.fields lists the choices there are. Streamlit's own binding of widgets to addresses is not
used: it does not follow values set by code (previous, next, nearest ready SNR), and it drops a bad value without a
word.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from core.registry import DATASETS, canonical, models_for, usual_model
from core.types import InputError, Spec, quoted
from pages.components.shared import aliases, fields
from pages.components.shared.fields import ALL_IMAGES, SEPARATORS, SHARED, filters

STATE, WRITTEN, NOTICES, OPTIONS = "choices", "address_written", "address_notices", "method_options"


def restore() -> None:
    """Puts the choices into the session before any widget is drawn: from the address when the reader
    opened or went back to one, else as they were left."""
    state, kept = st.session_state, st.session_state.setdefault(STATE, {OPTIONS: {}})
    for dataset in DATASETS:
        for name, (default, _) in fields.readers(dataset).items():
            kept[name] = state.get(name, kept.get(name, default))
    address = st.query_params.to_dict()
    written = state.get(WRITTEN)
    if written is None or (address != written and _address(kept) == written):
        _read(address, kept)
    to_data(kept)
    for name in fields.names():
        state[name] = kept[name]


def to_data(kept: Any) -> None:
    """Makes choices fit the chosen data set: its defaults in place of what it does not have."""
    if kept["model"] not in models_for(kept["dataset"]):
        if st.query_params.get("model") == kept["model"]:
            tell(
                f"{kept['model']} is not made for {DATASETS[kept['dataset']].label}; "
                f"{' and '.join(models_for(kept['dataset']))} are."
            )
        kept["model"] = usual_model(kept["dataset"])
    for name, option in fields.data_options(kept["dataset"]).items():
        try:
            kept[name] = option.check(kept[name])
        except InputError:
            kept[name] = option.default
    if kept["images"] not in filters(kept["dataset"]):
        kept["images"] = ALL_IMAGES


def write() -> None:
    """Puts the choices into the address; called once the page's choices are settled."""
    kept = st.session_state[STATE]
    kept.update({name: st.session_state[name] for name in fields.names() if name in st.session_state})
    address, written = _address(kept), st.session_state.get(WRITTEN)
    if written not in (None, address):
        st.session_state.pop(NOTICES, None)
    if address != written or address != st.query_params.to_dict():
        st.query_params.from_dict(address)
    st.session_state[WRITTEN] = address


def tell(notice: str) -> None:
    """Adds a notice of something in the address that could not be followed."""
    st.session_state.setdefault(NOTICES, []).append(f"Part of this link could not be used. {notice}")


def renamed(old: str, new: str) -> None:
    """Adds a notice of a name that has changed since the address was written."""
    st.session_state.setdefault(NOTICES, []).append(
        f"The link is from an earlier version: {old} is now called {new}."
    )


def notices() -> list[str]:
    """The notices about the address, until the reader chooses something else."""
    return st.session_state.get(NOTICES, [])


def spec() -> Spec:
    """The Spec of the chosen data, model and image; ``of_method`` adds a method."""
    state = st.session_state
    data = DATASETS[state.dataset].spec(**{name: state[name] for name in fields.data_options(state.dataset)})
    return data.replace(**{name: state[name] for name in SHARED})


def choose(wanted: Spec) -> None:
    """Chooses the data, model and image of a Spec."""
    data, state = DATASETS[wanted.dataset], st.session_state
    state.dataset = wanted.dataset
    for name, value in data.arguments(wanted).items():
        if name in fields.data_options(wanted.dataset):
            state[name] = value
    for name in SHARED:
        state[name] = getattr(wanted, name)


def address() -> dict[str, str]:
    """What the address holds: every choice that is not the default."""
    return _address(st.session_state[STATE])


def of_method(base: Spec, method: str) -> Spec:
    """The Spec of one method with the options chosen for it."""
    return canonical(base.replace(method=method, options=method_options(method)))


def method_options(method: str) -> Mapping[str, Any]:
    return st.session_state[STATE][OPTIONS].get(method, {})


def set_method_options(method: str, values: Mapping[str, Any]) -> None:
    """Keeps those that differ from the defaults of the method, or of the kind of figure."""
    st.session_state[STATE][OPTIONS][method] = fields.entry(method).changed(values)


def _address(kept: Mapping[str, Any]) -> dict[str, str]:
    plain = {
        name: SEPARATORS.get(name, ",").join(kept[name]) if isinstance(kept[name], list) else str(kept[name])
        for name, (default, _) in fields.readers(kept["dataset"]).items()
        if kept[name] != default
    }
    options = {
        f"{method}.{name}": str(value) for method, values in kept[OPTIONS].items() for name, value in values.items()
    }
    return plain | options


def _read(address: Mapping[str, str], kept: dict[str, Any]) -> None:
    dataset = address.get("dataset", Spec.dataset)
    readers = fields.readers(dataset if dataset in DATASETS else Spec.dataset)
    kept.update({name: default for name, (default, _) in readers.items()}, **{OPTIONS: {}})
    st.session_state.pop(NOTICES, None)
    st.session_state.pop(WRITTEN, None)
    for name, text in address.items():
        try:
            method, dot, option = name.partition(".")
            if dot:
                entry = fields.entry(method)
                current = entry.current_name(option)
                kept[OPTIONS].setdefault(method, {})[current] = entry.check({option: text})[current]
                if current != option:
                    renamed(name, f"{method}.{current}")
            elif name in readers:
                current = aliases.current(name, text)
                kept[name] = readers[name][1](name, current)
                if current != text:
                    renamed(f"“{text}”", f"“{current}”")
            elif name in fields.names():
                continue  # what another data set has
            else:
                raise InputError(f"There is no choice named {quoted(name)}.")
        except InputError as error:
            tell(str(error))
