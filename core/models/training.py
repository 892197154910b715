"""Training that reaches the accuracy the benchmark needs, in about a minute on a small machine.

Plain gradient descent does not learn to cancel smooth noise at low SNR: the directions that matter have
the smallest variance. Whitening the images puts all directions on one scale; its matrix is folded into
the first layer afterwards, so the network still takes pixels.
"""

from __future__ import annotations

import copy
import threading

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from core.models.model import Model, freeze
from core.registry import MODELS, ModelEntry
from core.types import Dataset, Progress, Split, one_of, silent, whole_number

TRAINING_MODES = ("auto", "plain", "whitened")
EPOCHS = 80
PATIENCE = 10  # epochs without a better validation accuracy or loss
TRIAL = 3  # epochs of plain training before whitened training is tried
LIFTED = 0.8  # validation accuracy at which a training has started to learn
GOOD = 0.9999  # validation accuracy that ends a training
BATCH_SIZE = 64
WHITEN = 1e-3  # share of the mean eigenvalue added before the inverse square root
_one_at_a_time = threading.Lock()  # PyTorch has one generator for all threads


def train(
    kind: str,
    dataset: Dataset,
    *,
    seed: int = 0,
    progress: Progress | None = None,
    way: str = "auto",
    epochs: int | None = None,
) -> Model:
    """A model of ``kind`` (a registered name) trained on ``dataset``; the better of plain and whitened training.

    Plain training starts alone; if it has not begun to learn after TRIAL epochs, both take turns until one does, and
    that one continues until it stops improving. Every epoch after the first uses fresh images where the data set can
    draw them. Reproducible by ``seed``. ``way``: "plain" or "whitened" if it is known which one works; ``epochs``:
    the maximum number of passes over the data, instead of EPOCHS. The model's ``accuracy`` is that on the test split.
    InputError for an unknown kind or way.
    """
    max_epochs = EPOCHS if epochs is None else whole_number("epochs", epochs, 1)
    one_of("training", way, TRAINING_MODES)
    entry = MODELS[kind]
    size = dataset.train.x.shape[-1]
    progress = progress or silent
    progress(0, max_epochs, "preparing")
    with _one_at_a_time, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if entry.fit:
            module = entry.function(size)
            passes = entry.fit(module, dataset, seed, progress)
            return _finished(kind, freeze(module), dataset, {"training": "leaf by leaf", "epochs": passes}, progress)
        runs = [_Run("plain" if way == "auto" else way, entry.function(size), dataset, entry, max_epochs)]
        while runs[0].epochs < TRIAL and not runs[0].finished:
            runs[0].epoch(progress)
        if way == "auto" and entry.whitening and runs[0].best[0] < LIFTED:
            progress(runs[0].epochs, EPOCHS, "whitening the images")
            torch.manual_seed(seed)
            runs.append(_Run("whitened", entry.function(size), dataset, entry, max_epochs))
        while not any(r.best[0] > LIFTED for r in runs) and not all(r.finished for r in runs):
            min((r for r in runs if not r.finished), key=lambda r: r.epochs).epoch(progress)
        run = max(runs, key=lambda r: r.best)
        while not run.finished:
            run.epoch(progress)
    return _finished(kind, run.result(), dataset, {"training": run.way, "epochs": run.epochs}, progress)


def _finished(kind: str, module: nn.Module, dataset: Dataset, facts: dict, progress: Progress) -> Model:
    """The trained model with its accuracies."""
    reached = {
        name: accuracy(module, part.x, part.y)[0]
        for name, part in (("train", dataset.train), ("val", dataset.val), ("test", dataset.test))
    }
    progress(1, 1, f"test accuracy {reached['test']:.3f}")
    return Model(kind, module, reached["test"], facts | {"validation": reached["val"], "on_train": reached["train"]})


def whiten(x: np.ndarray) -> tuple[torch.Tensor, float]:
    """W (d,d) and s such that images times W / s have equal variance in every direction.

    ``W = U diag((lam + 1e-3 mean(lam))^-1/2) U'`` of the second-moment matrix of x (n,h,w).
    """
    flat = torch.from_numpy(np.array(x)).flatten(1)
    values, vectors = torch.linalg.eigh(flat.T @ flat / len(flat))
    values = values.clamp(min=0)
    matrix = (vectors * (values + WHITEN * values.mean()).rsqrt()) @ vectors.T
    return matrix, float((flat[:2000] @ matrix).std())


class _Run:
    """One training, epoch by epoch; ``best`` is the validation (accuracy, -loss) reached so far."""

    def __init__(self, way: str, module: nn.Module, dataset: Dataset, entry: ModelEntry, max_epochs: int):
        self.max_epochs, self.way, self.module, self.dataset = max_epochs, way, module, dataset
        self.whitening = whiten(dataset.train.x) if way == "whitened" else None
        self.scale = float(np.std(dataset.train.x[:2000]))
        self.validation = self._prepare(dataset.val)
        self.optimizer = torch.optim.Adam(module.parameters(), lr=entry.rate)
        self.best, self.best_state = (0.0, -np.inf), copy.deepcopy(module.state_dict())
        self.patience = entry.patience
        self.epochs = self.epochs_since_best = 0

    @property
    def finished(self) -> bool:
        patience = PATIENCE if self.best[0] > 0.6 else self.patience
        return self.best[0] >= GOOD or self.epochs_since_best >= patience or self.epochs >= self.max_epochs

    def epoch(self, progress: Progress) -> None:
        """One pass over the training images, or over as many fresh ones."""
        fresh = self.epochs > 0 and self.dataset.fresh is not None
        x, y = self._prepare(self.dataset.fresh(self.epochs) if fresh else self.dataset.train)
        self.module.train()
        for batch in torch.randperm(len(y)).split(BATCH_SIZE):
            loss = cross_entropy(self.module(x[batch]), y[batch])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        quality = accuracy(self.module, *self.validation)
        self.epochs, self.epochs_since_best = self.epochs + 1, self.epochs_since_best + 1
        if quality > self.best:
            self.best, self.best_state, self.epochs_since_best = quality, copy.deepcopy(self.module.state_dict()), 0
        progress(self.epochs, self.max_epochs, f"{self.way} training, validation accuracy {quality[0]:.3f}")

    def result(self) -> nn.Module:
        """The best network so far, with scale or whitening folded in: it takes pixels."""
        self.module.load_state_dict(self.best_state)
        first = next(m for m in self.module.modules() if isinstance(m, (nn.Linear, nn.Conv2d)))
        with torch.no_grad():
            first.weight.copy_(
                first.weight / self.scale
                if self.whitening is None
                else first.weight @ self.whitening[0] / self.whitening[1]
            )
        return freeze(self.module)

    def _prepare(self, split: Split) -> tuple[torch.Tensor, torch.Tensor]:
        x = torch.from_numpy(np.array(split.x))
        if self.whitening is None:
            x /= self.scale
        else:
            x = (x.flatten(1) @ self.whitening[0] / self.whitening[1]).view_as(x)
        return x, torch.from_numpy(np.array(split.y))


def accuracy(module: nn.Module, x, y) -> tuple[float, float]:
    """The share of images x (n,h,w) with the predicted label y (n,), and the negative mean cross-entropy."""
    module.eval()
    with torch.no_grad():
        images, labels = (v if isinstance(v, torch.Tensor) else torch.from_numpy(np.array(v)) for v in (x, y))
        logits = torch.cat([module(part) for part in images.split(1000)])
    return float((logits.argmax(1) == labels).double().mean()), -float(cross_entropy(logits, labels))
