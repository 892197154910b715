"""Networks, their training, and where trained ones are kept."""

from core.models import catalogue, networks, tree  # noqa: F401  (registers)
from core.models.catalogue import GENERALISES, command, find, keep, name_of, records, rounded, stamp
from core.models.model import Model
from core.models.training import train
from core.registry import MODELS, canonical
from core.types import Spec


def load(spec: Spec) -> Model:
    """The trained model a Spec means. InputError when there is none, or when its file is not sound."""
    return catalogue.load(canonical(spec).model_key())


__all__ = ["GENERALISES", "MODELS", "Model", "command", "find", "keep", "load", "name_of", "records", "rounded",
           "stamp", "train"]
