import numpy as np
import pytest

from core.datasets import toy
from core.methods.pattern import haufe_patterns, local_patterns
from core.types import NotApplicable

SHARES = {0.1: 0.386, 0.5: 0.318, 1: 0.223, 2: 0.112, 5: 0.026}  # mathematics: |a3| share by kernel width


@pytest.fixture(scope="module")
def points():
    return toy.xor_suppressor(1_000_000, 1.0, np.random.default_rng(0))[0]


@pytest.mark.parametrize("bandwidth, share", SHARES.items())
def test_the_suppressor_comes_back_as_the_neighbourhood_shrinks(points, bandwidth, share):
    assert toy.third_share(toy.xor_pattern(points, 1.0, bandwidth)) == pytest.approx(share, abs=0.005)


def test_the_gradient_marks_the_suppressor_and_an_infinitely_wide_pattern_does_not(points):
    assert toy.third_share(toy.xor_direction(points)) == pytest.approx(0.390, abs=0.005)
    assert toy.third_share(toy.xor_pattern(points, 1.0, np.inf)) < 1e-12
    nearly = toy.xor_pattern(points[:1000], 1.0, 1e-4)
    np.testing.assert_allclose(
        nearly / np.abs(nearly).max(), toy.xor_direction(points[:1000]) / np.abs(nearly).max() * 1e-8, atol=1e-6
    )


@pytest.mark.parametrize("bandwidth", [0.5, 1, 2, 5])
def test_the_sampled_pattern_agrees_with_the_closed_form(bandwidth):
    x = toy.xor_suppressor(10_000, 1.0, np.random.default_rng(1))[0]
    sampled = local_patterns(toy.xor_direction(x[:500]), x, x[:500], bandwidth=bandwidth)
    expected = toy.third_share(toy.xor_pattern(x[:500], 1.0, bandwidth))
    assert toy.third_share(sampled) == pytest.approx(expected, abs=0.01)


def test_the_closed_form_covariance_is_the_samples(points):
    np.testing.assert_allclose(np.cov(points.T), toy.xor_covariance(1.0), atol=0.01)


def test_the_direction_is_the_gradient_of_the_classifier():
    x = toy.xor_suppressor(50, 1.0, np.random.default_rng(2))[0]
    step = 1e-6
    numeric = np.column_stack(
        [(toy.xor_output(x + step * e, 3.0) - toy.xor_output(x - step * e, 3.0)) / (2 * step) for e in np.eye(3)]
    )
    direction = toy.xor_direction(x)
    slope = (1 - toy.xor_output(x, 3.0) ** 2) / 3.0
    np.testing.assert_allclose(numeric, slope[:, None] * direction, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(direction @ [1, -1, 1], 0, atol=1e-12)


def test_patterns_of_two_outputs_at_once_recover_the_mixing():
    rng = np.random.default_rng(3)
    sources = rng.standard_normal((5000, 4))
    mixing = rng.standard_normal((4, 4))
    x = sources @ mixing.T
    weights = np.linalg.inv(mixing).T[:, :2]  # reads the first two sources exactly
    found = haufe_patterns(x, weights)
    cov = np.cov(x.T)
    np.testing.assert_allclose(found, cov @ weights @ np.linalg.inv(weights.T @ cov @ weights), rtol=1e-8)
    np.testing.assert_allclose(found, mixing[:, :2], atol=0.1)
    with pytest.raises(NotApplicable, match="depend"):
        haufe_patterns(x, weights[:, [0, 0]])


def test_the_linear_suppressor_gets_weight_but_no_pattern():
    x = toy.linear_suppressor(200_000, 2.0, np.random.default_rng(4))
    found = haufe_patterns(x, np.array([[1.0], [-1.0]]))
    np.testing.assert_allclose(found.ravel(), [1, 0], atol=0.02)
