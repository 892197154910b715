"""What commands share: flags that describe a Spec or choose images, progress, and files written whole."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from core import pipeline, store
from core.registry import usual_model
from core.types import SPEC_CHOICES, InputError, Spec


def add(commands, name: str, run: Callable[[argparse.Namespace], None], text: str) -> argparse.ArgumentParser:
    """A new command that calls ``run`` with its flags."""
    command = commands.add_parser(name, help=text, description=text)
    command.add_argument("--json", action="store_true", help="print JSON and nothing else on stdout")
    command.set_defaults(run=run)
    return command


def spec_flags(command: argparse.ArgumentParser) -> None:
    for field in dataclasses.fields(Spec):
        if field.name not in ("options", "image"):
            command.add_argument(f"--{field.name.replace('_', '-')}", dest=field.name, default=None,
                                 help=f"default {field.default}", choices=SPEC_CHOICES.get(field.name))
    command.add_argument("--option", action="append", default=[], metavar="NAME=VALUE",
                         help="an option of the method; may be given again")


def image_flags(command: argparse.ArgumentParser) -> None:
    command.add_argument("--images", default="0:1", metavar="A:B", help="images A to B-1 of the split")
    command.add_argument("--correct", action="store_true", help="only correctly classified images")


def read_spec(options: argparse.Namespace) -> Spec:
    """The Spec the flags describe, checked."""
    given = {f.name: getattr(options, f.name) for f in dataclasses.fields(Spec)
             if getattr(options, f.name, None) is not None}
    if "model" not in given:
        given["model"] = usual_model(given.get("dataset", Spec.dataset))
    return pipeline.check(Spec(**{**_numbers(given), "options": pairs("option", options.option)}))


def _numbers(given: dict[str, str]) -> dict[str, Any]:
    kinds = {f.name: type(f.default) for f in dataclasses.fields(Spec)}
    result: dict[str, Any] = dict(given)
    for name, text in given.items():
        if kinds[name] in (int, float):
            try:
                result[name] = kinds[name](text)
            except ValueError:
                raise InputError(f"{name} must be a number, not {text!r}.") from None
    return result


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
