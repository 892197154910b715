import json

import numpy as np
import pytest
from matplotlib.image import imread

from core.__main__ import main
from core.bench import Curve, beside, growth
from core.metrics import emd


@pytest.fixture
def small(monkeypatch):
    """The curves' tasks, as small as they can be."""
    for name, value in {"EDGES": (4, 8), "MASKED": (2, 4), "TRAINING": (50, 100), "INPUTS": (8,), "SWEPT": (1, 2)}.items():
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
    monkeypatch.setattr("core.bench.curves", lambda tell: [Curve("EMD", "pixels", n, (64, 4096), (1e-3, s))
                                                           for n, s in (("rough", 0.3), ("smooth", 0.2))])
    assert main(["bench", "--only", "growth", "--json", "--plot", str(tmp_path / "growth.png")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["beside"] == [] and [c["name"] for c in found["growth"]] == ["rough", "smooth"]
    picture = imread(tmp_path / "growth.png")
    assert picture.ndim == 3 and picture[..., :3].std() > 0
    assert main(["bench", "--only", "beside", "--plot", "x.png"]) == 1


def test_a_ratio_is_theirs_over_ours_and_unknown_without_them():
    assert beside.Row("a", 0.5, 2.0, "").ratio == 4 and beside.Row("a", 0.5, None, "").ratio is None


def test_the_curves_maps_are_rough_and_smooth():
    roughness = {name: np.abs(np.diff(make(32))).mean() / np.abs(make(32)).mean() for name, make in growth._maps().items()}
    assert roughness["rough map"] > 3 * roughness["smooth map"]
    assert 0 < emd(growth._maps()["smooth map"](16), growth._square(16, 4)) < 1
