"""Drawn models for OpenAPI, and what their true weights are: plain numpy, so that nothing of ``core`` judges itself.

A case is a small dense or convolutional network, an input at a chosen distance from one of its borders, and the way
in which its probabilities are answered: in full, rounded, or in float32.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import erf, expit

DISTANCES = (0.0, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
SMOOTH = {
    "tanh": np.tanh,
    "softplus": lambda z: np.logaddexp(0, z),
    "sigmoid": expit,
    "sine": np.sin,
    "gelu": lambda z: z * (1 + erf(z / np.sqrt(2))) / 2,
    "swish": lambda z: z * expit(z),
    "arctan": np.arctan,
}
DIGITS = tuple(range(3, 16))


@dataclass
class Case:
    """``predict`` (n,d) -> (n,C); ``truths``: the weights that count as right, none for a smooth model."""

    family: str  # relu, smooth, rounded
    detail: str  # distance, activation, digits
    x: np.ndarray
    target: int
    truths: list
    predict: object
    distance: float  # to the nearest border that was chosen

    def wrong(self, weights):
        """Relative L1 distance to the nearest of the truths; infinite for a model without regions."""
        errors = [np.abs(weights - t).sum() / (np.abs(t).sum() or 1.0) for t in self.truths]
        return min(errors, default=np.inf)


class Network:
    """Affine layers, each but the last followed by an activation and, after a convolution, by 2 x 2 max pooling."""

    def __init__(self, layers, act):
        self.layers, self.act = layers, act

    def logits(self, x):
        for w, b, windows in self.layers[:-1]:
            x = self.act(x @ w.T + b)
            x = x[:, windows].max(2) if windows is not None else x
        w, b, _ = self.layers[-1]
        return x @ w.T + b

    def jacobian(self, x):
        """``(C,d)`` of a network of ReLUs at one input."""
        rows = np.eye(len(x))
        for w, b, windows in self.layers[:-1]:
            z = w @ x + b
            x, rows = np.maximum(z, 0), np.where(z[:, None] > 0, w @ rows, 0)
            if windows is not None:
                chosen = windows[np.arange(len(windows)), x[windows].argmax(1)]
                x, rows = x[chosen], rows[chosen]
        return self.layers[-1][0] @ rows


def softmax(logits):
    e = np.exp(logits - logits.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def convolution(rng, channels, edge, kernel, out):
    """A convolution as a matrix, its biases, and the windows of 2 x 2 pooling over its results."""
    weights, bias = rng.standard_normal((out, channels, kernel, kernel)) / kernel, rng.standard_normal(out) * 0.1
    after = edge - kernel + 1
    matrix = np.zeros((out, after, after, channels, edge, edge))
    for i in range(after):
        for j in range(after):
            matrix[:, i, j, :, i : i + kernel, j : j + kernel] = weights
    numbers = np.arange(out * after * after).reshape(out, after, after)[:, : after // 2 * 2, : after // 2 * 2]
    windows = numbers.reshape(out, after // 2, 2, after // 2, 2).transpose(0, 1, 3, 2, 4).reshape(-1, 4)
    return matrix.reshape(out * after * after, -1), np.repeat(bias, after * after), windows


def network(rng, act, large):
    """A network without its scale, and the size of its inputs."""
    classes = int(rng.integers(2, 11)) if rng.random() < 0.7 else 2
    layers = []
    if rng.random() < 0.3 and not large:
        edge = int(rng.choice([6, 8]))
        d, width = edge * edge, edge * edge
        layers.append(convolution(rng, 1, edge, 3, 4))
        width = len(layers[0][2])
        if rng.random() < 0.5 and edge == 8:
            layers.append(convolution(rng, 4, 3, 2, 6))
            width = len(layers[1][2])
    else:
        d = 784 if large else int(rng.choice([8, 16, 32, 64]))
        width = d
        for _ in range(1 if large else int(rng.integers(1, 4))):
            wide = 30 if large else int(rng.choice([8, 20, 40]))
            layers.append(
                (rng.standard_normal((wide, width)) * np.sqrt(2 / width), rng.standard_normal(wide) * 0.3, None)
            )
            width = wide
    layers.append((rng.standard_normal((classes, width)) / np.sqrt(width), rng.standard_normal(classes) * 0.1, None))
    return Network(layers, act), d


def draw(number):
    """Case ``number``; the same on every machine."""
    rng = np.random.default_rng([2020, number])
    family = ("relu", "relu", "smooth", "rounded")[number % 4]
    act = lambda z: np.maximum(z, 0)  # noqa: E731
    detail = ""
    if family == "smooth":
        detail = list(SMOOTH)[number // 4 % len(SMOOTH)]
        act = SMOOTH[detail]
    net, d = network(rng, act, large=rng.random() < 0.02)
    x = rng.uniform(0, 1, d) if rng.random() < 0.5 else rng.standard_normal(d)

    w, b, _ = net.layers[0]
    distance = DISTANCES[number // 4 % len(DISTANCES)] if family != "smooth" else 1.0
    if family != "smooth":
        unit = int(rng.integers(len(b)))
        normal = w[unit] / np.linalg.norm(w[unit])
        x = x - (w[unit] @ x + b[unit]) / np.linalg.norm(w[unit]) * normal
        x = x + rng.choice([-1.0, 1.0]) * distance * normal
    logits = net.logits(x[None])[0]
    target = int(logits.argmax())
    margin = np.exp(rng.uniform(np.log(0.1), np.log(300)))
    scale = margin / max(1e-3, logits.max() - logits.min())
    last, bias, _ = net.layers[-1]
    net.layers[-1] = (last * scale, bias * scale, None)

    def answer(rows):
        return softmax(net.logits(rows))

    predict, truths = answer, []
    if family != "smooth":
        sides = (x,) if distance else (x + 1e-9 * normal, x - 1e-9 * normal)
        for side in sides:
            rows = net.jacobian(side)
            truths.append(rows[target] - np.delete(rows, target, 0).mean(0))
        detail = f"{distance:g}"
    if family == "rounded":
        digits = int(rng.choice(DIGITS))
        form = rng.integers(3)
        detail = f"{digits} digits"
        if form == 0:
            predict = lambda rows: np.round(answer(rows), digits)  # noqa: E731
        elif form == 1:
            predict = lambda rows: np.vectorize(lambda v: float(f"{v:.{digits - 1}e}"))(answer(rows))  # noqa: E731
        else:
            predict, detail = lambda rows: answer(rows).astype(np.float32), "float32"
    return Case(family, detail, x, target, truths, predict, distance)
