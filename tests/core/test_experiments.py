"""The experiments of the OpenAPI paper as one command; curves of growing tasks and their figure."""

import csv
import json

import numpy as np
import pytest
from matplotlib.image import imread

from core import InputError, Spec, regions
from core.__main__ import main
from core.experiments import growth, openapi, speed
from core.experiments.growth import Curve
from core.metrics import emd
from core.registry import canonical

TREE = canonical(Spec(dataset="mnist", model="LMT", method="gradient"))


@pytest.fixture
def small(monkeypatch):
    """The curves' tasks, as small as they can be."""
    for name, value in {
        "EDGES": (4, 8),
        "MASKED": (2, 4),
        "TRAINING": (50, 100),
        "INPUTS": (8,),
        "SWEPT": (1, 2),
    }.items():
        monkeypatch.setattr(growth, name, value)


def test_curves_hold_a_time_for_every_size_and_say_what_was_measured(small, monkeypatch):
    monkeypatch.setattr(growth, "_sweep", lambda tell: [])
    monkeypatch.setattr(growth, "_pattern", lambda tell: [])
    told = []
    found = list(growth.curves(told.append))
    assert len({(c.panel, c.name) for c in found}) == len(found) == 6
    assert all(len(c.x) == len(c.y) and min(c.y) > 0 for c in found)
    assert len(told) == sum(len(c.x) for c in found)


def test_a_curve_is_the_median_of_three_calls_and_of_one_where_it_is_slow(monkeypatch):
    times = iter([0.5, 0.1, 0.3, 2.0])
    monkeypatch.setattr(growth, "_seconds", lambda call: next(times))
    found = growth._curve("panel", "unit", "name", (1, 2), [None, None], lambda text: None)
    assert found == Curve("panel", "unit", "name", (1, 2), (0.3, 2.0))


def test_the_command_writes_json_and_a_plot(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(
        "core.experiments.growth.curves",
        lambda tell: [Curve("EMD", "pixels", n, (64, 4096), (1e-3, s)) for n, s in (("rough", 0.3), ("smooth", 0.2))],
    )
    assert main(["bench", "--only", "growth", "--json", "--plot", str(tmp_path / "growth.png")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["beside"] == [] and [c["name"] for c in found["growth"]] == ["rough", "smooth"]
    picture = imread(tmp_path / "growth.png")
    assert picture.ndim == 3 and picture[..., :3].std() > 0
    assert main(["bench", "--only", "beside", "--plot", "x.png"]) == 1


def test_a_ratio_is_theirs_over_ours_and_unknown_without_them():
    assert speed.Row("a", 0.5, 2.0, "").ratio == 4 and speed.Row("a", 0.5, None, "").ratio is None


def test_the_curves_maps_are_rough_and_smooth():
    roughness = {
        name: np.abs(np.diff(make(32))).mean() / np.abs(make(32)).mean() for name, make in growth._maps().items()
    }
    assert roughness["rough map"] > 3 * roughness["smooth map"]
    assert 0 < emd(growth._maps()["smooth map"](16), growth._square(16, 4)) < 1


def test_one_image_is_measured_completely():
    found = openapi.measure(TREE.replace(image=1))
    rows = found["exactness"]
    assert [r["method"] for r in rows].count("OpenAPI") == 1 and len(rows) == 1 + 4 * len(regions.DISTANCES)
    exact = rows[0]
    assert exact["relative_l1"] < 1e-9 and exact["rd"] == 0 and exact["wd"] == 0
    assert all(r["relative_l1"] > exact["relative_l1"] - 1e-9 for r in rows)
    assert any(r["relative_l1"] > 0.1 and r["rd"] == 1 and r["wd"] > 0 for r in rows), "h = 0.01 leaves the leaf"
    for partner in found["same_region"]:
        assert partner["rd"] == 0 and partner["wd"] == 0 and partner["cs"] == pytest.approx(1, abs=1e-9)


def test_the_experiments_are_one_command(tmp_path, capsys):
    assert main(["reproduce", "openapi", "--images", "1", "--workers", "1", "--to", str(tmp_path), "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["images"] == 1 and {r["model"] for r in content["accuracy"]} == {"PLNN", "LMT"}
    assert json.loads((tmp_path / "openapi.json").read_text()) == content
    with (tmp_path / "exactness.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 4 * (1 + 4 * len(regions.DISTANCES))
    with (tmp_path / "ablation.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 4 * len(openapi.EXPLAINERS) * 201
    for number in range(2, 8):
        figures = list(tmp_path.glob(f"figure-{number}-*.p*"))
        assert {f.read_bytes()[:4] for f in figures} == {b"%PDF", b"\x89PNG"}


def test_more_images_than_there_are_is_refused():
    with pytest.raises(InputError, match="between 1 and 1000"):
        openapi.openapi(1001)
