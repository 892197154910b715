"""What commands share: flags that describe a Spec or choose images, progress, and files written whole."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from core import pipeline, store
from core.registry import DATASETS, canonical, field_of, usual_model
from core.types import SPEC_CHOICES, InputError, Spec


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
        raise InputError(f"--images takes A:B with two whole numbers, not {text!r}.")
    return int(first), int(last)


def read_images(options: argparse.Namespace, spec: Spec) -> list[int]:
    chosen = pipeline.choose(spec, *read_range(options.images), correct=True if options.correct else None)
    if not chosen:
        raise InputError(f"None of the images {options.images} is classified correctly.")
    return chosen


def progress(done: int, total: int, text: str) -> None:
    print(f"{done}/{total} {text}", file=sys.stderr, flush=True)


def pairs(flag: str, texts: list[str]) -> dict[str, str]:
    if bad := [text for text in texts if "=" not in text]:
        raise InputError(f"--{flag} takes NAME=VALUE, not {bad[0]!r}.")
    return {name: value for name, _, value in (text.partition("=") for text in texts)}


def write(path: Path, content: bytes) -> None:
    try:
        store.write(path, content)
    except OSError as error:
        raise InputError(f"{path} could not be written: {error.strerror or error}.") from None
