import dataclasses
import functools
import json
import shutil

import numpy as np
import pytest

from core import (
    DATASETS,
    METHODS,
    METRICS,
    MODELS,
    InputError,
    NotApplicable,
    Score,
    Spec,
    explain,
    keys,
    model_library,
    models,
    pipeline,
    score,
    store,
)
from core.models import training
from core.registry import canonical
from core.types import MethodFailed

LIME = {"method": "lime", "options": {"n_samples": 50}}


def same(one, other):
    return one.spec == other.spec and all(
        getattr(one, name).tobytes() == getattr(other, name).tobytes()
        for name in ("values", "image", "mask", "probabilities")
    )


def results(folder):
    return sorted((folder / "results").iterdir()) if (folder / "results").exists() else []


def test_an_attribution_holds_what_is_needed_to_score_and_draw_it(spec):
    found, test = explain(spec), pipeline.dataset(spec).test
    assert found.values.shape == found.image.shape == found.mask.shape == (8, 8)
    assert found.values.dtype == np.float64 and found.mask.dtype == bool
    np.testing.assert_array_equal(found.image, test.x[0])
    assert found.label == test.y[0]
    assert found.probabilities.sum() == pytest.approx(1) and found.target == found.predicted
    assert found.signed == METHODS["gradient"].signed and found.seconds > 0
    assert dict(explain(spec.replace(**LIME)).spec.options)["n_samples"] == 50


@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_through_the_door_and_comes_back_from_disk(spec, method, empty_cache):
    wanted = spec.replace(method=method, image=1)
    first = explain(wanted)
    (file,) = results(empty_cache)
    stamp = file.stat().st_mtime_ns
    again = explain(wanted)
    assert file.stat().st_mtime_ns == stamp  # read, not computed
    assert same(first, again) and again.facts == first.facts and again.notes == first.notes
    assert again.seconds == first.seconds
    shutil.rmtree(empty_cache)
    assert same(first, explain(wanted))


@pytest.mark.parametrize(
    "damage",
    [lambda b: b"", lambda b: b[:-5], lambda b: b"hello", lambda b: b[:80] + bytes([b[80] ^ 1]) + b[81:]],
    ids=["empty", "cut off", "foreign", "one bit"],
)
def test_a_damaged_result_is_computed_again(spec, empty_cache, damage):
    first = explain(spec.replace(**LIME))
    (file,) = results(empty_cache)
    file.write_bytes(damage(file.read_bytes()))
    assert same(first, explain(spec.replace(**LIME)))
    assert store.load(file) is not None  # and kept again


def test_the_same_spec_gives_the_same_bytes_in_another_process(spec, python, tmp_path, monkeypatch):
    wanted = [
        spec.replace(method=m, options=o, image=2)
        for m, o in [
            ("lime", {}),
            ("gradientshap", {}),
            ("kernelshap", {}),
            ("integrated_gradients", {}),
            ("patternlocal", {"surrogate": "lime"}),
        ]
    ]
    here = [[explain(s).values.tobytes().hex(), score(explain(s)).values] for s in wanted]
    monkeypatch.setenv("ATTRIBUTION_LAB_HOME", str(tmp_path / "other"))
    code = (
        "import json, sys; from core import *\n"
        "found = [explain(Spec.from_dict(d)) for d in json.loads(sys.argv[1])]\n"
        "print(json.dumps([[a.values.tobytes().hex(), score(a).values] for a in found]))"
    )
    run = python("-c", code, json.dumps([s.to_dict() for s in wanted]))
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == here


def test_with_another_number_of_threads_the_same_spec_gives_nearly_the_same_numbers(python, monkeypatch):
    wanted = {
        "gradient": ({}, 1e-12),
        "lime": ({"n_samples": 200}, 1e-12),
        "kernelshap": ({"n_samples": 200}, 1e-12),
        "patternlocal": ({"surrogate": "lime", "n_samples": 200}, 1e-4),
    }
    code = (
        "import json, sys; from core import METHODS, Spec, pipeline\n"
        "def values(m, o): return METHODS[m].function(pipeline.context(Spec()), "
        "**METHODS[m].check(o)).ravel().tolist()\n"
        "print(json.dumps({m: values(m, o) for m, o in json.loads(sys.argv[1]).items()}))"
    )
    found = []
    for threads in ("1", "2"):
        for library in ("OMP", "MKL", "OPENBLAS"):
            monkeypatch.setenv(f"{library}_NUM_THREADS", threads)
        run = python("-c", code, json.dumps({m: options for m, (options, _) in wanted.items()}))
        assert run.returncode == 0, run.stderr
        found.append(json.loads(run.stdout))
    for method, (_, bound) in wanted.items():
        one, two = (np.array(maps[method]) for maps in found)
        np.testing.assert_allclose(one, two, rtol=0, atol=bound * np.abs(one).max(), err_msg=method)


def test_images_do_not_share_their_random_numbers(spec):
    maps = [explain(spec.replace(method="random", image=image)).values for image in (0, 1, 2)]
    assert (maps[0] != maps[1]).all() and (maps[1] != maps[2]).all()
    assert (maps[0] == np.random.default_rng(spec.seed).standard_normal((8, 8))).all()  # as image 0 always had


def test_no_gradient_of_a_probability_is_lost():
    """In float32 the sigmoid's slope is 0 at 7 of these images."""
    spec = Spec(method="gradient", output="probability")
    for image in range(30):
        probability, margin = (explain(spec.replace(image=image, output=o)) for o in ("probability", "margin"))
        assert not np.isnan(score(probability, ["ime"]).ime)
        p, rest = np.sort(probability.probabilities)[::-1]
        np.testing.assert_allclose(
            probability.values, p * rest * margin.values, atol=1e-4 * np.abs(probability.values).max()
        )


def test_a_method_seed_changes_neither_data_nor_model(spec):
    one, other = (explain(spec.replace(method="random", seed=s)) for s in (1, 2))
    assert (one.values != other.values).all()
    assert (one.image == other.image).all() and (one.probabilities == other.probabilities).all()


def test_the_reading_of_the_truth_changes_the_mask_but_neither_map_nor_cache(spec, empty_cache):
    union, shown = (explain(spec.replace(truth=t)) for t in ("union", "shown"))
    assert (union.values == shown.values).all() and len(results(empty_cache)) == 1
    data = pipeline.dataset(spec)
    np.testing.assert_array_equal(union.mask, data.union)
    np.testing.assert_array_equal(shown.mask, data.test.shown[0])


def test_the_true_class_is_explained_on_request(spec):
    wrong = pipeline.choose(spec.replace(split="train"), correct=False)
    test = pipeline.dataset(spec).test
    for target in ("predicted", "true"):
        found = explain(spec.replace(target=target, image=0))
        assert found.target == (test.y[0] if target == "true" else found.predicted)
    for image in wrong[:1]:
        found = explain(spec.replace(split="train", image=image, target="true"))
        assert found.target == found.label != found.predicted


def test_margin_and_probability_differ_by_the_slope_of_the_softmax(spec):
    margin, probability = (explain(spec.replace(output=o)) for o in ("margin", "probability"))
    p = margin.probabilities[margin.target]
    np.testing.assert_allclose(probability.values, p * (1 - p) * margin.values, rtol=1e-2, atol=1e-7)


@pytest.mark.parametrize(
    "changes, text",
    [
        ({"image": 1000}, "0 to 999"),
        ({"image": 10**9}, "0 to 999"),
        ({"method": "gradeint"}, "Did you mean gradient"),
        ({"model": "RNN"}, "MLP"),
        ({"dataset": "mnist99"}, "xai-tris"),
        ({"scenario": "FOO"}, "XOR"),
        ({"background": "FOO"}, "CORR"),
        ({"snr": 1.5}, "snr"),
        ({"size": 9}, "size"),
        ({"samples": 401}, "samples"),
        ({"options": {"stepps": 3}}, "stepps"),
        ({"method": "lime", "options": {"n_samples": 1}}, "samples"),
        ({"snr": 0.33}, "python -m core train"),
        ({"model": "LLR"}, "python -m core train"),
    ],
    ids=repr,
)
def test_what_does_not_exist_is_an_input_error_that_says_what_would_work(spec, changes, text):
    with pytest.raises(InputError, match=text):
        explain(spec.replace(**changes))


def test_a_method_that_does_not_apply_says_so_each_time_but_is_tried_once(spec, register, empty_cache):
    tries = []

    def never(context):
        tries.append(1)
        raise NotApplicable("for this reason")

    register(METHODS, "test-never", never)
    for _ in range(3):
        with pytest.raises(NotApplicable, match="for this reason"):
            explain(spec.replace(method="test-never"))
    assert len(tries) == 1


def one_undefined():
    values = np.ones((8, 8))
    values[2, 5] = np.nan
    return values


@pytest.mark.parametrize(
    "method, text",
    [
        (one_undefined, "its map is nan at row 2, column 5, and not finite at 1 of 64 pixels"),
        (lambda: np.zeros((1, 8, 8)), r"its map is \(1, 8, 8\), not \(8, 8\)"),
        (lambda: np.zeros(64), r"its map is \(64,\), not \(8, 8\)"),
        (lambda: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda: {}["weights"], "KeyError: 'weights'"),
    ],
)
def test_a_method_with_a_fault_says_so_is_logged_and_not_kept(spec, register, empty_cache, caplog, method, text):
    register(METHODS, "test-nonsense", lambda context: method())
    with pytest.raises(MethodFailed, match=text):
        explain(spec.replace(method="test-nonsense"))
    assert not results(empty_cache)
    assert ("Traceback" in caplog.text) == ("Error" in text)


def test_without_room_on_disk_results_still_come_and_the_trouble_is_told(spec, monkeypatch, empty_cache):
    kept = explain(spec), score(explain(spec))
    shutil.rmtree(empty_cache)
    empty_cache.write_text("a file where the folder should be")
    found = explain(spec)
    assert same(found, kept[0]) and score(found).values == kept[1].values
    assert str(empty_cache) in pipeline.trouble()
    empty_cache.unlink()
    explain(spec)
    assert pipeline.trouble() is None


def test_images_are_chosen_by_number_label_and_prediction(spec):
    spec = spec.replace(split="val")
    labels = pipeline.dataset(spec).val.y
    right = pipeline.split_predictions(spec).argmax(1) == labels
    everything = pipeline.choose(spec)
    assert everything == list(range(len(labels)))
    assert pipeline.choose(spec, 5, 9) == [5, 6, 7, 8]
    assert pipeline.choose(spec, 0, 50, label=1) == [i for i in range(50) if labels[i] == 1]
    assert pipeline.choose(spec, correct=True) == np.flatnonzero(right).tolist()
    assert sorted(pipeline.choose(spec, correct=True) + pipeline.choose(spec, correct=False)) == everything


@pytest.mark.parametrize("first, last", [(-1, 3), (3, 3), (5, 2), (0, 1001), (1000, None)])
def test_images_outside_the_split_are_an_input_error(spec, first, last):
    with pytest.raises(InputError, match="0:1000"):
        pipeline.choose(spec, first, last)


def test_a_summary_counts_what_is_undefined_and_averages_the_rest():
    nan = float("nan")
    scores = [Score({"emd": v}) for v in (1.0, nan, 3.0)]
    assert pipeline.summary(scores, "emd") == {"mean": 2.0, "std": 1.0, "n": 2, "undefined": 1}
    assert pipeline.summary(scores[1:2], "emd") == {"mean": None, "std": None, "n": 0, "undefined": 1}
    assert pipeline.summary([], "emd") == {"mean": None, "std": None, "n": 0, "undefined": 0}


def test_options_in_any_spelling_are_one_spec_and_one_result(spec, empty_cache):
    spellings = [
        {"n_samples": 50},
        {"n_samples": "50"},
        {"n_samples": 50.0},
        {"n_samples": 50, "ridge": "0.01"},
        {"ridge": 0.01, "n_samples": 50},
    ]
    checked = {canonical(spec.replace(method="lime", options=o)) for o in spellings}
    assert len(checked) == 1
    for options in spellings:
        explain(spec.replace(method="lime", options=options))
    assert len(results(empty_cache)) == 1


def test_a_checked_spec_survives_json(spec):
    for method in METHODS:
        checked = canonical(spec.replace(method=method))
        assert canonical(Spec.from_dict(json.loads(json.dumps(checked.to_dict())))) == checked


def test_scores_of_two_readings_of_the_truth_are_kept_apart(monkeypatch):
    monkeypatch.setattr(training, "EPOCHS", 1)
    spec = Spec(scenario="LIN", background="WHITE", snr=0.4, size=8, samples=400, model="LLR", method="input")
    model_library.train(spec)
    union, shown = (score(explain(spec.replace(truth=t))) for t in ("union", "shown"))
    assert set(union.values) == set(METRICS)
    assert union.ime < shown.ime and union.emd != shown.emd


def test_lime_with_its_defaults_finds_something(spec):
    found = explain(spec.replace(method="lime"))
    assert np.abs(found.values).max() > 0 and not np.isnan(score(found).emd)


def test_patternlocal_marks_the_shapes_better_than_chance(spec):
    images = pipeline.choose(spec, 0, 10, correct=True)
    ime = {
        m: np.mean([score(explain(spec.replace(method=m, image=i)), ["ime"]).ime for i in images])
        for m in ("patternlocal", "random")
    }
    assert ime["patternlocal"] < ime["random"] - 0.1


# What a result's key depends on ---------------------------------------------------------------------


@pytest.fixture
def written(tmp_path, register):
    """``written(registry, name, like)``: an entry like another, whose function stands in a file of its own."""

    def write(registry, name, like):
        file = tmp_path / f"{name}.py"
        file.write_text(
            f"def make(function):\n    def {name}(*a, **k):\n        return function(*a, **k)\n    return {name}\n"
        )
        module = {}
        exec(compile(file.read_text(), str(file), "exec"), module)
        entry = registry[like]
        about = {f.name: getattr(entry, f.name) for f in dataclasses.fields(entry)}
        del about["name"], about["function"]
        register(registry, name, module["make"](entry.function), **about)
        return file

    return write


def key_of(spec):
    """A result's key, as a program would make it that starts now."""
    keys._code.cache_clear()
    return keys.result_key(canonical(spec), pipeline.model(spec.replace(model="MLP")).digest, pipeline.dataset(spec))


@pytest.mark.parametrize(
    "field, registry, like",
    [("method", METHODS, "gradient"), ("model", MODELS, "MLP"), ("dataset", DATASETS, "xai-tris")],
)
def test_a_registered_functions_own_file_is_part_of_the_key(spec, written, monkeypatch, field, registry, like):
    file = written(registry, "mine", like)
    mine = spec.replace(**{field: "mine"})
    if field != "method":
        monkeypatch.setattr(pipeline, "model", lambda _: models.load(spec))
    if field == "dataset":
        monkeypatch.setattr(
            "core.registry.MODELS._entries",
            {**MODELS, "MLP": dataclasses.replace(MODELS["MLP"], datasets=("xai-tris", "mine"))},
        )
    first = key_of(mine)
    assert first == key_of(mine)
    file.write_text(file.read_text() + "# changed")
    assert key_of(mine) != first
    keys._code.cache_clear()


def test_a_metrics_own_file_is_part_of_a_scores_key(spec, written):
    file, found = written(METRICS, "mine", "ime"), explain(spec)
    first = keys.score_key(found, "mine")
    file.write_text(file.read_text() + "# changed")
    keys._code.cache_clear()
    assert keys.score_key(found, "mine") != first


def test_a_function_without_a_file_is_no_trouble():
    assert keys._home(len) == () and keys._home(functools.partial(len)) == ()
    assert keys._home(pipeline.explain) == (pipeline.__file__,)


@pytest.mark.parametrize("library", ["scikit-learn", "numpy", "torch"])
def test_another_version_of_a_library_is_another_key(spec, monkeypatch, library):
    first, version = key_of(spec), keys.version
    monkeypatch.setattr(keys, "version", lambda name: "0" if name == library else version(name))
    assert key_of(spec) != first
    monkeypatch.undo()
    assert key_of(spec) == first


def test_another_data_file_is_another_key():
    spec = canonical(Spec(dataset="mnist", model="PLNN", method="gradient"))
    data, network = pipeline.dataset(spec), pipeline.model(spec)
    other = dataclasses.replace(data, recipe={**data.recipe, "sha256": "0"})
    assert keys.result_key(spec, network.digest, data) != keys.result_key(spec, network.digest, other)


def test_a_map_may_be_written_by_who_asked_for_it(spec, empty_cache):
    for _ in range(2):  # computed, then read
        for method in ("gradient", "input", "openapi"):
            found = explain(spec.replace(method=method))
            before = found.values.copy()
            found.values[:], found.image[:], found.probabilities[:] = 0, 0, 0
            assert np.array_equal(explain(spec.replace(method=method)).values, before)
