"""Small pictures and the lesson's charts: where things stand, and that zero is neutral."""

import io

import numpy as np
import pytest
from PIL import Image

from core.figures import lesson, thumbnails
from core.figures.style import DARK, LIGHT


def pixels(data):
    return np.asarray(Image.open(io.BytesIO(data)))


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_row_0_is_on_top_zero_is_the_page_and_signs_differ(theme):
    values = np.zeros((8, 8))
    values[0, 0], values[7, 7] = 1, -3  # asymmetric: zero must stay neutral
    found = pixels(thumbnails.picture(values, theme.signed, theme, signed=True))
    assert found.shape == (256, 256, 3)
    np.testing.assert_array_equal(found[128, 128], thumbnails.rgb(theme.background))
    np.testing.assert_array_equal(found[255, 255], thumbnails.rgb(theme.signed[0]))
    assert not (found[0, 0] == found[128, 128]).all() and not (found[0, 0] == found[255, 255]).all()


def test_an_empty_map_is_blank_and_a_mask_is_outlined():
    mask = np.zeros((8, 8), bool)
    mask[2:4, 2:4] = True
    found = pixels(thumbnails.picture(np.zeros((8, 8)), LIGHT.signed, LIGHT, signed=True, mask=mask))
    np.testing.assert_array_equal(found[96, 96], thumbnails.rgb(LIGHT.background))  # inside
    np.testing.assert_array_equal(found[64, 80], thumbnails.rgb(LIGHT.outline))  # upper edge
    np.testing.assert_array_equal(found[32, 32], thumbnails.rgb(LIGHT.background))


def test_points_stand_where_the_axes_say_and_the_last_lies_on_top():
    red, blue = np.array([[255, 0, 0]], np.uint8), np.array([[0, 0, 255]], np.uint8)
    place = np.array([[1.0, 0.5]])
    found = pixels(thumbnails.dots([(place, red, "disc"), (place, blue, "disc")], ((-2, 2), (-1, 1)), 400))
    assert found.shape == (200, 400, 4)
    np.testing.assert_array_equal(found[50, 300, :3], [0, 0, 255])
    assert found[150, 300, 3] == 0 and found[50, 100, 3] == 0


def test_points_outside_the_axes_are_left_out():
    grey = np.full((2, 3), 128, np.uint8)
    found = pixels(thumbnails.dots([(np.array([[9.0, 0.0], [0.0, -9.0]]), grey, "ring")], ((-1, 1), (-1, 1)), 100))
    assert not found.any()


def test_points_without_a_share_are_rings_and_the_rest_takes_the_scale():
    points = np.array([[-2.0, 0.0], [0.0, 0.0], [2.0, 0.0]])
    found = pixels(lesson.cloud(points, np.array([0.0, np.nan, 0.5]), 0.5, LIGHT))
    middle, third = found.shape[0] // 2, 2 * found.shape[1] / 9
    least, most = (thumbnails.rgb(lesson.shades(LIGHT)[i]) for i in (0, -1))
    np.testing.assert_array_equal(found[middle, int(found.shape[1] / 2 - third), :3], least)
    np.testing.assert_array_equal(found[middle, int(found.shape[1] / 2 + third), :3], most)
    assert found[middle, found.shape[1] // 2, 3] == 0, "a ring is empty inside"


def test_two_arrows_end_at_their_tips_and_axes_are_equal():
    points, positive = np.random.default_rng(0).standard_normal((50, 2)), np.arange(50) % 2 == 0
    tips = {"weight": np.array([1.0, -1.0]), "pattern": np.array([2.0, 0.0])}
    figure = lesson.plane(
        points,
        positive,
        DARK,
        size=14,
        x_label="a",
        y_label="b",
        span=((-3, 3), (-3, 3)),
        names=("no", "yes"),
        labels=((0, 1), (0, -1)),
        arrows=tips,
    )
    ends = [(a.x, a.y) for a in figure.layout.annotations if a.showarrow is None or a.showarrow]
    assert ends == [tuple(t) for t in tips.values()]
    assert figure.layout.yaxis.scaleanchor == "x" and {"<b>● no</b>", "<b>× yes</b>"} <= {
        a.text for a in figure.layout.annotations
    }
