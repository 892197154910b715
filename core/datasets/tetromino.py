"""XAI-TRIS: tetrominoes in noise, so that the important pixels of every image are known.

Clark et al., "XAI-TRIS: non-linear image benchmarks to quantify false positive post-hoc attribution of
feature importance", 2023 (arXiv 2306.12816); used by PatternLocal, section 4.1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np
from scipy.ndimage import gaussian_filter1d

from core import store
from core.registry import DATASETS, Option
from core.types import SNR_DECIMALS, XAI_TRIS, Dataset, InputError, Split, number, one_of, quoted, whole_number

SCENARIOS = ("LIN", "MULT", "XOR", "RIGID")
BACKGROUNDS = ("WHITE", "CORR")
SHAPES = np.array([[[1, 0], [1, 1], [1, 0]], [[1, 0], [1, 0], [1, 1]]], np.float32)  # T, L
SMALLEST_SNR = 1e-4
FEWEST = 40  # samples: every split keeps at least two images
CHUNK = 1000  # images filtered and mixed at a time


@dataclass(frozen=True)
class Layout:
    """How an image of one size is built; places are top-left (row, column) of T and L."""

    block: int
    rigid_block: int
    places: tuple[tuple[int, int], tuple[int, int]]
    blur: float  # of the shape, pixels
    correlation: float  # sigma of the CORR background filter, pixels
    shares: tuple[float, float]  # of samples that go to train and val


LAYOUTS = {
    8: Layout(1, 1, ((1, 1), (4, 5)), 0.0, 3.0, (0.8, 0.1)),
    64: Layout(8, 4, ((8, 8), (32, 40)), 1.5, 10.0, (0.9, 0.05)),
}


@DATASETS.register(
    "xai-tris",
    label="XAI-TRIS",
    summary="A T and an L made of four squares in noise; which pixels matter is known exactly. In CORR "
    "the noise is smooth, so background pixels tell about the noise under a shape: suppressors.",
    formula="x = a P/|P| + (1 − a) B/|B|",
    misleads="The truth says where the shape lies, not what a network must use. In RIGID with CORR plain edge "
    "filters win, since its shapes have sharp edges.",
    reference="Clark et al. 2023, XAI-TRIS, arXiv 2306.12816",
    options=(
        Option(
            "scenario",
            "LIN: a T or an L at fixed places. MULT: the same, multiplied into the noise. XOR: both, "
            "the class is whether their signs differ. RIGID: a T or an L anywhere, turned any way.",
            choices=SCENARIOS,
            default=XAI_TRIS["scenario"],
            form="{}",
        ),
        Option(
            "background",
            "WHITE: every pixel's noise by itself. CORR: smooth noise, so that pixels beside a "
            "shape tell about the noise under it (suppressors).",
            choices=BACKGROUNDS,
            default=XAI_TRIS["background"],
            form="{}",
        ),
        Option(
            "snr",
            "The share of the shape in the mixture with the noise, between 0 and 1.",
            low=SMALLEST_SNR,
            high=1 - SMALLEST_SNR,
            default=XAI_TRIS["snr"],
            form="SNR {:g}",
            decimals=SNR_DECIMALS,
        ),
        Option("size", "Edge of the image in pixels.", choices=tuple(LAYOUTS), form="{0} × {0}"),
        Option(
            "samples", "Images in all splits together, a multiple of 4.", low=FEWEST, high=1_000_000, on_pages=False
        ),
        Option("seed", "Seed of noise, places and split.", low=0, high=2**31 - 1, on_pages=False),
    ),
)
def xai_tris(
    scenario: str,
    background: str,
    snr: float,
    *,
    size: int = XAI_TRIS["size"],
    samples: int = XAI_TRIS["samples"],
    seed: int = XAI_TRIS["data_seed"],
) -> Dataset:
    """One XAI-TRIS data set, made on first use and memory-mapped from disk afterwards.

    scenario: LIN, MULT, XOR or RIGID; background: WHITE or CORR; snr: the mixing weight a in (0, 1),
    ``x = a P/|P| + (1-a) B/|B|`` with Frobenius norms over the whole data set (MULT multiplies), then
    one scale so that max|x| = 1. Returns a Dataset of images (n,size,size). InputError names a bad value.
    """
    recipe = {
        "scenario": one_of("scenario", scenario, SCENARIOS),
        "background": one_of("background", background, BACKGROUNDS),
        "snr": round(number("snr", snr), SNR_DECIMALS),
        "size": int(one_of("size", size, tuple(LAYOUTS))),
        "samples": whole_number("samples", samples, FEWEST, 1_000_000),
        "seed": whole_number("seed", seed),
    }
    if not 0 < recipe["snr"] < 1:
        raise InputError(f"snr must lie strictly between 0 and 1, not {quoted(snr)}.")
    if recipe["samples"] % 4:
        raise InputError(f"samples must be a multiple of 4 (equal quarters of XOR), not {samples}.")

    size, samples = recipe["size"], recipe["samples"]
    path = (
        store.home()
        / "data"
        / store.key("xai-tris", recipe, store.sources("datasets"), [version(name) for name in ("numpy", "scipy")])
    )
    arrays = store.load_folder(path)
    if arrays is None:
        x, y, shown = generate(**recipe)
        store.save_folder(path, {"x": x, "y": y, "shown": shown})
        arrays = store.load_folder(path) or {"x": x, "y": y, "shown": shown}

    layout = LAYOUTS[size]
    ends = np.round(np.cumsum(layout.shares) * samples).astype(int)
    parts = [slice(0, ends[0]), slice(ends[0], ends[1]), slice(ends[1], samples)]
    train, val, test = (Split(arrays["x"][p], arrays["y"][p], arrays["shown"][p]) for p in parts)
    union = np.asarray(arrays["shown"]).any(0) if scenario == "RIGID" else mask_of(fixed_shapes(size), size).any(0)

    def fresh(seed: int) -> Split:
        return Split(*generate(**{**recipe, "samples": max(4000, ends[0] // 4 * 4)}, draw=seed + 1))

    return Dataset(
        {"dataset": "xai-tris", **recipe}, train, val, test, union, "shown" if scenario == "RIGID" else "union", fresh
    )


def smoothed(images: np.ndarray, sigma: float) -> np.ndarray:
    """Gaussian filter of white noise (n,h,w) float32, in its own precision, many images at once."""
    smooth = gaussian_matrix(images.shape[-1], sigma).astype(images.dtype)
    return smooth @ images @ smooth.T


def generate(
    scenario: str,
    background: str,
    snr: float,
    size: int,
    samples: int,
    seed: int,
    draw: int = 0,
    *,
    smooth: Callable[[np.ndarray, float], np.ndarray] = smoothed,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Images (n,h,w) float32, labels (n,) int64 and shown masks (n,h,w) bool, in split order.

    ``draw`` > 0 gives other images of the same recipe; ``smooth`` filters the noise of CORR backgrounds.
    """
    layout = LAYOUTS[size]
    rng = np.random.default_rng([seed, draw])
    kind = rng.permutation(samples) % 4
    y = (kind % 2).astype(np.int64)
    patterns, which = _patterns(scenario, layout, size, kind, rng)

    x = rng.standard_normal((samples, size, size), dtype=np.float32)
    chunks = [slice(i, i + CHUNK) for i in range(0, samples, CHUNK)]
    if background == "CORR":
        for c in chunks:
            x[c] = smooth(x[c], layout.correlation)
    noise = np.sqrt(sum(np.square(x[c], dtype=np.float64).sum() for c in chunks))
    shape = 1 - np.float32(snr) * patterns if scenario == "MULT" else patterns
    square = np.square(shape, dtype=np.float64).sum((1, 2))
    signal = np.sqrt((np.bincount(which, minlength=len(shape)) * square).sum())

    for c in chunks:
        if scenario == "MULT":
            x[c] *= (shape / np.float32(signal))[which[c]] / np.float32(noise)
        else:
            x[c] = np.float32(snr / signal) * shape[which[c]] + np.float32((1 - snr) / noise) * x[c]
    x /= max(np.abs(x[c]).max() for c in chunks)
    return x, y, mask_of(patterns, size)[which]


def noise_correlation(background: str, mask: np.ndarray) -> np.ndarray:
    """For each pixel (h,w) the largest |correlation| of its noise with the noise under any pixel of mask (h,w).

    White noise Z filtered as ``G Z G'`` has the covariance ``(GG')_ik (GG')_jl`` between pixels (i,j) and (k,l).
    """
    size = len(mask)
    filtered = gaussian_matrix(size, LAYOUTS[size].correlation) if background == "CORR" else np.eye(size)
    covariance = filtered @ filtered.T
    deviation = np.sqrt(np.diag(covariance))
    line = np.abs(covariance) / np.outer(deviation, deviation)
    rows, columns = np.nonzero(mask)
    return (line[:, None, rows] * line[None, :, columns]).max(2)


def _patterns(
    scenario: str, layout: Layout, size: int, kind: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The distinct blurred shape images (p,h,w), and which one each sample shows (n,)."""
    t_and_l = fixed_shapes(size)
    if scenario in ("LIN", "MULT"):
        return t_and_l, kind % 2
    if scenario == "XOR":  # signs of T and L by kind; equal signs are class 0
        return np.einsum("ks,shw->khw", np.float32([[1, 1], [1, -1], [-1, -1], [-1, 1]]), t_and_l), kind
    turned = [_ink(np.rot90(shape, turns), layout.rigid_block) for shape in SHAPES for turns in range(4)]
    group = kind % 2 * 4 + rng.integers(0, 4, len(kind))
    room = np.array([np.subtract((size, size), ink.shape) + 1 for ink in turned])[group]
    places = np.column_stack([group, rng.integers(0, room)])
    places, which = np.unique(places, axis=0, return_inverse=True)
    images = np.zeros((len(places), size, size), np.float32)
    for image, (g, row, column) in zip(images, places):
        _put(image, turned[g], row, column)
    return blur(images, layout.blur), which


def _ink(shape: np.ndarray, block: int) -> np.ndarray:
    """The shape with every cell enlarged to block x block pixels."""
    return np.kron(shape, np.ones((block, block), np.float32))


def _put(image: np.ndarray, ink: np.ndarray, row: int, column: int) -> None:
    image[row : row + ink.shape[0], column : column + ink.shape[1]] = ink


def fixed_shapes(size: int) -> np.ndarray:
    """The blurred T and L at their fixed places, ``(2,h,w)``."""
    layout = LAYOUTS[size]
    images = np.zeros((2, size, size), np.float32)
    for image, shape, (row, column) in zip(images, SHAPES, layout.places):
        _put(image, _ink(shape, layout.block), row, column)
    return blur(images, layout.blur)


def mask_of(patterns: np.ndarray, size: int) -> np.ndarray:
    """Where a shape is visible: at least .05 in absolute value (8x8: not zero)."""
    return np.abs(patterns) >= 0.05 if LAYOUTS[size].blur else patterns != 0


def blur(images: np.ndarray, sigma: float) -> np.ndarray:
    """Gaussian filter of a stack (n,h,w), in double precision; sigma 0 leaves it as it is."""
    if sigma:
        smooth = gaussian_matrix(images.shape[-1], sigma)
        for i in range(0, len(images), CHUNK):
            images[i : i + CHUNK] = smooth @ images[i : i + CHUNK] @ smooth.T
    return images


def gaussian_matrix(size: int, sigma: float) -> np.ndarray:
    """G such that ``G X G'`` is scipy's Gaussian filter of an image X with reflecting edges."""
    return gaussian_filter1d(np.eye(size), sigma, axis=0, mode="reflect")
