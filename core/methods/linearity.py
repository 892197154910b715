"""Is a black box linear around x, out to which radius, and if not, why: read off random lines through x.

Along a line a piecewise linear function is straight between the borders of its regions. A smooth one bends
everywhere: its misfit falls four times with every halving of the radius. An answer of few digits is a staircase.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.methods.black_box import BlackBox

FEWEST, MOST = 4, 16  # random lines on which a radius is found: one more for every 200 pixels
SMALLEST = 1e-11  # radius below which the digits of any difference are lost
FLAT = 7  # radii just outside the straight part, two of them lucky, with the same misfit: noise
AHEAD = 6  # radii that are asked about at once
OUTSIDE = range(-1, 6)  # powers of 2 of the straight radius at which curvature is looked for
NEAR = 16  # times the tolerance: a misfit just outside the radius that curvature could have left
RISES = ((3.2, 5.0), (6.5, 10.0))  # of curvature's misfit with a doubled radius: 4 times, or 8 at an inflection
PIECES = 16  # of the stretch beyond the radius that are compared with each other
RUN = 8  # of them that bend one after the other up to the end: curvature, not borders
HOPELESS = 1e-5  # of the change over the radius: with more noise no answer can be exact
SEEN = 1e6  # times the noise that a change beyond a constant region must reach to be no rounding


class NoAnswer(Exception):
    """There is no exact answer; the text says why."""


ROUNDED = "rounded: the probabilities carry too few digits for weights this exact"
SMOOTH = "not piecewise linear: the log ratios bend everywhere beyond the smallest radius"
BORDER = "on a border: another linear region begins so close to x that rounding hides the weights"


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
class Around:
    """Out to which ``radius`` lines through x are straight, and their root mean square ``slope``; 0: constant."""

    radius: float
    slope: float


class Line:
    """The black box along one line through x: its ``known`` values and ``answers`` at x + t direction, by t."""

    def __init__(self, box: BlackBox, direction: np.ndarray):
        self.box, self.direction, self.known, self.answers = box, direction, {}, {}

    def at(self, *places: float) -> np.ndarray:
        """The values ``(k,C-1)`` at k places t."""
        return values([self], places)[0]

    def misfit(self, radius: float) -> np.ndarray:
        """How far ``(C-1,)`` the line is from straight at a radius."""
        return misfits([self], radius)[0]

    def stretch(self, radius: float) -> np.ndarray:
        """The values ``(PIECES+1,C-1)`` from the radius to four times as far, on the side that bends more."""
        ahead, far, behind, beyond = self.at(radius, 2 * radius, -radius, -2 * radius)
        side = 1.0 if misfit(far, 2 * ahead).max() >= misfit(beyond, 2 * behind).max() else -1.0
        return self.at(*(side * radius * np.linspace(1, 4, PIECES + 1)).tolist())


def query(lines: Sequence[Line], places: Sequence[float]) -> None:
    """Asks for what is not yet known of some lines at some places, all at once."""
    new = [(line, t) for line in lines for t in dict.fromkeys(places) if t not in line.known]
    if new:
        box = lines[0].box
        answers = box.answers(np.stack([box.x + t * line.direction for line, t in new]))
        for (line, t), answer, value in zip(new, answers, box.compare(answers)):
            line.answers[t], line.known[t] = answer, value


def values(lines: Sequence[Line], places: Sequence[float]) -> np.ndarray:
    """The values ``(n,k,C-1)`` of n lines at k places."""
    query(lines, places)
    return np.array([[line.known[t] for t in places] for line in lines])


def misfits(lines: Sequence[Line], radius: float) -> np.ndarray:
    """How far ``(n,C-1)`` lines are from straight: x + r v against x - r v, and against x + r v/2."""
    ahead, behind, half = values(lines, _places([radius])).swapaxes(0, 1)
    return np.maximum(misfit(ahead, -behind), misfit(ahead, 2 * half))


def _places(radii: Iterable[float]) -> list[float]:
    """What ``misfits`` needs to know at some radii."""
    return [t for r in radii for t in (r, -r, r / 2)]


def misfit(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """|a - b|, infinite where one of them is: there a probability is 0."""
    with np.errstate(invalid="ignore"):
        gap = np.abs(a - b)
    gap[np.isnan(gap)] = np.inf
    return gap


def directions(rng: np.random.Generator, count: int, d: int) -> np.ndarray:
    """``(count,d)`` random unit vectors."""
    v = rng.standard_normal((count, d))
    return v / np.linalg.norm(v, axis=1, keepdims=True)


def look_around(box: BlackBox, radius: float, rng: np.random.Generator, trace: list[Round], tell: Callable) -> Around:
    """The largest radius, ``radius`` halved as often as it takes, out to which random lines through x are straight.

    Tells the box when its answers turn out to be coarse. NoAnswer: the box is not piecewise linear, x lies on a
    border, or nothing but rounding is seen.
    """
    d = len(box.x)
    lines = [Line(box, v) for v in directions(rng, min(FEWEST + d // 200, MOST), d)]
    for _ in range(2):
        straight, bent = _search(box, lines, radius, trace, tell)
        if bent and straight:
            query([bent], _places(straight * 2.0**k for k in OUTSIDE))
        noise = _noise(bent, straight, radius) if bent else None
        if noise is None or box.coarse:
            break
        box.coarsen(noise)
        trace.clear()
    if not straight:
        raise NoAnswer(ROUNDED if box.coarse else BORDER)
    if bent and _curved(bent, straight):
        raise NoAnswer(ROUNDED if box.coarse else SMOOTH)
    change = values(lines, (straight, -straight))
    if not _truly_constant(box, bent, straight) if not change.any() else _stuck(box, lines, straight, change):
        raise NoAnswer(ROUNDED)
    slope = np.sqrt(np.square(change.mean(2)).mean()) / straight if change.any() else 0.0
    if box.coarse and box.noise.min() > HOPELESS * straight * slope:
        raise NoAnswer(ROUNDED)
    return Around(straight, float(slope))


def _search(
    box: BlackBox, lines: list[Line], radius: float, trace: list[Round], tell: Callable
) -> tuple[float, Line | None]:
    """The radius at which all lines are straight, 0 below SMALLEST; and the line that bent last.

    One line alone until it is straight, then of the others the one that bends most, and so on.
    """
    last, largest = None, 0.0
    for group in (lines[:1], lines[1:]):
        while group:
            gaps = misfits(group, radius)
            bends = (gaps / box.tolerance).max(1)
            largest = max(largest, float(gaps[bends <= 1].max(initial=0.0)))
            group = [group[i] for i in np.argsort(-bends, kind="stable") if bends[i] > 1]
            if group:
                last, *group = group
                radius = _halved(last, radius, trace, tell)
                if radius < SMALLEST:
                    return 0.0, last
    trace.append(Round(radius, largest, True, radius * np.stack([line.direction for line in lines])))
    return radius, last


def _halved(line: Line, radius: float, trace: list[Round], tell: Callable) -> float:
    """The radius, halved until the line is straight or the radius below SMALLEST."""
    while radius >= SMALLEST and ((gap := line.misfit(radius)) > line.box.tolerance).any():
        trace.append(Round(radius, float(gap.max()), False, np.outer([radius, -radius], line.direction)))
        tell(len(trace), 100, f"radius {radius:.2g}")
        radius /= 2
        if -radius not in line.known:  # look ahead: one radius costs little less than several
            query([line], _places(radius / 2**k for k in range(AHEAD)))
    return radius


def _noise(line: Line, straight: float, start: float) -> np.ndarray | float | None:
    """The noise of the answers, if it and not a border is what ends the line's straight part; else None.

    Noise is as large at seven radii in a row, where a border's misfit grows with the radius.
    """
    radii = [max(straight, SMALLEST) * 2.0**k for k in range(1, FLAT + 1)]
    if radii[-1] <= start:
        query([line], _places(radii))
        gaps = np.stack([line.misfit(r) for r in radii])
        usual = np.sort(gaps.max(1))
        if np.isfinite(usual[-1]) and usual[-1] <= 4 * usual[2] and not _ends(line, straight, usual[2]):
            return gaps.max(0)
    return _step(line, straight) if straight else None


def _ends(line: Line, radius: float, gap: float) -> bool:
    """Whether a misfit as large as ``gap`` is gone within the radius, where noise would go on."""
    if not radius:
        return False
    inside = max(line.misfit(radius).max(), line.misfit(radius / 2).max())
    return bool(inside < gap / 100 and line.at(radius / 2).any())


def _step(line: Line, radius: float) -> float | None:
    """The step of a staircase beyond the radius, None if there is none.

    A staircase's values stand there more than once, or its bends up and down are multiples of one step.
    """
    for column, tolerance in zip(line.stretch(radius).T, line.box.tolerance):
        moved = column[np.isfinite(column) & (column != 0)]
        levels = np.unique(moved)
        if len(moved) > len(column) // 2 and len(levels) <= 0.75 * len(moved):
            return float(np.median(np.diff(np.unique(np.append(levels, 0.0)))))
        bends = _bends(column)
        bends = bends[np.isfinite(bends) & (np.abs(bends) > 4 * tolerance)]
        if len(bends) >= 6 and bends.min() < 0 < bends.max():
            steps = np.abs(bends) / np.abs(bends).min()
            if np.abs(steps - np.round(steps)).max() < 0.02:
                return float(np.abs(bends).min())
    return None


def _curved(line: Line, radius: float) -> bool:
    """Whether curvature, not a border, ends the line's straight part at ``radius``.

    Near the tolerance curvature shows by the misfit's fall, three radii in a row; farther out by a stretch that is
    nowhere straight.
    """
    gaps = np.stack([line.misfit(radius * 2.0**k) for k in OUTSIDE]) / line.box.tolerance
    if gaps[2].max() <= NEAR:
        with np.errstate(invalid="ignore", divide="ignore"):
            rise = gaps[1:] / gaps[:-1]
        fits = np.any([(low < rise) & (rise < high) for low, high in RISES], axis=0)
        return bool((fits[2:] & fits[1:-1] & fits[:-2]).any())
    bends = (np.abs(np.nan_to_num(_bends(line.stretch(radius)))) > 4 * line.box.tolerance).any(1)
    return bool(bends[-RUN:].all() and bends[bends.argmax() :].all())


def _bends(values: np.ndarray) -> np.ndarray:
    """Second differences ``(k-2,...)`` of equally spaced values (k,...), NaN where one is infinite."""
    with np.errstate(invalid="ignore"):
        return np.diff(values, 2, axis=0)


def _stuck(box: BlackBox, lines: list[Line], straight: float, change: np.ndarray) -> bool:
    """Whether a class's small probability stays the same, to the bit, while the log ratios clearly move.

    That of a softmax moves with the others.
    """
    answers = np.array([line.answers[t] for line in lines for t in (straight, -straight)])
    still = (answers == box.probabilities).all(0) & (box.probabilities < 0.5)
    return bool(still.any() and (np.abs(change) > SEEN * box.noise).any())


def _truly_constant(box: BlackBox, bent: Line | None, straight: float) -> bool:
    """Whether answers that do not change around x are a flat region, and not one step of rounded answers.

    Beyond a flat region's border they change with every digit; a model that is flat everywhere has digits to show.
    """
    if box.coarse:
        return False
    if bent is None:
        return not np.array_equal(box.probabilities, np.round(box.probabilities, 14))
    values = bent.stretch(straight)
    return any(
        len(np.unique(column[np.isfinite(column) & (column != 0)])) > 3
        and np.abs(column[np.isfinite(column)]).max() > SEEN * noise
        for column, noise in zip(values.T, box.noise)
    )
