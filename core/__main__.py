"""The command line: the same doors as the pages, without a browser. Progress goes to stderr."""

from __future__ import annotations

import argparse
import dataclasses
import io
import json
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from core import lessons, models, pipeline, store
from core.models.training import WAYS
from core.registry import DATASETS, METHODS, METRICS, MODELS, usual_model
from core.types import SPEC_CHOICES, Attribution, InputError, NotApplicable, Score, Spec


def main(arguments: list[str] | None = None) -> int:
    """Runs one command; returns the exit status: 0 done, 1 a bad request or a method that does not apply."""
    options = parser().parse_args(arguments)
    try:
        options.run(options)
    except (InputError, NotApplicable) as error:
        print(error, file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return 130
    return 0


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python -m core", description=__doc__)
    commands = top.add_subparsers(required=True, metavar="command")

    _command(commands, "list", list_all, "what there is: data sets, models, methods, metrics")

    command = _command(commands, "train", train, "train the model of a Spec and keep it on this machine")
    _spec_flags(command)
    command.add_argument("--training", choices=WAYS, default="auto", help="plain, on whitened images, or whichever "
                         "starts to learn (auto)")
    command.add_argument("--epochs", type=int, help="at most so many passes over the training images")
    command.add_argument("--from", dest="images", type=Path, metavar="FOLDER", help="train on all images of the "
                         "published IDX files in this folder (Fashion-MNIST, of which a part is shipped)")
    command.add_argument("--shipped", action="store_true", help="keep it in assets, as a part of this program")

    command = _command(commands, "explain", explain, "maps of one method for some images")
    _spec_flags(command)
    _image_flags(command)
    command.add_argument("--to", type=Path, metavar="FILE.npz", help="write maps, images and masks here")

    command = _command(commands, "score", score, "scores of one method over some images")
    _spec_flags(command)
    _image_flags(command)
    command.add_argument("--workers", type=int, metavar="N", help="threads that score (default: one a processor)")

    command = _command(commands, "reproduce", reproduce, "a paper's experiments: its tables and figures, measured again")
    command.add_argument("paper", choices=("openapi",))
    command.add_argument("--images", type=int, default=100, help="test images of each data set (default 100)")
    command.add_argument("--workers", type=int, default=os.cpu_count(), help="processes (default: one a processor)")
    command.add_argument("--to", type=Path, default=Path("reproduced"), metavar="FOLDER",
                         help="where tables (csv, json) and figures (pdf, png) go; default reproduced")

    command = _command(commands, "teach", teach, "the numbers of the lesson on suppressors, step by step")
    command.add_argument("--step", choices=lessons.STEPS, action="append", help="only this step; may be given again")
    for name, option in lessons.SLIDERS.items():
        allowed = ", ".join(map(str, option.choices)) or f"{option.low:g} to {option.high:g}"
        command.add_argument(f"--{name.replace('_', '-')}", dest=name,
                             help=f"{option.help} {allowed}; default {option.default}")

    command = _command(commands, "figure", figure, "a figure for print, from a sidecar or from scratch")
    command.add_argument("sidecar", nargs="?", type=Path, metavar="SIDECAR.json", help="rebuild this figure; flags "
                         "that describe a figure do not count then")
    command.add_argument("--to", type=Path, required=True, metavar="FILE", help="write it here, as its ending says: "
                         "pdf, svg or png; a new figure's sidecar is written beside it")
    command.add_argument("--preset", default="maps", help="maps, examples, toy or regions (default maps)")
    _spec_flags(command)
    command.add_argument("--images", metavar="A:B", help="one row for each of the images A to B-1")
    command.add_argument("--columns", metavar="A,B", help="image, truth and methods; --option takes "
                         "METHOD.NAME=VALUE. Between ; a column may hold options: A;B:NAME=VALUE,NAME=VALUE")
    command.add_argument("--below", metavar="A,B", help="below each map: metrics, largest (default emd,ime)")
    command.add_argument("--title", help="a line above the figure")
    command.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                         help="a setting of the preset; may be given again")
    command.add_argument("--layout", action="append", default=[], metavar="NAME=VALUE",
                         help="width (column, page, slide), points, scale, palette, outline, dpi; may be given again")

    command = _command(commands, "bench", bench, "time this program beside the ones a user would otherwise take")
    command.add_argument("--published", metavar="PYTHON", help="an interpreter (3.12 or newer) that has PyPI's "
                         "patternlocal, see tests/bench/requirements.txt")
    command.add_argument("--maps", type=int, default=10, metavar="N",
                         help="score the maps of N images a data set beside the dense solver (default 10)")
    command.add_argument("--only", choices=("beside", "growth"), help="beside other programs, or the curves of "
                         "growing tasks (default: both)")
    command.add_argument("--plot", type=Path, metavar="FILE.png", help="draw the curves into this file")
    return top


def _command(commands, name: str, run, text: str) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=text, description=text)
    command.add_argument("--json", action="store_true", help="print JSON and nothing else on stdout")
    command.set_defaults(run=run)
    return command


def _spec_flags(command: argparse.ArgumentParser) -> None:
    for field in dataclasses.fields(Spec):
        if field.name not in ("options", "image"):
            command.add_argument(f"--{field.name.replace('_', '-')}", dest=field.name, default=None,
                                 help=f"default {field.default}", choices=SPEC_CHOICES.get(field.name))
    command.add_argument("--option", action="append", default=[], metavar="NAME=VALUE",
                         help="an option of the method; may be given again")


def _image_flags(command: argparse.ArgumentParser) -> None:
    command.add_argument("--images", default="0:1", metavar="A:B", help="images A to B-1 of the split")
    command.add_argument("--correct", action="store_true", help="only correctly classified images")


def read_spec(options: argparse.Namespace) -> Spec:
    """The Spec the flags describe, checked."""
    given = {f.name: getattr(options, f.name) for f in dataclasses.fields(Spec)
             if getattr(options, f.name, None) is not None}
    if "model" not in given:
        given["model"] = usual_model(given.get("dataset", Spec.dataset))
    return pipeline.check(Spec(**{**_numbers(given), "options": _pairs("option", options.option)}))


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


def _range(text: str) -> tuple[int, int]:
    first, colon, last = text.partition(":")
    if not (colon and first.isdecimal() and last.isdecimal()):
        raise InputError(f"--images takes A:B with two whole numbers, not {text!r}.")
    return int(first), int(last)


def read_images(options: argparse.Namespace, spec: Spec) -> list[int]:
    chosen = pipeline.choose(spec, *_range(options.images), correct=True if options.correct else None)
    if not chosen:
        raise InputError(f"None of the images {options.images} is classified correctly.")
    return chosen


def progress(done: int, total: int, text: str) -> None:
    print(f"{done}/{total} {text}", file=sys.stderr, flush=True)


def list_all(options: argparse.Namespace) -> None:
    families = {"datasets": DATASETS, "models": MODELS, "methods": METHODS, "metrics": METRICS}
    content: dict[str, Any] = {
        family: [{"name": e.name, "label": e.label, "summary": e.summary, "formula": e.formula,
                  "misleads": e.misleads, "reference": e.reference,
                  "options": {o.name: {"default": o.default, "help": o.help, "choices": list(o.choices),
                                       "low": o.low, "high": o.high} for o in e.options}}
                 for e in registry.values()]
        for family, registry in families.items()}
    content["trained"] = models.records()
    if options.json:
        print(json.dumps(content))
        return
    for family in families:
        print(f"{family}:")
        for entry in content[family]:
            print(f"  {entry['name']:22} {entry['summary']}")
            for name, option in entry["options"].items():
                allowed = option["choices"] or f"{option['low']} to {option['high']}"
                print(f"  {'':22}   {name} = {option['default']} ({allowed})")
    print("trained models:")
    for r in content["trained"]:
        state = "" if r["file"] else "  not shipped: below 90 %"
        name = models.name_of(models.spec_of(r))
        print(f"  {name:32} {r['model']:4}  test accuracy {r['accuracy']:.3f}{state}")


def train(options: argparse.Namespace) -> None:
    record = pipeline.train(read_spec(options), progress, shipped=options.shipped, way=options.training,
                            epochs=options.epochs, images=options.images)
    if options.json:
        print(json.dumps(record))
    else:
        print(f"{record['model']}: test accuracy {record['accuracy']:.3f} ({record['training']} training)")


def explain(options: argparse.Namespace) -> None:
    spec = read_spec(options)
    chosen = read_images(options, spec)
    found = []
    for done, image in enumerate(chosen):
        progress(done, len(chosen), f"image {image}")
        found.append(pipeline.explain(spec.replace(image=image)))
    if options.to:
        arrays = {name: np.stack([getattr(a, name) for a in found]) for name in ("values", "image", "mask")}
        packed = io.BytesIO()
        np.savez_compressed(packed, **arrays, spec=np.array(json.dumps(spec.to_dict())), number=np.array(chosen))
        _write(options.to, packed.getvalue())
    rows = [{"image": a.spec.image, "label": a.label, "predicted": a.predicted, "target": a.target,
             "probability": float(a.probabilities[a.target]), "largest": float(np.abs(a.values).max()),
             "seconds": round(a.seconds, 4), "facts": dict(a.facts), "notes": list(a.notes)} for a in found]
    if options.json:
        print(json.dumps(store.plain({"images": rows, "spec": spec.to_dict()})))
    else:
        for row in rows:
            print(f"image {row['image']}: label {row['label']}, predicted {row['predicted']}, "
                  f"max|map| {row['largest']:.4g}, {row['seconds']:.2f} s")


def score(options: argparse.Namespace) -> None:
    spec = read_spec(options)
    chosen = read_images(options, spec)
    scores = _scores([spec.replace(image=image) for image in chosen], options.workers)
    means = {name: pipeline.summary(scores, name) for name in METRICS}
    if options.json:
        rows = [{"image": i, **s.values} for i, s in zip(chosen, scores)]
        print(json.dumps(store.plain({**means, "images": rows, "spec": spec.to_dict()})))
    else:
        for name, row in means.items():
            mean = "undefined" if row["mean"] is None else f"{row['mean']:.4f} ± {row['std']:.4f}"
            print(f"{METRICS[name].label}: {mean} over {row['n']} images, {row['undefined']} undefined")


def _scores(specs: list[Spec], workers: int | None) -> list[Score]:
    """The scores of every image; where the method does not apply they are undefined, and counted as such."""
    found: list[Any] = []
    for done, spec in enumerate(specs):
        progress(done, len(specs), f"image {spec.image}")
        try:
            found.append(pipeline.explain(spec))
        except NotApplicable as reason:
            print(f"image {spec.image}: {reason}", file=sys.stderr)
            found.append(Score(dict.fromkeys(METRICS, math.nan), dict.fromkeys(METRICS, str(reason))))
    scores = pipeline.scores([a for a in found if isinstance(a, Attribution)], workers=workers)
    for place, a in enumerate(found):
        if isinstance(a, Attribution):
            found[place] = next(scores)
            progress(place + 1, len(specs), f"score of image {a.spec.image}")
    return found


def teach(options: argparse.Namespace) -> None:
    given = {name: getattr(options, name) for name in lessons.SLIDERS}
    settings = lessons.check(**{name: value for name, value in given.items() if value is not None})
    found = {step: lessons.numbers(step, settings) for step in options.step or lessons.STEPS}
    if options.json:
        written = {name: "inf" if value == math.inf else value for name, value in settings.items()}
        print(json.dumps(store.plain({"settings": written, **found})))
        return
    for step, numbers in found.items():
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


def reproduce(options: argparse.Namespace) -> None:
    from core import reproduce as experiments  # late: only this command needs it

    found = experiments.openapi(options.images, options.workers, progress)
    written = experiments.write(found, options.to)
    text = f"{len(written)} files in {options.to}: {', '.join(written)}"
    print(json.dumps(store.plain(found)) if options.json else text)


def figure(options: argparse.Namespace) -> None:
    import hashlib

    from core import studio  # late: matplotlib is needed for no other command

    ending = options.to.suffix.removeprefix(".")
    notices: list[str] = []
    if options.sidecar:
        found = studio.read_file(options.sidecar)
        notices += found.notices
        wanted = found.figure
    else:
        base = read_spec(argparse.Namespace(**{**vars(options), "option": [], "method": None}))
        wanted = studio.from_words(
            options.preset, base, images=pipeline.choose(base, *_range(options.images)) if options.images else None,
            columns=options.columns, options=_pairs("option", options.option), below=options.below,
            settings=_pairs("set", options.set), layout=_pairs("layout", options.layout), title=options.title or "")
    for notice in notices:
        print(notice, file=sys.stderr)
    data = studio.draw(wanted, ending, progress=progress)
    if options.sidecar:
        changed = studio.differences(found, {ending: data})
        notices += changed
        for notice in changed:
            print(notice, file=sys.stderr)
    files = {options.to: data}
    if not options.sidecar:
        files[options.to.with_suffix(".json")] = studio.sidecar(wanted, endings=(ending,)).encode()
    for path, content in files.items():
        try:
            store.write(path, content)
        except OSError as error:
            raise InputError(f"{path} could not be written: {error.strerror or error}.") from None
    caption = studio.content(wanted).caption
    print(json.dumps({"files": [str(p) for p in files], "sha256": hashlib.sha256(data).hexdigest(),
                      "caption": caption, "notices": notices}) if options.json else caption)


def _pairs(flag: str, texts: list[str]) -> dict[str, str]:
    if bad := [text for text in texts if "=" not in text]:
        raise InputError(f"--{flag} takes NAME=VALUE, not {bad[0]!r}.")
    return {name: value for name, _, value in (text.partition("=") for text in texts)}


def bench(options: argparse.Namespace) -> None:
    from core import bench as benchmarks  # late: only this command needs it
    from core.figures import growth, paper

    def tell(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    if options.plot and options.only == "beside":
        raise InputError("--plot draws the curves, which --only beside leaves out.")
    rows, curves = [], []
    if options.only != "growth":
        for row in benchmarks.run(tell, options.published, options.maps):
            rows.append({**dataclasses.asdict(row), "ratio": row.ratio})
            if not options.json:
                theirs = "-" if row.theirs is None else f"{row.theirs:.3g} s, {row.ratio:.3g} times ours"
                print(f"{row.name}\n    ours {row.ours:.3g} s; theirs {theirs}; {row.agreement}", flush=True)
    if options.only != "beside":
        for curve in benchmarks.curves(tell):
            curves.append(curve)
            if not options.json:
                points = ", ".join(f"{x:,g}: {y:.2g} s" for x, y in zip(curve.x, curve.y))
                print(f"{curve.panel}, {curve.name}\n    {curve.x_label} {points}", flush=True)
    if options.plot:
        _write(options.plot, paper.save(growth.growth(curves), "png"))
    if options.json:
        print(json.dumps({"beside": rows, "growth": [dataclasses.asdict(curve) for curve in curves]}))


def _write(path: Path, content: bytes) -> None:
    try:
        store.write(path, content)
    except OSError as error:
        raise InputError(f"{path} could not be written: {error.strerror or error}.") from None


if __name__ == "__main__":
    sys.exit(main())
