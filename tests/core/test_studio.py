"""The figure studio: presets, sidecars that rebuild a figure byte for byte, and files that are none."""

import hashlib
import io
import json
import re
import zipfile

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread

from core import METHODS, InputError, NotApplicable, explain, pipeline, score, studio
from core.__main__ import main
from core.datasets import toy as toy_data
from core.figures.paper import Layout
from core.lessons.xor import lime
from core.studio import toy


@pytest.fixture
def figure(spec):
    return studio.preset("maps", spec).replace(rows=(spec, spec.replace(image=3)))


# ---- from and to JSON


@pytest.mark.parametrize("kind", studio.FIGURES)
def test_every_kind_comes_back_from_json(kind, spec):
    layout = Layout("slide", 12, "raw", "greys", False, 600)
    figure = studio.preset(kind, spec).replace(layout=layout, title="a", below=())
    assert studio.restore(json.loads(json.dumps(figure.to_dict()))) == (figure, [])


FAULTS = [
    ("kind", "poster", "poster"),
    ("rows", [{"scenario": "FOO"}], "FOO"),
    ("rows", [{"image": -1}], "-1"),
    ("rows", [{"snr": [1]}], "snr"),
    ("rows", [[1]], "object"),
    ("rows", 5, "form"),
    ("rows", [{"colour": 1}], "colour"),
    ("rows", [{"samples": 10**6}], "samples"),
    ("rows", [{}] * 99, "24"),
    ("columns", [["grdient", {}]], "gradient"),
    ("columns", [["lime", {"n_samples": 1}]], "samples"),
    ("columns", [5], "form"),
    ("settings", {"tau": 1}, "tau"),
    ("layout", {"points": 99}, "99"),
    ("layout", {"width": {}}, "width"),
    ("below", ["foo"], "foo"),
    ("title", "日", "日"),
    ("title", 3, "title"),
    ("row_titles", [3], "row_titles"),
    ("extra", 1, "extra"),
]


@pytest.mark.parametrize("name, value, said", FAULTS)
def test_a_fault_in_a_sidecar_is_told_and_the_rest_restored(figure, name, value, said):
    good = figure.replace(title="kept", layout=Layout("column")).to_dict()
    found, notices = studio.restore({**good, name: value})
    assert len(notices) >= 1 and any(said in n for n in notices)
    assert all(n.count(". ") <= 2 for n in notices)
    kept = found.to_dict()
    assert all(kept[n] == good[n] for n in good if n != name)


def test_of_several_parts_the_good_ones_are_kept(figure):
    content = figure.to_dict()
    content["rows"][0]["scenario"] = "FOO"
    content["rows"][0]["image"] = 7
    content["columns"].append(["nothing", {}])
    content["layout"] = {"width": "column", "points": 99}
    found, notices = studio.restore(content)
    assert len(notices) == 3
    assert found.rows[0].image == 7 and found.rows[1] == figure.rows[1]
    assert found.columns == figure.columns and found.layout == Layout("column")


def test_a_sidecar_from_before_an_option_was_renamed_is_restored_with_one_notice(figure):
    old = {**figure.to_dict(), "columns": [["lime", {"samples": 60, "reference": "mean"}]]}
    restored, notices = studio.restore(old)
    assert restored.columns == (studio.column("lime", {"n_samples": 60, "baseline": "mean"}),)
    assert notices == [
        "The option samples of LIME is now called n_samples.",
        "The option reference of LIME is now called baseline.",
    ]


@pytest.mark.parametrize(
    "data, said",
    [
        (b"%PDF-1.4", "not JSON"),
        (b"[" * 10**5, "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[1]", "no “figure”"),
        (b"{}", "no “figure”"),
        (b'{"figure": 3}', "object"),
        (b" " * 200_000_000, "at most 1 MB"),
    ],
    ids=["pdf", "deep", "bytes", "list", "empty", "number", "large"],
)
def test_what_is_no_sidecar_is_refused_in_one_sentence(data, said):
    with pytest.raises(InputError, match=re.escape(said)) as error:
        studio.read(data)
    assert str(error.value).count(". ") == 0


def test_sidecars_of_another_version_model_or_data_are_told(figure):
    content = json.loads(studio.sidecar(figure))
    assert studio.read(json.dumps(content)).notices == ()
    assert studio.differences(studio.read(json.dumps(content))) == []
    found = studio.read(json.dumps({**content, "version": "99"}))
    assert found.figure == figure and len(found.notices) == 1 and "99" in found.notices[0]
    for kind, word in (("models", "model"), ("data", "data set")):
        changed = json.loads(json.dumps(content))
        name = next(iter(changed["sha256"][kind]))
        changed["sha256"][kind][name] = "0" * 64
        told = studio.differences(studio.read(json.dumps(changed)))
        assert len(told) == 1 and word in told[0] and name in told[0]
    missing = json.loads(json.dumps(content))
    missing["figure"]["rows"][1]["snr"] = 0.123
    found = studio.read(json.dumps(missing))
    assert found.figure.rows[1].snr == 0.123
    assert len(found.notices) == 1 and "python -m core train" in found.notices[0] and "0.123" in found.notices[0]


# ---- the figures


def test_maps_show_the_numbers_of_explain_and_score(figure, spec):
    content = studio.content(figure)
    assert len(content.panels) == 2 and list(content.columns)[:3] == ["Image", "Ground truth", "Gradient"]
    assert list(content.rows) == ["image 0", "image 3"]
    for i, row in enumerate(figure.rows):
        for cell, (name, options) in zip(content.panels[i][2:], figure.columns[2:]):
            found = explain(row.replace(method=name, options=options))
            np.testing.assert_array_equal(cell.values, found.values)
            expected = score(found)
            assert cell.lines == [("EMD", expected["emd"]), ("IME", expected["ime"])]
    assert {"XOR", "CORR", "0.15", "MLP", "100.0%"} <= set(re.findall(r"[\w.%]+", content.caption))
    assert "images 0, 3" in content.caption


def test_a_method_that_does_not_apply_has_an_empty_cell_and_a_reason(figure, register):
    def picky(context):
        raise NotApplicable("Not for this image.")

    register(METHODS, "picky", picky)
    content = studio.content(figure.replace(columns=(studio.column("picky"), studio.column("gradient"))))
    assert content.panels[0][0].values is None and content.panels[0][0].note == "does not apply"
    assert content.panels[0][1].values is not None and content.table[0]["reason"] == "Not for this image."


def test_data_without_a_known_truth_say_so(figure, monkeypatch):
    monkeypatch.setattr("core.types.Dataset.mask", lambda *_: np.zeros((8, 8), bool))
    content = studio.FIGURES["maps"].function(figure, None)
    truth, first = content.panels[0][1:3]
    assert truth.values is None and truth.note == "not known"
    assert first.mask is None and not first.lines, "nothing can be scored"
    assert "outline" not in content.caption and "Below" not in content.caption


def test_examples_show_a_row_a_scenario_and_both_classes(spec):
    rows = tuple(spec.replace(scenario=s, background=b, snr=0.3) for s in ("LIN", "RIGID") for b in ("WHITE", "CORR"))
    content = studio.content(studio.FigureSpec("examples", rows))
    assert list(content.rows) == ["LIN", "RIGID"] and [g for g, _ in content.groups] == ["WHITE", "CORR"]
    for i, scenario in enumerate(("LIN", "RIGID")):
        for j, background in enumerate(("WHITE", "CORR")):
            data = pipeline.dataset(spec.replace(scenario=scenario, background=background, snr=0.3))
            for label in (0, 1):
                here = int(np.flatnonzero(data.test.y == label)[0])
                image, mask = content.panels[i][4 * j + 2 * label :][:2]
                np.testing.assert_array_equal(image.values, data.test.x[here])
                np.testing.assert_array_equal(mask.values, data.mask("test", here))


def test_toy_shares_agree_with_closed_forms():
    found = toy.importance_of_the_suppressor(800, 1.0, 0.1, 2.0, 0)
    x = found.x
    w = toy_data.xor_direction(x)
    np.testing.assert_allclose(found.shares["Gradient"], np.abs(w[:, 2]) / np.abs(w).sum(1))
    # Shapley values of a game of three, from its definition over all orders.
    point = x[5]
    orders = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    phi = np.zeros(3)
    for order in orders:
        on = np.zeros(3)
        for j in order:
            before = toy_data.xor_output((point * on)[None], 0.1)[0]
            on[j] = 1
            phi[j] += (toy_data.xor_output((point * on)[None], 0.1)[0] - before) / 6
    assert np.isclose(found.shares["KernelSHAP"][5], abs(phi[2]) / np.abs(phi).sum())
    # The lesson's LIME, which its own tests hold against the registered method.
    assert np.array_equal(found.shares["LIME"], toy_data.shares(lime(x, 0.1, 0)))
    exact = toy_data.xor_pattern(x, 1.0, 2.0)
    assert abs(found.shares["PatternLocal"].mean() - toy_data.third_share(exact)) < 0.04
    assert found.shares["PatternLocal"].mean() < 0.5 * found.shares["Gradient"].mean()


def test_regions_show_planes_from_near_to_far(spec):
    content = studio.content(studio.FigureSpec("regions", (spec,), settings=(("points", 11),)))
    planes = content.panels[0][2:]
    assert [p.cosine.shape for p in planes] == [(11, 11)] * 3
    assert planes[0].at[-1] < planes[1].at[-1] < planes[2].at[-1]
    assert content.table[0]["regions"] == 1, "inside OpenAPI's radius there is one region"
    assert studio.draw(studio.FigureSpec("regions", (spec,), settings=(("points", 11),)), "pdf")


def test_too_many_panels_are_refused_before_they_are_computed(figure):
    many = figure.replace(
        rows=tuple(figure.rows[0].replace(image=i) for i in range(24)),
        columns=tuple(studio.column("lime", {"n_samples": 10 + i}) for i in range(24)),
    )
    with pytest.raises(InputError, match="400 panels"):
        studio.content(many)


# ---- files


@pytest.mark.parametrize("ending", ["pdf", "svg", "png"])
def test_a_sidecar_rebuilds_the_same_bytes_on_the_command_line(figure, ending, tmp_path, python):
    data = studio.draw(figure, ending)
    (tmp_path / "side.json").write_text(studio.sidecar(figure, endings=(ending,)))
    run = python(
        "-m", "core", "figure", str(tmp_path / "side.json"), "--to", str(tmp_path / f"again.{ending}"), "--json"
    )
    assert run.returncode == 0, run.stderr
    assert (tmp_path / f"again.{ending}").read_bytes() == data
    told = json.loads(run.stdout)
    assert told["sha256"] == hashlib.sha256(data).hexdigest() and told["notices"] == []


def test_the_command_line_draws_what_the_flags_say(tmp_path, capsys):
    flags = [
        "--size",
        "8",
        "--snr",
        "0.15",
        "--images",
        "2:4",
        "--columns",
        "image,gradient",
        "--option",
        "lime.n_samples=50",
        "--layout",
        "width=column",
        "--layout",
        "outline=False",
        "--below",
        "largest",
        "--title",
        "T",
    ]
    assert main(["figure", "--to", str(tmp_path / "a.pdf"), *flags]) == 1
    assert "lime" in capsys.readouterr().err
    flags[flags.index("image,gradient")] = "image;lime;lime:"
    assert main(["figure", "--to", str(tmp_path / "a.pdf"), *flags]) == 0
    found = studio.read_file(tmp_path / "a.json")
    assert [r.image for r in found.figure.rows] == [2, 3] and found.figure.title == "T"
    assert found.figure.columns == (
        studio.column("image"),
        studio.column("lime", {"n_samples": 50}),
        studio.column("lime"),
    )
    assert found.figure.layout == Layout("column", outline=False) and found.figure.below == ("largest",)
    assert (
        hashlib.sha256((tmp_path / "a.pdf").read_bytes()).hexdigest()
        == json.loads((tmp_path / "a.json").read_text())["sha256"]["files"]["pdf"]
    )


@pytest.mark.parametrize(
    "content, said",
    [("{", "not JSON"), (None, "could not be read"), (" " * 2_000_000, "at most 1 MB")],
    ids=["text", "none", "large"],
)
def test_the_command_line_refuses_what_is_no_sidecar(tmp_path, capsys, content, said):
    if content is not None:
        (tmp_path / "side.json").write_text(content)
    assert main(["figure", str(tmp_path / "side.json"), "--to", str(tmp_path / "x.pdf")]) == 1
    assert said in capsys.readouterr().err and not (tmp_path / "x.pdf").exists()


def test_arrays_and_tables_hold_what_the_figure_shows(figure, spec):
    arrays = np.load(io.BytesIO(studio.arrays(figure)), allow_pickle=False)
    found = explain(spec.replace(method="gradient", image=3))
    np.testing.assert_array_equal(arrays["row1_gradient"], found.values)
    np.testing.assert_array_equal(arrays["row1_image"], found.image)
    np.testing.assert_array_equal(arrays["row1_mask"], found.mask)
    assert studio.restore(json.loads(str(arrays["figure"])))[0] == figure
    for ending, read in (("csv", pd.read_csv), ("parquet", pd.read_parquet)):
        frame = read(io.BytesIO(studio.table(figure, ending)))
        row = frame[(frame.method == "gradient") & (frame.image == 3)].iloc[0]
        assert row.emd == score(found)["emd"] and row.ime == score(found)["ime"]
    with zipfile.ZipFile(io.BytesIO(studio.archive(figure, "svg", "f"))) as file:
        assert sorted(file.namelist()) == ["f.csv", "f.json", "f.npz", "f.parquet", "f.svg", "f.txt"]
        assert file.read("f.svg") == studio.draw(figure, "svg")
    assert studio.archive(figure, "svg", "f") == studio.archive(figure, "svg", "f")


def test_the_file_itself_holds_its_figure(figure):
    settings = json.dumps(
        {"program": "attribution-lab", "version": "0.1.0", "figure": figure.to_dict()}, sort_keys=True
    )
    png = studio.draw(figure, "png")
    assert imread(io.BytesIO(png)).shape[1] == 2025 and settings.encode() in png
    assert settings.replace("(", "\\(").replace(")", "\\)").encode() in studio.draw(figure, "pdf")
    assert (
        settings.replace('"', "&quot;")[:40] in studio.draw(figure, "svg").decode()
        or settings[:40] in studio.draw(figure, "svg").decode()
    )


def test_a_report_needs_nothing_from_elsewhere(figure):
    html = studio.report(figure, ("python -m core score", "import core")).decode()
    body = re.sub(r"<script type='module'>.*?</script>", "", html, count=1, flags=re.DOTALL)
    assert not re.findall(r"(?:src|href)\s*=", body)
    assert "<script" not in body and "http" not in body and len(html) < 200_000
    assert body.count("data-map=") >= 2 * len(figure.columns)
    assert "python -m core score" in body and "PatternLocal" in body and "test accuracy 100.0%" in body
    assert studio.report(figure, ("a", "b")) == studio.report(figure, ("a", "b"))


# ---- texts in links


@pytest.mark.parametrize(
    "text", ["3", "image=3", "image=0,scenario=LIN,snr=0.3", "image=1,model=CNN,seed=4,truth=shown"]
)
def test_a_row_s_text_means_the_row(text, spec):
    found = studio.read_row(text, spec)
    assert studio.read_row(studio.row_text(found, spec), spec) == found


@pytest.mark.parametrize("text", ["patternlocal:surrogate=lime,count=500", "lime:", "truth", "gradient"])
def test_a_column_s_text_means_the_column(text):
    name, options = studio.read_column(text, {})
    assert studio.read_column(studio.column_text(name, dict(options)), {"lime": {"n_samples": 50}}) == (name, options)


@pytest.mark.parametrize(
    "text",
    [
        "image",
        "image=x",
        "path=/etc/passwd",
        "method=lime",
        "scenario=foo",
        "snr=nan",
        "samples=100000000",
        "image=1,image",
    ],
)
def test_a_mangled_row_is_an_input_error(text, spec):
    with pytest.raises(InputError):
        studio.read_row(text, spec)


def test_drawing_touches_no_global_state_of_matplotlib(python):
    run = python(
        "-c",
        "import sys, matplotlib; from core import studio; "
        "from core.figures.paper.files import SETTINGS; "
        "state = lambda: [str(matplotlib.rcParams[name]) for name in SETTINGS]; before = state(); "
        "studio.draw(studio.preset('toy').replace(settings=(('samples', 50),)), 'pdf'); "
        "print('matplotlib.pyplot' in sys.modules, state() == before)",
    )
    assert run.stdout.strip() == "False True", run.stderr
