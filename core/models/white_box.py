"""Reading a piecewise linear model from inside: the region an input lies in, and the exact weights there."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from core.types import NotApplicable, margin

IMAGES_PER_PASS = 64  # bounds memory; activations fit into the processor's cache
RECTIFIERS = {"relu", "leaky_relu"}  # PyTorch's operations, modules or not; those that end in _ work in place
LAYERS = {nn.Flatten, nn.Unflatten, nn.Linear, nn.Conv2d, nn.Dropout, nn.ReLU, nn.MaxPool2d}
POOLS = {"max_pool2d_with_indices", "adaptive_max_pool2d"}
UNREADABLE = set(
    """
    tanh sigmoid gelu silu mish softplus elu hardtanh hardsigmoid hardswish threshold _prelu_kernel exp log pow sqrt
    sin cos abs clamp clamp_min clamp_max maximum minimum amax amin sort topk max_pool1d max_pool3d_with_indices
    _softmax _log_softmax native_layer_norm native_group_norm""".split()
)


class _Switches(TorchDispatchMode):
    """Records the activation pattern (n,k) of every layer that runs inside the block.

    Only of this thread's own passes, and without touching the module: all readers share it.
    """

    def __init__(self):
        super().__init__()
        self.settings: list[np.ndarray] = []

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        name = _name(function)
        if name in RECTIFIERS:
            self.settings.append((arguments[0] > 0).flatten(1).numpy())
        elif name in UNREADABLE:
            raise NotApplicable(
                "The model's regions cannot be read from inside: "
                f"{name.strip('_')} is neither linear nor a ReLU or max pooling."
            )
        result = function(*arguments, **keywords) if keywords else function(*arguments)
        if name in POOLS:
            self.settings.append(_bits(result[1], arguments[0][0, 0].numel()))
        return result


@functools.cache  # PyTorch's operations are always the same
def _name(operation: torch._ops.OpOverload) -> str:
    return operation.overloadpacket.__name__.rstrip("_")


def _bits(numbers: torch.Tensor, count: int = 2**16) -> np.ndarray:
    """Whole numbers (n,...) below ``count`` as bits ``(n,k)``."""
    rows = numbers.flatten(1).numpy().astype(">u2" if count <= 2**16 else ">u4")
    return np.unpackbits(rows.view(np.uint8).reshape(len(rows), -1), axis=1).astype(bool)


def _logits(module: nn.Module, part: torch.Tensor) -> tuple[torch.Tensor, np.ndarray]:
    """The logits ``(n,C)`` of images (n,h,w), and their activation patterns ``(n,k)`` as packed bits."""
    if hasattr(module, "regions"):  # a tree numbers its regions itself
        return module(part), np.packbits(_bits(module.regions(part.detach())[:, None]), axis=1)
    if type(module) is nn.Sequential and {type(layer) for layer in module} <= LAYERS:
        return _walked(module, part)
    with _Switches() as switches:
        logits = module(part)
    return logits, _rows(switches.settings, len(part))


def _walked(layers: nn.Sequential, x: torch.Tensor) -> tuple[torch.Tensor, np.ndarray]:
    """The same for networks whose layers are all known: faster, and identical to the bit."""
    settings = []
    for layer in layers:
        if type(layer) is nn.ReLU:
            settings.append((x > 0).flatten(1).numpy())
        if type(layer) is nn.MaxPool2d:
            plane = x[0, 0].numel()
            x, at = functional.max_pool2d(
                x,
                layer.kernel_size,
                layer.stride,
                layer.padding,
                layer.dilation,
                layer.ceil_mode,
                return_indices=True,
            )
            settings.append(_bits(at, plane))
        else:
            x = layer(x)
    return x, _rows(settings, len(x))


def _rows(settings: list[np.ndarray], count: int) -> np.ndarray:
    """The activation patterns (n,k) of all layers as packed bits, a row for each of ``count`` inputs.

    A model without switches has one region.
    """
    return np.packbits(np.concatenate(settings, axis=1), axis=1) if settings else np.zeros((count, 1), np.uint8)


def activation_patterns(module: nn.Module, images: np.ndarray) -> np.ndarray:
    """The activation patterns ``(n,k)`` (uint8, packed bits) of images (n,h,w) in a float64 model.

    Two inputs lie in one linear region if all ReLUs and all max pools choose alike, or in a tree, if they
    fall into the same leaf: equal rows. NotApplicable for a model with other switches, or one that bends.
    """
    with torch.no_grad():
        return np.concatenate([_logits(module, part)[1] for part in _parts(images)])


def distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of rows (n,k), the r distinct ones: where each comes first, (r,); each row's number, (n,); counts, (r,)."""
    numbers: dict[bytes, int] = {}
    which = np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in rows])
    _, first, count = np.unique(which, return_index=True, return_counts=True)
    return first, which, count


def _parts(images: np.ndarray) -> Sequence[torch.Tensor]:
    return torch.from_numpy(np.require(images, np.float64, "W")).split(IMAGES_PER_PASS)


def decision_weights(module: nn.Module, images: np.ndarray, target: int) -> tuple[np.ndarray, np.ndarray]:
    """D_c ``(n,h,w)`` float64 of equation 1 (OpenAPI) at images (n,h,w), and the margin ``(n,)`` it belongs to.

    The margin is the mean log ratio of class c to the others; inside a region its gradient is D_c.
    """
    parts = []
    for part in _parts(images):
        part = part.clone().requires_grad_(True)
        parts.append(_weights(part, module(part), target))
    weights, margins = zip(*parts)
    return np.concatenate(weights), np.concatenate(margins)


def _weights(part: torch.Tensor, logits: torch.Tensor, target: int) -> tuple[np.ndarray, np.ndarray]:
    value = margin(logits, target)
    return torch.autograd.grad(value.sum(), part)[0].numpy(), value.detach().numpy()


def inside(module: nn.Module, images: np.ndarray, target: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``activation_patterns`` and both results of ``decision_weights`` for the same images, in one pass."""
    parts = []
    for part in _parts(images):
        part = part.clone().requires_grad_(True)
        logits, rows = _logits(module, part)
        parts.append((rows, *_weights(part, logits, target)))
    rows, weights, margins = zip(*parts)
    return np.concatenate(rows), np.concatenate(weights), np.concatenate(margins)


def pair_weights(module: nn.Module, images: np.ndarray, target: int) -> tuple[np.ndarray, np.ndarray]:
    """D_{c,c'} ``(r,C-1,d)`` float64 of equation 1 (OpenAPI), class c against every other, in each of the r regions
    that images (n,h,w) lie in, and the share ``(r,)`` of them that does.
    """
    first, _, count = distinct(activation_patterns(module, images))
    pairs = []
    for part in _parts(np.asarray(images)[first]):
        part = part.clone().requires_grad_(True)
        logits = module(part)
        others = [c for c in range(logits.shape[1]) if c != target]
        rows = [
            torch.autograd.grad((logits[:, target] - logits[:, c]).sum(), part, retain_graph=True)[0] for c in others
        ]
        pairs.append(torch.stack(rows, dim=1).flatten(2).numpy())
    return np.concatenate(pairs), count / len(images)
