"""What the lesson's steps are made of: a question before its answer, sliders, numbers, charts, small maps."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import streamlit as st

from core import lessons
from core.figures import lesson as figures
from core.figures import thumbnails
from core.figures.style import Theme
from core.types import Attribution

LABELS = {"sigma_d": "σ_d: distraction", "x2_weight": "v: weight of x₂", "tau": "τ: softness",
          "bandwidth": "b: reach", "lesson_image": "Test image", "correlation": "Correlated means more than"}
MOST = 0.5  # x3's largest possible share of the gradient: |w3| = |w1 - w2| is at most |w1| + |w2|


@dataclass(frozen=True)
class Step:
    """What a step draws with: the sliders' values, the theme, large type or not, whether the answer is out."""

    settings: Mapping[str, Any]
    theme: Theme
    large: bool
    reveal: bool

    @property
    def size(self) -> int:
        """Of type in charts, pixels."""
        return 17 if self.large else 13

    @property
    def height(self) -> int:
        """Of a chart, pixels."""
        return 470 if self.large else 400

    @property
    def sliders(self) -> dict[str, Any]:
        """The values of this step's own sliders, by name."""
        return {name: self.settings[name] for name in lessons.LESSON_STEPS[st.session_state.step]}


def ask(question: str, answers: Sequence[str], right: int, why: str) -> None:
    """A question with answers to choose from; what is right, and why, once the answer is out."""
    state = st.session_state
    st.markdown(f"**{question}**")
    if state.guess is not None and state.guess >= len(answers):
        state.guess = None
    st.pills("Your guess", range(len(answers)), key="guess", format_func=lambda i: answers[i],
             label_visibility="collapsed", wrap=True)
    if not state.present:  # there the key that goes on shows it
        st.toggle("Show the answer", key="reveal")
    if state.reveal:
        said = "" if state.guess is None else "Right: " if state.guess == right else "Not quite: "
        answer = answers[right] if said else answers[right][0].upper() + answers[right][1:]
        st.markdown(f"{said}**{answer}.** {why}")


def slide(*names: str) -> None:
    """The named sliders, two side by side, with their meaning; on a phone one below the other in their order."""
    rows = [st.columns(min(2, len(names)), gap="medium") for _ in names[::2]]
    for place, name in zip(itertools.chain(*rows), names):
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


def cloud(points: np.ndarray, share: np.ndarray, step: Step, title: str, edge: int, alt: str) -> None:
    """Points (n,d) by x1 and x2, coloured by their share (n,) of x3, with axes; ``edge`` pixels wide."""
    ticks = [(f"{value}".replace("-", "−"), f"{50 + 50 * value / figures.SPAN:.1f}%") for value in (-4, 0, 4)]
    across = "".join(f"<span style='left:{at}'>{text}</span>" for text, at in ticks)
    up = "".join(f"<span style='bottom:{at}'>{text}</span>" for text, at in ticks)
    source = thumbnails.address(figures.cloud(points[:, :2], share, MOST, step.theme))
    st.html(f"<figure class='al-cloud' style='width:{edge}px'><figcaption>{escape(title)}</figcaption><b>x₂</b>"
            f"<i>{up}</i><img src='{source}' alt='{escape(alt, quote=True)}'><i>{across}</i><b>x₁</b></figure>",
            width="content")


def numbers(rows: Sequence[tuple[str, str]]) -> None:
    """Formulas beside their numbers."""
    st.html("<dl class='al-numbers'>" + "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows) + "</dl>")


def notes(*texts: str) -> None:
    """What extreme settings do, in words."""
    for text in filter(None, texts):
        st.info(text, icon=":material/info:")


def row(pictures: Sequence[str]) -> None:
    """Pictures beside each other, on a narrow screen below."""
    st.html(f"<div class='al-row'>{''.join(pictures)}</div>")


def picture(values: np.ndarray, a: Attribution, step: Step, title: str, edge: int, alt: str, *, kind: str = "image",
            below: str = "") -> str:
    """HTML of a small picture (h,w) with the outline of the attribution's truth, its title and a line below.

    ``kind``: image, truth or map.
    """
    theme = step.theme
    colours, signed = {"image": (theme.image, True), "truth": ((theme.background, theme.outline), False),
                       "map": (theme.signed if a.signed else theme.magnitude, a.signed)}[kind]
    source = thumbnails.address(thumbnails.picture(np.asarray(values, float), colours, theme, signed=signed, mask=a.mask))
    return (f"<figure class='al-tiny' style='width:{edge}px'><figcaption>{escape(title)}</figcaption>"
            f"<img src='{source}' alt='{escape(alt, quote=True)}' width='{edge}' height='{edge}'>"
            f"<span class='al-quiet'>{escape(below)}</span></figure>")
