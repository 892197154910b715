"""The examples of docs/architecture.md: what is registered in one place reaches everything that follows from it."""

import contextlib
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core import DATASETS, METHODS, METRICS, MODELS, InputError, Spec, explain, keys, model_library, pipeline, score
from core import registry as registries
from core.__main__ import main
from core.datasets import xai_tris
from core.models import training
from core.registry import Option, canonical, spec_of
from core.studio import FIGURES, FigureSpec, draw, preset, read, sidecar
from tests.core.test_methods import variants

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "architecture.md").read_text()
EXAMPLES = dict(re.findall(r"### A[n]? (.*?), in .*?```python\n(.*?)```", TEXT, re.DOTALL))
BARS = Spec(dataset="bars", model="Stripe", data_options={"contrast": 0.8}, method="gradient_energy")


@pytest.fixture(scope="module", autouse=True)
def registered():
    """All examples of the page, for the length of this file."""
    with contextlib.ExitStack() as stack:
        for registry in (METHODS, METRICS, DATASETS, MODELS, FIGURES):
            stack.enter_context(registry.temporary())
        for name in ("method", "metric", "data set", "model", "kind of figure"):
            exec(compile(EXAMPLES[name], f"<{name} of docs/architecture.md>", "exec"), {})
        yield


@pytest.fixture(scope="module")
def trained(registered):
    """The example's model on the example's data."""
    before, training.EPOCHS = training.EPOCHS, 5
    try:
        return model_library.train(BARS)
    finally:
        training.EPOCHS = before


def printed(capsys, *arguments):
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def test_no_example_is_longer_than_it_says():
    assert len(EXAMPLES) >= 5
    method = EXAMPLES["method"].split("\n\n\n")[1]
    assert len(method.strip().splitlines()) <= 12


def test_a_method_reaches_form_link_key_card_command_line_and_family_tests(trained, capsys):
    entry, spec = METHODS["gradient_energy"], canonical(BARS)
    assert [o.name for o in entry.options] == ["power"] and dict(spec.options) == {"power": 2.0}
    assert ("gradient_energy", {"power": 4.0}) in [parameter.values for parameter in variants()]
    listed = {m["name"]: m for m in json.loads(printed(capsys, "list", "--json"))["methods"]}
    assert listed["gradient_energy"]["options"]["power"] == {
        "default": 2.0,
        "help": "Exponent of the gradient.",
        "choices": [],
        "low": 1.0,
        "high": 4.0,
    }
    a, b = (explain(BARS.replace(options={"power": power})) for power in (2.0, 3.0))
    assert np.allclose(a.values**1.5, b.values) and not a.signed
    network, data = pipeline.model(spec), pipeline.dataset(spec)
    assert keys.result_key(a.spec, network.digest, data) != keys.result_key(b.spec, network.digest, data)


def test_a_data_sets_own_option_reaches_key_file_command_line_caption_and_sidecar(trained, capsys):
    assert trained.spec.data_options == (("contrast", 0.8),) and trained.spec.size == 32
    assert "--contrast 0.8" in trained.command
    assert model_library.data_name(BARS) == "bars contrast 0.8 32x32"
    flags = ["--dataset", "bars", "--model", "Stripe", "--contrast", "0.8", "--method", "gradient_energy"]
    content = json.loads(printed(capsys, "score", *flags, "--images", "0:2", "--json"))
    assert content["spec"]["data_options"] == {"contrast": 0.8} and content["spec"]["size"] == 32
    assert content["contrast_ratio"]["n"] == 2
    found = explain(BARS)
    assert content["images"][0]["ime"] == score(found)["ime"]
    assert explain(BARS.replace(data_options={"contrast": 0.8})).spec == found.spec

    figure = preset("maps", BARS)
    assert "Bars, contrast 0.8, 32 × 32" in json.loads(sidecar(figure))["caption"]
    again = read(sidecar(figure))
    assert not again.notices and again.figure == figure and again.figure.rows[0].data_options == (("contrast", 0.8),)


def test_another_contrast_is_other_data_and_another_model(trained):
    other = BARS.replace(data_options={"contrast": 0.4})
    assert not np.array_equal(pipeline.dataset(other).test.x, pipeline.dataset(BARS).test.x)
    assert not model_library.has_model(other) and model_library.has_model(BARS)
    assert canonical(other).model_key() != canonical(BARS).model_key()


@pytest.mark.parametrize("size", [32, 128])
def test_a_data_set_is_read_with_its_own_sizes(size):
    assert pipeline.dataset(BARS.replace(size=size)).test.x.shape[1:] == (size, size)


def test_what_a_data_set_does_not_have_is_refused_with_what_it_has():
    with pytest.raises(InputError, match="size must be one of 32, 128"):
        canonical(BARS.replace(size=64))
    with pytest.raises(InputError, match="no option 'colour'.*contrast, size"):
        canonical(BARS.replace(data_options={"colour": 1}))
    with pytest.raises(InputError, match="no option 'contrast'"):
        canonical(Spec(data_options={"contrast": 0.5}))
    assert spec_of({"dataset": "bars", "contrast": "0.3", "model": "Stripe"}).data_options == (("contrast", "0.3"),)


@pytest.mark.parametrize("name", ["image", "method", "model", "truth", "dataset"])
def test_an_option_with_the_name_of_another_field_is_refused_at_registration(name):
    with pytest.raises(InputError, match=f"option '{name}' of the data set 'clash'.*field '{name}'"):
        DATASETS.register(
            "clash", label="", summary="", reference="", options=(Option(name, "", choices=("a",), default="a"),)
        )(lambda **_: None)
    assert "clash" not in DATASETS


def test_a_kind_of_figure_is_drawn_and_restored(trained):
    figure = FigureSpec(kind="mean", rows=(BARS,))
    assert draw(figure, "png").startswith(b"\x89PNG")
    assert read(sidecar(figure)).figure == figure
    assert preset("mean", Spec()).rows == (
        canonical(Spec(method="input")).replace(method="patternlocal", options=()),
    )


def test_a_spec_is_made_canonical_once_on_its_way_through_explain(monkeypatch, spec):
    made, check = [], registries.DatasetEntry.fields
    monkeypatch.setattr(registries.DatasetEntry, "fields", lambda self, spec: made.append(spec) or check(self, spec))
    explain(spec)
    made.clear()
    found = explain(spec)
    assert len(made) == 1
    assert canonical(found.spec) is found.spec and len(made) == 1


def test_a_new_file_in_a_familys_folder_is_found(tmp_path):
    (tmp_path / "energy.py").write_text(EXAMPLES["method"])
    code = (
        "import sys, core, core.methods\nfrom core.registry import discover\n"
        f"core.methods.__path__.append({str(tmp_path)!r})\ndiscover(core.methods)\n"
        "print('gradient_energy' in core.METHODS)"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.stdout.strip() == "True", run.stderr


def test_xai_tris_is_still_a_function_of_its_options():
    assert xai_tris("LIN", "WHITE", 0.5, size=8, samples=40).train.x.shape == (32, 8, 8)


def test_a_page_offers_data_model_and_image_and_shows_what_it_computes():
    app = AppTest.from_string(EXAMPLES["page"], default_timeout=60)
    app.query_params.update({"size": "8", "snr": "0.15", "image": "2"})
    app.run()
    assert not app.exception and app.title[0].value == "Brightness"
    expected = pipeline.images(Spec(size=8, snr=0.15)).x[2].mean()
    assert app.metric[0].value == f"{expected:.3f}"


def test_an_option_of_a_data_set_reaches_form_and_link(trained):
    app = AppTest.from_string(EXAMPLES["page"], default_timeout=60)
    app.query_params.update({"dataset": "bars", "model": "Stripe", "contrast": "0.8"})
    app.run()
    assert not app.exception and not [w.value for w in app.warning if "link" in w.value]
    assert app.sidebar.slider(key="contrast").value == 0.8
    assert app.sidebar.segmented_control(key="size").options == ["32 × 32", "128 × 128"]
    assert app.query_params == {"dataset": "bars", "model": "Stripe", "contrast": "0.8"}
    assert app.metric[0].value == f"{pipeline.images(BARS).x[0].mean():.3f}"
    app.sidebar.slider(key="contrast").set_value(0.4).run()
    assert app.query_params["contrast"] == "0.4"
    assert any("Train this model" in button.label for button in app.button)
    bad = AppTest.from_string(EXAMPLES["page"], default_timeout=60)
    bad.query_params.update({"dataset": "bars", "model": "Stripe", "contrast": "0.8", "size": "64"})
    bad.run()
    assert "size must be one of 32, 128" in bad.warning[0].value and bad.metric
