import copy
import dataclasses
import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from core import DATASETS, MODELS, InputError, Spec, model_library, models, pipeline, store
from core.datasets import xai_tris
from core.models import training, tree
from core.models.model import Model, freeze
from core.registry import canonical
from core.types import ModelRecord

MANIFEST = json.loads((store.ASSETS / "manifest.json").read_text())["models"]
RECORDS = [ModelRecord.from_dict(values) for values in MANIFEST]
SHIPPED = [r for r in RECORDS if r.available]
LARGE = [r for r in SHIPPED if r.spec.size == 64]


def name(record):
    return f"{model_library.data_name(record.spec)} {record.spec.model}"


def few(scenario="LIN", background="WHITE", snr=0.4, samples=400):
    """A small data set, the same images in every epoch."""
    return dataclasses.replace(xai_tris(scenario, background, snr, size=8, samples=samples), fresh=None)


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(training, "EPOCHS", 2)
    monkeypatch.setattr(training, "TRIAL", 1)


def flat(module):
    return torch.cat([p.flatten() for p in module.parameters()])


# Networks -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind, size, classes",
    [
        (kind, size, classes)
        for kind, m in MODELS.items()
        for size, classes in (((8, 2), (64, 2)) if "xai-tris" in m.datasets else ((28, 10),))
    ],
)
def test_a_network_turns_images_into_logits(kind, size, classes):
    x = torch.randn(5, size, size)
    logits = freeze(MODELS[kind].function(size))(x)
    assert logits.shape == (5, classes)
    assert not torch.allclose(logits.exp().sum(1), torch.ones(5))  # no softmax inside


@pytest.mark.parametrize(
    "kind, size, shapes",
    [
        ("PLNN", 28, [(256, 784), (256,), (128, 256), (128,), (100, 128), (100,), (10, 100), (10,)]),
        ("MLP", 64, [(256, 4096), (256, 256), (64, 256), (2, 64)]),
        ("MLP", 8, [(32, 64), (32,), (16, 32), (16,), (8, 16), (8,), (2, 8), (2,)]),
        ("LLR", 64, [(2, 4096)]),
        ("LLR", 8, [(2, 64), (2,)]),
        ("CNN", 64, [(4, 1, 4, 4), (4,), (8, 4, 4, 4), (8,), (16, 8, 4, 4), (16,), (32, 16, 4, 4), (32,), (2, 288)]),
        ("CNN", 8, [(4, 1, 2, 2), (4,), *[(4, 4, 2, 2), (4,)] * 3, (2, 4), (2,)]),
    ],
)
def test_architectures_are_the_benchmarks(kind, size, shapes):
    assert [tuple(p.shape) for p in MODELS[kind].function(size).parameters()] == shapes


def test_the_mlp_drops_out_at_64x64_in_training_only():
    module = MODELS["MLP"].function(64)
    assert [m.p for m in module.modules() if isinstance(m, nn.Dropout)] == [0.3] * 3
    x = torch.randn(1, 64, 64)
    freeze(module)
    assert (module(x) == module(x)).all()


def test_probabilities_are_the_softmax_of_the_logits_in_double():
    module = freeze(MODELS["MLP"].function(8))
    x = np.random.default_rng(0).standard_normal((2500, 8, 8)).astype(np.float32)  # more than one batch
    found = models.Model("MLP", module, 1.0).predict_proba(x)
    assert found.shape == (2500, 2) and found.dtype == np.float64
    np.testing.assert_allclose(found.sum(1), 1, atol=1e-12)
    logits = copy.deepcopy(module).double()(torch.from_numpy(x).double())
    np.testing.assert_allclose(found, logits.softmax(1).numpy(), atol=1e-14)


# Training -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", MODELS)
def test_training_is_reproducible_by_seed_and_touches_no_global_generator(kind, short):
    before, data = torch.get_rng_state(), few()
    one, same, other = (models.train(kind, data, seed=s) for s in (5, 5, 6))
    assert (torch.get_rng_state() == before).all()
    assert (flat(one.module) == flat(same.module)).all() and one.accuracy == same.accuracy
    if not MODELS[kind].fit:  # a tree's seed only settles ties
        assert (flat(one.module) != flat(other.module)).any()
    assert not one.module.training and not any(p.requires_grad for p in one.module.parameters())


@pytest.mark.parametrize("kind", ["LLR", "MLP"])
def test_easy_data_are_learned(kind):
    data = few(snr=0.7, samples=2000)
    trained = models.train(kind, data)
    assert trained.accuracy > 0.9
    right = trained.predict_proba(data.test.x).argmax(1) == data.test.y
    assert trained.accuracy == pytest.approx(right.mean())


def test_whitened_images_have_equal_variance_in_all_directions():
    x = xai_tris("XOR", "CORR", 0.15, size=8, samples=4000).train.x
    matrix, scale = training.whiten(x)
    white = (torch.from_numpy(np.array(x)).flatten(1) @ matrix).double()
    moments = torch.linalg.eigvalsh(white.T @ white / len(white)).numpy()
    raw = np.linalg.eigvalsh(np.einsum("ni,nj->ij", *[x.reshape(len(x), -1).astype(float)] * 2) / len(x))
    np.testing.assert_allclose(moments, np.sort(raw / (raw + 1e-3 * raw.mean())), atol=1e-3)
    assert scale == pytest.approx(float(white[:2000].std()), rel=1e-3)


@pytest.mark.parametrize(
    "kind, way", [("LLR", "plain"), ("LLR", "whitened"), ("MLP", "plain"), ("MLP", "whitened"), ("CNN", "plain")]
)
def test_the_trained_network_on_pixels_is_the_network_on_prepared_images(kind, way):
    data = few("XOR", "CORR", 0.15)
    torch.manual_seed(0)
    run = training._Run(way, MODELS[kind].function(8), data, MODELS[kind], training.EPOCHS)
    run.epoch(lambda *_: None)
    inside = MODELS[kind].function(8)
    inside.load_state_dict(run.best_state)
    x = torch.from_numpy(np.array(data.test.x))
    if way == "plain":
        prepared = x / float(data.train.x[:2000].std())
    else:
        matrix, scale = training.whiten(data.train.x)
        prepared = (x.flatten(1) @ matrix / scale).view_as(x)
    expected, found = freeze(inside)(prepared), run.result()(x)
    assert torch.allclose(found, expected, atol=1e-4 * float(expected.abs().max()))


@pytest.mark.parametrize("scenario, background", [("LIN", "WHITE"), ("XOR", "CORR")])
def test_the_validation_accuracy_reported_is_that_of_the_network_handed_out(scenario, background, short):
    data = few(scenario, background, 0.15)
    trained = models.train("MLP", data)
    right = trained.predict_proba(data.val.x).argmax(1) == data.val.y
    assert trained.facts["validation"] == pytest.approx(right.mean(), abs=1 / len(data.val))


def test_every_epoch_after_the_first_sees_fresh_images(short, monkeypatch):
    monkeypatch.setattr(training, "LIFTED", 0.0)
    data, asked = few(), []
    models.train("LLR", dataclasses.replace(data, fresh=lambda seed: asked.append(seed) or data.train))
    assert asked == [1]


def test_progress_is_told_and_may_stop_the_training(short):
    told, easy = [], few()
    models.train("LLR", easy, progress=lambda done, total, text: told.append((done, total, text)))
    assert all(0 <= done <= total and text for done, total, text in told)
    assert told[-1][0] == told[-1][1] and "test accuracy" in told[-1][2] and len(told) > 2

    class Stop(Exception):
        pass

    def stop(done, total, text):
        if done == 1:
            raise Stop

    before = torch.get_rng_state()
    with pytest.raises(Stop):
        models.train("LLR", easy, progress=stop)
    assert (torch.get_rng_state() == before).all()


# What is shipped ------------------------------------------------------------------------------------


@pytest.mark.parametrize("record", RECORDS, ids=name)
def test_a_record_is_whole_and_its_file_is_the_one_trained(record):
    assert {"training", "versions", "validation"} <= set(record.facts) and record.licence
    assert record.origin == "shipped" and "python -m core train" in record.command
    assert ModelRecord.from_dict(json.loads(json.dumps(record.to_dict()))) == record
    if record.available:
        path = store.ASSETS / "models" / record.file
        assert store.sha256(path) == record.sha256 and path.stat().st_size == record.bytes


@pytest.mark.parametrize("record", RECORDS, ids=name)
def test_a_model_is_shipped_just_where_it_generalises(record):
    """Or where there are no scores whose meaning could depend on it."""
    assert record.available == (record.accuracy > 0.9 or not DATASETS[record.spec.dataset].has_ground_truth)


def test_every_shipped_file_has_its_record_and_all_are_small():
    files = {p.name: p.stat().st_size for p in (store.ASSETS / "models").iterdir()}
    assert sorted(files) == sorted(r.file for r in SHIPPED)
    assert sum(files.values()) < 45_000_000


@pytest.mark.parametrize("record", [r for r in SHIPPED if r.spec.size == 8] + LARGE[:1], ids=name)
def test_the_stated_accuracy_is_reached_again(record):
    test = pipeline.dataset(record.spec).test
    right = models.load(record.spec).predict_proba(test.x).argmax(1) == test.y
    assert right.mean() == pytest.approx(record.accuracy, abs=1 / len(test))


@pytest.mark.parametrize("record", SHIPPED, ids=name)
def test_a_shipped_model_loads_frozen(record):
    model = models.load(record.spec)
    assert model.accuracy == record.accuracy and model.digest == record.sha256
    assert not model.module.training and not any(p.requires_grad for p in model.module.parameters())
    assert {p.dtype for p in model.module.parameters()} == {torch.float32}


# Trees in files -------------------------------------------------------------------------------------


def full_tree(depth, size, rng):
    """Nodes of a full binary tree, whose leaves share one regression here: its splits are what is asked about."""
    inner, leaves = 2**depth - 1, 2**depth
    node = torch.arange(inner + leaves)
    leaf = node >= inner
    pixel = torch.from_numpy(rng.integers(0, size * size, inner + leaves))
    pixel[:inner][rng.random(inner) < 0.3] = size * size - 1
    module = tree.LogisticModelTree(size)
    module.load_state_dict(
        {
            "left": torch.where(leaf, node - inner, 2 * node + 1),
            "right": 2 * node + 2,
            "pixel": torch.where(leaf, -1, pixel),
            "threshold": torch.from_numpy(rng.standard_normal(len(node))).float(),
            "weight": torch.zeros(1, tree.CLASSES, size * size),
            "bias": torch.zeros(1, tree.CLASSES),
        }
    )
    return freeze(module)


def test_a_large_tree_on_large_images_splits_alike_when_it_comes_back_from_its_file(empty_cache):
    """Nodes, leaves and pixels above 2,048, which half precision cannot tell apart."""
    rng, spec = np.random.default_rng(0), Spec(dataset="mnist", model="LMT", model_seed=7)
    module = full_tree(12, 64, rng)
    models.keep(Model("LMT", module, 1.0), canonical(spec).model_key())
    again = models.load(spec).module
    assert int(again.pixel.max()) == 4095 and int(again.left.max()) > 4096
    for name, buffer in module.named_buffers():
        found = dict(again.named_buffers())[name]
        assert torch.equal(found, buffer) and found.dtype == buffer.dtype, name
    x = torch.from_numpy(rng.standard_normal((500, 64, 64), dtype=np.float32))
    assert torch.equal(again.regions(x), module.regions(x)) and len(module.regions(x).unique()) > 100
    assert torch.equal(models.load(spec).double.regions(x.double()), module.regions(x))


def test_a_threshold_between_two_neighbouring_values_keeps_them_apart():
    low = np.float32([0.1, 0.7, 1e-3, -0.3, 4095.5])
    high = np.nextafter(low, np.float32(np.inf))
    middle = (low.astype(np.float64) + high) / 2
    kept = tree._rounded_down(middle)
    assert kept.dtype == np.float32 and (low <= kept).all() and (high > kept).all()
    assert np.array_equal(tree._rounded_down(low.astype(np.float64)), low)


@pytest.mark.parametrize("record", [r for r in SHIPPED if r.spec.model == "LMT"], ids=name)
def test_a_shipped_tree_has_the_numbers_that_its_file_holds(record):
    raw, module = load_file(store.ASSETS / "models" / record.file), models.load(record.spec).module
    for part, buffer in module.named_buffers():
        assert torch.equal(buffer.double(), raw[part].double()), part
        assert buffer.dtype == (torch.float32 if part == "threshold" else torch.int32)


def test_rounding_a_model_leaves_the_given_one_as_it_was():
    module = freeze(MODELS["MLP"].function(8))
    before = flat(module).clone()
    rounded = models.rounded(Model("MLP", module, 1.0), few().test)
    assert torch.equal(flat(module), before) and not torch.equal(flat(rounded.module), before)
    assert torch.equal(flat(rounded.module), before.half().float()) and rounded.module is not module


def test_many_threads_get_one_and_the_same_double(spec):
    model = models.load(spec)
    with ThreadPoolExecutor(8) as pool:
        assert len({id(m) for m in pool.map(lambda _: model.double, range(32))}) == 1


# Training through the pipeline ----------------------------------------------------------------------

HERE = Spec(scenario="LIN", background="WHITE", snr=0.4, size=8, samples=400, model="LLR", method="gradient")


def test_a_model_trained_here_is_kept_found_and_used(empty_cache, short):
    assert not model_library.has_model(HERE)
    record = model_library.train(HERE)
    assert (
        model_library.has_model(HERE)
        and model_library.model_record(HERE) == record
        and record.origin == "trained here"
    )
    model, test = pipeline.model(HERE), pipeline.dataset(HERE).test
    assert model.accuracy == record.accuracy == (model.predict_proba(test.x).argmax(1) == test.y).mean()
    assert pipeline.explain(HERE).values.shape == (8, 8)
    assert not model_library.has_model(HERE.replace(model_seed=1))
    assert not any(r.origin == "trained here" for r in RECORDS)


def test_a_damaged_model_file_is_refused_by_name_and_a_damaged_record_left_out(empty_cache, short):
    record = model_library.train(HERE.replace(model_seed=2))
    file = empty_cache / "models" / record.file
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(InputError, match=record.file):
        models.load(HERE.replace(model_seed=2))
    next(file.parent.glob("*.json")).write_text("{")
    assert model_library.model_record(HERE.replace(model_seed=2)) is None
    assert models.records() == RECORDS


@pytest.mark.parametrize("content", ["[]", "3", "{}", '{"file": "x"}'])
def test_a_foreign_record_is_left_out(empty_cache, content):
    (empty_cache / "models").mkdir(parents=True)
    (empty_cache / "models" / "foreign.json").write_text(content)
    assert model_library.model_record(HERE) is None
    assert model_library.known_models(HERE) == []


def test_a_file_of_another_network_is_refused_by_name(empty_cache, short):
    spec = HERE.replace(model_seed=3)
    record = model_library.train(spec)
    file = empty_cache / "models" / record.file
    save_file({"1.weight": torch.zeros(3, 64)}, file)
    changed = {**record.to_dict(), "sha256": store.sha256(file)}
    next(file.parent.glob("*.json")).write_text(json.dumps(changed))
    with pytest.raises(InputError, match=record.file):
        models.load(spec)


def test_without_a_model_the_error_is_the_command_that_trains_it():
    spec = HERE.replace(snr=0.37, model="MLP", data_seed=4)
    with pytest.raises(InputError) as error:
        models.load(spec)
    command = str(error.value)[str(error.value).index("python -m core train") :].split()
    from core.__main__ import parser
    from core.commands.common import read_spec

    read = read_spec(parser().parse_args(command[3:]))
    assert read.model_key() == canonical(spec).model_key()
