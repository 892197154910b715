import dataclasses
import json

import pytest

from core import DATASETS, METHODS, METRICS, MODELS, InputError, Spec, pipeline
from core.__main__ import main
from core.registry import Option, canonical

FAMILIES = {"method": METHODS, "metric": METRICS, "model": MODELS, "data set": DATASETS}
ENTRIES = [
    pytest.param(entry, id=f"{kind} {entry.name}") for kind, family in FAMILIES.items() for entry in family.values()
]
OPTIONS = [
    pytest.param(entry, option, id=f"{entry.name} {option.name}")
    for family in FAMILIES.values()
    for entry in family.values()
    for option in entry.options
]


@pytest.mark.parametrize("kind", FAMILIES)
def test_an_unknown_name_is_an_input_error_that_lists_what_there_is(kind):
    with pytest.raises(InputError) as error:
        FAMILIES[kind]["nonsense"]
    assert all(name in str(error.value) for name in ["nonsense", *FAMILIES[kind]])


def test_a_misspelled_name_gets_a_suggestion():
    with pytest.raises(InputError, match="Did you mean patternlocal"):
        METHODS["patternlokal"]


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_entry_says_what_it_is(entry):
    assert entry.label and entry.summary.endswith(".") and entry.reference
    assert all(option.help for option in entry.options)


@pytest.mark.parametrize("entry", METHODS.values(), ids=METHODS)
def test_every_method_says_how_it_misleads(entry):
    assert entry.misleads and entry.group


@pytest.mark.parametrize("entry, option", OPTIONS)
def test_an_option_takes_its_default_and_its_ends_also_as_text(entry, option):
    for value in [option.default, *option.choices, *(v for v in (option.low, option.high) if v is not None)]:
        checked = option.check(value)
        assert checked == value and type(checked) is type(option.default)
        assert option.check(str(value)) == checked and type(option.check(str(value))) is type(checked)


@pytest.mark.parametrize("entry, option", OPTIONS)
def test_an_option_refuses_what_lies_outside_and_names_itself(entry, option):
    numbers = (
        [] if option.choices or isinstance(option.default, bool) else [float("nan"), option.low - 1, option.high + 1]
    )
    for value in ["nonsense", "", None, *numbers]:
        with pytest.raises(InputError, match=option.name):
            option.check(value)


@pytest.mark.parametrize("value", [1.5, "1.5", float("inf"), "inf", True, [2]], ids=repr)
def test_an_option_that_counts_takes_whole_numbers_only(value):
    with pytest.raises(InputError, match="samples"):
        METHODS["smoothgrad"].check({"samples": value})


@pytest.mark.parametrize("entry, option", OPTIONS)
def test_an_option_that_depends_on_another_names_one_that_exists(entry, option):
    for name, values in option.when:
        other = {o.name: o for o in entry.options}[name]
        assert all(other.check(value) == value for value in values)
    assert option.matters({name: values[0] for name, values in option.when})
    assert not any(option.matters({name: object()}) for name, _ in option.when)


def test_a_whole_number_written_with_a_point_is_the_same_number():
    steps = METHODS["integrated_gradients"].check
    assert steps({"steps": 50.0}) == steps({"steps": 50}) == steps({"steps": "50"}) == steps({"steps": "50.0"})


def test_left_out_options_take_the_signatures_defaults():
    assert METHODS["smoothgrad"].check({"n_samples": "7"}) == {"n_samples": 7, "noise": 0.1}


def test_an_unknown_option_is_an_input_error_that_lists_the_options():
    with pytest.raises(InputError, match="'stepps'.*steps, baseline"):
        METHODS["integrated_gradients"].check({"stepps": 3})


@pytest.mark.parametrize(
    "options",
    [
        (),
        (Option("other", "", low=0, high=1),),
        (Option("strength", "", low=0, high=1), Option("extra", "", low=0, high=1)),
    ],
)
def test_options_that_differ_from_the_signature_are_refused(register, options):
    with pytest.raises(TypeError, match="new"):
        register(METHODS, "new", lambda context, *, strength=1: None, options=options)
    assert "new" not in METHODS


def test_a_default_outside_its_own_range_is_refused(register):
    with pytest.raises(InputError, match="strength"):
        register(
            METHODS, "new", lambda context, *, strength=5: None, options=(Option("strength", "", low=0, high=1),)
        )


def test_a_new_method_is_one_function_with_a_decorator(register, spec, capsys):
    def twice(context, *, factor=2.0):
        return factor * context.image

    register(METHODS, "test-twice", twice, options=(Option("factor", "How much.", low=0.0, high=4.0),))
    new = spec.replace(method="test-twice")
    assert dict(canonical(new).options) == {"factor": 2.0}
    found = pipeline.explain(new)
    assert (found.values == 2 * found.image).all()
    assert main(["list", "--json"]) == 0
    listed = {m["name"]: m for m in json.loads(capsys.readouterr().out)["methods"]}
    assert listed["test-twice"]["options"]["factor"]["default"] == 2.0


def test_entries_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        METHODS["gradient"].label = "other"


def test_the_default_spec_is_sound():
    assert canonical(Spec()).method in METHODS


@pytest.mark.parametrize(
    "method, old, new",
    [
        ("lime", "samples", "n_samples"),
        ("kernelshap", "reference", "baseline"),
        ("smoothgrad", "samples", "n_samples"),
        ("integrated_gradients", "steps", "n_steps"),
        ("patternlocal", "regression", "pattern_penalty"),
    ],
)
def test_an_option_answers_to_the_name_it_had_before(spec, method, old, new):
    entry = METHODS[method]
    value = next(o for o in entry.options if o.name == new).default
    assert entry.current_name(old) == new and entry.current_name(new) == new
    assert entry.check({old: value}) == entry.check({new: value}) == entry.check({})
    assert canonical(spec.replace(method=method, options={old: value})) == canonical(spec.replace(method=method))
    with pytest.raises(InputError, match="twice"):
        entry.check({old: value, new: value})
