import pytest

from pages.components.shared.fields import REGION_VIEWS as VIEWS


@pytest.fixture
def page(app):
    """``page(**choices)`` opens the Regions page by a link."""

    def open_page(**chosen):
        app.link(**chosen)
        app.switch_page("pages/regions.py")
        return app.run()

    return open_page


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_shows_its_charts(page, view):
    app = page(region_view=view)
    assert not app.exception and not app.error
    assert app.title[0].value == "Linear regions"
    maps, charts = dict(zip(VIEWS, ((4, 0), (4, 0), (0, 1), (0, 1), (0, 1), (0, 1), (4, 0)), strict=True))[view]
    drawn = [chart.key for chart in app.get("plotly_chart") if chart.key != "fetch.charts"]
    assert len(app.get("bidi_component")) == maps and len(drawn) == charts


def test_an_exact_answer_is_called_exact(page):
    text = page().text
    assert "the answer is called exact" in text and "queries in" in text


@pytest.mark.parametrize(
    "model, scenario, background, snr", [("LLR", "LIN", "CORR", 0.05), ("CNN", "XOR", "WHITE", 0.6)]
)
def test_every_kind_of_model_has_regions(page, model, scenario, background, snr):
    for view in (VIEWS[0], VIEWS[2]):
        app = page(model=model, scenario=scenario, background=background, snr=snr, region_view=view)
        assert not app.exception and not app.error


def test_a_link_with_nonsense_is_told_and_the_page_works(page):
    app = page(region_view="wonder", zoom=99)
    assert not app.exception and len(app.warning) == 2


def test_a_model_that_was_never_trained_is_offered(page):
    app = page(snr=0.01)
    assert not app.exception and any("Train this model" in b.label for b in app.button)


@pytest.mark.parametrize("view", VIEWS)
def test_digits_have_regions_too(page, view):
    app = page(size=64, snr=0.05, dataset="mnist", model="LMT", region_view=view)
    assert not app.exception and not app.error and not app.warning
    text = app.text
    assert "EMD" not in text


def test_images_of_one_leaf_and_none_in_a_network(page):
    choices = {"dataset": "mnist", "region_view": "same region", "partner": "a test image in the same region"}
    assert len(page(**choices, model="LMT").get("bidi_component")) == 4
    app = page(**choices, model="PLNN")
    assert not app.exception and "No other of the 1,000 test images" in app.info[0].value
