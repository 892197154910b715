"""OpenAPI: the exact weights of a piecewise linear model's region, from its probabilities alone.

In the linear region around x the log ratio of two class probabilities is an affine function of the input
(OpenAPI, equation 2), so its weights follow from a few samples, and other samples test whether all of them
lay in the region. ``hypercube`` is the paper's Algorithm 1; ``orthogonal`` (the default) finds a radius with
a few random lines first and then moves one pixel at a time, so that no system of equations has to be solved.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from core.methods.context import Context
from core.registry import METHODS, Option
from core.types import InputError, NotApplicable, one_of, whole_number

Predict = Callable[[np.ndarray], np.ndarray]

TEST = 8  # random points that must agree, beside those that are solved for
HALVINGS = 100  # of the radius, at most (the paper's number)
PASSES = 4  # over all pixels, at most
SMALLEST = 1e-10  # radius below which the digits of a difference are lost
ROUNDING = 100 * np.finfo(float).eps  # times max(1, |log ratio|): what float64 leaves of an exact equation
SUM = 1e-3  # by which a class's probability may be rounded; more is no probability
BATCH = 256  # rows of one query: arrays this small are taken from memory that is there, not asked for anew


@dataclass(frozen=True)
class Round:
    """One attempt: the radius, the largest misfit of a test point, and whether it is rounding only.

    ``tested (k,d)`` are the test points, as offsets from x.
    """

    radius: float
    residual: float
    accepted: bool
    tested: np.ndarray = field(repr=False)


@dataclass(frozen=True)
class DecisionFeatures:
    """``weights (d,)`` = D_c and ``pairs (C-1,d)`` = D_{c,c'} of equation 1; NaN when not ``exact``.

    ``others (C-1,)`` are the classes c'; ``radius`` the largest accepted; ``points (k,d)`` what was asked about at
    that radius beside the ``steps (d,)`` along single pixels, if there were such; ``reason`` says why there is no
    answer; ``trace`` what was tried.
    """

    weights: np.ndarray
    pairs: np.ndarray
    others: np.ndarray
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


class _Failed(Exception):
    """There is no exact answer; the text says why."""


class _Api:
    """The model behind its probabilities, as log ratios of class ``target`` to the others, beside those at x."""

    def __init__(self, predict_proba: Predict, x: np.ndarray, target: int):
        self.predict, self.x, self.queries, self.classes = predict_proba, x, 0, None
        first = self._ask(x[None].copy())
        self.classes = first.shape[1]
        if self.classes < 2:
            raise InputError("OpenAPI compares classes; the model gives the probability of only one.")
        self.target = whole_number("target", target, 0, self.classes - 1)
        self.others = np.delete(np.arange(self.classes), self.target)
        again = self._ask(np.stack([x, x]))
        if not np.allclose(again, first, rtol=1e-9, atol=0):
            raise InputError("The model changes its answers: asked again, it gave the same input other "
                             "probabilities.")
        self.here = self._ratios(first)[0]
        self.rounding = ROUNDING * np.maximum(1.0, np.abs(self.here))

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        """ln(y_c / y_c') - the same at x ``(n,C-1)`` for inputs ``(n,d)``, which nobody may need afterwards."""
        return self._ratios(self._ask(inputs)) - self.here

    def _ask(self, rows: np.ndarray) -> np.ndarray:
        found = []
        for first in range(0, len(rows), BATCH):
            part = rows[first:first + BATCH]
            self.queries += len(part)
            try:
                answer = self.predict(part)
            except Exception as error:  # whatever a foreign model may raise
                raise InputError(f"The model failed on rows {first} to {first + len(part) - 1}: {error!r}") from error
            found.append(self._checked(answer, len(part), first))
        return np.concatenate(found)

    def _checked(self, answer: np.ndarray, count: int, first: int) -> np.ndarray:
        y = np.asarray(answer, np.float64)
        if y.ndim != 2 or len(y) != count or (self.classes and y.shape[1] != self.classes):
            raise InputError(f"predict_proba must give one row of class probabilities an input: {count} inputs of "
                             f"{len(self.x)} values gave an array of shape {y.shape}.")
        wrong = ~np.isfinite(y).all(1) | (y < 0).any(1) | ~(np.abs(y.sum(1) - 1) <= SUM * y.shape[1])
        if wrong.any():
            row = int(wrong.argmax())
            raise InputError(f"Probabilities must be numbers from 0 to 1 with sum 1; row {first + row} is {y[row]}.")
        return y

    def _ratios(self, y: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(y)
            ratios = logs[:, [self.target]] - logs[:, self.others]
        return np.where(np.isfinite(ratios), ratios, np.inf)  # a probability of 0: this far out there is no answer


def decision_features(predict_proba: Predict, x: np.ndarray, target: int, *, sampling: str = "orthogonal",
                      radius: float = 1.0, seed: int = 0,
                      progress: Callable[[int, int, str], None] | None = None) -> DecisionFeatures:
    """The decision features D_c ``(d,)`` of class ``target`` in the linear region of ``x (d,)``.

    ``predict_proba`` takes ``(n,d)`` float64 and gives ``(n,C)`` probabilities; nothing else is used of the
    model. The answer is exact up to rounding with probability 1, or ``exact`` is False and ``reason`` says
    why: rounded probabilities, underflow, a model that is not piecewise linear, a point on a border.
    InputError: an answer that is no probability, or changes; a target that does not exist.
    Source: OpenAPI, equations 1 and 2 and Algorithm 1.
    """
    x = np.asarray(x, np.float64)
    if x.ndim != 1 or not np.isfinite(x).all():
        raise InputError(f"x must be one input (d,) of finite values, not of shape {x.shape}.")
    one_of("sampling", sampling, tuple(SAMPLINGS))
    if not radius > 0:
        raise InputError(f"radius must be above 0, not {radius}.")
    tell = progress or (lambda done, total, text: None)
    trace: list[Round] = []
    api, text = _Api(predict_proba, x, target), ""
    try:
        if not np.isfinite(api.here).all():
            raise _Failed("underflow: a probability at x is exactly 0, and its logarithm says nothing")
        pairs, used, points, steps = SAMPLINGS[sampling](api, radius, np.random.default_rng(seed), trace, tell)
        if _smooth(trace, api):
            raise _Failed("not piecewise linear: the misfit falls four times with every halving of the radius")
    except _Failed as reason:
        pairs, used, text = np.full((len(api.others), len(x)), np.nan), np.nan, str(reason)
        points, steps = np.empty((0, len(x))), None
    return DecisionFeatures(pairs.mean(axis=0), pairs, api.others, used, len(trace), api.queries, not text, text,
                            x, x + points, steps, tuple(trace))


def _orthogonal(api: _Api, radius: float, rng: np.random.Generator, trace: list[Round],
                tell: Callable) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
    """First a radius at which random lines through x are straight, then one pixel at a time."""
    d, passes = len(api.x), 0
    for _ in range(HALVINGS):
        ahead = _directions(rng, d) * radius
        both = api(api.x + np.concatenate([ahead, -ahead]))
        _same_everywhere(both)
        misfit = _misfit(both[:TEST], -both[TEST:])
        straight = bool((misfit <= 4 * api.rounding).all())
        trace.append(Round(radius, float(misfit.max()), straight, ahead))
        tell(len(trace), HALVINGS, f"radius {radius:.2g}")
        if straight:
            radius /= 16  # single pixels leave the region sooner than random directions do, most of all of a CNN
            steps = rng.uniform(0.5, 1.0, d) * rng.choice([-1.0, 1.0], d) * radius
            pairs = _along_pixels(api, steps, tell)
            offsets = _directions(rng, d) * radius
            misfit = _misfit(api(api.x + offsets), offsets @ pairs.T)
            agrees = bool((misfit <= 4 * api.rounding).all())
            trace.append(Round(radius, float(misfit.max()), agrees, offsets))
            if agrees:
                return pairs, radius, offsets, steps
            passes += 1
            if passes == PASSES:
                raise _Failed(f"no region found: {PASSES} passes over all pixels disagreed with random points")
        radius /= 2
        if radius < SMALLEST:
            break
    raise _Failed(_why(trace))


def _along_pixels(api: _Api, steps: np.ndarray, tell: Callable) -> np.ndarray:
    """The weights ``(C-1,d)`` from one step along each pixel."""
    pairs = np.empty((len(api.others), len(steps)))
    for first in range(0, len(steps), BATCH):
        part = np.arange(first, min(first + BATCH, len(steps)))
        inputs = np.tile(api.x, (len(part), 1))
        inputs[np.arange(len(part)), part] += steps[part]
        # The step that was taken, not the one that was meant: x + step is rounded.
        taken = inputs[np.arange(len(part)), part] - api.x[part]
        pairs[:, part] = api(inputs).T / taken
        tell(part[-1] + 1, len(steps), "pixels")
    return pairs


def _hypercube(api: _Api, radius: float, rng: np.random.Generator, trace: list[Round],
               tell: Callable) -> tuple[np.ndarray, float, np.ndarray, None]:
    """The paper's Algorithm 1: d + 1 points in a cube, d of them solved for, the last a test; halve, try again.

    The equation at x itself holds by centring on it.
    """
    d = len(api.x)
    # A random system amplifies rounding by about its dimension (Edelman 1988).
    tolerance = api.rounding * max(1.0, d / 4)
    for turn in range(HALVINGS):
        unit = rng.uniform(-1.0, 1.0, (d + 1, d))
        ratios = api(api.x + unit * radius)
        _same_everywhere(ratios)
        finite = np.isfinite(ratios).all()
        scaled = np.linalg.solve(unit[:d], ratios[:d]) if finite else np.empty((d, 0))
        misfit = _misfit(ratios[d], unit[d] @ scaled) if finite else np.array(np.inf)
        agrees = bool((misfit <= tolerance).all())
        trace.append(Round(radius, float(misfit.max()), agrees, unit[:TEST] * radius))
        tell(turn + 1, HALVINGS, f"radius {radius:.2g}")
        if agrees:
            return scaled.T / radius, radius, unit * radius, None
        radius /= 2
        if radius < SMALLEST:
            break
    raise _Failed(_why(trace))


SAMPLINGS = {"orthogonal": _orthogonal, "hypercube": _hypercube}


def _directions(rng: np.random.Generator, d: int) -> np.ndarray:
    """``(TEST,d)`` random unit vectors."""
    v = rng.standard_normal((TEST, d))
    return v / np.linalg.norm(v, axis=1, keepdims=True)


def _misfit(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """|a - b|, infinite where there is no answer."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(np.abs(a - b), nan=np.inf, posinf=np.inf)


def _same_everywhere(ratios: np.ndarray) -> None:
    if not ratios.any():
        raise _Failed("rounded: the probabilities do not change at all near x, so they carry no weights")


def _smooth(trace: list[Round], api: _Api) -> bool:
    """Whether curvature took the misfit down to rounding: four times with every halving of the radius.

    A piecewise linear model's misfit stays far above rounding and drops to it at once.
    """
    failed = [r.residual for r in trace if not r.accepted]
    if len(failed) < 4 or failed[-1] > 1000 * api.rounding.max():
        return False
    return 2 ** 3 < failed[-4] / failed[-1] < 2 ** 9  # 2 ** 6 but for the luck of the points


def _why(trace: list[Round]) -> str:
    """What the last misfits say of a search that found no radius."""
    first, last = trace[-min(13, len(trace))], trace[-1]
    fall, halved = np.log2(first.residual / last.residual), np.log2(first.radius / last.radius)
    if abs(fall - halved) < 0.3 * halved:
        return "on a border: the misfit falls only as fast as the radius, so regions meet at x"
    return (f"no region found: at radius {last.radius:.1g} the misfit is still {last.residual:.1g}; the "
            "probabilities are rounded, or a border lies closer")


SAMPLING = Option("sampling", "orthogonal: one step along every pixel. hypercube: the paper's, a system of as many "
                  "equations as pixels at every try.", choices=tuple(SAMPLINGS))


@METHODS.register(
    "openapi", label="OpenAPI", group="black box", seeded=True, options=(SAMPLING,),
    summary="The exact weights of the linear region around the image, from the model's probabilities alone. It "
            "asks a little more than one question a pixel and tests its own answer.",
    misleads="Exact is not innocent: a suppressor has a weight in the model, so it is marked.",
    formula="D_c = Σ (W_c − W_c′)/(C − 1), from ln(y_c/y_c′)",
    reference="Cong et al. 2020, ICDE; OpenAPI, Algorithm 1")
def openapi(context: Context, *, sampling: str = "orthogonal") -> np.ndarray:
    return exact_weights(context, sampling).reshape(context.shape)


def answer(context: Context, sampling: str = "orthogonal",
           progress: Callable[[int, int, str], None] | None = None) -> tuple[DecisionFeatures, float]:
    """What OpenAPI says of the context's image, asked once whoever wants it, and the seconds that took."""
    def ask() -> tuple[DecisionFeatures, float]:
        start = time.perf_counter()
        found = decision_features(context.predict_proba, context.image.ravel(), context.target, sampling=sampling,
                                  seed=context.seed, progress=progress)
        return found, time.perf_counter() - start

    return context.shared.once(("openapi", sampling, context.seed), ask)


def exact_weights(context: Context, sampling: str = "orthogonal") -> np.ndarray:
    """D_c ``(d,)`` of the context's target; NotApplicable with the reason when there is no exact answer."""
    found, _ = answer(context, sampling)
    if not found.exact:
        raise NotApplicable(f"No exact answer: {found.reason}.")
    context.facts |= {"radius": found.radius, "rounds": found.rounds, "queries": found.queries}
    return found.weights.copy()
