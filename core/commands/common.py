"""What commands share: flags that describe a Spec or choose images, progress, and files written whole."""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

from core import pipeline, store
from core.registry import DATASETS, canonical, field_of, usual_model
from core.types import SPEC_CHOICES, InputError, Spec, quoted, whole_number

WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def add(commands, name: str, run: Callable[[argparse.Namespace], None], text: str) -> argparse.ArgumentParser:
    """A new command that calls ``run`` with its flags."""
    command = commands.add_parser(name, help=text, description=text)
    command.add_argument("--json", action="store_true", help="print JSON and nothing else on stdout")
    command.set_defaults(run=run)
    return command


def spec_flags(command: argparse.ArgumentParser) -> None:
    for name in Spec.names():
        if name not in ("options", "data_options", "image"):
            command.add_argument(
                f"--{name.replace('_', '-')}",
                dest=name,
                default=None,
                help=f"default {getattr(Spec(), name)}",
                choices=SPEC_CHOICES.get(name),
            )
    for name, entries in _data_options().items():
        command.add_argument(f"--{name.replace('_', '-')}", dest=name, default=None, help=f"of {', '.join(entries)}")
    command.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the method; may be given again",
    )


def _data_options() -> dict[str, list[str]]:
    """The options of data sets that are no fields of a Spec, and the data sets that have them."""
    names: dict[str, list[str]] = {}
    for data in DATASETS.values():
        for option in data.options:
            if not field_of(option):
                names.setdefault(option.name, []).append(data.name)
    return names


def image_flags(command: argparse.ArgumentParser) -> None:
    command.add_argument("--images", default="0:1", metavar="A:B", help="images A to B-1 of the split")
    command.add_argument("--correct", action="store_true", help="only correctly classified images")


def read_spec(options: argparse.Namespace, *, with_method: bool = True) -> Spec:
    """The Spec the flags describe, checked; of its method, too, unless they describe several."""
    values, apart = vars(options), {"options"} if with_method else {"options", "method"}
    given = {name: values[name] for name in Spec.names() if name not in apart and values.get(name) is not None}
    further = {name: values[name] for name in _data_options() if values.get(name) is not None}
    if "model" not in given:
        given["model"] = usual_model(given.get("dataset", Spec.dataset))
    return canonical(
        Spec(**given, data_options=further, options=pairs("option", options.option) if with_method else ())
    )


def read_range(text: str) -> tuple[int, int]:
    first, colon, last = text.partition(":")
    if not (colon and first.isdecimal() and last.isdecimal()):
        raise InputError(f"--images takes A:B with two whole numbers, not {quoted(text)}.")
    return tuple(whole_number("--images", part) for part in (first, last))


def read_images(options: argparse.Namespace, spec: Spec) -> list[int]:
    chosen = pipeline.choose(spec, *read_range(options.images), correct=True if options.correct else None)
    if not chosen:
        raise InputError(f"None of the images {options.images} is classified correctly.")
    return chosen


def progress(done: int, total: int, text: str) -> None:
    print(f"{done}/{total} {text}", file=sys.stderr, flush=True)


def pairs(flag: str, texts: list[str]) -> dict[str, str]:
    if bad := [text for text in texts if "=" not in text]:
        raise InputError(f"--{flag} takes NAME=VALUE, not {quoted(bad[0])}.")
    return {name: value for name, _, value in (text.partition("=") for text in texts)}


def whole(low: int) -> Callable[[str], int]:
    """A flag's type: a whole number of at least ``low``."""

    def read(text: str) -> int:
        try:
            return whole_number("it", text, low)
        except InputError:
            raise argparse.ArgumentTypeError(
                f"a whole number of at least {low} is needed, not {quoted(text)}"
            ) from None

    return read


def output_file(path: Path) -> Path:
    """Where ``path`` leads, checked before the work: InputError for what could not be written."""
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            return path  # a device or a pipe
        path = path.resolve(strict=False)
        if path.is_dir():
            raise InputError(f"{path} could not be written: it is a folder.")
        if path.exists() and not (path.stat().st_mode & WRITABLE and os.access(path, os.W_OK)):
            raise InputError(f"{path} could not be written: it is write-protected.")
        folder = next(parent for parent in path.parents if parent.exists())
        if not (folder.is_dir() and os.access(folder, os.W_OK)):
            raise InputError(f"{path} could not be written: {folder} is no folder that can be written to.")
    except (OSError, RuntimeError) as error:  # RuntimeError: links that lead to themselves
        raise InputError(f"{path} could not be written: {getattr(error, 'strerror', None) or error}.") from None
    return path


def write(path: Path, content: bytes) -> None:
    """Writes a file whole or not at all; through a link to its target, and into a device or a pipe as it is."""
    path = output_file(path)
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)
        else:
            store.write(path, content)
    except OSError as error:
        raise InputError(f"{path} could not be written: {error.strerror or error}.") from None
