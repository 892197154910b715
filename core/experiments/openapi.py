"""The experiments of the OpenAPI paper on its own kind of data and models: tables and what its figures show.

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
from core.regions.deletion import COUNT, ablation
from core.regions.measures import cosine, l1_distance, region_difference, relative_l1, weight_difference
from core.registry import DATASETS, METHODS, canonical, models_for
from core.types import InputError, NotApplicable, Spec

DATA = ("fashion-mnist", "mnist")
EXPLAINERS = ("openapi", "saliency", "gradient_x_input", "integrated_gradients", "lime")
IMAGES = 100
EXACT = 1e-6  # relative L1 distance above which an answer is wrong by more than rounding
SHOWN = {"fashion-mnist": ("boot", "pullover", "coat", "sneaker", "T-shirt"), "mnist": ("0", "2", "3", "5", "7")}

Tell = Callable[[int, int, str], None]


def specs() -> Iterator[Spec]:
    """The models of the paper: a network and a tree on each data set."""
    for dataset in DATA:
        for model in models_for(dataset):
            yield canonical(Spec(dataset=dataset, model=model, method="gradient"))


def openapi(images: int = IMAGES, workers: int = 1, tell: Tell = lambda done, total, text: None) -> dict[str, Any]:
    """All measures of OpenAPI, section V, on ``images`` test images of each data set and model.

    ``accuracy`` (Table I), ``rounds`` (Table II), ``means`` (Figure 2), ``ablation`` (3), ``consistency`` (4),
    ``exactness`` (5 to 7: RD, WD, L1Dist by method and h), ``same_region`` (partners in one region).
    """
    fewest = min(len(pipeline.dataset(spec).test) for spec in specs())
    if not 1 <= images <= fewest:
        raise InputError(f"{images} images were asked for; 1 to {fewest} will do.")
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in (
        "accuracy", "rounds", "means", "ablation", "consistency", "exactness", "same_region")}
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_alone) as pool:
        for spec in specs():
            where = {"dataset": spec.dataset, "model": spec.model}
            record = model_library.model_record(spec)
            tables["accuracy"].append(where | {"train": record.facts["on_train"], "test": record.accuracy,
                                               "n": len(pipeline.dataset(spec).test)})
            found = []
            for one in pool.map(measure, [spec.replace(image=i) for i in range(images)]):
                found.append(one)
                tell(len(found), images, f"{spec.dataset} {spec.model}")
            for name, rows in _summary(found).items():
                tables[name] += [where | row for row in rows]
            tell(0, len(SHOWN[spec.dataset]), f"{spec.dataset} {spec.model}, mean images")
            chosen = [(spec, DATASETS[spec.dataset].classes.index(name), images) for name in SHOWN[spec.dataset]]
            tables["means"] += [where | row for row in pool.map(mean_of_class, chosen)]
    return {"images": images, **tables}


def write(found: dict[str, Any], folder: Path) -> list[str]:
    """Writes the tables (csv), everything (json) and the figures (pdf, png) into a folder; gives the files' names."""
    from core.figures import experiments, paper  # late: matplotlib

    files = {"openapi.json": json.dumps(store.plain(found)).encode()}
    for name in ("accuracy", "rounds", "exactness", "consistency", "ablation", "same_region"):
        files[f"{name}.csv"] = _csv([line for row in found[name] for line in _lines(row)])
    for name, figure in experiments.openapi(found).items():
        files |= {f"{name}.{ending}": paper.save(figure, ending) for ending in ("pdf", "png")}
    for name, content in files.items():
        store.write(folder / name, content)
    return list(files)


def _lines(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A row as lines of a table: one, or one for every place of its arrays."""
    arrays = [name for name, value in row.items() if isinstance(value, np.ndarray)]
    for place in range(len(row[arrays[0]]) if arrays else 1):
        yield ({"place": place} if arrays else {}) | {n: v[place] if n in arrays else v for n, v in row.items()}


def _csv(lines: list[dict[str, Any]]) -> bytes:
    file = io.StringIO()
    writer = csv.DictWriter(file, lines[0])
    writer.writeheader()
    writer.writerows(lines)
    return file.getvalue().encode()


def _alone() -> None:
    import torch

    torch.set_num_threads(1)  # one process a core


def measure(spec: Spec) -> dict[str, Any]:
    """Everything the paper measures on one image."""
    context = pipeline.context(spec)
    network, x, shape = context.network.double, context.image.ravel().astype(np.float64), context.shape
    truth = white_box.decision_weights(network, x.reshape(1, *shape), context.target)[0].ravel()
    switches = white_box.patterns(network, x.reshape(1, *shape))[0]
    pairs = white_box.pair_weights(network, x.reshape(1, *shape), context.target)[0][0]

    def judged(method: str, h: float, weights: np.ndarray, inputs: np.ndarray) -> dict[str, Any]:
        inputs = inputs.reshape(-1, *shape)
        found = white_box.pair_weights(network, inputs, context.target)
        return {"method": method, "h": h, "reason": "", "wd": weight_difference(pairs, *found),
                "relative_l1": relative_l1(weights, truth), "l1": l1_distance(weights, truth),
                "rd": region_difference(switches, white_box.patterns(network, inputs))}

    nothing = {name: float("nan") for name in ("relative_l1", "l1", "rd", "wd")}
    found = decision_features(context.predict_proba, x, context.target, seed=spec.seed)
    rows = [judged("OpenAPI", float("nan"), found.weights, found.samples) if found.exact else
            {"method": "OpenAPI", "h": float("nan"), **nothing, "reason": found.reason}]
    distances, rng = np.array(regions.DISTANCES), np.random.default_rng(spec.seed)  # one set of points for all images
    for way in finite_difference.WAYS.values():
        points = way.points(x.size, rng)
        try:
            ratios = np.column_stack([finite_difference.ask(context, points, h) for h in distances])
            weights = finite_difference.weights(way, points, ratios, distances).T
        except NotApplicable as reason:
            rows += [{"method": way.label, "h": float(h), **nothing, "reason": str(reason)} for h in distances]
        else:
            rows += [judged(way.label, float(h), w, x + h * points) for h, w in zip(distances, weights)]

    neighbour = regions.nearest(spec)
    maps = {m: [pipeline.explain(spec.replace(method=m, image=i)).values for i in (spec.image, neighbour)]
            for m in EXPLAINERS}
    taken = {m: ablation(context.predict_proba, x, here, context.target) for m, (here, _) in maps.items()}
    return {"exactness": rows, "rounds": found.rounds, "queries": found.queries,
            "cs": {m: cosine(*both) for m, both in maps.items()},
            "cpp": {m: one.cpp for m, one in taken.items()}, "changed": {m: one.changed for m, one in taken.items()},
            "same_region": [_partners(spec, kind) for kind in (regions.PARTNERS[0], regions.PARTNERS[2])]}


def _partners(spec: Spec, kind: str) -> dict[str, Any] | None:
    """RD, WD and OpenAPI's CS between an image and another input of its region; None where there is none."""
    try:
        other = regions.partner(spec, kind)
    except NotApplicable:
        return None
    context = pipeline.context(spec)
    both = np.stack([context.image.astype(np.float64), other.image.astype(np.float32).astype(np.float64)])
    network = context.network.double
    switches = white_box.patterns(network, both)
    here, there = (white_box.pair_weights(network, one[None], context.target) for one in both)
    answers = [decision_features(context.predict_proba, one.ravel(), context.target) for one in both]
    return {"kind": kind, "rd": region_difference(switches[0], switches[1:]),
            "wd": weight_difference(here[0][0], *there),
            "cs": cosine(*(a.weights for a in answers)) if all(a.exact for a in answers) else float("nan")}


def mean_of_class(asked: tuple[Spec, int, int]) -> dict[str, Any]:
    """Mean image ``(h,w)`` of the first test images of a class, and the mean of OpenAPI's answers for that class."""
    spec, label, images = asked
    chosen = pipeline.choose(spec, label=label)[:images]
    found, shape = [], None
    for number in chosen:
        context = pipeline.context(spec.replace(image=number), target=label)
        shape = context.shape
        answer = decision_features(context.predict_proba, context.image.ravel(), label)
        if answer.exact:
            found.append(answer.weights)
    return {"class": DATASETS[spec.dataset].classes[label], "n": len(chosen), "exact": len(found),
            "image": pipeline.dataset(spec).test.x[chosen].mean(0, dtype=np.float64),
            "weights": np.mean(found, axis=0).reshape(shape)}


def _summary(found: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The tables of one data set and model from what was measured on each image."""
    exactness = []
    for position, first in enumerate(found[0]["exactness"]):
        rows = [one["exactness"][position] for one in found]
        exactness.append({"method": first["method"], "h": first["h"], "n": len(rows),
                          "unanswered": sum(bool(r["reason"]) for r in rows),
                          "wrong": sum(r["relative_l1"] > EXACT for r in rows)}
                         | _spread("relative_l1", rows) | _spread("l1", rows)
                         | {name: _over(np.mean, [r[name] for r in rows]) for name in ("rd", "wd")})
    pairs = [[one["same_region"][k] for one in found if one["same_region"][k]] for k in range(2)]
    return {
        "exactness": exactness,
        "rounds": [{"n": len(found)} | _spread("rounds", found) | _spread("queries", found)],
        "consistency": [{"method": METHODS[m].label, "n": len(found),
                         "cs": np.array([one["cs"][m] for one in found])}
                        for m in EXPLAINERS],
        "ablation": [{"method": METHODS[m].label, "n": len(found),
                      "cpp": np.mean([_longer(one["cpp"][m]) for one in found], axis=0),
                      "nlci": np.sum([_longer(one["changed"][m]) for one in found], axis=0)} for m in EXPLAINERS],
        "same_region": [{"partner": rows[0]["kind"], "n": len(rows), "rd": max(r["rd"] for r in rows),
                         "wd": max(r["wd"] for r in rows), "cs": min(r["cs"] for r in rows)}
                        for rows in pairs if rows],
    }


def _spread(name: str, rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    values = [r[name] for r in rows]
    return {f"{name}_{what}": _over(of, values) for what, of in
            (("mean", np.mean), ("median", np.median), ("min", np.min), ("max", np.max))}


def _over(of: Callable, values: Sequence[float]) -> float:
    """A statistic over the answers there are."""
    kept = np.array(values, float)
    kept = kept[~np.isnan(kept)]
    return float(of(kept)) if kept.size else float("nan")


def _longer(curve: np.ndarray) -> np.ndarray:
    """A curve to COUNT features: one that ran out of features stays where it is."""
    return np.pad(curve, (0, COUNT + 1 - len(curve)), mode="edge")
