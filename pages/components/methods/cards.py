"""Cards written from the registries, one family at a time, each with a tiny example; and the glossary."""

from __future__ import annotations

import math
from html import escape

import streamlit as st

from core import lessons
from core.figures.style import DARK, LIGHT, Theme
from core.registry import Entry, Option
from pages.components.shared import fields, frame
from pages.components.shared.map_panel import thumbnail
from pages.components.shared.progress import counted

EDGE = 92  # pixels of a tiny picture


def style() -> None:
    """The cards' style sheet."""
    st.html(frame.ASSETS / "cards.css")


def choose_family() -> None:
    """The choice of a family of cards, or the glossary."""
    st.segmented_control(
        "Family",
        fields.FAMILIES,
        key="family",
        required=True,
        label_visibility="collapsed",
        wrap=True,
        format_func=lambda text: text[0].upper() + text[1:],
    )


def show_family() -> None:
    """The chosen family's cards, or the glossary."""
    if st.session_state.family == "glossary":
        _glossary()
    else:
        _cards(st.session_state.family)


def _glossary() -> None:
    entries = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in lessons.GLOSSARY.items()
    )
    st.html(f"<dl class='al-words'>{entries}</dl>")


def _cards(family: str) -> None:
    """All cards at once, as one page of text and small pictures; progress counts examples not computed yet."""
    entries, theme, cards = lessons.entries(family), DARK if frame.dark() else LIGHT, []
    with counted() as progress:
        for done, entry in enumerate(entries):
            progress(done, len(entries), f"examples, {entry.label} next")
            cards.append(card(entry, lessons.example(family, entry.name), theme))
    st.html(f"<div class='al-cards'>{''.join(cards)}</div>")


def card(entry: Entry, example: lessons.Example, theme: Theme) -> str:
    """One entry as HTML: idea, formula, example, when it misleads, options, cost, reference."""
    pictures = "".join(_picture(p, theme, entry.label) for p in example.pictures)
    parts = [
        f"<h3>{escape(entry.label)}</h3>",
        pictures or f"<p class='al-facts'>{escape(example.reason)}</p>",
        f"<p>{escape(entry.summary)}</p>",
    ]
    if entry.formula:
        parts.append(f"<p class='al-formula'>{escape(entry.formula)}</p>")
    if entry.misleads:
        parts.append(f"<p><b>When it misleads.</b> {escape(entry.misleads)}</p>")
    if entry.options:
        number = "1 option" if len(entry.options) == 1 else f"{len(entry.options)} options"
        parts.append(
            f"<details><summary>{number}</summary><dl>" + "".join(map(_option, entry.options)) + "</dl></details>"
        )
    if not math.isnan(example.seconds):
        parts.append(
            f"<p class='al-facts'>Cost: {_time(example.seconds)} {escape(example.work)}, measured on this "
            "computer.</p>"
        )
    parts.append(f"<p class='al-facts'>Source: {escape(entry.reference)}<br>Name: {escape(entry.name)}</p>")
    return f"<article class='al-card'>{''.join(parts)}</article>"


def _option(option: Option) -> str:
    allowed = ", ".join(map(str, option.choices)) or (
        "on or off" if isinstance(option.default, bool) else f"{option.low:g} to {option.high:g}"
    )
    default = "on" if option.default is True else "off" if option.default is False else option.default
    given = "" if default is None else f" = {default}"
    return f"<dt>{escape(option.label)}{escape(given)}</dt><dd>{escape(option.help)} <i>{escape(allowed)}</i></dd>"


def _picture(picture: lessons.Picture, theme: Theme, label: str) -> str:
    alt, source = f"{label}: {picture.caption}", thumbnail(picture.values, picture.kind, theme, picture.mask)
    return (
        f"<figure style='width:{EDGE}px'><img src='{source}' "
        f"alt='{escape(alt, quote=True)}' width='{EDGE}' height='{EDGE}'>{escape(picture.caption)}</figure>"
    )


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:{'.2g' if seconds < 0.0095 else '.0f'}} ms"
