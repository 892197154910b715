"""A figure as a file, the sidecar that rebuilds it byte for byte, and what a sidecar from elsewhere can restore."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import numpy as np

from core import __version__, keys, model_library, pipeline
from core.cache import cached
from core.figures import paper
from core.figures import report as html_report
from core.regions.common import RESULTS_KEPT as KEPT
from core.studio.kinds import Content
from core.studio.spec import FIGURES, FigureSpec, restore
from core.types import InputError, Progress, Spec

PROGRAM = "attribution-lab"
LARGEST = 1_000_000  # bytes of a sidecar; those we write have some thousand
LIBRARIES = ("matplotlib", *keys.LIBRARIES)
YEAR_0 = (1980, 1, 1, 0, 0, 0)  # of files in an archive: equal content, equal bytes


@dataclass(frozen=True)
class Sidecar:
    """What a sidecar says: the figure, the ``sha256`` of its models, data and files, ``notices`` of what is wrong."""

    figure: FigureSpec
    sha256: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    notices: tuple[str, ...] = ()


def _networks(figure: FigureSpec, *_: str, progress: Progress | None = None) -> tuple[str, ...]:
    """The digests of the models behind a figure."""
    return tuple(pipeline.model(r).digest for r in figure.rows) if FIGURES[figure.kind].needs_model else ()


@pipeline.same_networks()
@cached(KEPT, ignore=("progress",), by=_networks)
def content(figure: FigureSpec, *, progress: Progress | None = None) -> Content:
    """What the figure shows, computed; the last few stay in memory. InputError, also for a missing model."""
    return FIGURES[figure.kind].function(figure, progress, **dict(figure.settings))


@pipeline.same_networks()
@cached(KEPT, ignore=("progress",), by=_networks)
def draw(figure: FigureSpec, ending: str, *, progress: Progress | None = None) -> bytes:
    """The figure as a ``pdf``, ``svg`` or ``png`` file with its FigureSpec in the metadata."""
    c = content(figure, progress=progress)
    drawn = paper.grid(
        c.panels, figure.layout, columns=c.columns, rows=c.rows, groups=c.groups, notes=c.notes, title=figure.title
    )
    return paper.save(drawn, ending, {"program": PROGRAM, "version": __version__, "figure": figure.to_dict()})


@pipeline.same_networks()
def sidecar(figure: FigureSpec, *, progress: Progress | None = None, endings: tuple[str, ...] = ()) -> str:
    """The JSON that rebuilds the figure: all settings, versions, caption, sha256 of models, data and files."""
    c = content(figure, progress=progress)
    files = {ending: hashlib.sha256(draw(figure, ending, progress=progress)).hexdigest() for ending in endings}
    return (
        json.dumps(
            {
                "program": PROGRAM,
                "version": __version__,
                "figure": figure.to_dict(),
                "caption": c.caption,
                "versions": {name: version(name) for name in LIBRARIES},
                "sha256": {**fingerprints(figure), "files": files},
            },
            indent=1,
            ensure_ascii=False,
        )
        + "\n"
    )


def read(data: bytes | str) -> Sidecar:
    """A sidecar from a file's content. InputError when it is none; else what can be restored, with notices."""
    if len(data) > LARGEST:
        raise InputError(f"A sidecar has at most {LARGEST / 1e6:g} MB; this file is larger, so it is none.")
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        raise InputError("This file is not JSON, so it is no figure's sidecar.") from None
    if not isinstance(values, Mapping) or "figure" not in values:
        raise InputError("This JSON is no figure's sidecar: it holds no “figure”.")
    figure, notices = restore(values["figure"])
    if values.get("version") != __version__:
        notices.insert(
            0,
            f"The sidecar is from version {str(values.get('version'))[:40]!r} of this program, this is "
            f"{__version__}; the figure may come out differently.",
        )
    missing = [
        r
        for r in dict.fromkeys(r.replace(image=0) for r in figure.rows)
        if FIGURES[figure.kind].needs_model and not model_library.has_model(r)
    ]
    notices += [
        f"There is no trained {r.model} for {model_library.data_name(r)}. Train it: {model_library.train_command(r)}"
        for r in missing
    ]
    stamps = values.get("sha256")
    stamps = (
        {str(k): {str(n): str(s) for n, s in v.items()} for k, v in stamps.items() if isinstance(v, Mapping)}
        if isinstance(stamps, Mapping)
        else {}
    )
    return Sidecar(figure, stamps, tuple(notices))


def read_file(path: Path) -> Sidecar:
    """``read`` for a file on disk; of a huge one no more is read than tells so."""
    try:
        with open(path, "rb") as file:
            return read(file.read(LARGEST + 1))
    except OSError as error:
        raise InputError(f"{path} could not be read: {error.strerror or error}.") from None


def differences(record: Sidecar, files: Mapping[str, bytes] | None = None) -> list[str]:
    """A sentence for each model, data set or file that is not what it was when the sidecar was written."""
    stamps = {ending: hashlib.sha256(data).hexdigest() for ending, data in (files or {}).items()}
    now = {**fingerprints(record.figure), "files": stamps}
    words = {
        "models": "The model {} is not the one the figure was made with",
        "data": "The data set {} is not the one the figure was made with",
        "files": "The rebuilt {} is not the same file as the exported one",
    }
    return [
        f"{words[kind].format(name)} (its sha256 differs)."
        for kind in words
        for name, stamp in now[kind].items()
        if record.sha256.get(kind, {}).get(name, stamp) != stamp
    ]


def fingerprints(figure: FigureSpec) -> dict[str, dict[str, str]]:
    """sha256 of the models and data (images, labels, masks of the split) behind a figure, by their names."""
    stamps: dict[str, dict[str, str]] = {"models": {}, "data": {}}
    for r in figure.rows if FIGURES[figure.kind].has_rows else ():
        stamps["data"][f"{model_library.data_name(r)} {r.split}"] = _data_stamp(r.only("data", also=("split",)))
        if FIGURES[figure.kind].needs_model:
            stamps["models"][f"{r.model} {model_library.data_name(r)}"] = pipeline.model(r).digest
    return stamps


@cached(64)
def _data_stamp(spec: Spec) -> str:
    data = pipeline.dataset(spec)
    part, total = pipeline.images(spec), hashlib.sha256()
    for array in (part.x, part.y, part.shown, data.union):
        total.update(np.ascontiguousarray(array))
    return total.hexdigest()


@pipeline.same_networks()
def archive(figure: FigureSpec, ending: str, name: str, *, progress: Progress | None = None) -> bytes:
    """Figure, sidecar, caption, arrays and tables in one zip file."""
    c = content(figure, progress=progress)
    files = {
        f"{name}.{ending}": draw(figure, ending, progress=progress),
        f"{name}.json": sidecar(figure, endings=(ending,)).encode(),
        f"{name}.txt": c.caption.encode(),
        f"{name}.npz": arrays(figure),
        f"{name}.csv": table(figure, "csv"),
        f"{name}.parquet": table(figure, "parquet"),
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for path, data in files.items():
            file.writestr(zipfile.ZipInfo(path, YEAR_0), data, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def arrays(figure: FigureSpec) -> bytes:
    """Images, masks and maps as an npz file, with the FigureSpec and the table of scores as JSON texts."""
    c, packed = content(figure), io.BytesIO()
    np.savez_compressed(
        packed, **c.arrays, figure=np.array(json.dumps(figure.to_dict())), scores=np.array(json.dumps(c.table))
    )
    return packed.getvalue()


def table(figure: FigureSpec, ending: str) -> bytes:
    """The numbers on the figure as ``csv`` or ``parquet``, one row a panel."""
    import pandas as pd  # late: slow to import, and only tables need it

    frame, packed = pd.DataFrame(content(figure).table), io.BytesIO()
    frame.to_csv(packed, index=False) if ending == "csv" else frame.to_parquet(packed, index=False)
    return packed.getvalue()


@pipeline.same_networks()
def report(figure: FigureSpec, how: tuple[str, str]) -> bytes:
    """A figure of maps as one html file; ``how`` are the commands and the Python that give its numbers."""
    c, scale = content(figure), figure.layout.scale
    columns = list(c.columns)
    rows = [
        (
            c.rows[i] if c.rows else "",
            [
                html_report.Shown(
                    title,
                    p.values,
                    p.kind,
                    p.note or "; ".join(_line(*one) for one in p.lines),
                    p.mask if figure.layout.outline else None,
                )
                for title, p in zip(columns, row, strict=True)
            ],
        )
        for i, row in enumerate(c.panels)
    ]
    texts = {"Rebuild it": f"# {PROGRAM} {__version__}\n{how[0]}", "In Python": how[1], "Settings": sidecar(figure)}
    return html_report.page(
        figure.title or "A comparison of explanations", c.caption, rows, c.table, texts, scale
    ).encode()


def _line(name: str, value: str | float) -> str:
    return f"{name} {value if isinstance(value, str) else f'{value:.3f}'}".strip()
