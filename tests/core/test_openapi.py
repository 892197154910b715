import numpy as np
import pytest

from core import InputError, explain
from core.methods.linearity import FEWEST
from core.methods.openapi import EXACT, PASSES, SAMPLINGS, _tests, decision_features
from tests.core import drawn

BOTH = pytest.mark.parametrize("sampling", list(SAMPLINGS))


def softmax(logits):
    e = np.exp(logits - logits.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


@pytest.fixture(scope="module")
def net(golden):
    return golden("openapi")


def predict(net, act=lambda h: np.maximum(h, 0)):
    def answer(x):
        h = act(act(x @ net["W0"].T + net["b0"]) @ net["W1"].T + net["b1"])
        return softmax(h @ net["W2"].T + net["b2"])

    return answer


@pytest.fixture
def case(net):
    return net["X"][0], int(net["cls"][0])


@BOTH
def test_equals_the_published_decision_features(net, sampling):
    for x, target, expected in zip(net["X"], net["cls"], net["decision"]):
        found = decision_features(predict(net), x, int(target), sampling=sampling)
        assert found.exact and not found.reason
        assert np.abs(found.weights - expected).sum() <= 1e-8 * np.abs(expected).sum()


@BOTH
def test_pairs_predict_the_log_ratios_inside_the_radius(net, case, sampling):
    x, target = case
    found = decision_features(predict(net), x, target, sampling=sampling)
    assert list(found.others) == [c for c in range(5) if c != target]
    assert np.allclose(found.pairs.mean(0), found.weights, rtol=0, atol=1e-15)
    y, here = predict(net)(found.samples), predict(net)(x[None])
    change = np.log(y[:, [target]] / y[:, found.others]) - np.log(here[:, [target]] / here[:, found.others])
    assert np.allclose(change, (found.samples - x) @ found.pairs.T, atol=1e-12)


@BOTH
def test_two_points_of_one_region_have_one_answer(net, case, sampling):
    x, target = case
    one = decision_features(predict(net), x, target, sampling=sampling)
    other = decision_features(predict(net), one.samples[0], target, sampling=sampling, seed=1)
    assert other.exact and np.allclose(one.weights, other.weights, rtol=1e-8, atol=1e-10)


def test_a_linear_model_is_solved_at_the_first_radius():
    rng = np.random.default_rng(0)
    w, b = rng.standard_normal((3, 12)), rng.standard_normal(3)
    found = decision_features(lambda x: softmax(x @ w.T + b), rng.standard_normal(12), 1)
    assert found.rounds == 2 and found.queries == 3 + 3 * FEWEST + 12 + _tests(12)
    assert np.allclose(found.weights, w[1] - (w[0] + w[2]) / 2, atol=1e-13)


@pytest.mark.parametrize("part", range(10))
def test_no_drawn_answer_is_wrongly_called_exact(part):
    """The first 500 of the cases that tests/bench/exactness.py draws, in ten parts."""
    exact = {"relu": [], "smooth": [], "rounded": []}
    for number in range(50 * part, 50 * part + 50):
        case = drawn.draw(number)
        for sampling in SAMPLINGS:
            found = decision_features(case.predict, case.x, case.target, sampling=sampling, seed=number)
            exact[case.family].append(found.exact)
            assert found.exact != bool(found.reason) and np.isnan(found.weights).any() != found.exact
            if found.exact:
                assert case.wrong(found.weights) <= min(EXACT, found.error or EXACT), (number, sampling)
            elif case.family == "relu" and case.distance >= 1e-4:
                assert "border" in found.reason or "rounded" in found.reason
    assert not any(exact["smooth"]) and np.mean(exact["relu"]) > 0.4, "refusing everything would be easy"


def test_far_from_borders_nearly_every_answer_is_exact():
    cases = [case for case in map(drawn.draw, range(0, 400, 4)) if case.distance >= 1e-5]
    assert len(cases) >= 30
    found = [decision_features(case.predict, case.x, case.target) for case in cases]
    assert np.mean([f.exact for f in found]) >= 0.95


@BOTH
@pytest.mark.parametrize("margin", [30, 200])
@pytest.mark.parametrize("distance", [0.0, 1e-11, 1e-9, 1e-8, 1e-7, 1e-5])
def test_beside_a_border_of_a_steep_network_exact_is_exact(margin, distance, sampling):
    rng = np.random.default_rng(int(margin))
    w, b, v = rng.standard_normal((30, 100)) / 7, rng.standard_normal(30) / 10, rng.standard_normal((2, 30))
    normal = w[0] / np.linalg.norm(w[0])
    x = rng.uniform(0, 1, 100)
    x += (distance - (w[0] @ x + b[0]) / np.linalg.norm(w[0])) * normal
    logits = np.maximum(w @ x + b, 0) @ v.T
    v *= margin / abs(logits[0] - logits[1])
    target = int(logits.argmax())

    def truth(at):
        rows = (v * (w @ at + b > 0)) @ w
        return rows[target] - rows[1 - target]

    found = decision_features(lambda x: softmax(np.maximum(x @ w.T + b, 0) @ v.T), x, target, sampling=sampling)
    truths = [truth(x + side * normal) for side in ((0.0,) if distance else (1e-8, -1e-8))]
    if found.exact:
        assert min(np.abs(found.weights - t).sum() / np.abs(t).sum() for t in truths) <= EXACT
    else:
        assert found.reason.startswith("on a border")
    assert found.exact == (distance > 1e-7) or distance in (1e-8, 1e-7)


@BOTH
@pytest.mark.parametrize(
    "kind, reason",
    [
        ("rounded", "rounded"),
        ("float32", "rounded"),
        ("tanh", "not piecewise linear"),
        ("border", "border"),
        ("certain", "underflow"),
    ],
)
def test_no_exact_answer_is_a_named_failure_within_the_limit(net, case, kind, reason, sampling):
    x, target = case
    api = predict(net)
    answer = {
        "rounded": lambda x: np.round(api(x), 3),
        "float32": lambda x: api(x).astype(np.float32),
        "tanh": predict(net, np.tanh),
        "border": api,
        "certain": lambda x: np.eye(5)[api(x).argmax(1)],
    }[kind]
    if kind == "border":  # x moved onto the first unit's border
        w, b = net["W0"][0], net["b0"][0]
        x = x - (w @ x + b) * w / (w @ w)
    found = decision_features(answer, x, target, sampling=sampling)
    assert not found.exact and reason in found.reason
    assert np.isnan(found.weights).all() and np.isnan(found.error) and found.weights.shape == x.shape
    assert found.queries <= 100 * (len(x) + 1) + PASSES * len(x)


@pytest.mark.parametrize("digits", [12, 13, 14])
def test_answers_of_twelve_digits_are_still_exact_to_one_in_a_million(net, case, digits):
    x, target = case
    found = decision_features(lambda x: np.round(predict(net)(x), digits), x, target)
    assert (
        found.exact
        and np.abs(found.weights - net["decision"][0]).sum() <= found.error * np.abs(net["decision"][0]).sum()
    )
    assert 1e-10 < found.error <= EXACT


@BOTH
@pytest.mark.parametrize("name", list(drawn.SMOOTH))
def test_a_smooth_network_is_never_exact(net, case, name, sampling):
    x, target = case
    found = decision_features(predict(net, drawn.SMOOTH[name]), x, target, sampling=sampling)
    assert not found.exact and "not piecewise linear" in found.reason


@BOTH
def test_a_region_of_constant_output_has_no_weights_exactly(net, sampling):
    """All units of the only layer off at x: the answer does not change, and beyond their borders it does."""
    rng = np.random.default_rng(0)
    w, v = rng.uniform(0.5, 1.0, (6, 10)), rng.standard_normal((3, 6))

    def api(x):
        return softmax(np.maximum(x @ w.T - 1, 0) @ v.T + [0.1, 0.3, -0.2])

    found = decision_features(api, np.full(10, -0.1), 0, sampling=sampling)
    assert found.exact and not found.weights.any() and found.error == 0.0
    few = decision_features(lambda x: np.round(api(x), 3), np.full(10, -0.1), 0, sampling=sampling)
    assert not few.exact and "rounded" in few.reason
    always = decision_features(lambda x: np.tile(softmax(np.array([[0.1, 0.3, 0.7]])), (len(x), 1)), np.zeros(10), 0)
    assert always.exact and not always.weights.any()


def test_the_bound_holds_and_is_no_more_than_a_hundred_times_the_error(net):
    found = [decision_features(predict(net), x, int(c)) for x, c in zip(net["X"], net["cls"])]
    errors = [np.abs(f.weights - d).sum() / np.abs(d).sum() for f, d in zip(found, net["decision"])]
    assert all(e <= f.error <= 100 * e for e, f in zip(errors, found))


@BOTH
def test_a_saturated_model_is_still_solved(net, case, sampling):
    x = case[0]

    def sure(x):
        h = np.maximum(np.maximum(x @ net["W0"].T + net["b0"], 0) @ net["W1"].T + net["b1"], 0)
        return softmax(40 * (h @ net["W2"].T + net["b2"]))

    x = x * 4
    target = int(sure(x[None]).argmax())
    assert sure(x[None]).max() > 1 - 1e-12
    found = decision_features(sure, x, target, sampling=sampling)
    h = x
    w = np.eye(len(x))
    for i in (0, 1):
        h = net[f"W{i}"] @ h + net[f"b{i}"]
        w = np.where(h[:, None] > 0, net[f"W{i}"] @ w, 0)
        h = np.maximum(h, 0)
    w = 40 * net["W2"] @ w
    expected = w[target] - np.delete(w, target, 0).mean(0)
    assert found.exact and np.abs(found.weights - expected).sum() <= 1e-8 * np.abs(expected).sum()


@pytest.mark.parametrize(
    "answer, message",
    [
        (lambda x: np.full((len(x), 2), 0.6), "sum 1; row 0"),
        (lambda x: np.full((len(x), 2), np.nan), "row 0"),
        (lambda x: np.tile([1.5, -0.5], (len(x), 1)), "row 0"),
        (lambda x: np.full(len(x), 0.5), "shape"),
        (lambda x: np.full((len(x) + 1, 2), 0.5), "shape"),
        (lambda x: np.ones((len(x), 1)), "only one"),
    ],
)
def test_answers_that_are_no_probabilities_are_told(answer, message):
    with pytest.raises(InputError, match=message):
        decision_features(answer, np.zeros(4), 0)


def test_a_model_that_changes_its_answers_is_told():
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="changes its answers"):
        decision_features(lambda x: softmax(rng.standard_normal((len(x), 3))), np.zeros(4), 0)


def test_a_float32_network_does_not_change_its_answers(net, case):
    """Batches of one and of two differ by float32's rounding."""
    x, target = case

    def api(x):
        jitter = 1 + 1e-7 * (len(x) % 2)
        y = predict(net)(x).astype(np.float32) * np.float32(jitter)
        return y / y.sum(1, keepdims=True)

    found = decision_features(api, x, target)
    assert not found.exact and "rounded" in found.reason


def test_a_model_that_raises_is_told():
    def broken(x):
        raise ConnectionError("no route")

    with pytest.raises(InputError, match="no route"):
        decision_features(broken, np.zeros(4), 0)


@pytest.mark.parametrize("target", [-1, 5, 1.5, "a"])
def test_a_target_that_does_not_exist_is_told(net, target):
    with pytest.raises(InputError, match="target"):
        decision_features(predict(net), net["X"][0], target)


def test_the_whole_path_equals_the_networks_own_gradient(spec):
    black, white = (explain(spec.replace(method=name)) for name in ("openapi", "gradient"))
    assert np.abs(black.values - white.values).sum() <= 1e-5 * np.abs(white.values).sum()  # gradient: float32
    assert black.facts["queries"] < 3 * 64 and black.facts["error_bound"] < 1e-7


def test_patternlocal_on_openapi_equals_patternlocal_on_the_gradient(spec):
    maps = [
        explain(spec.replace(method="patternlocal", options={"surrogate": name})).values
        for name in ("openapi", "gradient")
    ]
    assert np.allclose(*maps, rtol=1e-4, atol=1e-5 * np.abs(maps[0]).max())
