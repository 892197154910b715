"""The main door: ``explain(Spec) -> Attribution``, ``score(Attribution) -> Score``.

Results are kept on disk under everything they depend on: the Spec, this program's code, the libraries'
versions and the model's file. The same Spec gives the same bits in every process on one machine with one number of
threads. With another number of threads float32 products are rounded otherwise: maps agree to 1e-12 of their largest
value, those of LIME with samples from the data or principal components, and of PatternLocal on it, to 1e-4.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import core.datasets  # noqa: F401  (registers)
import core.methods  # noqa: F401  (registers)
import core.metrics  # noqa: F401  (registers)
from core import models, store
from core.datasets.digits import with_training_images
from core.methods import patternlocal
from core.methods.context import Context, Shared, Training
from core.registry import DATASETS, METHODS, METRICS, MODELS, Metric, models_for, settled
from core.types import Attribution, Dataset, InputError, NotApplicable, Score, Spec, Steps

LIBRARIES = ("numpy", "scipy", "torch", "captum", "scikit-image", "POT")
DEFAULT_METHODS = ("gradient", "lime", "patternlocal", "laplace")  # of a first comparison
SMALL = 400  # pixels of a map on which even a slow score takes milliseconds
UNKNOWN = "nobody knows which pixels matter here"
_loading = threading.RLock()


def check(spec: Spec) -> Spec:
    """The Spec with all options filled in and nothing its data set does not have.

    InputError for a name or value that does not exist, or a model made for other data.
    """
    spec = settled(spec)
    data, arguments = DATASETS[spec.dataset], DATASETS[spec.dataset].arguments(spec)
    for option in data.options:
        option.check(arguments[option.name])
    if spec.dataset not in MODELS[spec.model].datasets:
        raise InputError(f"{spec.model} is not made for {data.label}; {' and '.join(models_for(spec.dataset))} are.")
    return spec.replace(options=METHODS[spec.method].check(dict(spec.options)))


def dataset(spec: Spec) -> Dataset:
    """The data set a Spec means; the last few stay open."""
    arguments = DATASETS[spec.dataset].arguments(spec)
    with _loading:
        return _dataset(spec.dataset, tuple(sorted(arguments.items())))


@functools.lru_cache(maxsize=3)
def _dataset(name: str, arguments: tuple[tuple[str, Any], ...]) -> Dataset:
    return DATASETS[name].function(**dict(arguments))


def model(spec: Spec) -> models.Model:
    """The trained model a Spec means; the last few stay loaded. InputError when there is none."""
    with _loading:
        return _model(_only(spec, models.catalogue.ADDRESS))


@functools.lru_cache(maxsize=6)
def _model(address: Spec) -> models.Model:
    return models.load(address)


@functools.lru_cache(maxsize=3)
def _training(address: Spec) -> Training:
    train = dataset(address).train
    return Training(train.x, train.y)


@functools.lru_cache(maxsize=8)
def predictions(address: Spec) -> np.ndarray:
    """Class probabilities ``(n,C)`` of all images in the Spec's split."""
    return model(address).predict_proba(getattr(dataset(address), address.split).x)


@functools.lru_cache(maxsize=64)
def _probabilities(address: Spec, digest: str) -> np.ndarray:
    """Class probabilities ``(C,)`` of one image, asked alone: in a batch its last digits could be others."""
    return model(address).predict_proba(getattr(dataset(address), address.split).x[address.image][None])[0]


def _only(spec: Spec, fields: Iterable[str]) -> Spec:
    """A Spec with these fields and the rest at their defaults: what a cache may be keyed by."""
    spec = settled(spec)
    return Spec(**{name: getattr(spec, name) for name in fields})


def split_predictions(spec: Spec) -> np.ndarray:
    """Class probabilities ``(n,C)`` float64 of the Spec's model on all images of its split."""
    with _loading:
        return predictions(_only(spec, (*models.catalogue.ADDRESS, "split")))


def choose(spec: Spec, first: int = 0, last: int | None = None, *, label: int | None = None,
           correct: bool | None = None) -> list[int]:
    """Numbers of the images first..last-1 of the Spec's split, by label and by right or wrong prediction."""
    labels = np.asarray(getattr(dataset(spec), spec.split).y)
    last = len(labels) if last is None else last
    if not 0 <= first < last <= len(labels):
        raise InputError(f"Images {first}:{last} were asked for; the {spec.split} split has 0:{len(labels)}.")
    keep = np.ones(len(labels), bool) if label is None else labels == label
    if correct is not None:
        keep &= (split_predictions(spec).argmax(1) == labels) == correct
    return [int(i) for i in np.flatnonzero(keep) if first <= i < last]


def explain(spec: Spec) -> Attribution:
    """The map a Spec describes, computed once and then read from disk.

    InputError: the Spec names something that does not exist; NotApplicable: the method does not fit.
    """
    spec = check(spec)
    data = dataset(spec)
    part = getattr(data, spec.split)
    if spec.image >= len(part):
        raise InputError(f"Image {spec.image} was asked for; the {spec.split} split has images 0 to "
                         f"{len(part) - 1}.")
    network = model(spec)
    image, label = np.array(part.x[spec.image]), int(part.y[spec.image])
    probabilities = _probabilities(_only(spec, (*models.catalogue.ADDRESS, "split", "image")), network.digest).copy()
    target = _target(spec, label, probabilities)

    path = store.home() / "results" / f"{_key(spec, network)}.bin"
    kept = store.load(path)
    if kept is None:
        kept = _compute(spec, network, image, target)
        if kept[1].get("seconds", 0) > 0:
            store.save(path, *kept)
    arrays, facts = kept
    if "not_applicable" in facts:
        raise NotApplicable(facts["not_applicable"])
    return Attribution(
        spec=spec, values=arrays["values"], image=image, label=label, probabilities=probabilities,
        mask=data.mask(spec.split, spec.image, spec.truth), target=target,
        signed=METHODS[spec.method].signed, seconds=facts["seconds"], facts=facts["facts"],
        notes=tuple(facts["notes"]))


def _compute(spec: Spec, network: models.Model, image: np.ndarray,
             target: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Runs the method: its map, and what it says of itself, as the store keeps them."""
    context = _context(spec, network, image, target)
    start = time.perf_counter()
    try:
        values = np.asarray(METHODS[spec.method].function(context, **dict(spec.options)), np.float64)
    except NotApplicable as reason:
        return {}, {"not_applicable": str(reason), "seconds": time.perf_counter() - start}
    if values.shape != image.shape or not np.isfinite(values).all():
        raise AssertionError(f"{spec.method} returned {values.shape} with "
                             f"{int((~np.isfinite(values)).sum())} values that are not finite")
    return {"values": values}, {"seconds": time.perf_counter() - start, "facts": context.facts,
                                "notes": context.notes}


def _context(spec: Spec, network: models.Model, image: np.ndarray, target: int) -> Context:
    with _loading:
        address = _only(spec, models.catalogue.ADDRESS)
        training = _training(address)
        shared = _shared(address, network.digest, store.array_key(image), target, spec.output)
    return Context(network, image, target, spec.output, training, spec.seed, shared, spec.image)


@functools.lru_cache(maxsize=8)
def _shared(*image: Any) -> Shared:
    """What the methods share of one of the last few images; the arguments are all that it depends on."""
    return Shared()


def steps(spec: Spec, nearest: int = 6, compared: int = 500) -> Steps:
    """What PatternLocal passes through for this Spec: surrogate, neighbourhood, outputs, pattern.

    With the ``nearest`` heaviest neighbours and the model's own output on the ``compared`` heaviest.
    """
    attribution = explain(spec)
    context = _context(attribution.spec, model(spec), attribution.image, attribution.target)
    found = patternlocal.steps(context, **dict(attribution.spec.options))
    order = np.argsort(-found.neighbours, kind="stable")
    train, seen = dataset(spec).train, order[:min(compared, np.count_nonzero(found.neighbours))]
    return dataclasses.replace(found, nearest=order[:nearest], images=train.x[order[:nearest]],
                               labels=train.y[order[:nearest]], compared=seen,
                               model_outputs=context.outputs(train.x[np.sort(seen)])[np.argsort(np.argsort(seen))])


def context(spec: Spec, image: np.ndarray | None = None, target: int | None = None) -> Context:
    """What a method sees of the Spec's image, or of another ``image (h,w)`` in its place, explaining ``target``."""
    network, part = model(spec), getattr(dataset(spec), spec.split)
    image = np.array(part.x[spec.image] if image is None else image)
    if target is None:
        target = _target(spec, int(part.y[spec.image]), network.predict_proba(image[None])[0])
    return _context(spec, network, image, target)


def _target(spec: Spec, label: int, probabilities: np.ndarray) -> int:
    """The class that is explained."""
    return label if spec.target == "true" else int(probabilities.argmax())


def seeds(spec: Spec, count: int = 5) -> list[Spec]:
    """The Spec with ``count`` seeds, its own first: what "spread over seeds" runs over."""
    return [spec.replace(seed=spec.seed + i) for i in range(count)]


def score(attribution: Attribution, metrics: Iterable[str] = ()) -> Score:
    """The scores of a map by the named metrics (all by default); slow ones are kept on disk.

    A map without mass, a solver that did not converge, or data of which nobody knows which pixels matter give NaN
    and the reason.
    """
    values, reasons, seconds = {}, {}, {}
    for name in tuple(metrics) or tuple(METRICS):
        values[name], reasons[name], seconds[name] = _score(attribution, METRICS[name])
    return Score(values, {name: text for name, text in reasons.items() if text}, seconds)


def scores(attributions: Iterable[Attribution], metrics: Iterable[str] = (),
           workers: int | None = None) -> Iterator[Score]:
    """The scores of many maps in their order, on ``workers`` threads (one a processor; solvers let go of Python)."""
    names = tuple(metrics)
    with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        yield from pool.map(lambda attribution: score(attribution, names), attributions)


def ready(attribution: Attribution, metric: str) -> bool:
    """Whether a score takes milliseconds: the metric is fast, the map small, or the value on disk."""
    if not METRICS[metric].slow or not DATASETS[attribution.spec.dataset].truth:
        return True
    small = attribution.values.size <= SMALL and "ot" in sys.modules  # loading POT takes a second or more
    return small or _score_path(attribution, metric).exists()


def _score_path(attribution: Attribution, metric: str) -> Path:
    return store.home() / "scores" / (store.key(
        metric, store.array_key(attribution.values, attribution.mask), *_code("metrics")) + ".bin")


def _score(attribution: Attribution, metric: Metric) -> tuple[float, str, float]:
    if not DATASETS[attribution.spec.dataset].truth:
        return float("nan"), UNKNOWN, 0.0
    path = _score_path(attribution, metric.name)
    if metric.slow and (kept := store.load(path)):
        facts = kept[1]
        return facts["value"] if facts["value"] is not None else float("nan"), facts["reason"], facts["seconds"]
    start = time.perf_counter()
    try:
        value, reason = float(metric.function(attribution.values, attribution.mask)), ""
    except NotApplicable as error:
        value, reason = float("nan"), str(error)
    seconds = time.perf_counter() - start
    if metric.slow:
        store.save(path, {}, {"value": None if reason else value, "reason": reason, "seconds": seconds})
    return value, reason, seconds


def summary(scores: Iterable[Score], metric: str) -> dict[str, float | int | None]:
    """Mean and standard deviation over images where the score is defined, and how many are and are not."""
    values = np.array([s[metric] for s in scores], float)
    good = values[~np.isnan(values)]
    return {"mean": float(good.mean()) if good.size else None, "std": float(good.std()) if good.size else None,
            "n": int(good.size), "undefined": int(values.size - good.size)}


def train(spec: Spec, progress: Callable[[int, int, str], None] | None = None, *, shipped: bool = False,
          way: str = "auto", epochs: int | None = None, images: Path | None = None) -> dict[str, Any]:
    """Trains and keeps the model a Spec means; returns its record (see core.models.catalogue).

    ``images``: a folder with the published training images of a data set of which only a part is shipped.
    """
    check(spec)
    data = dataset(spec)
    if images:
        data = with_training_images(data, images)
    trained = models.train(spec.model, data, seed=spec.model_seed, progress=progress, way=way, epochs=epochs)
    trained = models.rounded(trained, data.test)
    _model.cache_clear()
    asked = (f" --training {way}" * (way != "auto") + f" --epochs {epochs}" * bool(epochs)
             + f" --from {images}" * bool(images))
    return models.keep(trained, spec, shipped=shipped, asked=asked)


def known_models(spec: Spec) -> list[dict[str, Any]]:
    """Records of all models trained (or tried) for the Spec's data, any SNR and kind."""
    wanted = {name: value for name, value in models.catalogue.address(spec).items() if name not in ("snr", "model")}
    return [r for r in models.records() if all(r.get(name) == value for name, value in wanted.items())]


def _key(spec: Spec, network: models.Model) -> str:
    """Everything a map depends on; what only scoring reads (truth) is left out."""
    return store.key({**spec.to_dict(), "truth": "", "model_file": network.digest}, *_code("methods", "datasets"),
                     _code("models/networks.py", "models/tree.py"))


@functools.cache
def _code(*packages: str) -> tuple:
    return (store.sources(*packages, "types.py", "pipeline.py"), [version(name) for name in LIBRARIES])


def has_model(spec: Spec) -> bool:
    """Whether the model a Spec means has been trained and kept."""
    record = models.find(spec)
    return bool(record and record["file"])


def trouble() -> str | None:
    """Why results are not being kept on disk, if they are not."""
    return store.trouble()
