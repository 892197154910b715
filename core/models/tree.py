"""Logistic model tree: a decision tree whose leaves are sparse logistic regressions (Landwehr et al. 2005).

Each leaf is one linear region. As in the original, a leaf's regression starts from that of the whole data
set and is refined on its own images, so every leaf has weights for every class.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from core.models.networks import DIGITS
from core.registry import MODELS
from core.types import Dataset, Progress

LEAVES = 16
MIN_LEAF_IMAGES = 100  # images in a leaf (the paper's number)
SPARSITY = 1e-4  # weight of the penalty sum |w|, added to the mean cross-entropy
MAX_PASSES = 300  # over a leaf's images, at most
PASSES_BETWEEN_CHECKS = 10  # of the cross-entropy on the validation images
CLASSES = 10


class LogisticModelTree(nn.Module):
    """``left``, ``right``, ``pixel``, ``threshold (m,)`` of its nodes; ``weight (leaves,C,d)``, ``bias (leaves,C)``.

    A node whose ``pixel`` is negative is a leaf, and ``left`` its number. Larger than the threshold goes right.
    Numbers of nodes, leaves and pixels are whole numbers, in a file too: half precision has none above 2,048 but
    even ones.
    """

    def __init__(self, size: int):
        super().__init__()
        self.size = size
        for name in ("left", "right", "pixel"):
            self.register_buffer(name, torch.zeros(1, dtype=torch.int32))
        self.pixel -= 1
        self.register_buffer("threshold", torch.zeros(1))
        self.weight = nn.Parameter(torch.zeros(1, CLASSES, size * size))
        self.bias = nn.Parameter(torch.zeros(1, CLASSES))

    def regions(self, x: torch.Tensor) -> torch.Tensor:
        """The number of the leaf ``(n,)`` into which each image (n,h,w) falls."""
        # In numpy: a step of so few numbers costs torch five times as much.
        flat, rows, node = x.flatten(1).numpy(), np.arange(len(x)), np.zeros(len(x), int)
        left, right, pixel = self.left.numpy(), self.right.numpy(), self.pixel.numpy()
        threshold = self.threshold.numpy()
        while (inner := pixel[node] >= 0).any():
            larger = flat[rows, pixel[node]] > threshold[node]
            node = np.where(inner, np.where(larger, right[node], left[node]), node)
        return torch.from_numpy(left[node]).long()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The logits ``(n,C)`` of images (n,h,w): those of the leaf that each falls into."""
        # All leaves at once and then each image's own: one matrix product is faster than a small one a leaf.
        logits = x.flatten(1) @ self.weight.flatten(0, 1).T + self.bias.flatten()
        return logits.view(len(x), -1, CLASSES)[torch.arange(len(x)), self.regions(x.detach())]

    def load_state_dict(self, state: dict[str, torch.Tensor], *arguments: Any, **named: Any):
        """Takes a tree of any size; its numbers may be written as floats, as in older files."""
        state = dict(state)
        for name, tensor in state.items():
            if name in self._buffers:
                state[name] = self._buffers[name] = tensor.to(self._buffers[name].dtype, copy=True)
            elif name in self._parameters:
                self._parameters[name] = nn.Parameter(tensor.clone(), requires_grad=False)
        return super().load_state_dict(state, *arguments, **named)


def fit(module: LogisticModelTree, dataset: Dataset, seed: int, progress: Progress) -> int:
    """Grows the tree and fits its leaves; returns the largest number of passes over a leaf's images."""
    from sklearn.tree import DecisionTreeClassifier  # late: slow to import, needed for training only

    x, y = dataset.train.x.reshape(len(dataset.train), -1), np.asarray(dataset.train.y)
    progress(0, LEAVES + 1, "growing the tree")
    classifier = DecisionTreeClassifier(max_leaf_nodes=LEAVES, min_samples_leaf=MIN_LEAF_IMAGES, random_state=seed)
    grown = classifier.fit(x, y).tree_
    is_leaf = grown.children_left < 0
    numbers = np.cumsum(is_leaf) - 1
    tensor = torch.from_numpy
    structure = {
        "left": tensor(np.where(is_leaf, numbers, grown.children_left)),
        "right": tensor(grown.children_right),
        "pixel": tensor(np.where(is_leaf, -1, grown.feature)),
        "threshold": tensor(_rounded_down(grown.threshold)),
    }
    leaves, d = int(is_leaf.sum()), x.shape[1]
    module.load_state_dict(
        {**structure, "weight": torch.zeros(leaves, CLASSES, d), "bias": torch.zeros(leaves, CLASSES)}
    )

    images = [
        nn.functional.pad(tensor(np.array(part.x)).flatten(1), (0, 1), value=1.0)  # ones: the constant term
        for part in (dataset.train, dataset.val)
    ]
    labels = [tensor(np.array(part.y)) for part in (dataset.train, dataset.val)]
    leaves_of = [module.regions(part) for part in images]
    progress(1, leaves + 1, "a regression on all images")
    root, most = _regression(images, labels, torch.zeros(d + 1, CLASSES))
    for leaf in range(leaves):
        progress(leaf + 1, leaves + 1, f"leaf {leaf + 1} of {leaves}")
        inside = [at == leaf for at in leaves_of]
        weights, passes = _regression(
            [p[i] for p, i in zip(images, inside)], [p[i] for p, i in zip(labels, inside)], root
        )
        module.weight.data[leaf], module.bias.data[leaf], most = weights[:-1].T, weights[-1], max(most, passes)
    return most


def _rounded_down(thresholds: np.ndarray) -> np.ndarray:
    """The largest float32 values that are not above thresholds (m,) float64: no float32 pixel changes sides.

    Rounded to the nearest, a threshold between two neighbouring pixel values could become the larger one, and half
    precision could lie anywhere between the images' values.
    """
    near = thresholds.astype(np.float32)
    return np.where(near > thresholds, np.nextafter(near, np.float32(-np.inf)), near)


def _regression(
    images: list[torch.Tensor], labels: list[torch.Tensor], start: torch.Tensor
) -> tuple[torch.Tensor, int]:
    """Sparse logistic regression ``(d+1,C)`` of the training images by accelerated proximal gradient steps (FISTA).

    Images (n,d+1) end in a one. The second of each pair are the validation images: fitting stops early, at the pass
    with the smallest cross-entropy on them, which is why the solver is written out here (scikit-learn's cannot).
    """
    x, y = images[0], nn.functional.one_hot(labels[0], CLASSES).float()
    # The Hessian of the cross-entropy is at most X'X / 2n, so steps of 2 over its largest eigenvalue converge.
    # In double precision: eigenvalues that repeat defeat single precision.
    step = 2 / np.linalg.eigvalsh((x.T @ x / len(x)).double().numpy())[-1]
    weights = ahead = start.clone()
    best, quality, at, since, momentum = start, _loss(images[1], labels[1], start), 0, 0, 1.0
    for turn in range(1, MAX_PASSES + 1):
        slope = x.T @ ((x @ ahead).softmax(1) - y) / len(x)
        new = ahead - step * slope
        new[:-1] = new[:-1].sign() * (new[:-1].abs() - step * SPARSITY).clamp(min=0)
        momentum, before = (1 + (1 + 4 * momentum**2) ** 0.5) / 2, momentum
        ahead, weights = new + (before - 1) / momentum * (new - weights), new
        if turn % PASSES_BETWEEN_CHECKS == 0:
            reached = _loss(images[1], labels[1], weights)
            since += 1
            if reached < quality:
                best, quality, at, since = weights, reached, turn, 0
            if since == 3:
                break
    return best, at


def _loss(x: torch.Tensor, y: torch.Tensor, weights: torch.Tensor) -> float:
    return float(cross_entropy(x @ weights, y)) if len(x) else 0.0


@MODELS.register(
    "LMT",
    label="Logistic model tree",
    datasets=DIGITS,
    fit=fit,
    formula="logits = W_leaf x + b_leaf",
    misleads="Two similar images in different leaves get different weights: one grey value separates them.",
    reference="Landwehr et al. 2005, Logistic model trees; OpenAPI, section V",
    summary="A decision tree with a sparse logistic regression in each leaf: every leaf is a linear region.",
)
def lmt(size: int = 28) -> nn.Module:
    """A tree of one leaf for images ``size`` pixels wide and high; ``fit`` grows it."""
    return LogisticModelTree(size)
