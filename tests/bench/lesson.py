"""How long a class waits after a slider moves: prints figures, judges nothing.

    python tests/bench/lesson.py [--moves 5]

For every step of Suppressors and every slider of it, with the answer out: from the key that moves the slider to the
page that shows the new numbers and charts. No result is kept from earlier; every move is to a new value.
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]
import startup  # noqa: E402

from core import lessons, pipeline  # noqa: E402
from pages.components.suppressors.parts import LABELS  # noqa: E402

STILL = """document.querySelector('[data-test-script-state=notRunning]')
    && !document.querySelector('[data-stale=true]')
    && [...document.querySelectorAll('.js-plotly-plot')].every(plot => plot.calcdata)"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moves", type=int, default=5, help="moves of each slider (default 5)")
    moves = parser.parse_args().moves
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright, socket.socket() as free:
        os.environ["ATTRIBUTION_LAB_HOME"] = home
        for background in lessons.BACKGROUNDS:  # data are made beforehand, as an earlier visit would have
            pipeline.dataset(lessons.IMAGE_SPEC.replace(background=background))
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        free.close()
        server = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "streamlit",
                "run",
                "app.py",
                "--server.headless=true",
                "--server.address=127.0.0.1",
                f"--server.port={url.rsplit(':')[-1]}",
            ],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            while not startup.answers(url):
                time.sleep(0.05)
            browser = playwright.chromium.launch(executable_path=startup.CHROMIUM, args=startup.FLAGS)
            page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
            page.set_default_timeout(120_000)
            print(f"seconds from key to picture, {moves} moves, {os.cpu_count()} processors")
            for step, names in lessons.LESSON_STEPS.items():
                for name in names:
                    page.goto(f"{url}/suppressors?step={step}&reveal=True")
                    page.get_by_role("slider", name=LABELS[name]).wait_for()
                    page.wait_for_function(STILL)
                    slider = lessons.SLIDERS[name]
                    key, left = (
                        ("ArrowLeft", slider.choices.index(slider.default))
                        if slider.choices
                        else ("ArrowRight", moves)
                    )
                    taken = [one_move(page, name, key) for _ in range(min(moves, left))]
                    print(
                        f"{step:18} {name:14} median {statistics.median(taken):.2f}   "
                        f"({min(taken):.2f} to {max(taken):.2f})   load {os.getloadavg()[0]:.1f}",
                        flush=True,
                    )
            browser.close()
        finally:
            server.terminate()
            server.wait()


def one_move(page: Page, name: str, key: str) -> float:
    """Moves a slider by one key; seconds until its value stands in the address and all is drawn."""
    before = page.evaluate("location.search")
    page.get_by_role("slider", name=LABELS[name]).focus()
    start = time.monotonic()
    page.keyboard.press(key)
    page.wait_for_function(f"before => location.search !== before && {STILL}", arg=before, polling=10)
    return time.monotonic() - start


if __name__ == "__main__":
    main()
