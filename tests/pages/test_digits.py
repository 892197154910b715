"""Compare and Figure studio on data of which nobody knows which pixels matter."""

import json

from core import Spec, explain
from core.__main__ import main

DIGITS = {"dataset": "mnist", "size": 64, "snr": 0.05}


def test_digits_are_compared_without_scores_and_with_their_names(app):
    app.link(dataset="fashion-mnist", methods="gradient,openapi", size=64, snr=0.05)
    assert not app.exception and not app.error and not app.warning
    assert list(app.panels) == ["gradient", "openapi"]
    text = app.text
    assert "Label boot, predicted boot" in text and "EMD" not in text and "has no ground truth" in text
    assert app.query_params["model"] == "PLNN" and "scenario" not in app.query_params
    assert app.selectbox(key="images").options[-3] == "class 9, boot"
    app.selectbox(key="images").select("class 3").run()
    assert "Label dress" in app.text


def test_a_change_of_data_brings_a_model_that_fits_and_back(app):
    app.link(images="class 1", methods="gradient")
    app.selectbox(key="dataset").select("mnist").run()
    assert not app.exception and app.session_state.model == "PLNN" and app.session_state.images == "class 1"
    app.selectbox(key="images").select("class 7").run()
    app.selectbox(key="dataset").select("xai-tris").run()
    assert not app.exception and app.session_state.model == "MLP" and app.session_state.images == "all images"
    assert app.session_state.snr == 0.15 and "EMD" in app.panels["gradient"]["text"]


def test_a_link_with_a_model_for_other_data_says_so(app):
    app.link(dataset="mnist", model="CNN", methods="gradient")
    assert not app.exception and "PLNN and LMT" in app.warning[0].value and app.session_state.model == "PLNN"


def test_the_shared_command_and_python_mean_the_same_digits(app, python, capsys):
    app.link(**DIGITS, image=3, methods="gradient")
    _, command, code = (c.value for c in app.open("share").main.code[:3])
    assert "--scenario" not in command and "scenario" not in code
    assert main([*command.removeprefix("python -m core ").split(), "--json"]) == 0
    spec = Spec.from_dict(json.loads(capsys.readouterr().out)["spec"])
    assert spec.replace(image=3) == explain(Spec(dataset="mnist", model="PLNN", method="gradient", image=3)).spec
    assert "gradient" in python("-c", code).stdout


def test_a_pinned_digit_stands_beside_another_one(app):
    pin = "dataset=mnist&model=PLNN&method=gradient&image=4"
    app.link(**DIGITS, image=3, methods="gradient", closer="pin and compare", pin=pin)
    assert not app.exception and not app.warning
    assert "mnist, PLNN, image 4" in app.text


def test_there_is_no_snr_to_go_through(app):
    app.link(**DIGITS, methods="gradient", closer="through SNR")
    assert not app.exception and "no SNR to vary" in app.info[0].value


def test_every_kind_of_figure_is_drawn_with_digits_chosen(app):
    for kind in ("maps", "examples", "toy", "regions"):
        app.link(**DIGITS, figure=kind, columns="image;truth;gradient", file="png", methods="gradient")
        app.switch_page("pages/figure.py").run()
        assert not app.exception and not app.error, kind
        assert any("MNIST" in code.value for code in app.main.code) == (kind in ("maps", "regions"))
