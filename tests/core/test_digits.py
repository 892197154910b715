"""Fashion-MNIST, MNIST and the models made for them."""

import gzip

import numpy as np
import pytest
import torch

from core import DATASETS, InputError, Spec, explain, model_library, models, pipeline, score, store
from core.datasets import fashion_mnist, mnist
from core.datasets.digits import read_idx, with_training_images
from core.models import tree, white_box
from core.regions.measures import cosine
from core.registry import canonical, models_for, usual_model

DATA = {"fashion-mnist": (fashion_mnist, 9000, 10_000), "mnist": (mnist, 8000, 1000)}
TREE = Spec(dataset="mnist", model="LMT", method="gradient")
NETWORK = Spec(dataset="mnist", model="PLNN", method="gradient")


@pytest.mark.parametrize("name", DATA)
def test_images_are_greys_of_ten_classes_without_a_ground_truth(name):
    make, train, test = DATA[name]
    data = make()
    assert (len(data.train), len(data.val), len(data.test)) == (train, 1000, test)
    for part in (data.train, data.val, data.test):
        assert part.x.shape[1:] == (28, 28) and part.x.dtype == np.float32
        assert part.x.min() == 0 and part.x.max() == 1
        assert np.bincount(part.y, minlength=10).min() > 0.06 * len(part)
        assert not part.shown.any() and part.shown.shape == part.x.shape
    assert not data.union.any() and len(DATASETS[name].classes) == 10


def test_classes_carry_their_own_names():
    """A mean trouser is narrower than a mean pullover; a mean 1 has less ink than a mean 0."""
    ink = [
        fashion_mnist().test.x[fashion_mnist().test.y == DATASETS["fashion-mnist"].classes.index(name)].mean(0)
        for name in ("trouser", "pullover")
    ]
    assert (ink[0].mean(0) > 0.1).sum() < (ink[1].mean(0) > 0.1).sum()
    assert mnist().test.x[mnist().test.y == 1].mean() < mnist().test.x[mnist().test.y == 0].mean()


def idx(path, array):
    head = bytes([0, 0, 8, array.ndim]) + b"".join(int(n).to_bytes(4, "big") for n in array.shape)
    path.write_bytes(gzip.compress(head + array.astype(np.uint8).tobytes()))


def test_all_published_training_images_but_those_it_validates_on(tmp_path):
    data = mnist()
    new = np.arange(2 * 784, dtype=np.uint8).reshape(2, 28, 28)
    known = np.round(data.val.x[:3] * 255).astype(np.uint8)
    idx(tmp_path / "train-images-idx3-ubyte.gz", np.concatenate([new[:1], known, new[1:]]))
    idx(tmp_path / "train-labels-idx1-ubyte.gz", np.array([7, 0, 0, 0, 9]))
    more = with_training_images(data, tmp_path)
    assert np.array_equal(more.train.x, new.astype(np.float32) / 255) and more.train.y.tolist() == [7, 9]
    assert more.test is data.test and more.val is data.val


@pytest.mark.parametrize(
    "content",
    [b"", b"no gzip", gzip.compress(b"no idx", mtime=0), gzip.compress(bytes([0, 0, 8, 1, 0, 0, 0, 9, 1]), mtime=0)],
    ids=["empty", "no gzip", "no idx", "cut short"],
)
def test_a_file_that_is_not_idx_is_refused_by_name(tmp_path, content):
    (tmp_path / "some.gz").write_bytes(content)
    with pytest.raises(InputError, match=r"some\.gz"):
        read_idx(tmp_path / "some.gz")


def test_what_was_shipped_is_what_is_read():
    for record in store.manifest("data"):
        path = store.ASSETS / "data" / record["file"]
        assert path.stat().st_size == record["bytes"] and record["licence"] and record["origin"]
    assert sum(r["bytes"] for r in store.manifest("data")) < 12_000_000


# Specs ----------------------------------------------------------------------------------------------


def test_what_a_data_set_does_not_have_is_blank_and_does_not_matter():
    spec = canonical(TREE.replace(scenario="LIN", snr=0.3, size=8, data_seed=4))
    assert spec == canonical(TREE) and (spec.scenario, spec.snr, spec.size, spec.samples) == ("", 0.0, 0, 0)
    assert canonical(Spec()).model_key() == Spec().model_key()
    assert canonical(TREE) == canonical(TREE.replace(size=8))
    assert Spec.from_dict(canonical(TREE).to_dict()) == canonical(TREE)
    assert (
        model_library.data_name(TREE) == "mnist"
        and model_library.data_name(Spec()) == "xai-tris XOR CORR SNR 0.05 64x64"
    )


def test_a_model_for_other_data_is_refused_with_those_that_fit():
    with pytest.raises(InputError, match="PLNN and LMT"):
        explain(TREE.replace(model="MLP"))
    with pytest.raises(InputError, match="LLR and MLP and CNN"):
        explain(Spec(model="LMT"))
    assert [usual_model(name) for name in DATASETS] == ["MLP", "PLNN", "PLNN"]
    assert models_for("mnist") == ("PLNN", "LMT")
    with pytest.raises(InputError, match="mnist"):
        usual_model("minst")


def test_scores_without_a_ground_truth_are_undefined_and_say_why():
    found = score(explain(TREE))
    assert all(np.isnan(value) for value in found.values.values())
    assert set(found.reasons) == set(found.values) and "nobody knows" in found.reasons["emd"]


# The tree -------------------------------------------------------------------------------------------


def by_hand(module, image):
    """The leaf of one image, node by node."""
    node = 0
    while module.pixel[node] >= 0:
        larger = image.ravel()[int(module.pixel[node])] > float(module.threshold[node])
        node = int(module.right[node] if larger else module.left[node])
    return int(module.left[node])


def test_a_tree_is_the_linear_model_of_the_leaf_an_image_falls_into():
    module, x = pipeline.model(TREE).double, mnist().test.x[:40].astype(np.float64)
    leaves = module.regions(torch.from_numpy(x)).numpy()
    assert leaves.tolist() == [by_hand(module, image) for image in x] and len(set(leaves)) > 3
    expected = np.stack(
        [module.weight[leaf].numpy() @ image.ravel() + module.bias[leaf].numpy() for leaf, image in zip(leaves, x)]
    )
    assert np.allclose(module(torch.from_numpy(x)).numpy(), expected, atol=1e-12)
    weights = white_box.decision_weights(module, x, 3)[0].reshape(40, -1)
    rows = module.weight.numpy()[leaves]
    assert np.allclose(weights, (10 * rows[:, 3] - rows.sum(1)) / 9, atol=1e-12)
    switches = white_box.activation_patterns(module, x)
    assert ((switches[:, None] == switches[None]).all(2) == (leaves[:, None] == leaves[None])).all()


def test_a_tree_learns_what_one_linear_model_cannot(monkeypatch):
    """Which way a pixel counts depends on another one, which a third class gives away."""
    rng = np.random.default_rng(0)
    x = np.zeros((2000, 28, 28), np.float32)
    x[:, [0, 9, 20], [0, 9, 20]] = rng.uniform(0, 1, (2000, 3))
    gate, other = x[:, 0, 0] > 0.5, x[:, 20, 20] > 0.3
    y = np.where(~gate & other, 2, (x[:, 9, 9] > 0.5) == gate).astype(np.int64)
    part = type(mnist().train)(x, y, np.broadcast_to(False, x.shape))
    data = type(mnist())({}, part, part, part, np.zeros((28, 28), bool), "union")
    monkeypatch.setattr(tree, "LEAVES", 4)
    told = []
    model = models.train("LMT", data, progress=lambda *what: told.append(what))
    assert model.accuracy > 0.9 and told[-1][2].startswith("test accuracy")
    again = tree.LogisticModelTree(28)
    again.load_state_dict(model.module.state_dict())
    assert torch.equal(again(torch.from_numpy(x[:50])), model.module(torch.from_numpy(x[:50])))


# Regions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", [TREE, NETWORK], ids=["tree", "network"])
def test_openapi_finds_the_weights_of_models_with_ten_classes(spec):
    from core import regions

    for image in range(5):
        d = regions.decision(canonical(spec).replace(image=image))
        assert d.features.exact and d.error < 1e-8, d.features.reason
        assert d.features.pairs.shape == (9, 784)


def test_images_of_one_leaf_have_one_answer_and_networks_have_no_such_images():
    from core import NotApplicable, regions

    other = regions.comparison_point(canonical(TREE), regions.COMPARISON_POINTS[2])
    found = {
        a.method: a
        for a in regions.agreements(canonical(TREE), regions.COMPARISON_POINTS[2], ("openapi", "gradient_x_input"))
    }
    assert other.same and other.number is not None and other.number != TREE.image
    assert cosine(found["openapi"].at_image, found["openapi"].at_point) == pytest.approx(1, abs=1e-9)
    assert found["gradient_x_input"].cosine < 0.99
    with pytest.raises(NotApplicable, match="1,000 test images"):
        regions.comparison_point(canonical(NETWORK), regions.COMPARISON_POINTS[2])
