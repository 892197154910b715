import copy
import threading
import time

import numpy as np
import pytest
import torch
from captum import attr
from torch import nn
from torch.nn.functional import relu

from core import METHODS, NotApplicable
from core.methods.context import Context, Shared
from core.models.model import freeze
from tests.core.helpers import NETWORKS, difference, linear, run

pytestmark = [pytest.mark.filterwarnings("ignore:Setting forward, backward hooks"),
              pytest.mark.filterwarnings("ignore:Setting backward hooks")]  # captum says so each time


def variants():
    """Every method as it is, with each option at each end of its range, and with each choice."""
    for entry in METHODS.values():
        yield pytest.param(entry.name, {}, id=entry.name)
        for option in entry.options:
            ends = (False, True) if isinstance(option.default, bool) else (option.low, option.high)
            for value in option.choices or ends:
                needed = {name: allowed[0] for name, allowed in option.when}
                yield pytest.param(entry.name, {**needed, option.name: value},
                                   id=f"{entry.name} {option.name}={value}")


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
    return sum(len(kind) for m in module.modules()
               for kind in (m._forward_hooks, m._forward_pre_hooks, m._backward_hooks, m._backward_pre_hooks))


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


@pytest.mark.parametrize("method, options", [v for v in variants() if "=" not in v.id or "surrogate" in v.id
                                             or "sampling" in v.id])
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


@pytest.mark.parametrize("method", [name for name, m in METHODS.items() if m.group != "filter" and m.signed
                                    and name != "guided_backprop"])  # which cuts negative signals
def test_the_other_class_of_two_gets_the_opposite_map(make_context, method):
    one, other = (run(method, make_context("MLP", target=target)) for target in (0, 1))
    np.testing.assert_allclose(one, -other, rtol=1e-3, atol=1e-4 * np.abs(one).max())


@pytest.mark.parametrize("method", ["lime", "kernelshap", "gradient", "integrated_gradients", "patternlocal"])
@pytest.mark.parametrize("network", NETWORKS)
def test_64x64_images_work_on_every_network(make_context, method, network):
    options = {"samples": 50} if method in ("lime", "kernelshap") else {}
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


# Gradient family ------------------------------------------------------------------------------------


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
    found = run("gradientshap", context, samples=500, noise=0).ravel() / weights
    data = context.training.x
    error = found - (context.image.ravel() - data.mean(0))
    assert np.abs(error / data.std(0)).max() < 5 / np.sqrt(500)
    noisy = run("gradientshap", make_context(linear(weights), images=50, seed=1), samples=500, noise=0.1).ravel()
    spread = np.sqrt(data.std(0)**2 + (0.1 * (data.max() - data.min()))**2)
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
    ("kernelshap", {}, "patternlocal", {"surrogate": "kernelshap"}, 0),
    ("openapi", {}, "patternlocal", {"surrogate": "openapi"}, 1),
    ("patternlocal", {"surrogate": "lime"}, "patternlocal", {"surrogate": "lime", "bandwidth": 2.0}, 0),
]


@pytest.mark.parametrize("first, given, then, changed, asked", SHARING)
def test_methods_on_one_image_share_their_work_and_nothing_else_changes(make_context, first, given, then, changed,
                                                                        asked):
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
