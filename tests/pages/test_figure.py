"""The Figure studio, links, saved views, pins and the way through SNR, without a browser."""

from __future__ import annotations

import base64
import io
import json
import random
import re
import struct
import threading
import zlib
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import pytest

from core import METHODS, METRICS, Spec, explain, model_library, pipeline, score, studio
from core.figures.style import PALETTES, SCALES
from core.types import SPEC_CHOICES
from pages.components.compare import downloads
from pages.components.shared import choices, fields, saved_views
from pages.components.shared.result_panels import Result

PLAIN = Spec(size=8, snr=0.15)
STUDIO = "pages/figure.py"


@pytest.fixture
def open_studio(app):
    """``open_studio(**choices)``: the Figure studio at an address."""
    app.run()
    app.switch_page(STUDIO)
    return app.link


def picture(app) -> bytes:
    """The file in the preview."""
    page = next(h.value for h in app.main.get("html") if "al-sheet" in h.value)
    return base64.b64decode(re.search(r"base64,([^']+)'", page)[1])


def settings_in(png: bytes) -> dict:
    """What a PNG's metadata say of its figure."""
    place = 8
    while png[place + 4 : place + 8] != b"IEND":
        length, kind = struct.unpack(">I4s", png[place : place + 8])
        body = png[place + 8 : place + 8 + length]
        if kind == b"tEXt" and body.startswith(b"Description\0"):
            return json.loads(body.partition(b"\0")[2])["figure"]
        if kind == b"iTXt" and body.startswith(b"Description\0"):
            return json.loads(body.split(b"\0", 5)[-1])["figure"]
        if kind == b"zTXt" and body.startswith(b"Description\0"):
            return json.loads(zlib.decompress(body.partition(b"\0")[2][1:]))["figure"]
        place += 12 + length
    raise AssertionError("no settings in the file")


# ---- the studio


def test_the_studio_opens_with_the_comparison_as_a_figure(open_studio):
    app = open_studio()
    assert not app.exception and not app.error and not app.warning
    assert app.title[0].value == "Figure studio"
    shown = studio.restore(settings_in(picture(app)))[0]
    assert shown.rows == (PLAIN.replace(method="patternlocal"),)
    assert [name for name, _ in shown.columns] == ["image", "truth", *pipeline.DEFAULT_METHODS]
    assert any("XAI-TRIS XOR CORR, SNR 0.15, 8 × 8" in c.value for c in app.code)
    assert len(app.main.get("download_button")) == 6


@pytest.mark.parametrize("kind", studio.FIGURES)
def test_every_kind_of_figure_is_drawn(open_studio, kind):
    small = {
        "toy": {"toy.samples": 60},
        "regions": {"regions.points": 11},
        "examples": {"rows": "image=0,scenario=LIN,snr=0.3;image=0,scenario=LIN,background=WHITE,snr=0.3"},
    }
    app = open_studio(figure=kind, **small.get(kind, {}))
    assert not app.exception and not app.error and not app.warning
    assert settings_in(picture(app))["kind"] == kind


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_preview_is_the_exported_file_itself(open_studio, ending):
    app = open_studio(file=ending, rows="image=2", columns="image;lime:samples=50", width="column", dpi=120)
    figure = studio.FigureSpec(
        rows=(PLAIN.replace(image=2),),
        columns=(("image", ()), studio.column("lime", {"samples": 50})),
        layout=studio.layout({"width": "column", "dpi": "120"}),
    )
    assert picture(app) == studio.draw(figure, ending)


def test_rows_can_be_added_by_buttons(open_studio):
    app = open_studio(columns="image;gradient")
    app.press("Add an image")
    assert app.query_params["rows"] == "image=0;image=1"
    app.press("Add an image")
    assert app.query_params["rows"].endswith(";image=2")
    app.press("Every scenario")
    assert not app.exception and not app.error
    rows = studio.restore(settings_in(picture(app)))[0].rows
    assert {(r.scenario, r.background) for r in rows} >= {("LIN", "CORR"), ("XOR", "WHITE"), ("RIGID", "CORR")}


def test_what_cannot_be_drawn_is_one_sentence_and_the_page_works_on(open_studio):
    app = open_studio(rows="image=0,snr=0.123")
    assert not app.exception and len(app.error) == 1 and "No trained MLP" in app.error[0].value
    app.multiselect(key="rows").set_value([]).run()
    assert not app.error and picture(app)
    app.text_input(key="title").set_value("日").run()
    assert not app.exception and "日" in app.error[0].value
    app.text_input(key="title").set_value("A title").run()
    assert settings_in(picture(app))["title"] == "A title"
    app.text_input(key="row_titles").set_value("a | b").run()
    assert not app.exception and "1 rows need 1 titles, not 2" in app.error[0].value


def test_a_map_too_weak_to_be_seen_at_the_shared_scale_is_named(open_studio):
    said = "Nearly blank at the shared scale: PatternLocal"
    for scale in SCALES:
        app = open_studio(columns="gradient;patternlocal", scale=scale)
        assert any(said in h.value for h in app.main.get("html")) == (scale == "shared")


def sidecar(**changes) -> tuple[studio.FigureSpec, dict]:
    figure = studio.FigureSpec(
        rows=(PLAIN.replace(image=4, seed=3, output="probability"), PLAIN.replace(image=1, snr=0.35, model="CNN")),
        columns=(
            ("image", ()),
            studio.column("lime", {"samples": 50}),
            studio.column("patternlocal", {"surrogate": "lime"}),
            studio.column("lime"),
        ),
        below=("precision", "largest"),
        title="Back again",
        layout=studio.layout(
            {
                "width": "column",
                "points": "6",
                "scale": "shared",
                "palette": "cividis",
                "outline": "False",
                "dpi": "150",
            }
        ),
        row_titles=("x", "y"),
    )
    return figure, {**json.loads(studio.sidecar(figure)), **changes}


def bring_back(app, content: bytes):
    field = next(f for f in app.file_uploader if f.key == "sidecar")
    return field.set_value(("side.json", content, "application/json")).run()


def test_a_sidecar_brings_the_whole_figure_back(open_studio):
    figure, content = sidecar()
    app = bring_back(open_studio(file="png"), json.dumps(content).encode())
    assert not app.exception and not app.error and not app.warning
    assert picture(app) == studio.draw(figure, "png")
    assert any("Figure restored" in s.value for s in app.success)
    address = dict(app.query_params)
    app.query_params.clear()
    app.query_params.update(address)
    assert studio.restore(settings_in(picture(app.run())))[0] == figure, "and the link holds it"


@pytest.mark.parametrize("kind", ["toy", "regions"])
def test_a_sidecar_of_another_kind_comes_back(open_studio, kind):
    figure = studio.preset(kind, PLAIN.replace(image=2)).replace(
        settings=(("samples", 70),) if kind == "toy" else (("points", 12),)
    )
    app = bring_back(open_studio(file="png"), studio.sidecar(figure).encode())
    assert not app.exception and not app.error
    assert picture(app) == studio.draw(figure, "png")


@pytest.mark.parametrize("content, said", [(b"{", "not JSON"), (b"[]", "figure"), (b"\x89PNG", "not JSON")])
def test_what_is_no_sidecar_is_told_and_nothing_is_lost(open_studio, content, said):
    app = open_studio(rows="image=2")
    before = picture(app)
    bring_back(app, content)
    assert not app.exception and len(app.error) == 1 and said in app.error[0].value
    assert picture(app) == before


def test_a_sidecar_that_does_not_fit_here_says_why_and_restores_the_rest(open_studio):
    _, content = sidecar(version="99")
    content["figure"]["columns"].append(["grdient", {}])
    content["sha256"]["data"] = dict.fromkeys(content["sha256"]["data"], "0" * 64)
    app = bring_back(open_studio(file="png"), json.dumps(content).encode())
    told = " ".join(w.value for w in app.warning)
    assert not app.exception and "99" in told and "gradient" in told and "data set" in told
    assert settings_in(picture(app))["title"] == "Back again"


# ---- eight readers at once


def _ending(turn: int) -> str:
    return {0: "png", 19: "pdf"}.get(turn, "svg")


def test_eight_readers_exporting_at_once_get_their_own_files():
    found: dict[tuple[int, int], bytes] = {}

    def export(reader: int) -> None:
        for turn in range(20):
            spec = PLAIN.replace(method="gradient", image=8 * turn + reader)
            found[reader, turn] = downloads.picture([Result("gradient", explain(spec))], "panel", True, _ending(turn))

    threads = [threading.Thread(target=export, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == len(set(found.values())) == 160
    for (reader, turn), data in found.items():
        assert f'"image": {8 * turn + reader},'.encode() in data.replace(b"&quot;", b'"')
    for reader, turn in ((0, 0), (7, 19)):
        figure = downloads.figure(
            [Result("gradient", explain(PLAIN.replace(method="gradient", image=8 * turn + reader)))], "panel", True
        )
        anew = studio.draw.__wrapped__(figure, _ending(turn), progress=None)
        assert anew == found[reader, turn]


# ---- links


def random_state(rng: random.Random) -> dict[str, str]:
    """A valid address with many choices, none at its default."""
    records = [r for r in model_library.model_records() if r.available and r.spec.size == 8]
    record = rng.choice(records)
    state = {n: str(getattr(record.spec, n)) for n in ("scenario", "background", "snr", "size", "model")}
    if rng.random() < 0.2:
        state = {"dataset": "mnist", "model": rng.choice(["PLNN", "LMT"])}
    wanted = {
        "image": str(rng.randrange(1, 1000)),
        "seed": str(rng.randrange(1, 2**31)),
        "methods": ",".join(rng.sample(["gradient", "sobel", "input", "random"], 2)),
        **{n: rng.choice(SPEC_CHOICES[n]) for n in ("truth", "output", "target")},
        "scale": rng.choice(list(SCALES)),
        "outline": "False",
        "sort": rng.choice(fields.sorts()),
        "row": str(rng.randrange(8)),
        "column": str(rng.randrange(8)),
        "table": "True",
        "closer": rng.choice(fields.DETAILS[::4]),
        "palette": rng.choice(list(PALETTES)),
        "points": "8.5",
        "width": rng.choice(["column", "slide"]),
        "dpi": "600",
        "file": rng.choice(["png", "svg"]),
        "title": "A | title, 50 %",
        "columns": "image;lime:samples=70;gradient",
        "rows": f"image={rng.randrange(9)};image=3,scenario=LIN,snr=0.3",
        "below": rng.choice(["emd", "largest,ime", "precision"]),
        "figure": rng.choice(["examples", "toy", "regions"]),
        "lime.n_samples": str(rng.randrange(10, 999)),
        "toy.tau": "0.5",
        "pin": "method=gradient&image=4&size=8&snr=0.15",
        "views": "one?page=figure&size=8|two?seed=5",
        "zoom": "3",
        "region_view": fields.REGION_VIEWS[2],
    }
    state |= {name: wanted[name] for name in rng.sample(sorted(wanted), 12)}
    plain = {name: default for name, (default, _) in fields.readers(state.get("dataset", "xai-tris")).items()}
    return {n: v for n, v in state.items() if n not in plain or v != str(plain[n])}


def test_fifty_random_states_come_back_exactly(app):
    rng = random.Random(0)
    for _ in range(50):
        state = random_state(rng)
        app.query_params.clear()
        app.query_params.update(state)
        app.run()
        assert not app.exception and not app.error and not app.warning, state
        assert app.query_params == state


def test_fifty_mangled_states_give_a_notice_and_a_working_page(app):
    rng = random.Random(1)
    for turn in range(50):
        state = (
            {"size": "8", "snr": "0.15", "methods": "gradient"}
            | random_state(rng)
            | {
                "dataset": "xai-tris",
                "size": "8",
                "snr": "0.15",
                "scenario": "XOR",
                "background": "CORR",
                "model": "MLP",
            }
        )
        name = rng.choice([n for n in state if n != "title"])
        mangled = rng.choice(
            [
                "",
                "../../etc/passwd",
                "__import__('os')",
                "9" * 400,
                "\x00",
                "nan",
                "-1",
                "日本" * 50,
                "%s%n",
                "<script>alert(1)</script>",
                "[" * 5000,
                "image=",
                ";;;=,,,",
                "a?b?c|d",
            ]
        )
        state[name] = mangled
        if turn % 3 == 0:
            state[f"unknown{turn}"] = mangled
        app.query_params.clear()
        app.query_params.update(state)
        app.run()
        assert not app.exception, (name, mangled)
        harmless = mangled == "" and name in ("methods", "rows", "columns", "below", "row_titles", "column_titles")
        assert app.warning or harmless or app.query_params.get(name) == mangled, (name, mangled)
        assert app.panels or app.info or app.error


@pytest.mark.parametrize(
    "name, text",
    [
        ("rows", "path=/etc/passwd"),
        ("rows", "image=3,samples=1000000000"),
        ("rows", ";".join(["image=1"] * 500)),
        ("columns", "__class__"),
        ("columns", "lime:samples=1e99"),
        ("below", "emd,foo"),
        ("width", "poster"),
        ("points", "1e9"),
        ("dpi", "100000"),
        ("palette", "jet"),
        ("file", "exe"),
        ("title", "日"),
        ("figure", "poster"),
        ("toy.tau", "inf"),
        ("toy.foo", "1"),
        ("pin", "method=rm"),
        ("pin", "image=99999999999999999999"),
        ("views", "no address"),
    ],
)
def test_nonsense_about_a_figure_is_told_and_the_studio_works(open_studio, name, text):
    app = open_studio(**{name: text})
    assert not app.exception and len(app.warning) + len(app.error) >= 1
    assert app.error or picture(app)


# ---- saved views


def test_views_are_saved_opened_and_deleted(app):
    app.link(methods="gradient", image=3)
    app.text_input(key="view_name").set_value("Third image")
    app.press("Save this view")
    assert app.query_params["views"].startswith("Third image?page=compare&")
    app.number("image").set_value(5).run()
    app.press("Third image")
    assert not app.exception and app.number("image").value == 3
    assert app.query_params["image"] == "3" and "Third image?" in app.query_params["views"], "the list is kept"
    app.press("Delete Third image")
    assert "views" not in app.query_params


def test_views_go_into_a_file_and_come_back():
    texts = ["a?page=figure&size=8", "b (2)?image=3"]
    assert saved_views.loaded(saved_views.dumped(texts).encode()) == texts


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"[]",
        b"{}",
        b'{"views": 3}',
        b'{"views": {"<b>": "x"}}',
        b'{"views": {"x": 5}}',
        b"[" * 100_000,
        json.dumps({"views": {f"v{i}": "x" for i in range(99)}}).encode(),
        b" " * 1_000_000,
    ],
    ids=range(9),
)
def test_a_file_without_views_is_refused_in_one_sentence(data):
    with pytest.raises(choices.InputError) as error:
        saved_views.loaded(data)
    assert str(error.value).count(". ") == 0


# ---- pin and compare, through SNR


def test_a_pinned_result_stays_while_everything_else_changes(app):
    app.link(methods="gradient,lime", closer="pin and compare")
    next(s for s in app.selectbox if s.label == "Result").set_value("lime").run()
    app.press("Pin as A")
    assert "A and B are the same" in "".join(h.value for h in app.get("html"))
    app.number("image").set_value(6).run()
    app.number("seed").set_value(2).run()
    assert not app.exception
    a, b = (explain(PLAIN.replace(method="lime", **more)) for more in ({}, {"image": 6, "seed": 2}))
    table = app.dataframe[-1].value.set_index("Score")
    for name, metric in METRICS.items():
        one, other = score(a)[name], score(b)[name]
        np.testing.assert_allclose(
            table.loc[metric.label, ["A", "B", "B − A"]].astype(float), [one, other, other - one]
        )
        better = "the same" if one == other else "B" if (other < one) == metric.lower_is_better else "A"
        assert table.loc[metric.label, ""].startswith(better)
    said = "".join(h.value for h in app.get("html"))
    assert "image 0 → 6" in said and "seed 0 → 2" in said
    address = dict(app.query_params)
    app.query_params.clear()
    app.query_params.update(address)
    app.run()
    assert app.query_params == address and len(app.dataframe) == 1
    app.press("Unpin")
    assert "pin" not in app.query_params and not app.dataframe


def test_through_snr_shows_every_trained_snr(app):
    app.link(methods="gradient,patternlocal", closer="through SNR", image=2)
    assert not app.exception
    table = app.dataframe[-1].value
    ready = sorted({r.spec.snr for r in model_library.known_models(PLAIN) if r.spec.model == "MLP" and r.available})
    assert list(dict.fromkeys(table["SNR"])) == [f"{v:g}" for v in ready]
    for _, row in table.iterrows():
        name = next(n for n, m in METHODS.items() if m.label == row["Method"])
        expected = score(explain(PLAIN.replace(method=name, snr=float(row["SNR"]), image=2)))
        assert row["EMD"] == expected["emd"] and row["IME"] == expected["ime"]
    app.toggle(key="morph_playing").set_value(True).run()
    seen = {app.select_slider(key="morph_snr").value for _ in range(5) if app.run()}
    assert seen == set(ready)


# ---- sharing


def test_the_shared_command_and_python_give_the_numbers_on_screen(app, python, capsys):
    from core.__main__ import main

    app.link(methods="lime", image=3, **{"lime.n_samples": 50})
    link, command, code = (c.value for c in app.open("share").main.code[:3])
    assert link.endswith(
        "?" + urlencode({"snr": 0.15, "size": 8, "image": 3, "methods": "lime", "lime.n_samples": 50})
    )
    expected = score(explain(PLAIN.replace(method="lime", image=3, options={"samples": 50})))
    assert main([*command.removeprefix("python -m core ").split(), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["images"] == [{"image": 3, **expected.values}]
    run = python("-c", code)
    assert str(expected["emd"]) in run.stdout and str(expected["ime"]) in run.stdout, run.stderr


def test_the_studio_s_python_draws_the_same_file(open_studio, python, tmp_path):
    app = open_studio(file="png", columns="image;gradient", outline=False)
    code = next(c.value for c in app.open("share").code if "studio.restore" in c.value)
    root = str(Path(choices.__file__).parents[3])
    run = python("-c", f"import os, sys\nos.chdir({str(tmp_path)!r})\nsys.path.insert(0, {root!r})\n{code}")
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "figure.png").read_bytes() == picture(app)


def test_downloads_of_compare_hold_the_same_figure_and_scores():
    results = [Result(m, explain(PLAIN.replace(method=m, image=2))) for m in ("gradient", "lime")]
    figure = downloads.figure(results, "raw", False)
    assert figure.layout.scale == "raw" and not figure.layout.outline
    assert downloads.picture(results, "raw", False, "pdf") == studio.draw(figure, "pdf")
    for ending, read in (("csv", pd.read_csv), ("parquet", pd.read_parquet)):
        frame = read(io.BytesIO(downloads.table(results, ending)))
        assert list(frame["emd"]) == [score(r.attribution)["emd"] for r in results]
    assert b"python -m core score" in downloads.report(results, "panel", True)
