"""LIME and KernelSHAP, patterns and filters; what all methods keep to stands in test_methods."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import Lasso, Ridge
from torch import nn

from core import METHODS, NotApplicable
from core.methods.context import Context, TrainingImages
from core.methods.linear_fit import weighted_lasso, weighted_ridge
from core.methods.simplification import simplification
from core.methods.surrogate import coalitions, fitted
from core.models.model import Model
from tests.core.helpers import NETWORKS, difference, linear, run


@pytest.fixture(scope="module")
def weights():
    return np.random.default_rng(8).standard_normal(64).astype(np.float32)


# Surrogates -----------------------------------------------------------------------------------------


def per_unit(context, kind, **options):
    """PatternLocal's surrogate of switched features: its weights per unit of h."""
    settings = METHODS["patternlocal"].check({"surrogate": kind, "sampling": "mask", **options})
    return fitted(context, kind, settings, per="unit")[1]


def step(context, reference):
    return context.image.ravel() - context.baseline(reference).ravel()


@pytest.mark.parametrize("reference", ["zero", "mean"])
def test_mask_lime_on_a_linear_model_is_weight_times_distance_from_the_reference(make_context, weights, reference):
    context = make_context(linear(weights, 0.3))
    found = run("lime", context, sampling="mask", n_samples=2000, ridge=1e-6, reference=reference).ravel()
    np.testing.assert_allclose(found, weights * step(context, reference), rtol=1e-3, atol=1e-5)
    assert context.facts["fit"] == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("reference", ["zero", "mean"])
@pytest.mark.parametrize("kind", ["lime", "kernelshap"])
def test_fitted_per_unit_on_a_linear_model_the_weights_are_the_models(make_context, weights, kind, reference):
    context = make_context(linear(weights, 0.3))
    found = per_unit(context, kind, n_samples=2000, ridge=1e-6, reference=reference)
    known = np.abs(step(context, reference)) > 0.02
    np.testing.assert_allclose(found.weights[known], weights[known], rtol=5e-3, atol=1e-4)
    assert found.output == pytest.approx(context.outputs(context.image[None])[0], rel=1e-3)


def test_a_dark_pixel_gets_no_weight_out_of_noise(make_context):
    """Divided by its step of .02, the noise of its weight per presence would be larger than most weights."""
    context = make_context("MLP")
    context.image[0, :4] = 0.02
    for kind in ("lime", "kernelshap"):
        dark, others = np.split(np.abs(per_unit(context, kind, n_samples=200).weights), [4])
        assert 0 < dark.max() < np.median(others)
    assert np.abs(run("kernelshap", context, n_samples=200).ravel()[:4] / 0.02).max() > 3 * others.max()


@pytest.mark.parametrize("samples", [30, 2000])
def test_kernelshap_per_unit_keeps_its_sum(make_context, samples):
    context = make_context("MLP")
    found = per_unit(context, "kernelshap", n_samples=samples).weights
    assert found @ step(context, "zero") == pytest.approx(difference(context, "zero"), rel=1e-9)


def test_with_a_weak_ridge_kernelshap_per_unit_of_few_features_is_shapley_values_over_steps(make_context):
    context = make_context("MLP")
    few = {"simplify": "grid", "segments": 9}
    values = run("kernelshap", context, **few)
    units = per_unit(context, "kernelshap", **few, ridge=1e-6).weights
    h = simplification(context, "grid", 9, 0.1, 30)
    np.testing.assert_allclose(
        h.to_map(units * h.project(context.image.reshape(1, -1))[0]).reshape(8, 8), values, rtol=1e-3, atol=1e-5
    )


@pytest.mark.parametrize("spread", [0.05, 2.0])
def test_data_lime_on_a_linear_model_gives_its_weights(make_context, weights, spread):
    context = make_context(linear(weights, 0.3))
    for sampling in ("data", "gaussian"):
        found = run("lime", context, sampling=sampling, n_samples=2000, ridge=1e-6, spread=spread).ravel()
        np.testing.assert_allclose(found, weights, rtol=1e-3, atol=2e-4)


@pytest.mark.parametrize("n, d", [(30, 80), (200, 20), (40, 40)])
@pytest.mark.parametrize("ridge", [1e-4, 1.0])
def test_the_weighted_ridge_equals_scikit_learns(n, d, ridge):
    rng = np.random.default_rng(n)
    z, f, p = rng.standard_normal((n, d)) + 2, rng.standard_normal(n), rng.random(n)
    p /= p.sum()
    spread = p @ (z - p @ z) ** 2
    reference = Ridge(alpha=ridge * spread.sum() / min(n, d), tol=1e-12).fit(z, f, sample_weight=p)
    found = weighted_ridge(z, f, 7 * p, ridge)
    np.testing.assert_allclose(found.weights, reference.coef_, rtol=1e-6, atol=1e-9)
    assert found.intercept == pytest.approx(reference.intercept_, rel=1e-6)
    assert found.fit == pytest.approx(reference.score(z, f, sample_weight=p), rel=1e-6)


@pytest.mark.parametrize("n, d", [(60, 20), (30, 50)])
def test_the_weighted_lasso_equals_scikit_learns(n, d):
    rng = np.random.default_rng(n)
    z, f, p = rng.standard_normal((n, d)) + 2, rng.standard_normal(n), rng.random(n)
    p /= p.sum()
    largest = np.abs((p * (f - p @ f)) @ (z - p @ z)).max()
    reference = Lasso(alpha=0.3 * largest, tol=1e-12, max_iter=10**5).fit(z, f, sample_weight=p * n)
    found = weighted_lasso(z, f, p, 0.3)
    np.testing.assert_allclose(found.weights, reference.coef_, atol=1e-3 * np.abs(reference.coef_).max())
    assert weighted_lasso(z, f, p, 0.9).weights.any() and not weighted_lasso(z, f, p, 1.0).weights.any()


def test_fewer_samples_than_pixels_are_said_to_be_too_few(make_context):
    context = make_context("MLP")
    run("lime", context, n_samples=20)
    assert context.facts["samples"] == 20 and "underdetermined" in " ".join(context.notes)
    context = make_context("MLP")
    run("lime", context, n_samples=2000)
    assert not context.notes


@pytest.mark.parametrize("reference", ["zero", "mean"])
def test_kernelshap_on_a_linear_model_is_weight_times_distance_from_reference(make_context, weights, reference):
    context = make_context(linear(weights, 0.3))
    found = run("kernelshap", context, n_samples=2000, reference=reference).ravel()
    np.testing.assert_allclose(found, weights * step(context, reference), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("samples", [10, 64, 65, 2000])
@pytest.mark.parametrize("network", NETWORKS)
def test_kernelshap_adds_up_to_the_change_in_output(make_context, network, samples):
    context = make_context(network)
    found = run("kernelshap", context, n_samples=samples)
    assert found.sum() == pytest.approx(difference(context, "zero"), rel=1e-9)


@pytest.mark.parametrize("samples", [40, 41])
def test_kernelshap_with_few_samples_is_the_shortest_fit_with_its_sum(make_context, samples):
    """Of a coalition and its complement, only the difference of the answers can be fitted."""
    context = make_context("MLP")
    found = run("kernelshap", context, n_samples=samples).ravel()
    z, _ = coalitions(64, samples, context.rng)
    total = difference(context, "zero")
    f = context.outputs(z * context.image.ravel()) - context.outputs(np.zeros((1, 64)))
    rows, share = z - z.mean(1, keepdims=True), z.mean(1) * total
    pairs = np.stack([np.arange(20), np.arange(20) + (samples + 1) // 2])
    odd = np.concatenate([np.diff((f - share)[pairs], axis=0)[0] / -2, (f - share)[20:21][: samples % 2]])
    root = np.where(np.arange(len(odd)) < 20, 1.0, np.sqrt(0.5))  # one without its complement weighs half
    expected = np.linalg.lstsq(root[:, None] * rows[: len(odd)], root * odd, rcond=1e-6)[0] + total / 64
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


def test_kernelshap_finds_the_shapley_values_of_a_product():
    class Product(nn.Module):  # f = x0 * x1 of four pixels: each of the two gets half
        def forward(self, x):
            product = x.flatten(1)[:, 0] * x.flatten(1)[:, 1]
            return torch.stack([torch.zeros_like(product), product], 1)

    training = TrainingImages(np.zeros((2, 2, 2), np.float32), np.zeros(2))
    context = Context(Model("test", Product(), 1.0), np.array([[3.0, 4.0], [5.0, 6.0]]), 1, "margin", training)
    np.testing.assert_allclose(run("kernelshap", context, n_samples=10), [[6, 6], [0, 0]], atol=1e-5)


@pytest.mark.parametrize("method", ["lime", "kernelshap"])
def test_an_image_equal_to_its_reference_has_an_empty_map_that_says_so(make_context, method):
    context = make_context("MLP")
    context.image[:] = 0
    assert not run(method, context).any()
    assert "empty" in " ".join(context.notes)


@pytest.mark.parametrize("kind", ["lime", "kernelshap"])
def test_weights_per_unit_leave_out_pixels_that_equal_their_reference(make_context, kind):
    context = make_context(linear(np.ones(64)))
    context.image[0, :2] = 0
    found = per_unit(context, kind, n_samples=2000, ridge=1e-6).weights
    assert not found[:2].any() and context.facts["features_at_reference"] == 2
    np.testing.assert_allclose(found[2:], 1.0, rtol=0.05)
    context.image[:] = 0
    with pytest.raises(NotApplicable, match="All 64"):
        per_unit(context, kind)


# Patterns and filters -------------------------------------------------------------------------------


def test_the_global_pattern_is_the_covariance_of_pixels_and_output(make_context, weights):
    context = make_context(linear(weights))
    data = context.training.x.astype(float)
    cov = np.cov(data.T, bias=True)
    found = run("pattern", context).ravel()
    np.testing.assert_allclose(found, cov @ weights / (weights @ cov @ weights), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize(
    "options", [{"surrogate": "gradient"}, {"surrogate": "lime", "n_samples": 2000, "ridge": 1e-6}]
)
def test_patternlocal_is_the_local_pattern_of_its_surrogate(make_context, weights, options):
    from core.methods.pattern import local_pattern

    context = make_context(linear(weights))
    expected = local_pattern(weights, context.training.x, context.image.ravel(), share=0.5, kernel="triangular")
    found = run("patternlocal", context, share=0.5, kernel="triangular", **options).ravel()
    assert context.facts["neighbours"] == 75  # of the 150 nearest, those within their median distance
    np.testing.assert_allclose(found, expected, rtol=1e-2, atol=1e-3 * np.abs(expected).max())


def test_filters_of_an_edge(make_context):
    context = make_context()
    context.image[:] = np.arange(8) >= 4  # a vertical edge between columns 3 and 4
    sobel, laplace = run("sobel", context), run("laplace", context)
    assert (sobel[:, 3:5] > 0.1).all() and not sobel[:, [0, 1, 6, 7]].any()
    assert (np.abs(laplace[:, 3:5]) == 1).all() and (laplace[:, 3] == -laplace[:, 4]).all()
    assert not laplace[:, [0, 1, 2, 5, 6, 7]].any()
    np.testing.assert_array_equal(run("input", context), context.image)
    context.image[:] = context.image.T.copy()
    np.testing.assert_allclose(run("sobel", context), sobel.T)  # both axes alike


def test_random_maps_are_standard_normal(make_context):
    values = np.concatenate([run("random", make_context(seed=s)).ravel() for s in range(50)])
    assert abs(values.mean()) < 5 / np.sqrt(values.size) and abs(values.std() - 1) < 5 / np.sqrt(2 * values.size)
