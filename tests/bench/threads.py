"""Do readers on one network disturb each other? Prints counts; ends with 1 if an answer differed.

    python tests/bench/threads.py [--seconds 30] [--threads 8]

Threads ask one network at random for regions, weights and probabilities of different sets of images. Every answer
must equal, to the bit, the one computed alone before.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from core import Spec, pipeline  # noqa: E402
from core.models import Model, white_box  # noqa: E402

QUESTIONS: dict[str, Callable] = {
    "patterns": lambda network, x: (white_box.activation_patterns(network.double, x),),
    "inside": lambda network, x: white_box.inside(network.double, x, 1),
    "decision_weights": lambda network, x: white_box.decision_weights(network.double, x, 1),
    "pair_weights": lambda network, x: white_box.pair_weights(network.double, x, 1),
    "predict_proba": lambda network, x: (network.predict_proba(x),),
}
SIZES = (1, 2, 7, 41, 64, 65, 130)  # of the sets of images: parts of a batch, whole ones, more than one
NETWORKS = {
    "MLP 8x8": Spec(snr=0.15, size=8),
    "CNN 8x8": Spec(scenario="LIN", size=8, model="CNN"),
    "LMT 28x28": Spec(dataset="mnist", model="LMT"),
    "PLNN 28x28": Spec(dataset="mnist", model="PLNN"),
    "MLP 64x64": Spec(),
}


def trial(network: Model, images: np.ndarray, seconds: float, threads: int = 8) -> tuple[Counter, Counter]:
    """How often each question about images (n,h,w) was answered, and how often not as when it was asked alone."""
    sets = [images[size : 2 * size].astype(np.float64) for size in SIZES]
    alone = {(name, i): _bytes(ask(network, x)) for name, ask in QUESTIONS.items() for i, x in enumerate(sets)}
    asked, wrong, end = Counter(), Counter(), time.monotonic() + seconds

    def reader(seed: int) -> None:
        rng, cases = np.random.default_rng(seed), list(alone)
        while time.monotonic() < end:
            name, i = cases[rng.integers(len(cases))]
            try:
                same = _bytes(QUESTIONS[name](network, sets[i])) == alone[name, i]
            except Exception:  # whatever a crossed answer leads to
                same = False
            asked[name] += 1
            wrong[name] += not same

    readers = [threading.Thread(target=reader, args=(seed,)) for seed in range(threads)]
    for one in readers:
        one.start()
    for one in readers:
        one.join()
    return asked, wrong


def _bytes(arrays: tuple[np.ndarray, ...]) -> list[bytes]:
    return [array.tobytes() for array in arrays]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=30, help="for all networks together")
    parser.add_argument("--threads", type=int, default=8)
    given, bad = parser.parse_args(), 0
    for name, spec in NETWORKS.items():
        images = pipeline.dataset(spec).test.x
        asked, wrong = trial(pipeline.model(spec), images, given.seconds / len(NETWORKS), given.threads)
        print(
            f"{name}: {sum(asked.values()):,} answers, {sum(wrong.values()):,} not as alone"
            + "".join(f"; {n} {asked[n]:,}/{wrong[n]:,}" for n in QUESTIONS),
            flush=True,
        )
        bad += sum(wrong.values())
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
