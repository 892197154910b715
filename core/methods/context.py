"""What a method may use: the image, the output to explain, its gradient, training images and random numbers."""

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

IMAGES_PER_PASS = 512  # through the network: bounds memory, however many samples an option asks for
SHARED_RESULTS = 32  # kept for each image
PRECISION = {"margin": np.float32, "probability": np.float64}  # of the explained scalar


class Network(Protocol):
    """What methods use of a trained model (core.models.Model): the module, its float64 copy, its answers."""

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
        """The explained scalar ``(n,)`` of images (n,h,w)."""
        logits = self.module(x)
        if self.output == "margin":
            return margin(logits, self.target)
        # Not softmax, whose slope p(1-p) is 0 once p rounds to 1: that of exp(logsigmoid) is p sigmoid(-odds).
        return logsigmoid(log_odds(logits, self.target)).exp()


def log_odds(logits: torch.Tensor, target: int) -> torch.Tensor:
    """``ln(p_c / (1 - p_c))`` (n,) of class c from logits (n,C); two classes: the margin."""
    others = torch.cat([logits[:, :target], logits[:, target + 1 :]], dim=1)
    return logits[:, target] - others.logsumexp(1)


class TrainingImages:
    """The training images ``x (n,d)``, flattened and in the data's own precision, with labels ``y (n,)``.

    Statistics that several methods use are computed once.
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
        """The range of pixel values, which is the unit of all noise options."""
        return self._memory.get("spread", lambda: float(self.x.max() - self.x.min()))

    def components(self, count: int) -> np.ndarray:
        """The ``count`` principal components ``(count, d)``."""
        return self._principal(count).components_

    def variance_kept(self, count: int) -> float:
        """The share of the variance that the first ``count`` principal components explain."""
        return float(self._principal(count).explained_variance_ratio_.sum())

    def _principal(self, count: int):
        from sklearn.decomposition import PCA  # late: slow to import, needed by one simplification only

        return self._memory.get(("components", count), lambda: PCA(count, random_state=0).fit(self.x))


class Shared:
    """Results about one image and output that several methods use; the first to need one computes it."""

    def __init__(self):
        self._memory = Memory(SHARED_RESULTS)

    def once(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """The result of ``compute``; ``key`` holds all it depends on besides the image. Arrays are read-only."""
        return self._memory.get(key, compute)


class Context:
    """One image of one model, as a method sees it.

    ``image (h,w)`` float32; ``target`` the explained class; ``rng`` the only source of random numbers. ``number`` is
    the image's in its split, or that of the image this one was derived from. ``shared`` is common to all contexts of
    the same image and output. A method may add sentences for the reader to ``notes``, and to ``facts``:

    ======================  ===========================================================================
    fact                    meaning (set by)
    ======================  ===========================================================================
    fit                     weighted R2 of the surrogate on its samples (LIME, KernelSHAP, PatternLocal)
    samples                 number of perturbed images the surrogate was fitted to (the same)
    features                number of features, where they are not pixels or a surrogate was fitted
    features_at_reference   features that equal their reference, so that they have no weight per unit
    variance_kept           share of the variance that the principal components explain (low rank)
    neighbours              training images with a weight above 0 (PatternLocal)
    effective_neighbours    effective sample size 1 / sum p^2 of the neighbourhood (PatternLocal)
    radius                  largest radius, in pixel units, that the test points accepted (OpenAPI)
    rounds, queries         rounds of sampling and rows sent to the model (OpenAPI)
    error_bound             bound on the relative L1 error of the weights (OpenAPI)
    ======================  ===========================================================================
    """

    def __init__(
        self,
        network: Network,
        image: np.ndarray,
        target: int,
        output: str,
        training: TrainingImages,
        seed: int = 0,
        shared: Shared | None = None,
        number: int = 0,
    ):
        # A confident probability differs from 1 by less than float32 can resolve.
        self.network, module = network, network.double if output == "probability" else network.module
        self.explained, self.precision = ExplainedOutput(module, target, output), PRECISION[output]
        self.image, self.target, self.output = np.array(image, np.float32), target, output
        self.training, self.seed, self.shared, self.number = training, seed, shared or Shared(), number
        self.facts: dict[str, Any] = {}
        self.notes: list[str] = []

    @property
    def seeds(self) -> tuple[int, int]:
        """The method's seed and the image's number, on which every random draw depends."""
        return self.seed, self.number

    @property
    def rng(self) -> np.random.Generator:
        """A fresh generator at every access, so that no draw depends on earlier ones; a method uses one of them."""
        return np.random.default_rng(self.seeds)

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the image in pixels."""
        return self.image.shape

    @cached_property
    def classes(self) -> int:
        """The number of classes."""
        with torch.no_grad():
            return self.explained.module(self.tensor(self.image)).shape[1]

    def hookable_copy(self) -> ExplainedOutput:
        """A copy of the explained module, for methods that attach hooks: other threads never see them."""
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
        """The gradient ``(h,w)`` float64 of the explained scalar at the image."""
        return self.shared.once("gradient", lambda: self.gradients(self.image[None])[0]).copy()

    def gradients(self, images: np.ndarray) -> np.ndarray:
        """The gradient ``(n,h,w)`` float64 of the explained scalar at each of the images (n,h,w)."""
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
