"""Suppressors in images: the idea in one plane (PatternLocal, Figure 1), and WHITE against CORR at equal SNR."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any

import numpy as np

from core import model_library, pipeline
from core.datasets import tetromino
from core.types import Attribution, Spec

PLANE_SPEC = Spec(scenario="XOR", background="CORR", snr=0.35, size=8, model="MLP", image=2)
IMAGE_SPEC = Spec(scenario="XOR", snr=0.05, size=64, model="MLP")
BACKGROUNDS = tetromino.BACKGROUNDS
FEWER_SAMPLES = {"n_samples": 500}  # half the default, because a class is waiting
PICTURED: dict[str, dict[str, Any]] = {
    "gradient": {},
    "lime": FEWER_SAMPLES,
    "kernelshap": FEWER_SAMPLES,
    "openapi": {},
    "patternlocal": {},
}
THRESHOLDS = np.linspace(0, 0.99, 100)
ZONES = ("inside the shape", "on correlated background", "elsewhere")
IMAGES_IN_PLANE = 1200  # training images drawn in the plane


@dataclass(frozen=True)
class SuppressorPlane:
    """A plane through one image, spanned by its weight and its pattern; the image is at (0, 0).

    ``points (n,2)`` are projected training images with ``labels (n,)``; ``margin (k,k)`` is the model's on the grid
    of ``across (k,)`` and ``up (k,)``, with rows along ``up``; ``line (2,2)`` are two points at which the linear
    surrogate changes sign. ``weight (2,)`` and ``pattern (2,)`` are unit vectors; the maps are those of Gradient and
    PatternLocal.
    """

    points: np.ndarray
    labels: np.ndarray
    across: np.ndarray
    up: np.ndarray
    margin: np.ndarray
    line: np.ndarray
    weight: np.ndarray
    pattern: np.ndarray
    maps: Mapping[str, Attribution]

    @property
    def inside(self) -> dict[str, float]:
        """The share of each map's mass on the important pixels."""
        return {name: _mass(a.values, a.mask) for name, a in self.maps.items()}

    @property
    def angle(self) -> float:
        """The angle between weight and pattern, in degrees."""
        return float(np.degrees(np.arccos(self.weight @ self.pattern)))

    def numbers(self) -> dict[str, Any]:
        """The numbers of this step as plain values."""
        return {"angle": self.angle, "inside": self.inside, "spec": PLANE_SPEC.to_dict()}


def suppressor_plane() -> SuppressorPlane:
    """Figure 1 of the paper with real images: data, decision boundary, local surrogate, weight, pattern and maps."""
    return _suppressor_plane(PLANE_SPEC)


@pipeline.remembered(1)
def _suppressor_plane(spec: Spec) -> SuppressorPlane:
    maps = {name: pipeline.explain(spec.replace(method=name)) for name in ("gradient", "patternlocal")}
    context = pipeline.context(spec)
    image = context.image.ravel().astype(np.float64)
    weight, pattern = (maps[name].values.ravel() for name in maps)
    first = pattern / np.linalg.norm(pattern)
    second = weight - (weight @ first) * first
    plane = np.stack([first, second / np.linalg.norm(second)])
    points = (context.training.x[:IMAGES_IN_PLANE] - image) @ plane.T
    low, high = points.min(0), points.max(0)
    across, up = (np.linspace(a - 0.1 * (b - a), b + 0.1 * (b - a), 81) for a, b in zip(low, high))
    grid = image + across[None, :, None] * plane[0] + up[:, None, None] * plane[1]
    margin = context.outputs(grid.reshape(-1, image.size)).reshape(len(up), len(across))
    slope = plane @ weight
    foot = -context.outputs(image[None])[0] * slope / (slope @ slope)
    along = np.array([-slope[1], slope[0]]) / np.linalg.norm(slope) * np.ptp(np.concatenate([across, up]))
    return SuppressorPlane(
        points,
        np.asarray(context.training.y[:IMAGES_IN_PLANE]),
        across,
        up,
        margin,
        np.stack([foot - along, foot + along]),
        slope / np.linalg.norm(slope),
        plane @ pattern / np.linalg.norm(pattern),
        maps,
    )


@dataclass(frozen=True)
class Background:
    """Step 4 for one background: ``maps`` by method, and where their mass lies.

    ``related (h,w)`` is each pixel's largest correlation with the noise under the shape, ``near (h,w)`` the
    background on which it counts as correlated. ``zones`` holds the three shares of ZONES by method, ``even`` those
    of a uniform map; ``curve (k,)`` the share on background whose correlation exceeds each of THRESHOLDS,
    ``even_curve`` that of the uniform map.
    """

    name: str
    maps: Mapping[str, Attribution]
    related: np.ndarray
    near: np.ndarray
    zones: Mapping[str, np.ndarray]
    even: np.ndarray
    curve: Mapping[str, np.ndarray]
    even_curve: np.ndarray
    accuracy: float

    @property
    def zone_map(self) -> np.ndarray:
        """The zones ``(h,w)`` as a picture: 1 on the shape, .35 on correlated background, 0 elsewhere."""
        return next(iter(self.maps.values())).mask + 0.35 * self.near

    def below_even(self, method: str) -> bool:
        """Whether a method has at most the uniform map's share on correlated background, at every threshold."""
        return bool((self.curve[method] <= self.even_curve).all())

    def numbers(self) -> dict[str, Any]:
        """The numbers of this step as plain values."""
        return {
            "zones": list(ZONES),
            "shares": {m: v.tolist() for m, v in self.zones.items()},
            "even_map": self.even.tolist(),
            "thresholds": THRESHOLDS.tolist(),
            "curve": {m: v.tolist() for m, v in self.curve.items()},
            "accuracy": self.accuracy,
        }


@pipeline.same_networks()
def images(
    image: int, correlation: float, progress: Callable[[int, int, str], None] | None = None
) -> tuple[Background, ...]:
    """The same methods on the same test image number of the WHITE and the CORR data set at equal SNR."""
    specs = {
        (name, method): IMAGE_SPEC.replace(background=name, image=image, method=method, options=PICTURED[method])
        for name in BACKGROUNDS
        for method in PICTURED
    }
    with ThreadPoolExecutor(len(BACKGROUNDS), thread_name_prefix="lesson") as pool:  # both data sets in parallel
        tasks = [
            pool.submit(copy_context().run, _map, specs[name, method])  # the same networks in every thread
            for method in PICTURED
            for name in BACKGROUNDS
        ]
        for done, _ in enumerate(as_completed(tasks)):
            if progress:
                progress(done, len(tasks), "maps")
    maps = {key: _map(spec) for key, spec in specs.items()}
    return tuple(_background(name, {m: maps[name, m] for m in PICTURED}, correlation) for name in BACKGROUNDS)


def _background(name: str, maps: Mapping[str, Attribution], correlation: float) -> Background:
    mask = next(iter(maps.values())).mask
    related, even = tetromino.noise_correlation(name, mask), np.ones(mask.shape)
    return Background(
        name,
        maps,
        related,
        ~mask & (related > correlation),
        {m: zones(a.values, mask, related, correlation) for m, a in maps.items()},
        zones(even, mask, related, correlation),
        {m: curve(a.values, mask, related) for m, a in maps.items()},
        curve(even, mask, related),
        model_library.model_record(IMAGE_SPEC.replace(background=name)).accuracy,
    )


@pipeline.remembered(64)
def _map(spec: Spec) -> Attribution:
    return pipeline.explain(spec)


def zones(values: np.ndarray, mask: np.ndarray, related: np.ndarray, correlation: float) -> np.ndarray:
    """Shares ``(3,)`` of |values| inside mask (h,w), on background with ``related`` above ``correlation``, elsewhere.

    NaN for an all-zero map.
    """
    near = ~mask & (related > correlation)
    return np.array([_mass(values, where) for where in (mask, near, ~mask & ~near)])


def curve(values: np.ndarray, mask: np.ndarray, related: np.ndarray) -> np.ndarray:
    """The share of |values| on background with ``related`` above each of THRESHOLDS ``(k,)``."""
    return np.array([_mass(values, ~mask & (related > t)) for t in THRESHOLDS])


def _mass(values: np.ndarray, where: np.ndarray) -> float:
    size = np.abs(values)
    total = float(size.sum())
    return float(size[where].sum()) / total if total > 0 else float("nan")
