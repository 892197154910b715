import hashlib

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from core import InputError
from core.datasets import xai_tris
from core.datasets.tetromino import BACKGROUNDS, LAYOUTS, SCENARIOS, fixed_shapes, mask_of

EVERY = [(s, b, size) for s in SCENARIOS for b in BACKGROUNDS for size in LAYOUTS]
SILENT = 1e-8  # an SNR at which only the noise is left


def make(scenario, background="WHITE", snr=0.5, size=8, samples=400, seed=0):
    return xai_tris(scenario, background, snr, size=size, samples=samples, seed=seed)


def whole(data):
    """Images, labels and masks of all splits together."""
    parts = (data.train, data.val, data.test)
    return tuple(np.concatenate([getattr(p, name) for p in parts]) for name in ("x", "y", "shown"))


def unit(x):
    return x / np.linalg.norm(x.astype(np.float64))


def digest(data):
    return hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in whole(data))).hexdigest()


@pytest.mark.parametrize("size", LAYOUTS)
def test_shapes_are_the_benchmarks_own(golden, size):
    t, ell = fixed_shapes(size)
    np.testing.assert_allclose([t, ell], golden("shapes")[f"lin_{size}"], atol=2e-7, rtol=0)
    np.testing.assert_allclose(
        [t + ell, -t - ell, t - ell, ell - t], golden("shapes")[f"xor_{size}"], atol=2e-7, rtol=0
    )


@pytest.mark.parametrize("size, pixels", [(64, (432, 430, 862)), (8, (4, 4, 8))])
def test_masks_are_the_benchmarks_own(golden, size, pixels):
    found = mask_of(fixed_shapes(size), size)
    published = golden("shapes")[f"lin_{size}"]
    np.testing.assert_array_equal(found, published >= 0.05 if size == 64 else published != 0)
    assert (*found.sum((1, 2)), found.any(0).sum()) == pixels


@pytest.mark.parametrize("scenario, background, size", EVERY)
def test_a_data_set_has_its_types_range_balance_and_splits(scenario, background, size):
    samples = 400 if size == 8 else 80
    data = make(scenario, background, size=size, samples=samples)
    x, y, shown = whole(data)
    assert (x.shape, x.dtype) == ((samples, size, size), np.float32)
    assert (y.shape, y.dtype) == ((samples,), np.int64)
    assert (shown.shape, shown.dtype) == ((samples, size, size), bool)
    assert (data.union.shape, data.union.dtype) == ((size, size), bool)
    assert np.abs(x).max() == 1 and np.isfinite(x).all()
    assert np.bincount(y).tolist() == [samples / 2, samples / 2]
    shares = (0.8, 0.1, 0.1) if size == 8 else (0.9, 0.05, 0.05)
    assert [len(s) for s in (data.train, data.val, data.test)] == [round(s * samples) for s in shares]
    assert len(np.unique(x.reshape(samples, -1), axis=0)) == samples  # no image in two splits


@pytest.mark.parametrize("background", BACKGROUNDS)
@pytest.mark.parametrize("scenario", ["LIN", "RIGID"])
def test_added_images_follow_the_mixing_formula(scenario, background):
    a = 0.3
    x, _, shown = whole(make(scenario, background, a))
    noise = unit(whole(make(scenario, background, SILENT))[0])
    mixed = a * unit(shown.astype(np.float32)) + (1 - a) * noise  # at 8x8 a mask is its shape
    np.testing.assert_allclose(x, mixed / np.abs(mixed).max(), atol=1e-6)


def test_xor_has_equal_quarters_of_signs_and_follows_the_mixing_formula():
    a, (t, ell) = 0.35, fixed_shapes(8)
    nearly_pure, y, _ = whole(make("XOR", snr=0.9999))
    signs = np.sign([(nearly_pure * t).sum((1, 2)), (nearly_pure * ell).sum((1, 2))]).T
    assert sorted(np.unique(signs, axis=0, return_counts=True)[1]) == [100] * 4
    np.testing.assert_array_equal(y, signs.prod(1) < 0)
    pattern = signs[:, :1, None] * t + signs[:, 1:, None] * ell
    mixed = a * unit(pattern) + (1 - a) * unit(whole(make("XOR", snr=SILENT))[0])
    np.testing.assert_allclose(whole(make("XOR", snr=a))[0], mixed / np.abs(mixed).max(), atol=1e-6)


def test_mult_multiplies_the_shape_into_the_noise():
    a = 0.7
    x, _, shown = whole(make("MULT", snr=a))
    noise = whole(make("MULT", snr=SILENT))[0]
    mixed = unit(1 - a * shown) * unit(noise)
    np.testing.assert_allclose(x, mixed / np.abs(mixed).max(), atol=1e-6)


def test_every_quarter_of_each_split_is_mixed():
    data = make("XOR", samples=4000)
    for part in (data.train, data.val, data.test):
        assert abs(part.y.mean() - 0.5) < 4 * 0.5 / np.sqrt(len(part))


@pytest.mark.parametrize("size, sigma, samples", [(8, 3, 400), (64, 10, 40)])
def test_corr_noise_is_scipys_gaussian_filter_of_white_noise(size, sigma, samples):
    white, smooth = (whole(make("LIN", b, SILENT, size, samples))[0] for b in ("WHITE", "CORR"))
    filtered = np.stack([gaussian_filter(image, sigma) for image in white.astype(np.float64)])
    np.testing.assert_allclose(smooth, filtered / np.abs(filtered).max(), atol=1e-6, rtol=0)


def test_noise_does_not_depend_on_the_label():
    x, y, _ = whole(make("LIN", snr=SILENT, samples=4000))
    x = x / x.std()
    difference = x[y == 0].mean(0) - x[y == 1].mean(0)
    assert np.abs(difference).max() < 5 * np.sqrt(2 / 2000)
    assert np.abs(np.log(x[y == 0].std(0) / x[y == 1].std(0))).max() < 5 / np.sqrt(2000)


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("size", LAYOUTS)
def test_ground_truth_follows_the_scenario(scenario, size):
    data = make(scenario, size=size, samples=400 if size == 8 else 80)
    _, y, shown = whole(data)
    t, ell = mask_of(fixed_shapes(size), size)
    if scenario == "RIGID":
        np.testing.assert_array_equal(data.union, shown.any(0))
        np.testing.assert_array_equal(data.mask("test", 3), data.test.shown[3])
        return
    np.testing.assert_array_equal(data.union, t | ell)
    np.testing.assert_array_equal(data.mask("test", 3), t | ell)
    expected = np.broadcast_to(t | ell, shown.shape) if scenario == "XOR" else np.stack([t, ell])[y]
    np.testing.assert_array_equal(shown, expected)


def turned(cells, block):
    return [np.kron(np.rot90(cells, k), np.ones((block, block))) for k in range(4)]


T, L = np.array([[1, 0], [1, 1], [1, 0]]), np.array([[1, 0], [1, 0], [1, 1]])


def test_rigid_8x8_shows_a_turned_t_or_l_anywhere():
    _, y, shown = whole(make("RIGID", samples=4000))
    assert (shown.sum((1, 2)) == 4).all()
    seen = set()
    for label, mask in zip(y, shown):
        rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
        cut = mask[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        turn = [k for k, ink in enumerate(turned((T, L)[label], 1)) if np.array_equal(cut, ink)]
        assert len(turn) == 1
        seen.add((int(label), turn[0], int(rows[0]), int(columns[0])))
    assert len(seen) == 2 * 4 * 6 * 7  # every place where each turned shape fits


def test_rigid_64x64_masks_away_from_the_border_are_the_blurred_shapes():
    _, y, shown = whole(make("RIGID", size=64, samples=200))
    counts = {}
    for label, cells in enumerate((T, L)):
        image = np.zeros((64, 64))
        image[24 : 24 + 12, 24 : 24 + 8] = turned(cells, 4)[0]
        counts[label] = int((gaussian_filter(image, 1.5) >= 0.05).sum())
    inner = ~(
        shown[:, :8].any((1, 2))
        | shown[:, -8:].any((1, 2))
        | shown[:, :, :8].any((1, 2))
        | shown[:, :, -8:].any((1, 2))
    )
    assert inner.sum() > 20
    assert shown[inner].sum((1, 2)).tolist() == [counts[label] for label in y[inner]]


def test_rigid_signals_pass_the_mixing_formula_with_blur():
    a, samples = 0.5, 40
    x, _, shown = whole(make("RIGID", snr=a, size=64, samples=samples))
    pattern = np.abs(whole(make("RIGID", snr=0.9999, size=64, samples=samples))[0])
    assert (pattern[shown] > pattern[~shown].max() * 0.9).all()  # the mask holds the shape's brightest pixels
    assert x[shown].mean() > 10 * abs(x[~shown].mean())


def test_the_same_seed_gives_the_same_bytes_in_another_process(python, empty_cache):
    specs = [("XOR", "CORR", 0.15, 8, 400, 3), ("RIGID", "WHITE", 0.6, 64, 40, 3)]
    code = (
        f"import sys; sys.path.insert(0, 'tests/core'); from test_datasets import *\n"
        f"for s in {specs}: print(digest(make(*s)))"
    )
    run = python("-c", code)
    (empty_cache / "data").rename(empty_cache / "elsewhere")
    assert run.stdout.split() == [digest(make(*s)) for s in specs], run.stderr


def test_another_seed_gives_other_noise_and_another_order():
    one, other = whole(make("LIN", seed=0)), whole(make("LIN", seed=1))
    assert not np.isclose(one[0], other[0]).all((1, 2)).any()
    assert (one[1] != other[1]).any()


def test_data_read_from_disk_are_the_data_made(empty_cache):
    made = digest(make("XOR"))
    assert digest(make("XOR")) == made
    for file in (empty_cache / "data").glob("*/x.npy"):
        file.write_bytes(file.read_bytes()[:-4] + b"\0\0\0\0")
    assert digest(make("XOR")) == made


def test_without_room_on_disk_the_data_are_the_same(empty_cache, monkeypatch):
    made = digest(make("XOR"))
    monkeypatch.setenv("ATTRIBUTION_LAB_HOME", "/dev/null/nowhere")
    assert digest(make("XOR")) == made


def test_fresh_images_are_new_ones_of_the_same_recipe():
    data = make("XOR", "CORR", 0.15)
    fresh, again, other = data.fresh(1), data.fresh(1), data.fresh(2)
    assert (fresh.x == again.x).all() and not (fresh.x == other.x).all((1, 2)).any()
    known = {row.tobytes() for row in whole(data)[0]}
    assert not known & {row.tobytes() for row in fresh.x}
    np.testing.assert_array_equal(fresh.shown.any(0), data.union)


@pytest.mark.parametrize(
    "changes, name",
    [
        ({"scenario": "xor"}, "scenario"),
        ({"scenario": None}, "scenario"),
        ({"background": "PINK"}, "background"),
        *(({"snr": v}, "snr") for v in (0, 1, -1, 1.5, float("nan"), float("inf"), "a", None, True)),
        *(({"size": v}, "size") for v in (0, 9, 128, "x", None)),
        *(({"samples": v}, "samples") for v in (0, 2, 36, 401, 402, -400, 400.5, 10**9, "many", None)),
        *(({"seed": v}, "seed") for v in (-1, 0.5, "x", None)),
    ],
    ids=repr,
)
def test_a_bad_argument_is_an_input_error_that_names_it(changes, name):
    with pytest.raises(InputError, match=name):
        make(**{"scenario": "LIN", **changes})


@pytest.mark.parametrize(
    "same", [{"samples": 400.0}, {"samples": "400"}, {"size": 8.0}, {"seed": 0.0}, {"snr": "0.5"}], ids=repr
)
def test_a_number_in_another_type_is_the_same_number(same):
    assert digest(make("LIN", **same)) == digest(make("LIN"))


def test_the_fewest_samples_leave_images_in_every_split():
    data = make("XOR", samples=40)
    assert min(len(data.train), len(data.val), len(data.test)) >= 2
