"""A trained network, as the rest of the program uses it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import nn

from core.cache import Memory

IMAGES_PER_PASS = 256  # activations fit into the processor's cache
IMAGES_PER_CONVOLUTION = 16  # the same for convolutional networks, whose activations are larger than their images


@dataclass(frozen=True)
class Model:
    """A frozen network: ``module`` maps images (n,h,w) float32 to logits (n,C).

    ``accuracy`` is the share of the data set's test split that it classifies correctly; ``facts`` record how it was
    trained; ``digest`` is the sha256 of its file, part of every result's cache key.
    """

    kind: str
    module: nn.Module
    accuracy: float
    facts: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""
    _memory: Memory = field(default_factory=lambda: Memory(2), init=False, repr=False, compare=False)

    @property
    def double(self) -> nn.Module:
        """The same network in float64, for OpenAPI and for probabilities."""
        return self._memory.get("double", lambda: freeze(copy.deepcopy(self.module).double()))

    @cached_property
    def batch(self) -> int:
        """The number of images in one forward pass."""
        convolves = any(isinstance(layer, nn.Conv2d) for layer in self.module.modules())
        return IMAGES_PER_CONVOLUTION if convolves else IMAGES_PER_PASS

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        """Class probabilities (n,C) float64 of images (n,h,w), computed in double precision."""
        size, network = self.batch, self.double
        parts = (torch.from_numpy(np.require(x[i : i + size], np.float64, "W")) for i in range(0, len(x), size))
        with torch.no_grad():
            return torch.cat([network(part).softmax(1) for part in parts]).numpy()


def freeze(module: nn.Module) -> nn.Module:
    """The module in eval mode with fixed parameters."""
    return module.eval().requires_grad_(False)
