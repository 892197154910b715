import copy
import json

import numpy as np
import pytest

from core import InputError, Score, Spec
from core.registry import canonical
from core.types import Dataset, Split


def test_a_spec_survives_json():
    spec = Spec(
        scenario="RIGID",
        snr=0.2,
        size=8,
        method="lime",
        image=3,
        seed=2**40,
        options={"sampling": "data", "n_samples": 50, "ridge": 1e-3},
    )
    assert Spec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec


@pytest.mark.parametrize(
    "one, same",
    [
        ({"seed": 1}, {"seed": 1.0}),
        ({"size": 8}, {"size": "8"}),
        ({"snr": 0.5}, {"snr": "0.5"}),
        ({"image": 7}, {"image": np.int64(7)}),
        ({"snr": 0.25}, {"snr": np.float32(0.25)}),
        ({"options": {"a": 1, "b": 2}}, {"options": (("b", 2), ("a", 1))}),
    ],
)
def test_equal_values_make_one_spec_in_one_spelling(one, same):
    assert Spec(**one) == Spec(**same)
    assert hash(Spec(**one)) == hash(Spec(**same))
    assert json.dumps(Spec(**one).to_dict()) == json.dumps(Spec(**same).to_dict())


@pytest.mark.parametrize(
    "field, value",
    [
        ("seed", -1),
        ("seed", 1.5),
        ("seed", ""),
        ("seed", "x"),
        ("seed", True),
        ("seed", None),
        ("seed", 10**30),
        pytest.param("seed", 10**400, id="seed-beyond float"),
        ("image", -1),
        ("samples", float("nan")),
        ("size", float("inf")),
        ("snr", float("nan")),
        ("snr", "a"),
        ("snr", True),
        pytest.param("snr", 10**400, id="snr-beyond float"),
        ("split", "all"),
        ("output", "logit"),
        ("target", 1),
        ("truth", "none"),
    ],
)
def test_a_bad_value_is_an_input_error_that_names_the_field(field, value):
    with pytest.raises(InputError, match=field):
        Spec(**{field: value})


@pytest.mark.parametrize("seed", [2**53 + 1, 2**63 - 1])
def test_a_huge_seed_is_kept_to_the_last_digit(seed):
    assert Spec(seed=seed).seed == seed
    assert Spec(seed=str(seed)).seed == seed


def test_fractions_that_differ_by_rounding_are_one_and_the_same():
    for snr in (0.15000000000000002, 0.1500000001, "0.15"):
        spec = Spec(snr=snr, size=8)
        assert spec == Spec(snr=0.15, size=8) and spec.snr == 0.15
        assert canonical(spec) == canonical(Spec(snr=0.15, size=8))
    assert Spec(snr=0.1500001) != Spec(snr=0.15)


@pytest.mark.parametrize("value", ["9" * 10_000, "-" + "9" * 10_000, 10**5000, "x" * 10_000], ids=range(4))
@pytest.mark.parametrize("field", ["image", "snr", "size", "split"])
def test_an_endless_value_is_one_short_sentence(field, value):
    with pytest.raises(InputError) as error:
        canonical(Spec(**{field: value}))
    assert field in str(error.value) and len(str(error.value)) < 250


@pytest.mark.parametrize("options", [5, None, ("steps",)])
def test_options_that_are_not_pairs_are_an_input_error(options):
    with pytest.raises(InputError):
        Spec(options=options)


def test_an_unknown_field_is_an_input_error_that_names_it():
    with pytest.raises(InputError, match="colour"):
        Spec.from_dict({"colour": "red"})


def test_a_spec_cannot_be_changed_but_replaced():
    spec = Spec()
    with pytest.raises(AttributeError):
        spec.seed = 1
    assert spec.replace(seed=1).seed == 1 and spec.seed == 0


def test_a_score_is_read_by_name_and_can_be_copied():
    score = Score({"emd": 0.25})
    assert score["emd"] == score.emd == copy.deepcopy(score).emd == 0.25
    with pytest.raises(AttributeError):
        score.nonsense  # noqa: B018


@pytest.mark.parametrize("default", ["union", "shown"])
def test_the_ground_truth_follows_the_choice_and_else_the_data_set(default):
    shown = np.eye(2, dtype=bool)[None]
    split = Split(np.zeros((1, 2, 2), np.float32), np.zeros(1, np.int64), shown)
    data = Dataset({}, split, split, split, np.ones((2, 2), bool), default)
    assert data.mask("test", 0, "union").sum() == 4
    assert data.mask("test", 0, "shown").sum() == 2
    np.testing.assert_array_equal(data.mask("test", 0), data.mask("test", 0, default))
