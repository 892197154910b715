"""Compare without a browser: the page works for every method and link, and shows core's numbers."""

from __future__ import annotations

import json
import math
import threading
from pathlib import Path

import numpy as np
import pytest
from streamlit.runtime.pages_manager import PagesManager

from core import METHODS, METRICS, MODELS, Spec, explain, model_library, pipeline, score
from core.figures.heatmap import percents
from core.figures.style import LIGHT, coloured
from core.pipeline import DEFAULT_METHODS
from pages.components.shared.aliases import ALIASES

MANIFEST = json.loads((Path(__file__).parents[2] / "assets" / "manifest.json").read_text())["models"]
PLAIN = Spec(size=8, snr=0.15)


def drawn(method, values, limit=None):
    """The pixels (h,w,3) of a map on a light page, with ``limit`` (the largest value) in full colour."""
    limit = np.abs(values).max() if limit is None else limit
    signed = METHODS[method].signed
    return coloured(values, -limit if signed else 0, limit, LIGHT.signed if signed else LIGHT.magnitude)


def small_models() -> list[dict]:
    """One shipped 8x8 model of each kind, and one of each scenario."""
    found: dict[tuple, dict] = {}
    for record in MANIFEST:
        if record["size"] == 8 and record["file"]:
            found.setdefault(("kind", record["model"]), record)
            found.setdefault(("scenario", record["scenario"]), record)
    return list({record["file"]: record for record in found.values()}.values())


# ---- what everyone sees first


def test_page_opens_with_default_choices_and_maps(app):
    app.run()
    assert not app.exception and not app.warning
    assert app.title[0].value == "Compare explanations"
    assert app.multiselect(key="methods").value == list(DEFAULT_METHODS)
    assert list(app.panels) == list(DEFAULT_METHODS)
    assert app.button_group(key="size").value == 64
    assert app.query_params == {}, "defaults need no address"


def test_page_opened_first_on_a_new_server_is_inside_the_frame(app, monkeypatch):
    """Streamlit's older page discovery must not run a page without app.py's frame."""
    monkeypatch.setattr(PagesManager, "uses_pages_directory", None)
    app.switch_page("pages/compare.py").link()
    assert not app.exception and app.panels
    assert any("<style>" in h.value for h in app.get("html")), "the frame's style"


# ---- every method, every kind of model


@pytest.mark.parametrize("method", METHODS)
def test_every_method_shows_its_map_and_scores(app, method):
    app.link(methods=method, image=2).complete()
    assert not app.exception and not app.warning and not app.error
    attribution = explain(PLAIN.replace(method=method, image=2))
    panel = app.panels[method]
    np.testing.assert_array_equal(panel["picture"], drawn(method, attribution.values))
    np.testing.assert_array_equal(panel["percents"], percents(attribution.values))
    for name, value in score(attribution).values.items():
        assert app.score(method, METRICS[name].label).startswith(f"{value:.3f}")


@pytest.mark.parametrize("record", small_models(), ids=lambda r: f"{r['scenario']}-{r['background']}-{r['model']}")
def test_every_kind_of_model_and_scenario_works_with_all_methods(app, record):
    app.link(**{n: record[n] for n in ("scenario", "background", "snr", "model")}, methods=",".join(METHODS))
    assert not app.exception and not app.warning and not app.error
    does_not_apply = [c.value for c in app.main.caption if c.value.startswith("Does not apply")]
    assert len(app.panels) + len(does_not_apply) == len(METHODS)
    assert len(app.panels) > len(METHODS) / 2


@pytest.mark.parametrize("fault", [lambda: np.full((8, 8), np.nan), lambda: 1 / 0], ids=["NaN", "exception"])
def test_a_method_with_a_fault_says_so_and_the_others_stay(app, register, fault):
    register(METHODS, "faulty", lambda context: fault(), label="Faulty")
    app.link(methods="gradient,faulty,lime")
    assert not app.exception and not app.error and list(app.panels) == ["gradient", "lime"]
    assert [c.value for c in app.main.caption if "Faulty failed: " in c.value]


def test_methods_with_equal_maps_stand_side_by_side(app):
    """Equal charts collide in Streamlit unless each has its own key (reports.md, 17)."""
    app.link(methods="input,random,gradient,saliency,lime")
    assert not app.exception and len(app.panels) == 5


# ---- links


@pytest.mark.parametrize(
    "name, text, told",
    [
        ("methods", "grdient", "gradient"),
        ("image", "99999", "99999"),
        ("image", "-1", "-1"),
        ("image", "three", "three"),
        ("snr", "2", "2"),
        ("snr", "nan", "nan"),
        ("size", "16", "16"),
        ("model", "foo", "foo"),
        ("scenario", "xor", "xor"),
        ("dataset", "imagenet", "imagenet"),
        ("seed", "-5", "-5"),
        ("images", "blue", "blue"),
        ("scale", "log", "log"),
        ("colour", "red", "colour"),
        ("lime.n_samples", "1", "1"),
        ("lime.n_samples", "many", "many"),
        ("lime.sample", "100", "sample"),
        ("lima.samples", "100", "lime"),
        ("patternlocal.share", "inf", "inf"),
        ("row", "x", "x"),
    ],
)
def test_nonsense_in_a_link_is_told_and_the_page_works(app, name, text, told):
    app.link(**{"methods": "gradient", name: text}).complete()
    assert not app.exception and not app.error
    assert len(app.warning) == 1 and told in app.warning[0].value
    assert app.panels or app.main.button, "maps, or the offer to train"
    assert app.query_params.get(name) != text, "the address holds what is on screen"
    app.number("seed").set_value(1).run()
    assert not app.warning, "the notice goes when the reader goes on"


def test_notice_about_a_link_stays_while_scores_arrive(app, monkeypatch):
    arrived, score_now = threading.Event(), pipeline.score

    def score_late(attribution, metrics=()):
        if list(metrics) == ["emd"]:
            arrived.wait(60)
        return score_now(attribution, metrics)

    monkeypatch.setattr(pipeline, "score", score_late)
    monkeypatch.setattr(pipeline, "ready", lambda _, metric: metric != "emd")
    app.link(methods="gradient", image=99999, colour="red")
    assert len(app.warning) == 2 and "…" in app.panels["gradient"]["text"]
    arrived.set()
    app.complete()
    assert len(app.warning) == 2, "the reader has not done anything yet"


def test_every_fault_of_a_link_is_told_and_the_rest_is_kept(app):
    app.link(image=5, model="foo", seed="x", methods="lime")
    assert not app.exception
    assert len(app.warning) == 2
    assert list(app.panels) == ["lime"] and app.number("image").value == 5


def test_pixel_outside_the_image_is_told(app):
    app.link(row=50, column=3)
    assert not app.exception
    assert len(app.warning) == 1 and "50" in app.warning[0].value


def test_a_link_from_before_an_option_was_renamed_opens_with_one_notice(app):
    app.link(methods="lime", **{"lime.samples": 50, "closer": "spread over seeds"})
    assert not app.exception
    assert [w.value for w in app.warning] == [
        "The link is from an earlier version: lime.samples is now called lime.n_samples.",
        "The link is from an earlier version: “spread over seeds” is now called “variation over seeds”.",
    ]
    assert app.query_params["lime.n_samples"] == "50" and app.query_params["closer"] == "variation over seeds"


def test_method_named_twice_in_a_link_is_shown_once(app):
    app.link(methods="lime,gradient,lime")
    assert not app.exception
    assert list(app.panels) == ["lime", "gradient"]


def test_link_restores_every_choice(app):
    choices = {
        "image": "7",
        "images": "class 1",
        "methods": "lime,gradient",
        "output": "probability",
        "target": "true",
        "truth": "shown",
        "seed": "3",
        "scale": "raw",
        "outline": "False",
        "sort": "IME",
        "row": "2",
        "column": "5",
        "table": "True",
        "lime.n_samples": "50",
        "lime.sampling": "data",
    }
    choices["image"] = str(next(i for i in pipeline.choose(PLAIN, label=1) if i > 5))
    app.link(**choices)
    assert not app.exception and not app.warning
    assert app.query_params == {"size": "8", "snr": "0.15"} | choices
    spec = PLAIN.replace(
        image=int(choices["image"]),
        output="probability",
        target="true",
        truth="shown",
        seed=3,
        method="lime",
        options={"n_samples": 50, "sampling": "data"},
    )
    np.testing.assert_array_equal(app.panels["lime"]["picture"], drawn("lime", explain(spec).values))
    assert "50 samples, 64 features" in app.panels["lime"]["text"]
    assert app.open("lime.popover").number_input(key="lime.n_samples=50").value == 50


def test_same_spec_gives_the_same_numbers_as_core(app):
    app.link(image=4, seed=2, table=True).complete()
    table = app.dataframe[0].value.set_index("Method")
    for method in DEFAULT_METHODS:
        expected = score(explain(PLAIN.replace(method=method, image=4, seed=2)))
        for name, metric in METRICS.items():
            assert table.loc[METHODS[method].label, metric.label] == expected[name]


def test_another_seed_changes_random_methods_only(app):
    app.link(methods="lime,gradient")
    before = {name: panel["picture"] for name, panel in app.panels.items()}
    app.number("seed").set_value(1).run()
    assert not np.array_equal(app.panels["lime"]["picture"], before["lime"])
    np.testing.assert_array_equal(app.panels["gradient"]["picture"], before["gradient"])
    assert app.query_params["seed"] == "1"


# ---- the image


def test_next_and_previous_walk_through_the_images_and_wrap_around(app):
    app.link(methods="gradient")
    last = len(pipeline.dataset(PLAIN).test) - 1
    assert app.press("Next").query_params["image"] == "1"
    assert app.number("image").value == 1
    app.press("Previous")
    assert "image" not in app.query_params
    assert app.press("Previous").number("image").value == last
    assert app.press("Next").number("image").value == 0


def test_filter_keeps_images_of_the_chosen_kind(app):
    app.link(methods="gradient")
    labels = pipeline.dataset(PLAIN).test.y
    app.selectbox(key="images").set_value("class 1").run()
    ones = np.flatnonzero(labels == 1)
    assert f"{len(ones)} of {len(labels)} images" in "".join(m.value for m in app.main.markdown)
    seen = [app.number("image").value]
    seen += [app.press("Next").number("image").value for _ in range(3)]
    first = list(ones).index(seen[0])
    assert seen == list(ones[first : first + 4])
    for _ in range(3):
        assert labels[app.press("Random").number("image").value] == 1


def test_filter_without_images_says_so_and_can_be_left(app):
    record = next((r for r in small_models() if r["accuracy"] == 1), None)
    assert record, "needs a shipped 8x8 model that is always right"
    app.link(**{n: record[n] for n in ("scenario", "background", "snr", "model")}, images="wrong")
    assert not app.exception and not app.panels
    assert "wrong" in app.info[0].value
    app.selectbox(key="images").set_value("all images").run()
    assert not app.exception and app.panels


# ---- data and model


def test_model_that_is_not_ready_is_offered_for_training(app):
    app.link(model="LLR")
    assert not app.exception and not app.panels
    assert app.info and "LLR" in app.info[0].value
    app.link(model="MLP", snr=0.123456)
    assert not app.exception and not app.warning and not app.panels
    assert any("Train" in b.label and not b.disabled for b in app.main.button)
    assert app.select_slider(key="snr").value == 0.123456, "an SNR from a link stays"


def test_changing_the_scenario_moves_to_an_snr_with_a_ready_model(app):
    app.link(methods="gradient", snr=0.123456)
    for scenario in ("LIN", "MULT", "RIGID", "XOR"):
        app.button_group(key="scenario").set_value(scenario).run()
        assert not app.exception
        ready = sorted(
            r.spec.snr
            for r in model_library.known_models(PLAIN.replace(scenario=scenario))
            if r.spec.model == "MLP" and r.available
        )
        if ready:
            assert app.select_slider(key="snr").value in ready and app.panels
        else:
            assert app.main.button and not app.panels


def test_snr_values_with_a_ready_model_are_offered(app):
    app.link(methods="gradient")
    offered = {float(text.split()[0]) for text in app.select_slider(key="snr").options}
    assert offered >= {r.spec.snr for r in model_library.known_models(PLAIN) if r.spec.model == "MLP" and r.available}


def test_snr_survives_a_browser_that_is_one_picture_behind(app, monkeypatch):
    """A timer's message may still carry the slider's text of the run before: it must mean the same value."""
    app.link(methods="gradient")
    behind = app.select_slider(key="snr")._widget_state
    monkeypatch.setattr(model_library, "known_models", lambda spec: [])  # another set of ready SNR values
    app.run()
    monkeypatch.setattr(type(app.select_slider(key="snr")), "_widget_state", behind)
    app.run()
    assert app.select_slider(key="snr").value == 0.15


def test_accuracy_of_the_model_is_shown(app):
    app.link(methods="gradient")
    assert any(f"{model_library.model_record(PLAIN).accuracy:.1%}" in c.value for c in app.sidebar.caption)


@pytest.mark.parametrize("model", MODELS)
def test_every_kind_of_model_can_be_chosen(app, model):
    app.link(methods="gradient")
    app.button_group(key="model").set_value(model).run()
    assert not app.exception and not app.error
    assert app.panels or app.info


# ---- methods and view


def test_no_method_shows_a_hint(app):
    app.link(methods="gradient")
    app.multiselect(key="methods").set_value([]).run()
    assert not app.exception
    assert "choose at least one method" in app.info[0].value
    assert app.query_params["methods"] == ""
    app.multiselect(key="methods").set_value(["sobel"]).run()
    assert list(app.panels) == ["sobel"]


def test_methods_stand_in_the_chosen_order_or_best_first(app):
    app.link(methods="random,input,patternlocal").complete()
    assert list(app.panels) == ["random", "input", "patternlocal"]
    app.button_group(key="sort").set_value("IME").run()
    values = [float(app.score(name, "IME").split()[0]) for name in app.panels]
    assert values == sorted(values)
    app.button_group(key="sort").set_value("Precision").run()
    values = [float(app.score(name, "Precision").split()[0]) for name in app.panels]
    assert values == sorted(values, reverse=True)


def test_ranks_follow_the_scores(app):
    app.link(methods="random,input,gradient,patternlocal").complete()
    for metric in METRICS.values():
        shown = [app.score(name, metric.label).split(" · ") for name in app.panels]
        sign = 1 if metric.lower_is_better else -1
        exact = [sign * score(explain(PLAIN.replace(method=m)))[metric.name] for m in app.panels]
        assert [int(rank[:-2]) for _, rank in shown] == [1 + sum(o < e for o in exact) for e in exact]


@pytest.mark.parametrize("scale", ["panel", "shared", "raw"])
def test_colour_scale_is_the_chosen_one(app, scale):
    app.link(methods="gradient,patternlocal", scale=scale)
    raw = {m: explain(PLAIN.replace(method=m)).values for m in ("gradient", "patternlocal")}
    for method, values in raw.items():
        limit = max(np.abs(v).max() for v in raw.values()) if scale == "shared" else None
        np.testing.assert_array_equal(app.panels[method]["picture"], drawn(method, values, limit))
    assert ("Nearly blank" in app.panels["patternlocal"]["text"]) == (scale == "shared")


def test_outline_can_be_switched_off(app):
    app.link(methods="gradient")
    assert len(app.panels["gradient"]["lines"]) == 1
    app.toggle(key="outline").set_value(False).run()
    assert not app.panels["gradient"]["lines"]
    assert app.query_params["outline"] == "False"


def test_pixel_inspection_lists_each_map_s_value(app):
    app.link(methods="gradient,lime")
    app.number("row").set_value(6)
    app.number("column").set_value(5).run()
    table = app.dataframe[0].value.set_index("Method")
    for method in ("gradient", "lime"):
        values = explain(PLAIN.replace(method=method)).values
        row = table.loc[METHODS[method].label]
        assert row["Value"] == values[6, 5]
        assert math.isclose(row.iloc[1], 1000 * abs(values[6, 5]) / np.abs(values).sum())
    assert len(app.panels["gradient"]["lines"]) == 2, "the pixel is marked in the panels"
    app.number("row").set_value(None).run()
    assert not app.dataframe and len(app.panels["gradient"]["lines"]) == 1


def test_table_of_scores_can_be_switched_on_and_off(app):
    app.link(methods="gradient,laplace")
    assert not app.dataframe
    app.toggle(key="table").set_value(True).run()
    app.complete()
    assert list(app.dataframe[0].value["Method"]) == ["Gradient", "Laplace"]
    assert app.dataframe[0].value["EMD"].notna().all()
    app.toggle(key="table").set_value(False).run()
    assert not app.dataframe


# ---- options of a method


def test_options_count_after_apply_and_go_back_to_defaults(app):
    app.link(methods="lime").open("lime.popover")
    before = app.panels["lime"]["picture"]
    app.number_input(key="lime.n_samples=1000").set_value(50)
    app.press("Apply")
    assert app.query_params["lime.n_samples"] == "50"
    np.testing.assert_array_equal(
        app.panels["lime"]["percents"],
        percents(explain(PLAIN.replace(method="lime", options={"n_samples": 50})).values),
    )
    app.press("Defaults")
    assert "lime.n_samples" not in app.query_params
    np.testing.assert_array_equal(app.panels["lime"]["picture"], before)
    assert app.number_input(key="lime.n_samples=1000").value == 1000


@pytest.mark.parametrize("method", [m for m, entry in METHODS.items() if entry.options])
def test_option_forms_start_at_the_defaults_and_applying_them_changes_nothing(app, method):
    app.link(methods=method).open(f"{method}.popover")
    address, before = app.query_params, app.panels[method]["picture"]
    app.press("Apply")
    assert not app.exception
    assert app.query_params == address
    np.testing.assert_array_equal(app.panels[method]["picture"], before)


def test_downloads_are_offered_only_with_maps(app):
    app.link(methods="gradient")
    assert len(app.get("download_button")) >= 4
    app.multiselect(key="methods").set_value([]).run()
    assert not app.get("download_button")


@pytest.mark.parametrize("name, old", ALIASES)
def test_old_values_of_links_open_with_one_notice(app, name, old):
    page = {"region_view": "regions", "closer": "compare"}[name]
    app.link(methods="gradient,patternlocal", **{name: old})
    if page != "compare":
        app.switch_page(f"pages/{page}.py").run()
    assert not app.exception and not app.error
    assert len(app.warning) == 1 and ALIASES[name, old] in app.warning[0].value
    assert app.query_params[name] == ALIASES[name, old]
