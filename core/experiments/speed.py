"""The speed of this program's own solvers compared with the usual tools, as ratios of times in one run."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core import pipeline
from core.datasets.tetromino import generate, smoothed
from core.methods.context import Context
from core.methods.openapi import decision_features
from core.methods.pattern import local_pattern, local_patterns
from core.methods.simplification import Pixels
from core.methods.surrogate import SURROGATE_OPTIONS, fit_lime
from core.metrics import emd, transport_solver
from core.registry import canonical
from core.types import Spec

BATCHED_IMAGES = 32  # explained together in the row on batches
MAP_DATA = (("XOR", "WHITE", 0.05), ("XOR", "CORR", 0.05), ("RIGID", "WHITE", 0.7), ("RIGID", "CORR", 0.5))
SCORED_IMAGES = 10  # of each data set; the dense solver takes about ten minutes for their maps
IMAGES_MADE = 40_000  # images


@dataclass(frozen=True)
class Row:
    """One comparison: seconds for each image, ours and theirs, and how well the results agree."""

    name: str
    ours: float
    theirs: float | None
    agreement: str

    @property
    def ratio(self) -> float | None:
        """How many times faster ours is; None if there is nothing to compare with."""
        return None if self.theirs is None else self.theirs / self.ours


def run(progress: Callable[[str], None], published: str | None = None, mapped: int = SCORED_IMAGES) -> Iterator[Row]:
    """All comparisons, one after the other, on XOR CORR 64x64 with the MLP.

    ``published``: a Python interpreter that has PyPI's patternlocal, which needs Python 3.12 or newer;
    ``mapped``: of how many images a data set the maps are scored.
    """
    spec = canonical(Spec())
    data = pipeline.dataset(spec)
    images = np.concatenate([part.x.reshape(len(part), -1) for part in (data.train, data.val, data.test)])
    contexts = [pipeline.context(spec.replace(image=i)) for i in range(BATCHED_IMAGES)]
    yield from _emd(mapped, progress)
    yield from _pattern(images, contexts, published, progress)
    yield _lime(contexts[0], progress)
    yield _openapi(contexts[0], progress)
    yield _data(progress)


def _emd(mapped: int, progress: Callable[[str], None]) -> Iterator[Row]:
    """EMD of the maps on Compare, against POT's dense solver, whose cost matrix is built beforehand."""
    import ot

    pixels = np.argwhere(np.ones((64, 64)))
    for scenario, background, snr in MAP_DATA:
        ours, theirs, differences = [], [], []
        for spec in (
            Spec(scenario=scenario, background=background, snr=snr, method=method, image=image)
            for image in range(mapped)
            for method in pipeline.DEFAULT_METHODS
        ):
            progress(f"EMD of {scenario} {background}, image {spec.image}, {spec.method}")
            a = pipeline.explain(spec)
            mass = np.abs(a.values).ravel() / np.abs(a.values).sum()
            cost = transport_solver.distance(pixels[:, None], pixels[a.mask.ravel()][None])
            uniform = np.full(cost.shape[1], 1 / cost.shape[1])
            start = time.perf_counter()
            value = emd(a.values, a.mask)
            between = time.perf_counter()
            dense = ot.emd2(mass, uniform, cost, numItermax=transport_solver.MAX_ITERATIONS) / np.hypot(63, 63)
            ours.append(between - start)
            theirs.append(time.perf_counter() - between)
            differences.append(abs(value / dense - 1))
        slowest = min(t / o for t, o in zip(theirs, ours))
        yield Row(
            f"EMD, {scenario} {background}, {cost.shape[1]} important pixels, {len(ours)} maps (geometric means)",
            _mean(ours),
            _mean(theirs),
            f"relative difference {max(differences):.0e}; least gain {slowest:.1f} times",
        )


def _openapi(context: Context, progress: Callable[[str], None]) -> Row:
    """OpenAPI's two samplings on the 64x64 MLP."""
    progress("OpenAPI by hypercube sampling")
    seconds, decisions = [], []
    for sampling in ("orthogonal", "hypercube"):
        start = time.perf_counter()
        decisions.append(
            decision_features(context.predict_proba, context.image.ravel(), context.target, sampling=sampling)
        )
        seconds.append(time.perf_counter() - start)
    a, b = (f.weights for f in decisions)
    return Row(
        f"OpenAPI, {a.size:,} pixels, orthogonal (the paper's hypercube)",
        *seconds,
        f"relative L1 difference {np.abs(a - b).sum() / np.abs(a).sum():.0e}; "
        f"{decisions[0].queries:,} queries instead of {decisions[1].queries:,}",
    )


def _data(progress: Callable[[str], None]) -> Row:
    """Generating a CORR data set, against the same with scipy's filter, image by image."""
    from scipy.ndimage import gaussian_filter

    progress(f"{IMAGES_MADE:,} images")
    seconds, made = [], []
    for smooth in (smoothed, lambda images, sigma: np.stack([gaussian_filter(image, sigma) for image in images])):
        start = time.perf_counter()
        made.append(generate("XOR", "CORR", 0.05, 64, IMAGES_MADE, 0, smooth=smooth)[0])
        seconds.append(time.perf_counter() - start)
    return Row(
        f"{IMAGES_MADE:,} images of 64 x 64 with correlated noise (image by image with scipy's filter)",
        *(s / IMAGES_MADE for s in seconds),
        f"largest difference {np.abs(made[0] - made[1]).max():.0e}",
    )


def _mean(seconds: list[float]) -> float:
    """Geometric mean."""
    return float(np.exp(np.mean(np.log(seconds))))


def _pattern(
    images: np.ndarray, contexts: list[Context], published: str | None, progress: Callable[[str], None]
) -> Iterator[Row]:
    """PatternLocal's second half on 10,000 training images, all of them neighbours."""
    weights = np.stack([c.gradients(c.image[None]).ravel() for c in contexts])
    centers = np.stack([c.image.ravel() for c in contexts]).astype(np.float64)
    name = f"PatternLocal's second half, {len(images):,} training images of {images.shape[1]:,} pixels"
    progress(name)
    together = _seconds(lambda: local_patterns(weights, images, centers), 3) / len(contexts)
    single = _seconds(lambda: local_pattern(weights[0], images, centers[0]), 5)
    theirs, agreement = None, "the published package was not run (--published)"
    if published:
        progress("the published package on the same images")
        theirs, pattern = _published(published, images, weights[0], centers[0])
        agreement = f"1 - cosine {1 - _cosine(pattern, local_pattern(weights[0], images, centers[0])):.0e}"
    yield Row(f"{name}; {len(contexts)} images together", together, theirs, agreement)
    yield Row(f"{name}; one image", single, theirs, agreement)


def _published(python: str, images: np.ndarray, weights: np.ndarray, center: np.ndarray) -> tuple[float, np.ndarray]:
    """Seconds and result ``(d,)`` of the published package's local covariance, run by another interpreter."""
    script = Path(__file__).with_name("published_patternlocal.py")
    with tempfile.TemporaryDirectory() as folder:
        np.savez(f"{folder}/given.npz", images=images, weights=weights, center=center)
        subprocess.run([python, script, folder], check=True)
        with np.load(f"{folder}/found.npz") as result:
            return float(result["seconds"]), result["values"]


def _lime(context: Context, progress: Callable[[str], None]) -> Row:
    """LIME with 500 mask samples on every pixel, ridge in both programs."""
    import torch
    from captum._utils.models.linear_model import SkLearnRidge
    from captum.attr import Lime

    progress("LIME")
    settings = {o.name: o.default for o in SURROGATE_OPTIONS}
    settings |= {"n_samples": 500, "proximity": "uniform", "ridge": 1e-2}
    h = Pixels(context.image.ravel())
    ours = _seconds(lambda: fit_lime(context, h, context.outputs, np.ones(h.size), **settings), 5)
    lime = Lime(context.explained, interpretable_model=SkLearnRidge(alpha=1.0))
    x = torch.from_numpy(context.image)[None]
    theirs = _seconds(lambda: lime.attribute(x, n_samples=500, perturbations_per_eval=50), 2)
    return Row(
        "LIME, 500 mask samples, 4,096 pixels (captum at 50 perturbations a call)",
        ours,
        theirs,
        "both random, with different draws",
    )


def _seconds(call: Callable[[], object], times: int) -> float:
    """The median wall time of ``times`` calls, after one that is not counted."""
    call()
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
