"""A model known only by its answers: what OpenAPI may query, and how finely it answers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core.types import InputError, whole_number

Predict = Callable[[np.ndarray], np.ndarray]

EPS = float(np.finfo(float).eps)
EXCESS = 1e-3  # by which a class's probability may miss a sum of 1: an API that rounds is an API
JITTER = 1e-4  # of max(1, |log ratio|): more between two answers to one input is no rounding
FINE = 1e4  # epsilons by which float64's answers may differ from batch to batch; a float32 network's differ by more
BATCH = 256  # rows of one query: arrays this small come from the allocator's pool and stay in the cache


class BlackBox:
    """Log ratios of class ``target`` to the others, ``ln(y_c / y_c')``, as differences from those at ``x (d,)``.

    ``others (C-1,)`` are the classes c', ``at_x (C-1,)`` their log ratios at x and ``probabilities (C,)`` the answer
    there; ``noise (C-1,)`` is what rounding leaves of a log ratio and ``tolerance (C-1,)`` what a linear equation may
    miss by rounding alone; ``coarse`` says that the answers have fewer digits than float64; ``queries`` counts the
    rows that were asked about. InputError: an answer that is no probability, or that changes when the same input is
    asked about again; a target that does not exist.
    """

    def __init__(self, predict_proba: Predict, x: np.ndarray, target: int):
        self.predict, self.x, self.queries, self.classes = predict_proba, x, 0, None
        first = self.answers(x[None].copy())
        self.classes = first.shape[1]
        if self.classes < 2:
            raise InputError("OpenAPI compares classes; the model gives the probability of only one.")
        self.target = whole_number("target", target, 0, self.classes - 1)
        self.others = np.delete(np.arange(self.classes), self.target)
        self.probabilities, self.at_x = first[0], self._ratios(first)[0]
        size = np.maximum(1.0, np.abs(self.at_x))
        change = self._change(first, size)
        self.noise = EPS / 2 * size + change
        self.tolerance = np.maximum(400 * EPS * size, 8 * change)
        self.coarse = bool((change > FINE * EPS * size).any())

    @property
    def underflows(self) -> bool:
        """Whether a probability at x is exactly 0, so that it has no logarithm."""
        return not np.isfinite(self.at_x).all()

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        """``ln(y_c / y_c')`` minus the same at x, ``(n,C-1)``, of inputs (n,d), which the model may overwrite.

        Infinite where a probability is 0.
        """
        return self.compare(self.answers(inputs))

    def compare(self, y: np.ndarray) -> np.ndarray:
        """The same of probabilities ``y (n,C)`` that were answered."""
        return self._ratios(y) - self.at_x

    def coarsen(self, noise: np.ndarray | float) -> None:
        """Takes note of answers with fewer digits than float64's: their log ratios are right to ``noise`` only."""
        self.noise, self.coarse = np.maximum(self.noise, noise / 2), True
        self.tolerance = np.maximum(self.tolerance, 2 * noise)

    def _change(self, first: np.ndarray, size: np.ndarray) -> np.ndarray:
        """By how much the log ratios at x differ when they are asked for again, twice in one batch."""
        again = self.answers(np.stack([self.x, self.x]))
        with np.errstate(invalid="ignore"):
            change = np.nan_to_num(np.abs(self._ratios(again) - self.at_x).max(0), nan=0.0)
        lost = (again == 0) != (first == 0)
        if lost.any() or (change > JITTER * size).any():
            raise InputError(
                "The model changes its answers: asked again, it gave the same input other probabilities "
                f"({np.abs(again - first).max():.1g} apart). Switch off whatever it draws at random."
            )
        return change

    def answers(self, rows: np.ndarray) -> np.ndarray:
        """The probabilities ``(n,C)`` float64 of inputs (n,d), checked."""
        answers = []
        for first in range(0, len(rows), BATCH):
            part = rows[first : first + BATCH]
            self.queries += len(part)
            try:
                answer = self.predict(part)
            except Exception as error:  # whatever a foreign model may raise
                raise InputError(f"The model failed on rows {first} to {first + len(part) - 1}: {error!r}") from error
            answers.append(self._checked(answer, len(part), first))
        return np.concatenate(answers)

    def _checked(self, answer: np.ndarray, count: int, first: int) -> np.ndarray:
        y = np.asarray(answer, np.float64)
        if y.ndim != 2 or len(y) != count or (self.classes and y.shape[1] != self.classes):
            raise InputError(
                f"predict_proba must give one row of class probabilities an input: {count} inputs of "
                f"{len(self.x)} values gave an array of shape {y.shape}."
            )
        fits = (y >= 0).all(1) & (np.abs(y.sum(1) - 1) <= EXCESS * y.shape[1])  # NaN and infinity do not
        if not fits.all():
            row = int(fits.argmin())
            raise InputError(f"Probabilities must be numbers from 0 to 1 with sum 1; row {first + row} is {y[row]}.")
        return y

    def _ratios(self, y: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(y)
            ratios = logs[:, [self.target]] - logs[:, self.others]
        return np.where(np.isfinite(ratios), ratios, np.inf)
