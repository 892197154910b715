"""How times grow with the size of the task: curves that can be extrapolated to other sizes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.ndimage import gaussian_filter

from core import pipeline
from core.methods.openapi import decision_features
from core.methods.pattern import local_pattern
from core.metrics import emd, emds
from core.models.model import Model, freeze
from core.processors import processors
from core.registry import MODELS
from core.types import Spec

EDGES = (8, 16, 32, 64, 128)  # pixels of a map's edge
MASKED = (4, 8, 16, 32, 48)  # pixels of a square mask's edge at 64 x 64
TRAINING = (500, 1000, 2000, 4000, 8000)  # images
INPUTS = (8, 16, 32, 64)  # pixels of the edge of a network's input
LARGEST_HYPERCUBE = 32  # edge up to which the paper's sampling is timed: it grows with the third power of d
SWEPT = (2, 4, 8, 16)  # images


@dataclass(frozen=True)
class Curve:
    """Seconds ``y`` at sizes ``x``: ``panel`` names the task, ``x_label`` the unit of x, ``name`` the line."""

    panel: str
    x_label: str
    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]


def curves(progress: Callable[[str], None]) -> Iterator[Curve]:
    """All curves, one after another: medians of three calls, or a single call if it takes a second or more."""
    emd(np.ones((64, 64)), _square(64, 8))  # imports the solver
    yield from _emd_by_pixels(progress)
    yield from _emd_by_mask(progress)
    yield from _pattern(progress)
    yield from _openapi(progress)
    yield from _sweep(progress)


def _emd_by_pixels(progress: Callable[[str], None]) -> Iterator[Curve]:
    for name, maps in _maps().items():
        yield _curve(
            "EMD, a fifth of the pixels important",
            "pixels",
            name,
            [e * e for e in EDGES],
            [lambda e=e, make=maps: emd(make(e), _square(e, round(0.45 * e))) for e in EDGES],
            progress,
        )


def _emd_by_mask(progress: Callable[[str], None]) -> Iterator[Curve]:
    for name, make in _maps().items():
        values = make(64)
        yield _curve(
            "EMD at 64 × 64",
            "important pixels",
            name,
            [e * e for e in MASKED],
            [lambda e=e, v=values: emd(v, _square(64, e)) for e in MASKED],
            progress,
        )


def _pattern(progress: Callable[[str], None]) -> Iterator[Curve]:
    data = pipeline.dataset(Spec()).train.x.reshape(-1, 4096)
    weights = np.random.default_rng(0).standard_normal(4096)
    yield _curve(
        "PatternLocal at 64 × 64",
        "training images",
        "second half",
        TRAINING,
        [lambda n=n: local_pattern(weights, data[:n], data[0].astype(np.float64)) for n in TRAINING],
        progress,
    )


def _openapi(progress: Callable[[str], None]) -> Iterator[Curve]:
    for sampling, edges in (("orthogonal", INPUTS), ("hypercube", [e for e in INPUTS if e <= LARGEST_HYPERCUBE])):
        calls = []
        for edge in edges:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(0)
                network = Model("MLP", freeze(MODELS["MLP"].function(edge)), 0.0)
            x = np.random.default_rng(edge).standard_normal(edge * edge)
            calls.append(
                lambda network=network, x=x, edge=edge, sampling=sampling: decision_features(
                    lambda rows: network.predict_proba(rows.reshape(-1, edge, edge)), x, 0, sampling=sampling
                )
            )
        yield _curve("OpenAPI on an MLP", "pixels", sampling, [e * e for e in edges], calls, progress)


def _sweep(progress: Callable[[str], None]) -> Iterator[Curve]:
    attributions = [pipeline.explain(Spec(method="gradient", image=image)) for image in range(max(SWEPT))]
    values, masks = (np.stack([getattr(a, name) for a in attributions]) for name in ("values", "mask"))
    for workers in sorted({1, processors()}):
        name = "1 worker" if workers == 1 else f"{workers} workers"
        yield _curve(
            "EMDs of a sweep, 64 × 64",
            "maps",
            name,
            SWEPT,
            [lambda n=n, w=workers: emds(values[:n], masks[:n], w) for n in SWEPT],
            progress,
        )


def _curve(
    panel: str,
    x_label: str,
    name: str,
    x: Sequence[float],
    calls: Sequence[Callable[[], object]],
    progress: Callable[[str], None],
) -> Curve:
    seconds = []
    for size, call in zip(x, calls):
        progress(f"{panel}, {name}: {size:,} {x_label}")
        runs = [_seconds(call)]
        while len(runs) < 3 and runs[0] < 1:
            runs.append(_seconds(call))
        seconds.append(float(np.median(runs)))
    return Curve(panel, x_label, name, tuple(x), tuple(seconds))


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _maps() -> dict[str, Callable[[int], np.ndarray]]:
    """A rough and a smooth random map, by their edge in pixels."""

    def noise(edge: int) -> np.ndarray:
        return np.random.default_rng(edge).standard_normal((edge, edge))

    return {"rough map": noise, "smooth map": lambda edge: gaussian_filter(noise(edge), edge / 16)}


def _square(edge: int, side: int) -> np.ndarray:
    """A mask (edge,edge) with a square of ``side`` pixels in the middle."""
    mask = np.zeros((edge, edge), bool)
    first = (edge - side) // 2
    mask[first : first + side, first : first + side] = True
    return mask
