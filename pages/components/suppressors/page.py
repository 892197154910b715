"""The lesson's page: its steps, how it looks on a screen, in front of a class and on paper, the way to Compare."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core import lessons
from core.figures.style import DARK, LIGHT
from core.types import InputError
from pages.components.shared import frame
from pages.components.shared.to_compare import open_compare
from pages.components.suppressors import steps_images, steps_variables
from pages.components.suppressors.parts import Step

NAMES = {
    "idea": "The idea",
    "two variables": "1 Two variables",
    "weight to pattern": "2 From weight to pattern",
    "XOR": "3 XOR",
    "bandwidth": "Bandwidth",
    "images": "4 In images",
}
STEPS: dict[str, Callable[[Step], None]] = {
    "idea": steps_images.idea,
    "two variables": steps_variables.two_variables,
    "weight to pattern": steps_variables.weight_to_pattern,
    "XOR": steps_variables.xor,
    "bandwidth": steps_variables.bandwidth,
    "images": steps_images.backgrounds,
}


def style() -> None:
    """The lesson's style sheet, and the presenter's on top of it."""
    st.html(frame.ASSETS / "lesson.css")
    if st.session_state.present:
        st.html(frame.ASSETS / "presenter.css")


def top_bar() -> None:
    """Beside the title: presenter view with its buttons, and the way to Compare."""
    with st.container(horizontal=True, vertical_alignment="center", key="lesson-top"):
        if st.session_state.present:
            _back_and_next()
        st.toggle(
            "Presenter view",
            key="present",
            help="Large type, no sidebar; Page Up and Page Down go through the steps.",
        )
        if st.button(
            "Open in Compare",
            icon=":material/compare:",
            type="tertiary",
            help="The data, model and methods of this step.",
        ):
            spec, methods = lessons.comparison(st.session_state.step, _sliders())
            open_compare(methods, spec)


def choose_step() -> None:
    """The choice of a step; a presenter goes from one to the next instead."""
    if not st.session_state.present:
        st.segmented_control(
            "Step",
            list(lessons.LESSON_STEPS),
            key="step",
            required=True,
            format_func=NAMES.get,
            wrap=True,
            on_change=_hide_answer,
            label_visibility="collapsed",
        )


def show_step() -> None:
    """The chosen step; a mistake in its settings becomes a sentence."""
    state = st.session_state
    step = Step(_sliders(), DARK if frame.dark() else LIGHT, state.present, state.reveal)
    try:
        STEPS[state.step](step)
    except InputError as error:
        st.error(str(error))


def _sliders() -> dict[str, float]:
    return {name: st.session_state[name] for name in lessons.SLIDERS}


def _back_and_next() -> None:
    """Back and Next through questions and answers; a presenter's clicker sends Page Up and Page Down."""
    state, steps = st.session_state, list(lessons.LESSON_STEPS)
    number = steps.index(state.step)

    def go(forward: bool) -> None:
        if forward and not state.reveal:
            state.reveal = True
        elif not forward and state.reveal:
            state.reveal = False
        else:
            state.step, state.guess, state.reveal = steps[number + (1 if forward else -1)], None, not forward

    st.button(
        "Back",
        icon=":material/chevron_left:",
        on_click=go,
        args=(False,),
        shortcut="PageUp",
        disabled=number == 0 and not state.reveal,
    )
    st.button(
        "Next",
        icon=":material/chevron_right:",
        on_click=go,
        args=(True,),
        shortcut="PageDown",
        disabled=number == len(steps) - 1 and state.reveal,
    )
    st.html(f"<b>{NAMES[steps[number]]}</b>, {number + 1} of {len(steps)}", width="content")


def _hide_answer() -> None:
    st.session_state.reveal, st.session_state.guess = False, None
