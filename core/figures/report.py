"""A comparison as one html file that needs nothing else: maps to hover over, scores, settings, how to rebuild it."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.figures.heatmap import FRAME, heatmap, script_and_style
from core.figures.style import LIGHT, SCALES, limits, peak, shown

WIDTH = 260  # pixels of a panel
STYLE = """
body {font: 16px/1.5 system-ui, sans-serif; color: #31333f; max-width: 1120px; margin: 2rem auto; padding: 0 1rem;}
h1 {font-size: 1.5rem;} h2 {font-size: 1.1rem; margin-top: 2rem;}
.row {display: flex; flex-wrap: wrap; gap: 1rem;} figure {margin: 0;} figcaption {font-size: .9rem;}
table {border-collapse: collapse; font-variant-numeric: tabular-nums;}
th, td {text-align: left; padding: .25rem 1rem .25rem 0; border-bottom: 1px solid #ddd;}
pre {background: #f5f7f6; padding: .8rem; overflow-x: auto; font-size: .85rem;}
.quiet {color: #666; font-size: .9rem;}
"""


START = """
for (const parentElement of document.querySelectorAll("[data-map]")) {
  heatmap({ parentElement, data: JSON.parse(parentElement.dataset.map) });
}
"""


@dataclass(frozen=True)
class Shown:
    """One panel of a report: values (h,w), ``kind`` one of style.KINDS, its title and the text below it."""

    title: str
    values: np.ndarray | None
    kind: str
    below: str = ""
    mask: np.ndarray | None = None


def page(
    title: str,
    caption: str,
    rows: Sequence[tuple[str, Sequence[Shown]]],
    table: Sequence[Mapping[str, Any]],
    texts: Mapping[str, str],
    scale: str = "panel",
) -> str:
    """The html file: ``rows`` of panels, a ``table`` of scores, and ``texts`` (settings, commands) by heading."""
    body = [
        f"<h1>{html.escape(title)}</h1><p>{html.escape(caption)}</p>",
        "<p class='quiet'>Move the pointer over a map to read all maps there, in percent of each one's largest "
        f"value. Colours: {SCALES[scale]}; red for the explained class, blue against it.</p>",
    ]
    maps = [
        p.values for _, panels in rows for p in panels if p.kind in ("signed", "magnitude") and p.values is not None
    ]
    shared = limits(maps, scale)[0] if maps and scale == "shared" else None
    for name, panels in rows:
        body.append(
            f"{f'<h2>{html.escape(name)}</h2>' if name else ''}<div class='row'>"
            + "".join(_panel(p, scale, shared) for p in panels)
            + "</div>"
        )
    body.append("<h2>Scores</h2>" + _table(table))
    body += [f"<h2>{html.escape(name)}</h2><pre>{html.escape(text)}</pre>" for name, text in texts.items()]
    script, style = script_and_style()
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        f"<meta name='viewport' content='width=device-width'><title>{html.escape(title)}</title>"
        f"<style>{STYLE}{style}</style></head><body>"
        + "\n".join(body)
        + f"<script type='module'>{script}{START}</script></body></html>"
    )


def _panel(panel: Shown, scale: str, shared: float | None) -> str:
    words = f"<b>{html.escape(panel.title)}</b>"
    if panel.values is None:
        return f"<figure style='width:{WIDTH}px'>{words}<figcaption>{html.escape(panel.below)}</figcaption></figure>"
    values, limit = np.asarray(panel.values, float), peak(panel.values)
    if panel.kind in ("signed", "magnitude"):
        values, limit = shown(values, shared or limit, scale)
    drawn = heatmap(values, limit, panel.kind, LIGHT, mask=panel.mask)
    content = {**drawn, "title": "", "below": "", "alt": f"{panel.title}: {panel.below}"}
    return (
        f"<figure style='width:{WIDTH}px'>{words}<div data-map='{html.escape(json.dumps(content), quote=True)}'>"
        f"{FRAME}</div><figcaption>{html.escape(panel.below)}</figcaption></figure>"
    )


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    names = list(dict.fromkeys(n for row in rows for n in row))
    head = "".join(f"<th>{html.escape(n)}</th>" for n in names)
    lines = ("".join(f"<td>{html.escape(_written(row.get(n)))}</td>" for n in names) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<div style='overflow-x:auto'><table><tr>{head}</tr>{body}</table></div>"


def _written(value: Any) -> str:
    if value is None or isinstance(value, float) and np.isnan(value):
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
