"""OpenAPI: the exact weights of a piecewise linear model's region, from its probabilities alone.

In the linear region around x the log ratio of two class probabilities is an affine function of the input
(OpenAPI, equation 2), so its weights follow from a few samples, and other samples test whether all of them
lay in the region. ``hypercube`` is the paper's Algorithm 1; ``orthogonal`` (the default) finds a radius with
a few random lines first and then moves one pixel at a time, so that no system of equations has to be solved.

Whatever the sampling, an answer is called exact only after random lines have shown that the model is piecewise
linear and not merely smooth, and after independent random points have bounded the answer's error.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import chi2

from core.methods.black_box import BATCH, BlackBox, Predict
from core.methods.context import Context
from core.methods.linearity import BORDER, ROUNDED, Around, NoAnswer, Round, directions, look_around, misfit
from core.registry import METHODS, Option
from core.types import InputError, NotApplicable, one_of

HALVINGS = 100  # of the radius, at most (the paper's number)
SMALLEST = 1e-11  # radius at which the paper's sampling gives up
PASSES = 4  # over all pixels, at most
INSIDE = 16, 64  # times smaller than the lines' radius are the first steps: single pixels leave a region sooner
FEWEST, MOST = 12, 64  # independent random points that bound the error: one for every 64 pixels
CHANCE = 1e-7  # that the points miss a wrong answer
EXACT = 1e-6  # relative error above which no answer is called exact


@dataclass(frozen=True)
class DecisionFeatures:
    """``weights (d,)`` = D_c and ``pairs (C-1,d)`` = D_{c,c'} of equation 1; NaN when not ``exact``.

    ``others (C-1,)`` are the classes c'. ``error`` is a bound on the L1 distance of ``weights`` to the region's own
    as a share of their size, as the test points support it: rounding divided by the radius. ``radius`` is the
    largest accepted; ``points (k,d)`` what was asked about at that radius beside the ``steps (d,)`` along single
    pixels, if there were such; ``reason`` says why there is no answer; ``trace`` what was tried.
    """

    weights: np.ndarray
    pairs: np.ndarray
    others: np.ndarray
    error: float
    radius: float
    rounds: int
    queries: int
    exact: bool
    reason: str
    x: np.ndarray = field(repr=False)
    points: np.ndarray = field(repr=False)
    steps: np.ndarray | None = field(repr=False)
    trace: tuple[Round, ...] = field(repr=False)

    @property
    def samples(self) -> np.ndarray:
        """All inputs ``(k,d)`` from which the answer was solved and tested; none when there is no answer."""
        return self.points if self.steps is None else np.concatenate([self.points, self.x + np.diag(self.steps)])


@dataclass(frozen=True)
class _Solution:
    """``pairs (C-1,d)`` at a ``radius``, the offsets from x that gave them, and the bound on their error."""

    pairs: np.ndarray
    radius: float
    points: np.ndarray
    steps: np.ndarray | None
    error: float


def decision_features(
    predict_proba: Predict,
    x: np.ndarray,
    target: int,
    *,
    sampling: str = "orthogonal",
    radius: float = 1.0,
    seed: int | Sequence[int] = 0,
    progress: Callable[[int, int, str], None] | None = None,
) -> DecisionFeatures:
    """The decision features D_c ``(d,)`` of class ``target`` in the linear region of ``x (d,)``.

    ``predict_proba`` takes ``(n,d)`` float64 and gives ``(n,C)`` probabilities; nothing else is used of the
    model. The answer is right to one part in a million (``EXACT``), by a test, not a proof, or ``exact`` is False
    and ``reason`` says why: rounded probabilities, underflow, a model that is not piecewise linear, a point on a
    border. InputError: an answer that is no probability, or changes; a target that does not exist.
    Source: OpenAPI, equations 1 and 2 and Algorithm 1.
    """
    x = np.asarray(x, np.float64)
    if x.ndim != 1 or not np.isfinite(x).all():
        raise InputError(f"x must be one input (d,) of finite values, not of shape {x.shape}.")
    one_of("sampling", sampling, tuple(SAMPLINGS))
    if not 0 < radius < np.inf:
        raise InputError(f"radius must be a finite number above 0, not {radius}.")
    tell = progress or (lambda done, total, text: None)
    box, rng, trace, reason = BlackBox(predict_proba, x, target), np.random.default_rng(seed), [], ""
    try:
        if box.underflows:
            raise NoAnswer("underflow: a probability at x is exactly 0, so its logarithm is undefined")
        around = look_around(box, radius, rng, trace, tell)
        solution = SAMPLINGS[sampling](box, around, radius, rng, trace, tell)
    except NoAnswer as failure:
        nothing = np.full((len(box.others), len(x)), np.nan)
        solution, reason = _Solution(nothing, np.nan, np.empty((0, len(x))), None, np.nan), str(failure)
    return DecisionFeatures(
        solution.pairs.mean(axis=0),
        solution.pairs,
        box.others,
        solution.error,
        solution.radius,
        len(trace),
        box.queries,
        not reason,
        reason,
        x,
        x + solution.points,
        solution.steps,
        tuple(trace),
    )


def _orthogonal(
    box: BlackBox, around: Around, start: float, rng: np.random.Generator, trace: list[Round], tell: Callable
) -> _Solution:
    """One pixel at a time, well inside the radius at which lines are straight."""
    d, outside = len(box.x), 2 * around.radius
    radius = np.clip(_enough(box, around, d), around.radius / INSIDE[1], around.radius / INSIDE[0])
    for _ in range(PASSES):
        steps = rng.uniform(0.5, 1.0, d) * rng.choice([-1.0, 1.0], d) * radius
        tests = box.x + directions(rng, _tests(d), d) * radius
        pairs, ratios = _along_pixels(box, steps, tests, tell)
        offsets = tests - box.x
        agrees, error = _tested(box, around, pairs, offsets, ratios, radius, 1.0, trace)
        if agrees and error <= EXACT:
            return _Solution(pairs, radius, offsets, steps, error)
        # Too far out, and a border lies between; too close, and rounding hides the weights.
        radius, outside = (4 * radius, outside) if agrees else (radius / 2, radius)
        if radius >= outside:
            break
    raise NoAnswer(_why(box, around, start, error))


def _enough(box: BlackBox, around: Around, d: int) -> float:
    """A radius at which rounding, ten times what it is at x, still bounds the error ten times below EXACT."""
    if not around.slope:
        return np.inf
    return 100 * box.noise.mean() / (_seen(_tests(d)) * around.slope * EXACT)


def _along_pixels(
    box: BlackBox, steps: np.ndarray, tests: np.ndarray, tell: Callable
) -> tuple[np.ndarray, np.ndarray]:
    """The weights ``(C-1,d)`` from one step along each pixel, and the log ratios ``(k,C-1)`` at the tests (k,d)."""
    pairs = np.empty((len(box.others), len(steps)))
    for first in range(0, len(steps), BATCH):
        part = np.arange(first, min(first + BATCH, len(steps)))
        inputs = np.tile(box.x, (len(part), 1))
        inputs[np.arange(len(part)), part] += steps[part]
        # The step that was taken, not the one that was meant: x + step is rounded.
        taken = inputs[np.arange(len(part)), part] - box.x[part]
        last = first + BATCH >= len(steps)
        ratios = box(np.concatenate([inputs, tests]) if last else inputs)
        pairs[:, part] = ratios[: len(part)].T / taken
        tell(part[-1] + 1, len(steps), "pixels")
    return pairs, ratios[len(part) :]


def _hypercube(
    box: BlackBox, around: Around, radius: float, rng: np.random.Generator, trace: list[Round], tell: Callable
) -> _Solution:
    """The paper's Algorithm 1: d + 1 points in a cube, d of them solved for, one a test; halve, try again.

    The equation at x itself holds by centring on it. The first system that passes is tested by more points.
    """
    d, start = len(box.x), radius
    # A random system amplifies rounding by about its dimension (Edelman 1988).
    amplified = max(1.0, d / 16)
    for turn in range(HALVINGS):
        unit = rng.uniform(-1.0, 1.0, (d + 1, d))
        ratios = box(box.x + unit * radius)
        finite = np.isfinite(ratios).all()
        scaled = np.linalg.solve(unit[:d], ratios[:d]) if finite else np.empty((d, 0))
        gap = misfit(ratios[d], unit[d] @ scaled) if finite else np.array(np.inf)
        agrees = bool((gap <= amplified * box.tolerance).all())
        trace.append(Round(radius, float(gap.max()), agrees, unit[:FEWEST] * radius))
        tell(turn + 1, HALVINGS, f"radius {radius:.2g}")
        if agrees:
            pairs, tests = scaled.T / radius, box.x + rng.uniform(-radius, radius, (_tests(d), d))
            offsets = tests - box.x
            agrees, error = _tested(box, around, pairs, offsets, box(tests), radius, amplified, trace)
            if agrees and error <= EXACT:
                return _Solution(pairs, radius, np.concatenate([unit * radius, offsets]), None, error)
            if agrees:
                break
        radius, error = radius / 2, np.nan
        if radius < SMALLEST:
            break
    raise NoAnswer(_why(box, around, start, error))


SAMPLINGS = {"orthogonal": _orthogonal, "hypercube": _hypercube}


def _tested(
    box: BlackBox,
    around: Around,
    pairs: np.ndarray,
    offsets: np.ndarray,
    ratios: np.ndarray,
    radius: float,
    amplified: float,
    trace: list[Round],
) -> tuple[bool, float]:
    """Whether log ratios (k,C-1) at new offsets (k,d) are what the pairs say but for rounding; the error this bounds.

    Errors e of the weights miss random offsets of length r by ``r |e|_2 / sqrt(d)`` in the root mean square, and
    ``|e|_1 <= sqrt(d) |e|_2``. That k points see so little of it by chance has the probability of a chi-squared
    distribution's lower tail: the residual, over its quantile of CHANCE, bounds the relative L1 error.
    """
    predicted = offsets @ pairs.T if np.isfinite(pairs).all() else np.full((1, 1), np.inf)
    gap = misfit(ratios, predicted)
    agrees = bool((gap <= amplified * box.tolerance).all())
    trace.append(Round(radius, float(gap.max()), agrees, offsets))
    if not agrees:
        return False, np.nan
    if not pairs.any():
        return True, 0.0 if not around.slope and not gap.any() else np.inf
    size, length = np.abs(pairs.mean(0)).sum(), np.sqrt(np.square(offsets).sum(1).mean())
    missed = max(np.sqrt(np.square((ratios - predicted).mean(1)).mean()), box.noise.mean())
    return True, float(missed / _seen(len(offsets)) * len(box.x) / (length * size)) if size else np.inf


def _tests(d: int) -> int:
    """How many random points test an answer of d weights."""
    return max(FEWEST, min(d // 64, MOST))


@functools.cache
def _seen(count: int) -> float:
    """The share of an error's size that ``count`` points show at least, but with probability CHANCE."""
    return float(np.sqrt(chi2.ppf(CHANCE, count) / count))


def _why(box: BlackBox, around: Around, start: float, error: float) -> str:
    """What keeps the weights from being exact: the answers' digits, or a border that would need more of them."""
    return ROUNDED if box.coarse or around.radius * error / EXACT > start else BORDER


SAMPLING = Option(
    "sampling",
    "orthogonal: one step along every pixel. hypercube: the paper's, a system of as many "
    "equations as pixels at every try.",
    choices=tuple(SAMPLINGS),
)


@METHODS.register(
    "openapi",
    label="OpenAPI",
    group="black box",
    seeded=True,
    options=(SAMPLING,),
    summary="The exact weights of the linear region around the image, from the model's probabilities alone, with "
    "little more than one query a pixel. Independent random points test the answer and bound its error: a "
    "test, not a proof.",
    misleads="Exact can still mislead: a suppressor has a weight in the model, so it is highlighted.",
    formula="D_c = Σ (W_c − W_c′)/(C − 1), from ln(y_c/y_c′)",
    reference="Cong et al. 2020, ICDE; OpenAPI, Algorithm 1",
)
def openapi(context: Context, *, sampling: str = "orthogonal") -> np.ndarray:
    return exact_weights(context, sampling).reshape(context.shape)


def answer(
    context: Context, sampling: str = "orthogonal", progress: Callable[[int, int, str], None] | None = None
) -> tuple[DecisionFeatures, float]:
    """OpenAPI's decision features of the context's image, computed once whoever asks, and the seconds that took."""

    def compute() -> tuple[DecisionFeatures, float]:
        start = time.perf_counter()
        decision = decision_features(
            context.predict_proba,
            context.image.ravel(),
            context.target,
            sampling=sampling,
            seed=context.seeds,
            progress=progress,
        )
        return decision, time.perf_counter() - start

    return context.shared.once(("openapi", sampling, context.seeds), compute)


def exact_weights(context: Context, sampling: str = "orthogonal") -> np.ndarray:
    """D_c ``(d,)`` of the context's target; NotApplicable with the reason when there is no exact answer."""
    decision, _ = answer(context, sampling)
    if not decision.exact:
        raise NotApplicable(f"No exact answer: {decision.reason}.")
    context.facts |= {
        "radius": decision.radius,
        "rounds": decision.rounds,
        "queries": decision.queries,
        "error_bound": decision.error,
    }
    return decision.weights.copy()
