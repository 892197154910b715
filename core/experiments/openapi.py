"""The OpenAPI paper's experiments on its own kinds of data and models: the numbers in its tables and figures.

Every number is measured on the first images of a data set's test split; how many is part of the result.
"""

from __future__ import annotations

import csv
import io
import json
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from core import model_library, pipeline, regions, store
from core.methods import finite_difference
from core.methods.openapi import decision_features
from core.models import white_box
from core.quiet import ignore_expected_warnings
from core.regions.deletion import MAX_FEATURES, deletion_curve
from core.regions.measures import cosine, l1_distance, region_difference, relative_l1, weight_difference
from core.registry import DATASETS, METHODS, canonical, models_for
from core.types import InputError, NotApplicable, Progress, Spec, silent

DATASET_NAMES = ("fashion-mnist", "mnist")
EXPLAINERS = ("openapi", "saliency", "gradient_x_input", "integrated_gradients", "lime")
DEFAULT_IMAGES = 100
EXACT_ERROR = 1e-6  # relative L1 distance above which an answer is wrong by more than rounding errors
CLASSES_SHOWN = {
    "fashion-mnist": ("boot", "pullover", "coat", "sneaker", "T-shirt"),
    "mnist": ("0", "2", "3", "5", "7"),
}


def specs() -> Iterator[Spec]:
    """The models of the paper: a network and a tree on each data set."""
    for dataset in DATASET_NAMES:
        for model in models_for(dataset):
            yield canonical(Spec(dataset=dataset, model=model, method="gradient"))


def openapi(images: int = DEFAULT_IMAGES, workers: int = 1, progress: Progress = silent) -> dict[str, Any]:
    """All measures of OpenAPI, section V, on ``images`` test images of each data set and model.

    Gives tables as lists of rows: ``accuracy`` (Table I), ``rounds`` (Table II), ``means`` (Figure 2), ``ablation``
    (deletion curves, Figure 3), ``consistency`` (Figure 4), ``exactness`` (Figures 5 to 7: RD, WD and L1Dist by
    method and h) and ``same_region`` (inputs of one region compared). ``workers``: the number of processes.
    InputError for more images than a data set has.
    """
    fewest = min(len(pipeline.dataset(spec).test) for spec in specs())
    if not 1 <= images <= fewest:
        raise InputError(f"images must be between 1 and {fewest}, not {images}.")
    tables: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("accuracy", "rounds", "means", "ablation", "consistency", "exactness", "same_region")
    }
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_single_threaded) as pool:
        for spec in specs():
            where = {"dataset": spec.dataset, "model": spec.model}
            record = model_library.model_record(spec)
            tables["accuracy"].append(
                where
                | {"train": record.facts["on_train"], "test": record.accuracy, "n": len(pipeline.dataset(spec).test)}
            )
            measured = []
            for row in pool.map(measure, [spec.replace(image=i) for i in range(images)]):
                measured.append(row)
                progress(len(measured), images, f"{spec.dataset} {spec.model}")
            for name, rows in _summary(measured).items():
                tables[name] += [where | row for row in rows]
            progress(0, len(CLASSES_SHOWN[spec.dataset]), f"{spec.dataset} {spec.model}, mean images")
            classes = DATASETS[spec.dataset].classes
            tasks = [(spec, classes.index(name), images) for name in CLASSES_SHOWN[spec.dataset]]
            tables["means"] += [where | row for row in pool.map(mean_of_class, tasks)]
    return {"images": images, **tables}


def write(tables: dict[str, Any], folder: Path) -> list[str]:
    """Writes tables (csv), all numbers (json) and figures (pdf, png) into a folder; returns the files' names."""
    from core.figures import experiments, paper  # late: matplotlib

    files = {"openapi.json": json.dumps(store.plain(tables)).encode()}
    for name in ("accuracy", "rounds", "exactness", "consistency", "ablation", "same_region"):
        files[f"{name}.csv"] = _csv([line for row in tables[name] for line in _lines(row)])
    for name, figure in experiments.openapi(tables).items():
        files |= {f"{name}.{ending}": paper.save(figure, ending) for ending in ("pdf", "png")}
    for name, content in files.items():
        store.write(folder / name, content)
    return list(files)


def _lines(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A row as lines of a table: one, or one for each element of its arrays."""
    arrays = [name for name, value in row.items() if isinstance(value, np.ndarray)]
    for index in range(len(row[arrays[0]]) if arrays else 1):
        yield ({"place": index} if arrays else {}) | {n: v[index] if n in arrays else v for n, v in row.items()}


def _csv(lines: list[dict[str, Any]]) -> bytes:
    file = io.StringIO()
    writer = csv.DictWriter(file, lines[0])
    writer.writeheader()
    writer.writerows(lines)
    return file.getvalue().encode()


def _single_threaded() -> None:
    import torch

    ignore_expected_warnings()
    torch.set_num_threads(1)  # each process has a core to itself


def measure(spec: Spec) -> dict[str, Any]:
    """Everything the paper measures on one image: a row of each table, which ``_summary`` puts together."""
    context = pipeline.context(spec)
    network, x, shape = context.network.double, context.image.ravel().astype(np.float64), context.shape
    truth = white_box.decision_weights(network, x.reshape(1, *shape), context.target)[0].ravel()
    switches = white_box.activation_patterns(network, x.reshape(1, *shape))[0]
    pairs = white_box.pair_weights(network, x.reshape(1, *shape), context.target)[0][0]

    def judged(method: str, h: float, weights: np.ndarray, inputs: np.ndarray) -> dict[str, Any]:
        inputs = inputs.reshape(-1, *shape)
        others = white_box.pair_weights(network, inputs, context.target)
        return {
            "method": method,
            "h": h,
            "reason": "",
            "wd": weight_difference(pairs, *others),
            "relative_l1": relative_l1(weights, truth),
            "l1": l1_distance(weights, truth),
            "rd": region_difference(switches, white_box.activation_patterns(network, inputs)),
        }

    missing = {name: float("nan") for name in ("relative_l1", "l1", "rd", "wd")}
    decision = decision_features(context.predict_proba, x, context.target, seed=spec.seed)
    rows = [
        judged("OpenAPI", float("nan"), decision.weights, decision.samples)
        if decision.exact
        else {"method": "OpenAPI", "h": float("nan"), **missing, "reason": decision.reason}
    ]
    distances, rng = np.array(regions.DISTANCES), np.random.default_rng(spec.seed)  # one set of points for all images
    for estimator in finite_difference.ESTIMATORS.values():
        points = estimator.points(x.size, rng)
        try:
            ratios = np.column_stack([finite_difference.log_ratio_differences(context, points, h) for h in distances])
            weights = finite_difference.weights(estimator, points, ratios, distances).T
        except NotApplicable as reason:
            rows += [{"method": estimator.label, "h": float(h), **missing, "reason": str(reason)} for h in distances]
        else:
            rows += [judged(estimator.label, float(h), w, x + h * points) for h, w in zip(distances, weights)]

    neighbour = regions.nearest(spec)
    maps = {
        m: [pipeline.explain(spec.replace(method=m, image=i)).values for i in (spec.image, neighbour)]
        for m in EXPLAINERS
    }
    deleted = {m: deletion_curve(context.predict_proba, x, both[0], context.target) for m, both in maps.items()}
    return {
        "exactness": rows,
        "rounds": decision.rounds,
        "queries": decision.queries,
        "cs": {m: cosine(*both) for m, both in maps.items()},
        "cpp": {m: curve.cpp for m, curve in deleted.items()},
        "changed": {m: curve.changed for m, curve in deleted.items()},
        "same_region": [_in_region(spec, kind) for kind in (regions.POINT_IN_REGION, regions.IMAGE_IN_REGION)],
    }


def _in_region(spec: Spec, kind: str) -> dict[str, Any] | None:
    """RD, WD and OpenAPI's CS between an image and another input of its region; None where there is no such input."""
    try:
        point = regions.comparison_point(spec, kind)
    except NotApplicable:
        return None
    context = pipeline.context(spec)
    both = np.stack([context.image.astype(np.float64), point.image.astype(np.float32).astype(np.float64)])
    network = context.network.double
    switches = white_box.activation_patterns(network, both)
    at_image, at_point = (white_box.pair_weights(network, image[None], context.target) for image in both)
    answers = [decision_features(context.predict_proba, image.ravel(), context.target) for image in both]
    return {
        "kind": kind,
        "rd": region_difference(switches[0], switches[1:]),
        "wd": weight_difference(at_image[0][0], *at_point),
        "cs": cosine(*(a.weights for a in answers)) if all(a.exact for a in answers) else float("nan"),
    }


def mean_of_class(task: tuple[Spec, int, int]) -> dict[str, Any]:
    """The mean ``(h,w)`` of the first test images of a class, and of OpenAPI's decision features for that class."""
    spec, label, images = task
    chosen = pipeline.choose(spec, label=label)[:images]
    weights, shape = [], None
    for number in chosen:
        context = pipeline.context(spec.replace(image=number), target=label)
        shape = context.shape
        answer = decision_features(context.predict_proba, context.image.ravel(), label)
        if answer.exact:
            weights.append(answer.weights)
    return {
        "class": DATASETS[spec.dataset].classes[label],
        "n": len(chosen),
        "exact": len(weights),
        "image": pipeline.dataset(spec).test.x[chosen].mean(0, dtype=np.float64),
        "weights": np.mean(weights, axis=0).reshape(shape),
    }


def _summary(measured: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The tables of one data set and model, from the measurements on each image."""
    exactness = []
    for position, first in enumerate(measured[0]["exactness"]):
        rows = [image["exactness"][position] for image in measured]
        exactness.append(
            {
                "method": first["method"],
                "h": first["h"],
                "n": len(rows),
                "unanswered": sum(bool(r["reason"]) for r in rows),
                "wrong": sum(r["relative_l1"] > EXACT_ERROR for r in rows),
            }
            | _spread("relative_l1", rows)
            | _spread("l1", rows)
            | {name: _known(np.mean, [r[name] for r in rows]) for name in ("rd", "wd")}
        )
    pairs = [[image["same_region"][k] for image in measured if image["same_region"][k]] for k in range(2)]
    return {
        "exactness": exactness,
        "rounds": [{"n": len(measured)} | _spread("rounds", measured) | _spread("queries", measured)],
        "consistency": [
            {"method": METHODS[m].label, "n": len(measured), "cs": np.array([image["cs"][m] for image in measured])}
            for m in EXPLAINERS
        ],
        "ablation": [
            {
                "method": METHODS[m].label,
                "n": len(measured),
                "cpp": np.mean([_extended(image["cpp"][m]) for image in measured], axis=0),
                "nlci": np.sum([_extended(image["changed"][m]) for image in measured], axis=0),
            }
            for m in EXPLAINERS
        ],
        "same_region": [
            {
                "partner": rows[0]["kind"],
                "n": len(rows),
                "rd": max(r["rd"] for r in rows),
                "wd": max(r["wd"] for r in rows),
                "cs": min(r["cs"] for r in rows),
            }
            for rows in pairs
            if rows
        ],
    }


def _spread(name: str, rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    values = [r[name] for r in rows]
    return {
        f"{name}_{what}": _known(of, values)
        for what, of in (("mean", np.mean), ("median", np.median), ("min", np.min), ("max", np.max))
    }


def _known(of: Callable, values: Sequence[float]) -> float:
    """A statistic of the values that are not NaN."""
    known = np.array(values, float)
    known = known[~np.isnan(known)]
    return float(of(known)) if known.size else float("nan")


def _extended(curve: np.ndarray) -> np.ndarray:
    """A curve up to MAX_FEATURES; if there are fewer features, it stays at its last value."""
    return np.pad(curve, (0, MAX_FEATURES + 1 - len(curve)), mode="edge")
