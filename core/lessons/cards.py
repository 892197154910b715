"""A small live example for the card of every method, metric, data set and model, computed when it is needed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core import model_library, pipeline
from core.cache import cached
from core.registry import DATASETS, METHODS, METRICS, MODELS, Entry, Registry
from core.types import Attribution, InputError, NotApplicable, Spec

EXAMPLE = Spec(scenario="XOR", background="CORR", snr=0.15, size=8, model="MLP", image=1)
CARD_EDGE = 8  # pixels of an example's edge
SCORED_METHODS = ("gradient", "patternlocal")  # whose maps the metrics score
CARD_IMAGES = 400  # of a data set that is made for its card
FAMILIES: dict[str, Registry] = {"methods": METHODS, "metrics": METRICS, "data sets": DATASETS, "models": MODELS}


@dataclass(frozen=True)
class Picture:
    """A map or an image ``values (h,w)`` and its caption; ``mask (h,w)`` where the ground truth is known.

    ``kind`` is "signed" or "magnitude" for a map, or "image".
    """

    values: np.ndarray
    kind: str
    caption: str
    mask: np.ndarray | None = None


def _map(a: Attribution, caption: str) -> Picture:
    return Picture(a.values, "signed" if a.signed else "magnitude", caption, a.mask if a.mask.any() else None)


@dataclass(frozen=True)
class Example:
    """Pictures, and the ``seconds`` that some ``work`` on them took. ``reason`` says why there are none."""

    pictures: tuple[Picture, ...] = ()
    seconds: float = float("nan")
    work: str = ""
    reason: str = ""


def entries(family: str) -> list[Entry]:
    """The registered entries of a family (a key of FAMILIES), in their order."""
    return list(FAMILIES[family].values())


@pipeline.same_networks()
@cached(128, by=lambda *_, **__: model_library.models_stamp())
def example(family: str, name: str) -> Example:
    """The example of one entry, or the reason why it has none."""
    try:
        return {"methods": _method, "metrics": _metric, "data sets": _data_set, "models": _model}[family](name)
    except (NotApplicable, InputError) as reason:
        return Example(reason=str(reason))


def _method(name: str) -> Example:
    a = pipeline.explain(EXAMPLE.replace(method=name))
    mark = pipeline.score(a, ["ime"])
    below = "empty map" if np.isnan(mark["ime"]) else f"{1 - mark['ime']:.0%} inside"
    seconds = _timed(METHODS[name].function, pipeline.context(a.spec), **dict(a.spec.options))
    return Example((_map(a, below),), min(seconds, a.seconds), f"for one image of {CARD_EDGE} × {CARD_EDGE}")


def _timed(work: Callable, *arguments: object, **options: object) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    work(*arguments, **options)
    return time.perf_counter() - start


def _metric(name: str) -> Example:
    pictures, seconds = [], 0.0
    for method in SCORED_METHODS:
        a = pipeline.explain(EXAMPLE.replace(method=method))
        value = METRICS[name].function(a.values, a.mask)
        seconds += _timed(METRICS[name].function, a.values, a.mask)  # again: the first loads libraries
        pictures.append(_map(a, f"{METHODS[method].label}: {value:.3f}"))
    return Example(tuple(pictures), seconds / len(SCORED_METHODS), f"for one map of {CARD_EDGE} × {CARD_EDGE}")


def _data_set(name: str) -> Example:
    options = {option.name: option for option in DATASETS[name].options}
    if not options:
        return _one_of_a_kind(name)
    if "size" not in options or CARD_EDGE not in options["size"].choices:
        raise NotApplicable(f"This data set has no {CARD_EDGE} × {CARD_EDGE} version, so there is no small example.")
    pictures, start = [], time.perf_counter()
    kind = next((o for o in options.values() if o.choices and o.name != "size"), options["size"])
    usual = {n: getattr(EXAMPLE, n) for n in ("background", "snr") if n in options} | {"size": CARD_EDGE}
    for value in kind.choices:
        spec = DATASETS[name].spec(**{**usual, kind.name: value})
        known = [r for r in model_library.known_models(spec) if r.spec.model == EXAMPLE.model]
        ready = [r.spec.snr for r in known if r.available]
        fewer = {"samples": CARD_IMAGES} if "samples" in options else {}
        spec = spec.replace(**({"snr": ready[-1]} if ready else {}), **fewer)
        data = pipeline.dataset(spec)
        mask = data.mask("test", 0)
        caption = kind.text(value) + ("" if mask.any() else ": no known truth")
        pictures.append(Picture(np.asarray(data.test.x[0]), "image", caption, mask if mask.any() else None))
    work = f"to make or open {len(pictures)} × {CARD_IMAGES} images"
    return Example(tuple(pictures), time.perf_counter() - start, work)


def _one_of_a_kind(name: str) -> Example:
    """A data set that there is only one of: its first images of some classes."""
    start = time.perf_counter()
    test, classes = pipeline.dataset(Spec(dataset=name)).test, DATASETS[name].classes
    first = [int(np.argmax(test.y == label)) for label in range(0, len(classes), 3)]
    pictures = (Picture(np.asarray(test.x[i]), "image", f"{classes[test.y[i]]}: no known truth") for i in first)
    return Example(tuple(pictures), time.perf_counter() - start, f"to open {len(test):,} test images")


def _model(name: str) -> Example:
    ready = [
        r
        for r in model_library.model_records()
        if r.spec.model == name and r.available and r.spec.size in (CARD_EDGE, 0)
    ]
    if not ready:
        raise NotApplicable(f"No trained {CARD_EDGE} × {CARD_EDGE} version, so there is no small example.")
    like = ("dataset", "background", "scenario", "snr")  # the more of these the example shares, the better
    record = max(ready, key=lambda r: [getattr(r.spec, field) == getattr(EXAMPLE, field) for field in like])
    spec = record.spec.replace(method="gradient", image=EXAMPLE.image)
    a = pipeline.explain(spec)
    network, images = pipeline.model(spec), pipeline.dataset(spec).test.x
    data, mask = DATASETS[spec.dataset].describe(spec), (a.mask if a.mask.any() else None)
    return Example(
        (Picture(a.image, "image", data, mask), _map(a, f"weights, {record.accuracy:.1%} right")),
        _timed(network.predict_proba, images),
        f"to answer {len(images):,} images",
    )
