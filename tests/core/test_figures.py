"""What screen and paper share, and the panels of the browser."""

import base64
import io
import json
import re

import numpy as np
import pytest
from PIL import Image

from core import InputError
from core.figures.heatmap import heatmap, percents
from core.figures.style import (
    DARK,
    KINDS,
    LIGHT,
    SCALES,
    limits,
    outline,
    peak,
    region_borders,
    scaled,
    shown,
    strongest,
    two_sided,
)
from core.figures.thumbnails import rgb

THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
RANGES = [(-1, 3), (0, 5), (-4, -1)]


def one_hot(row=0, column=0, edge=8):
    image = np.zeros((edge, edge))
    image[row, column] = 1
    return image


def length(segments):
    return sum(np.hypot(x1 - x0, y1 - y0) for (x0, y0), (x1, y1) in segments)


def perimeter(mask):
    """Sides of important pixels whose neighbour is not important, counted one by one."""
    padded = np.pad(mask, 1)
    return sum(
        not padded[r + dr, c + dc] for r, c in np.argwhere(padded) for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0))
    )


def edges(segments):
    """Segments cut into pieces one pixel long."""
    return {
        frozenset(
            {
                (x0 + (x1 - x0) * i / n, y0 + (y1 - y0) * i / n),
                (x0 + (x1 - x0) * (i + 1) / n, y0 + (y1 - y0) * (i + 1) / n),
            }
        )
        for (x0, y0), (x1, y1) in segments
        for n in [round(np.hypot(x1 - x0, y1 - y0))]
        for i in range(n)
    }


def test_an_outline_of_one_pixel_is_its_four_sides():
    top, bottom, left, right = 1.5, 2.5, 4.5, 5.5
    expected = [
        ((left, top), (right, top)),
        ((left, bottom), (right, bottom)),
        ((left, top), (left, bottom)),
        ((right, top), (right, bottom)),
    ]
    assert edges(outline(one_hot(2, 5).astype(bool))) == {frozenset(e) for e in expected}


@pytest.mark.parametrize("seed", range(5))
def test_an_outline_is_as_long_as_the_perimeter_and_every_piece_once(seed):
    mask = np.random.default_rng(seed).random((6, 9)) < (0.2, 0.5, 0.8, 1.0, 0.0)[seed]
    assert length(outline(mask)) == perimeter(mask) == len(edges(outline(mask)))


def test_an_outline_of_a_batch_is_refused():
    with pytest.raises(InputError):
        outline(np.zeros((1, 8, 8), bool))


def test_limits_are_the_largest_value_of_each_or_of_all():
    maps = [np.array([[-3.0, 1]]), np.array([[0.03, -0.01]]), np.zeros((1, 2))]
    assert limits(maps, "panel") == limits(maps, "raw") == [3.0, 0.03, 0.0]
    assert limits(maps, "shared") == [3.0, 3.0, 3.0]
    with pytest.raises(InputError):
        limits(maps, "other")


def test_a_map_of_a_hundredth_looks_alike_per_panel_and_pale_on_a_shared_scale():
    a = np.random.default_rng(0).standard_normal((8, 8))
    maps = [a, 0.01 * a]
    per_panel = [shown(m, limit, "panel") for m, limit in zip(maps, limits(maps, "panel"))]
    np.testing.assert_allclose(per_panel[0][0], per_panel[1][0])
    assert [limit for _, limit in per_panel] == [1, 1] and np.abs(per_panel[0][0]).max() == 1
    shared = [shown(m, limit, "shared") for m, limit in zip(maps, limits(maps, "shared"))]
    assert np.abs(shared[1][0]).max() / shared[1][1] == pytest.approx(0.01)


@pytest.mark.parametrize("scale", SCALES)
def test_an_empty_map_is_shown_as_nothing(scale):
    values, limit = shown(np.zeros((8, 8)), limits([np.zeros((8, 8))], scale)[0], scale)
    assert limit > 0 and not values.any()


def picture(panel):
    """The pixels (h,w,3) of a panel."""
    with Image.open(io.BytesIO(base64.b64decode(panel["picture"].partition(",")[2]))) as image:
        return np.asarray(image)


def corners(line):
    """All x and all y in an SVG path."""
    x, y = np.array([pair.split() for pair in re.split("[ML]", line["path"])[1:]], float).T
    return set(x), set(y)


@THEMES
@pytest.mark.parametrize("low, high", RANGES)
def test_zero_is_the_pages_background_in_every_signed_map(theme, low, high):
    values = np.linspace(low, high, 64).reshape(8, 8)
    values[0, 0], values[7, 7] = 0, np.abs(values).max()
    (limit,) = limits([values], "raw")
    shown = picture(heatmap(values, limit, "signed", theme))
    np.testing.assert_array_equal(shown[0, 0], rgb(theme.background))
    np.testing.assert_array_equal(shown[7, 7], rgb(theme.signed[-1]))


@THEMES
def test_a_magnitude_starts_at_zero(theme):
    shown = picture(heatmap(np.eye(8), 1.0, "magnitude", theme))
    np.testing.assert_array_equal(shown[0, 1], rgb(theme.magnitude[0]))
    np.testing.assert_array_equal(shown[1, 1], rgb(theme.magnitude[-1]))


def test_row_0_is_on_top_on_screen_with_its_mask_and_mark():
    panel = heatmap(one_hot(), 1.0, "signed", LIGHT, mask=one_hot().astype(bool), pixel=(0, 0))
    shown = picture(panel)
    np.testing.assert_array_equal(shown[0, 0], rgb(LIGHT.signed[-1]))
    assert (shown == rgb(LIGHT.background)).all(2).sum() == 63 and shown.shape == (8, 8, 3), "one cell a pixel"
    assert [corners(line) for line in panel["lines"]] == [({0, 1}, {0, 1})] * 2


def test_the_marked_pixel_is_row_then_column():
    panel = heatmap(np.zeros((8, 8)), 1.0, "signed", LIGHT, pixel=(2, 5))
    assert corners(panel["lines"][-1]) == ({5, 6}, {2, 3})


def test_hatched_pixels_are_crossed_inside_their_edges():
    panel = heatmap(np.zeros((4, 4)), 1.0, "signed", LIGHT, hatched=one_hot(1, 2, 4).astype(bool))
    x, y = corners(panel["lines"][0])
    assert 2 < min(x) < max(x) < 3 and 1 < min(y) < max(y) < 2


def test_a_map_may_cover_another_where_it_has_values():
    over = np.full((8, 8), np.nan)
    over[3, 4] = 1
    plain, covered = (picture(heatmap(np.eye(8), 1.0, "image", LIGHT, over=o)) for o in (None, over))
    np.testing.assert_array_equal(covered[3, 4], rgb(LIGHT.signed[-1]))
    assert (plain != covered).any(2).sum() == 1


def test_the_pointer_reads_whole_percents_of_the_largest_value():
    values = np.array([[1.0, -4.0], [0.0, 0.02]])
    panel = heatmap(values, 9.0, "signed", LIGHT, words={0: "nothing"})
    np.testing.assert_array_equal(np.frombuffer(base64.b64decode(panel["percents"]), np.int8), [25, -100, 0, 0])
    assert panel["words"] == {0: "nothing"} and json.loads(json.dumps(panel))["rows"] == 2
    np.testing.assert_array_equal(percents(np.zeros((2, 2))), np.zeros((2, 2)))


@THEMES
def test_every_kind_of_panel_has_colours_and_only_signed_content_has_two_sides(theme):
    assert all(len(theme.colours(kind)) >= 2 for kind in KINDS)
    positive, mixed = np.eye(2), np.array([[1.0, -1.0]])
    assert [two_sided(kind, positive) for kind in KINDS] == [True, False, False, False]
    assert [two_sided(kind, mixed) for kind in KINDS] == [True, False, True, False]


def test_a_scaled_map_has_peak_one_and_an_all_zero_map_stays_zero():
    assert peak(np.array([[1.0, -4.0]])) == 4 and peak(np.zeros((2, 2))) == 1
    np.testing.assert_array_equal(scaled(np.array([[1.0, -4.0]])), [[0.25, -1]])
    np.testing.assert_array_equal(scaled(np.zeros((2, 2))), np.zeros((2, 2)))


def test_the_strongest_tenth_keeps_its_signs_and_leaves_the_rest_out():
    values = np.linspace(-1, 0.5, 100).reshape(10, 10)
    drawn = strongest(values)
    assert np.isfinite(drawn).sum() == 10 and (drawn[0] == -1).all() and np.isnan(drawn[1:]).all()


def test_borders_run_between_points_of_different_regions():
    region = np.array([[0, 0, 1], [0, 0, 1], [2, 2, 2]])
    borders = region_borders(region, np.array([-1.0, 0.0, 1.0]))
    assert length(borders) == 5  # two sides of region 1, three of region 2
    corners = {frozenset(ends) for ends in borders}
    assert corners >= {frozenset({(0.5, -1.5), (0.5, -0.5)}), frozenset({(-1.5, 0.5), (-0.5, 0.5)})}


def test_figures_keep_no_global_state(python):
    run = python(
        "-c",
        "import sys; from core.figures import screen, style; "
        "print([m for m in ('matplotlib.pyplot', 'streamlit') if m in sys.modules])",
    )
    assert run.stdout.strip() == "[]", run.stdout + run.stderr
