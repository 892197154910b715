"""A grid of panels at an exact width, with type of an exact size, in which no text overlaps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from core.figures.paper import text
from core.figures.paper.layout import Layout
from core.figures.paper.panels import EDGE_COLOUR, Bar, Look, Map, Panel, picture
from core.figures.style import SCALES, coloured
from core.types import InputError

MOST = 400  # panels of one figure
DEFAULT_LAYOUT = Layout()
INK, QUIET = "#222222", "#555555"


def grid(
    panels: Sequence[Sequence[Panel | None]],
    layout: Layout = DEFAULT_LAYOUT,
    *,
    columns: Sequence[str] = (),
    rows: Sequence[str] = (),
    groups: Sequence[tuple[str, int]] = (),
    notes: Sequence[str] = (),
    title: str = "",
) -> Figure:
    """A figure of rows of panels, with titles above the ``columns`` and left of the ``rows``.

    ``groups`` are headings over so many columns each. Below stand colour bars, what the colour scale means and
    the ``notes``. All panels have one size; None leaves a cell empty. InputError when it cannot fit.
    """
    return _Sheet(panels, layout, columns, rows, groups, notes, title).draw()


@dataclass
class _Sheet:
    """Measures of one figure in inches, from the top left, and its drawing."""

    panels: Sequence[Sequence[Panel | None]]
    layout: Layout
    columns: Sequence[str]
    rows: Sequence[str]
    groups: Sequence[tuple[str, int]]
    notes: Sequence[str]
    title: str

    def __post_init__(self) -> None:
        self.across = max((len(row) for row in self.panels), default=0)
        if not self.across or self.across * len(self.panels) > MOST:
            raise InputError(f"A figure has 1 to {MOST} panels, not {self.across * len(self.panels)}.")
        for name, texts, count in (("column", self.columns, self.across), ("row", self.rows, len(self.panels))):
            if texts and len(texts) != count:
                raise InputError(f"{count} {name}s need {count} titles, not {len(texts)}.")
        self.columns, self.rows = [text.checked(t) for t in self.columns], [text.checked(t) for t in self.rows]
        self.all = [p for row in self.panels for p in row if p is not None]
        self.size = self.layout.type_size
        self.em = self.size / 72
        self.line = text.SPACING * self.em
        self.pad = 0.02
        self.look = Look(self.layout, self._shared())
        self._measure()

    def _shared(self) -> float | None:
        largest = max((p.largest for p in self._maps()), default=0)
        return largest or None if self.layout.scale == "shared" else None

    def _maps(self) -> list[Map]:
        """The maps whose colours share the scale."""
        return [
            p for p in self.all if isinstance(p, Map) and p.kind in ("signed", "magnitude") and p.values is not None
        ]

    # measures

    def _measure(self) -> None:
        page = self.layout.page
        self.foot = self._foot()
        self.gap = max(0.04, 0.5 * self.em)
        left, bottom = (max((p.axis_margin[i] for p in self.all), default=0) * self.em for i in (0, 1))
        self.axes_left, self.axes_bottom = left, bottom
        self.side_titles = self.line + self.gap if any(self.rows) else 0.0
        self.labels = 0.0
        for _ in range(4):  # titles take space from panels, and the panels' size decides how titles break
            self._place(page)
            lines = max((len(self._row_lines(t)) for t in self.rows), default=0)
            wanted = lines * self.line + self.gap if lines else 0.0
            labels = (
                max((text.width(label, self.size) for label in self._names()), default=0.0) + 0.6 * self.em
                if self.compact
                else 0.0
            )
            if wanted <= self.side_titles and labels <= self.labels:
                break
            self.side_titles, self.labels = max(wanted, self.side_titles), max(labels, self.labels)
        if self.side < 0.1 or not self.digits:
            raise InputError(
                f"{self.across} columns and {len(self.panels)} rows leave {max(self.side, 0):.2f} in "
                f"for a panel on a page of {page.inches:g} by {page.height:g} in. Take a wider page, "
                "smaller type, fewer panels or nothing below them."
            )

    def _place(self, page) -> None:
        """Computes column pitch, panel side and the heights of all bands for the current margins."""
        available_width = page.inches - 2 * self.pad - self.side_titles - self.labels
        self.pitch = available_width / self.across
        self.free = self.pitch - 0.25 * self.em  # room for text in a column
        # Names and numbers where they fit; otherwise numbers only, with their names at the left.
        self.compact, self.digits = next(
            (
                (compact, digits)
                for compact, digits in ((False, 3), (True, 3), (True, 2), (True, 1))
                if all(
                    text.width(line, self.size) <= self.free
                    for p in self.all
                    for line in self._lines(p, compact, digits)
                )
            ),
            (True, 0),
        )
        self.below = max((len(self._lines(p)) for p in self.all), default=0)
        self.turned = not all(text.fits(t, self.free, self.size, 3) for t in self.columns)
        if self.turned:
            self.head = max(text.width(t, self.size) for t in self.columns) + 0.3 * self.line
        else:
            self.head = max((len(text.wrap(t, self.free, self.size)) for t in self.columns), default=0) * self.line
            self.head += 0.15 * self.line if self.columns else 0.0
        self.over = 1.5 * self.line if self.groups else 0.0
        self.titles = len(text.wrap(self.title, page.inches - 2 * self.pad, self.size)) * self.line
        fixed = self.titles + self.over + self.head + self.foot_height + 2 * self.pad
        row = self.below * self.line + self.gap + self.axes_bottom
        self.side = min(self.pitch - self.gap - self.axes_left, (page.height - fixed) / len(self.panels) - row)
        self.row = self.side + row
        self.height = fixed + self.row * len(self.panels)

    def _names(self) -> list[str]:
        return [label for p in self.all for label, _ in p.lines if label]

    def _lines(self, panel: Panel, compact: bool | None = None, digits: int | None = None) -> list[str]:
        """The lines below a panel: names and values, or only the values of those with a name when compact."""
        compact = self.compact if compact is None else compact
        digits = self.digits if digits is None else digits
        written = [
            (name, value if isinstance(value, str) else decimals(value, digits)) for name, value in panel.lines
        ]
        if compact:
            return [value for name, value in written if name]
        return [" ".join(part for part in line if part) for line in written]

    def _row_lines(self, title: str) -> list[str]:
        return text.wrap(title, max(self.row - self.gap, self.em), self.size)

    def _foot(self) -> list[list]:
        """The lines at the bottom: colour bars, then text. Each is a list of bars or of one text."""
        available_width = self.layout.page.inches - 2 * self.pad
        bars = list(dict.fromkeys(b for p in self.all if (b := p.bar(self.look))))
        lines: list[list] = []
        used = available_width
        for bar in bars:
            wide = self._bar_width(bar) + 2 * self.em
            if used + wide > available_width:
                lines.append([])
                used = 0.0
            lines[-1].append(bar)
            used += wide
        words = [t for t in (self._scale_note(), *self.notes) if t]
        lines += [[line] for note in words for line in text.wrap(text.checked(note), available_width, self.size)]
        self.foot_height = (len(lines) + 0.4) * self.line if lines else 0.0
        return lines

    def _scale_note(self) -> str:
        return f"Colours: {SCALES[self.layout.scale]}." if self._maps() else ""

    def _bar_width(self, bar: Bar) -> float:
        return text.width(bar.low, self.size) + text.width(bar.high, self.size) + 10 * self.em

    # drawing

    def draw(self) -> Figure:
        wide = self.layout.page.inches
        self.figure = Figure(
            figsize=(wide, self.height),
            dpi=self.layout.dpi,
            facecolor="white",
            edgecolor="none",
            linewidth=0,
            layout="none",
        )
        FigureCanvasAgg(self.figure)
        self._words(self.pad, self.pad, text.wrap(self.title, wide - 2 * self.pad, self.size), "left")
        top = self.pad + self.titles
        start = self.pad + self.side_titles + self.labels
        self._groups(start, top)
        top += self.over
        for j, title in enumerate(self.columns):
            self._column_title(start + (j + 0.5) * self.pitch + self.axes_left / 2, top, title)
        top += self.head
        for i, row in enumerate(self.panels):
            if self.rows:
                lines = self._row_lines(self.rows[i])
                self._words(
                    self.pad + len(lines) * self.line,
                    top + (self.side + self.axes_bottom) / 2
                    if self._short(lines)
                    else top + (self.row - self.gap) / 2,
                    lines,
                    "row",
                )
            for j, panel in enumerate(row):
                if panel is not None:
                    self._panel(panel, start + j * self.pitch, top)
            if self.compact:
                self._row_labels(row, start - 0.4 * self.em, top)
            top += self.row
        self._draw_foot(top + 0.4 * self.line)
        return self.figure

    def _short(self, lines: Sequence[str]) -> bool:
        """Whether a row's title is no longer than its panel, so that it may stand beside it alone."""
        return all(text.width(line, self.size) <= self.side + self.axes_bottom for line in lines)

    def _axes(self, x: float, y: float, wide: float, high: float):
        inches, height = self.layout.page.inches, self.height
        axis = self.figure.add_axes((x / inches, 1 - (y + high) / height, wide / inches, high / height))
        axis.set(xticks=[], yticks=[], facecolor="white")
        for spine in axis.spines.values():
            spine.set(linewidth=0.3, color=EDGE_COLOUR)
        return axis

    def _panel(self, panel: Panel, left: float, top: float) -> None:
        x = left + self.axes_left + (self.pitch - self.axes_left - self.side) / 2
        axis = self._axes(x, top, self.side, self.side)
        panel.draw(axis, self.look)
        for tick in (*axis.get_xticklabels(), *axis.get_yticklabels(), axis.xaxis.label, axis.yaxis.label):
            tick.set(fontfamily=text.FAMILY, color=INK)
        if note := getattr(panel, "note", ""):
            lines = text.wrap(text.checked(note), self.side * 0.94, self.size)
            lines = lines[: max(1, int(self.side / self.line))]
            self._words(x + self.side / 2, top + (self.side - len(lines) * self.line) / 2, lines, "center", QUIET)
        self._words(
            x + self.side / 2, top + self.side + self.axes_bottom + 0.1 * self.line, self._lines(panel), "center"
        )

    def _row_labels(self, row: Sequence[Panel | None], right: float, top: float) -> None:
        """Draws the names of the numbers below a row once, at its left."""
        names = max(([label for label, _ in p.lines if label] for p in row if p is not None), key=len, default=[])
        self._words(right, top + self.side + self.axes_bottom + 0.1 * self.line, names, "right")

    def _column_title(self, middle: float, top: float, title: str) -> None:
        if self.turned:
            self._text(middle, top + self.head - 0.15 * self.line, title, rotation=90, ha="center", va="bottom")
            return
        lines = text.wrap(title, self.free, self.size)
        self._words(middle, top + self.head - (len(lines) + 0.15) * self.line, lines, "center")

    def _groups(self, start: float, top: float) -> None:
        first = 0
        for name, count in self.groups:
            left = start + first * self.pitch + self.gap / 2
            right = start + (first + count) * self.pitch - self.gap / 2
            self._words((left + right) / 2, top, [text.checked(name)], "center")
            y = 1 - (top + 1.25 * self.line) / self.height
            self.figure.add_artist(
                Line2D(
                    (left / self.layout.page.inches, right / self.layout.page.inches),
                    (y, y),
                    color=EDGE_COLOUR,
                    linewidth=0.5,
                )
            )
            first += count

    def _draw_foot(self, top: float) -> None:
        for items in self.foot:
            x = self.pad
            for item in items:
                x = self._bar(item, x, top) if isinstance(item, Bar) else self._words(x, top, [item], "left", QUIET)
            top += self.line

    def _bar(self, bar: Bar, x: float, top: float) -> float:
        self._words(x, top, [bar.low], "left")
        x += text.width(bar.low, self.size) + 0.5 * self.em
        axis = self._axes(x, top + 0.2 * self.em, 9 * self.em, 0.8 * self.em)
        steps = coloured([[i for i in range(255)]], 0, 254, bar.colours)
        picture(axis, steps, (0, 1, 0, 1))
        axis.set(aspect="auto")
        x += 9.5 * self.em
        self._words(x, top, [bar.high], "left")
        return x + text.width(bar.high, self.size) + 2 * self.em

    def _words(self, x: float, y: float, lines: Sequence[str], where: str, colour: str = INK) -> float:
        """Draws lines of text from y down; ``where="row"`` turns them and grows leftwards from x. Returns x."""
        for i, line in enumerate(lines):
            if where == "row":
                self._text(x - (len(lines) - i - 0.5) * self.line, y, line, rotation=90, ha="center", va="center")
            else:
                self._text(x, y + (i + 0.82) * self.line, line, ha=where, va="baseline", color=colour)
        return x

    def _text(self, x: float, y: float, words: str, **how) -> None:
        self.figure.text(
            x / self.layout.page.inches,
            1 - y / self.height,
            words,
            fontproperties=text.font(self.size),
            parse_math=False,
            **{"color": INK} | how,
        )


def decimals(value: float, digits: int) -> str:
    """A score without its leading zero; a dash where it is undefined."""
    return "–" if math.isnan(value) else f"{value:.{digits}f}".removeprefix("0")
