import numpy as np
import pytest
from sklearn.linear_model import Lasso

from core import InputError, NotApplicable
from core.methods import equation_7
from core.methods import pattern as pattern_module
from core.methods.pattern import KERNELS, LocalOutputs, haufe_patterns, local_pattern, local_patterns
from tests.core.helpers import linear, run

FORMULAS = {  # mathematics.md, section 3, of u = distance / bandwidth
    "gaussian": lambda u: np.exp(-(u**2) / 2),
    "uniform": lambda u: 1.0 * (u <= 1),
    "triangular": lambda u: (u <= 1) * (1 - u),
    "epanechnikov": lambda u: (u <= 1) * (1 - u**2),
    "biweight": lambda u: (u <= 1) * (1 - u**2) ** 2,
    "tricube": lambda u: (u <= 1) * (1 - u**3) ** 3,
    "cosine": lambda u: (u <= 1) * np.cos(np.pi * u / 2),
    "logistic": lambda u: 1 / (np.exp(u) + 2 + np.exp(-u)),
}
RNG = np.random.default_rng(0)
N, D = 200, 9
DATA = RNG.standard_normal((N, D)) @ RNG.standard_normal((D, D)) + 3
W, X = RNG.standard_normal(D), DATA[0] + 0.1 * RNG.standard_normal(D)


def neighbours(share=1.0, kernel="gaussian", bandwidth=None, data=DATA, x=X):
    """Weights p (n,), written out."""
    distance = np.linalg.norm(data - x, axis=1)
    kept = np.argsort(distance)[: max(1, int(share * len(data)))]
    p = np.zeros(len(data))
    p[kept] = FORMULAS[kernel](distance[kept] / (bandwidth or np.median(distance[kept])))
    return p / p.sum()


def moments(p, data=DATA):
    """Weighted mean (d,) and the whole covariance matrix (d,d)."""
    mean = p @ data
    return mean, (p[:, None] * (data - mean)).T @ (data - mean)


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


@pytest.mark.parametrize("case", range(8))
def test_directions_are_the_published_programs(golden, case):
    g = {name[2:]: v for name, v in golden("pattern").items() if name.startswith(f"{case}_")}
    kernel, share, shrinkage = g["meta"]
    found = local_pattern(g["w"], g["X"], g["x"], kernel=str(kernel), share=float(share), shrinkage=float(shrinkage))
    assert cosine(found, g["a"]) > 1 - 1e-9


def test_every_kernel_has_its_formula_here():
    assert set(KERNELS) == set(FORMULAS)


@pytest.mark.parametrize("shrinkage", [0.0, 0.4])
@pytest.mark.parametrize("share, bandwidth", [(1.0, None), (0.3, None), (1.0, 4.0)])
@pytest.mark.parametrize("kernel", FORMULAS)
def test_the_pattern_is_covariance_over_variance(kernel, share, bandwidth, shrinkage):
    _, cov = moments(neighbours(share, kernel, bandwidth))
    shrunk = (1 - shrinkage) * cov + shrinkage * np.diag(cov).mean() * np.eye(D)
    found = local_pattern(W, DATA, X, share=share, kernel=kernel, bandwidth=bandwidth, shrinkage=shrinkage)
    np.testing.assert_allclose(found, shrunk @ W / (W @ cov @ W), rtol=1e-9)


def test_float32_data_give_the_same_pattern():
    found = local_pattern(W, DATA.astype(np.float32), X)
    np.testing.assert_allclose(found, local_pattern(W, DATA, X), rtol=1e-3, atol=1e-5)


def test_whole_number_data_are_data_too():
    whole = np.round(10 * DATA).astype(int)
    np.testing.assert_allclose(local_pattern(W, whole, X), local_pattern(W, whole.astype(float), X), rtol=1e-9)


def test_the_l2_penalty_only_scales_the_map():
    plain, strong = local_pattern(W, DATA, X), local_pattern(W, DATA, X, strength=5.0)
    variance = W @ moments(neighbours())[1] @ W
    np.testing.assert_allclose(strong, plain * variance / (variance + 5.0), rtol=1e-12)


@pytest.mark.parametrize("strength", [0.0, 0.5, 20.0])
def test_the_l1_penalty_equals_a_lasso_of_each_pixel_on_the_output(strength):
    p, y = neighbours(), DATA @ W
    lasso = Lasso(alpha=strength / 2, tol=1e-14, max_iter=10**6) if strength else None
    expected = [
        lasso.fit(y[:, None], h, sample_weight=p).coef_[0]
        if lasso
        else np.polynomial.Polynomial.fit(y, h, 1, w=np.sqrt(p)).convert().coef[1]
        for h in DATA.T
    ]
    found = local_pattern(W, DATA, X, penalty="l1", strength=strength)
    np.testing.assert_allclose(found, expected, atol=1e-8)
    assert strength < 20 or (found == 0).any()


@pytest.mark.parametrize("rows", [N, 5])
def test_equation_7_left_runs_from_the_projected_weights_to_the_raw_moments(rows):
    data = DATA[:rows]
    p = neighbours(data=data)
    moment = (p[:, None] * data).T @ data
    projected = data.T @ np.linalg.pinv(data.T) @ W
    weak, strong = (local_pattern(W, data, X, solver="eq7-left", strength=s) for s in (1e-10, 1e10))
    np.testing.assert_allclose(weak, projected, rtol=1e-5, atol=1e-6)
    assert cosine(strong, moment @ W) > 1 - 1e-9
    middle = local_pattern(W, data, X, solver="eq7-left", strength=2.0)
    np.testing.assert_allclose(middle, np.linalg.solve(moment + 2 * np.eye(D), moment @ W), rtol=1e-8)


def test_full_shrinkage_returns_to_the_weights():
    assert cosine(local_pattern(W, DATA, X, shrinkage=1.0), W) == pytest.approx(1, abs=1e-12)


def test_a_row_twice_counts_as_one_of_twice_the_weight():
    twice = np.vstack([DATA, DATA[:50]])
    p = np.r_[np.full(50, 2.0), np.ones(N - 50)] / (N + 50)
    np.testing.assert_allclose(
        local_pattern(W, twice, X, kernel="uniform", bandwidth=1e3),
        LocalOutputs.weighted(DATA, W[None], p[None]).patterns()[0],
        rtol=1e-9,
    )
    np.testing.assert_allclose(local_pattern(W, np.vstack([DATA, DATA]), X), local_pattern(W, DATA, X), rtol=1e-9)


def test_moving_data_and_image_together_changes_nothing():
    np.testing.assert_allclose(local_pattern(W, DATA + 7.5, X + 7.5), local_pattern(W, DATA, X), rtol=1e-8)


def test_turning_the_space_turns_the_pattern():
    turn = np.linalg.qr(RNG.standard_normal((D, D)))[0]
    np.testing.assert_allclose(
        local_pattern(W @ turn, DATA @ turn, X @ turn), local_pattern(W, DATA, X) @ turn, rtol=1e-8
    )


def test_a_linear_suppressor_drops_out():
    s, d = np.random.default_rng(1).standard_normal((2, 1000))
    s -= d * (s @ d) / (d @ d)  # exactly uncorrelated in the sample
    s, d = s - s.mean(), d - d.mean()
    d -= s * (s @ d) / (s @ s)
    data = np.stack([s + d, d], 1)  # the perfect readout is x1 - x2
    found = local_pattern(np.array([1.0, -1.0]), data, np.zeros(2), kernel="uniform", bandwidth=1e3)
    np.testing.assert_allclose(found, [1, 0], atol=1e-12)


def test_count_and_share_keep_the_same_nearest_images():
    found = local_pattern(W, DATA, X, count=60)
    near = DATA[np.argsort(np.linalg.norm(DATA - X, axis=1))[:60]]
    np.testing.assert_allclose(found, local_pattern(W, DATA, X, share=0.3), rtol=1e-12)
    np.testing.assert_allclose(found, local_pattern(W, near, X), rtol=1e-9)


@pytest.mark.parametrize(
    "data, options",
    [
        (DATA, {"count": 1}),
        (DATA[:1], {}),
        (DATA, {"share": 1e-6}),
        (DATA, {"kernel": "uniform", "bandwidth": 1e-9}),
        (np.tile(DATA[:1], (20, 1)), {}),
        (np.tile(X, (20, 1)), {}),
        (DATA * (W == 0), {}),
    ],
    ids=[
        "one neighbour",
        "one image",
        "tiny share",
        "all beyond the kernel",
        "one image often",
        "the image itself",
        "all black",
    ],
)
def test_without_neighbours_that_differ_there_is_no_pattern(data, options):
    with pytest.raises(NotApplicable):
        local_pattern(W, data, X, **options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"shrinkage": 0.4},
        {"penalty": "l1", "strength": 0.3},
        {"strength": 2.0},
        {"solver": "eq7-left", "strength": 1.0},
    ],
    ids=repr,
)
@pytest.mark.parametrize("size", [1e-300, 1e-44, 1e-38, 1e-20, 1e20, 1e37, 1e150])
def test_weights_of_any_size_have_the_pattern_of_double_precision(size, options):
    """The pattern of s w is that of w over s; a penalty has the unit of what it is compared with."""
    unit = {"l1": size, "l2": size**2}[options.get("penalty", "l2")] if "solver" not in options else 1.0
    if not 0 < unit < np.inf:
        pytest.skip("a penalty that no number can hold")
    scaled = {**options, "strength": options["strength"] * unit} if "strength" in options else options
    power = 1.0 if "solver" in options else -1.0
    found = local_pattern(size * W, DATA.astype(np.float32), X, **scaled)
    np.testing.assert_allclose(found / size**power, local_pattern(W, DATA, X, **options), rtol=1e-3, atol=1e-5)
    double = local_pattern(size * W, DATA, X, **scaled)
    np.testing.assert_allclose(double / size**power, local_pattern(W, DATA, X, **options), rtol=1e-12)


@pytest.mark.parametrize("size", [1e-44, 1e37])
def test_outputs_and_patterns_of_several_outputs_take_weights_of_any_size(size):
    data = DATA.astype(np.float32)
    local = LocalOutputs.weighted(data, size * W[None], np.full((1, N), 1 / N))
    np.testing.assert_allclose(local.outputs[0] / size, DATA @ W, rtol=1e-4, atol=1e-5)
    both = np.stack([size * W, np.roll(W, 1) / size], 1)
    np.testing.assert_allclose(
        haufe_patterns(data, both) * [size, 1 / size],
        haufe_patterns(DATA, np.stack([W, np.roll(W, 1)], 1)),
        rtol=1e-3,
        atol=1e-5,
    )


def test_a_surrogate_without_weights_has_no_pattern():
    with pytest.raises(NotApplicable):
        local_pattern(np.zeros(D), DATA, X)


@pytest.mark.parametrize(
    "options, name",
    [
        ({"count": 0}, "count"),
        ({"count": N + 1}, "count"),
        ({"share": 0}, "share"),
        ({"share": 1.1}, "share"),
        ({"share": float("nan")}, "share"),
        ({"kernel": "box"}, "kernel"),
        ({"penalty": "l0"}, "penalty"),
        ({"solver": "exact"}, "solver"),
        ({"solver": "eq7-left"}, "strength"),
        ({"strength": -1.0}, "strength"),
        ({"shrinkage": 1.5}, "shrinkage"),
        ({"shrinkage": -0.5}, "shrinkage"),
        ({"bandwidth": -1.0}, "bandwidth"),
        ({"bandwidth": float("nan")}, "bandwidth"),
    ],
    ids=repr,
)
def test_an_option_out_of_range_is_an_input_error_that_names_it(options, name):
    with pytest.raises(InputError, match=name):
        local_pattern(W, DATA, X, **options)


@pytest.mark.parametrize(
    "weights, data, center",
    [(W[:-1], DATA, X), (W, DATA, X[:-1]), (W, DATA[:, :-1], X), (W[None], DATA, X), (W, DATA[0], X)],
)
def test_shapes_that_do_not_fit_are_an_input_error_that_shows_them(weights, data, center):
    with pytest.raises(InputError, match=r"\(n,d\), \(d,\), \(d,\)"):
        local_pattern(weights, data, center)


@pytest.mark.parametrize("place", ["weights", "data", "center"])
def test_numbers_that_are_not_finite_are_an_input_error(place):
    given = {"weights": W.copy(), "data": DATA.copy(), "center": X.copy()}
    given[place].flat[3] = np.nan
    with pytest.raises(InputError):
        local_pattern(**given)


@pytest.mark.parametrize("place", ["weights", "data", "centers"])
def test_a_batch_refuses_what_one_image_refuses(place):
    given = {"weights": np.tile(W, (2, 1)), "data": DATA.copy(), "centers": DATA[:2] + 0.1}
    given[place].flat[3] = np.nan
    with pytest.raises(InputError, match=place[:6]):
        local_patterns(**given)


@pytest.mark.parametrize(
    "options", [{}, {"pattern_penalty": "l1", "strength": 0.3}, {"strength": 0.5}, {"project": True}]
)
def test_patternlocal_reads_the_training_images_twice(make_context, monkeypatch, options):
    context, passes = make_context(linear(np.arange(64.0))), []
    products, sums = pattern_module._products, LocalOutputs._weighted_sums
    monkeypatch.setattr(pattern_module, "_products", lambda *given: passes.append("first") or products(*given))
    monkeypatch.setattr(LocalOutputs, "_weighted_sums", lambda *given: passes.append("second") or sums(*given))
    run("patternlocal", context, **options)
    assert passes == ["first", "second"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"share": 0.3, "kernel": "tricube"},
        {"penalty": "l1", "strength": 0.4},
        {"shrinkage": 0.5, "bandwidth": 3.0},
        {"solver": "eq7-left", "strength": 1.0},
    ],
)
def test_many_images_at_once_are_each_one_alone(options):
    weights, centers = RNG.standard_normal((5, D)), DATA[:5] + 0.1
    together = local_patterns(weights, DATA, centers, **options)
    alone = [local_pattern(w, DATA, x, **options) for w, x in zip(weights, centers, strict=True)]
    np.testing.assert_allclose(together, alone, rtol=1e-8, atol=1e-12)


def test_among_many_images_one_without_neighbours_is_nan_and_the_others_stand():
    far = np.vstack([DATA[0], DATA[0] + 1e6])
    found = local_patterns(np.tile(W, (2, 1)), DATA, far, bandwidth=1.0)
    assert np.isfinite(found[0]).all() and np.isnan(found[1]).all()


def test_equation_7_left_by_conjugate_gradients_is_the_direct_solution(monkeypatch):
    direct = local_pattern(W, DATA, X, solver="eq7-left", strength=2.0)
    monkeypatch.setattr(equation_7, "DIRECT_SIZE", 0)
    np.testing.assert_allclose(local_pattern(W, DATA, X, solver="eq7-left", strength=2.0), direct, rtol=1e-4)
