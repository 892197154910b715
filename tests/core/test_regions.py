import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from core import InputError, NotApplicable, Spec, cache, pipeline, regions
from core.models import white_box
from core.regions import exact
from core.regions.measures import sign_flips
from core.registry import MODELS
from tests.bench.threads import trial


@pytest.fixture(scope="module", params=["MLP", "CNN", "LLR"])
def module(request):
    torch.manual_seed(0)
    return MODELS[request.param].function(8).double().eval()


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(0).standard_normal((6, 8, 8))


def test_weights_of_a_region_are_the_networks_linear_function_there(module, images):
    """f(x + e) - f(x) = D e for every step that leaves no region."""
    weights, margin = white_box.decision_weights(module, images, 1)
    steps = 1e-7 * np.random.default_rng(1).standard_normal(images.shape)
    same = (
        white_box.activation_patterns(module, images) == white_box.activation_patterns(module, images + steps)
    ).all(1)
    assert same.sum() >= 4
    change = white_box.decision_weights(module, images + steps, 1)[1] - margin
    assert np.allclose(change[same], (weights * steps).sum((1, 2))[same], atol=1e-13)


def test_patterns_differ_across_a_border_and_not_inside(module, images):
    rows = white_box.activation_patterns(module, np.concatenate([images, images]))
    assert (rows[:6] == rows[6:]).all()
    if any(isinstance(m, torch.nn.ReLU) for m in module.modules()):
        assert len(np.unique(white_box.activation_patterns(module, np.concatenate([images, -images])), axis=0)) > 1
        assert not [h for m in module.modules() for h in m._forward_hooks], "all readers share the module"


@pytest.mark.parametrize(
    "network",
    [Spec(snr=0.15, size=8), Spec(scenario="LIN", size=8, model="CNN"), Spec(dataset="mnist", model="LMT")],
    ids=lambda s: s.model,
)
def test_eight_readers_of_one_network_get_what_each_would_get_alone(network):
    """To the bit; for longer and with larger networks: tests/bench/threads.py."""
    asked, wrong = trial(pipeline.model(network), pipeline.dataset(network).test.x, seconds=0.8)
    assert sum(asked.values()) > 30 and not +wrong


class Foreign(nn.Module):
    """A network whose hidden layer goes through any function, not a module."""

    def __init__(self, bend):
        super().__init__()
        torch.manual_seed(4)
        self.first, self.second, self.bend = nn.Linear(64, 5), nn.Linear(5, 2), bend

    def forward(self, x):
        return self.second(self.bend(self.first(x.flatten(1))))


@pytest.mark.parametrize(
    "bend",
    [
        functional.relu,
        torch.relu,
        lambda x: functional.leaky_relu(x, 0.1),
        lambda x: functional.relu_(x.clone()),
        lambda x: nn.ReLU(inplace=True)(x),
    ],
)
def test_switches_are_seen_that_are_no_modules(images, bend):
    module = Foreign(bend).double()
    on = module.first(torch.from_numpy(images).flatten(1)) > 0
    assert np.array_equal(white_box.activation_patterns(module, images), np.packbits(on.numpy(), axis=1))
    assert np.array_equal(white_box.inside(module, images, 1)[0], np.packbits(on.numpy(), axis=1))


def test_pooling_is_read_with_its_stride_and_spacing(images):
    pool = nn.MaxPool2d(3, stride=2, padding=1, dilation=2, ceil_mode=True)
    module = nn.Sequential(nn.Unflatten(1, (1, 8)), pool, nn.Flatten(), nn.LazyLinear(2)).double()
    module(torch.zeros(1, 8, 8).double())
    _, at = functional.max_pool2d(torch.from_numpy(images)[:, None], 3, 2, 1, 2, True, return_indices=True)
    bits = np.unpackbits(at.flatten(1).numpy().astype(">u2").view(np.uint8), axis=1)
    assert np.array_equal(white_box.activation_patterns(module, images), np.packbits(bits, axis=1))


def test_known_layers_and_foreign_modules_are_read_alike(module, images):
    """To the bit: one goes through the layers, the other watches PyTorch's operations."""
    foreign = nn.Sequential(module)
    for known, watched in zip(white_box.inside(module, images, 1), white_box.inside(foreign, images, 1)):
        assert np.array_equal(known, watched)
    assert np.array_equal(
        white_box.activation_patterns(module, images), white_box.activation_patterns(foreign, images)
    )


@pytest.mark.parametrize(
    "bend",
    [
        torch.tanh,
        functional.gelu,
        functional.silu,
        functional.softplus,
        torch.sin,
        functional.relu6,
        torch.abs,
        lambda x: x.clamp(min=0),
        lambda x: functional.softmax(x, 1),
    ],
)
def test_a_model_that_bends_otherwise_is_not_called_one_region(images, bend):
    module = Foreign(bend).double()
    for ask in (lambda: white_box.activation_patterns(module, images), lambda: white_box.inside(module, images, 1)):
        with pytest.raises(NotApplicable, match="cannot be read from inside"):
            ask()
    assert np.isfinite(white_box.decision_weights(module, images, 1)[0]).all(), "a gradient it has all the same"


def test_openapi_on_the_image_equals_the_white_box(spec):
    d = regions.decision(spec)
    assert d.features.exact and d.error < 1e-9
    assert np.allclose(d.values, d.truth, rtol=1e-7, atol=1e-9 * np.abs(d.truth).max())


def test_the_first_border_is_where_the_pattern_first_changes(spec):
    context = pipeline.context(spec)
    here = context.image.astype(float)
    there = pipeline.dataset(spec).test.x[regions.nearest(spec)].astype(float)
    t = regions.first_border(context, here, there)
    assert 0 < t < 1
    points = here + np.array([0, t * (1 - 1e-9), t * (1 + 1e-9)])[:, None, None] * (there - here)
    rows = white_box.activation_patterns(context.network.double, points)
    assert (rows[0] == rows[1]).all() and (rows[0] != rows[2]).any()


def test_test_points_lie_where_their_round_says(spec):
    """The last round's all lie in the image's region; a point of a rejected one does not have to."""
    found = regions.decision(spec).features
    axes = np.zeros((2, 8, 8))
    axes[0, 2, 3] = axes[1, 5, 1] = 1
    shadows, same = regions.tested(spec, found, axes)
    offsets = np.concatenate([r.tested for r in found.trace]).reshape(-1, 8, 8)
    assert np.array_equal(shadows, offsets[:, [2, 5], [3, 1]])
    last = len(found.trace[-1].tested)
    assert same[-last:].all() and not same.all()
    assert not found.trace[0].accepted and (np.abs(shadows) <= 1).all()


def test_only_the_exact_explanation_is_the_same_inside_a_region(spec):
    inside = regions.comparison_point(spec, regions.COMPARISON_POINTS[0])
    assert inside.same and inside.number is None
    found = {a.method: a for a in regions.agreements(spec, regions.COMPARISON_POINTS[0])}
    assert found["openapi"].cosine == pytest.approx(1, abs=1e-9) and found["openapi"].relative < 1e-8
    assert found["gradient_x_input"].relative > 1e-4


def test_signs_flip_only_where_both_maps_are_clear():
    a, b = np.array([[1.0, -1.0, 0.05, 0.0]]), np.array([[-2.0, -2.0, -2.0, 2.0]])
    np.testing.assert_array_equal(sign_flips(a, b), [[True, False, False, False]])
    assert not sign_flips(np.zeros((2, 2)), np.ones((2, 2))).any()


def test_another_image_lies_in_another_region_and_is_explained_otherwise(spec):
    other = regions.comparison_point(spec, regions.COMPARISON_POINTS[1])
    assert other.number == regions.nearest(spec) != spec.image and not other.same
    found = {a.method: a for a in regions.agreements(spec, regions.COMPARISON_POINTS[1])}
    assert found["openapi"].cosine < 0.9999


def test_map_of_the_accepted_radius_is_one_region_and_a_wide_one_is_not(spec):
    near = regions.region_map(spec, regions.decision(spec).features.radius / 2, 11)
    assert near.count == 1 and np.allclose(near.cosine, 1)
    far = regions.region_map(spec, regions.comparison_point(spec, regions.COMPARISON_POINTS[1]).distance, 11)
    assert far.count > 1 and far.cosine.min() < 0.99 and far.region.max() + 1 == far.count
    here = white_box.decision_weights(
        pipeline.context(spec).network.double, pipeline.context(spec).image[None], pipeline.context(spec).target
    )[1][0]
    assert far.margin[5, 5] == pytest.approx(here) and far.cosine[5, 5] == pytest.approx(1)


def test_along_a_line_exact_weights_change_only_at_borders(spec):
    found = regions.line(spec, regions.nearest(spec))
    assert all(y[0] == pytest.approx(1) for y in found.cosine.values())
    middle = (found.t[1:] + found.t[:-1]) / 2
    quiet = ~np.isin(middle, found.borders)
    assert quiet.any() and np.abs(np.diff(found.cosine["exact"]))[quiet].max() < 1e-9


@pytest.mark.parametrize(
    "call",
    [
        lambda spec: regions.comparison_point(spec, "me"),
        lambda spec: regions.region_map(spec, 0.0),
        lambda spec: regions.line(spec, spec.image),
        lambda spec: regions.line(spec, 10**6),
    ],
)
def test_what_does_not_exist_is_told(spec, call):
    with pytest.raises(InputError):
        call(spec)


def test_no_way_with_a_distance_is_better_than_openapi(spec):
    found = list(regions.errors(spec))
    assert {e.method for e in found} == {"OpenAPI", "Naive solve", "ZOO", "LIME, linear", "LIME, ridge"}
    best = next(e.error for e in found if e.method == "OpenAPI")
    assert best < 1e-9
    others = [e for e in found if e.method != "OpenAPI"]
    assert len(others) == 4 * len(regions.DISTANCES) and all(e.error > best - 1e-9 for e in others)
    assert next(e.error for e in others if e.method == "ZOO" and e.h == 1e-4) < 1e-6, "right where h fits"
    assert next(e.error for e in others if e.method == "LIME, ridge" and e.h == 1e-8) > 0.99, "its penalty empties it"


def test_large_images_ask_zoo_at_some_pixels_and_leave_regressions_out(spec, monkeypatch):
    whole = next(e.error for e in regions.errors(spec) if e.method == "ZOO" and e.h == 1e-8)
    monkeypatch.setattr(exact, "REGRESSION_PIXELS", 10)
    monkeypatch.setattr(exact, "ZOO_PIXELS", 48)
    cache.clear_all()
    found = list(regions.errors(spec))
    assert {e.method for e in found} == {"OpenAPI", "ZOO, 48 pixels", "Naive solve"}
    some = next(e.error for e in found if e.method == "ZOO, 48 pixels" and e.h == 1e-8)
    assert whole / 3 < some < 3 * whole, "most of the pixels have an error of the same size"
