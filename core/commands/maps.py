"""``explain`` and ``score``: maps of one method for some images, and their scores."""

from __future__ import annotations

import argparse
import io
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

from core import pipeline, store
from core.commands import common
from core.registry import METRICS
from core.types import Attribution, NotApplicable, Score, Spec


def add(commands) -> None:
    """Adds the commands ``explain`` and ``score``."""
    command = common.add(commands, "explain", explain, "maps of one method for some images")
    common.spec_flags(command)
    common.image_flags(command)
    command.add_argument("--to", type=Path, metavar="FILE.npz", help="write maps, images and masks here")

    command = common.add(commands, "score", score, "scores of one method over some images")
    common.spec_flags(command)
    common.image_flags(command)
    command.add_argument(
        "--workers",
        type=common.whole(1),
        metavar="N",
        help="number of scoring threads (default: one for each processor)",
    )


def explain(options: argparse.Namespace) -> None:
    """Explains the chosen images, prints facts and writes the maps into a file if asked to."""
    spec = common.read_spec(options)
    if options.to:
        common.output_file(options.to)
    chosen = common.read_images(options, spec)
    maps = []
    for done, image in enumerate(chosen):
        common.progress(done, len(chosen), f"image {image}")
        maps.append(pipeline.explain(spec.replace(image=image)))
    if options.to:
        arrays = {name: np.stack([getattr(a, name) for a in maps]) for name in ("values", "image", "mask")}
        packed = io.BytesIO()
        np.savez_compressed(packed, **arrays, spec=np.array(json.dumps(spec.to_dict())), number=np.array(chosen))
        common.write(options.to, packed.getvalue())
    rows = [
        {
            "image": a.spec.image,
            "label": a.label,
            "predicted": a.predicted,
            "target": a.target,
            "probability": float(a.probabilities[a.target]),
            "largest": float(np.abs(a.values).max()),
            "seconds": round(a.seconds, 4),
            "facts": dict(a.facts),
            "notes": list(a.notes),
        }
        for a in maps
    ]
    if options.json:
        print(json.dumps(store.plain({"images": rows, "spec": spec.to_dict()})))
    else:
        for row in rows:
            print(
                f"image {row['image']}: label {row['label']}, predicted {row['predicted']}, "
                f"max|map| {row['largest']:.4g}, {row['seconds']:.2f} s"
            )


def score(options: argparse.Namespace) -> None:
    """Explains and scores the chosen images, and prints means and standard deviations."""
    spec = common.read_spec(options)
    chosen = common.read_images(options, spec)
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
    """The scores of every image; where the method does not apply, they count as undefined."""
    results: list[Any] = []
    for done, spec in enumerate(specs):
        common.progress(done, len(specs), f"image {spec.image}")
        try:
            results.append(pipeline.explain(spec))
        except NotApplicable as reason:
            print(f"image {spec.image}: {reason}", file=sys.stderr)
            results.append(Score(dict.fromkeys(METRICS, math.nan), dict.fromkeys(METRICS, str(reason))))
    scores = pipeline.scores([a for a in results if isinstance(a, Attribution)], workers=workers)
    for index, a in enumerate(results):
        if isinstance(a, Attribution):
            results[index] = next(scores)
            common.progress(index + 1, len(specs), f"score of image {a.spec.image}")
    return results
