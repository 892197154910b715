"""``figure``: a figure for print, from a sidecar or from scratch."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path

from core import pipeline
from core.commands import common


def add(commands) -> None:
    """Adds the command ``figure``."""
    command = common.add(commands, "figure", figure, "a figure for print, from a sidecar or from scratch")
    command.add_argument(
        "sidecar",
        nargs="?",
        type=Path,
        metavar="SIDECAR.json",
        help="rebuild this figure; all flags that describe a figure are then ignored",
    )
    command.add_argument(
        "--to",
        type=Path,
        required=True,
        metavar="FILE",
        help="output file, with ending pdf, svg or png; the sidecar of a new figure is written next to it",
    )
    command.add_argument("--preset", default="maps", help="maps, examples, toy or regions (default maps)")
    common.spec_flags(command)
    command.add_argument("--images", metavar="A:B", help="a row for each of the images A to B-1")
    command.add_argument(
        "--columns",
        metavar="A,B",
        help="image, truth and methods; --option takes "
        "METHOD.NAME=VALUE. Between ; a column may hold options: A;B:NAME=VALUE,NAME=VALUE",
    )
    command.add_argument("--below", metavar="A,B", help="below each map: metrics, largest (default emd,ime)")
    command.add_argument("--title", help="a line above the figure")
    command.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the preset; may be given again"
    )
    command.add_argument(
        "--layout",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="width (column, page, slide), points, scale, palette, outline, dpi; may be given again",
    )


def figure(options: argparse.Namespace) -> None:
    """Draws a figure from a sidecar or from flags, and prints its caption."""
    from core import studio  # late: matplotlib is needed for no other command

    for path in (options.to,) if options.sidecar else (options.to, options.to.with_suffix(".json")):
        common.output_file(path)
    ending = options.to.suffix.removeprefix(".")
    notices: list[str] = []
    if options.sidecar:
        restored = studio.read_file(options.sidecar)
        notices += restored.notices
        figure_spec = restored.figure
    else:
        base = common.read_spec(options, with_method=False)
        figure_spec = studio.from_words(
            options.preset,
            base,
            images=pipeline.choose(base, *common.read_range(options.images)) if options.images else None,
            columns=options.columns,
            options=common.pairs("option", options.option),
            below=options.below,
            settings=common.pairs("set", options.set),
            layout=common.pairs("layout", options.layout),
            title=options.title or "",
        )
    for notice in notices:
        print(notice, file=sys.stderr)
    data = studio.draw(figure_spec, ending, progress=common.progress)
    if options.sidecar:
        changed = studio.differences(restored, {ending: data})
        notices += changed
        for notice in changed:
            print(notice, file=sys.stderr)
    files = {options.to: data}
    if not options.sidecar:
        files[options.to.with_suffix(".json")] = studio.sidecar(figure_spec, endings=(ending,)).encode()
    for path, content in files.items():
        common.write(path, content)
    caption = studio.content(figure_spec).caption
    print(
        json.dumps(
            {
                "files": [str(p) for p in files],
                "sha256": hashlib.sha256(data).hexdigest(),
                "caption": caption,
                "notices": notices,
            }
        )
        if options.json
        else caption
    )
