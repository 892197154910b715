"""Baselines that never use the model: a method must beat them to have explained anything."""

from __future__ import annotations

import numpy as np
from skimage import filters

from core.methods.context import Context
from core.registry import METHODS

MISLEADS = "It ignores both model and label: a good score means that edges alone solve the benchmark."


@METHODS.register(
    "sobel",
    label="Sobel",
    group="filter",
    signed=False,
    misleads=MISLEADS,
    summary="Edge strength: the magnitude of the image's Sobel gradient along both axes. It does not use the model.",
    formula="√((Gₓ∗x)² + (G_y∗x)²)",
    reference="Sobel 1968; scikit-image filters.sobel",
)
def sobel(context: Context) -> np.ndarray:
    """The magnitude of the Sobel gradient ``(h,w)``."""
    return filters.sobel(context.image.astype(np.float64))


@METHODS.register(
    "laplace",
    label="Laplace",
    group="filter",
    misleads=MISLEADS,
    summary="The image's second derivative: how a pixel differs from its neighbours. It does not use the model.",
    formula="∇²x on 3 × 3 pixels",
    reference="scikit-image filters.laplace, 3x3",
)
def laplace(context: Context) -> np.ndarray:
    """The discrete Laplacian ``(h,w)``."""
    return filters.laplace(context.image.astype(np.float64), ksize=3)


@METHODS.register(
    "input",
    label="Input itself",
    group="filter",
    misleads="It explains nothing; where it scores well, the important pixels are simply the bright ones.",
    summary="The image's pixel values. It does not use the model and serves as a baseline.",
    formula="x",
    reference="XAI-TRIS baseline",
)
def input_itself(context: Context) -> np.ndarray:
    """The image ``(h,w)`` itself."""
    return context.image.astype(np.float64)


@METHODS.register(
    "random",
    label="Random",
    group="filter",
    seeded=True,
    misleads="It explains nothing: a method with a similar score has explained nothing either.",
    summary="Independent normal random numbers: what a map looks like that contains no information.",
    formula="ε ~ N(0, 1)",
    reference="XAI-TRIS baseline",
)
def random(context: Context) -> np.ndarray:
    """Standard normal random numbers ``(h,w)``."""
    return context.rng.standard_normal(context.shape)
