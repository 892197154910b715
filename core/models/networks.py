"""The benchmark's networks: modules from images (n,h,w) to logits (n,C), all piecewise linear.

Architectures as in XAI-TRIS (Clark et al. 2023): no bias in dense layers at 64x64, softmax outside.
"""

from __future__ import annotations

from torch import nn

from core.registry import MODELS

BENCHMARK = "Clark et al. 2023, XAI-TRIS, arXiv 2306.12816"


@MODELS.register(
    "LLR",
    label="Linear logistic regression",
    whitening=True,
    formula="logits = W x",
    misleads="Where its accuracy is not above 90 %, its weights explain nothing.",
    reference=BENCHMARK,
    summary="One linear layer. It can solve only LIN; the other scenarios are not linear.",
)
def llr(size: int) -> nn.Module:
    """Logits of two classes from images ``size`` pixels wide and high; a bias at 8x8 only."""
    return nn.Sequential(nn.Flatten(), nn.Linear(size * size, 2, bias=size == 8))


@MODELS.register(
    "MLP",
    label="Multi-layer perceptron",
    whitening=True,
    rate=3e-4,
    patience=30,
    formula="logits = W₄ relu(W₃ relu(W₂ relu(W₁ x)))",
    misleads="Two equally accurate networks may use different pixels; a map explains only this one.",
    reference=BENCHMARK,
    summary="Dense layers with ReLU: 256-256-64 at 64x64 with dropout, 32-16-8 at 8x8. As long as the "
    "same units are active, it is one linear function.",
)
def mlp(size: int) -> nn.Module:
    """Logits of two classes from images ``size`` pixels wide and high."""
    widths = [64, 32, 16, 8] if size == 8 else [size * size, 256, 256, 64]
    layers: list[nn.Module] = [nn.Flatten()]
    for before, after in zip(widths, widths[1:]):
        layers += [nn.Linear(before, after, bias=size == 8), nn.ReLU()]
        layers += [] if size == 8 else [nn.Dropout(0.3)]
    return nn.Sequential(*layers, nn.Linear(widths[-1], 2, bias=size == 8))


@MODELS.register(
    "CNN",
    label="Convolutional network",
    formula="conv → relu → max, four times, then W",
    misleads="Pooling discards position, so its gradient is coarse even where shapes do not move.",
    reference=BENCHMARK,
    summary="Four convolutions, each with ReLU and 2x2 max pooling, then one linear layer. The "
    "same small filters run over the whole image.",
)
def cnn(size: int) -> nn.Module:
    """Logits of two classes from images ``size`` pixels wide and high."""
    channels, kernel = ([1, 4, 4, 4, 4], 2) if size == 8 else ([1, 4, 8, 16, 32], 4)
    layers: list[nn.Module] = [nn.Unflatten(1, (1, size))]
    edge = size
    for before, after in zip(channels, channels[1:]):
        layers += [nn.Conv2d(before, after, kernel, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
        edge = (edge + 3 - kernel) // 2
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(channels[-1] * edge * edge, 2, bias=size == 8))


DIGITS = ("fashion-mnist", "mnist")
OPENAPI = "Cong et al. 2020, ICDE; OpenAPI, section V"


@MODELS.register(
    "PLNN",
    label="Piecewise linear network",
    datasets=DIGITS,
    reference=OPENAPI,
    formula="logits = W₄ relu(W₃ relu(W₂ relu(W₁ x)))",
    misleads="Hardly any two images share a region, so its weights change from image to image.",
    summary="Dense layers with ReLU, 784-256-128-100-10.",
)
def plnn(size: int = 28) -> nn.Module:
    """Logits of ten classes from images ``size`` pixels wide and high."""
    widths = [size * size, 256, 128, 100]
    layers: list[nn.Module] = [nn.Flatten()]
    for before, after in zip(widths, widths[1:]):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(widths[-1], 10))
