"""What this program's own methods cost beside the programs a user would otherwise take: ratios in one run."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core import pipeline
from core.methods.context import Context
from core.methods.pattern import local_pattern, local_patterns
from core.methods.simplify import Pixels
from core.methods.surrogate import OPTIONS, fit_lime
from core.types import Spec

IMAGES = 32  # explained together in the batched row


@dataclass(frozen=True)
class Row:
    """One comparison: seconds per image of ours and theirs, and how far the results agree."""

    name: str
    ours: float
    theirs: float | None
    agreement: str

    @property
    def ratio(self) -> float | None:
        return None if self.theirs is None else self.theirs / self.ours


def run(tell: Callable[[str], None], published: str | None = None) -> Iterator[Row]:
    """All comparisons, one after the other, on XOR CORR 64x64 with the MLP.

    ``published``: a Python interpreter that has PyPI's patternlocal, which needs Python 3.12 or newer.
    """
    spec = pipeline.check(Spec())
    data = pipeline.dataset(spec)
    images = np.concatenate([part.x.reshape(len(part), -1) for part in (data.train, data.val, data.test)])
    contexts = [pipeline.context(spec.replace(image=i)) for i in range(IMAGES)]
    yield from _pattern(images, contexts, published, tell)
    yield _lime(contexts[0], tell)


def _pattern(images: np.ndarray, contexts: list[Context], published: str | None,
             tell: Callable[[str], None]) -> Iterator[Row]:
    """PatternLocal's second half, 10,000 training images, all of them neighbours."""
    weights = np.stack([c.gradients(c.image[None]).ravel() for c in contexts])
    centers = np.stack([c.image.ravel() for c in contexts]).astype(np.float64)
    name = f"PatternLocal's second half, {len(images):,} training images of {images.shape[1]:,} pixels"
    tell(name)
    together = _seconds(lambda: local_patterns(weights, images, centers), 3) / len(contexts)
    single = _seconds(lambda: local_pattern(weights[0], images, centers[0]), 5)
    theirs, agreement = None, "the published package was not asked (--published)"
    if published:
        tell("the published package on the same images")
        theirs, found = _published(published, images, weights[0], centers[0])
        agreement = f"1 - cosine {1 - _cosine(found, local_pattern(weights[0], images, centers[0])):.0e}"
    yield Row(f"{name}; {len(contexts)} images together", together, theirs, agreement)
    yield Row(f"{name}; one image", single, theirs, agreement)


def _published(python: str, images: np.ndarray, weights: np.ndarray, center: np.ndarray) -> tuple[float, np.ndarray]:
    """Seconds and result of the published package's local covariance, in the interpreter that has it."""
    script = Path(__file__).parents[1] / "tests" / "bench" / "published_patternlocal.py"
    with tempfile.TemporaryDirectory() as folder:
        np.savez(f"{folder}/given.npz", images=images, weights=weights, center=center)
        subprocess.run([python, script, folder], check=True)
        with np.load(f"{folder}/found.npz") as found:
            return float(found["seconds"]), found["values"]


def _lime(context: Context, tell: Callable[[str], None]) -> Row:
    """LIME with 500 mask samples on every pixel, ridge in both programs."""
    import torch
    from captum._utils.models.linear_model import SkLearnRidge
    from captum.attr import Lime

    tell("LIME")
    settings = {o.name: o.default for o in OPTIONS} | {"samples": 500, "proximity": "uniform", "ridge": 1e-2}
    ours = _seconds(lambda: fit_lime(context, Pixels(context.image.ravel()), **settings), 5)
    lime = Lime(context.explained, interpretable_model=SkLearnRidge(alpha=1.0))
    x = torch.from_numpy(context.image)[None]
    theirs = _seconds(lambda: lime.attribute(x, n_samples=500, perturbations_per_eval=50), 2)
    return Row("LIME, 500 mask samples, 4,096 pixels (captum at 50 perturbations a call)", ours, theirs,
               "both random, other draws")


def _seconds(call: Callable[[], object], times: int) -> float:
    """Median wall time of ``times`` calls after one that is not counted."""
    call()
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return float(np.median(taken))


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
