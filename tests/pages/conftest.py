"""What the page tests share: the app without a browser, and how to read Compare's panels."""

from __future__ import annotations

import base64
import html
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
import streamlit as st
from PIL import Image
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest, app_test

APP = Path(__file__).parents[2] / "app.py"
SMALL = {"size": "8", "snr": "0.15"}  # the shipped 8x8 model: every run takes well under a second


@pytest.fixture(autouse=True)
def empty_caches():
    """Streamlit's caches outlive an AppTest."""
    st.cache_data.clear()
    st.cache_resource.clear()


@pytest.fixture(autouse=True)
def open_server(monkeypatch):
    """A server on which st.navigation has run, as for all but its very first request.

    AppTest forgets that before every run; the guard of each page would then rerun it and lose what a
    clicked button says. The first request is tested in a browser.
    """

    class Remembering(PagesManager):
        pass

    monkeypatch.setattr(PagesManager, "uses_pages_directory", False)
    monkeypatch.setattr(app_test, "PagesManager", Remembering)


class App(AppTest):
    """The app as a reader of Compare sees it."""

    def link(self, **choices: object) -> App:
        """Opens an address; 8x8 data unless it says otherwise."""
        self.query_params.update({name: str(value) for name, value in (SMALL | choices).items()})
        return self.run()

    def press(self, label: str) -> App:
        return next(b for b in self.button if b.label == label).click().run()

    def number(self, name: str):
        """The number field of a choice."""
        return next(field for field in self.number_input if field.key.startswith(f"{name}."))

    def option(self, label: str):
        """A number in the open form of a method's options."""
        return next(field for field in self.number_input if field.label == label)

    @property
    def text(self) -> str:
        """All HTML on the page, that of the maps' panels too."""
        return " ".join(
            [
                *(block.body for block in self.get("html")),
                *(json.loads(element.proto.json)["below"] for element in self.get("bidi_component")),
            ]
        )

    @property
    def panels(self) -> dict[str, dict]:
        """For each drawn method: ``picture (h,w,3)``, ``percents (h,w)``, its lines and the texts under the map."""
        found: dict[str, dict] = {}
        for element in self.main:
            if element.type == "bidi_component":
                found[element.proto.id.rpartition("chart.")[2]] = panel = json.loads(element.proto.json)
                panel["picture"] = _picture(panel["picture"])
                panel["percents"] = np.frombuffer(base64.b64decode(panel["percents"]), np.int8).reshape(
                    panel["rows"], panel["columns"]
                )
                panel["text"] = _words(panel["below"])
            elif element.type == "html" and found and "al-title" not in element.value:
                panel["text"] += _words(element.value)
        return {name: panel for name, panel in found.items() if name not in ("of-input", "of-truth")}

    def open(self, popover: str) -> App:
        """Opens a popover that is built only then: ``share``, or ``lime.popover`` for a method's options."""
        self.session_state[popover] = True
        return self.run()

    def score(self, method: str, metric: str) -> str:
        """What stands behind a metric's name under a method's map."""
        return re.search(rf"^{metric} (.*)$", self.panels[method]["text"], re.MULTILINE)[1]

    def complete(self) -> App:
        """Runs until no score is pending, as the page's own timer does in a browser."""
        for _ in range(200):
            if not any("…" in panel["text"] for panel in self.panels.values()):
                return self
            self.run()
        raise AssertionError("scores are still pending after 200 runs")


def _words(content: str) -> str:
    """The lines of a piece of HTML."""
    return html.unescape(re.sub(r"<[^>]+>", "\n", content)) + "\n"


def _picture(address: str) -> np.ndarray:
    """The pixels (h,w,3) of a picture that is its own address."""
    with Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2]))) as image:
        return np.asarray(image)


@pytest.fixture
def app() -> App:
    return App(str(APP), default_timeout=120)
