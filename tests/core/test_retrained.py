"""A model trained anew while the program runs: never an old answer, never one of two networks."""

import json
import threading
from pathlib import Path

import numpy as np
import pytest

from core import InputError, Spec, cache, models, pipeline, regions, store, studio
from core.lessons.images import _map as lesson_map
from core.models import catalogue
from core.models.model import Model, freeze
from core.registry import MODELS

HERE = Spec(scenario="LIN", background="WHITE", snr=0.4, size=8, samples=400, model="MLP", method="gradient")


@pytest.fixture
def retrain(empty_cache):
    """``retrain(seed)`` puts another network of the same address in the model's place."""
    import torch

    def keep(seed):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            module = freeze(MODELS["MLP"].function(8))
        return models.keep(models.rounded(Model("MLP", module, 1.0), pipeline.dataset(HERE).test), HERE)

    return keep


def everything(spec):
    """All that is kept in memory about a network, as arrays."""
    d = regions.decision(spec)
    figure = studio.preset("maps", spec)
    other = regions.comparison_point(spec, regions.COMPARISON_POINTS[1])
    return {
        "probabilities": pipeline.explain(spec).probabilities,
        "map": pipeline.explain(spec).values,
        "split": pipeline.split_predictions(spec),
        "context": pipeline.context(spec).gradient,
        "decision": d.features.weights,
        "truth": d.truth,
        "border": np.array([other.border]),
        "agreements": regions.agreements(spec, regions.COMPARISON_POINTS[1], ("gradient_x_input",))[0].at_point,
        "plane": regions.region_map(spec, 1.0, 5).cosine,
        "line": regions.line(spec, 3, 5).cosine["exact"],
        "errors": np.array([e.error for e in regions.errors(spec)]),
        "removals": regions.deletion_curves(spec)["saliency"].probability,
        "figure": np.concatenate([a.ravel() for a in studio.content(figure).arrays.values()]),
        "digest": np.frombuffer(json.dumps(studio.fingerprints(figure)["models"]).encode(), np.uint8),
        "lesson": lesson_map(spec).values,
    }


def test_every_answer_after_a_retraining_is_the_new_networks(retrain):
    found = []
    for seed in (1, 2, 1):
        retrain(seed)
        found.append(everything(HERE))
    old, new, again = found
    for name in old:
        assert not np.array_equal(old[name], new[name]), name
        assert np.array_equal(old[name], again[name], equal_nan=True), name
    assert len(list((store.home() / "models").glob("*.safetensors"))) == 1, "the old network's file is gone"


def test_a_reader_in_the_middle_of_a_computation_keeps_its_network_and_gives_nobody_an_old_answer(retrain):
    """A region map: the plane comes from predictions, its middle and its rows from weights."""
    ask = lambda **more: regions.region_map(HERE, 1.0, 9, **more)  # noqa: E731
    retrain(2)
    expected_new = ask()
    retrain(1)
    expected_old = ask()
    cache.clear_all()
    started, go, found = threading.Event(), threading.Event(), {}

    def progress(done, total, text):
        if done == 4:
            started.set()
            assert go.wait(20)

    reader = threading.Thread(target=lambda: found.update(old=ask(progress=progress)))
    reader.start()
    assert started.wait(20)
    retrain(2)
    found["new"] = ask()  # not held up by the reader of the old one
    go.set()
    reader.join()
    for name in ("axes", "cosine", "margin", "region"):
        assert np.array_equal(getattr(found["old"], name), getattr(expected_old, name)), name
        assert np.array_equal(getattr(found["new"], name), getattr(expected_new, name)), name
        assert np.array_equal(getattr(ask(), name), getattr(expected_new, name)), name


def test_errors_are_all_about_one_network(retrain):
    retrain(1)
    expected = [e.error for e in regions.errors(HERE)]
    cache.clear_all()
    found = regions.errors(HERE)
    first = next(found)
    retrain(2)
    assert [first.error, *(e.error for e in found)] == expected
    assert [e.error for e in regions.errors(HERE)] != expected


def test_inside_a_block_a_spec_keeps_its_network(retrain):
    retrain(1)
    with pipeline.same_networks():
        before = pipeline.model(HERE)
        retrain(2)
        with pipeline.same_networks():
            assert pipeline.model(HERE) is before
        assert (
            pipeline.explain(HERE).probabilities.tobytes()
            == before.predict_proba(pipeline.dataset(HERE).test.x[:1])[0].tobytes()
        )
    assert pipeline.model(HERE).digest != before.digest


def test_a_reader_between_the_new_file_and_its_record_gets_the_old_network(retrain, monkeypatch):
    old = retrain(1)
    seen = []
    write_record = catalogue._write_record

    def look_first(*arguments):
        seen.append(models.load(HERE).digest)
        write_record(*arguments)

    monkeypatch.setattr(catalogue, "_write_record", look_first)
    new = retrain(2)
    assert seen == [old.sha256] and models.load(HERE).digest == new.sha256


def test_a_reader_of_a_record_whose_file_has_just_been_replaced_gets_the_new_network(retrain, monkeypatch):
    retrain(1)
    checked, turns = store.checked, []

    def replaced(path: Path, expected: str):
        if not turns:
            turns.append(retrain(2))
        return checked(path, expected)

    monkeypatch.setattr(store, "checked", replaced)
    assert models.load(HERE).digest == turns[0].sha256


def test_a_model_whose_file_is_lost_is_told_once(retrain):
    record = retrain(1)
    (store.home() / "models" / record.file).unlink()
    with pytest.raises(InputError, match=record.file):
        models.load(HERE)


def test_two_trainings_in_one_program_do_not_draw_from_each_others_generator(monkeypatch, empty_cache):
    from core.models import training

    monkeypatch.setattr(training, "EPOCHS", 2)
    data = pipeline.dataset(HERE)
    alone = [models.train("MLP", data, seed=seed).module.state_dict() for seed in (1, 2)]
    found = {}
    threads = [
        threading.Thread(target=lambda seed=seed: found.update({seed: models.train("MLP", data, seed=seed)}))
        for seed in (1, 2)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for seed, expected in zip((1, 2), alone):
        assert all((found[seed].module.state_dict()[name] == v).all() for name, v in expected.items())
