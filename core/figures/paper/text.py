"""Text for print: its width, its line breaks, and the characters that the font has."""

from __future__ import annotations

import functools
import io

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from core.cache import cached
from core.types import InputError

FAMILY = "DejaVu Sans"  # comes with matplotlib, so that a figure looks the same everywhere
LONGEST_TEXT = 300  # characters
SPACING = 1.25  # lines of text, in type sizes


def font(points: float) -> FontProperties:
    """The figure's font at a size."""
    return FontProperties(family=FAMILY, size=points)


@functools.lru_cache(maxsize=4096)  # needed thousands of times for each figure; measuring twice does no harm
def width(text: str, points: float) -> float:
    """The width of a line of text in inches."""
    return text_to_path.get_text_width_height_descent(text, font(points), False)[0] / 72 if text else 0.0


def wrap(text: str, available_width: float, points: float) -> list[str]:
    """The text in lines no wider than ``available_width`` inches; a wider word is broken."""
    lines: list[str] = []
    for word in text.split():
        if lines and width(f"{lines[-1]} {word}", points) <= available_width:
            lines[-1] += f" {word}"
            continue
        while width(word, points) > available_width and len(word) > 1:
            cut = next((i for i in range(len(word) - 1, 1, -1) if width(word[:i], points) <= available_width), 1)
            lines.append(word[:cut])
            word = word[cut:]
        lines.append(word)
    return lines


def fits(text: str, available_width: float, points: float, most: int) -> bool:
    """Whether the text fits into ``most`` lines without breaking a word."""
    unbroken = all(width(word, points) <= available_width for word in text.split())
    return unbroken and len(wrap(text, available_width, points)) <= most


def checked(text: str) -> str:
    """``text`` as one line. InputError if it is too long, or names a character that the font lacks."""
    text = " ".join(str(text).split())
    if len(text) > LONGEST_TEXT:
        raise InputError(f"A text on a figure has at most {LONGEST_TEXT} characters, not {len(text)}.")
    if missing := sorted({c for c in text if ord(c) not in _characters()}):
        raise InputError(f"The figure's font, {FAMILY}, has no character {missing[0]!r}. Please use another one.")
    return text


@cached(64)
def subset(letters: str) -> bytes:
    """The figure's font as a TrueType file with these characters only."""
    from fontTools import subset as tools  # late: slow to import, and only an SVG needs it
    from matplotlib import font_manager

    options = tools.Options(hinting=False, layout_features=[], notdef_outline=True, recalc_timestamp=False)
    options.drop_tables += ["FFTM"]  # the font editor's own
    file = io.BytesIO()
    with tools.load_font(font_manager.findfont(font(7)), options) as face:
        worker = tools.Subsetter(options)
        worker.populate(text=letters)
        worker.subset(face)
        tools.save_font(face, file, options)
    return file.getvalue()


@functools.cache
def _characters() -> frozenset[int]:
    from matplotlib import font_manager, ft2font

    return frozenset(ft2font.FT2Font(font_manager.findfont(font(7))).get_charmap())
