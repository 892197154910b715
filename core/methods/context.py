"""What a method may use: the image, the output to explain, its gradient, training images, random numbers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch
from torch import nn
from torch.nn.functional import logsigmoid

from core.cache import Memory
from core.types import margin

IMAGES_PER_PASS = 512  # images in one pass through the network: bounds memory whatever an option says
SHARED_RESULTS = 32  # results that are shared of one image
PRECISION_OF = {"margin": np.float32, "probability": np.float64}  # of the explained scalar


class Network(Protocol):
    """What is used of a trained model (core.models.Model): the module, the same in float64, probabilities."""

    module: nn.Module
    double: nn.Module

    def predict_proba(self, x: np.ndarray) -> np.ndarray: ...


class ExplainedOutput(nn.Module):
    """The scalar being explained, from images (n,h,w) to (n,).

    ``margin``: mean over other classes c' of logit_c - logit_c', whose gradient inside a linear region is
    OpenAPI's D_c (equation 1). ``probability``: softmax of class c, whose gradient is p(1-p) times that of its log
    odds (two classes: of the margin).
    """

    def __init__(self, module: nn.Module, target: int, output: str):
        super().__init__()
        self.module, self.target, self.output = module, target, output

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits = self.module(x)
        if self.output == "margin":
            return margin(logits, self.target)
        # Not softmax, whose slope p(1-p) is 0 once p rounds to 1: that of exp(logsigmoid) is p sigmoid(-odds).
        return logsigmoid(log_odds(logits, self.target)).exp()


def log_odds(logits: torch.Tensor, target: int) -> torch.Tensor:
    """``ln(p_c / (1 - p_c))`` (n,) of class c from logits (n,C); two classes: the margin."""
    others = torch.cat([logits[:, :target], logits[:, target + 1:]], dim=1)
    return logits[:, target] - others.logsumexp(1)


class TrainingImages:
    """The training images, flattened, with what many methods need of them, computed once.

    ``x (n,d)`` in the data's own precision; ``y (n,)``.
    """

    def __init__(self, x: np.ndarray, y: np.ndarray):
        self.x, self.y = x.reshape(len(x), -1), y
        self._memory = Memory(SHARED_RESULTS)

    @property
    def mean(self) -> np.ndarray:
        """Mean image ``(d,)`` float64."""
        return self._memory.get("mean", lambda: np.asarray(self.x.mean(0, dtype=np.float64)))

    @property
    def squares(self) -> np.ndarray:
        """Squared length ``(n,)`` float64 of every image."""
        return self._memory.get("squares", lambda: np.einsum("ij,ij->i", self.x, self.x).astype(np.float64))

    @property
    def spread(self) -> float:
        """Range of pixel values, the unit in which noise options are given."""
        return self._memory.get("spread", lambda: float(self.x.max() - self.x.min()))

    def components(self, count: int) -> np.ndarray:
        """The ``count`` principal components ``(count, d)``."""
        return self._principal(count).components_

    def variance_kept(self, count: int) -> float:
        """The share of the variance that ``count`` principal components hold."""
        return float(self._principal(count).explained_variance_ratio_.sum())

    def _principal(self, count: int):
        from sklearn.decomposition import PCA  # late: slow to import, needed by one simplification only

        return self._memory.get(("components", count), lambda: PCA(count, random_state=0).fit(self.x))


class Shared:
    """What several methods need of one image and output, computed once, whichever of them asks first."""

    def __init__(self):
        self._memory = Memory(SHARED_RESULTS)

    def once(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """What ``compute`` gives; ``key`` holds all it depends on beside the image. Its arrays are read-only."""
        return self._memory.get(key, compute)


class Context:
    """One image of one model, as a method sees it.

    ``image (h,w)`` float32; ``target`` the explained class; ``facts`` and ``notes`` take what a method
    has to say of itself. ``rng`` is the only source of random numbers; ``number`` is the image's in its split, or
    that of the image this one was derived from. ``shared`` is common to all contexts of the same image and output.
    """

    def __init__(self, network: Network, image: np.ndarray, target: int, output: str, training: TrainingImages,
                 seed: int = 0, shared: Shared | None = None, number: int = 0):
        # A confident probability differs from 1 by less than float32 can say.
        self.network, module = network, network.double if output == "probability" else network.module
        self.explained, self.precision = ExplainedOutput(module, target, output), PRECISION_OF[output]
        self.image, self.target, self.output = np.array(image, np.float32), target, output
        self.training, self.seed, self.shared, self.number = training, seed, shared or Shared(), number
        self.facts: dict[str, Any] = {}
        self.notes: list[str] = []

    @property
    def seeds(self) -> tuple[int, int]:
        """What every random draw depends on: the method's seed and the image's number."""
        return self.seed, self.number

    @property
    def rng(self) -> np.random.Generator:
        """A new generator at every access, so that no draw depends on who drew before: a method takes one."""
        return np.random.default_rng(self.seeds)

    @property
    def shape(self) -> tuple[int, int]:
        return self.image.shape

    @cached_property
    def classes(self) -> int:
        """Number of classes the model tells apart."""
        with torch.no_grad():
            return self.explained.module(self.tensor(self.image)).shape[1]

    def hookable_copy(self) -> ExplainedOutput:
        """A copy of the explained module for methods that hook into it: other threads never see it."""
        return copy.deepcopy(self.explained)

    def tensor(self, images: np.ndarray | Sequence) -> torch.Tensor:
        """Images (n,h,w), (n,d) or (h,w) as a new tensor ``(n,h,w)`` of the precision in which they are explained."""
        return torch.tensor(np.asarray(images, self.precision)).reshape(-1, *self.shape)

    def outputs(self, images: np.ndarray) -> np.ndarray:
        """The explained scalar ``(n,)`` float64 of images (n,h,w) or (n,d)."""
        with torch.no_grad():
            parts = [self.explained(part) for part in self._batches(images)]
        return torch.cat(parts).double().numpy()

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        """Class probabilities ``(n,C)`` float64, computed in double, of inputs (n,d): the model as an API."""
        return self.network.predict_proba(np.asarray(x).reshape(-1, *self.shape))

    @property
    def gradient(self) -> np.ndarray:
        """Its gradient ``(h,w)`` float64 at the image."""
        return self.shared.once("gradient", lambda: self.gradients(self.image[None])[0]).copy()

    def gradients(self, images: np.ndarray) -> np.ndarray:
        """Its gradient ``(n,h,w)`` float64 at each image (n,h,w)."""
        gradients = []
        for part in self._batches(images):
            part = part.requires_grad_(True)
            gradients.append(torch.autograd.grad(self.explained(part).sum(), part)[0])
        return torch.cat(gradients).double().numpy()

    def baseline(self, name: str) -> np.ndarray:
        """The image ``(h,w)`` that stands for "feature absent": ``zero`` or the training ``mean``."""
        if name == "mean":
            return self.training.mean.reshape(self.shape).astype(np.float32)
        return np.zeros(self.shape, np.float32)

    def _batches(self, images: np.ndarray | Sequence) -> tuple[torch.Tensor, ...]:
        return self.tensor(images).split(IMAGES_PER_PASS)
