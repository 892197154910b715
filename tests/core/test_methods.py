import copy
import threading
import time

import numpy as np
import pytest
import torch
from captum import attr
from scipy.special import expit, logsumexp
from torch import nn
from torch.nn.functional import relu

from core import METHODS, NotApplicable, pipeline
from core.methods.context import Context, Shared
from core.models.model import freeze
from tests.core.helpers import NETWORKS, difference, linear, run

pytestmark = [
    pytest.mark.filterwarnings("ignore:Setting forward, backward hooks"),
    pytest.mark.filterwarnings("ignore:Setting backward hooks"),
]  # captum says so each time


def variants():
    """Every method as it is, with each option at each end of its range, and with each choice."""
    for entry in METHODS.values():
        yield pytest.param(entry.name, {}, id=entry.name)
        for option in entry.options:
            ends = (False, True) if isinstance(option.default, bool) else (option.low, option.high)
            for value in option.choices or ends:
                needed = {name: allowed[0] for name, allowed in option.when}
                yield pytest.param(
                    entry.name, {**needed, option.name: value}, id=f"{entry.name} {option.name}={value}"
                )


@pytest.fixture(scope="module")
def weights():
    return np.random.default_rng(8).standard_normal(64).astype(np.float32)


class SharedRelu(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c, self.act = nn.Linear(64, 8), nn.Linear(8, 8), nn.Linear(8, 2), nn.ReLU()

    def forward(self, x):
        return self.c(self.act(self.b(self.act(self.a(x.flatten(1))))))


class FunctionalRelu(SharedRelu):
    def __init__(self):
        super().__init__()
        del self.act

    def forward(self, x):
        return self.c(relu(self.b(relu(self.a(x.flatten(1))))))


class Mixed(FunctionalRelu):
    """One ReLU as a module, one as a function."""

    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()

    def forward(self, x):
        return self.c(relu(self.b(self.act(self.a(x.flatten(1))))))


def hooks(module):
    return sum(
        len(kind)
        for m in module.modules()
        for kind in (m._forward_hooks, m._forward_pre_hooks, m._backward_hooks, m._backward_pre_hooks)
    )


# What every method keeps to -------------------------------------------------------------------------


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("method", METHODS)
def test_a_map_is_finite_numbers_in_the_images_shape_and_changes_nothing(make_context, method, network):
    context = make_context(network)
    module = context.explained.module
    image, data = context.image.copy(), context.training.x.copy()
    state = copy.deepcopy(module.state_dict())
    generators = torch.get_rng_state(), np.random.get_state()[1].copy()
    values = run(method, context)
    assert values.shape == (8, 8) and values.dtype == np.float64 and np.isfinite(values).all() and values.any()
    assert METHODS[method].signed or (values >= 0).all()
    np.testing.assert_array_equal(context.image, image)
    np.testing.assert_array_equal(context.training.x, data)
    assert all((module.state_dict()[k] == state[k]).all() for k in state)
    assert hooks(context.explained) == 0 and not module.training
    assert not any(p.requires_grad or p.grad is not None for p in module.parameters())
    assert (torch.get_rng_state() == generators[0]).all() and (np.random.get_state()[1] == generators[1]).all()


@pytest.mark.parametrize("method, options", list(variants()))
def test_options_at_their_ends_give_a_finite_map_or_a_reason(make_context, method, options):
    try:
        values = run(method, make_context("MLP"), **options)
    except NotApplicable as reason:
        assert str(reason)
        return
    assert values.shape == (8, 8) and np.isfinite(values).all()


@pytest.mark.parametrize(
    "method, options", [v for v in variants() if "=" not in v.id or "surrogate" in v.id or "sampling" in v.id]
)
def test_the_same_seed_gives_the_same_bytes(make_context, method, options):
    one, other = (run(method, make_context("CNN", seed=7), **options) for _ in range(2))
    assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("method", METHODS)
def test_another_seed_matters_just_where_the_method_says_so(make_context, method):
    options = {"patternlocal": {"surrogate": "lime"}}.get(method, {})
    one, other = (run(method, make_context("MLP", seed=seed), **options) for seed in (1, 2))
    assert (one != other).any() == METHODS[method].seeded


@pytest.mark.parametrize("method", [name for name, m in METHODS.items() if m.group != "filter"])
def test_a_model_that_ignores_the_image_has_an_empty_map_or_none(make_context, method):
    try:
        assert not run(method, make_context(linear(np.zeros(64), 1.0))).any()
    except NotApplicable as reason:
        assert str(reason)


@pytest.mark.parametrize("method", [name for name, m in METHODS.items() if m.group == "filter"])
def test_a_filter_does_not_look_at_the_model(make_context, method):
    np.testing.assert_array_equal(run(method, make_context("MLP")), run(method, make_context("CNN", target=0)))


@pytest.mark.parametrize(
    "method", [name for name, m in METHODS.items() if m.group != "filter" and m.signed and name != "guided_backprop"]
)  # which cuts negative signals
def test_the_other_class_of_two_gets_the_opposite_map(make_context, method):
    one, other = (run(method, make_context("MLP", target=target)) for target in (0, 1))
    np.testing.assert_allclose(one, -other, rtol=1e-3, atol=1e-4 * np.abs(one).max())


@pytest.mark.parametrize("method", ["lime", "kernelshap", "gradient", "integrated_gradients", "patternlocal"])
@pytest.mark.parametrize("network", NETWORKS)
def test_64x64_images_work_on_every_network(make_context, method, network):
    options = {"n_samples": 50} if method in ("lime", "kernelshap") else {}
    values = run(method, make_context(network, size=64, images=40), **options)
    assert values.shape == (64, 64) and np.isfinite(values).all() and values.any()


@pytest.mark.parametrize("output", ["margin", "probability"])
def test_the_gradient_of_the_output_equals_finite_differences(make_context, output):
    context = make_context("MLP", output=output)
    module = copy.deepcopy(context.explained).double()
    at = torch.from_numpy(context.image).double().flatten()
    steps = 1e-6 * torch.eye(64, dtype=torch.float64)
    up, down = (module((at + s * steps).view(-1, 8, 8)) for s in (1, -1))
    np.testing.assert_allclose(run("gradient", context).ravel(), (up - down) / 2e-6, rtol=1e-4, atol=1e-6)


def test_the_margin_is_the_mean_difference_to_the_other_logits(make_context):
    layer = freeze(nn.Sequential(nn.Flatten(), nn.Linear(64, 5)))
    context = make_context(layer, target=2)
    logits = layer(torch.from_numpy(context.image)[None])[0].numpy()
    expected = np.mean([logits[2] - logits[c] for c in (0, 1, 3, 4)])
    assert context.outputs(context.image[None])[0] == pytest.approx(expected, rel=1e-5)


# Random numbers -------------------------------------------------------------------------------------


def numbered(make_context, number=0, seed=0, network="MLP"):
    made = make_context(network)
    return Context(made.network, made.image, 1, "margin", made.training, seed, number=number)


def test_image_0_keeps_the_numbers_of_its_seed_alone():
    for seed in (0, 1, 2**31 - 1, 2**40):
        assert np.random.default_rng((seed, 0)).bytes(64) == np.random.default_rng(seed).bytes(64)


SAMPLED = ["random", "lime", "kernelshap", "smoothgrad", "gradientshap"]


@pytest.mark.parametrize("method", SAMPLED)
def test_each_images_draws_are_its_own_and_always_the_same(make_context, method):
    maps = [run(method, numbered(make_context, number)) for number in (0, 7, 8, 7)]
    assert (maps[1] != maps[2]).any() and (maps[0] != maps[1]).any()
    assert maps[1].tobytes() == maps[3].tobytes()
    assert maps[0].tobytes() == run(method, make_context("MLP")).tobytes()


@pytest.mark.parametrize("method", SAMPLED)
def test_a_draw_before_changes_nothing(make_context, method):
    context = numbered(make_context, 7)
    context.rng.random(1000)
    assert run(method, context).tobytes() == run(method, numbered(make_context, 7)).tobytes()


def test_a_point_derived_from_an_image_draws_its_images_samples(spec):
    for image in (0, 7):
        here = pipeline.context(spec.replace(image=image))
        there = pipeline.context(spec.replace(image=image), image=here.image + 0.01)
        assert here.seeds == there.seeds == (0, image)
        assert here.rng.bytes(32) == there.rng.bytes(32)


# Probabilities --------------------------------------------------------------------------------------


def confident(classes, size=20.0):
    """A linear model so sure that a probability rounds to 1, in double precision too where size is large."""
    layer = nn.Linear(64, classes)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(np.random.default_rng(8).standard_normal((classes, 64)) / 8))
        layer.bias.copy_(torch.tensor([size] + [0.0] * (classes - 1)))
    return nn.Sequential(nn.Flatten(), layer)


def log_odds(context):
    """ln(p_c / (1 - p_c)) in double precision, and its gradient ``(h,w)``, of a linear model."""
    layer = context.network.double[1]
    weight, bias = layer.weight.numpy(), layer.bias.numpy()
    logits = weight @ context.image.ravel() + bias
    others = np.arange(len(logits)) != context.target
    share = np.exp(logits[others] - logsumexp(logits[others]))
    return (
        logits[context.target] - logsumexp(logits[others]),
        (weight[context.target] - share @ weight[others]).reshape(8, 8),
    )


@pytest.mark.parametrize("size", [0.0, 20.0, 50.0, 300.0])
@pytest.mark.parametrize("classes", [2, 3, 10])
@pytest.mark.parametrize("target", [0, 1])
def test_a_probabilitys_gradient_is_p_times_its_rest_times_that_of_the_log_odds(make_context, classes, size, target):
    context = make_context(confident(classes, size), target=target, output="probability")
    odds, slope = log_odds(context)
    expected = expit(odds) * expit(-odds) * slope
    assert expected.any()
    for method, factor in [("gradient", 1.0), ("guided_backprop", 1.0), ("gradient_x_input", context.image)]:
        np.testing.assert_allclose(run(method, context), expected * factor, rtol=1e-9)
    np.testing.assert_allclose(run("smoothgrad", context, noise=0.0), expected, rtol=1e-9)


def test_of_two_classes_a_probabilitys_gradient_is_p_times_its_rest_times_the_margins(make_context):
    probability, margin = (make_context("MLP", output=output) for output in ("probability", "margin"))
    p = probability.outputs(probability.image[None])[0]
    np.testing.assert_allclose(
        run("gradient", probability), p * (1 - p) * run("gradient", margin), rtol=1e-5, atol=1e-9
    )


@pytest.mark.parametrize("classes", [2, 3])
def test_a_probability_is_the_softmax(make_context, classes):
    context = make_context(confident(classes, 1.0), output="probability")
    np.testing.assert_allclose(
        context.outputs(context.training.x), context.predict_proba(context.training.x)[:, 1], rtol=1e-12
    )


@pytest.mark.parametrize("size", [0.0, 20.0, 50.0])
def test_shares_of_a_probability_add_up_to_its_change_though_it_saturates(make_context, size):
    """Between two points where p rounds to 1 the change is (1 - p) there less (1 - p) here."""
    context = make_context(confident(2, size), target=0, output="probability")
    at, base = log_odds(context)[0], size
    change = expit(-base) - expit(-at)
    for method in ("deeplift", "integrated_gradients"):
        np.testing.assert_allclose(run(method, context).sum(), change, rtol=1e-6)
    assert (run("gradientshap", context) != 0).all()


# Gradient family ------------------------------------------------------------------------------------


def dense(bias):
    """A small ReLU network, with or without biases."""
    torch.manual_seed(1)
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 32, bias=bias), nn.ReLU(), nn.Linear(32, 2, bias=bias))


def test_without_biases_three_methods_are_one_map_with_a_zero_baseline(make_context):
    """A ReLU network without biases is positively homogeneous: on the way from 0 to x its gradient is one."""
    methods = ("gradient_x_input", "integrated_gradients", "deeplift")
    maps = {bias: [run(method, make_context(dense(bias))) for method in methods] for bias in (False, True)}
    for other in (1, 2):
        np.testing.assert_allclose(maps[False][other], maps[False][0], rtol=1e-3, atol=1e-6)
        assert np.abs(maps[True][other] - maps[True][0]).max() > 0.01 * np.abs(maps[True][0]).max()


def test_gradientshap_adds_up_to_the_change_from_the_mean_output(make_context):
    """Exactly for a linear model and as many samples as one likes; with its default, up to the points drawn."""
    context = make_context("MLP")
    data = context.training.x.reshape(-1, 8, 8)
    change = context.outputs(context.image[None])[0] - context.outputs(data).mean()
    sums = [run("gradientshap", numbered(make_context, number), n_samples=500).sum() for number in range(20)]
    assert np.mean(sums) == pytest.approx(change, abs=4 * np.std(sums) / np.sqrt(20))


@pytest.mark.parametrize("network", NETWORKS)
def test_gradient_methods_equal_captum(make_context, network):
    context = make_context(network)
    x = torch.from_numpy(context.image)[None].requires_grad_()
    for name, method in {"saliency": attr.Saliency, "gradient_x_input": attr.InputXGradient}.items():
        expected = method(context.explained).attribute(x)[0].detach().numpy()
        np.testing.assert_allclose(run(name, context), expected, rtol=1e-5, atol=1e-7)
    signed = attr.Saliency(context.explained).attribute(x, abs=False)[0].detach().numpy()
    np.testing.assert_allclose(run("gradient", context), signed, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("baseline", ["zero", "mean"])
@pytest.mark.parametrize("network", NETWORKS)
def test_integrated_gradients_add_up_to_the_change_in_output(make_context, network, baseline):
    context = make_context(network)
    values = run("integrated_gradients", context, steps=200, baseline=baseline)
    assert values.sum() == pytest.approx(difference(context, baseline), abs=0.01 * np.abs(values).sum())


@pytest.mark.parametrize("output", ["margin", "probability"])
@pytest.mark.parametrize("baseline", ["zero", "mean"])
@pytest.mark.parametrize("network", NETWORKS)
def test_deeplift_adds_up_to_the_change_in_output(make_context, network, baseline, output):
    context = make_context(network, output=output)
    values = run("deeplift", context, baseline=baseline)
    assert values.sum() == pytest.approx(difference(context, baseline), rel=1e-3, abs=1e-5)


def test_a_baseline_is_zero_or_the_mean_training_image(make_context):
    context = make_context()
    assert not context.baseline("zero").any()
    np.testing.assert_allclose(context.baseline("mean"), context.training.x.mean(0).reshape(8, 8), atol=1e-6)


def test_smoothgrad_without_noise_is_the_gradient(make_context):
    context = make_context()
    np.testing.assert_allclose(run("smoothgrad", context, noise=0), run("gradient", context), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("method", ["smoothgrad", "guided_backprop", "gradient"])
def test_on_a_linear_model_the_gradient_methods_give_its_weights(make_context, weights, method):
    np.testing.assert_allclose(run(method, make_context(linear(weights))).ravel(), weights, rtol=1e-4)


def test_gradientshap_on_a_linear_model_is_weight_times_distance_from_the_mean_image(make_context, weights):
    context = make_context(linear(weights), images=50)
    found = run("gradientshap", context, n_samples=500, noise=0).ravel() / weights
    data = context.training.x
    error = found - (context.image.ravel() - data.mean(0))
    assert np.abs(error / data.std(0)).max() < 5 / np.sqrt(500)
    noisy = run("gradientshap", make_context(linear(weights), images=50, seed=1), n_samples=500, noise=0.1).ravel()
    spread = np.sqrt(data.std(0) ** 2 + (0.1 * (data.max() - data.min())) ** 2)
    error = noisy / weights - (context.image.ravel() - data.mean(0))
    assert 0 < np.abs(error / spread).max() < 5 / np.sqrt(500)


@pytest.mark.parametrize("method", ["deeplift", "guided_backprop"])
@pytest.mark.parametrize("module, named", [(SharedRelu, "act"), (FunctionalRelu, "ReLU"), (Mixed, "functional")])
def test_a_relu_that_cannot_be_hooked_is_refused_and_harms_nothing(make_context, method, module, named):
    torch.manual_seed(0)
    context = make_context(module())
    before = run("gradient", context)
    with pytest.raises(NotApplicable, match=named):
        run(method, context)
    assert hooks(context.explained) == 0
    np.testing.assert_array_equal(run("gradient", context), before)


@pytest.mark.parametrize("method", ["deeplift", "guided_backprop"])
def test_a_functional_relu_is_refused_for_probabilities_too(make_context, method):
    torch.manual_seed(0)
    with pytest.raises(NotApplicable):
        run(method, make_context(FunctionalRelu(), output="probability"))


def test_an_error_inside_a_method_leaves_the_model_clean(make_context, monkeypatch):
    context = make_context()
    monkeypatch.setattr(attr.GuidedBackprop, "attribute", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run("guided_backprop", context)
    assert hooks(context.explained) == 0


def test_methods_with_hooks_do_not_disturb_others_on_the_same_model(make_context):
    first = make_context("MLP")
    network, training = first.network, first.training
    alone = run("saliency", first)
    found, failed = [], []

    def often(method, keep):
        try:
            for _ in range(20):
                keep.append(run(method, Context(network, first.image, 1, "margin", training)))
        except Exception as error:  # noqa: BLE001  (shown by the assertion below)
            failed.append(error)

    guided = []
    threads = [threading.Thread(target=often, args=a) for a in (("guided_backprop", guided), ("saliency", found))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed and len(found) == len(guided) == 20
    assert all(v.tobytes() == alone.tobytes() for v in found)
    assert all(v.tobytes() == guided[0].tobytes() for v in guided)
    assert (np.abs(guided[0]) != alone).any()


SHARING = [  # what is asked first, what then, and how many images the model may still be asked about
    ("gradient", {}, "patternlocal", {}, 1),
    ("lime", {}, "patternlocal", {"surrogate": "lime", "sampling": "mask", "proximity": "exponential"}, 0),
    ("lime", {}, "lime", {"ridge": 1.0, "kernel_width": 1.0}, 0),
    ("kernelshap", {}, "patternlocal", {"surrogate": "kernelshap"}, 2),
    ("openapi", {}, "patternlocal", {"surrogate": "openapi"}, 1),
    ("patternlocal", {"surrogate": "lime"}, "patternlocal", {"surrogate": "lime", "bandwidth": 2.0}, 0),
]


@pytest.mark.parametrize("first, given, then, changed, asked", SHARING)
def test_methods_on_one_image_share_their_work_and_nothing_else_changes(
    make_context, first, given, then, changed, asked
):
    made, shared, images = make_context("MLP"), Shared(), []
    for module in (made.network.module, made.network.double):
        module.register_forward_hook(lambda _, inputs, output: images.append(len(inputs[0])))

    def context(seed=0, shared=None):
        return Context(made.network, made.image, 1, "margin", made.training, seed, shared)

    alone = run(then, context(), **changed)
    run(first, context(shared=shared), **given)
    images.clear()
    assert run(then, context(shared=shared), **changed).tobytes() == alone.tobytes()
    assert sum(images) == asked
    other = run(then, context(seed=1, shared=shared), **changed)
    assert other.tobytes() == run(then, context(seed=1), **changed).tobytes()


def test_what_is_shared_cannot_be_changed_through_a_map(make_context):
    context = make_context("MLP")
    for method in ("gradient", "openapi"):
        before = run(method, context).copy()
        run(method, context)[:] = 0
        np.testing.assert_array_equal(run(method, context), before)


def test_what_many_threads_ask_for_at_once_is_computed_once():
    shared, computed = Shared(), []

    def ask():
        shared.once("slow", lambda: (time.sleep(0.05), computed.append(1)))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(computed) == 1
    for number in range(100):  # only the last few are kept
        assert shared.once(number, lambda n=number: n) == number
    shared.once("slow", lambda: computed.append(2))
    assert computed == [1, 2]
