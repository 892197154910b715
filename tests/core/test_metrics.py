import dataclasses

import numpy as np
import ot
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core import METRICS, InputError, NotApplicable, Spec, memory, pipeline, score
from core.metrics import emd, emds, ime, precision, transport_solver

ALL = [pytest.param(m.function, id=m.name) for m in METRICS.values()]


def diagonal(shape):
    return np.hypot(shape[0] - 1, shape[1] - 1)


def one_hot(shape, pixel):
    image = np.zeros(shape)
    image[pixel] = 1
    return image


def dense(values, mask):
    """The same distance by POT's dense solver, no mass cancelled."""
    at = np.argwhere(np.ones(mask.shape))
    mass = np.abs(values).ravel() / np.abs(values).sum()
    cost = np.linalg.norm(at[:, None] - at[mask.ravel()], axis=2)
    return ot.emd2(mass, np.full(mask.sum(), 1 / mask.sum()), cost, numItermax=10**7) / diagonal(mask.shape)


def random_pair(seed, edge=8):
    rng = np.random.default_rng(seed)
    mask = rng.random((edge, edge)) < rng.choice([0.05, 0.3, 0.8])
    mask[rng.integers(edge), rng.integers(edge)] = True
    return rng.standard_normal((edge, edge)), mask


def hard_pairs():
    rng = np.random.default_rng(1)
    for seed in range(4):
        yield f"random {seed}", *random_pair(seed)
    values, mask = random_pair(9)
    yield "sparse map", np.where(rng.random((8, 8)) < 0.1, values, 0), mask
    yield "one pixel mask", values, one_hot((8, 8), (2, 5)).astype(bool)
    yield "all pixels important", values, np.ones((8, 8), bool)
    yield "ties", np.sign(values) * rng.integers(1, 3, (8, 8)), mask
    yield "flat map", np.ones((8, 8)), mask
    yield "mass nearly in place", mask + 1e-9 * np.abs(values), mask
    yield "tall image", values[:, :3], mask[:, :3] | (np.arange(3) == 0)
    yield "one row", values[:1], np.arange(8)[None] > 4
    yield "20x20", *random_pair(20, 20)


@pytest.mark.parametrize("edge", [8, 64])
def test_emd_and_ime_equal_the_published_values(golden, edge):
    g = golden("emd")
    cases = zip(*(g[f"{name}{edge}"] for name in ("maps", "mask", "emd", "ime")))
    for values, mask, distance, outside in cases:
        assert emd(values, mask) == pytest.approx(distance, rel=1e-9)
        assert ime(values, mask) == pytest.approx(outside, abs=1e-12)


@pytest.mark.parametrize("values, mask", [pytest.param(*pair, id=name) for name, *pair in hard_pairs()])
def test_emd_equals_the_dense_solver(values, mask):
    assert emd(values, mask) == pytest.approx(dense(values, mask), rel=1e-9, abs=1e-14)


@st.composite
def any_pairs(draw, edge=16):
    """Maps and masks of every sort: dense, sparse, one pixel, one value, equal to the mask, with ties."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    mask = rng.random((edge, edge)) < draw(st.sampled_from([0.0, 0.02, 0.1, 0.5, 1.0]))
    mask[tuple(rng.integers(edge, size=2))] = True
    values = rng.standard_normal((edge, edge))
    if draw(st.booleans()):
        values = np.round(values)
    values *= rng.random((edge, edge)) < draw(st.sampled_from([0.02, 0.3, 1.0]))
    values += draw(st.sampled_from([0.0, 0.0, 1e-9, 1.0, 100.0])) * mask
    values[tuple(rng.integers(edge, size=2))] += 1.0
    return values, mask


@settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(any_pairs())
def test_emd_by_candidate_arcs_equals_the_dense_solver(monkeypatch, pair):
    monkeypatch.setattr(transport_solver, "DENSE_ARCS", 60)  # so that even these go coarse to fine
    assert emd(*pair) == pytest.approx(dense(*pair), rel=1e-9, abs=1e-14)


@pytest.mark.parametrize(
    "scenario, background, snr",
    [
        ("LIN", "WHITE", 0.05),
        ("LIN", "CORR", 0.05),
        ("MULT", "WHITE", 0.65),
        ("MULT", "CORR", 0.05),
        ("XOR", "WHITE", 0.1),
        ("XOR", "CORR", 0.05),
        ("RIGID", "WHITE", 0.7),
        ("RIGID", "CORR", 0.5),
    ],
)
def test_emd_of_64x64_maps_equals_the_dense_solver(scenario, background, snr):
    data = pipeline.dataset(Spec(scenario=scenario, background=background, snr=snr, size=64, samples=400))
    image, mask = data.test.x[0].astype(float), data.mask("test", 0, "default")
    image[np.abs(image) < np.quantile(np.abs(image), 0.8)] = 0  # for the dense solver's sake
    assert emd(image, mask) == pytest.approx(dense(image, mask), rel=1e-9)


def test_a_plan_carries_the_masses_and_its_potentials_prove_it(monkeypatch):
    monkeypatch.setattr(transport_solver, "DENSE_ARCS", 60)
    rng = np.random.default_rng(0)
    pixels = np.argwhere(np.ones((24, 24)))
    much, little = rng.random(400), rng.random(176)
    found = transport_solver.plan(pixels[:400], much / much.sum(), pixels[400:], little / little.sum())
    assert np.allclose(np.bincount(found.source, found.flow), much / much.sum(), atol=1e-14)
    assert np.allclose(np.bincount(found.sink, found.flow), little / little.sum(), atol=1e-14)
    cost = transport_solver.distance(pixels[:400, None], pixels[None, 400:])
    assert (found.u[:, None] + found.v - cost).max() < 1e-12
    bound = found.u @ much / much.sum() + found.v @ little / little.sum()
    assert found.flow @ cost[found.source, found.sink] == pytest.approx(bound, rel=1e-11)


@pytest.mark.parametrize("shape", [(8, 8), (64, 64), (5, 9)])
def test_emd_from_one_pixel_to_another_is_their_distance(shape):
    for a, b in [((0, 0), (shape[0] - 1, shape[1] - 1)), ((1, 2), (4, 6)), ((3, 3), (3, 4))]:
        expected = np.hypot(a[0] - b[0], a[1] - b[1]) / diagonal(shape)
        assert emd(one_hot(shape, a), one_hot(shape, b).astype(bool)) == pytest.approx(expected, rel=1e-12)


def test_emd_to_two_pixels_is_the_mean_distance():
    mask = np.zeros((8, 8), bool)
    mask[0, 3] = mask[0, 7] = True
    assert emd(one_hot((8, 8), (0, 0)), mask) == pytest.approx((3 + 7) / 2 / diagonal((8, 8)), rel=1e-12)


def test_a_map_equal_to_the_mask_is_perfect_and_its_opposite_is_not():
    mask = np.zeros((8, 8), bool)
    mask[1:4, 2:6] = True
    assert emd(mask.astype(float), mask) == pytest.approx(0, abs=1e-15)
    assert ime(mask, mask) == 0 and precision(mask, mask) == 1
    assert ime(~mask, mask) == pytest.approx(1) and precision(~mask, mask) == 0 and emd(~mask, mask) > 0.05


@st.composite
def nearly_the_mask(draw, edge=6):
    """A map equal to its mask but for rounding, masses too small to count, or its size."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    mask = rng.random((edge, edge)) < draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    mask[tuple(rng.integers(edge, size=2))] = True
    values = mask * (1.0 + draw(st.sampled_from([0, 2**-53, 2**-52, 1e-15])) * rng.integers(-3, 4, mask.shape))
    values += draw(st.sampled_from([0.0, 5e-324, 1e-310, 1e-300, 1e-17])) * rng.integers(0, 3, mask.shape)
    return values * draw(st.sampled_from([1.0, 1e-300, 1e300, 2.0**-1070])), mask


@settings(max_examples=500, deadline=None, derandomize=True, database=None)
@given(nearly_the_mask())
def test_within_rounding_of_the_mask_a_map_is_perfect(pair):
    assert 0 <= emd(*pair) < 1e-14
    assert 0 <= ime(*pair) < 1e-14


def test_within_an_ulp_of_the_mask_a_map_is_perfect():
    values = np.zeros((8, 8))
    values[0, :3] = 1, 1, 1 + 2.3e-16
    assert 0 <= emd(values, values > 0) < 1e-16


@pytest.mark.parametrize("tiny", [1e-17, 1e-300, 5e-324])
def test_within_rounding_of_a_large_mask_a_map_is_perfect(tiny):
    mask = np.random.default_rng(0).random((64, 64)) < 0.5
    for values in (mask + tiny * np.random.default_rng(1).random((64, 64)), mask + 2e-16 * ~mask, mask * 1.1):
        assert 0 <= emd(values, mask) < 1e-14


@settings(max_examples=500, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e-17, 1e-300, 5e-324]))
def test_scores_never_leave_0_to_1(seed, inside):
    rng = np.random.default_rng(seed)
    mask = np.zeros((9, 9), bool)
    mask[tuple(rng.integers(9, size=2))] = True
    values = np.where(mask, inside, rng.random((9, 9)))
    assert all(0 <= metric.function(values, mask) <= 1 for metric in METRICS.values())


def test_ime_is_the_share_of_absolute_mass_outside():
    mask = one_hot((2, 2), (0, 0)).astype(bool)
    assert ime(np.array([[-3.0, 1.0], [0.0, -1.0]]), mask) == pytest.approx(2 / 5, abs=1e-15)


def test_precision_counts_ties_by_their_share():
    mask = np.array([[True, True], [False, False]])
    assert precision(np.array([[3.0, 1.0], [1.0, 0.0]]), mask) == 0.75  # one of two tied pixels is right
    assert precision(np.array([[3.0, 1.0], [-1.5, 0.0]]), mask) == 0.5
    assert precision(np.ones((2, 2)), mask) == 0.5
    assert precision(one_hot((2, 2), (1, 1)), mask) == pytest.approx(0.5 * 2 / 3)


@pytest.mark.parametrize("metric", ALL)
def test_scores_lie_between_0_and_1_whatever_the_sign(metric):
    for seed in range(5):
        values, mask = random_pair(seed)
        assert 0 <= metric(values, mask) <= 1
        assert metric(-values, mask) == metric(values, mask) == metric(np.abs(values), mask)


@pytest.mark.parametrize("metric", ALL)
@pytest.mark.parametrize("factor", [0.01, 7.0, 1e300, 1e-300])
def test_a_scaled_map_has_the_same_score(metric, factor):
    values, mask = random_pair(3)
    assert metric(factor * values, mask) == pytest.approx(metric(values, mask), rel=1e-9)


@pytest.mark.parametrize("metric", ALL)
def test_flipping_and_transposing_both_changes_nothing(metric):
    values, mask = random_pair(2)
    for change in (np.flipud, np.fliplr, np.transpose, np.rot90):
        assert metric(change(values), change(mask)) == pytest.approx(metric(values, mask), rel=1e-9)


@pytest.mark.parametrize("metric", ALL)
def test_the_map_is_not_changed(metric):
    values, mask = random_pair(2)
    before = values.copy()
    metric(values, mask)
    np.testing.assert_array_equal(values, before)


BAD = {
    "NaN": (np.full((8, 8), np.nan), np.ones((8, 8), bool), "64 values.*NaN"),
    "one infinite": (np.where(one_hot((8, 8), (2, 3)), np.inf, 1.0), np.ones((8, 8), bool), r"\(2, 3\)"),
    "empty mask": (np.ones((8, 8)), np.zeros((8, 8), bool), "mask is empty"),
    "other size": (np.ones((64, 64)), np.ones((8, 8), bool), r"\(64, 64\).*\(8, 8\)"),
    "transposed": (np.ones((4, 8)), np.ones((8, 4), bool), r"\(4, 8\).*\(8, 4\)"),
    "batch": (np.ones((1, 8, 8)), np.ones((8, 8), bool), r"\(1, 8, 8\)"),
    "batch of both": (np.ones((1, 8, 8)), np.ones((1, 8, 8), bool), r"\(1, 8, 8\)"),
    "flat": (np.ones(64), np.ones(64, bool), r"\(64,\)"),
    "integer mask": (np.ones((8, 8)), np.ones((8, 8), int), "bool.*int64"),
    "float mask": (np.ones((8, 8)), np.full((8, 8), 0.5), "bool.*float64"),
}


@pytest.mark.parametrize("metric", ALL)
@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_scored_is_an_input_error_that_says_why(metric, case):
    values, mask, reason = BAD[case]
    with pytest.raises(InputError, match=reason):
        metric(values, mask)


@pytest.mark.parametrize("metric", ALL)
def test_an_empty_map_has_no_score(metric):
    with pytest.raises(NotApplicable, match="empty map"):
        metric(np.zeros((8, 8)), np.eye(8, dtype=bool))


@pytest.fixture
def attribution(spec):
    return pipeline.explain(spec)


def test_score_gives_every_metrics_value(attribution):
    found = score(attribution)
    assert set(found.values) == set(METRICS) and not found.reasons
    for name, metric in METRICS.items():
        assert found[name] == metric.function(attribution.values, attribution.mask)
    assert set(score(attribution, ["ime"]).values) == {"ime"}


def test_score_of_an_empty_map_is_undefined_with_its_reason_each_time(attribution):
    empty = dataclasses.replace(attribution, values=np.zeros((8, 8)))
    for _ in range(2):  # the second is read from disk
        found = score(empty)
        assert set(found.reasons) == set(METRICS)
        assert all(np.isnan(found[name]) and "empty map" in found.reasons[name] for name in METRICS)


@pytest.mark.filterwarnings("ignore:numItermax")
def test_an_unfinished_solve_is_never_a_number(attribution, monkeypatch, empty_cache):
    monkeypatch.setattr(transport_solver, "MAX_ITERATIONS", 3)
    with pytest.raises(NotApplicable, match="not converged"):
        emd(*random_pair(0))
    found = score(attribution)
    assert np.isnan(found.emd) and "not converged" in found.reasons["emd"] and not np.isnan(found.ime)


def test_a_score_read_from_disk_is_the_score_computed(attribution, empty_cache):
    first = score(attribution)
    assert list((empty_cache / "scores").iterdir())
    assert score(attribution).values == first.values
    for file in (empty_cache / "scores").iterdir():
        file.write_bytes(b"damaged")
    assert score(attribution).values == first.values


def test_a_transport_that_would_not_fit_into_memory_is_refused_before_it_is_begun(monkeypatch):
    rng = np.random.default_rng(0)
    values, mask = rng.random((32, 32)), np.arange(1024).reshape(32, 32) < 300
    value = emd(values, mask)
    monkeypatch.setattr(memory, "MAX_BYTES", transport_solver.BYTES_PER_PIXEL * 500)
    with pytest.raises(NotApplicable, match=r"1,024 pixels would take about 8 MB.*500 pixels"):
        emd(values, mask)
    monkeypatch.setattr(memory, "MAX_BYTES", transport_solver.BYTES_PER_PIXEL * 1024)
    assert emd(values, mask) == value


def test_a_huge_map_is_refused_at_once():
    with pytest.raises(NotApplicable, match="Score a smaller image"):
        emd(np.ones((1000, 1000)), np.arange(10**6).reshape(1000, 1000) < 5000)


@pytest.mark.parametrize("workers", [None, 1, 3])
def test_many_maps_at_once_have_the_scores_they_have_alone(workers):
    pairs = [random_pair(seed) for seed in range(7)]
    values, masks = (np.stack(part) for part in zip(*pairs))
    alone = [emd(*pair) for pair in pairs]
    np.testing.assert_array_equal(emds(values, masks, workers), alone)
    np.testing.assert_array_equal(emds(values[:2], masks[0], workers), [emd(v, masks[0]) for v in values[:2]])
    values[3] = 0
    np.testing.assert_array_equal(np.isnan(emds(values, masks, workers)), np.arange(7) == 3)
    values[5, 1, 2] = np.nan
    with pytest.raises(InputError, match=r"Map 5: .*\(1, 2\)"):
        emds(values, masks, workers)


@pytest.mark.parametrize("values, masks", [((8, 8), (8, 8)), ((3, 8, 8), (2, 8, 8)), ((3, 8, 8), (8, 4))])
def test_many_maps_of_other_shapes_are_an_input_error(values, masks):
    with pytest.raises(InputError, match=r"\(n,h,w\)"):
        emds(np.ones(values), np.ones(masks, bool))


def test_scores_of_many_maps_come_in_their_order_and_so_do_errors(attribution):
    flipped = dataclasses.replace(attribution, values=attribution.values[::-1])
    found = list(pipeline.scores([attribution, flipped, attribution], workers=2))
    assert [s.values for s in found] == [score(a).values for a in (attribution, flipped, attribution)]
    bad = dataclasses.replace(attribution, values=np.full((8, 8), np.nan))
    rest = pipeline.scores([attribution, bad, attribution], workers=2)
    assert next(rest).values == found[0].values
    with pytest.raises(InputError, match="NaN"):
        next(rest)
