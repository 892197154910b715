"""Baselines that never look at the model: what a method must beat to have explained anything."""

from __future__ import annotations

import numpy as np
from skimage import filters

from core.methods.context import Context
from core.registry import METHODS

MISLEADS = "It knows nothing of the model or the label: a good score means the benchmark is easy for edges."


@METHODS.register(
    "sobel", label="Sobel", group="filter", signed=False, misleads=MISLEADS,
    summary="Edge strength: the magnitude of the image's Sobel gradient (both axes). It never looks at the "
            "model.",
    formula="√((Gₓ∗x)² + (G_y∗x)²)",
    reference="Sobel 1968; scikit-image filters.sobel")
def sobel(context: Context) -> np.ndarray:
    return filters.sobel(context.image.astype(np.float64))


@METHODS.register(
    "laplace", label="Laplace", group="filter", misleads=MISLEADS,
    summary="Second derivative of the image: how a pixel differs from its neighbours. It never looks at the "
            "model.",
    formula="∇²x on 3 × 3 pixels",
    reference="scikit-image filters.laplace, 3x3")
def laplace(context: Context) -> np.ndarray:
    return filters.laplace(context.image.astype(np.float64), ksize=3)


@METHODS.register(
    "input", label="Input itself", group="filter",
    misleads="It explains nothing; where it scores well, bright pixels are the important ones.",
    summary="The image's own pixel values. It never looks at the model; it is there to be compared with.",
    formula="x",
    reference="XAI-TRIS baseline")
def input_itself(context: Context) -> np.ndarray:
    return context.image.astype(np.float64)


@METHODS.register(
    "random", label="Random", group="filter", seeded=True,
    misleads="It explains nothing: a method near its score has not explained anything either.",
    summary="Independent normal numbers. They are what a map without any knowledge looks like.",
    formula="ε ~ N(0, 1)",
    reference="XAI-TRIS baseline")
def random(context: Context) -> np.ndarray:
    return context.rng.standard_normal(context.shape)
