"""Networks, their training, and where trained ones are kept."""

from core.models import networks, tree  # noqa: F401  (registers)
from core.models.catalogue import GENERALISES, find, keep, load, name_of, records, rounded, spec_of, stamp
from core.models.model import Model
from core.models.training import train
from core.registry import MODELS

__all__ = ["GENERALISES", "MODELS", "Model", "find", "keep", "load", "name_of", "records", "rounded", "spec_of",
           "stamp", "train"]
