"""Rows and columns of a figure as short texts, for a link and for a list to choose from.

A row is what differs from the data and model at hand, ``image=3,scenario=LIN``, or an image's bare number; a column
is a name, with options after a colon: ``patternlocal:surrogate=lime,count=500``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core import model_library
from core.registry import DATASETS, METHODS, field_of
from core.studio.kinds import preset
from core.studio.spec import PICTURES, Column, FigureSpec, column, row
from core.studio.spec import layout as read_layout
from core.types import InputError, Spec, quoted

FIELDS = [name for name in Spec.names() if name not in ("method", "options", "data_options")]


def from_words(
    kind: str,
    base: Spec,
    *,
    images: Sequence[int] | None,
    columns: str | None,
    options: Mapping[str, str],
    below: str | None,
    settings: Mapping[str, str],
    layout: Mapping[str, str],
    title: str,
) -> FigureSpec:
    """The figure that a command line describes: a preset with what was asked to be different.

    ``columns`` and ``below`` are lists in one text; ``options`` have keys ``method.name``.
    """
    figure, by_method = preset(kind, base), {}
    for key, value in options.items():
        method, _, option = key.partition(".")
        by_method.setdefault(method, {})[option] = value
    names = [n for n, _ in figure.columns] if columns is None else columns.split(";" if ";" in columns else ",")
    if unused := [m for m in by_method if m not in names]:
        raise InputError(f"--option is for {', '.join(unused)}, which is no column: {', '.join(names)}.")
    return figure.replace(
        rows=figure.rows if images is None else tuple(base.replace(image=i) for i in images),
        columns=tuple(read_column(name, by_method) for name in names),
        below=figure.below if below is None else tuple(part for part in below.split(",") if part),
        settings=tuple(settings.items()),
        layout=read_layout(layout),
        title=title,
    )


def read_row(text: str, base: Spec) -> Spec:
    """The row a text means beside ``base``."""
    given = _pairs(f"image={text}" if text.strip().isdecimal() else text)
    fields = {name: given.pop(name) for name in FIELDS if name in given}
    further = [o.name for o in DATASETS[fields.get("dataset", base.dataset)].options if not field_of(o)]
    if unknown := [name for name in given if name not in further]:
        raise InputError(
            f"A row has no {quoted(unknown[0])}; it is written like image=3 or image=0,scenario=LIN,snr=0.05."
        )
    return row(base.replace(**fields, data_options={**dict(base.data_options), **given}))


def row_text(spec: Spec, base: Spec) -> str:
    """The text that means ``spec`` beside ``base``."""
    fields = {"image": spec.image} | {f: getattr(spec, f) for f in FIELDS if getattr(spec, f) != getattr(base, f)}
    further = {name: value for name, value in spec.data_options if (name, value) not in base.data_options}
    return ",".join(f"{name}={value}" for name, value in (fields | further).items())


def row_label(text: str) -> str:
    """A row's text for reading."""
    try:
        given = _pairs(f"image={text}" if text.strip().isdecimal() else text)
    except InputError:
        return text
    data = DATASETS[given["dataset"] if given.get("dataset") in DATASETS else Spec.dataset]
    words = [data.label] if given.get("dataset") in DATASETS else []
    try:
        words += [o.text(o.check(given.pop(o.name))) for o in data.options if o.on_pages and o.name in given]
    except InputError:
        return text
    rest = {name: value for name, value in given.items() if name != "dataset" or value not in DATASETS}
    rest = [value if name == "model" else f"{name.replace('_', ' ')} {value}" for name, value in rest.items()]
    return ", ".join([*([" ".join(words)] if words else []), *rest])


def suggested_rows(base: Spec, images: int = 5) -> list[str]:
    """The next images, and the same image of every other data set with a trained model of this kind and size."""
    near = [row_text(base.replace(image=base.image + i), base) for i in range(images)]
    trained = sorted(_alike(base), key=lambda s: (s.scenario, s.background, s.snr))
    return list(dict.fromkeys([*near, *(row_text(spec, base) for spec in trained)]))


def scenarios(base: Spec) -> list[str]:
    """One row for each scenario and background with a trained model, at its lowest trained SNR."""
    rows: dict[tuple, str] = {}
    for spec in sorted(_alike(base), key=lambda s: s.snr):
        rows.setdefault((spec.scenario, spec.background), row_text(spec, base))
    return [rows[names] for names in sorted(rows)]


def _alike(base: Spec) -> list[Spec]:
    """``base`` on every data set of its size on which its kind of model is trained."""
    apart = {name: getattr(base, name) for name in Spec.names("method", "view")}
    return [
        r.spec.replace(**apart)
        for r in model_library.model_records()
        if r.available and r.spec.size == base.size and r.spec.model == base.model
    ]


def read_column(text: str, options: Mapping[str, Mapping[str, Any]]) -> Column:
    """The column a text means; a bare method takes the ``options`` chosen for it."""
    name, colon, rest = text.partition(":")
    return column(name.strip(), _pairs(rest) if colon else options.get(name.strip(), {}))


def column_text(name: str, options: Mapping[str, Any], chosen: Mapping[str, Any] | None = None) -> str:
    """The text that means a column with just these options; the bare name where they are the ones ``chosen``."""
    if name in PICTURES or (chosen is not None and column(name, chosen) == column(name, options)):
        return name
    return f"{name}:" + ",".join(f"{n}={v}" for n, v in METHODS[name].changed(options).items())


def column_label(text: str) -> str:
    """A column's text for reading."""
    name, _, rest = text.partition(":")
    if name in PICTURES:
        return PICTURES[name]
    label = METHODS[name].label if name in METHODS else name
    return f"{label} ({rest.replace('=', ' ').replace(',', ', ')})" if rest else label


def _pairs(text: str) -> dict[str, str]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if bad := [part for part in parts if "=" not in part]:
        raise InputError(f"Written like name=value,name=value is expected, not {quoted(bad[0])}.")
    return {name.strip(): value.strip() for name, _, value in (part.partition("=") for part in parts)}
