"""What all tests share. No test reads or writes the user's own cache."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory):
    """A cache folder of this test run's own, for this process and those it starts."""
    before = os.environ.get("ATTRIBUTION_LAB_HOME")
    os.environ["ATTRIBUTION_LAB_HOME"] = str(tmp_path_factory.mktemp("cache"))
    yield Path(os.environ["ATTRIBUTION_LAB_HOME"])
    os.environ.pop("ATTRIBUTION_LAB_HOME")
    if before is not None:
        os.environ["ATTRIBUTION_LAB_HOME"] = before


@pytest.fixture(scope="module", autouse=True)
def nothing_in_memory():
    """No test file finds what another one has computed; within one, results are shared as in the program."""
    from core import cache

    cache.clear_all()


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    """An empty cache folder for one test."""
    monkeypatch.setenv("ATTRIBUTION_LAB_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def golden():
    """``golden(name)``: values computed with the authors' published programs."""
    return lambda name: dict(np.load(ROOT / "tests" / "golden" / f"{name}.npz", allow_pickle=False))


@pytest.fixture(scope="session")
def spec():
    """A small Spec whose trained model is shipped."""
    from core import Spec

    return Spec(scenario="XOR", background="CORR", snr=0.15, size=8, model="MLP", method="gradient")


@pytest.fixture
def python():
    """``python(*arguments, env=, stdout=)`` runs a new Python in the project's folder: the finished process."""

    def call(*arguments, env=None, stdout=subprocess.PIPE):
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env={**os.environ, **(env or {})},
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            timeout=300,
            check=False,
        )

    return call


@pytest.fixture
def register():
    """``register(registry, name, function, **about)`` adds an entry for the length of one test."""
    added = []

    def add(registry, name, function, **about):
        about = {"label": name, "summary": "", "reference": "", **about}
        registry.register(name, **about)(function)
        added.append((registry, name))

    yield add
    for registry, name in added:
        registry._entries.pop(name, None)


@pytest.fixture(scope="session")
def make_context():
    """``make_context(module or kind, ...)``: an image, a network without training, normal training images."""
    import torch

    from core import MODELS
    from core.methods.context import Context, TrainingImages
    from core.models.model import Model, freeze

    def make(network="MLP", *, size=8, target=1, output="margin", seed=0, images=300):
        if isinstance(network, str):
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(3)
                network = MODELS[network].function(size)
        rng = np.random.default_rng(5)
        x = rng.standard_normal((images, size, size), dtype=np.float32)
        image = rng.standard_normal((size, size), dtype=np.float32)
        return Context(
            Model("test", freeze(network), 1.0), image, target, output, TrainingImages(x, np.arange(images) % 2), seed
        )

    return make
