"""How long the Regions page takes: prints figures, judges nothing.

    python tests/bench/regions.py [--images 3]

For each kind of data and model, from a click on a view (or on Next) to all its charts drawn and nothing stale,
in a browser; every image is new, so nothing was computed before.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[2]
CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DATA = {
    "28 x 28, Fashion-MNIST, PLNN": "?dataset=fashion-mnist&images=correct",
    "28 x 28, MNIST, LMT": "?dataset=mnist&model=LMT&images=correct",
    "64 x 64, XOR CORR, MLP": "?images=correct",
    "64 x 64, XOR CORR, CNN": "?snr=0.1&model=CNN&images=correct",
}
VIEWS = ("Same region", "Map of regions", "Along a line", "Other ways", "Pixels taken away", "Exact is not innocent")
SETTLED = """(before) => location.search !== before
    && document.querySelectorAll('.js-plotly-plot, .al-map').length > 1
    && [...document.querySelectorAll('.js-plotly-plot')].every(plot => plot.calcdata)
    && [...document.querySelectorAll('.al-map')].every(map => map.querySelector('img')?.naturalWidth)
    && document.querySelector('[data-test-script-state=notRunning]')
    && !document.querySelector('[data-stale=true]')"""


@contextlib.contextmanager
def serve(home: str) -> Iterator[str]:
    """The app on a free port with a cache folder of its own; gives its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "streamlit",
            "run",
            "app.py",
            "--server.headless=true",
            "--server.address=127.0.0.1",
            f"--server.port={port}",
        ],
        cwd=ROOT,
        env={**os.environ, "ATTRIBUTION_LAB_HOME": home},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        time.sleep(3)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=3)
    images = parser.parse_args().images
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        with serve(home) as url:
            for name, link in DATA.items():
                page = browser.new_page(viewport={"width": 1280, "height": 900})
                page.set_default_timeout(180_000)
                page.goto(f"{url}/regions{link}")
                page.wait_for_function(SETTLED, arg="")
                taken: dict[str, list[float]] = {}

                def press(label: str, what: str) -> None:
                    start, before = time.perf_counter(), page.evaluate("location.search")
                    page.get_by_role("button", name=label, exact=True).click() if label == "Next" else page.locator(
                        ".st-key-region_view"
                    ).get_by_text(label, exact=True).click()
                    page.wait_for_function(SETTLED, arg=before, polling=20)
                    taken.setdefault(what, []).append(time.perf_counter() - start)

                for _ in range(images):
                    press("Next", "Decision features, next image")
                    for view in VIEWS:
                        press(view, view)
                    press("Decision features", "Decision features again")
                for what, seconds in taken.items():
                    print(
                        f"{name:32}{what:32}{statistics.median(seconds):6.2f}   "
                        f"({min(seconds):.2f} to {max(seconds):.2f})",
                        flush=True,
                    )
                page.close()
        browser.close()


if __name__ == "__main__":
    main()
