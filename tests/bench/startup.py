"""How long a reader waits: prints figures, judges nothing.

    python tests/bench/startup.py [--repeat 3] [--size 64]

Start: from the start of the server's process to the first maps with their IME in the browser, and to the
last EMD. Data are made once beforehand; results are forgotten before each start. Change: from a click on
Next to the next image's maps with IME. Twelve methods at 64x64, and all methods at 8x8, with every score: after a
click on Next to an image that was never shown (all maps, all scores) and back to one that was (kept).
Memory: what the server holds resident after that.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SMALL = "?size=8&snr=0.15"
TWELVE = (
    "gradient",
    "integrated_gradients",
    "smoothgrad",
    "deeplift",
    "gradientshap",
    "guided_backprop",
    "lime",
    "kernelshap",
    "pattern",
    "patternlocal",
    "openapi",
    "laplace",
)
TEXTS = """[...document.querySelectorAll('[class*=st-key-panel-]:not([class*=st-key-panel-of-])')]
           .map(panel => panel.querySelector('.al-scores')?.innerText ?? panel.innerText)"""
SETTLED = (
    "document.querySelector('[data-test-script-state=notRunning]') "
    "&& !document.querySelector('[data-stale=true]')"
)  # no panel of the image before is left
DRAWN = (
    "[...document.querySelectorAll('[class*=st-key-chart-]')]"
    ".every(c => c.querySelector('.al-map img')?.naturalWidth)"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3, help="starts of the server (default 3)")
    parser.add_argument("--changes", type=int, default=5, help="clicks on Next per start (default 5)")
    parser.add_argument("--size", type=int, choices=(8, 64), default=64, help="images of the first page (default 64)")
    options = parser.parse_args()
    link = "" if options.size == 64 else SMALL
    figures: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        os.environ["ATTRIBUTION_LAB_HOME"] = home
        make_data()
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for _ in range(options.repeat):
            for kept in ("results", "scores"):
                shutil.rmtree(Path(home) / kept, ignore_errors=True)
            for name, value in one_start(browser, link, options.changes):
                print(f"{name}: {value:.2f}", file=sys.stderr, flush=True)
                figures.setdefault(name, []).append(value)
        browser.close()
    print(
        f"median of {options.repeat} starts, {options.size}x{options.size}, {os.cpu_count()} processors, "
        f"load {os.getloadavg()[0]:.1f}"
    )
    for name, values in figures.items():
        print(f"{name:58} {statistics.median(values):8.2f}   ({min(values):.2f} to {max(values):.2f})")


def make_data() -> None:
    """Makes the data sets of both sizes, as an earlier visit would have."""
    from core import Spec, pipeline

    for spec in (Spec(), Spec(size=8, snr=0.15)):
        pipeline.dataset(spec)


def one_start(browser, link: str, changes: int):
    """Yields (name, seconds or MB) from one server's life."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start = time.monotonic()
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
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        url = f"http://127.0.0.1:{port}"
        while not answers(url):
            if server.poll() is not None:
                sys.exit(f"The server stopped with {server.returncode}.")
            time.sleep(0.05)
        yield "start to server's answer, s", time.monotonic() - start
        page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
        page.set_default_timeout(300_000)
        page.goto(f"{url}/{link}")
        wait(page, "IME ")
        yield "start to first maps and IME, s", time.monotonic() - start
        wait(page, "EMD ")
        yield "start to last EMD, s", time.monotonic() - start
        for _ in range(changes):
            yield from one_change(
                page, "four methods, 64x64, new image" if not link else "four methods, 8x8, new image", "Next"
            )
        yield "memory after the first page, MB", resident(server.pid)

        from core import METHODS

        for name, address, methods in (
            ("twelve methods, 64x64", "?", TWELVE),
            ("all methods, 8x8", f"{SMALL}&", METHODS),
        ):
            begin = time.monotonic()
            page.goto(f"{url}/{address}image=20&methods={','.join(methods)}")
            wait(page, "EMD ")
            yield f"{name}: opened by link, s", time.monotonic() - begin
            for _ in range(changes):
                yield from one_change(page, f"{name}, new image", "Next")
            for _ in range(changes):
                yield from one_change(page, f"{name}, kept", "Previous")
        yield "memory at the end, MB", resident(server.pid)
        page.context.close()
    finally:
        server.terminate()
        server.wait()


def one_change(page: Page, name: str, button: str):
    """Yields the seconds from a click to all maps with IME, and to all scores."""
    before = texts(page)
    page.evaluate(
        "addEventListener('click', () => { window.clicked = performance.now() }, {capture: true, once: true})"
    )
    page.get_by_role("button", name=button).click()
    yield f"{name}: maps and IME, s", wait(page, "IME ", other_than=before)
    yield f"{name}: all scores, s", wait(page, "EMD ", other_than=before)


def answers(url: str) -> bool:
    try:
        return urllib.request.urlopen(f"{url}/_stcore/health", timeout=1).status == 200
    except OSError:
        return False


def texts(page: Page) -> list[str]:
    return page.evaluate(TEXTS)


def wait(page: Page, metric: str, other_than: list[str] | None = None) -> float:
    """Seconds from the last click to when the run has ended and all panels have a map and this metric's number, other
    than earlier ones; by the browser's own clock.

    An error on the page ends the program with its text.
    """
    return page.wait_for_function(
        f"""([metric, old]) => {{
        const error = document.querySelector('[data-testid=stException]');
        if (error) throw new Error(error.innerText);
        if (!({SETTLED} && {DRAWN})) return false;
        const now = {TEXTS}, number = text => (text.split('\\n').find(line => line.startsWith(metric)) ?? text);
        const done = now.length && now.every(text => !number(text).includes('…'))
            && now.every(text => text.includes(metric) || text.includes('Does not apply'))
            && (!old || now.some((text, i) => number(text) !== number(old[i] ?? '')));
        return done && [(performance.now() - window.clicked) / 1000] }}""",
        arg=[metric, other_than],
        polling="raf",
    ).json_value()[0]


def resident(pid: int) -> float:
    """Resident memory of a process in MB."""
    line = next(s for s in Path(f"/proc/{pid}/status").read_text().splitlines() if s.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
