"""Suppressors and Methods without a browser: every step and card, links, core's numbers, extreme sliders."""

import base64
import html
import json
import re

import numpy as np
import pytest

from core import cache, lessons
from pages.components.shared.fields import FAMILIES

CHARTS = {
    "idea": (1, 1),
    "two variables": (1, 2),
    "weight to pattern": (1, 2),
    "XOR": (1, 0),
    "bandwidth": (0, 1),
    "images": (0, 0),
}  # before and after the answer
CLOUDS = {"XOR": (0, 4), "bandwidth": (1, 0)}


@pytest.fixture
def lesson(app):
    """``lesson(**choices)`` opens Suppressors by a link."""

    def open_page(**chosen):
        app.query_params.update({name: str(value) for name, value in chosen.items()})
        app.switch_page("pages/suppressors.py")
        return app.run()

    return open_page


@pytest.fixture
def cards(app):
    """``cards(family)`` opens Methods at a family."""

    def open_page(family):
        app.query_params["family"] = family
        app.switch_page("pages/methods.py")
        return app.run()

    return open_page


def words(app):
    """All that the page says, without tags and stars."""
    texts = [element.value.replace("**", "") for element in app.main if element.type in ("html", "markdown", "info")]
    return html.unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", " ".join(texts), flags=re.DOTALL))


@pytest.mark.parametrize("present", [False, True])
@pytest.mark.parametrize("reveal", [False, True])
@pytest.mark.parametrize("step", lessons.LESSON_STEPS)
def test_every_step_asks_first_and_then_shows_its_charts(lesson, step, reveal, present):
    app = lesson(step=step, reveal=reveal, present=present)
    assert not app.exception and not app.error and not app.warning
    assert len(app.get("plotly_chart")) == CHARTS[step][reveal]
    clouds = re.findall("<figure class='al-cloud'.*?alt='([^']*)'", app.text)
    assert len(clouds) == CLOUDS.get(step, (0, 0))[reveal] and all(len(alt) > 20 for alt in clouds)
    assert app.button_group(key="guess") and (present or app.toggle(key="reveal").value == reveal)
    assert all(len(chart.proto.alt) > 20 for chart in app.get("plotly_chart"))


def test_titles_and_numbers_are_core_s(lesson):
    text = words(lesson(step="XOR", reveal=True, sigma_d=1.5, bandwidth=2.0))
    found = lessons.xor(1.5, 0.5, 2.0)
    for method, mean in found.mean.items():
        assert f"mean |x₃| {mean:.3f}" in text, method
    assert f"{found.closed:.3f}" in text


@pytest.mark.parametrize("guess, said", [(2, "Right: both"), (0, "Not quite: both")])
def test_the_guess_is_judged_when_the_answer_is_out(lesson, guess, said):
    assert said in words(lesson(step="two variables", reveal=True, guess=guess))


def test_the_next_step_begins_with_its_question(lesson):
    app = lesson(step="two variables", guess=2, sigma_d=2.0, present=True)
    forward = next(b for b in app.button if b.label == "Next")
    forward.click().run()
    kept = {"sigma_d": "2.0", "present": "True"}
    assert app.query_params == {"step": "two variables", "guess": "2", "reveal": "True"} | kept
    forward.click().run()
    assert app.query_params == {"step": "weight to pattern"} | kept
    assert app.slider(key="sigma_d").value == 2.0


@pytest.mark.parametrize(
    "name, text",
    [
        ("tau", "3"),
        ("sigma_d", "-1"),
        ("bandwidth", "x"),
        ("step", "five"),
        ("guess", "9"),
        ("lesson_image", "500"),
        ("correlation", "nan"),
        ("reveal", "yes"),
    ],
)
def test_nonsense_in_a_link_is_told_and_the_page_works(lesson, name, text):
    app = lesson(**{name: text})
    assert not app.exception and len(app.warning) == 1 and text in app.warning[0].value


@pytest.mark.parametrize(
    "chosen, told",
    [
        ({"step": "two variables", "sigma_d": 0.0}, "x2 is always 0"),
        ({"step": "weight to pattern", "sigma_d": 0.0}, "nothing to suppress"),
        ({"step": "XOR", "sigma_d": 0.0}, "x3 is always 0"),
        ({"step": "XOR", "tau": 0.001}, "almost a step"),
        ({"step": "XOR", "bandwidth": 0.01}, "mostly noise"),
        ({"step": "bandwidth", "sigma_d": 0.0}, "never varies"),
        ({"step": "bandwidth", "bandwidth": 0.01}, "barely two points"),
        ({"step": "XOR", "bandwidth": "inf"}, "PatternLocal"),
    ],
)
def test_extreme_sliders_show_what_happens_in_words(lesson, chosen, told):
    app = lesson(reveal=True, **chosen)
    assert not app.exception and told in words(app)


def test_compare_opens_with_the_step_s_settings(lesson):
    app = lesson(step="images", reveal=True, lesson_image=7)
    next(b for b in app.button if b.label == "Open in Compare").click().run()
    assert app.title[0].value == "Compare explanations"
    assert app.query_params["image"] == "7" and app.query_params["methods"].split(",") == list(
        lessons.comparison("images", lessons.check(lesson_image=7))[1]
    )


def test_the_threshold_curve_is_core_s(lesson):
    app = lesson(step="images", reveal=True, pictured="curve", correlation=0.5)
    figure = json.loads(app.get("plotly_chart")[0].proto.spec)
    corr = lessons.images(1, 0.5)[-1]
    drawn = figure["data"][0]["y"]
    drawn = np.frombuffer(base64.b64decode(drawn["bdata"]), drawn["dtype"])
    np.testing.assert_allclose(drawn, corr.curve["gradient"])


# ---- cards


@pytest.mark.parametrize("family", FAMILIES)
def test_every_entry_of_a_family_has_its_card(cards, family):
    app = cards(family)
    assert not app.exception and not app.error and not app.warning
    text = words(app)
    if family == "glossary":
        assert all(name in text and meaning in text for name, meaning in lessons.GLOSSARY.items())
        return
    for entry in lessons.entries(family):
        meanings = [option.help for option in entry.options]
        for part in (entry.label, entry.summary, entry.formula, entry.misleads, entry.reference, *meanings):
            assert part in text, (entry.name, part)


def test_pictures_on_cards_have_text_alternatives_and_nothing_is_run_from_a_name(cards, register):
    from core import METHODS

    register(METHODS, "sly", lambda context: context.image, label="<script>alert(1)</script>", summary="'\"<b>.")
    cache.clear_all()
    body = next(e.value for e in cards("methods").get("html") if "al-cards" in e.value)
    assert "<script>" not in body and body.count("<img") == body.count("alt='") == len(METHODS)
    cache.clear_all()
