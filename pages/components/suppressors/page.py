"""The lesson's page: its steps, how it looks on a screen, in front of a class and on paper, the way to Compare."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import lessons
from core.figures.style import DARK, LIGHT
from core.types import InputError
from pages.components.shared import choices, frame
from pages.components.suppressors import steps_images, steps_variables
from pages.components.suppressors.parts import Step

NAMES = {"idea": "The idea", "two variables": "1 Two variables", "weight to pattern": "2 From weight to pattern",
         "XOR": "3 XOR", "bandwidth": "How far it reaches", "images": "4 In images"}
STYLE = """<style>
@media (max-width: 640px) {.st-key-lesson-top {padding-top: 1.2rem;}}
.block-container {padding-bottom: 1rem;}
.stMain [data-testid="stVerticalBlock"] {gap: .6rem;}
.stMain [data-testid="stMarkdownContainer"] p {line-height: 1.4;}
.al-numbers {margin: 0; padding: 0 !important; font-size: .85rem; line-height: 1.35; align-items: baseline;
             font-variant-numeric: tabular-nums; display: grid; grid-template-columns: auto auto; gap: .15rem .8rem;}
.al-numbers dt {opacity: .8;}
.al-numbers dd {margin: 0; font-weight: 600;}
.al-cloud {display: grid; grid-template: auto auto 1.1rem auto / 1.1rem 1.3rem 1fr; margin: 0; max-width: 100%;
           font-size: .78rem; line-height: 1.1;}
.al-cloud figcaption {grid-column: 1 / -1; font-weight: 600; font-size: 1rem; line-height: 1.75; white-space: nowrap;}
.al-cloud b {font-weight: 400; place-self: center;}
.al-cloud i {position: relative; font-style: normal;}
.al-cloud i + img + i {grid-column: 3;}
.al-cloud b:last-child {grid-column: 3;}
.al-cloud span {position: absolute; right: .25rem; transform: translateY(50%);}
.al-cloud i + img + i span {right: auto; top: .15rem; transform: translateX(-50%);}
.al-cloud img {--axis: transparent calc(50% - .5px), rgba(128,128,128,.35) 0 calc(50% + .5px), transparent 0;
               width: 100%; background: linear-gradient(90deg, var(--axis)), linear-gradient(var(--axis));}
.al-row {display: flex; flex-wrap: wrap; gap: .5rem;}
.al-tiny {margin: 0; font-size: .8rem; line-height: 1.3; font-variant-numeric: tabular-nums;}
.al-tiny figcaption {font-weight: 600; white-space: nowrap; overflow: hidden; text-overflow: ellipsis;}
.al-tiny img {display: block; border: 1px solid rgba(128,128,128,.35);}
@media print {
  [data-testid="stSidebar"], [data-testid="stHeader"], .st-key-step, .st-key-lesson-top, .st-key-reveal,
  .st-key-pictured, .stMain [data-testid="stTooltipIcon"] {display: none !important;}
  html, body, .stApp, .stMain, .block-container {
    position: static !important; overflow: visible !important; padding: 0 !important; height: auto !important;
    background: #fff !important;}
  .stMain * {color: #000 !important;}
  .stMain button {background: #fff !important;}
  [data-testid="stHorizontalBlock"] {flex-wrap: nowrap !important;}
  [data-testid="stColumn"] {min-width: 0 !important;}
  .st-key-clouds, .st-key-clouds > div {display: flex !important; flex-flow: row wrap !important;}
  .js-plotly-plot text {fill: #000 !important;}
  figure, .js-plotly-plot, .al-cloud, dl {break-inside: avoid;}
  * {print-color-adjust: exact; -webkit-print-color-adjust: exact;}
}
</style>"""
PRESENTER = """<style>
html {font-size: 21px !important;}
[data-testid="stSidebar"], [data-testid="stExpandSidebarButton"], [data-testid="stHeader"], h1 {
  display: none !important;}
.block-container {padding: .5rem 1.2rem .5rem !important;}
.al-quiet, .al-numbers, .al-tiny {font-size: .9rem !important; opacity: .9;}
</style>"""


def page(top: DeltaGenerator) -> None:
    """The chosen step; what leads elsewhere stands in ``top`` beside the title."""
    choices.restore()
    choices.write()
    state = st.session_state
    st.html(STYLE + PRESENTER * state.present)
    with top, st.container(horizontal=True, vertical_alignment="center", key="lesson-top"):
        if state.present:
            _turning()
        st.toggle("Presenter view", key="present", help="Large type, no sidebar; Page up and Page down turn the "
                                                        "steps.")
        _to_compare()
    if not state.present:
        st.segmented_control("Step", list(lessons.LESSON_STEPS), key="step", required=True, format_func=NAMES.get, wrap=True,
                             on_change=_forget, label_visibility="collapsed")
    for notice in choices.notices():
        st.warning(f"The link could not be followed in full. {notice}")
    step = Step({name: state[name] for name in lessons.SLIDERS}, DARK if frame.dark() else LIGHT,
                state.present, state.reveal)
    drawn: dict[str, Callable[[Step], None]] = {
        "idea": steps_images.idea, "two variables": steps_variables.two_variables,
        "weight to pattern": steps_variables.weight_to_pattern, "XOR": steps_variables.xor,
        "bandwidth": steps_variables.bandwidth, "images": steps_images.backgrounds}
    try:
        drawn[state.step](step)
    except InputError as error:
        st.error(str(error))


def _turning() -> None:
    """Back and on through questions and answers; a presenter's clicker sends Page up and Page down."""
    state, steps = st.session_state, list(lessons.LESSON_STEPS)
    here = steps.index(state.step)

    def go(forward: bool) -> None:
        if forward and not state.reveal:
            state.reveal = True
        elif not forward and state.reveal:
            state.reveal = False
        else:
            state.step, state.guess, state.reveal = steps[here + (1 if forward else -1)], None, not forward

    st.button("Back", icon=":material/chevron_left:", on_click=go, args=(False,), shortcut="PageUp",
              disabled=here == 0 and not state.reveal)
    st.button("On", icon=":material/chevron_right:", on_click=go, args=(True,), shortcut="PageDown",
              disabled=here == len(steps) - 1 and state.reveal)
    st.html(f"<b>{NAMES[steps[here]]}</b>, {here + 1} of {len(steps)}", width="content")


def _forget() -> None:
    st.session_state.reveal, st.session_state.guess = False, None


def _to_compare() -> None:
    """A button that opens Compare with the step's settings."""
    state = st.session_state
    if not st.button("The same in Compare", icon=":material/compare:", type="tertiary"):
        return
    spec, methods = lessons.comparison(state.step, {name: state[name] for name in lessons.SLIDERS})
    choices.choose(spec)
    state.images, state.methods = "all images", list(methods)
    for method, options in methods.items():
        choices.set_method_options(method, options)
    st.switch_page(frame.ROOT / "pages" / "compare.py")
