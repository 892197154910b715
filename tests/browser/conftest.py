"""A server, a browser, and Compare as a person sees it. Every test also fails on what a person must not see."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from core import METHODS
from core.figures.heatmap import heatmap
from core.figures.style import LIGHT

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "tests" / ".artifacts"
CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SMALL = "?size=8&snr=0.15"  # the shipped 8x8 model
DESKTOP = {"width": 1280, "height": 900}
WAIT = 60_000  # ms; the first page of a new server takes 10 s on a small machine
LOG_FAULTS = re.compile(r"Traceback|torch\.classes|missing ScriptRunContext|Uncaught")

try:
    from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright
except ModuleNotFoundError:
    pytest.exit("The browser tests need Playwright: pip install -r tests/requirements.txt", returncode=3)

expect.set_options(timeout=WAIT)


class Server:
    """``streamlit run app.py`` on a free port, with a cache folder of its own."""

    def __init__(self, home: Path, log: Path):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url, self.home, self.log = f"http://127.0.0.1:{port}", home, log
        self._file, self._read = log.open("w"), 0
        self.process = subprocess.Popen(
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
            env={**os.environ, "ATTRIBUTION_LAB_HOME": str(home)},
            stdout=self._file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        until = time.monotonic() + 60
        while not self._healthy():
            assert self.process.poll() is None and time.monotonic() < until, f"no server:\n{log.read_text()}"
            time.sleep(0.1)

    def _healthy(self) -> bool:
        try:
            return urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=2).status == 200
        except OSError:
            return False

    def stop(self) -> None:
        """Ends the server and what it started."""
        os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self._file.close()

    def new_faults(self) -> str:
        """What went wrong by the log since the last question; the log from there, or nothing."""
        content = self.log.read_text()
        new, self._read = content[self._read :], len(content)
        return new if LOG_FAULTS.search(new) else ""

    def children(self) -> list[str]:
        """Command lines of the processes the server has started."""
        found = []
        for folder in Path("/proc").iterdir():
            try:
                if (
                    folder.name.isdigit()
                    and f"PPid:\t{self.process.pid}\n" in (folder / "status").read_text()
                    and "State:\tZ" not in (folder / "status").read_text()
                ):
                    found.append((folder / "cmdline").read_text().replace("\0", " "))
            except OSError:
                pass  # it ended while we looked
        return found


class Screen:
    """One browser window on Compare."""

    def __init__(self, page: Page):
        self.page = page

    def panel(self, name: str) -> Locator:
        """A method's panel; ``of-input`` and ``of-truth`` are the image's and the ground truth's."""
        return self.page.locator(f".st-key-panel-{name}")

    def scores(self) -> dict[str, str]:
        """What stands under each map, by method."""
        return self.page.evaluate("""() => Object.fromEntries([...document.querySelectorAll('[class*=st-key-panel-]')]
            .filter(panel => !panel.className.includes('st-key-panel-of-') && panel.querySelector('.al-scores'))
            .map(panel => [panel.className.match(/st-key-panel-(\\w+)/)[1],
                           panel.querySelector('.al-scores').innerText]))""")

    def ready(self, wait: int = WAIT) -> Screen:
        """Waits for all maps with complete scores."""
        self.page.wait_for_function(
            """() => {
            const texts = [...document.querySelectorAll('[class*=st-key-panel-]:not([class*=st-key-panel-of-])')]
                .map(panel => panel.querySelector('.al-scores')?.innerText ?? panel.innerText);
            const charts = [...document.querySelectorAll('[class*=st-key-chart-]')];
            return texts.length && texts.every(text => /EMD|Does not apply/.test(text) && !text.includes('…'))
                && charts.every(chart => chart.querySelector('.al-map img')?.naturalWidth)
                && document.querySelector('[data-test-script-state=notRunning]')
                && !document.querySelector('[data-stale=true]') }""",
            timeout=wait,
        )
        return self

    def wait_for_scores(self, expected: dict[str, str]) -> None:
        """Waits until just these scores stand under the maps."""
        until = time.monotonic() + WAIT / 1000
        while self.scores() != expected:
            assert time.monotonic() < until, f"{self.scores()} instead of {expected}"
            self.page.wait_for_timeout(50)

    def wait_for_texts(self, texts: list[str]) -> None:
        """Waits until all of these stand on the page."""
        self.page.wait_for_function(
            """texts => texts.every(text =>
            document.querySelector('[data-testid=stMain]').innerText.includes(text))""",
            arg=texts,
            timeout=WAIT,
        )

    def wait_for_map(self, name: str, expected) -> None:
        """Waits until a panel shows these values ``(h,w)``, with the largest in full colour on a light page."""
        kind, limit = "signed" if METHODS[name].signed else "magnitude", np.abs(expected).max()
        self.page.wait_for_function(
            """([name, picture]) => {
            const shown = document.querySelector(`.st-key-panel-${name} .al-map img`);
            return shown && shown.src === picture && shown.complete && shown.naturalWidth }""",
            arg=[name, heatmap(expected / limit, 1.0, kind, LIGHT)["picture"]],
            timeout=WAIT,
        )

    def options(self, method: str) -> Locator:
        """The open form with a method's options."""
        form = self.page.locator("[data-testid=stPopoverBody]")
        if not form.is_visible():
            self.panel(method).get_by_role("button").click()
        return form

    def choose(self, key: str, text: str) -> None:
        """Clicks one of the buttons of a segmented control."""
        self.page.locator(f".st-key-{key}").get_by_text(text, exact=True).click()

    def field(self, key: str) -> Locator:
        return self.page.locator(f".st-key-{key} input")

    def enter(self, key: str, text: str) -> None:
        self.field(key).fill(text)
        self.field(key).press("Enter")

    def press(self, label: str) -> None:
        self.page.get_by_role("button", name=label).click()

    @property
    def query(self) -> dict[str, str]:
        return self.page.evaluate("Object.fromEntries(new URLSearchParams(location.search))")

    def wait_for_query(self, **expected: str | None) -> None:
        """Waits until the address holds these values (None: does not name them)."""
        self.page.wait_for_function(
            """(expected) => Object.entries(expected).every(([name, value]) =>
            new URLSearchParams(location.search).get(name) === value)""",
            arg=expected,
            timeout=WAIT,
        )


@pytest.fixture(scope="session")
def home(tmp_path_factory) -> Path:
    """One cache folder for all servers: data are made once."""
    return tmp_path_factory.mktemp("browser-home")


@pytest.fixture(scope="session")
def new_server(home, tmp_path_factory):
    """Starts a server that nobody has visited yet."""
    started: list[Server] = []

    def start() -> Server:
        started.append(Server(home, tmp_path_factory.mktemp("log") / "server.log"))
        return started[-1]

    yield start
    for server in started:
        server.stop()


@pytest.fixture(scope="session")
def server(new_server) -> Server:
    return new_server()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    if not Path(CHROMIUM).exists():
        pytest.fail(f"{CHROMIUM} is missing. Install Debian's package: apt-get install chromium", pytrace=False)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def reader(chromium):
    """A browser that has been here before: Streamlit's own files come from its cache."""
    return chromium.new_context(viewport=DESKTOP)


@pytest.fixture
def window(chromium, reader, request):
    """Opens browser windows, ``window(server, link)``; at the end none may show an error.

    Any option (``color_scheme="dark"``, ``viewport=...``) makes it the window of another browser.
    """
    opened: list[Page] = []
    servers: set[Server] = set()
    faults: list[str] = []

    def open_window(server: Server, link: str = SMALL, **options) -> Screen:
        context = chromium.new_context(**{"viewport": DESKTOP} | options) if options else reader
        page = context.new_page()
        page.set_default_timeout(WAIT)
        page.set_default_navigation_timeout(WAIT)
        page.on("console", lambda m: m.type == "error" and faults.append(f"console: {m.text} {m.location['url']}"))
        page.on("pageerror", lambda error: faults.append(f"page error: {error}"))
        opened.append(page)
        servers.add(server)
        page.goto(f"{server.url}/{link}")
        return Screen(page)

    yield open_window
    for page in opened:
        faults += [f"on the page: {text}" for text in page.locator("[data-testid=stException]").all_inner_texts()]
    for server in servers:
        faults += [f"server log: {text}" for text in [server.new_faults()] if text]
    # Streamlit first looks for its server below a page's own address; that one is not there.
    faults = [f for f in faults if not re.search(r"404 .*/\w+/_stcore/(health|host-config)$", f)]
    report = getattr(request.node, "report", None)
    if faults or (report and report.failed):
        PICTURES.mkdir(exist_ok=True)
        for number, page in enumerate(opened):
            page.screenshot(path=PICTURES / f"{request.node.name[:80]}-{number}.png", full_page=True)
    for page in opened:
        (page if page.context is reader else page.context).close()
    assert not faults, "\n".join(faults)


@pytest.fixture
def compare(window, server):
    """Opens Compare in a new window: ``compare(link, **options)``, with complete scores."""
    return lambda link=SMALL, **options: window(server, link, **options).ready()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.when == "call":
        item.report = report
    return report
