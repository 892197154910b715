"""What a kept result depends on, as a short name: its Spec, the model's file, this program's code, the libraries."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from importlib.metadata import version

from core import store
from core.registry import DATASETS, METHODS, METRICS, MODELS
from core.types import Attribution, Dataset, Spec

LIBRARIES = ("numpy", "scipy", "torch", "captum", "scikit-image", "scikit-learn", "POT")


def result_key(spec: Spec, digest: str, data: Dataset) -> str:
    """Everything a map depends on, with the ``digest`` of its model; what only scoring reads (truth) is left out."""
    functions = METHODS[spec.method].function, DATASETS[spec.dataset].function, MODELS[spec.model].function
    return store.key(
        {**spec.to_dict(), "truth": "", "model_file": digest, "data_file": data.recipe.get("sha256", "")},
        *_code("methods", "datasets", "models/model.py", *(f for one in functions for f in _home(one))),
    )


def score_key(attribution: Attribution, metric: str) -> str:
    """Everything a score depends on."""
    return store.key(
        metric,
        store.array_key(attribution.values, attribution.mask),
        *_code("metrics", *_home(METRICS[metric].function)),
    )


def _home(function: Callable) -> tuple[str, ...]:
    """The file in which a registered function is written; none for what is built in."""
    try:
        path = inspect.getfile(inspect.unwrap(function))
    except TypeError:
        return ()
    return (path,) if os.path.isfile(path) else ()


@functools.cache  # the code that runs stays the same, whatever is written to its files
def _code(*packages: str) -> tuple:
    return (store.sources(*packages, "types.py", "pipeline.py"), [version(name) for name in LIBRARIES])
