"""Simplifications h: fewer features than pixels, on which surrogates and patterns can live.

Each gives ``project`` (images to features), ``lift`` (features back to images around x) and ``to_map``
(weights of features to a map), and ``mask`` (features off where z is 0: they become the reference's).
``lift`` changes an image only by what the features say:
``project(lift(z)) = z``, and it is linear in z, with ``pullback`` its transpose for gradients.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.methods.context import Context
from core.registry import Option
from core.types import NotApplicable

SIMPLIFICATION_OPTIONS = (
    Option("simplify", "Features the surrogate speaks about: pixels, squares of a grid, superpixels that follow the "
           "image (SLIC), or principal components of the training images.",
           choices=("pixels", "grid", "slic", "low-rank"), default="pixels"),
    Option("segments", "Superpixels asked for; SLIC may find fewer.", low=2, high=1024, default=64,
           when=(("simplify", ("grid", "slic")),)),
    Option("compactness", "SLIC: low follows the image, high makes squares.", low=0.001, high=10.0, log=True,
           default=0.1, when=(("simplify", ("slic",)),)),
    Option("components", "Low rank: principal components kept.", low=2, high=500,
           default=30, when=(("simplify", ("low-rank",)),)),
)


@dataclass(frozen=True)
class Pixels:
    """h(x) = x: every pixel is a feature."""

    image: np.ndarray  # (d,)

    @property
    def size(self) -> int:
        return self.image.size

    def project(self, images: np.ndarray) -> np.ndarray:
        return images

    def lift(self, z: np.ndarray) -> np.ndarray:
        return z

    def mask(self, z: np.ndarray, reference: np.ndarray) -> np.ndarray:
        return reference + z * (self.image - reference)

    def pullback(self, gradient: np.ndarray) -> np.ndarray:
        return gradient

    def to_map(self, weights: np.ndarray) -> np.ndarray:
        return weights


@dataclass(frozen=True)
class Superpixels:
    """h(x) = the mean of each segment; ``labels (d,)`` are 0..size-1 without gaps."""

    image: np.ndarray  # (d,)
    labels: np.ndarray

    @property
    def size(self) -> int:
        return int(self.labels.max()) + 1

    def project(self, images: np.ndarray) -> np.ndarray:
        average = np.zeros((self.labels.size, self.size), images.dtype)
        average[np.arange(self.labels.size), self.labels] = 1 / np.bincount(self.labels)[self.labels]
        return images @ average

    def lift(self, z: np.ndarray) -> np.ndarray:
        return self.image + (z - self.project(self.image[None]))[:, self.labels]

    def mask(self, z: np.ndarray, reference: np.ndarray) -> np.ndarray:
        return reference + z[:, self.labels] * (self.image - reference)

    def pullback(self, gradient: np.ndarray) -> np.ndarray:
        return np.bincount(self.labels, gradient, self.size)

    def to_map(self, weights: np.ndarray) -> np.ndarray:
        return weights[..., self.labels]


@dataclass(frozen=True)
class LowRank:
    """h(x) = the first principal components of the training images; ``basis (size,d)`` orthonormal rows."""

    image: np.ndarray  # (d,)
    mean: np.ndarray
    basis: np.ndarray

    @property
    def size(self) -> int:
        return len(self.basis)

    def project(self, images: np.ndarray) -> np.ndarray:
        return (images @ self.basis.T - self.mean @ self.basis.T).astype(images.dtype)

    def lift(self, z: np.ndarray) -> np.ndarray:
        return self.image + (z - self.project(self.image[None])) @ self.basis

    def mask(self, z: np.ndarray, reference: np.ndarray) -> np.ndarray:
        off, on = self.project(np.stack([reference, self.image]))
        return self.lift(off + z * (on - off))

    def pullback(self, gradient: np.ndarray) -> np.ndarray:
        return self.basis @ gradient

    def to_map(self, weights: np.ndarray) -> np.ndarray:
        return weights @ self.basis


Simplification = Pixels | Superpixels | LowRank


def simplification(context: Context, simplify: str, segments: int, compactness: float,
                   components: int) -> Simplification:
    """The simplification the options ask for, with the number of features it has among the facts."""
    image = context.image.ravel()
    if simplify == "pixels":
        return Pixels(image)
    if simplify == "low-rank":
        h: Simplification = LowRank(image, context.training.mean, principal_components(context, components))
        context.facts["variance_kept"] = context.training.variance_kept(components)
    else:
        labels = grid(context.shape, segments) if simplify == "grid" else \
            superpixels(context.image, segments, compactness)
        h = Superpixels(image, labels.ravel())
        if h.size < 2:
            raise NotApplicable("SLIC found one segment that covers the whole image, so no part can be more "
                                "important than another. Take a higher compactness or more segments.")
        if simplify == "slic" and np.array_equal(labels, grid(context.shape, h.size)):
            context.notes.append("These superpixels are a plain grid: take a lower compactness")
    context.facts["features"] = h.size
    return h


def grid(shape: tuple[int, int], segments: int) -> np.ndarray:
    """Labels ``(h,w)`` of about ``segments`` equal rectangles."""
    rows, columns = shape
    across = max(1, min(columns, round(np.sqrt(segments * columns / rows))))
    down = max(1, min(rows, round(segments / across)))
    return np.add.outer(np.arange(rows) * down // rows * across, np.arange(columns) * across // columns)


def superpixels(image: np.ndarray, segments: int, compactness: float) -> np.ndarray:
    """SLIC labels ``(h,w)`` without gaps; the same for x, its float copies and 10 x + 3.

    The image is scaled to [0, 1] first: SLIC's balance of grey value and distance depends on the range.
    """
    image = np.asarray(image, np.float64)
    low, span = image.min(), np.ptp(image)
    scaled = np.round((image - low) / span, 6) if span else np.zeros_like(image)
    from skimage.segmentation import slic  # late: few maps need it

    labels = slic(scaled, n_segments=segments, compactness=compactness, channel_axis=None, start_label=0)
    return np.unique(labels, return_inverse=True)[1].reshape(image.shape)


def principal_components(context: Context, components: int) -> np.ndarray:
    """``(components, d)`` orthonormal directions of largest variance among the training images."""
    n, d = context.training.x.shape
    if components > min(n, d):
        raise NotApplicable(f"{components} components of {d} pixels and {n} training images: take at most "
                            f"{min(n, d)}.")
    return context.training.components(components)
