"""What all pages share: the window, the navigation, colours, and the guard at the top of each page."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager

ROOT = Path(__file__).parents[3]
ASSETS = ROOT / "assets"
# Read when torch is loaded: its waiting threads then leave their cores to the browser and other readers.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def run() -> None:
    """Draws the frame and the page the reader asked for; called by app.py."""
    st.set_page_config(page_title="Attribution Lab", page_icon=str(ASSETS / "logo.svg"), layout="wide")
    page = st.navigation(
        {
            "Explore": [
                st.Page(ROOT / "pages" / "compare.py", title="Compare", icon=":material/compare:", default=True),
                st.Page(ROOT / "pages" / "regions.py", title="Regions", icon=":material/grid_view:"),
            ],
            "Teach": [
                st.Page(ROOT / "pages" / "suppressors.py", title="Suppressors", icon=":material/school:"),
                st.Page(ROOT / "pages" / "methods.py", title="Methods", icon=":material/menu_book:"),
            ],
            "Publish": [
                st.Page(ROOT / "pages" / "figure.py", title="Figure studio", icon=":material/frame_inspect:")
            ],
        }
    )
    st.html(ASSETS / "app.css")
    st.logo(ASSETS / "logo.svg", size="large")
    st.session_state["page"] = page.url_path or "compare"
    page.run()
    _tune_process()


@st.cache_resource(show_spinner=False)
def _tune_process() -> None:
    """Tunes the process once: the libraries are no longer garbage collected, threads take turns more often.

    Streamlit collects after every run, which takes 0.2 s with the libraries. A solver that has released the GIL for
    a moment would otherwise wait 5 ms for each of its steps while a page is being built.
    """
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(5e-4)


@contextlib.contextmanager
def opening() -> Iterator[None]:
    """Around a page's imports: on a server's first page they take seconds, during which the page says so."""
    if "torch" in sys.modules:
        yield
        return
    notice = st.empty()
    notice.caption("Starting: loading PyTorch …")
    yield
    from core.quiet import ignore_expected_warnings  # late: with the page's own imports

    ignore_expected_warnings()
    notice.empty()


def guard() -> None:
    """First line of every page: makes Streamlit run it inside the frame even on a cold deep link.

    A folder named pages beside app.py switches on Streamlit's older page discovery until st.navigation
    has run once; a page opened before that would come without its frame.
    """
    if PagesManager.uses_pages_directory:
        PagesManager.uses_pages_directory = False
        st.rerun()


def dark() -> bool:
    """Whether the reader's page is dark."""
    return st.context.theme.type == "dark"
