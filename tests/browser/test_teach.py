"""The lesson and the cards as a teacher and a class use them; pictures of every step are kept in tests/.artifacts."""

import pytest
from playwright.sync_api import expect

from core import METHODS, lessons
from pages.components.suppressors.page import NAMES
from tests.browser.conftest import PICTURES

STILL = """document.querySelector('[data-test-script-state=notRunning]')
    && !document.querySelector('[data-stale=true]')
    && [...document.querySelectorAll('.js-plotly-plot')].every(plot => plot.calcdata)"""
WIDE = """() => Math.max(document.documentElement.scrollWidth,
    document.querySelector('[data-testid=stMain]').scrollWidth)"""
HIGH = "document.querySelector('.block-container').getBoundingClientRect().height"
CUT = """() => [...document.querySelectorAll('.stMain button, .stMain img, .stMain p, .stMain .js-plotly-plot')]
    .filter(e => e.getBoundingClientRect().width && e.getBoundingClientRect().right > innerWidth + 1)
    .map(e => e.outerHTML.slice(0, 80))"""


UNNAMED = """() => ['button', 'input', '[role=slider]', '[role=radio]', 'img']
    .flatMap(kind => [...document.querySelectorAll(`.stMain ${kind}`)])
    .filter(e => e.getClientRects().length && !(e.getAttribute('aria-label') || e.innerText || e.alt
        || e.closest('label')?.innerText || e.labels?.[0]?.innerText
        || document.getElementById(e.getAttribute('aria-labelledby'))?.innerText))
    .map(e => e.outerHTML.slice(0, 120))"""


@pytest.fixture
def teach(window, server):
    """Opens a teaching page by a link."""

    def open_page(link, wait="[data-testid=stMain] button", **options):
        screen = window(server, link, **options)
        screen.page.locator(wait).first.wait_for()
        screen.page.wait_for_function(STILL)
        return screen

    return open_page


def keep(screen, name):
    PICTURES.mkdir(exist_ok=True)
    screen.page.wait_for_function(STILL)
    screen.page.screenshot(path=PICTURES / f"teach-{name}.png")


def reveal(screen):
    """Asks for the answer once the run under way has ended: until then the switch is there twice."""
    switch = screen.page.locator(".st-key-reveal label")
    screen.page.wait_for_function(STILL)
    expect(switch).to_have_count(1)
    switch.click()


def title(bandwidth):
    return f"PatternLocal: mean |x₃| {lessons.xor(1.0, 0.5, bandwidth).mean['patternlocal']:.3f}"


def test_a_class_guesses_sees_the_answer_and_slides_the_suppressor_back(teach):
    screen = teach("suppressors?step=XOR")
    expect(screen.page.locator(".js-plotly-plot")).to_have_count(1)
    screen.choose("guess", "PatternLocal")
    screen.wait_for_query(guess="2")
    reveal(screen)
    screen.page.get_by_text("Right: PatternLocal").wait_for()
    screen.page.get_by_text(title(5.0)).wait_for()
    thumb = screen.page.get_by_role("slider", name="b: bandwidth")
    thumb.focus()
    thumb.press("ArrowLeft")
    screen.page.get_by_text(title(2.0)).wait_for()
    screen.wait_for_query(bandwidth="2.0", reveal="True", guess="2")
    screen.page.reload()
    screen.page.get_by_text("Right: PatternLocal").wait_for()


def test_a_presenter_goes_through_questions_and_answers_by_one_key(teach):
    screen = teach("suppressors?present=True", viewport={"width": 1280, "height": 800})
    assert not screen.page.locator("[data-testid=stSidebar]").is_visible()
    size = "parseFloat(getComputedStyle(document.querySelector('.stMain [data-testid=stMarkdown] p')).fontSize)"
    assert screen.page.evaluate(size) >= 20
    for number, step in enumerate(lessons.LESSON_STEPS):
        screen.page.get_by_text(f"{number + 1} of {len(lessons.LESSON_STEPS)}").wait_for()
        screen.wait_for_query(step=step if number else None, reveal=None)
        screen.page.keyboard.press("PageDown")
        screen.wait_for_query(reveal="True")
        keep(screen, f"presenter-{number}")
        assert screen.page.evaluate(HIGH) <= 800, step
        screen.page.keyboard.press("PageDown")


@pytest.mark.parametrize("width, scheme", [(1280, "light"), (400, "dark")])
def test_every_step_fits_its_screen_and_names_its_controls(teach, width, scheme):
    screen = teach("suppressors", viewport={"width": width, "height": 800}, color_scheme=scheme)
    for number, step in enumerate(lessons.LESSON_STEPS):
        if number:
            screen.choose("step", NAMES[step])
            screen.wait_for_query(step=step, reveal=None)
            screen.page.wait_for_function(STILL)  # the switch of the step before is gone
        reveal(screen)
        screen.wait_for_query(reveal="True")
        keep(screen, f"{width}-{scheme}-{number}")
        assert screen.page.evaluate(WIDE) <= width and screen.page.evaluate(CUT) == [], step
        assert width < 1280 or screen.page.evaluate(HIGH) <= 800, step
        assert screen.page.evaluate(UNNAMED) == [], step


def test_cards_open_at_a_family_with_all_examples(teach):
    screen = teach("methods", wait=".al-card")
    assert screen.page.locator(".al-card").count() == len(METHODS)
    expect(screen.page.locator(".al-card img").first).to_be_visible()
    screen.page.locator(".al-card summary").first.click()
    keep(screen, "methods")
    screen.choose("family", "Glossary")
    screen.page.get_by_text("Suppressor", exact=True).wait_for()
    screen.wait_for_query(family="glossary")
    small = {"viewport": {"width": 400, "height": 800}, "color_scheme": "dark"}
    phone = teach("methods?family=metrics", wait=".al-card", **small)
    assert phone.page.evaluate(WIDE) <= 400
    keep(phone, "metrics-400-dark")
