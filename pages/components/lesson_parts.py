"""What the lesson's steps are made of: a question before its answer, sliders, numbers beside formulas, charts, maps."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from core import lessons
from core.figures import tiny
from core.figures.style import Theme
from core.types import Attribution

LABELS = {"sigma_d": "σ_d: distraction", "x2_weight": "v: weight of x₂", "tau": "τ: softness", "bandwidth": "b: reach",
          "lesson_image": "Test image", "correlation": "Correlated means more than"}


@dataclass(frozen=True)
class Step:
    """What a step draws with: the sliders' values, the theme, the size of chart type, whether the answer is out."""

    settings: Mapping[str, Any]
    theme: Theme
    size: int
    height: int
    reveal: bool

    @property
    def sliders(self) -> dict[str, Any]:
        return {name: self.settings[name] for name in lessons.STEPS[st.session_state.step]}


def ask(question: str, answers: Sequence[str], right: int, why: str) -> None:
    """A question with answers to choose from; what is right, and why, once the answer is out."""
    state = st.session_state
    st.markdown(f"**{question}**")
    if state.guess is not None and state.guess >= len(answers):
        state.guess = None
    st.pills("Your guess", range(len(answers)), key="guess", format_func=lambda i: answers[i],
             label_visibility="collapsed", wrap=True)
    st.toggle("Show the answer", key="reveal")
    if state.reveal:
        said = "" if state.guess is None else "Right: " if state.guess == right else "Not quite: "
        answer = answers[right] if said else answers[right][0].upper() + answers[right][1:]
        st.markdown(f"{said}**{answer}.** {why}")


def slide(*names: str) -> None:
    """The named sliders side by side, with their meaning."""
    columns = st.columns(min(2, len(names)), gap="medium")
    for place, name in zip(itertools.cycle(columns), names):
        option = lessons.SLIDERS[name]
        if option.choices:
            place.select_slider(LABELS[name], option.choices, key=name, help=option.help,
                                format_func=lambda v: "∞" if v == float("inf") else f"{v:g}")
        else:
            whole = isinstance(option.default, int)
            place.slider(LABELS[name], *((int(option.low), int(option.high)) if whole else (option.low, option.high)),
                         step=1 if whole else 0.01 if option.high < 1 else 0.1, key=name, help=option.help)


def chart(figure: Any, key: str, alt: str, height: int) -> None:
    st.plotly_chart(figure, key=key, alt=alt, theme=None, height=height, config={"displayModeBar": False})


def numbers(rows: Sequence[tuple[str, str]]) -> None:
    """Formulas beside their numbers."""
    st.html("<dl class='al-numbers'>" + "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows) + "</dl>")


def notes(*texts: str) -> None:
    """What extreme settings do, in words."""
    for text in filter(None, texts):
        st.info(text, icon=":material/info:")


def picture(values: np.ndarray, a: Attribution, step: Step, title: str, edge: int, alt: str, kind: str = "image",
             below: str = "") -> None:
    """A small map with its title and a line below."""
    theme = step.theme
    colours, signed = {"image": (theme.image, True), "truth": ((theme.background, theme.outline), False),
                       "map": (theme.signed if a.signed else theme.magnitude, a.signed)}[kind]
    data = tiny.picture(values, colours, theme, signed=signed, mask=a.mask)
    line = f"<span class='al-quiet'>{below}</span>" if below else ""
    st.html(f"<figure class='al-tiny' style='width:{edge}px'><figcaption>{title}</figcaption>"
            f"<img src='{tiny.address(data)}' alt='{alt}' width='{edge}' height='{edge}'>{line}</figure>", width="content")
