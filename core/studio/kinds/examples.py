"""Examples of the data: images of each class with their truth."""

from __future__ import annotations

from typing import Any

from core.figures import paper
from core.registry import DATASETS
from core.studio.kinds.common import Content, images_of, mask_of, need_rows, picture, plain
from core.studio.spec import FIGURES, FigureSpec
from core.types import InputError, Progress, Spec

# Papers' SNR (WHITE, CORR) at 64 x 64: XAI-TRIS.
PUBLISHED = {"LIN": (0.03, 0.02), "MULT": (0.65, 0.05), "RIGID": (0.575, 0.375), "XOR": (0.075, 0.03)}


def _published_rows(base: Spec) -> dict[str, Any]:
    return {
        "rows": tuple(
            base.replace(dataset="xai-tris", scenario=s, background=b, snr=snr, size=64, model=Spec.model)
            for s in ("LIN", "XOR", "RIGID")
            for b, snr in zip(("WHITE", "CORR"), PUBLISHED[s])
        )
    }


@FIGURES.register(
    "examples",
    label="Examples of the data",
    reference="PatternLocal, Figure 3",
    start=_published_rows,
    summary="One image of each class with its truth: a row a scenario, a group of columns a background.",
)
def examples(figure: FigureSpec, progress: Progress | None) -> Content:
    need_rows(figure)
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
            part = images_of(row)
            for label in (0, 1):
                number = next((n for n in range(row.image, len(part)) if part.y[n] == label), None)
                if number is None:
                    raise InputError(f"No image of class {label} from image {row.image} on.")
                mask, name = mask_of(row.replace(image=number)), f"{row.scenario}_{background}_{label}"
                cells += [
                    plain(picture("image", part.x[number], mask, label)),
                    plain(picture("truth", part.x[number], mask, label)),
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
