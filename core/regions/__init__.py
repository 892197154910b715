"""Linear regions around an image: exact weights and their proof, maps and lines through regions, consistency.

What the Regions page shows. Inside one region a piecewise linear model is a linear function, so an exact
explanation is the same for all its inputs; where a border is crossed it jumps.
"""

from core.methods import openapi
from core.regions.common import Progress, nearest
from core.regions.consistency import PARTNERS, Agreement, agreements, first_border, partner
from core.regions.deletion import removals
from core.regions.exact import DISTANCES, Decision, Error, decision, errors
from core.regions.line import ALONG, line
from core.regions.plane import FEW, half_width, region_map, tested

SAMPLINGS = tuple(openapi.SAMPLINGS)

__all__ = ["ALONG", "DISTANCES", "FEW", "PARTNERS", "SAMPLINGS", "Agreement", "Decision", "Error", "Progress",
           "agreements", "decision", "errors", "first_border", "half_width", "line", "nearest", "partner",
           "region_map", "removals", "tested"]
