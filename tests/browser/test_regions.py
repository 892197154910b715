"""The Regions page as a person uses it."""

import pytest
from playwright.sync_api import expect

from core import Spec
from core import regions as core_regions

SMALL = "?size=8&snr=0.15"  # the shipped 8x8 model

DRAWN = """count => document.querySelectorAll('.js-plotly-plot, .al-map').length === count + 1  // and the empty one
    && [...document.querySelectorAll('.js-plotly-plot')].every(plot => plot.calcdata)
    && [...document.querySelectorAll('.al-map')].every(map => map.querySelector('img')?.naturalWidth)
    && document.querySelector('[data-test-script-state=notRunning]')
    && !document.querySelector('[data-stale=true]')"""


@pytest.fixture
def regions(window, server):
    """Opens the Regions page in a new window, with all its charts."""

    def open_page(link=SMALL, charts=4, **options):
        screen = window(server, "regions" + link, **options)
        screen.page.wait_for_function(DRAWN, arg=charts)
        return screen

    return open_page


def test_from_the_exact_answer_to_its_pattern_by_clicks(regions):
    screen = regions()
    assert "the answer is called exact" in screen.page.inner_text("[data-testid=stMain]")
    screen.choose("region_view", "Same region")
    screen.page.get_by_text("Cosine 1.000000").first.wait_for()
    screen.wait_for_query(region_view="same region")
    screen.choose("partner", "The nearest test image")
    screen.page.get_by_text("in another region").wait_for()
    screen.choose("region_view", "Region map")
    screen.page.get_by_text("Half width").wait_for()
    screen.choose("region_view", "Exact can still mislead")
    screen.ready()
    assert set(screen.scores()) == {"openapi", "patternlocal"}
    screen.press("Open both in Compare")
    screen.wait_for_query(methods="openapi,patternlocal", **{"patternlocal.surrogate": "openapi"})
    screen.ready()


def test_a_link_restores_the_view(regions):
    screen = regions(SMALL + "&region_view=map of regions&zoom=9&image=3", charts=1)
    expect(screen.field("image")).to_have_value("3")
    expect(screen.page.locator(".st-key-zoom input")).to_have_value("9")


def test_phone_needs_no_horizontal_scrolling(regions):
    screen = regions(SMALL + "&region_view=map of regions", charts=1, viewport={"width": 400, "height": 800})
    assert (
        screen.page.evaluate("""() => Math.max(document.documentElement.scrollWidth,
        document.querySelector('[data-testid=stMain]').scrollWidth)""")
        <= 400
    )


def test_every_chart_has_a_text_alternative(regions):
    for view, charts in (("decision features", 4), ("along a line", 1), ("other ways", 1)):
        screen = regions(f"{SMALL}&region_view={view}", charts=charts)
        labels = screen.page.evaluate("""() => [
            ...[...document.querySelectorAll('[data-testid=stPlotlyChart]')].filter(chart =>
                !chart.closest('.st-key-fetch-charts')).map(chart =>
                (chart.closest('[aria-label]') ?? chart.querySelector('[aria-label]'))?.getAttribute('aria-label')),
            ...[...document.querySelectorAll('.al-map img')].map(image => image.alt)].map(label => label ?? '')""")
        assert len(labels) == charts and all(len(label) > 10 for label in labels), labels


def numbers(image):
    """What each view says of an image, computed here, where nobody else asks."""
    spec = Spec(size=8, snr=0.15, image=image)
    half = core_regions.half_width(spec, core_regions.decision(spec.replace(method="openapi")).features, 1.0)
    plane = core_regions.region_map(spec, half)
    line = core_regions.line(spec, core_regions.nearest(spec))
    other = core_regions.comparison_point(spec, core_regions.COMPARISON_POINTS[0])
    inside = core_regions.agreements(spec, core_regions.COMPARISON_POINTS[0])
    return {
        "Region map": [
            f"{plane.count:,} regions among {plane.region.size:,} points, lowest cosine {plane.cosine.min():.2f}"
        ],
        "Line scan": [f"{len(line.borders)} of {len(line.t) - 1} steps cross a border"],
        "Same region": [
            f"{other.distance:.3g} away",
            f"lies after {100 * other.border:.2g} %",
            *(f"Cosine {a.cosine:.6f}" for a in inside if a.at_image is not None),
        ],
    }


def test_two_readers_of_one_model_each_see_the_numbers_of_their_own_image(regions):
    images = (4, 5)
    readers = [
        regions(
            f"{SMALL}&zoom=10&region_view=map of regions&image={image}",
            charts=1,
            viewport={"width": 1280, "height": 900 + image},
        )
        for image in images
    ]
    expected = {image: numbers(image) for image in images}
    for shown in (("Line scan", "Same region"), ("Same region", "Region map"), ("Region map",) * 2):
        for reader, view in zip(readers, shown):
            reader.choose("region_view", view)  # nobody waits for the other
        for reader, view, image in zip(readers, shown, images):
            reader.wait_for_texts(expected[image][view])
    for reader in readers:
        reader.enter("image", "6")  # both the same, which nobody has asked about yet
    for reader in readers:
        reader.wait_for_texts(numbers(6)["Region map"])
