"""A trained network as the rest of the program sees it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import nn

BATCH = 64  # images in one forward pass: what lies between layers stays in the cache (CNN: 3 times faster than 1024)


@dataclass(frozen=True)
class Model:
    """A frozen network: ``module`` maps images (n,h,w) float32 to logits (n,C).

    ``accuracy`` is the share of right labels on the data set's test split; ``facts`` say how it was
    trained; ``digest`` is the sha256 of its file, part of every result's cache key.
    """

    kind: str
    module: nn.Module
    accuracy: float
    facts: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""

    @cached_property
    def double(self) -> nn.Module:
        """The same network in float64: what OpenAPI and probabilities need."""
        return freeze(copy.deepcopy(self.module).double())

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        """Class probabilities (n,C) float64 of images (n,h,w), computed in double precision."""
        parts = (torch.from_numpy(np.array(x[i:i + BATCH], dtype=np.float64)) for i in range(0, len(x), BATCH))
        with torch.no_grad():
            return torch.cat([self.double(part).softmax(1) for part in parts]).numpy()


def freeze(module: nn.Module) -> nn.Module:
    """The module in eval mode with fixed parameters."""
    return module.eval().requires_grad_(False)
