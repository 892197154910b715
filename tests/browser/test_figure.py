"""The Figure studio in a browser: what is downloaded is what the command line rebuilds, and it comes back."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys

import pytest

from .conftest import ROOT, SMALL, WAIT

STUDIO = f"figure{SMALL}&columns=image;truth;gradient;lime&rows=image=1;image=4&width=column&title=Two images"


@pytest.fixture
def studio(window, server):
    """Opens the Figure studio and waits for its figure."""

    def open_studio(link=STUDIO, **options):
        return drawn(window(server, link, **options))

    return open_studio


def drawn(screen):
    screen.page.wait_for_function(
        """() => document.querySelector('.al-sheet img')?.naturalWidth
        && document.querySelector('[data-test-script-state=notRunning]')
        && !document.querySelector('[data-stale=true]')""",
        timeout=WAIT,
    )
    return screen


def download(screen, label: str) -> bytes:
    with screen.page.expect_download() as waiting:
        screen.press(label)
    return waiting.value.path().read_bytes()


def test_a_downloaded_figure_is_rebuilt_byte_for_byte_and_brought_back(studio, server, tmp_path):
    screen = studio()
    screen.page.evaluate("""() => { window.runs = 0; new MutationObserver(() => {
        window.runs += document.querySelector('[data-test-script-state=running]') ? 1 : 0 }).observe(
        document.querySelector('[data-testid=stApp]'), {attributes: true}) }""")
    figure, side = download(screen, "Figure (PDF)"), download(screen, "Sidecar (json)")
    assert download(screen, "All files (zip)") and download(screen, "Table (parquet)")
    assert screen.page.evaluate("window.runs") == 0, "a download reruns nothing"
    assert figure.startswith(b"%PDF") and b"Two images" in side
    (tmp_path / "side.json").write_bytes(side)
    run = subprocess.run(
        [sys.executable, "-m", "core", "figure", tmp_path / "side.json", "--to", tmp_path / "again.pdf", "--json"],
        cwd=ROOT,
        env={**os.environ, "ATTRIBUTION_LAB_HOME": str(server.home)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (tmp_path / "again.pdf").read_bytes() == figure
    assert json.loads(run.stdout)["sha256"] == hashlib.sha256(figure).hexdigest()

    other = studio(f"figure{SMALL}")
    other.page.locator(".st-key-sidecar input[type=file]").set_input_files(tmp_path / "side.json")
    other.page.get_by_text("Figure restored").wait_for(timeout=WAIT)
    assert download(drawn(other), "Figure (PDF)") == figure
    assert {**other.query, "image": ""} == {**screen.query, "image": ""}, "the link says the same, too"


def test_the_studio_fits_a_phone_with_the_figure_first(studio):
    screen = studio(viewport={"width": 400, "height": 800}, color_scheme="dark")
    assert screen.page.evaluate("document.documentElement.scrollWidth") <= 400
    top = screen.page.evaluate("""() => ['.al-sheet', '.st-key-figure'].map(s =>
        document.querySelector(s).getBoundingClientRect().top)""")
    assert top[0] < top[1] and top[0] < 800
    assert len(screen.page.locator(".al-sheet img").get_attribute("alt")) > 50


def test_a_report_works_without_the_app_and_without_a_network(compare, chromium, tmp_path):
    report = download(compare(), "Report (html)")
    (tmp_path / "report.html").write_bytes(report)
    asked: list[str] = []
    page = chromium.new_context(offline=True).new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: asked.append(f"error: {error}"))
    page.goto((tmp_path / "report.html").as_uri())
    page.wait_for_function("document.querySelectorAll('.al-map img').length === 6", timeout=WAIT)
    assert page.evaluate("[...document.querySelectorAll('.al-map img')].every(image => image.naturalWidth === 8)")
    page.locator(".al-map").nth(2).hover(position={"x": 80, "y": 80})  # of 260 pixels for 8 cells
    page.locator(".al-map output:visible", has_text="row 2, column 2").wait_for(timeout=WAIT)
    assert page.locator(".al-map output:visible").count() == 6, "all maps tell their value there"
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    page.context.close()
