"""Linear regions around an image, as on the Regions page: exact weights, maps and lines through regions, consistency.

Inside a region a piecewise linear model is one linear function, so an exact explanation is the same for all inputs
of the region; it jumps where a border is crossed.
"""

from core.methods import openapi
from core.regions.common import nearest
from core.regions.consistency import (
    COMPARISON_POINTS,
    IMAGE_IN_REGION,
    NEAREST_IMAGE,
    POINT_IN_REGION,
    Agreement,
    ComparisonPoint,
    agreements,
    comparison_point,
    first_border,
)
from core.regions.deletion import deletion_curves
from core.regions.exact import DISTANCES, Decision, Error, decision, errors
from core.regions.line import METHODS_ALONG, line
from core.regions.plane import REGIONS_WITH_BORDERS, RegionMap, half_width, region_map, tested

SAMPLINGS = tuple(openapi.SAMPLINGS)

__all__ = [
    "COMPARISON_POINTS",
    "DISTANCES",
    "IMAGE_IN_REGION",
    "METHODS_ALONG",
    "NEAREST_IMAGE",
    "POINT_IN_REGION",
    "REGIONS_WITH_BORDERS",
    "SAMPLINGS",
    "Agreement",
    "ComparisonPoint",
    "Decision",
    "Error",
    "RegionMap",
    "agreements",
    "comparison_point",
    "decision",
    "deletion_curves",
    "errors",
    "first_border",
    "half_width",
    "line",
    "nearest",
    "region_map",
    "tested",
]
