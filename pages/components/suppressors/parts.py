"""What the lesson's steps are made of: a question before its answer, sliders, numbers, charts, small maps."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import streamlit as st

from core import lessons
from core.figures import lesson as figures
from core.figures.style import Array, Theme
from core.figures.thumbnails import address
from pages.components.shared.map_panel import thumbnail

LABELS = {
    "sigma_d": "σ_d: distraction",
    "x2_weight": "v: weight of x₂",
    "tau": "τ: softness",
    "bandwidth": "b: bandwidth",
    "lesson_image": "Test image",
    "correlation": "Correlated means more than",
}
MOST = 0.5  # x3's largest possible share of the gradient: |w3| = |w1 - w2| is at most |w1| + |w2|


@dataclass(frozen=True)
class Step:
    """What a step draws with: the sliders' values, the theme, whether in large type, whether the answer is shown."""

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
    """A question with answers to choose from; which is right, and why, once the answer is shown."""
    state = st.session_state
    st.markdown(f"**{question}**")
    if state.guess is not None and state.guess >= len(answers):
        state.guess = None
    st.pills(
        "Your guess",
        range(len(answers)),
        key="guess",
        format_func=lambda i: answers[i],
        label_visibility="collapsed",
        wrap=True,
    )
    if not state.present:  # a presenter's Next shows it
        st.toggle("Show the answer", key="reveal")
    if state.reveal:
        answer = answers[right]
        if state.guess is None:
            verdict, answer = "", answer[0].upper() + answer[1:]
        else:
            verdict = "Right: " if state.guess == right else "Not quite: "
        st.markdown(f"{verdict}**{answer}.** {why}")


def slide(*names: str) -> None:
    """The named sliders with their help, two side by side; on a phone in one column."""
    rows = [st.columns(min(2, len(names)), gap="medium") for _ in names[::2]]
    for column, name in zip(itertools.chain(*rows), names):
        option = lessons.SLIDERS[name]
        if option.choices:
            column.select_slider(
                LABELS[name],
                option.choices,
                key=name,
                help=option.help,
                format_func=lambda v: "∞" if v == float("inf") else f"{v:g}",
            )
        else:
            whole = isinstance(option.default, int)
            low, high = (int(option.low), int(option.high)) if whole else (option.low, option.high)
            column.slider(
                LABELS[name],
                low,
                high,
                step=1 if whole else 0.01 if option.high < 1 else 0.1,
                key=name,
                help=option.help,
            )


def cloud(points: Array, share: Array, step: Step, title: str, edge: int, alt: str) -> None:
    """Points ``(n,d)`` by x1 and x2, coloured by their ``share (n,)`` of x3, with axes; ``edge`` pixels wide."""
    ticks = [(f"{value}".replace("-", "−"), f"{50 + 50 * value / figures.SPAN:.1f}%") for value in (-4, 0, 4)]
    across = "".join(f"<span style='left:{at}'>{text}</span>" for text, at in ticks)
    up = "".join(f"<span style='bottom:{at}'>{text}</span>" for text, at in ticks)
    source = address(figures.cloud(points[:, :2], share, MOST, step.theme))
    st.html(
        f"<figure class='al-cloud' style='width:{edge}px'><figcaption>{escape(title)}</figcaption><b>x₂</b>"
        f"<i>{up}</i><img src='{source}' alt='{escape(alt, quote=True)}'><i>{across}</i><b>x₁</b></figure>",
        width="content",
    )


def numbers(rows: Sequence[tuple[str, str]]) -> None:
    """Formulas and their numbers, in two columns."""
    st.html("<dl class='al-numbers'>" + "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows) + "</dl>")


def notes(*texts: str) -> None:
    """Notes on what extreme settings do; empty ones are left out."""
    for text in filter(None, texts):
        st.info(text, icon=":material/info:")


def row(pictures: Sequence[str]) -> None:
    """Pictures in a row, which wraps on a narrow screen."""
    st.html(f"<div class='al-row'>{''.join(pictures)}</div>")


def picture(
    values: Array, kind: str, mask: Array, step: Step, title: str, edge: int, alt: str, *, below: str = ""
) -> str:
    """HTML of a small picture of values ``(h,w)`` of a kind with its ``mask`` outlined, a title and a line below."""
    return (
        f"<figure class='al-tiny' style='width:{edge}px'><figcaption>{escape(title)}</figcaption>"
        f"<img src='{thumbnail(values, kind, step.theme, mask)}' alt='{escape(alt, quote=True)}' width='{edge}' "
        f"height='{edge}'><span class='al-quiet'>{escape(below)}</span></figure>"
    )
