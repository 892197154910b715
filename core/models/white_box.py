"""What a piecewise linear model looks like from inside: which region an input lies in, and its exact weights."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from core.models.tree import LogisticModelTree
from core.types import margin

BATCH = 64  # images in one pass: bounds memory, and what lies between layers stays in the cache


@contextlib.contextmanager
def _watched(module: nn.Module) -> Iterator[list[np.ndarray]]:
    """A list to which a pass through the module inside the block adds its switch settings (n,k), layer by layer."""
    found: list[np.ndarray] = []

    def relu(_: nn.Module, given: tuple, __: torch.Tensor) -> None:
        found.append((given[0] > 0).flatten(1).numpy())

    def pool(layer: nn.MaxPool2d, given: tuple, __: torch.Tensor) -> None:
        _, at = functional.max_pool2d(given[0].detach(), layer.kernel_size, layer.stride, layer.padding,
                                      return_indices=True)
        bits = np.frombuffer(at.flatten(1).numpy().astype(">u2").tobytes(), np.uint8).reshape(len(at), -1)
        found.append(np.unpackbits(bits, axis=1).astype(bool))

    def leaf(tree: LogisticModelTree, given: tuple, __: torch.Tensor) -> None:
        number = tree.regions(given[0].detach()).numpy().astype(">u2")
        found.append(np.unpackbits(number.view(np.uint8).reshape(-1, 2), axis=1).astype(bool))

    seen = {nn.ReLU: relu, nn.MaxPool2d: pool, LogisticModelTree: leaf}
    handles = [layer.register_forward_hook(seen[type(layer)]) for layer in module.modules() if type(layer) in seen]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


def _packed(found: list[np.ndarray], count: int) -> np.ndarray:
    """One pass's settings as a row of bits an input; a model without switches has one region."""
    rows = np.packbits(np.concatenate(found, axis=1), axis=1) if found else np.zeros((count, 1), np.uint8)
    found.clear()
    return rows


def patterns(module: nn.Module, images: np.ndarray) -> np.ndarray:
    """The switch settings ``(n,k)`` uint8, packed bits, of images (n,h,w) in a float64 model.

    Two inputs lie in one linear region if all ReLUs and all max pools choose alike, or in a tree, if they
    fall into the same leaf: equal rows.
    """
    rows = []
    with torch.no_grad(), _watched(module) as found:
        for part in _parts(images):
            module(part)
            rows.append(_packed(found, len(part)))
    return np.concatenate(rows)


def distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of rows (n,k): where each kind comes first ``(r,)``, which kind each is ``(n,)``, how many of each ``(r,)``."""
    numbers: dict[bytes, int] = {}
    which = np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in rows])
    _, first, count = np.unique(which, return_index=True, return_counts=True)
    return first, which, count


def _parts(images: np.ndarray) -> Sequence[torch.Tensor]:
    return torch.from_numpy(np.asarray(images, np.float64)).split(BATCH)


def decision_weights(module: nn.Module, images: np.ndarray, target: int) -> tuple[np.ndarray, np.ndarray]:
    """D_c ``(n,h,w)`` float64 of equation 1 (OpenAPI) at images (n,h,w), and the margin ``(n,)`` it belongs to.

    The margin is the mean log ratio of class c to the others; inside a region its gradient is D_c.
    """
    return inside(module, images, target)[1:]


def inside(module: nn.Module, images: np.ndarray, target: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``patterns``, and both of ``decision_weights``, of the same images in one pass."""
    rows, weights, margins = [], [], []
    with _watched(module) as found:
        for part in _parts(images):
            part = part.clone().requires_grad_(True)
            value = margin(module(part), target)
            rows.append(_packed(found, len(part)))
            weights.append(torch.autograd.grad(value.sum(), part)[0].numpy())
            margins.append(value.detach().numpy())
    return np.concatenate(rows), np.concatenate(weights), np.concatenate(margins)


def pair_weights(module: nn.Module, images: np.ndarray, target: int) -> tuple[np.ndarray, np.ndarray]:
    """D_{c,c'} ``(r,C-1,d)`` float64 of equation 1 (OpenAPI), class c against every other, in each of the r regions
    that images (n,h,w) lie in, and the share ``(r,)`` of them that does.
    """
    first, _, count = distinct(patterns(module, images))
    found = []
    for part in _parts(np.asarray(images)[first]):
        part = part.clone().requires_grad_(True)
        logits = module(part)
        others = [c for c in range(logits.shape[1]) if c != target]
        rows = [torch.autograd.grad((logits[:, target] - logits[:, c]).sum(), part, retain_graph=True)[0]
                for c in others]
        found.append(torch.stack(rows, dim=1).flatten(2).numpy())
    return np.concatenate(found), count / len(images)
