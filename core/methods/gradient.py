"""Methods based on the model's gradient. Captum computes those that change the backward pass."""

from __future__ import annotations

import numpy as np
import torch
from scipy.special import expit, exprel
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from core.methods.context import IMAGES_PER_PASS, Context
from core.registry import METHODS, Option
from core.types import NotApplicable

BASELINE = Option("baseline", 'The image whose values mean "feature absent".', choices=("zero", "mean"))
NOISE = Option("noise", "Standard deviation of the noise as a share of the data's range.", low=0.0, high=1.0)


@METHODS.register(
    "gradient",
    label="Gradient",
    group="gradient",
    summary="How much the output changes with a small change of a pixel: the weights of the linear region. A large "
    "value means that the output is sensitive to this pixel.",
    misleads="It highlights suppressors: a weight that cancels noise is as large as one that detects the signal.",
    formula="∂f/∂x at the image",
    reference="Simonyan et al. 2014, arXiv 1312.6034",
)
def gradient(context: Context) -> np.ndarray:
    """The gradient ``(h,w)`` of the explained output at the image."""
    return context.gradient


@METHODS.register(
    "saliency",
    label="Saliency",
    group="gradient",
    signed=False,
    summary="The gradient's absolute value: how sensitive the output is to a pixel, not in which direction.",
    misleads="Like the gradient, and it hides whether a pixel supports or opposes the class.",
    formula="|∂f/∂x|",
    reference="Simonyan et al. 2014, arXiv 1312.6034",
)
def saliency(context: Context) -> np.ndarray:
    """``|gradient| (h,w)``."""
    return np.abs(gradient(context))


@METHODS.register(
    "gradient_x_input",
    label="Gradient × input",
    group="gradient",
    summary="Each pixel's contribution to the linear region's output: weight times value. A pixel with value 0 "
    "contributes nothing, however large its weight.",
    misleads="It adds the image's noise to that of the gradient. In a ReLU network without biases it is identical to "
    "integrated gradients and DeepLift with a zero baseline.",
    formula="x ⊙ ∂f/∂x",
    reference="Shrikumar et al. 2016, arXiv 1605.01713",
)
def gradient_x_input(context: Context) -> np.ndarray:
    """Gradient times image ``(h,w)``."""
    return gradient(context) * context.image


@METHODS.register(
    "integrated_gradients",
    label="Integrated gradients",
    group="gradient",
    options=(
        Option("n_steps", "Points on the line from the baseline to the image.", low=5, high=500, aliases=("steps",)),
        BASELINE,
    ),
    summary="The gradient averaged along the line from a baseline to the image, times their difference. The "
    "attributions add up to the difference in output between image and baseline.",
    misleads="The result depends on the baseline, and images along the line are unlike any the model was trained on. "
    "In a ReLU network without biases, a zero baseline gives gradient × input.",
    formula="(x − r) ⊙ ∫₀¹ ∂f(r + t(x − r))/∂x dt",
    reference="Sundararajan et al. 2017, arXiv 1703.01365",
)
def integrated_gradients(context: Context, *, n_steps: int = 50, baseline: str = "zero") -> np.ndarray:
    """``(x - r)`` times the mean gradient at ``steps`` points between the baseline r and the image x ``(h,w)``."""
    from captum.attr import IntegratedGradients

    base = context.tensor(context.baseline(baseline))
    return _attribute(
        IntegratedGradients(context.hookable_copy()),
        context,
        baselines=base,
        n_steps=n_steps,
        internal_batch_size=IMAGES_PER_PASS,
    )


@METHODS.register(
    "smoothgrad",
    label="SmoothGrad",
    group="gradient",
    seeded=True,
    options=(Option("n_samples", "Noisy copies of the image.", low=1, high=500, aliases=("samples",)), NOISE),
    summary="The mean gradient over noisy copies of the image. Fluctuations from one small linear region to the next "
    "average out.",
    misleads="White noise is unlike the noise in the data. The weights become smoother, but suppressors remain.",
    formula="mean of ∂f/∂x at x + ε, ε normal",
    reference="Smilkov et al. 2017, arXiv 1706.03825",
)
def smoothgrad(context: Context, *, n_samples: int = 50, noise: float = 0.1) -> np.ndarray:
    """The mean gradient ``(h,w)`` at ``n_samples`` copies with normal noise of ``noise`` times the data's range."""
    # Not captum's NoiseTunnel: it draws from the process-wide generator, which sessions share.
    copies = context.image + _noise(context, context.rng, n_samples, noise)
    return context.gradients(copies).mean(0)


@METHODS.register(
    "deeplift",
    label="DeepLift",
    group="gradient",
    options=(BASELINE,),
    summary="Distributes the difference in output from a baseline among the pixels by propagating each unit's "
    "difference, rather than its slope, back through the layers (rescale rule).",
    misleads="The result depends on the baseline, and everything the model uses gets a share, suppressors included. "
    "In a ReLU network without biases, a zero baseline gives gradient × input.",
    formula="Σ c(Δx → Δf) = f(x) − f(r)",
    reference="Shrikumar et al. 2017, arXiv 1704.02685",
)
def deeplift(context: Context, *, baseline: str = "zero") -> np.ndarray:
    """DeepLift's rescale rule ``(h,w)``; NotApplicable to shared or functional ReLUs."""
    from captum.attr import DeepLift

    if context.output == "probability" and context.classes > 2:
        raise NotApplicable(
            "DeepLift's rule for a softmax of more than two classes does not add up to the change in "
            "probability; explain the margin instead."
        )
    module, base = context.hookable_copy(), context.tensor(context.baseline(baseline))
    check_relus(module, context, "DeepLift")
    _set_apart(module)
    module.output = "margin"
    slope = (
        _sigmoid_slope(*module(torch.cat([context.tensor(context.image), base])).tolist())
        if context.output == "probability"
        else 1.0
    )
    return slope * _attribute(DeepLift(module), context, baselines=base)


def _sigmoid_slope(a: float, b: float) -> float:
    """``(sigmoid(a) - sigmoid(b)) / (a - b)``, the rescale rule of a sigmoid, also where both round to 1."""
    low, high = sorted((a, b))
    return float(expit(high) * expit(-low) * exprel(low - high))


@METHODS.register(
    "gradientshap",
    label="GradientSHAP",
    group="gradient",
    seeded=True,
    options=(
        Option(
            "n_samples",
            "Random points between training images and noisy copies.",
            low=1,
            high=500,
            aliases=("samples",),
        ),
        NOISE,
    ),
    summary="Expected gradients: gradients at random points between training images and the image. Averaged over "
    "many points without noise, the attributions add up to the difference from the mean output.",
    misleads="The baselines are training images, so pixels that merely differ from them are highlighted as well. "
    "With noise it explains noisy copies, and the attributions no longer add up to the difference in "
    "output.",
    formula="E[(x − r) ⊙ ∂f(r + t(x − r))/∂x], r from the data",
    reference="Lundberg and Lee 2017, arXiv 1705.07874; Erion et al. 2021, arXiv 1906.10670",
)
def gradientshap(context: Context, *, n_samples: int = 50, noise: float = 0.0) -> np.ndarray:
    """Expected gradients ``(h,w)`` over ``n_samples`` random baselines among the training images."""
    # Not captum's GradientShap: it draws from process-wide generators, which sessions share.
    data, rng = context.training.x, context.rng
    base = data[rng.integers(0, len(data), n_samples)].reshape(n_samples, *context.shape)
    towards = context.image + _noise(context, rng, n_samples, noise) - base
    where = rng.random((n_samples, 1, 1))
    return (towards * context.gradients(base + where * towards)).mean(0)


@METHODS.register(
    "guided_backprop",
    label="Guided backpropagation",
    group="gradient",
    summary="The gradient with negative values set to zero at every ReLU in the backward pass, so that only paths "
    "that raise the output remain.",
    misleads="It sharpens the image's edges and hardly depends on what the model has learned.",
    formula="∂f/∂x with max(0, ·) at every ReLU, backwards too",
    reference="Springenberg et al. 2015, arXiv 1412.6806",
)
def guided_backprop(context: Context) -> np.ndarray:
    """Guided backpropagation ``(h,w)``; NotApplicable to shared or functional ReLUs."""
    from captum.attr import GuidedBackprop

    module = context.hookable_copy()
    check_relus(module, context, "Guided backpropagation")
    return _attribute(GuidedBackprop(module), context)


def check_relus(module: nn.Module, context: Context, method: str) -> None:
    """NotApplicable unless every ReLU is a module of its own: hook-based rules cannot see any others."""
    relus = {name: m for name, m in module.named_modules() if isinstance(m, nn.ReLU)}
    calls = dict.fromkeys(relus, 0)
    hooks = [
        relu.register_forward_hook(lambda *_, name=name: calls.update({name: calls[name] + 1}))
        for name, relu in relus.items()
    ]
    with torch.no_grad(), _CountRelus() as count:
        module(context.tensor(context.image))
    for hook in hooks:
        hook.remove()
    if shared := [name for name, number in calls.items() if number > 1]:
        raise NotApplicable(
            f"{method} needs a separate ReLU module wherever one is used; {', '.join(shared)} is used more than once."
        )
    if count.relus > sum(calls.values()):
        raise NotApplicable(
            f"{method} found {count.relus - sum(calls.values())} ReLUs that are not modules (a "
            "functional relu cannot be hooked)."
        )


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
    """Puts a copy between each ReLU and the pooling after it.

    Otherwise captum's rules for the two share a tensor, and one reads what the other has changed.
    """
    for part in [m for m in module.modules() if isinstance(m, nn.Sequential)]:
        layers = list(part)
        for i in reversed(
            [
                i
                for i, (layer, following) in enumerate(zip(layers, layers[1:]))
                if isinstance(layer, nn.ReLU) and isinstance(following, nn.MaxPool2d)
            ]
        ):
            part.insert(i + 1, _Copy())


def _attribute(method, context: Context, **arguments) -> np.ndarray:
    x = context.tensor(context.image).requires_grad_(True)
    return method.attribute(x, **arguments)[0].detach().double().numpy()


def _noise(context: Context, rng: np.random.Generator, n_samples: int, noise: float) -> np.ndarray:
    return noise * context.training.spread * rng.standard_normal((n_samples, *context.shape))
