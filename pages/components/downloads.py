"""Everything on Compare can be taken away; a file is built only when asked for."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence

import numpy as np
import streamlit as st

from core import pipeline
from core.registry import METRICS
from core.types import Spec
from pages.components.panels import Result


def bar(results: Sequence[Result], scale: str, outline: bool) -> None:
    """Four files: picture, arrays, scores, settings."""
    done = [r for r in results if r.attribution]
    name = file_name(done[0].attribution.spec)
    with st.container(horizontal=True, gap="small"):
        for label, ending, mime, build in (
                ("Figure (PNG)", "png", "image/png", lambda: picture(done, scale, outline)),
                ("Maps (npz)", "npz", "application/octet-stream", lambda: arrays(done)),
                ("Scores (csv)", "csv", "text/csv", lambda: table(done)),
                ("Settings (json)", "json", "application/json", lambda: settings(done))):
            st.download_button(label, build, f"{name}.{ending}", mime, on_click="ignore", key=f"download.{ending}",
                               icon=":material/download:")


def file_name(spec: Spec) -> str:
    return f"{pipeline.models.name_of(spec)}_{spec.model}_image{spec.image}".replace(" ", "_")


def rows(results: Sequence[Result]) -> list[dict]:
    """One row a method: its scores (None while not known or undefined), why, and its time."""
    table = []
    for r in results:
        score = scored(r)
        table.append({
            "method": r.method, **{n: None if math.isnan(score[n]) else score[n] for n in METRICS},
            "undefined": "; ".join(score.reasons.values()), "seconds": round(r.attribution.seconds, 4),
            "options": json.dumps(dict(r.attribution.spec.options))})
    return table


def scored(result: Result):
    """The full score: a download waits for what the page is still computing."""
    known = result.score
    return known if known and set(known.values) == set(METRICS) else pipeline.score(result.attribution)


def picture(results: Sequence[Result], scale: str, outline: bool) -> bytes:
    from core.figures import paper  # late: matplotlib is needed for nothing else on this page

    captions = []
    for r in results:
        score = scored(r)
        captions.append("  ".join(f"{METRICS[n].label} {score[n]:.3f}" for n in ("emd", "ime")
                                  if not math.isnan(score[n])) or "undefined: empty map")
    spec = results[0].attribution.spec
    title = f"{pipeline.models.name_of(spec)}, {spec.model}, test image {spec.image}"
    return paper.png(paper.comparison([r.attribution for r in results], [r.label for r in results], captions,
                                      scale=scale, title=title, with_outline=outline))


def arrays(results: Sequence[Result]) -> bytes:
    first = results[0].attribution
    file = io.BytesIO()
    np.savez_compressed(file, image=first.image, mask=first.mask, spec=np.array(settings(results)),
                        **{f"map_{r.method}": r.attribution.values for r in results})
    return file.getvalue()


def table(results: Sequence[Result]) -> str:
    file = io.StringIO()
    content = rows(results)
    writer = csv.DictWriter(file, content[0])
    writer.writeheader()
    writer.writerows(content)
    return file.getvalue()


def settings(results: Sequence[Result]) -> str:
    """The Spec of every map; ``core.Spec.from_dict`` reads each back."""
    return json.dumps([r.attribution.spec.to_dict() for r in results], indent=1)
