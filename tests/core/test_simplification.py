import itertools
import math

import numpy as np
import pytest
import torch
from torch import nn

from core import METHODS, NotApplicable
from core.methods.simplification import LowRank, Pixels, Superpixels, grid, simplification, superpixels
from core.methods.surrogate import fit_kernelshap


def each(context):
    flat = context.image.ravel()
    basis = np.linalg.qr(np.random.default_rng(1).standard_normal((64, 5)))[0].T
    return [Pixels(flat), Superpixels(flat, grid((8, 8), 16).ravel()), LowRank(flat, context.training.mean, basis)]


@pytest.mark.parametrize("which", range(3), ids=["pixels", "superpixels", "low rank"])
def test_features_put_back_are_the_features_and_the_image_stays_where_nothing_moved(make_context, which):
    context = make_context()
    h = each(context)[which]
    z = np.random.default_rng(2).standard_normal((7, h.size))
    np.testing.assert_allclose(h.project(h.lift(z)), z, atol=1e-5)
    here = h.project(context.image.reshape(1, -1))
    np.testing.assert_allclose(h.lift(here)[0], context.image.ravel(), atol=1e-6)


@pytest.mark.parametrize("which", range(3), ids=["pixels", "superpixels", "low rank"])
def test_pull_is_the_transpose_of_restore(make_context, which):
    h = each(make_context())[which]
    rng = np.random.default_rng(3)
    z, g = rng.standard_normal(h.size), rng.standard_normal(64)
    moved = h.lift(z[None])[0] - h.lift(np.zeros((1, h.size)))[0]
    assert moved @ g == pytest.approx(z @ h.pullback(g), rel=1e-5)


@pytest.mark.parametrize("which", range(3), ids=["pixels", "superpixels", "low rank"])
def test_all_features_on_is_the_image_and_none_is_its_reference(make_context, which):
    context = make_context()
    h = each(context)[which]
    reference = context.baseline("mean").ravel()
    on, off = h.mask(np.stack([np.ones(h.size), np.zeros(h.size)]).astype(np.float32), reference)
    np.testing.assert_allclose(on, context.image.ravel(), atol=1e-5)
    np.testing.assert_allclose(h.project(off[None]), h.project(reference[None]), atol=1e-5)


@pytest.mark.parametrize("shape, segments", [((8, 8), 4), ((8, 8), 16), ((64, 64), 64), ((64, 64), 50), ((8, 8), 64)])
def test_a_grid_covers_every_pixel_with_parts_of_nearly_equal_size(shape, segments):
    labels = grid(shape, segments)
    sizes = np.bincount(labels.ravel())
    assert labels.shape == shape and sizes.min() > 0 and sizes.max() <= 2.3 * sizes.min()
    assert abs(len(sizes) - segments) <= math.sqrt(segments)


def picture(size=64):
    image = np.random.default_rng(0).standard_normal((size, size)) * 0.05
    image[size // 4 : size // 2, size // 4 : size // 2] += 1
    return image


@pytest.mark.parametrize(
    "change",
    [lambda x: x.astype(np.float32), lambda x: 10 * x + 3, lambda x: x / 7 - 1],
    ids=["float32", "10 x + 3", "x / 7 - 1"],
)
def test_slic_segments_do_not_depend_on_type_or_range(change):
    np.testing.assert_array_equal(superpixels(picture(), 50, 0.1), superpixels(change(picture()), 50, 0.1))


@pytest.mark.parametrize("size", [8, 64])
@pytest.mark.parametrize("compactness", [10, 1, 0.1, 0.01])
def test_slic_labels_are_dense_and_cover_every_pixel(size, compactness):
    labels = superpixels(picture(size), 50, compactness)
    assert labels.shape == (size, size) and set(np.unique(labels)) == set(range(labels.max() + 1))


def test_one_slic_segment_is_no_explanation_and_a_grid_is_said_to_be_one(make_context):
    with pytest.raises(NotApplicable, match="single segment"):
        simplification(make_context("LLR", size=64), "slic", 50, 1e-3, 2)
    context = make_context()
    h = simplification(context, "slic", 16, 10.0, 2)
    assert context.facts["features"] == h.size
    assert ("grid" in " ".join(context.notes)) == np.array_equal(h.labels, grid((8, 8), h.size).ravel())


def test_low_rank_keeps_the_stated_share_of_the_variance(make_context):
    context = make_context()
    h = simplification(context, "low-rank", 4, 0.1, 10)
    data = context.training.x.astype(float) - context.training.mean
    values = np.linalg.svd(data, compute_uv=False) ** 2
    assert context.facts["variance_kept"] == pytest.approx(values[:10].sum() / values.sum(), rel=1e-3)
    np.testing.assert_allclose(h.basis @ h.basis.T, np.eye(10), atol=1e-5)
    with pytest.raises(NotApplicable, match="at most 64"):
        simplification(context, "low-rank", 4, 0.1, 65)


@pytest.mark.parametrize("reference", ["zero", "mean"])
def test_kernelshap_on_few_superpixels_gives_the_shapley_values(make_context, reference):
    context = make_context("MLP")
    h = Superpixels(context.image.ravel(), grid((8, 8), 6).ravel())
    base = context.baseline(reference).ravel()

    def value(coalition):
        z = np.isin(np.arange(h.size), list(coalition)).astype(np.float32)
        return context.outputs(h.mask(z[None], base))[0]

    expected = np.zeros(h.size)
    for i in range(h.size):
        others = [j for j in range(h.size) if j != i]
        for count in range(h.size):
            share = math.factorial(count) * math.factorial(h.size - count - 1) / math.factorial(h.size)
            expected[i] += sum(share * (value({*s, i}) - value(s)) for s in itertools.combinations(others, count))
    found = fit_kernelshap(context, h, context.outputs, np.ones(h.size), n_samples=10, baseline=reference)
    np.testing.assert_allclose(found.weights, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("simplify", ["grid", "slic"])
@pytest.mark.parametrize("method", ["lime", "kernelshap", "patternlocal"])
def test_maps_of_superpixels_are_constant_on_each(make_context, method, simplify):
    context = make_context("MLP")
    entry = METHODS[method]
    options = entry.check({"simplify": simplify, "segments": 9, "compactness": 0.1})
    values = entry.function(context, **options)
    h = simplification(context, simplify, 9, 0.1, 2)
    assert all(np.ptp(values.ravel()[h.labels == label]) == 0 for label in range(h.size))


def test_a_gradient_on_superpixels_is_the_change_when_a_whole_segment_moves(make_context):
    layer = nn.Linear(64, 2)
    context = make_context(nn.Sequential(nn.Flatten(), layer))
    h = Superpixels(context.image.ravel(), grid((8, 8), 4).ravel())
    weights = h.pullback(context.gradients(context.image[None]).ravel())
    z = h.project(context.image.reshape(1, -1))
    for j in range(h.size):
        moved = z.copy()
        moved[0, j] += 1
        change = context.outputs(h.lift(moved))[0] - context.outputs(h.lift(z))[0]
        assert change == pytest.approx(weights[j], rel=1e-3, abs=1e-4)
    assert not torch.is_grad_enabled() or layer.weight.grad is None
