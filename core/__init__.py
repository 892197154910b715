"""Explanations of neural networks, measured against a known ground truth.

>>> from core import Spec, explain, score
>>> attribution = explain(Spec(scenario="XOR", background="CORR", method="patternlocal"))
>>> score(attribution)["ime"]
"""

import signal
import sys

if sys.argv[:1] == ["-m"]:  # ``python -m core``: Ctrl-C while modules are imported ends it without a traceback
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from core.pipeline import explain, score
from core.registry import DATASETS, METHODS, METRICS, MODELS
from core.types import Attribution, InputError, NotApplicable, Score, Spec

__version__ = "0.1.0"
__all__ = [
    "DATASETS",
    "METHODS",
    "METRICS",
    "MODELS",
    "Attribution",
    "InputError",
    "NotApplicable",
    "Score",
    "Spec",
    "explain",
    "score",
]
