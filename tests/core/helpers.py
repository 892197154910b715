"""What several test files of methods use."""

import numpy as np
import torch
from torch import nn

from core import METHODS

NETWORKS = ("LLR", "MLP", "CNN")


def run(name, context, **options):
    """The map of a registered method with its defaults, or those given."""
    entry = METHODS[name]
    return entry.function(context, **entry.check(options))


def linear(weights, bias=0.0):
    """A model of two classes whose margin for class 1 is ``weights'x + bias``."""
    layer = nn.Linear(64, 2)
    with torch.no_grad():
        layer.weight.copy_(torch.stack([torch.zeros(64), torch.as_tensor(weights, dtype=torch.float32)]))
        layer.bias.copy_(torch.tensor([0.0, bias]))
    return nn.Sequential(nn.Flatten(), layer)


def difference(context, baseline):
    """f(x) - f(baseline)."""
    at = context.outputs(np.stack([context.image, context.baseline(baseline)]))
    return at[0] - at[1]
