"""The OpenAPI paper's measures and its deletion curves against closed forms."""

import numpy as np
import pytest
import torch
from torch import nn

from core.models import white_box
from core.regions.deletion import deletion_curve
from core.regions.measures import cosine, l1_distance, region_difference, relative_l1, weight_difference


def test_a_region_differs_as_soon_as_one_switch_does():
    here = np.array([3, 5], np.uint8)
    assert region_difference(here, np.array([[3, 5], [3, 5]], np.uint8)) == 0
    assert region_difference(here, np.array([[3, 5], [3, 4]], np.uint8)) == 1


def test_weight_difference_is_the_mean_over_samples():
    rng = np.random.default_rng(0)
    here, samples = rng.standard_normal((2, 5)), rng.standard_normal((4, 2, 5))
    which = np.array([0, 0, 0, 1, 2, 3, 3, 0])
    shares = np.bincount(which) / len(which)
    expected = np.mean([np.abs(here - samples[i]).sum() for i in which])
    assert weight_difference(here, samples, shares) == pytest.approx(expected, rel=1e-14)


def test_distances_and_cosines_of_known_vectors():
    a, b = np.array([3.0, 4.0]), np.array([4.0, -3.0])
    assert cosine(a, b) == 0 and cosine(a, 2 * a) == pytest.approx(1) and np.isnan(cosine(a, 0 * a))
    assert l1_distance(a, b) == 8 and relative_l1(b, a) == pytest.approx(8 / 7) and np.isnan(relative_l1(a, 0 * a))


def test_pair_weights_are_those_of_each_region_that_occurs():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Flatten(), nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3)).double().eval()
    images = np.random.default_rng(0).standard_normal((30, 2, 2))
    pairs, shares = white_box.pair_weights(module, images, 1)
    count = len(np.unique(white_box.activation_patterns(module, images), axis=0))
    assert pairs.shape == (count, 2, 4) and shares.sum() == pytest.approx(1) and 1 < count < 30
    mean = white_box.decision_weights(module, images, 1)[0].reshape(30, -1)
    assert np.allclose((shares[:, None] * pairs.mean(1)).sum(0), mean.mean(0), atol=1e-12)


def logistic(weights):
    """A model of two classes, linear in its input."""

    def predict_proba(rows):
        p = 1 / (1 + np.exp(-rows @ weights))
        return np.column_stack([1 - p, p])

    return predict_proba


def test_ablation_of_a_linear_model_follows_its_weights():
    weights, x = np.array([2.0, -3.0, 0.0, 1.0]), np.array([0.9, 0.2, 0.4, 0.8])
    found = deletion_curve(logistic(weights), x, weights, 1)
    states = [x, [0.9, 1, 0.4, 0.8], [0, 1, 0.4, 0.8], [0, 1, 0.4, 0], [0, 1, 0.4, 0]]  # 0 weighs nothing: it stays
    expected = [logistic(weights)(np.array(state)[None])[0, 1] for state in states]
    assert np.allclose(found.probability, expected, atol=1e-15)
    assert np.allclose(found.cpp, np.abs(np.array(expected) - expected[0]))
    assert found.changed.tolist() == [(p > 0.5) != (expected[0] > 0.5) for p in expected]
    assert np.allclose(deletion_curve(logistic(weights), x, weights, 1, count=2).probability, expected[:3])


def test_the_exact_weights_bring_a_linear_model_down_soonest():
    """At an input of halves every feature can fall by half its weight: no other order is ahead at any step."""
    rng = np.random.default_rng(1)
    weights, x = rng.standard_normal(6), np.full(6, 0.5)
    best = deletion_curve(logistic(weights), x, weights, 1).probability
    others = [
        deletion_curve(logistic(weights), x, rng.permutation(np.arange(1, 7)) * np.sign(weights), 1).probability
        for _ in range(50)
    ]
    assert all((best <= other + 1e-12).all() and best[-1] == pytest.approx(other[-1]) for other in others)
    assert any((best + 0.05 < other).any() for other in others)
