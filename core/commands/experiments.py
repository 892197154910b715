"""``reproduce``, ``teach`` and ``bench``: a paper's experiments, the lesson's numbers, and this program's speed."""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core import lessons, store
from core.commands import common
from core.processors import processors
from core.types import InputError


def add(commands) -> None:
    """Adds the commands ``reproduce``, ``teach`` and ``bench``."""
    command = common.add(commands, "reproduce", reproduce, "repeat a paper's experiments: its tables and figures")
    command.add_argument("paper", choices=("openapi",))
    command.add_argument(
        "--images", type=common.whole(1), default=100, help="test images of each data set (default 100)"
    )
    command.add_argument(
        "--workers",
        type=common.whole(1),
        default=processors(),
        help="number of processes (default: one for each processor)",
    )
    command.add_argument(
        "--to",
        type=Path,
        default=Path("reproduced"),
        metavar="FOLDER",
        help="where tables (csv, json) and figures (pdf, png) go; default reproduced",
    )

    command = common.add(commands, "teach", teach, "the numbers in the lesson on suppressors, step by step")
    command.add_argument(
        "--step", choices=lessons.LESSON_STEPS, action="append", help="only this step; may be given again"
    )
    for name, option in lessons.SLIDERS.items():
        allowed = ", ".join(map(str, option.choices)) or f"{option.low:g} to {option.high:g}"
        command.add_argument(
            f"--{name.replace('_', '-')}", dest=name, help=f"{option.help} {allowed}; default {option.default}"
        )

    command = common.add(commands, "bench", bench, "compare this program's speed with that of the usual tools")
    command.add_argument(
        "--published",
        metavar="PYTHON",
        help="an interpreter (3.12 or newer) that has PyPI's patternlocal, see core/experiments/requirements.txt",
    )
    command.add_argument(
        "--maps",
        type=common.whole(1),
        default=10,
        metavar="N",
        help="time EMD against the dense solver on maps of N images of each data set (default 10)",
    )
    command.add_argument(
        "--only",
        choices=("beside", "growth"),
        help="beside: against other programs; growth: how times grow with the task (default: both)",
    )
    command.add_argument("--plot", type=Path, metavar="FILE.png", help="plot the curves of growth in this file")


def reproduce(options: argparse.Namespace) -> None:
    """Repeats a paper's experiments and writes tables and figures into a folder."""
    from core.experiments import openapi  # late: only this command needs it

    tables = openapi.openapi(options.images, options.workers, common.progress)
    written = openapi.write(tables, options.to)
    text = f"{len(written)} files in {options.to}: {', '.join(written)}"
    print(json.dumps(store.plain(tables)) if options.json else text)


def teach(options: argparse.Namespace) -> None:
    """Prints the numbers of the lesson's steps."""
    given = {name: getattr(options, name) for name in lessons.SLIDERS}
    settings = lessons.check(**{name: value for name, value in given.items() if value is not None})
    content = {step: lessons.numbers(step, settings) for step in options.step or lessons.LESSON_STEPS}
    if options.json:
        written = {name: "inf" if value == math.inf else value for name, value in settings.items()}
        print(json.dumps(store.plain({"settings": written, **content})))
        return
    for step, numbers in content.items():
        print(f"{step}:")
        for name, value in _flat(numbers):
            print(f"  {name}: {value}")


def _flat(content: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Names and values of nested content, lists of more than five numbers left out."""
    for name, value in content.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name} ")
        elif not (isinstance(value, list) and len(value) > 5) and value not in ("", []):
            yield before + name, value


def bench(options: argparse.Namespace) -> None:
    """Times this program's solvers, against others and over the size of the task."""
    from core.experiments import growth, speed  # late: only this command needs them
    from core.figures import experiments, paper

    def progress(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    if options.plot and options.only == "beside":
        raise InputError("--plot needs the curves, which --only beside leaves out.")
    if options.plot:
        common.output_file(options.plot)
    rows, curves = [], []
    if options.only != "growth":
        for row in speed.run(progress, options.published, options.maps):
            rows.append({**dataclasses.asdict(row), "ratio": row.ratio})
            if not options.json:
                theirs = "-" if row.theirs is None else f"{row.theirs:.3g} s, {row.ratio:.3g} times ours"
                print(f"{row.name}\n    ours {row.ours:.3g} s; theirs {theirs}; {row.agreement}", flush=True)
    if options.only != "beside":
        for curve in growth.curves(progress):
            curves.append(curve)
            if not options.json:
                points = ", ".join(f"{x:,g}: {y:.2g} s" for x, y in zip(curve.x, curve.y))
                print(f"{curve.panel}, {curve.name}\n    {curve.x_label} {points}", flush=True)
    if options.plot:
        common.write(options.plot, paper.save(experiments.growth(curves), "png"))
    if options.json:
        print(json.dumps({"beside": rows, "growth": [dataclasses.asdict(curve) for curve in curves]}))
