"""Networks, their training, and where trained ones are kept."""

import sys

from core.models import catalogue, networks, tree  # noqa: F401  (registers)
from core.models.catalogue import GENERALISES, command, find, keep, name_of, records, rounded, stamp
from core.models.model import Model
from core.models.training import train
from core.registry import MODELS, canonical, discover
from core.types import Spec

discover(sys.modules[__name__])  # a new file needs no line here


def load(spec: Spec) -> Model:
    """The trained model a Spec means. InputError when there is none, or when its file is not sound."""
    return catalogue.load(canonical(spec).model_key())


__all__ = [
    "GENERALISES",
    "MODELS",
    "Model",
    "command",
    "find",
    "keep",
    "load",
    "name_of",
    "records",
    "rounded",
    "stamp",
    "train",
]
