"""Figures for print, in matplotlib: no browser, no global state, fonts embedded, the same bytes every time."""

from core.figures.paper.files import MIME, save
from core.figures.paper.grid import MOST, grid
from core.figures.paper.layout import WIDTHS, Layout
from core.figures.paper.panels import Map, Panel, Plane, Points, short
from core.figures.paper.text import checked

__all__ = ["MIME", "MOST", "WIDTHS", "Layout", "Map", "Panel", "Plane", "Points", "checked", "grid", "save", "short"]
