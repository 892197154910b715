"""Cards written from the registries, one family at a time, each with a tiny example; and the glossary."""

from __future__ import annotations

import math
from html import escape

import numpy as np
import streamlit as st

from core import lessons
from core.figures import thumbnails
from core.figures.style import DARK, LIGHT, Theme
from core.registry import Entry, Option
from pages.components.shared import choices, fields, frame
from pages.components.shared.progress import counted

EDGE = 92  # pixels of a tiny picture
STYLE = """<style>
.al-cards {display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 19rem), 1fr)); gap: 1rem;}
.al-card {border: 1px solid rgba(128,128,128,.3); border-radius: .5rem; padding: .8rem 1rem; font-size: .875rem;
          line-height: 1.4; break-inside: avoid; overflow-wrap: anywhere;}
.al-card h3 {font-size: 1.05rem !important; padding: 0 0 .3rem !important; margin: 0;}
.al-card p {margin: 0 0 .45rem; font-size: inherit;}
.al-card .al-formula {font-family: "STIX Two Math", "Cambria Math", "DejaVu Serif", serif; font-style: italic;}
.al-card dt, .al-card dd {font-size: .8rem;}
.al-card figure {display: inline-block; margin: 0 .5rem .4rem 0; vertical-align: top; font-size: .75rem;
                 line-height: 1.25;}
.al-card img {display: block; border: 1px solid rgba(128,128,128,.35);}
.al-card .al-facts {opacity: .75; font-size: .8rem;}
.al-card summary {cursor: pointer;}
.al-card dl, .al-words {margin: .3rem 0 .4rem; padding: 0 !important;}
.al-card dt, .al-words dt {font-weight: 600;}
.al-card dd, .al-words dd {margin: 0 0 .35rem;}
.al-words {columns: 22rem; column-gap: 2.5rem; line-height: 1.45;}
.al-words div {break-inside: avoid; padding-bottom: .5rem;}
@media print {
  [data-testid="stSidebar"], [data-testid="stHeader"], .st-key-family {display: none !important;}
  html, body, .stApp, .stMain, .block-container {
    position: static !important; overflow: visible !important; padding: 0 !important; height: auto !important;
    background: #fff !important;}
  .stMain * {color: #000 !important;}
  * {print-color-adjust: exact; -webkit-print-color-adjust: exact;}
}
</style>"""


def page() -> None:
    """The chosen family's cards."""
    choices.restore()
    choices.write()
    st.html(STYLE)
    st.segmented_control("Family", fields.FAMILIES, key="family", required=True, label_visibility="collapsed",
                         wrap=True, format_func=lambda text: text[0].upper() + text[1:])
    for notice in choices.notices():
        st.warning(f"The link could not be followed in full. {notice}")
    if st.session_state.family == "glossary":
        words = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>"
                        for name, text in lessons.GLOSSARY.items())
        st.html(f"<dl class='al-words'>{words}</dl>")
    else:
        _family(st.session_state.family)


def _family(family: str) -> None:
    """All cards at once, as one page of text and small pictures; examples not known yet are counted."""
    entries, theme, cards = lessons.entries(family), DARK if frame.dark() else LIGHT, []
    with counted() as tell:
        for done, entry in enumerate(entries):
            tell(done, len(entries), f"examples, {entry.label} next")
            cards.append(card(entry, lessons.example(family, entry.name), theme))
    st.html(f"<div class='al-cards'>{''.join(cards)}</div>")


def card(entry: Entry, example: lessons.Example, theme: Theme) -> str:
    """One entry as HTML: idea, formula, example, when it misleads, options, cost, reference."""
    pictures = "".join(_picture(p, theme, entry.label) for p in example.pictures)
    parts = [f"<h3>{escape(entry.label)}</h3>", pictures or f"<p class='al-facts'>{escape(example.reason)}</p>",
             f"<p>{escape(entry.summary)}</p>"]
    if entry.formula:
        parts.append(f"<p class='al-formula'>{escape(entry.formula)}</p>")
    if entry.misleads:
        parts.append(f"<p><b>When it misleads.</b> {escape(entry.misleads)}</p>")
    if entry.options:
        parts.append(f"<details><summary>{len(entry.options)} option{'s' * (len(entry.options) > 1)}</summary><dl>"
                     + "".join(map(_option, entry.options)) + "</dl></details>")
    if not math.isnan(example.seconds):
        parts.append(f"<p class='al-facts'>Cost: {_time(example.seconds)} {escape(example.work)}, measured here.</p>")
    parts.append(f"<p class='al-facts'>Source: {escape(entry.reference)}<br>Name: {escape(entry.name)}</p>")
    return f"<article class='al-card'>{''.join(parts)}</article>"


def _option(option: Option) -> str:
    allowed = ", ".join(map(str, option.choices)) or ("on or off" if isinstance(option.default, bool) else
                                                      f"{option.low:g} to {option.high:g}")
    default = "on" if option.default is True else "off" if option.default is False else option.default
    given = "" if default is None else f" = {default}"
    return f"<dt>{escape(option.label)}{escape(given)}</dt><dd>{escape(option.help)} <i>{escape(allowed)}</i></dd>"


def _picture(picture: lessons.Picture, theme: Theme, label: str) -> str:
    colours = {"signed": theme.signed, "magnitude": theme.magnitude, "image": theme.image}[picture.kind]
    signed = picture.kind == "signed" or bool(picture.values.min() < 0)  # greys of digits begin at black
    data = thumbnails.picture(np.asarray(picture.values, float), colours, theme, signed=signed, mask=picture.mask)
    alt = f"{label}: {picture.caption}"
    return (f"<figure style='width:{EDGE}px'><img src='{thumbnails.address(data)}' alt='{escape(alt, quote=True)}' "
            f"width='{EDGE}' height='{EDGE}'>{escape(picture.caption)}</figure>")


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:{'.2g' if seconds < .0095 else '.0f'}} ms"
