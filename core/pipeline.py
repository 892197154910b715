"""The main door: ``explain(Spec) -> Attribution``, ``score(Attribution) -> Score``.

Results are kept on disk under everything they depend on: the Spec, this program's code, the libraries'
versions and the model's file. The same Spec gives the same bits in every process on one machine with one number of
threads. With another number of threads float32 products are rounded otherwise: maps agree to 1e-12 of their largest
value, those of LIME with samples from the data or principal components, and of PatternLocal on it, to 1e-4.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np

import core.datasets  # noqa: F401  (registers)
import core.methods  # noqa: F401  (registers)
import core.metrics  # noqa: F401  (registers)
from core import keys, models, store
from core.cache import cached
from core.methods import patternlocal
from core.methods.context import Context, Shared, TrainingImages
from core.processors import processors
from core.registry import DATASETS, METHODS, METRICS, MetricEntry, canonical, model_key
from core.types import (
    Attribution,
    Dataset,
    InputError,
    MethodFailed,
    NotApplicable,
    PatternLocalTrace,
    Score,
    Spec,
    Split,
)

DEFAULT_METHODS = ("gradient", "lime", "patternlocal", "laplace")  # of a first comparison
SMALL = 400  # pixels of a map on which even a slow score takes milliseconds
log = logging.getLogger("attribution-lab")
UNKNOWN = "nobody knows which pixels matter here"
_networks: ContextVar[dict[Spec, models.Model] | None] = ContextVar("networks", default=None)


def dataset(spec: Spec) -> Dataset:
    """The data set a Spec means; the last few stay open."""
    arguments = DATASETS[spec.dataset].arguments(spec)
    return _dataset(spec.dataset, tuple(sorted(arguments.items())))


def images(spec: Spec, holding: int | None = None) -> Split:
    """The images, labels and masks of a Spec's split. InputError if it does not hold image number ``holding``."""
    part = getattr(dataset(spec), spec.split)
    if holding is not None and not 0 <= holding < len(part):
        raise InputError(f"Image {holding} was asked for; the {spec.split} split has images 0 to {len(part) - 1}.")
    return part


@cached(3)
def _dataset(name: str, arguments: tuple[tuple[str, Any], ...]) -> Dataset:
    return DATASETS[name].function(**dict(arguments))


def model(spec: Spec) -> models.Model:
    """The trained model a Spec means, as it is now; the last few stay loaded. InputError when there is none."""
    key, pinned = model_key(spec), _networks.get()
    if pinned is None:
        return _model(key, models.stamp(key))
    if key not in pinned:
        pinned.setdefault(key, _model(key, models.stamp(key)))
    return pinned[key]


@cached(6)
def _model(key: Spec, stamp: tuple) -> models.Model:
    return models.catalogue.load(key)


@contextlib.contextmanager
def same_networks(pinned: dict[Spec, models.Model] | None = None) -> Iterator[None]:
    """Inside the block, or the function it decorates, a Spec keeps meaning the network it meant first.

    So an answer of many parts is about one network, though a model be trained anew meanwhile. Within another such
    block, the outer one's networks hold. ``pinned``: one dictionary for several blocks that belong together.
    """
    outer = _networks.get()
    token = _networks.set(({} if pinned is None else pinned) if outer is None else outer)
    try:
        yield
    finally:
        _networks.reset(token)


def remembered(maxsize: int) -> Callable:
    """A decorator: keeps the last results of a function of a Spec, by its arguments and the Spec's network.

    The whole answer is about that one network: trained anew meanwhile, it is asked from the next question on. What
    ``progress`` reports makes no difference.
    """
    kept = cached(maxsize, ignore=("progress",), by=lambda spec, *_, **__: model(spec).digest)
    return lambda function: same_networks()(kept(function))


@cached(3)
def _training(data: Spec) -> TrainingImages:
    train = dataset(data).train
    return TrainingImages(train.x, train.y)


@remembered(8)
def _predictions(spec: Spec) -> np.ndarray:
    return model(spec).predict_proba(images(spec).x)


@remembered(64)
def _probabilities(spec: Spec) -> np.ndarray:
    """Class probabilities ``(C,)`` of one image, queried alone: in a batch its last digits could be others."""
    return model(spec).predict_proba(images(spec).x[spec.image][None])[0]


def split_predictions(spec: Spec) -> np.ndarray:
    """Class probabilities ``(n,C)`` float64 of the Spec's model on all images of its split."""
    return _predictions(canonical(spec).only("data", "model", also=("split",)))


def choose(
    spec: Spec, first: int = 0, last: int | None = None, *, label: int | None = None, correct: bool | None = None
) -> list[int]:
    """Numbers of the images first..last-1 of the Spec's split, by label and by right or wrong prediction."""
    labels = np.asarray(images(spec).y)
    last = len(labels) if last is None else last
    if not 0 <= first < last <= len(labels):
        raise InputError(f"Images {first}:{last} were asked for; the {spec.split} split has 0:{len(labels)}.")
    keep = np.ones(len(labels), bool) if label is None else labels == label
    if correct is not None:
        keep &= (split_predictions(spec).argmax(1) == labels) == correct
    return [int(i) for i in np.flatnonzero(keep) if first <= i < last]


@same_networks()
def explain(spec: Spec) -> Attribution:
    """The map a Spec describes, computed once and then read from disk.

    InputError: the Spec names something that does not exist; NotApplicable: the method does not fit.
    """
    spec = canonical(spec)
    data, part, network = dataset(spec), images(spec, holding=spec.image), model(spec)
    image, label = np.array(part.x[spec.image]), int(part.y[spec.image])
    probabilities = _probabilities(spec.only("data", "model", also=("split", "image"))).copy()
    target = _target(spec, label, probabilities)

    path = store.home() / "results" / f"{keys.result_key(spec, network.digest, data)}.bin"
    kept = store.load(path)
    if kept is None:
        kept = _compute(spec, network, image, target)
        if kept[1].get("seconds", 0) > 0:
            store.save(path, *kept)
    arrays, facts = kept
    if "not_applicable" in facts:
        raise NotApplicable(facts["not_applicable"])
    return Attribution(
        spec=spec,
        values=arrays["values"],
        image=image,
        label=label,
        probabilities=probabilities,
        mask=data.mask(spec.split, spec.image, spec.truth),
        target=target,
        signed=METHODS[spec.method].signed,
        seconds=facts["seconds"],
        facts=facts["facts"],
        notes=tuple(facts["notes"]),
    )


def _compute(
    spec: Spec, network: models.Model, image: np.ndarray, target: int
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Runs the method: its map, and what it says of itself, as the store keeps them."""
    context = _context(spec, network, image, target)
    start = time.perf_counter()
    try:
        values = np.array(METHODS[spec.method].function(context, **dict(spec.options)), np.float64)
    except NotApplicable as reason:
        return {}, {"not_applicable": str(reason), "seconds": time.perf_counter() - start}
    except InputError:
        raise
    except Exception as error:
        log.exception("%s failed on image %s", spec.method, spec.image)
        raise MethodFailed(f"{METHODS[spec.method].label} failed: {type(error).__name__}: {error}") from error
    if values.shape != image.shape:
        raise MethodFailed(f"{METHODS[spec.method].label} failed: its map is {values.shape}, not {image.shape}.")
    if (undefined := np.argwhere(~np.isfinite(values))).size:
        row, column = undefined[0]
        raise MethodFailed(
            f"{METHODS[spec.method].label} failed: its map is {values[row, column]} at row {row}, column {column}, "
            f"and not finite at {len(undefined)} of {values.size} pixels."
        )
    return {"values": values}, {
        "seconds": time.perf_counter() - start,
        "facts": context.facts,
        "notes": context.notes,
    }


def _context(spec: Spec, network: models.Model, image: np.ndarray, target: int) -> Context:
    spec = canonical(spec)
    training = _training(spec.data_key())
    shared = _shared(spec.model_key(), network.digest, store.array_key(image), target, spec.output)
    return Context(network, image, target, spec.output, training, spec.seed, shared, spec.image)


@cached(8)
def _shared(*image: Any) -> Shared:
    """What the methods share of one of the last few images; the arguments are all that it depends on."""
    return Shared()


@same_networks()
def steps(spec: Spec, nearest: int = 6, compared: int = 500) -> PatternLocalTrace:
    """What PatternLocal passes through for this Spec: surrogate, neighbourhood, outputs, pattern.

    With the ``nearest`` heaviest neighbours and the model's own output on the ``compared`` heaviest.
    """
    attribution = explain(spec)
    context = _context(attribution.spec, model(spec), attribution.image, attribution.target)
    trace = patternlocal.steps(context, **dict(attribution.spec.options))
    order = np.argsort(-trace.neighbours, kind="stable")
    train, seen = dataset(spec).train, order[: min(compared, np.count_nonzero(trace.neighbours))]
    return dataclasses.replace(
        trace,
        nearest=order[:nearest],
        images=train.x[order[:nearest]],
        labels=train.y[order[:nearest]],
        compared=seen,
        model_outputs=context.outputs(train.x[np.sort(seen)])[np.argsort(np.argsort(seen))],
    )


@same_networks()
def context(spec: Spec, image: np.ndarray | None = None, target: int | None = None) -> Context:
    """What a method sees of the Spec's image, or of another ``image (h,w)`` in its place, explaining ``target``."""
    network, part = model(spec), images(spec)
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


def scores(
    attributions: Iterable[Attribution], metrics: Iterable[str] = (), workers: int | None = None
) -> Iterator[Score]:
    """The scores of many maps in their order, on ``workers`` threads (one a processor; solvers let go of Python)."""
    names = tuple(metrics)
    with ThreadPoolExecutor(workers or processors()) as pool:
        yield from pool.map(lambda attribution: score(attribution, names), attributions)


def ready(attribution: Attribution, metric: str) -> bool:
    """Whether a score takes milliseconds: the metric is fast, the map small, or the value on disk."""
    if not METRICS[metric].slow or not DATASETS[attribution.spec.dataset].has_ground_truth:
        return True
    small = attribution.values.size <= SMALL and "ot" in sys.modules  # loading POT takes a second or more
    return small or _score_path(attribution, metric).exists()


def _score_path(attribution: Attribution, metric: str) -> Path:
    return store.home() / "scores" / f"{keys.score_key(attribution, metric)}.bin"


def _score(attribution: Attribution, metric: MetricEntry) -> tuple[float, str, float]:
    if not DATASETS[attribution.spec.dataset].has_ground_truth:
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
    return {
        "mean": float(good.mean()) if good.size else None,
        "std": float(good.std()) if good.size else None,
        "n": int(good.size),
        "undefined": int(values.size - good.size),
    }


def trouble() -> str | None:
    """Why results are not being kept on disk, if they are not."""
    return store.write_error()
