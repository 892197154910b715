"""Fashion-MNIST and MNIST, on which OpenAPI was evaluated: real images, of which nobody knows which pixels matter."""

from __future__ import annotations

import dataclasses
import gzip
import zlib
from pathlib import Path

import numpy as np

from core import store
from core.cache import cached
from core.registry import DATASETS
from core.types import Dataset, InputError, Split

EDGE = 28
GARMENTS = ("T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot")


@DATASETS.register(
    "fashion-mnist",
    label="Fashion-MNIST",
    has_ground_truth=False,
    classes=GARMENTS,
    summary="Photographs of garments in ten classes, 28 x 28 grey pixels. Which pixels matter is not known; the "
    "models' own weights are.",
    formula="x = grey value / 255",
    misleads="A map that looks like a shoe need not be how the model tells a shoe: no truth is there to hold it "
    "against.",
    reference="Xiao et al. 2017, Fashion-MNIST, arXiv 1708.07747",
)
def fashion_mnist() -> Dataset:
    """10,000 of the training images (the last 1,000 for validation) and all 10,000 test images, values 0 to 1."""
    return _shipped("fashion-mnist")


@DATASETS.register(
    "mnist",
    label="MNIST",
    has_ground_truth=False,
    classes=tuple("0123456789"),
    summary="Handwritten digits, 28 x 28 grey pixels. Which pixels matter is not known; the models' own weights are.",
    formula="x = grey value / 255",
    misleads="Empty borders never vary, so weights there cost a model nothing and mean nothing.",
    reference="LeCun et al. 1998, Gradient-based learning applied to document recognition",
)
def mnist() -> Dataset:
    """10,000 digits: 8,000 for training, 1,000 for validation, 1,000 for testing, values 0 to 1."""
    return _shipped("mnist")


@cached(2)
def _shipped(name: str) -> Dataset:
    record = next((r for r in store.manifest("data") if r["name"] == name), None)
    if record is None:
        raise InputError(f"{name} is missing from assets. Restore it from the repository.")
    path = store.checked(store.ASSETS / "data" / Path(record["file"]).name, record["sha256"])
    arrays = store.read_arrays(path.read_bytes())
    x, y = arrays["x"], arrays["y"].astype(np.int64)
    ends = np.cumsum([record["train"], record["val"], record["test"]])
    train, val, test = (_split(x[a:b], y[a:b]) for a, b in zip([0, *ends[:2]], ends))
    recipe = {"dataset": name, "sha256": record["sha256"]}
    return Dataset(recipe, train, val, test, np.zeros((EDGE, EDGE), bool), "union")


def _split(x: np.ndarray, y: np.ndarray) -> Split:
    return Split(x.astype(np.float32) / 255, y, np.broadcast_to(False, x.shape))


def with_training_images(dataset: Dataset, folder: Path) -> Dataset:
    """The data set with all training images of a folder of IDX files, but those it validates on.

    The files are the published ones: ``train-images-idx3-ubyte.gz`` and ``train-labels-idx1-ubyte.gz``.
    """
    x, y = read_idx(folder / "train-images-idx3-ubyte.gz"), read_idx(folder / "train-labels-idx1-ubyte.gz")
    if x.shape != (len(y), EDGE, EDGE):
        raise InputError(f"{folder} holds images {x.shape} and labels {y.shape}, not (n,{EDGE},{EDGE}) and (n,).")
    kept_back = {image.tobytes() for image in np.round(dataset.val.x * 255).astype(np.uint8)}
    new = np.array([image.tobytes() not in kept_back for image in x])
    return dataclasses.replace(dataset, train=_split(x[new], y[new].astype(np.int64)))


def read_idx(path: Path) -> np.ndarray:
    """The array of unsigned bytes in a gzipped IDX file."""
    try:
        data = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read as a gzipped IDX file: {error}") from None
    if data[:3] != b"\0\0\x08" or len(data) < 4 + 4 * data[3]:
        raise InputError(f"{path} is not an IDX file of unsigned bytes.")
    start = 4 + 4 * data[3]
    shape = np.frombuffer(data[4:start], ">u4").astype(int)
    if len(data) - start != shape.prod():
        raise InputError(f"{path} is cut short: {len(data) - start} bytes instead of {shape.prod()}.")
    return np.frombuffer(data[start:], np.uint8).reshape(shape)
