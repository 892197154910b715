"""Planes through the linear regions around an image."""

from __future__ import annotations

import numpy as np

from core import regions
from core.figures import paper
from core.registry import Option
from core.studio import captions
from core.studio.kinds.common import Content, mask_of, need_rows, picture, plain
from core.studio.spec import FIGURES, FigureSpec
from core.types import Progress

PLANES = "Planes: cosine to the exact weights at the image (dot); dashed: the model's answer changes."
NEAR, MIDDLE, FAR = 0.0, 0.6, 1.0  # of the way from OpenAPI's radius to the nearest image, on a logarithmic scale


@FIGURES.register(
    "regions",
    label="Maps of linear regions",
    reference="OpenAPI, section 4; core.regions",
    needs_model=True,
    summary="An image, OpenAPI's exact weights, and planes through the linear regions around it, from near to far.",
    options=(Option("points", "Points along each side of a plane.", low=11, high=81),),
)
def region_figure(figure: FigureSpec, progress: Progress | None, *, points: int = 31) -> Content:
    need_rows(figure)
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
        panels.append([plain(picture("image", d.image, mask_of(row), "")), weights])
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
