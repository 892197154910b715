"""The words of a figure: titles made from what rows and columns are, and the draft of a caption."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from core import model_library
from core.figures.style import SCALES
from core.registry import DATASETS, METHODS, METRICS
from core.studio.spec import LARGEST, PICTURES, FigureSpec
from core.types import Spec


def options_text(spec: Spec) -> str:
    return json.dumps(METHODS[spec.method].changed(spec.options))


def in_words(options: dict[str, Any]) -> str:
    return ", ".join(
        f"{n.replace('_', ' ')} {v:g}" if isinstance(v, float) else f"{n.replace('_', ' ')} {v}"
        for n, v in options.items()
    )


def column_titles(columns: Sequence[tuple[str, tuple]]) -> list[str]:
    """Names; a method that stands in several columns also says how it differs."""
    names = [n for n, _ in columns]

    def title(name: str, options: tuple) -> str:
        texts = in_words(METHODS[name].changed(options)) if names.count(name) > 1 else ""
        return METHODS[name].label + (f" ({texts})" if texts else "")

    return [PICTURES[name] if name in PICTURES else title(name, options) for name, options in columns]


PARTS: tuple[tuple[tuple[str, ...], Callable[[Spec], str]], ...] = (
    (("dataset",), lambda r: DATASETS[r.dataset].label),
    (Spec.names("data")[1:], lambda r: ", ".join(DATASETS[r.dataset].texts(r))),
    (("model",), lambda r: r.model),
    (("model_seed",), lambda r: f"model seed {r.model_seed}"),
    (("image",), lambda r: f"image {r.image}"),
    (("seed",), lambda r: f"seed {r.seed}"),
    (("output", "target"), lambda r: f"{r.output} of the {r.target} class"),
    (("truth",), lambda r: f"truth {r.truth}"),
)


def row_titles(rows: Sequence[Spec]) -> list[str]:
    """What tells each row from the others."""
    if len(rows) == 1:
        return []
    different = {f for parts, _ in PARTS for f in parts if len({getattr(r, f) for r in rows}) > 1}
    return [", ".join(say(r) for parts, say in PARTS if different & set(parts)) for r in rows]


def where(rows: Sequence[Spec]) -> str:
    """Data, SNR, models with their accuracy, and images, as a caption says it."""
    texts = []
    for r in dict.fromkeys(r.replace(image=0) for r in rows):
        images = [str(o.image) for o in rows if o.replace(image=0) == r]
        record = model_library.model_record(r)
        accuracy = f"test accuracy {record.accuracy:.1%}" if record else "accuracy not known"
        texts.append(
            f"{DATASETS[r.dataset].describe(r)}, {r.model} ({accuracy}), "
            f"{r.split} image{'s' if len(images) > 1 else ''} "
            f"{', '.join(images)}"
        )
    return "; ".join(texts) + "."


def maps_caption(
    figure: FigureSpec, columns: Sequence[tuple[str, tuple]], table: Sequence[dict], outlined: bool
) -> str:
    """Data, model, images, what is explained and how, what stands below; ``outlined``: the truth is known."""
    first = figure.rows[0]
    methods = [(n, o) for n, o in columns if n not in PICTURES]
    out = {"margin": "the margin", "probability": "the probability"}[first.output]
    parts = [where(figure.rows)]
    if methods:
        parts.append(f"Maps explain {out} of the {first.target} class; colours: {SCALES[figure.layout.scale]}.")
        texts = [
            f"{METHODS[n].label} with {in_words(differing)}"
            for n, o in methods
            if (differing := METHODS[n].changed(o))
        ]
        parts.append(
            f"Options: {'; '.join(texts) + '; others ' if texts else ''}as the program's defaults, seed {first.seed}."
        )
        wrong = len({t["row"] for t in table if t.get("predicted") != t.get("label")})
        if wrong:
            parts.append(f"Not classified correctly: {wrong} of {len(figure.rows)} images.")
        metrics = [METRICS[b] for b in figure.below if b != LARGEST]
        if metrics and any(m.name in t for m in metrics for t in table):
            parts.append(
                "Below each map: "
                + ", ".join(f"{m.label} ({'lower' if m.lower_is_better else 'higher'} is better)" for m in metrics)
                + "."
            )
    if figure.layout.outline and outlined:
        parts.append("The outline marks the important pixels.")
    return " ".join(parts)


def maps_notes(figure: FigureSpec, table: Sequence[dict]) -> list[str]:
    """What a reader of the figure alone must know."""
    undefined = [t for t in table if any(isinstance(t.get(m), float) and np.isnan(t[m]) for m in METRICS)]
    return ["–: undefined, the map is empty."] if undefined else []
