"""Methods that look at the model's gradient. Captum computes those whose rules change the backward pass."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from core.methods.context import BATCH, Context
from core.registry import METHODS, Option
from core.types import NotApplicable

BASELINE = Option("baseline", "The image that stands for an absent feature.", choices=("zero", "mean"))
NOISE = Option("noise", "Standard deviation of the noise as a share of the data's range.", low=0.0, high=1.0)


@METHODS.register(
    "gradient", label="Gradient", group="gradient",
    summary="How the output changes when a pixel changes a little: the weights of the linear region.",
    misleads="It marks suppressors: a weight that cancels noise is as large as one that finds the signal.",
    reference="Simonyan et al. 2014, arXiv 1312.6034")
def gradient(context: Context) -> np.ndarray:
    return context.gradients(context.image[None])[0]


@METHODS.register(
    "saliency", label="Saliency", group="gradient", signed=False,
    summary="The gradient without its sign.",
    misleads="As the gradient, and it hides whether a pixel speaks for or against.",
    reference="Simonyan et al. 2014, arXiv 1312.6034")
def saliency(context: Context) -> np.ndarray:
    return np.abs(gradient(context))


@METHODS.register(
    "gradient_x_input", label="Gradient × input", group="gradient",
    summary="Each pixel's share of the linear region's output: weight times value.",
    misleads="It adds the image's own noise to the gradient's.",
    reference="Shrikumar et al. 2016, arXiv 1605.01713")
def gradient_x_input(context: Context) -> np.ndarray:
    return gradient(context) * context.image


@METHODS.register(
    "integrated_gradients", label="Integrated gradients", group="gradient",
    options=(Option("steps", "Points on the line from baseline to image.", low=5, high=500), BASELINE),
    summary="Gradients averaged on the way from a baseline to the image, times their difference.",
    misleads="The baseline decides; along the way the model sees images unlike any it was trained on.",
    reference="Sundararajan et al. 2017, arXiv 1703.01365")
def integrated_gradients(context: Context, *, steps: int = 50, baseline: str = "zero") -> np.ndarray:
    from captum.attr import IntegratedGradients

    base = torch.from_numpy(context.baseline(baseline))[None]
    return _attribute(IntegratedGradients(context.private()), context, baselines=base, n_steps=steps,
                      internal_batch_size=BATCH)


@METHODS.register(
    "smoothgrad", label="SmoothGrad", group="gradient", seeded=True,
    options=(Option("samples", "Noisy copies of the image.", low=1, high=500), NOISE),
    summary="The mean gradient over noisy copies of the image.",
    misleads="White noise is unlike the data's own; it smooths the weights, suppressors stay.",
    reference="Smilkov et al. 2017, arXiv 1706.03825")
def smoothgrad(context: Context, *, samples: int = 50, noise: float = 0.1) -> np.ndarray:
    # Not captum's NoiseTunnel: it draws from the process-wide generator, which sessions share.
    copies = context.image + _noise(context, samples, noise)
    return context.gradients(copies).mean(0)


@METHODS.register(
    "deeplift", label="DeepLift", group="gradient", options=(BASELINE,),
    summary="Shares out the output's difference from a baseline by each unit's difference (rescale rule).",
    misleads="The baseline decides; it shares out what the model uses, suppressors included.",
    reference="Shrikumar et al. 2017, arXiv 1704.02685")
def deeplift(context: Context, *, baseline: str = "zero") -> np.ndarray:
    from captum.attr import DeepLift

    module = context.private()
    check_relus(module, context, "DeepLift")
    return _attribute(DeepLift(module), context, baselines=torch.from_numpy(context.baseline(baseline))[None])


@METHODS.register(
    "gradientshap", label="GradientSHAP", group="gradient", seeded=True,
    options=(Option("samples", "Random points between baselines and noisy copies.", low=1, high=500), NOISE),
    summary="Expected gradients: random points between training images and noisy copies of the image.",
    misleads="It compares with average images of the data, so it also marks what merely differs from them.",
    reference="Lundberg and Lee 2017, arXiv 1705.07874; Erion et al. 2021, arXiv 1906.10670")
def gradientshap(context: Context, *, samples: int = 50, noise: float = 0.02) -> np.ndarray:
    # Not captum's GradientShap: it draws from process-wide generators, which sessions share.
    data = context.training.x
    base = data[context.rng.integers(0, len(data), samples)].reshape(samples, *context.shape)
    towards = context.image + _noise(context, samples, noise) - base
    where = context.rng.random((samples, 1, 1))
    return (towards * context.gradients(base + where * towards)).mean(0)


@METHODS.register(
    "guided_backprop", label="Guided backpropagation", group="gradient",
    summary="The gradient with negative signals cut off at every ReLU on the way back.",
    misleads="It sharpens edges of the image and depends little on what the model learned.",
    reference="Springenberg et al. 2015, arXiv 1412.6806")
def guided_backprop(context: Context) -> np.ndarray:
    from captum.attr import GuidedBackprop

    module = context.private()
    check_relus(module, context, "Guided backpropagation")
    return _attribute(GuidedBackprop(module), context)


def check_relus(module: nn.Module, context: Context, method: str) -> None:
    """NotApplicable unless every ReLU is a module of its own: others are invisible to hook-based rules."""
    relus = {name: m for name, m in module.named_modules() if isinstance(m, nn.ReLU)}
    calls = dict.fromkeys(relus, 0)
    for name, relu in relus.items():
        relu.register_forward_hook(lambda *_, name=name: calls.update({name: calls[name] + 1}))
    x = torch.from_numpy(context.image)[None]
    with torch.no_grad():
        module(x)
    for relu in relus.values():
        relu._forward_hooks.clear()
    if shared := [name for name, count in calls.items() if count > 1]:
        raise NotApplicable(f"{method} needs a ReLU module for each place one is used; "
                            f"{', '.join(shared)} is used more than once.")
    if not relus and context.output == "margin":
        with torch.no_grad():
            ends, middle = module(torch.cat([x, -3 * x])), module(-x)
        if not torch.allclose(ends.mean(), middle.mean(), rtol=1e-3, atol=1e-6 + 1e-3 * float(ends.abs().max())):
            raise NotApplicable(f"{method} found no ReLU modules in a model that is not linear "
                                "(a functional relu cannot be hooked).")


def _attribute(method, context: Context, **arguments) -> np.ndarray:
    x = torch.from_numpy(context.image)[None].requires_grad_(True)
    return method.attribute(x, **arguments)[0].detach().double().numpy()


def _noise(context: Context, samples: int, noise: float) -> np.ndarray:
    return noise * context.training.spread * context.rng.standard_normal((samples, *context.shape))
