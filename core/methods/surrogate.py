"""Linear surrogates: weights fitted to the model's output on samples around an image (PatternLocal, eq. 5).

Samples live in the features of a simplification h; with pixels a feature is a pixel. Ridge is solved in
whichever space is smaller, N samples or D features; lasso by scikit-learn.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from core.methods.context import Context
from core.methods.linear_fit import Surrogate, centred, r_squared, ridge_weights, weighted_lasso, weighted_ridge
from core.methods.simplification import SIMPLIFICATION_OPTIONS, Simplification, simplification
from core.registry import METHODS, Option
from core.types import NotApplicable

SMALLEST_CHANGE = 1e-3  # of the data's range: closer to its baseline, a feature's weight per unit is unreliable
SHAPLEY_RIDGE = 1e-9  # only selects the shortest of all Shapley fits
ENUMERATED_FEATURES = 12  # up to which KernelSHAP evaluates every coalition

Query = Callable[[np.ndarray], np.ndarray]  # the explained output (n,) of images (n,d)
OF_THE_FIT = ("proximity", "kernel_width", "penalty", "ridge", "lasso")  # options that change no sample

_LIME = ("surrogate", ("lime",))
_SAMPLED = ("surrogate", ("lime", "kernelshap"))
SAMPLES = Option(
    "n_samples",
    "Number of perturbed images.",
    low=10,
    high=5000,
    log=True,
    default=1000,
    aliases=("samples",),
    when=(_SAMPLED,),
)
BASELINE = Option(
    "baseline",
    "The value of a removed feature.",
    choices=("zero", "mean"),
    default="zero",
    aliases=("reference",),
    when=(_SAMPLED, ("sampling", ("mask",))),
)
SURROGATE_OPTIONS = (
    Option(
        "sampling",
        "mask: features are replaced by the baseline's at random. gaussian: independent noise on "
        "every feature. data: random mixtures of training images, so that samples vary as the data do.",
        choices=("mask", "gaussian", "data"),
        default="mask",
        when=(_LIME,),
    ),
    SAMPLES,
    Option(
        "spread",
        "Perturbation size: 1 is the typical distance of a training image from the mean.",
        low=0.05,
        high=2.0,
        default=0.5,
        when=(_LIME, ("sampling", ("gaussian", "data"))),
    ),
    Option(
        "proximity",
        "How a sample's weight falls with its distance: exponentially, or not at all (uniform).",
        choices=("exponential", "uniform"),
        default="exponential",
        when=(_LIME,),
    ),
    Option(
        "kernel_width",
        "Width of the exponential kernel. mask: as a share of the number of features. gaussian, "
        "data: in units of the samples' mean distance.",
        low=0.05,
        high=5.0,
        default=0.5,
        when=(_LIME, ("proximity", ("exponential",))),
    ),
    Option(
        "penalty",
        "ridge keeps all weights small; lasso sets most of them to zero.",
        choices=("ridge", "lasso"),
        default="ridge",
        when=(_LIME,),
    ),
    Option(
        "ridge",
        "Penalty relative to the mean eigenvalue of the samples' covariance.",
        low=1e-6,
        high=100.0,
        log=True,
        default=1e-2,
        when=(_SAMPLED, ("penalty", ("ridge",))),
    ),
    Option(
        "lasso",
        "Penalty as a share of the smallest one that sets all weights to zero.",
        low=0.001,
        high=1.0,
        log=True,
        default=0.1,
        when=(_LIME, ("penalty", ("lasso",))),
    ),
    BASELINE,
)


@METHODS.register(
    "lime",
    label="LIME",
    group="surrogate",
    seeded=True,
    options=(*SIMPLIFICATION_OPTIONS, *SURROGATE_OPTIONS),
    summary="A linear model fitted to the network's outputs on perturbed copies of the image. Its weights are the "
    "explanation.",
    misleads="Its values are weights too, so it highlights suppressors; with fewer samples than features it is "
    "mostly noise.",
    formula="min Σ pᵢ (f(zᵢ) − b − wᵀzᵢ)² + λ|w|²",
    reference="Ribeiro et al. 2016, arXiv 1602.04938; PatternLocal, equation 5",
)
def lime(context: Context, **settings) -> np.ndarray:
    """The weights of a LIME surrogate as a map ``(h,w)``; see ``fit_lime``."""
    h, surrogate = fitted(context, "lime", settings)
    return h.to_map(report(context, surrogate, settings["n_samples"])).reshape(context.shape)


@METHODS.register(
    "kernelshap",
    label="KernelSHAP",
    group="surrogate",
    seeded=True,
    options=(*SIMPLIFICATION_OPTIONS, replace(SAMPLES, when=()), replace(BASELINE, when=())),
    summary="Shapley values estimated by a weighted linear fit on random coalitions of features. Each feature gets "
    "its contribution to the output, averaged over all orders in which features can be added.",
    misleads="A pixel that cancels noise gets its fair share of the output, just like one that carries the signal.",
    formula="φ of min Σ k(z)(f(z) − f(r) − φᵀz)², Σφ = f(x) − f(r)",
    reference="Lundberg and Lee 2017, arXiv 1705.07874, theorem 2",
)
def kernelshap(context: Context, **settings) -> np.ndarray:
    """Shapley values as a map ``(h,w)``; see ``fit_kernelshap``."""
    h, surrogate = fitted(context, "kernelshap", settings)
    return h.to_map(report(context, surrogate, settings["n_samples"])).reshape(context.shape)


def fitted(
    context: Context, kind: str, settings: Mapping[str, Any], per: str = "presence"
) -> tuple[Simplification, Surrogate]:
    """The simplification, and the surrogate of a ``kind`` (lime or kernelshap), fitted once for each image.

    ``settings`` hold the kind's own options, among others. Where features are replaced by a baseline, the weights
    are ``per`` presence of a feature, or per unit of h.
    """
    h = simplified(context, settings)
    used = {option.name: settings[option.name] for option in METHODS[kind].options}
    used |= {"ridge": settings["ridge"]} if per == "unit" else {}
    own = {n: v for n, v in used.items() if n not in {option.name for option in SIMPLIFICATION_OPTIONS}}
    of_the_samples = tuple((name, value) for name, value in used.items() if name not in OF_THE_FIT)

    def query(images: np.ndarray) -> np.ndarray:
        return context.shared.once(("answers", kind, context.seeds, of_the_samples), lambda: context.outputs(images))

    step = removal_steps(context, h, settings["baseline"]) if per == "unit" else np.ones(h.size)
    fit = {"lime": fit_lime, "kernelshap": fit_kernelshap}[kind]
    return h, context.shared.once(
        (kind, per, context.seeds, *used.items()), lambda: fit(context, h, query, step, **own)
    )


def removal_steps(context: Context, h: Simplification, baseline: str) -> np.ndarray:
    """``h(x) - h(r)`` (D,): by how much removing each feature changes it.

    The fact ``features_at_reference`` counts those it hardly changes; the ridge gives them almost no weight.
    NotApplicable where it changes none.
    """
    on, off = h.project(np.stack([context.image.ravel(), context.baseline(baseline).ravel()])).astype(np.float64)
    still = np.abs(on - off) < SMALLEST_CHANGE * context.training.spread
    context.facts["features_at_reference"] = int(still.sum())
    if still.all():
        raise NotApplicable(
            f"All {still.size} features equal their baseline, so there is no weight per unit. "
            "Choose another baseline."
        )
    return on - off


def simplified(context: Context, settings: Mapping[str, Any]) -> Simplification:
    """The simplification that the settings describe."""
    return simplification(context, **{option.name: settings[option.name] for option in SIMPLIFICATION_OPTIONS})


def report(context: Context, surrogate: Surrogate, n_samples: int) -> np.ndarray:
    """The surrogate's weights ``(D,)``; its fit and its caveats go into the context's facts and notes."""
    features = surrogate.weights.size
    context.facts |= {"fit": surrogate.fit, "samples": n_samples, "features": features}
    context.notes += [surrogate.note] if surrogate.note else []
    if n_samples < features:
        context.notes.append(f"{n_samples:,} samples, {features:,} features: underdetermined")
    if not surrogate.weights.any():
        context.notes.append("The map is empty: the penalty is too high, or no sample changed the output")
    return surrogate.weights


def fit_lime(
    context: Context,
    h: Simplification,
    query: Query,
    step: np.ndarray,
    *,
    sampling: str,
    n_samples: int,
    spread: float,
    proximity: str,
    kernel_width: float,
    penalty: str,
    ridge: float,
    lasso: float,
    baseline: str,
) -> Surrogate:
    """A LIME surrogate on the features of h; ``query`` gives the explained outputs (n,) of images (n,d).

    ``mask``: z in {0,1}^D uniform, a removed feature takes the baseline's value; kernel
    ``exp(-(number of zeros)^2 / sigma^2)``, sigma = kernel_width * D; the weights are those of ``step * z``: per
    presence where ``step (D,)`` is 1, per unit of h where it is h(x) - h(r).
    ``gaussian``: z = h(x) + spread * std * noise; ``data``: z = h(x) + spread * g (H - mean)/sqrt(N) with g
    standard normal, so that perturbations have the covariance of the training data; kernel
    ``exp(-(distance / mean distance)^2 / (2 kernel_width)^2)``; weights are per unit of h.
    Source: Ribeiro et al. 2016; PatternLocal, equation 5.
    """
    if sampling == "mask":
        z = (context.rng.random((n_samples, h.size), dtype=np.float32) < 0.5).astype(np.float32)
        images = h.mask(z, context.baseline(baseline).ravel())
        log_weight = -np.square((h.size - z.sum(1, dtype=np.float64)) / (kernel_width * h.size))
        z, features_of_x = z * step.astype(np.float32), step
    else:
        perturbations = data_perturbations if sampling == "data" else gaussian_perturbations
        z = spread * perturbations(context, h, n_samples)
        centre = h.project(context.image.reshape(1, -1))[0].astype(np.float64)
        images = h.lift(centre.astype(np.float32) + z)
        square = np.einsum("ij,ij->i", z, z, dtype=np.float64)
        log_weight = -square / square.mean() / (2 * kernel_width) ** 2 if square.any() else -square
        features_of_x = np.zeros(h.size)
    p = np.exp(log_weight - log_weight.max()) if proximity == "exponential" else np.ones(n_samples)
    f = query(images)
    surrogate = weighted_ridge(z, f, p, ridge) if penalty == "ridge" else weighted_lasso(z, f, p, lasso)
    return replace(surrogate, output=surrogate.intercept + float(surrogate.weights @ features_of_x))


def data_perturbations(context: Context, h: Simplification, n_samples: int) -> np.ndarray:
    """``(n_samples, D)`` float32 random vectors with the covariance of the training images' features."""
    data = features(context, h)
    g = context.rng.standard_normal((n_samples, len(data)), dtype=np.float32) / np.float32(np.sqrt(len(data)))
    return g @ data - np.outer(g.sum(1), data.mean(0, dtype=np.float64)).astype(np.float32)


def gaussian_perturbations(context: Context, h: Simplification, n_samples: int) -> np.ndarray:
    """``(n_samples, D)`` float32 independent normal numbers with each feature's own standard deviation."""
    deviation = features(context, h).std(0, dtype=np.float64).astype(np.float32)
    return deviation * context.rng.standard_normal((n_samples, h.size), dtype=np.float32)


def features(context: Context, h: Simplification) -> np.ndarray:
    """h of all training images, ``(n, D)``."""
    return h.project(context.training.x)


def fit_kernelshap(
    context: Context,
    h: Simplification,
    query: Query,
    step: np.ndarray,
    *,
    n_samples: int,
    baseline: str,
    ridge: float = 0.0,
) -> Surrogate:
    """KernelSHAP on h: least squares under the Shapley kernel with both constraints exact.

    Up to ENUMERATED_FEATURES features every coalition is evaluated, which gives the Shapley values themselves.
    Beyond, sizes k are drawn with probability in proportion to (D-1)/(k(D-k)), each coalition with its
    complement, so that all samples weigh alike. The empty coalition fixes the intercept f(r), the full
    one the sum f(x) - f(r), by elimination. Weights w are those of ``step * z``: per presence where ``step (D,)``
    is 1, per unit of h where it is h(x) - h(r); ``step'w`` is the sum. ``ridge`` is LIME's;
    without it they are Shapley values.
    """
    base = context.baseline(baseline).ravel()
    f_empty, f_full = context.outputs(np.stack([base, context.image.ravel()]))
    even = (f_full - f_empty) * step / (step @ step)  # the shortest weights with that sum
    if h.size == 1:
        return Surrogate(even, float(f_empty), 1.0, float(f_full))
    z, p = coalitions(h.size, n_samples, context.rng)
    f = query(h.mask(z, base))

    z = z * step
    rows = z - np.outer(z @ step / (step @ step), step)  # orthogonal to step, so that the sum stays exact
    target = f - f_empty - z @ even
    if h.size > ENUMERATED_FEATURES:
        target = _odd(target)
    root = np.sqrt(p / p.sum())
    if h.size <= ENUMERATED_FEATURES and not ridge:
        weights = np.linalg.lstsq(root[:, None] * rows, root * target, rcond=None)[0]
    else:
        weights = ridge_weights(root[:, None] * rows, root * target, ridge or SHAPLEY_RIDGE)
    weights += even - (weights @ step) / (step @ step) * step
    rows, deviation, _, _ = centred(z, f, p)
    return Surrogate(weights, float(f_empty), r_squared(rows, deviation, weights), float(f_full))


def _odd(target: np.ndarray) -> np.ndarray:
    """Half the difference to the complement's target, for targets (n,) in the order of ``coalitions``.

    The rows of a coalition and its complement are opposite, so nothing else of their targets can be fitted; a ridge
    as weak as SHAPLEY would turn the rounding of the rest into weight.
    """
    first = np.arange(len(target) // 2)
    second, target = first + (len(target) + 1) // 2, target.copy()
    target[first] = (target[first] - target[second]) / 2
    target[second] = -target[first]
    return target


def coalitions(size: int, n_samples: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Coalitions z (N,size) float32 in {0,1}, none empty or full, and their weights p (N,)."""
    if size <= ENUMERATED_FEATURES:
        z = np.array(list(itertools.product((0, 1), repeat=size))[1:-1], np.float32)
        k = z.sum(1).astype(int)
        return z, np.array([(size - 1) / (math.comb(size, i) * i * (size - i)) for i in k])
    sizes = np.arange(1, size)
    chance = 1.0 / (sizes * (size - sizes))
    k = rng.choice(sizes, (n_samples + 1) // 2, p=chance / chance.sum())
    order = rng.random((len(k), size), dtype=np.float32).argsort(1)
    drawn = np.zeros(order.shape, bool)
    np.put_along_axis(drawn, order, np.arange(size) < k[:, None], axis=1)
    return np.concatenate([drawn, ~drawn])[:n_samples].astype(np.float32), np.ones(n_samples)
