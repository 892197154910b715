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
# Read when torch is loaded: a thread of it that waits for another leaves its core to the browser and other readers.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

NOTHING = {"data": [{"type": "scatter", "x": [0], "y": [0], "visible": False}],
           "layout": {"paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)",
                      "xaxis": {"visible": False}, "yaxis": {"visible": False}}}

STYLE = """<style>
.block-container {padding: 3.4rem 2rem 3rem;}
h1 {font-size: 1.6rem !important; padding: 0 0 .2rem !important;}
[data-testid="stSidebar"] [data-testid="stButtonGroup"] button {padding-inline: .45rem; min-width: 0;}
.st-key-panels [data-testid="stPopoverButton"] {padding: 0; height: 1.75rem; min-height: 0; border: 0;
                                                justify-content: start;}
.st-key-panels [data-testid="stPopoverButton"] p {font-size: 0; white-space: nowrap;}
.st-key-panels [data-testid="stPopoverButton"] strong {font-size: 1rem; font-weight: 600;}
.al-scores {font-variant-numeric: tabular-nums; font-size: .875rem; line-height: 1.45;}
.al-scores .al-best {font-weight: 600;}
.al-scores + .al-quiet {margin-top: .3rem;}
.al-quiet {opacity: .7; font-size: .8rem; line-height: 1.35;}
.al-title {font-weight: 600; line-height: 1.75rem; white-space: nowrap; overflow: hidden; text-overflow: ellipsis;}
.al-sheet {background: #fff; padding: .8rem; border: 1px solid rgba(128,128,128,.25); border-radius: .4rem;
           overflow-x: auto;}
.al-sheet img {max-width: 100%; display: block; margin: auto;}
.al-tiles {display: grid; grid-template-columns: repeat(3, 1fr); gap: 4px 8px; font-size: .7rem; text-align: center;}
.al-tiles figure {margin: 0;}
.al-tiles img {display: block; width: 100%; image-rendering: pixelated;}
.al-ramp {height: .55rem; width: 9rem; border-radius: 2px; display: inline-block; vertical-align: middle;
          margin: 0 .4rem; border: 1px solid rgba(128,128,128,.35);}
</style>"""


def run() -> None:
    """Draws the frame and the page the reader asked for; called by app.py."""
    st.set_page_config(page_title="Attribution Lab", page_icon=str(ROOT / "assets" / "logo.svg"), layout="wide")
    page = st.navigation({
        "Explore": [st.Page(ROOT / "pages" / "compare.py", title="Compare", icon=":material/compare:",
                            default=True),
                    st.Page(ROOT / "pages" / "regions.py", title="Regions", icon=":material/grid_view:")],
        "Teach": [st.Page(ROOT / "pages" / "suppressors.py", title="Suppressors", icon=":material/school:"),
                  st.Page(ROOT / "pages" / "methods.py", title="Methods", icon=":material/menu_book:")],
        "Publish": [st.Page(ROOT / "pages" / "figure.py", title="Figure studio", icon=":material/frame_inspect:")],
    })
    st.html(STYLE)
    st.logo(ROOT / "assets" / "logo.svg", size="large")
    st.session_state["page"] = page.url_path or "compare"
    page.run()
    _settle()


@st.cache_resource(show_spinner=False)
def _settle() -> None:
    """Takes the libraries out of garbage collection: Streamlit collects after every run, 0.2 s with them.

    And lets threads take turns ten times as often as usual: a solver that has let go of Python for a moment
    would otherwise wait 5 ms for every step it takes while a page is being built.
    """
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(5e-4)


@contextlib.contextmanager
def opening() -> Iterator[None]:
    """Around a page's imports: on a server's first page they take seconds, in which the reader is told so."""
    if "torch" in sys.modules:
        yield
        return
    place = st.empty()
    place.caption("Starting: loading PyTorch …")
    yield
    from core.quiet import ignore_expected_warnings  # late: with the page's own imports

    ignore_expected_warnings()
    place.empty()


def fetch_charts() -> None:
    """An empty chart, by which the browser fetches plotly's program before the reader asks for a chart that shows."""
    st.plotly_chart(NOTHING, key="fetch.charts", height=1, theme=None, config={"displayModeBar": False})


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
