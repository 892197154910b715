"""Downloads of everything on Compare; a file is built when its button is clicked.

core.studio is imported then, too: matplotlib is needed for nothing else here.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Sequence

import streamlit as st

from core import model_library, pipeline
from core.figures.arrays import npz
from core.registry import METRICS
from core.types import Score, Spec
from pages.components.shared import share
from pages.components.shared.frame import ROOT
from pages.components.shared.result_panels import Result


def bar(results: Sequence[Result], scale: str, outline: bool) -> None:
    """The figure, arrays, tables, a report and the settings; and the screen as a link, a command or Python."""
    done = [r for r in results if r.attribution]
    if not done:
        return
    name = file_name(done[0].attribution.spec)
    files = {
        "Figure (PNG)": ("png", "image/png", lambda: picture(done, scale, outline, "png")),
        "Figure (PDF)": ("pdf", "application/pdf", lambda: picture(done, scale, outline, "pdf")),
        "Maps (npz)": ("npz", "application/octet-stream", lambda: arrays(done)),
        "Scores (csv)": ("csv", "text/csv", lambda: table(done, "csv")),
        "Scores (parquet)": ("parquet", "application/octet-stream", lambda: table(done, "parquet")),
        "Settings (json)": ("json", "application/json", lambda: settings(done)),
        "Report (html)": ("html", "text/html", lambda: report(done, scale, outline)),
    }
    with st.container(horizontal=True, gap="small"):
        for label, (ending, mime, build) in files.items():
            st.download_button(
                label,
                build,
                f"{name}.{ending}",
                mime,
                on_click="ignore",
                key=f"download.{ending}",
                icon=":material/download:",
            )
        share.popover(lambda: share.of_maps([r.attribution.spec for r in done]))
    st.page_link(ROOT / "pages" / "figure.py", label="Open in the Figure studio", icon=":material/frame_inspect:")


def file_name(spec: Spec) -> str:
    """The files' name without its ending: data, model and image."""
    return f"{model_library.data_name(spec)}_{spec.model}_image{spec.image}".replace(" ", "_")


def rows(results: Sequence[Result]) -> list[dict]:
    """One row per method: its scores (None where undefined), the reasons, and its time."""
    table = []
    for r in results:
        score = scored(r)
        table.append(
            {
                "method": r.method,
                **{n: None if math.isnan(score[n]) else score[n] for n in METRICS},
                "undefined": "; ".join(score.reasons.values()),
                "seconds": round(r.attribution.seconds, 4),
                "options": json.dumps(dict(r.attribution.spec.options)),
            }
        )
    return table


def scored(result: Result) -> Score:
    """All scores: a download waits for those the page is still computing."""
    known = result.score
    return known if known and set(known.values) == set(METRICS) else pipeline.score(result.attribution)


def figure(results: Sequence[Result], scale: str, outline: bool):
    """The FigureSpec of what is on screen."""
    from core import studio
    from core.figures.paper import Layout

    specs = [r.attribution.spec for r in results]
    columns = ("image", ()), ("truth", ()), *((s.method, s.options) for s in specs)
    return studio.FigureSpec(rows=(specs[0],), columns=columns, layout=Layout(scale=scale, outline=outline))


def picture(results: Sequence[Result], scale: str, outline: bool, ending: str) -> bytes:
    """The figure as a ``png`` or ``pdf`` file."""
    from core import studio

    return studio.draw(figure(results, scale, outline), ending)


def report(results: Sequence[Result], scale: str, outline: bool) -> bytes:
    """The comparison as one html file that needs nothing else."""
    from core import studio

    return studio.report(
        figure(results, scale, outline).replace(below=tuple(METRICS)),
        share.of_maps([r.attribution.spec for r in results]),
    )


def arrays(results: Sequence[Result]) -> bytes:
    """Image, mask and maps as an npz file, with settings and scores as JSON texts."""
    first = results[0].attribution
    maps = {f"map_{r.method}": r.attribution.values for r in results}
    return npz(
        {"image": first.image, "mask": first.mask, **maps},
        {"spec": settings(results), "scores": json.dumps(rows(results))},
    )


def table(results: Sequence[Result], ending: str) -> bytes:
    """The scores, one row per method, as ``csv`` or ``parquet``."""
    import pandas as pd

    frame, file = pd.DataFrame(rows(results)), io.BytesIO()
    frame.to_csv(file, index=False) if ending == "csv" else frame.to_parquet(file, index=False)
    return file.getvalue()


def settings(results: Sequence[Result]) -> str:
    """The Spec of every map; ``core.Spec.from_dict`` reads each back."""
    return json.dumps([r.attribution.spec.to_dict() for r in results], indent=1)
