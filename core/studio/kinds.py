"""The kinds of figures: what stands in their cells, what is said about it, and the numbers behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from core import pipeline, regions
from core.figures import paper
from core.registry import DATASETS, METRICS, Option
from core.studio import captions, toy
from core.studio.spec import FIGURES, LARGEST, PICTURES, FigureSpec, column
from core.types import InputError, NotApplicable, Progress, Spec

PLANES = "Planes: cosine to the exact weights at the image (dot); dashed: the model's answer changes."
NEAR, MIDDLE, FAR = 0.0, 0.6, 1.0  # of the way from OpenAPI's radius to the nearest image, on a logarithmic scale
# Papers' SNR (WHITE, CORR) at 64 x 64: XAI-TRIS.
PUBLISHED = {"LIN": (0.03, 0.02), "MULT": (0.65, 0.05), "RIGID": (0.575, 0.375), "XOR": (0.075, 0.03)}


@dataclass(frozen=True)
class Content:
    """All that a figure shows: panels with their titles, the caption's text, arrays and a table of numbers."""

    panels: Sequence[Sequence[paper.Panel | None]]
    columns: Sequence[str]
    rows: Sequence[str]
    caption: str
    groups: Sequence[tuple[str, int]] = ()
    notes: Sequence[str] = ()
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    table: list[dict[str, Any]] = field(default_factory=list)


def preset(kind: str, base: Spec | None = None) -> FigureSpec:
    """A figure of one kind as it starts, with the data, model and image of ``base``."""
    base, entry = base or Spec(), FIGURES[kind]
    return FigureSpec(kind=kind, rows=(base,) if entry.has_rows else ()).replace(**entry.start(base))


def _default_columns(_: Spec | None = None) -> dict[str, Any]:
    return {"columns": tuple(column(name) for name in ("image", "truth", *pipeline.DEFAULT_METHODS))}


def _published_rows(base: Spec) -> dict[str, Any]:
    return {
        "rows": tuple(
            base.replace(dataset="xai-tris", scenario=s, background=b, snr=snr, size=64, model=Spec.model)
            for s in ("LIN", "XOR", "RIGID")
            for b, snr in zip(("WHITE", "CORR"), PUBLISHED[s])
        )
    }


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
    _need_rows(figure)
    columns = figure.columns or _default_columns()["columns"]
    if len(figure.rows) * len(columns) > paper.MOST:
        raise InputError(f"A figure has at most {paper.MOST} panels, not {len(figure.rows)} rows of {len(columns)}.")
    panels, table, arrays = [], [], {}
    count, total = 0, len(figure.rows) * len(columns)
    for i, row in enumerate(figure.rows):
        part, mask = _images(row), _mask(row)
        arrays |= {f"row{i}_image": part.x[row.image], f"row{i}_mask": mask}
        cells: list[paper.Panel] = []
        for name, options in columns:
            if progress:
                progress(count, total, "panels")
            count += 1
            if name in PICTURES:
                label = DATASETS[row.dataset].classes[part.y[row.image]]
                cells.append(_picture(name, part.x[row.image], mask, label))
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
        captions.maps_caption(figure, columns, table, any(_mask(r).any() for r in figure.rows)),
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


def _picture(name: str, image: np.ndarray, mask: np.ndarray, label: str) -> paper.Map:
    shown = mask if mask.any() else None
    if name == "image":
        return paper.Map(image, "image", shown, (("", f"class {label}"),))
    if shown is None:
        return paper.Map(None, note="not known")
    return paper.Map(mask, "truth", shown, (("", f"{int(mask.sum())} pixels"),))


@FIGURES.register(
    "examples",
    label="Examples of the data",
    reference="PatternLocal, Figure 3",
    start=_published_rows,
    summary="One image of each class with its truth: a row a scenario, a group of columns a background.",
)
def examples(figure: FigureSpec, progress: Progress | None) -> Content:
    _need_rows(figure)
    scenarios = list(dict.fromkeys((r.dataset, r.scenario) for r in figure.rows))
    backgrounds = list(dict.fromkeys(r.background for r in figure.rows))
    by_place = {((r.dataset, r.scenario), r.background): r for r in reversed(figure.rows)}
    panels, arrays, table = [], {}, []
    for i, scenario in enumerate(scenarios):
        cells: list[paper.Panel | None] = []
        for j, background in enumerate(backgrounds):
            if progress:
                progress(i * len(backgrounds) + j, len(scenarios) * len(backgrounds), "data sets")
            row = by_place.get((scenario, background))
            if row is None:
                cells += [None] * 4
                continue
            part = _images(row)
            for label in (0, 1):
                number = next((n for n in range(row.image, len(part)) if part.y[n] == label), None)
                if number is None:
                    raise InputError(f"No image of class {label} from image {row.image} on.")
                mask, name = _mask(row.replace(image=number)), f"{row.scenario}_{background}_{label}"
                cells += [
                    _plain(_picture("image", part.x[number], mask, label)),
                    _plain(_picture("truth", part.x[number], mask, label)),
                ]
                arrays |= {f"{name}_image": part.x[number], f"{name}_mask": mask}
                table.append(
                    {
                        "scenario": row.scenario,
                        "background": background,
                        "snr": row.snr,
                        "size": row.size,
                        "class": label,
                        "image": number,
                        "pixels": int(mask.sum()),
                    }
                )
        panels.append(cells)
    titles = [title for _ in backgrounds for label in (0, 1) for title in (f"y = {label}", "Truth")]
    said = "; ".join(
        f"{s} {'/'.join(f'{r.background} {r.snr:g}' for r in figure.rows if r.scenario == s)}" for _, s in scenarios
    )
    first = figure.rows[0]
    caption = (
        f"Examples of {DATASETS[first.dataset].label} at {first.size} × {first.size} pixels: for each "
        f"scenario (row) and background, one image of each class and its important pixels. SNR: {said}."
    )
    return Content(
        panels,
        figure.column_titles or titles,
        figure.row_titles or [s for _, s in scenarios],
        caption,
        [(b, 4) for b in backgrounds],
        arrays=arrays,
        table=table,
    )


def _plain(panel: paper.Map) -> paper.Map:
    """A picture of the data alone: nothing outlined, nothing below."""
    return paper.Map(panel.values, panel.kind, note=panel.note)


@FIGURES.register(
    "toy",
    label="XOR with a suppressor",
    reference="PatternLocal, section 3.2 and Figure 2",
    has_rows=False,
    summary="The share of the importance that four methods give to a variable that knows nothing of the class.",
    options=(
        Option("samples", "Points drawn.", low=50, high=5000),
        Option("sigma_d", "Size of the noise that the suppressor shares with x1 and x2.", low=0.1, high=5.0),
        Option("tau", "Softness of the classifier tanh((x1 - x3)(x2 + x3) / tau).", low=0.01, high=5.0),
        Option(
            "bandwidth",
            "Width of PatternLocal's Gaussian neighbourhood. Only without end does the suppressor "
            "drop out altogether.",
            low=0.05,
            high=100.0,
            log=True,
        ),
        Option("seed", "Seed of the points.", low=0, high=2**31 - 1),
    ),
)
def toy_figure(
    figure: FigureSpec,
    progress: Progress | None,
    *,
    samples: int = 2500,
    sigma_d: float = 1.0,
    tau: float = 0.1,
    bandwidth: float = 5.0,
    seed: int = 0,
) -> Content:
    problem = toy.importance_of_the_suppressor(samples, sigma_d, tau, bandwidth, seed)
    reach = float(np.ceil(np.quantile(np.abs(problem.x[:, :2]), 0.999)))
    means = {name: float(np.nanmean(share)) for name, share in problem.shares.items()}
    panels = [
        [
            paper.Points(problem.x[:, :2], share, ("x1", "x2"), (("mean", means[name]),), reach=reach)
            for name, share in problem.shares.items()
        ]
    ]
    caption = (
        f"Importance of the suppressor x3 in the XOR problem x = (s1 + d, s2 − d, d), y = sign(s1 s2), for "
        f"{samples:,} points (σ of d {sigma_d:g}, seed {seed}) and the classifier tanh((x1 − x3)(x2 + x3)/τ), "
        f"τ = {tau:g}. Colour: |a3| / Σ|a|, its mean below each plot: "
        f"{', '.join(f'{n} {m:.3f}' for n, m in means.items())}. PatternLocal follows the gradient in a "
        f"Gaussian neighbourhood of width {bandwidth:g}."
    )
    return Content(
        panels,
        figure.column_titles or list(problem.shares),
        figure.row_titles,
        caption,
        notes=("Colour: share of the importance given to the suppressor x3.",),
        arrays={"x": problem.x, **{f"share_{n}": s for n, s in problem.shares.items()}},
        table=[{"method": n, "mean_share": m} for n, m in means.items()],
    )


@FIGURES.register(
    "regions",
    label="Maps of linear regions",
    reference="OpenAPI, section 4; core.regions",
    needs_model=True,
    summary="An image, OpenAPI's exact weights, and planes through the linear regions around it, from near to far.",
    options=(Option("points", "Points along each side of a plane.", low=11, high=81),),
)
def region_figure(figure: FigureSpec, progress: Progress | None, *, points: int = 31) -> Content:
    _need_rows(figure)
    planes, panels, arrays, table = [], [], {}, []
    zooms = (NEAR, MIDDLE, FAR)
    for i, row in enumerate(figure.rows):
        spec = row.replace(method="openapi")
        d = regions.decision(spec)
        for j, zoom in enumerate(zooms):
            if progress:
                progress(i * len(zooms) + j, len(figure.rows) * len(zooms), "planes")
            half = regions.half_width(spec, d.features, zoom)
            plane = regions.region_map(spec, half, points)
            planes.append(plane)
            arrays |= {f"row{i}_plane{j}_{n}": getattr(plane, n) for n in ("at", "cosine", "margin", "region")}
            table.append(
                {
                    "row": i,
                    "half_width": half,
                    "regions": plane.count,
                    "lowest_cosine": float(np.nanmin(plane.cosine)),
                }
            )
        weights = paper.Map(d.values) if d.features.exact else paper.Map(None, note=f"not exact: {d.features.reason}")
        panels.append([_plain(_picture("image", d.image, _mask(row), "")), weights])
        arrays |= {f"row{i}_image": d.image, f"row{i}_weights": d.values}
    lowest = min(0.99, *(t["lowest_cosine"] for t in table))
    for plane, facts in zip(planes, table):
        panels[facts["row"]].append(
            paper.Plane(
                plane.at,
                plane.cosine,
                plane.margin,
                plane.region if plane.count < regions.REGIONS_WITH_BORDERS else None,
                (("regions", f"{plane.count:,}"), ("half width", paper.short(facts["half_width"]))),
                lowest=lowest,
            )
        )
    caption = (
        f"Linear regions around an image. {captions.where(figure.rows)} Columns: the image, the exact "
        "decision features found by OpenAPI, and planes through the image (dot) towards its nearest image "
        "and one of another class, from OpenAPI's radius to the nearest image. Colour: cosine between the "
        "exact weights there and at the image; dashed: where the model's answer changes."
    )
    return Content(
        panels,
        figure.column_titles or ("Image", "Exact weights", "Near", "Between", "Far"),
        figure.row_titles or captions.row_titles(figure.rows),
        caption,
        arrays=arrays,
        table=table,
        notes=[PLANES],
    )


def _need_rows(figure: FigureSpec) -> None:
    if not figure.rows:
        raise InputError("The figure has no rows: choose at least one image.")


def _images(row: Spec) -> Any:
    """The row's split, which has its image."""
    part = getattr(pipeline.dataset(row), row.split)
    if row.image >= len(part):
        raise InputError(f"Image {row.image} was asked for; the {row.split} split has images 0 to {len(part) - 1}.")
    return part


def _mask(row: Spec) -> np.ndarray:
    return np.asarray(pipeline.dataset(row).mask(row.split, row.image, row.truth))


def _free(arrays: dict, name: str) -> str:
    """``name``, or with a number when it is taken: one method may have several columns."""
    return next(n for n in _numbered(name) if n not in arrays)


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_{i}" for i in range(2, 100))
