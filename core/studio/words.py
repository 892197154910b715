"""Rows and columns of a figure as short texts, for a link and for a list to choose from.

A row is what differs from the data and model at hand, ``image=3,scenario=LIN``, or an image's bare number; a column
is a name, with options after a colon: ``patternlocal:surrogate=lime,count=500``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from core import pipeline
from core.registry import DATASETS, METHODS
from core.studio.kinds import preset
from core.studio.spec import PICTURES, Column, FigureSpec, column, row
from core.studio.spec import layout as read_layout
from core.types import InputError, Spec

FIELDS = [f.name for f in dataclasses.fields(Spec) if f.name not in ("method", "options")]


def from_words(kind: str, base: Spec, *, images: Sequence[int] | None, columns: str | None,
               options: Mapping[str, str], below: str | None, settings: Mapping[str, str],
               layout: Mapping[str, str], title: str) -> FigureSpec:
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
        settings=tuple(settings.items()), layout=read_layout(layout), title=title)


def read_row(text: str, base: Spec) -> Spec:
    """The row a text means beside ``base``."""
    given = _pairs(f"image={text}" if text.strip().isdecimal() else text)
    if unknown := [name for name in given if name not in FIELDS]:
        raise InputError(f"A row has no {unknown[0]!r}; it is written like image=3 or image=0,scenario=LIN,snr=0.05.")
    return row(base.replace(**given))


def row_text(spec: Spec, base: Spec) -> str:
    """The text that means ``spec`` beside ``base``."""
    fields = ["image", *(f for f in FIELDS if f != "image" and getattr(spec, f) != getattr(base, f))]
    return ",".join(f"{f}={getattr(spec, f)}" for f in fields)


def row_label(text: str) -> str:
    """A row's text for reading."""
    try:
        given = _pairs(f"image={text}" if text.strip().isdecimal() else text)
    except InputError:
        return text
    named = {"scenario": "{}", "background": "{}", "model": "{}", "snr": "SNR {}", "size": "{0} × {0}"}
    said = [form.format(given.pop(n)) for n, form in named.items() if n in given]
    if "dataset" in given and given["dataset"] in DATASETS:
        said.insert(0, DATASETS[given.pop("dataset")].label)
    return ", ".join([*([" ".join(said)] if said else []), *(f"{n.replace('_', ' ')} {v}" for n, v in given.items())])


def suggested_rows(base: Spec, images: int = 5) -> list[str]:
    """The next images, and the same image of every other data set with a trained model of this kind and size."""
    near = [row_text(base.replace(image=base.image + i), base) for i in range(images)]
    trained = sorted((r for r in pipeline.models.records() if r["file"] and r["size"] == base.size and
                      r["model"] == base.model), key=lambda r: (r["scenario"], r["background"], r["snr"]))
    others = [row_text(base.replace(**{n: r[n] for n in pipeline.models.catalogue.ADDRESS}), base) for r in trained]
    return list(dict.fromkeys([*near, *others]))


def scenarios(base: Spec) -> list[str]:
    """One row for each scenario and background with a trained model, at its lowest trained SNR."""
    found: dict[tuple, str] = {}
    for r in sorted(pipeline.models.records(), key=lambda r: r["snr"]):
        if r["file"] and r["size"] == base.size and r["model"] == base.model:
            spec = base.replace(**{n: r[n] for n in pipeline.models.catalogue.ADDRESS})
            found.setdefault((r["scenario"], r["background"]), row_text(spec, base))
    return [found[place] for place in sorted(found)]


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
        raise InputError(f"Written like name=value,name=value is expected, not {bad[0]!r}.")
    return {name.strip(): value.strip() for name, _, value in (part.partition("=") for part in parts)}


