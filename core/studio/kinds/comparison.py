"""Maps of methods beside the image and the truth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from core import pipeline
from core.figures import paper
from core.registry import DATASETS, METRICS
from core.studio import captions
from core.studio.kinds.common import Content, images_of, mask_of, need_rows, picture
from core.studio.spec import FIGURES, LARGEST, PICTURES, FigureSpec, column
from core.types import InputError, NotApplicable, Progress, Spec


def _default_columns(_: Spec | None = None) -> dict[str, Any]:
    return {"columns": tuple(column(name) for name in ("image", "truth", *pipeline.DEFAULT_METHODS))}


@FIGURES.register(
    "maps",
    label="Maps of methods",
    summary="Images in rows; the truth and a map of each method in columns.",
    reference="PatternLocal, Figures 5 and 6 to 9",
    start=_default_columns,
    has_columns=True,
    needs_model=True,
)
def maps(figure: FigureSpec, progress: Progress | None) -> Content:
    need_rows(figure)
    columns = figure.columns or _default_columns()["columns"]
    if len(figure.rows) * len(columns) > paper.MOST:
        raise InputError(f"A figure has at most {paper.MOST} panels, not {len(figure.rows)} rows of {len(columns)}.")
    panels, table, arrays = [], [], {}
    count, total = 0, len(figure.rows) * len(columns)
    for i, row in enumerate(figure.rows):
        part, mask = images_of(row), mask_of(row)
        arrays |= {f"row{i}_image": part.x[row.image], f"row{i}_mask": mask}
        cells: list[paper.Panel] = []
        for name, options in columns:
            if progress:
                progress(count, total, "panels")
            count += 1
            if name in PICTURES:
                label = DATASETS[row.dataset].classes[part.y[row.image]]
                cells.append(picture(name, part.x[row.image], mask, label))
                continue
            cell, facts, values = _map(figure, row.replace(method=name, options=options), mask)
            cells.append(cell)
            table.append({"row": i, **facts})
            if values is not None:
                arrays[_free(arrays, f"row{i}_{name}")] = values
        panels.append(cells)
    return Content(
        panels,
        figure.column_titles or captions.column_titles(columns),
        figure.row_titles or captions.row_titles(figure.rows),
        captions.maps_caption(figure, columns, table, any(mask_of(r).any() for r in figure.rows)),
        notes=captions.maps_notes(figure, table),
        arrays=arrays,
        table=table,
    )


def _map(figure: FigureSpec, spec: Spec, mask: np.ndarray) -> tuple[paper.Map, dict[str, Any], np.ndarray | None]:
    """One map with its numbers; where the method does not apply, the cell says so and the table why."""
    facts = {
        "method": spec.method,
        **{
            n: getattr(spec, n)
            for n in ("dataset", "scenario", "background", "snr", "size", "model", "image", "seed")
        },
        "options": captions.options_text(spec),
    }
    try:
        attribution = pipeline.explain(spec)
    except NotApplicable as reason:
        return paper.Map(None, note="does not apply"), facts | {"reason": str(reason)}, None
    metrics = [b for b in figure.below if b != LARGEST] if mask.any() else []
    score = pipeline.score(attribution, metrics) if metrics else None
    kind = "signed" if attribution.signed else "magnitude"
    largest = float(np.abs(attribution.values).max())
    lines: list[tuple[str, str | float]] = [(METRICS[m].label, score[m]) for m in metrics]
    if LARGEST in figure.below or figure.layout.scale == "raw":
        lines.append(("max", paper.short(largest)))
    note = "" if largest else "empty map"
    facts |= {
        "label": attribution.label,
        "predicted": attribution.predicted,
        **{m: score[m] for m in metrics},
        "largest": largest,
        "reason": "; ".join(score.reasons.values()) if score else "",
    }
    return (paper.Map(attribution.values, kind, mask if mask.any() else None, lines, note), facts, attribution.values)


def _free(arrays: dict, name: str) -> str:
    """``name``, or with a number when it is taken: one method may have several columns."""
    return next(n for n in _numbered(name) if n not in arrays)


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_{i}" for i in range(2, 100))
