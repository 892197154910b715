"""Linear surrogates: weights fitted to the model's output on samples around an image (PatternLocal, eq. 5).

Samples live in a simplified space z; with identity h a feature is a pixel. Ridge and its limit, least
squares of smallest norm, are solved in whichever of the two spaces is smaller, N samples or D features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core.methods.context import Context
from core.registry import METHODS, Option
from core.types import NotApplicable

TINY = 1e-3  # of the data's range: a feature closer than this to its reference has no weight per unit

SAMPLES = Option("samples", "Images the model is asked about.", low=10, high=5000, log=True)
RIDGE = Option("ridge", "Penalty on the weights, relative to the mean eigenvalue of the samples' covariance.",
               low=1e-6, high=100.0, log=True)
REFERENCE = Option("reference", "What a removed pixel becomes.", choices=("zero", "mean"))
SPREAD = Option("spread", "Size of data samples: 1 moves as far from the image as training images lie "
                "from their mean.", low=0.05, high=2.0)


@dataclass(frozen=True)
class Surrogate:
    """``f ~ intercept + weights'z``; ``weights (D,)`` float64; ``fit`` is the weighted R2 on the samples."""

    weights: np.ndarray
    intercept: float
    fit: float


@METHODS.register(
    "lime", label="LIME", group="surrogate", seeded=True,
    options=(
        Option("sampling", "mask: pixels switched to the reference at random. data: random mixtures of "
               "training images added, so that samples look like the data.", choices=("mask", "data")),
        SAMPLES, RIDGE,
        Option("kernel_width", "Width of the kernel on the number of removed pixels, as a share of all.",
               low=0.05, high=2.0, when=("sampling", ("mask",))),
        Option("reference", REFERENCE.help, choices=REFERENCE.choices, when=("sampling", ("mask",))),
        Option("spread", SPREAD.help, low=SPREAD.low, high=SPREAD.high, when=("sampling", ("data",)))),
    summary="A linear model fitted to the network's answers on changed copies of the image.",
    misleads="It is a weight too, so it marks suppressors; with fewer samples than pixels most of it is noise.",
    reference="Ribeiro et al. 2016, arXiv 1602.04938; PatternLocal, equation 5")
def lime(context: Context, *, sampling: str = "mask", samples: int = 1000, ridge: float = 1e-2,
         kernel_width: float = 0.5, reference: str = "zero", spread: float = 0.5) -> np.ndarray:
    if sampling == "data":
        found = data_lime(context, samples, ridge, spread)
    else:
        found = mask_lime(context, samples, ridge, kernel_width, reference)
    return report(context, found, samples).weights.reshape(context.shape)


@METHODS.register(
    "kernelshap", label="KernelSHAP", group="surrogate", seeded=True, options=(SAMPLES, REFERENCE),
    summary="Shapley values estimated by a weighted linear fit on random coalitions of pixels.",
    misleads="A pixel that cancels noise gets its share of the output as fairly as one with the signal.",
    reference="Lundberg and Lee 2017, arXiv 1705.07874, theorem 2")
def kernelshap(context: Context, *, samples: int = 1000, reference: str = "zero") -> np.ndarray:
    found = shapley_fit(context, samples, context.baseline(reference).ravel())
    return report(context, found, samples).weights.reshape(context.shape)


def report(context: Context, found: Surrogate, samples: int) -> Surrogate:
    """Writes the fit into the context's facts, with a note where a reader must know."""
    features = found.weights.size
    context.facts |= {"fit": found.fit, "samples": samples, "features": features}
    if samples < features:
        context.notes.append(f"{samples:,} samples, {features:,} pixels: underdetermined")
    if not found.weights.any():
        context.notes.append("The surrogate is empty: the model's output did not change on any sample.")
    return found


def mask_lime(context: Context, samples: int, ridge: float, kernel_width: float, reference: str) -> Surrogate:
    """LIME's own sampling: z in {0,1}^D, removed pixels become the reference; weight per presence.

    Kernel ``exp(-(number of zeros)^2 / sigma^2)`` with sigma = kernel_width * D.
    """
    x, base = context.image.ravel(), context.baseline(reference).ravel()
    z = (context.rng.random((samples, x.size), dtype=np.float32) < 0.5).astype(np.float32)
    f = context.outputs(base + z * (x - base))
    zeros = x.size - z.sum(1, dtype=np.float64)
    log_weight = -np.square(zeros / (kernel_width * x.size))
    return weighted_ridge(z, f, np.exp(log_weight - log_weight.max()), ridge)


def data_lime(context: Context, samples: int, ridge: float, spread: float) -> Surrogate:
    """Samples with the data's own covariance around the image; weight per unit of input.

    ``z = x + spread * g (X - mean)/sqrt(N)``, g standard normal: what the model saw in training varies
    in just these directions. All samples count alike; their spread is the locality.
    """
    moves = spread * data_moves(context, samples)
    f = context.outputs(context.image.ravel() + moves)
    return weighted_ridge(moves, f, np.ones(samples), ridge)


def data_moves(context: Context, samples: int) -> np.ndarray:
    """``(samples, d)`` random vectors with the covariance of the training images, float32."""
    x = context.training.x
    g = context.rng.standard_normal((samples, len(x)), dtype=np.float32) / np.float32(np.sqrt(len(x)))
    return g @ x - np.outer(g.sum(1), context.training.mean).astype(np.float32)


def per_unit(context: Context, weights: np.ndarray, reference: str) -> np.ndarray:
    """Weights per presence, turned into weights per unit of input: ``w_j / (x_j - r_j)``.

    A pixel that equals its reference within TINY of the data's range says nothing and gets 0; they are
    counted in the facts, and NotApplicable when they hold more than half of the weight.
    """
    step = context.image.ravel().astype(np.float64) - context.baseline(reference).ravel()
    still = np.abs(step) < TINY * context.training.spread
    lost = np.abs(weights[still]).sum() / max(np.abs(weights).sum(), np.finfo(float).tiny)
    context.facts |= {"pixels_at_reference": int(still.sum()), "weight_at_reference": float(lost)}
    if lost > 0.5:
        raise NotApplicable(f"{still.sum()} of {still.size} pixels equal their reference, and they hold "
                            f"{lost:.0%} of the weight: no weight per unit can be given.")
    return np.where(still, 0.0, weights / np.where(still, 1.0, step))


def weighted_ridge(z: np.ndarray, f: np.ndarray, p: np.ndarray, ridge: float) -> Surrogate:
    """Minimises ``sum p_i (f_i - b - w'z_i)^2 + lam |w|^2`` with the intercept b unpenalised.

    z (N,D), f (N,), p (N,) non-negative weights; ``lam = ridge * trace(C) / min(N, D)`` with C the
    weighted covariance of z, so that ``ridge`` has no unit.
    """
    p = p / p.sum()
    zbar, fbar = _mean(p, z), float(p @ f)
    root = np.sqrt(p)
    rows = (z - zbar.astype(z.dtype)) * root[:, None].astype(z.dtype)
    target = root * (f - fbar)
    weights = _ridge(rows, target, lambda trace, rank: ridge * trace / rank)
    return Surrogate(weights, fbar - float(weights @ zbar), _fit(rows, target, weights))


def shapley_fit(context: Context, samples: int, base: np.ndarray) -> Surrogate:
    """KernelSHAP: coalitions drawn by the Shapley kernel, each with its complement; both constraints exact.

    Sizes k are drawn with probability in proportion to (D-1)/(k(D-k)), so that all samples weigh alike.
    The empty coalition fixes the intercept f(r), the full one the sum f(x) - f(r), by elimination.
    """
    x, features = context.image.ravel(), base.size
    sizes = np.arange(1, features)
    chance = 1.0 / (sizes * (features - sizes))
    k = context.rng.choice(sizes, (samples + 1) // 2, p=chance / chance.sum())
    order = context.rng.random((len(k), features), dtype=np.float32)
    half = order <= np.take_along_axis(np.sort(order, 1), k[:, None] - 1, 1)
    z = np.concatenate([half, ~half])[:samples].astype(np.float32)
    f_empty, f_full = context.outputs(np.stack([base, x]))
    total = f_full - f_empty
    f = context.outputs(base + z * (x - base))

    share = z.sum(1, dtype=np.float64) / features
    rows = z - share[:, None].astype(np.float32)  # orthogonal to the vector of ones: the sum stays exact
    target = f - f_empty - share * total
    weights = _ridge(rows, target, lambda trace, rank: 1e-9 * trace / rank) + total / features
    return Surrogate(weights, float(f_empty), _fit(z - z.mean(0), f - f.mean(), weights))


def _ridge(rows: np.ndarray, target: np.ndarray, penalty: Callable[[float, int], float]) -> np.ndarray:
    """``argmin |rows w - target|^2 + lam |w|^2`` in float64; products in the rows' own precision."""
    n, d = rows.shape
    gram = (rows @ rows.T if n < d else rows.T @ rows).astype(np.float64)
    lam = penalty(float(np.trace(gram)), min(n, d))
    if lam == 0.0:
        return np.zeros(d)  # no sample differs from any other
    gram[np.diag_indices_from(gram)] += lam
    if n < d:
        return rows.T.astype(np.float64) @ np.linalg.solve(gram, target)
    return np.linalg.solve(gram, rows.T.astype(np.float64) @ target)


def _fit(rows: np.ndarray, target: np.ndarray, weights: np.ndarray) -> float:
    total = float(target @ target)
    rest = target - rows @ weights
    return 1.0 - float(rest @ rest) / total if total > 0 else float("nan")


def _mean(p: np.ndarray, z: np.ndarray) -> np.ndarray:
    return np.einsum("i,ij->j", p, z, dtype=np.float64)
