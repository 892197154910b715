"""What the Suppressors and Methods pages show: closed forms, and registered methods as oracles of the fast ones."""

import json

import numpy as np
import pytest
import torch

from core import (
    DATASETS,
    METHODS,
    METRICS,
    MODELS,
    InputError,
    NotApplicable,
    Spec,
    cache,
    lessons,
    model_library,
    pipeline,
)
from core.__main__ import main
from core.datasets import tetromino, toy
from core.lessons.images import THRESHOLDS, curve, zones
from core.lessons.xor import LIME, lime, sampled_curve, shapley, xor_patterns
from core.methods.context import Context, TrainingImages
from core.methods.pattern import local_patterns
from core.models.model import Model, freeze
from core.registry import Option, canonical
from core.types import Dataset, Split

SHARES = {0.1: 0.386, 0.5: 0.318, 1: 0.223, 2: 0.112, 5: 0.026}  # mathematics: |a3| share by kernel width


# ---- two variables


@pytest.mark.parametrize("sigma_d", [0.0, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("x2_weight", [-2.0, -1.0, 0.0, 1.0])
def test_accuracies_agree_with_their_closed_form(sigma_d, x2_weight):
    found = lessons.two_variables(sigma_d, x2_weight)
    for name, closed in found.closed.items():
        if sigma_d or name != "x2 alone":  # x2 is always 0 there: it answers nothing
            assert found.accuracy[name] == pytest.approx(closed, abs=0.03), name


def test_the_best_weight_uses_both_variables_and_is_always_right():
    found = lessons.two_variables(1.5, 0.0)
    np.testing.assert_allclose(found.best, [1, -1], atol=1e-12)
    assert found.accuracy["best"] == 1 and lessons.WEIGHTS[found.curve.argmax()] == pytest.approx(-1)


@pytest.mark.parametrize("sigma_d", [0.0, 0.5, 1.0, 3.0])
def test_the_pattern_of_the_best_weight_lies_along_x1(sigma_d):
    found = lessons.weight_to_pattern(sigma_d)
    np.testing.assert_allclose(found.pattern, [1, 0], atol=1e-12)
    np.testing.assert_allclose(found.measured_covariance, found.covariance, atol=0.06 * (1 + sigma_d**2))


def test_weights_mark_x2_even_exact_ones_and_the_pattern_does_not():
    share = lessons.weight_to_pattern(1.0).share
    assert share["gradient"] == 0.5 and share["openapi"] == pytest.approx(0.5, abs=1e-12)
    assert share["lime"] == pytest.approx(0.5, abs=0.01)
    assert share["kernelshap"] == pytest.approx(1 / 3, abs=1e-12)  # Shapley of a linear model: w_j x_j at x = (2, 1)
    assert share["pattern"] < 0.02


# ---- XOR


class _Classifier(torch.nn.Module):
    """The smooth XOR classifier as a network of two logits on images (n,1,3), whose margin is ``tanh(f/tau)``."""

    def __init__(self, tau):
        super().__init__()
        self.tau = tau

    def forward(self, x):
        a, b, c = x.reshape(len(x), 3).unbind(1)
        half = torch.tanh((a - c) * (b + c) / self.tau) / 2
        return torch.stack([-half, half], 1)


@pytest.mark.parametrize(
    "method, fast",
    [
        ("gradient", lambda x, tau: toy.xor_direction(x) * toy.xor_slope(x, tau)[:, None]),
        ("lime", lime),
        ("kernelshap", shapley),
    ],
)
@pytest.mark.parametrize("tau", [0.5, 2.0])
def test_methods_on_all_points_at_once_are_the_registered_ones(method, fast, tau):
    x = toy.xor_suppressor(400, 1.0, np.random.default_rng(3))[0].astype(np.float32).astype(np.float64)
    options = LIME if method == "lime" else {}
    for point, expected in list(zip(x, fast(x, tau)))[:8]:
        context = Context(
            Model("toy", freeze(_Classifier(tau)), 1.0),
            point[None, :],
            1,
            "margin",
            TrainingImages(x[:, None, :].astype(np.float32), np.zeros(len(x))),
        )
        found = METHODS[method].function(context, **METHODS[method].check(options))
        np.testing.assert_allclose(found.ravel(), expected, atol=2e-5)


@pytest.mark.parametrize("bandwidth", [0.3, 1.0, 5.0, np.inf])
def test_patterns_from_moments_point_where_the_general_ones_do(bandwidth):
    x = toy.xor_suppressor(2000, 1.0, np.random.default_rng(4))[0]
    w = toy.xor_direction(x[:150])
    moments = xor_patterns(x, w, x[:150], bandwidth)[0]
    general = local_patterns(w, x, x[:150], bandwidth=bandwidth)
    np.testing.assert_allclose(
        moments / np.abs(moments).sum(1, keepdims=True), general / np.abs(general).sum(1, keepdims=True), atol=1e-7
    )


@pytest.mark.parametrize("sigma_d, bandwidth", [(1.0, 0.5), (0.4, 2.0), (2.0, 10.0)])
def test_the_local_covariance_is_its_textbook_form(sigma_d, bandwidth):
    cov = toy.xor_covariance(sigma_d)
    np.testing.assert_allclose(
        toy.local_covariance(cov, bandwidth), np.linalg.inv(np.linalg.inv(cov) + np.eye(3) / bandwidth**2), atol=1e-12
    )
    np.testing.assert_allclose(toy.local_covariance(cov, np.inf), cov, atol=1e-12)


@pytest.mark.parametrize("bandwidth, share", SHARES.items())
def test_the_integral_over_angles_gives_the_average_share(bandwidth, share):
    x = toy.xor_suppressor(200_000, 1.0, np.random.default_rng(5))[0]
    assert toy.xor_share(1.0, bandwidth) == pytest.approx(share, abs=0.001)
    averaged = toy.third_share(toy.xor_pattern(x, 1.0, bandwidth))
    assert averaged == pytest.approx(toy.xor_share(1.0, bandwidth), abs=0.002)


def test_the_curve_runs_from_the_gradient_to_nothing():
    found = lessons.bandwidth_curve(1.0, np.inf)
    assert found.gradient == pytest.approx(0.390, abs=0.001)
    assert found.closed[0] == pytest.approx(found.gradient, abs=0.002) and (np.diff(found.closed) < 0).all()
    assert found.at < 1e-12


def test_the_sampled_shares_agree_with_the_closed_form_where_neighbourhoods_are_full():
    sampled = sampled_curve(1.0, samples=10_000, centers=1500)
    for b, share in zip(lessons.SAMPLED, sampled):
        if b >= 0.5:
            assert share == pytest.approx(toy.xor_share(1.0, b), abs=0.01)


def test_four_methods_mark_the_suppressor_as_the_paper_s_figure_says():
    mean = lessons.xor(1.0, 0.5, 5.0).mean
    assert mean["gradient"] == pytest.approx(0.390, abs=0.005) and mean["lime"] > 0.35 and mean["kernelshap"] > 0.25
    assert mean["patternlocal"] == pytest.approx(0.026, abs=0.01)


@pytest.mark.parametrize(
    "settings, words",
    [((0.0, 0.5, 5.0), "x3 is always 0"), ((1.0, 0.001, 5.0), "almost a step"), ((1.0, 0.5, 0.01), "mostly noise")],
)
def test_extreme_sliders_are_told_in_words(settings, words):
    found = lessons.xor(*settings)
    assert any(words in note for note in found.notes)
    assert all(np.isnan(v).sum() == found.empty[m] for m, v in found.share.items())


def test_a_point_without_neighbours_has_no_pattern_and_is_counted():
    found = lessons.xor(1.0, 0.5, 0.01)
    assert found.empty["patternlocal"] > 1000 and 1 <= found.effective_sample_size < 1.1
    assert f"{found.empty['patternlocal']:,} points have no neighbour" in found.notes[0]


# ---- images


def test_noise_correlation_is_what_noise_shows():
    mask = np.zeros((8, 8), bool)
    mask[2, 3] = True
    noise = tetromino.smoothed(np.random.default_rng(0).standard_normal((20_000, 8, 8)).astype(np.float32), 3.0)
    flat = noise.reshape(len(noise), -1)
    measured = np.corrcoef(flat.T)[np.flatnonzero(mask)[0]].reshape(8, 8)
    np.testing.assert_allclose(tetromino.noise_correlation("CORR", mask), np.abs(measured), atol=0.02)
    np.testing.assert_array_equal(tetromino.noise_correlation("WHITE", mask), mask.astype(float))


def test_zones_share_out_the_whole_map():
    rng = np.random.default_rng(1)
    mask = rng.random((8, 8)) < 0.2
    related, values = np.where(mask, 1.0, rng.random((8, 8))), rng.standard_normal((8, 8))
    for t in (0.0, 0.5, 0.99):
        shares = zones(values, mask, related, t)
        assert shares.sum() == pytest.approx(1, abs=1e-12)
        at = np.searchsorted(THRESHOLDS, t)
        assert shares[1] == pytest.approx(curve(values, mask, related)[at])
    np.testing.assert_array_equal(np.isnan(zones(np.zeros((8, 8)), mask, related, 0.5)), True)


def test_the_idea_s_arrows_are_its_maps_and_the_surrogate_s_line_is_where_it_changes_sign():
    found = lessons.suppressor_plane()
    weight, pattern = (found.maps[m].values.ravel() for m in ("gradient", "patternlocal"))
    cosine = weight @ pattern / np.linalg.norm(weight) / np.linalg.norm(pattern)
    assert np.cos(np.radians(found.angle)) == pytest.approx(cosine, abs=1e-9)
    context = pipeline.context(lessons.PLANE_SPEC)
    slope = np.linalg.norm(weight)
    for end in found.line:  # both arrows lie in the plane, so the surrogate over it is f(x) + |w| (weight . end)
        assert context.outputs(context.image[None])[0] + slope * found.weight @ end == pytest.approx(0, abs=1e-6)
    assert found.inside["patternlocal"] > found.inside["gradient"]


# ---- cards


@pytest.mark.parametrize("family, name", [(f, e.name) for f, r in lessons.FAMILIES.items() for e in r.values()])
def test_every_entry_has_an_example_or_the_reason_why_not(family, name):
    found = lessons.example(family, name)
    assert found.reason or (found.pictures and found.seconds > 0 and found.work)
    assert all(np.isfinite(p.values).all() and p.caption for p in found.pictures)


@pytest.mark.parametrize("entry", [*METHODS.values(), *METRICS.values()], ids=lambda e: e.name)
def test_every_method_and_metric_has_a_formula_and_a_warning(entry):
    assert entry.formula and entry.misleads


def test_a_data_set_whose_truth_is_unknown_says_so(register):
    part = Split(np.zeros((4, 8, 8), np.float32), np.zeros(4, np.int64), np.zeros((4, 8, 8), bool))

    def unknown(scenario, background, snr, *, size=8, samples=4, seed=0):
        return Dataset({}, part, part, part, np.zeros((8, 8), bool), "union")

    register(
        DATASETS,
        "unknown",
        unknown,
        options=(
            Option("scenario", "", choices=("XOR",), default="XOR"),
            Option("background", "", choices=("CORR",), default="CORR"),
            Option("snr", "", low=0.0, high=1.0, default=0.15),
            Option("size", "", choices=(8,)),
            Option("samples", "", low=1, high=1000),
            Option("seed", "", low=0, high=9),
        ),
    )
    cache.clear_all()
    found = lessons.example("data sets", "unknown")
    assert found.pictures and all(p.mask is None and "no known truth" in p.caption for p in found.pictures)
    cache.clear_all()


def test_an_entry_without_small_images_says_so(register):
    register(DATASETS, "large", lambda *, size=64: None, options=(Option("size", "", choices=(64,)),))
    register(MODELS, "untrained", lambda size: None)
    register(METHODS, "never", _never)
    for family, name, words in (
        ("data sets", "large", "8 × 8"),
        ("models", "untrained", "8 × 8"),
        ("methods", "never", "says no"),
    ):
        cache.clear_all()
        found = lessons.example(family, name)
        assert not found.pictures and words in found.reason
    cache.clear_all()


def _never(context):
    raise NotApplicable("The method says no.")


def test_a_card_s_numbers_are_the_pipeline_s():
    a = pipeline.explain(Spec(scenario="XOR", background="CORR", snr=0.15, size=8, image=1, method="gradient"))
    ime, emd = (METRICS[name].function(a.values, a.mask) for name in ("ime", "emd"))
    assert lessons.example("methods", "gradient").pictures[0].caption == f"{1 - ime:.0%} inside"
    assert f"{emd:.3f}" in lessons.example("metrics", "emd").pictures[0].caption


def test_the_glossary_is_in_order_and_in_sentences():
    assert list(lessons.GLOSSARY) == sorted(lessons.GLOSSARY, key=str.lower)
    assert all(text.endswith(".") for text in lessons.GLOSSARY.values())


# ---- sliders and command line


@pytest.mark.parametrize(
    "given",
    [
        {"tau": 3},
        {"sigma_d": -1},
        {"sigma_d": float("nan")},
        {"bandwidth": "near"},
        {"lesson_image": 1.5},
        {"correlation": 1},
    ],
)
def test_a_slider_off_its_scale_is_an_input_error_that_names_it(given):
    with pytest.raises(InputError, match=next(iter(given))):
        lessons.check(**given)


def test_teach_prints_the_numbers_of_its_steps(capsys):
    assert main(["teach", "--json", "--step", "XOR", "--step", "bandwidth", "--sigma-d=1", "--bandwidth=inf"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert list(printed) == ["settings", "XOR", "bandwidth"] and printed["settings"]["bandwidth"] == "inf"
    assert printed["XOR"]["mean_share_of_x3"] == lessons.xor(1.0, 0.5, np.inf).mean
    assert printed["bandwidth"]["at_bandwidth"] < 1e-12
    assert main(["teach", "--step", "two variables", "--x2-weight", "-1"]) == 0
    assert "accuracy yours: 1.0" in capsys.readouterr().out
    assert main(["teach", "--tau", "3"]) == 1 and "tau" in capsys.readouterr().err


@pytest.mark.parametrize("step", lessons.LESSON_STEPS)
def test_every_step_leads_to_a_comparison_that_exists(step):
    spec, methods = lessons.comparison(step, lessons.check(bandwidth="inf"))
    assert model_library.has_model(spec)
    for method, options in methods.items():
        canonical(spec.replace(method=method, options=options))
