"""Numbers that describe maps: closed forms, and what happens where there is nothing to divide by."""

import math

import numpy as np
import pytest

from core.map_statistics import correlation, effective_number, ranks, share_of_mass, variation


def test_the_shares_of_all_pixels_sum_to_one_and_an_all_zero_map_has_none():
    values = np.array([[1.0, -2.0], [0.0, 5.0]])
    assert share_of_mass(values, (0, 1)) == 0.25
    assert sum(share_of_mass(values, (r, c)) for r in range(2) for c in range(2)) == 1
    assert math.isnan(share_of_mass(np.zeros((2, 2)), (0, 0)))


def test_correlation_ignores_scale_and_offset_and_is_undefined_for_a_constant():
    a = np.random.default_rng(0).normal(size=(4, 4))
    assert correlation(a, 3 * a + 2) == pytest.approx(1) and correlation(a, -a) == pytest.approx(-1)
    assert math.isnan(correlation(a, np.ones((4, 4))))


def test_equal_weights_count_fully_and_one_weight_counts_once():
    assert effective_number(np.full(8, 1 / 8)) == pytest.approx(8)
    assert effective_number(np.array([1.0, 0, 0])) == 1


def test_variation_of_two_maps():
    found = variation([np.array([[1.0, 4.0]]), np.array([[3.0, 4.0]])])
    np.testing.assert_allclose(found.deviation, [[0.25, 0]])
    assert found.average == pytest.approx(0.5 / 3) and not found.identical
    assert variation([np.zeros((2, 2))] * 3).identical and variation([np.zeros((2, 2))] * 3).average == 0


def test_ranks_share_ties_and_leave_out_undefined_scores():
    scores = {"a": 0.2, "b": 0.1, "c": 0.2, "d": math.nan, "e": 0.3}
    assert ranks(scores, lower_is_better=True) == {"b": 1, "a": 2, "c": 2, "e": 4}
    assert ranks(scores, lower_is_better=False) == {"e": 1, "a": 2, "c": 2, "b": 4}
