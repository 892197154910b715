"""Methods that look at the model's gradient. Captum computes those whose rules change the backward pass."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from scipy.special import expit, exprel
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from core.methods.context import IMAGES_PER_PASS, Context
from core.registry import METHODS, Option
from core.types import NotApplicable

# Captum says at every call that it hooks the model; it is given a private copy for just that.
warnings.filterwarnings("ignore", "Setting (forward, )?backward hooks", UserWarning)

BASELINE = Option("baseline", "The image that stands for an absent feature.", choices=("zero", "mean"))
NOISE = Option("noise", "Standard deviation of the noise as a share of the data's range.", low=0.0, high=1.0)


@METHODS.register(
    "gradient", label="Gradient", group="gradient",
    summary="How the output changes when a pixel changes a little: the weights of the linear region. Large "
            "means: the model listens to this pixel here.",
    misleads="It marks suppressors: a weight that cancels noise is as large as one that finds the signal.",
    formula="∂f/∂x at the image",
    reference="Simonyan et al. 2014, arXiv 1312.6034")
def gradient(context: Context) -> np.ndarray:
    return context.gradient


@METHODS.register(
    "saliency", label="Saliency", group="gradient", signed=False,
    summary="The gradient without its sign. It says how strongly the model listens, not in which direction.",
    misleads="As the gradient, and it hides whether a pixel speaks for or against.",
    formula="|∂f/∂x|",
    reference="Simonyan et al. 2014, arXiv 1312.6034")
def saliency(context: Context) -> np.ndarray:
    return np.abs(gradient(context))


@METHODS.register(
    "gradient_x_input", label="Gradient × input", group="gradient",
    summary="Each pixel's share of the linear region's output: weight times value. A dark pixel with a large "
            "weight adds nothing to the output, so it stays pale.",
    misleads="It adds the image's own noise to the gradient's. In a ReLU network without biases it is one map with "
             "integrated gradients and DeepLift from a zero baseline.",
    formula="x ⊙ ∂f/∂x",
    reference="Shrikumar et al. 2016, arXiv 1605.01713")
def gradient_x_input(context: Context) -> np.ndarray:
    return gradient(context) * context.image


@METHODS.register(
    "integrated_gradients", label="Integrated gradients", group="gradient",
    options=(Option("steps", "Points on the line from baseline to image.", low=5, high=500), BASELINE),
    summary="Gradients averaged on the way from a baseline to the image, times their difference. What every "
            "pixel gets adds up to the output's change from the baseline.",
    misleads="The baseline decides; along the way the model sees images unlike any it was trained on. In a ReLU "
             "network without biases a zero baseline gives gradient × input.",
    formula="(x − r) ⊙ ∫₀¹ ∂f(r + t(x − r))/∂x dt",
    reference="Sundararajan et al. 2017, arXiv 1703.01365")
def integrated_gradients(context: Context, *, steps: int = 50, baseline: str = "zero") -> np.ndarray:
    from captum.attr import IntegratedGradients

    base = context.tensor(context.baseline(baseline))
    return _attribute(IntegratedGradients(context.hookable_copy()), context, baselines=base, n_steps=steps,
                      internal_batch_size=IMAGES_PER_PASS)


@METHODS.register(
    "smoothgrad", label="SmoothGrad", group="gradient", seeded=True,
    options=(Option("samples", "Noisy copies of the image.", low=1, high=500), NOISE),
    summary="The mean gradient over noisy copies of the image. Noise that the borders of many small regions put "
            "into one gradient averages out.",
    misleads="White noise is unlike the data's own; it smooths the weights, suppressors stay.",
    formula="mean of ∂f/∂x at x + ε, ε normal",
    reference="Smilkov et al. 2017, arXiv 1706.03825")
def smoothgrad(context: Context, *, samples: int = 50, noise: float = 0.1) -> np.ndarray:
    # Not captum's NoiseTunnel: it draws from the process-wide generator, which sessions share.
    copies = context.image + _noise(context, context.rng, samples, noise)
    return context.gradients(copies).mean(0)


@METHODS.register(
    "deeplift", label="DeepLift", group="gradient", options=(BASELINE,),
    summary="Shares out the output's difference from a baseline by each unit's difference (rescale rule). It "
            "passes differences back through the layers instead of slopes.",
    misleads="The baseline decides; it shares out what the model uses, suppressors included. In a ReLU network "
             "without biases a zero baseline gives gradient × input.",
    formula="Σ c(Δx → Δf) = f(x) − f(r)",
    reference="Shrikumar et al. 2017, arXiv 1704.02685")
def deeplift(context: Context, *, baseline: str = "zero") -> np.ndarray:
    from captum.attr import DeepLift

    if context.output == "probability" and context.classes > 2:
        raise NotApplicable("DeepLift's rule for a softmax of more than two classes does not add up to the change of "
                            "the probability; explain the margin.")
    module, base = context.hookable_copy(), context.tensor(context.baseline(baseline))
    check_relus(module, context, "DeepLift")
    _set_apart(module)
    module.output = "margin"
    slope = _sigmoid_slope(*module(torch.cat([context.tensor(context.image), base])).tolist()) \
        if context.output == "probability" else 1.0
    return slope * _attribute(DeepLift(module), context, baselines=base)


def _sigmoid_slope(a: float, b: float) -> float:
    """``(sigmoid(a) - sigmoid(b)) / (a - b)``, the rescale rule of a sigmoid, also where both round to 1."""
    low, high = sorted((a, b))
    return float(expit(high) * expit(-low) * exprel(low - high))


@METHODS.register(
    "gradientshap", label="GradientSHAP", group="gradient", seeded=True,
    options=(Option("samples", "Random points between baselines and noisy copies.", low=1, high=500), NOISE),
    summary="Expected gradients: random points between training images and noisy copies of the image. Averaged "
            "over many such points without noise, what the pixels get adds up to the output's change from the "
            "mean output.",
    misleads="It compares with images of the data, so it also marks what merely differs from them. Noise also makes "
             "it explain noisy copies: what the pixels get no longer adds up to the output's change.",
    formula="E[(x − r) ⊙ ∂f(r + t(x − r))/∂x], r from the data",
    reference="Lundberg and Lee 2017, arXiv 1705.07874; Erion et al. 2021, arXiv 1906.10670")
def gradientshap(context: Context, *, samples: int = 50, noise: float = 0.0) -> np.ndarray:
    # Not captum's GradientShap: it draws from process-wide generators, which sessions share.
    data, rng = context.training.x, context.rng
    base = data[rng.integers(0, len(data), samples)].reshape(samples, *context.shape)
    towards = context.image + _noise(context, rng, samples, noise) - base
    where = rng.random((samples, 1, 1))
    return (towards * context.gradients(base + where * towards)).mean(0)


@METHODS.register(
    "guided_backprop", label="Guided backpropagation", group="gradient",
    summary="The gradient with negative signals cut off at every ReLU on the way back. Only what raises the "
            "output through every unit comes back.",
    misleads="It sharpens edges of the image and depends little on what the model learned.",
    formula="∂f/∂x with max(0, ·) at every ReLU, backwards too",
    reference="Springenberg et al. 2015, arXiv 1412.6806")
def guided_backprop(context: Context) -> np.ndarray:
    from captum.attr import GuidedBackprop

    module = context.hookable_copy()
    check_relus(module, context, "Guided backpropagation")
    return _attribute(GuidedBackprop(module), context)


def check_relus(module: nn.Module, context: Context, method: str) -> None:
    """NotApplicable unless every ReLU is a module of its own: others are invisible to hook-based rules."""
    relus = {name: m for name, m in module.named_modules() if isinstance(m, nn.ReLU)}
    calls = dict.fromkeys(relus, 0)
    hooks = [relu.register_forward_hook(lambda *_, name=name: calls.update({name: calls[name] + 1}))
             for name, relu in relus.items()]
    with torch.no_grad(), _CountRelus() as count:
        module(context.tensor(context.image))
    for hook in hooks:
        hook.remove()
    if shared := [name for name, number in calls.items() if number > 1]:
        raise NotApplicable(f"{method} needs a ReLU module for each place one is used; "
                            f"{', '.join(shared)} is used more than once.")
    if count.relus > sum(calls.values()):
        raise NotApplicable(f"{method} found {count.relus - sum(calls.values())} ReLUs that are not modules (a "
                            "functional relu cannot be hooked).")


class _CountRelus(TorchDispatchMode):
    """Counts the ReLUs that run inside the block, modules or not."""

    relus = 0

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        self.relus += function.overloadpacket in (torch.ops.aten.relu, torch.ops.aten.relu_)
        return function(*arguments, **(keywords or {}))


class _Copy(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.clone()


def _set_apart(module: nn.Module) -> None:
    """Puts a copy between each ReLU and the pooling that reads it: captum's rules for the two share a tensor
    otherwise, and one reads what the other has changed."""
    for part in [m for m in module.modules() if isinstance(m, nn.Sequential)]:
        layers = list(part)
        for i in reversed([i for i, (layer, following) in enumerate(zip(layers, layers[1:]))
                           if isinstance(layer, nn.ReLU) and isinstance(following, nn.MaxPool2d)]):
            part.insert(i + 1, _Copy())


def _attribute(method, context: Context, **arguments) -> np.ndarray:
    x = context.tensor(context.image).requires_grad_(True)
    return method.attribute(x, **arguments)[0].detach().double().numpy()


def _noise(context: Context, rng: np.random.Generator, samples: int, noise: float) -> np.ndarray:
    return noise * context.training.spread * rng.standard_normal((samples, *context.shape))
