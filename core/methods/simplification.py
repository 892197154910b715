"""Simplifications h: fewer features than pixels, on which surrogates and patterns can live."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from core.methods.context import Context
from core.registry import Option
from core.types import NotApplicable

SIMPLIFICATION_OPTIONS = (
    Option(
        "simplify",
        "Features of the surrogate: pixels, squares of a grid, superpixels that follow the image "
        "(SLIC), or principal components of the training images.",
        choices=("pixels", "grid", "slic", "low-rank"),
        default="pixels",
    ),
    Option(
        "segments",
        "Number of superpixels; SLIC may return fewer.",
        low=2,
        high=1024,
        default=64,
        when=(("simplify", ("grid", "slic")),),
    ),
    Option(
        "compactness",
        "SLIC: low values follow the image, high values give squares.",
        low=0.001,
        high=10.0,
        log=True,
        default=0.1,
        when=(("simplify", ("slic",)),),
    ),
    Option(
        "components",
        "Low rank: number of principal components.",
        low=2,
        high=500,
        default=30,
        when=(("simplify", ("low-rank",)),),
    ),
)


class Simplification(Protocol):
    """A map h from d pixels to D features, and the ways back, around one image x.

    ``project(lift(z)) = z``: lifting changes the image only by what the features hold. It is linear in z up to a
    constant, and ``pullback`` is the transpose of its linear part.
    """

    @property
    def size(self) -> int:
        """The number D of features."""

    def project(self, images: np.ndarray) -> np.ndarray:
        """The features ``(n,D)`` of images (n,d), in the images' own precision."""

    def lift(self, z: np.ndarray) -> np.ndarray:
        """The images ``(n,d)`` nearest to x that have the features z (n,D)."""

    def mask(self, z: np.ndarray, reference: np.ndarray) -> np.ndarray:
        """Images ``(n,d)`` with x's features where z (n,D) is 1, those of the reference image (d,) where it is 0."""

    def pullback(self, gradient: np.ndarray) -> np.ndarray:
        """The gradient ``(D,)`` with respect to the features, of one with respect to the pixels (d,)."""

    def to_map(self, weights: np.ndarray) -> np.ndarray:
        """Weights (...,D) of the features as a map ``(...,d)`` of the pixels."""


@dataclass(frozen=True)
class Pixels:
    """h(x) = x: every pixel of the ``image (d,)`` is a feature."""

    image: np.ndarray

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
    """h(x) = the mean of each segment of the ``image (d,)``; ``labels (d,)`` are 0..D-1 without gaps."""

    image: np.ndarray
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
    """h(x) = basis (x - mean): the first principal components.

    ``image (d,)`` and ``mean (d,)``; the rows of ``basis (D,d)`` are orthonormal.
    """

    image: np.ndarray
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


def simplification(
    context: Context, simplify: str, segments: int, compactness: float, components: int
) -> Simplification:
    """The simplification of the context's image that the options describe; sets the fact ``features``.

    NotApplicable where SLIC finds a single segment, or there are fewer principal components than asked for.
    """
    image = context.image.ravel()
    if simplify == "pixels":
        return Pixels(image)
    if simplify == "low-rank":
        h = LowRank(image, context.training.mean, principal_components(context, components))
        context.facts["variance_kept"] = context.training.variance_kept(components)
    else:
        labels = (
            grid(context.shape, segments) if simplify == "grid" else superpixels(context.image, segments, compactness)
        )
        h = Superpixels(image, labels.ravel())
        if h.size < 2:
            raise NotApplicable(
                "SLIC found a single segment that covers the whole image, so no part can be more "
                "important than another. Use a higher compactness or more segments."
            )
        if simplify == "slic" and np.array_equal(labels, grid(context.shape, h.size)):
            context.notes.append("These superpixels are a plain grid: use a lower compactness")
    context.facts["features"] = h.size
    return h


def grid(shape: tuple[int, int], segments: int) -> np.ndarray:
    """Labels ``(h,w)`` of about ``segments`` equal rectangles."""
    rows, columns = shape
    across = max(1, min(columns, round(np.sqrt(segments * columns / rows))))
    down = max(1, min(rows, round(segments / across)))
    return np.add.outer(np.arange(rows) * down // rows * across, np.arange(columns) * across // columns)


def superpixels(image: np.ndarray, segments: int, compactness: float) -> np.ndarray:
    """SLIC labels ``(h,w)`` 0, 1, 2 ... of an image (h,w); Achanta et al. 2012.

    The image is scaled to [0, 1] first, because SLIC's balance of grey value and distance depends on the range: x and
    10 x + 3 have the same superpixels.
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
        raise NotApplicable(
            f"{components} components of {d} pixels and {n} training images: at most {min(n, d)} are possible."
        )
    return context.training.components(components)
