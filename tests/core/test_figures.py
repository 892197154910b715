import numpy as np
import pytest
from matplotlib.colors import to_rgb

from core import InputError
from core.figures import screen
from core.figures.style import DARK, LIGHT, SCALES, limits, outline, shown

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
    return sum(not padded[r + dr, c + dc] for r, c in np.argwhere(padded)
               for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0)))


def edges(segments):
    """Segments cut into pieces one pixel long."""
    return {frozenset({(x0 + (x1 - x0) * i / n, y0 + (y1 - y0) * i / n),
                       (x0 + (x1 - x0) * (i + 1) / n, y0 + (y1 - y0) * (i + 1) / n)})
            for (x0, y0), (x1, y1) in segments for n in [round(np.hypot(x1 - x0, y1 - y0))] for i in range(n)}


def test_an_outline_of_one_pixel_is_its_four_sides():
    top, bottom, left, right = 1.5, 2.5, 4.5, 5.5
    expected = [((left, top), (right, top)), ((left, bottom), (right, bottom)),
                ((left, top), (left, bottom)), ((right, top), (right, bottom))]
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


def colour_at(trace, value):
    """The colour plotly draws for a value, as three numbers from 0 to 1."""
    at = (value - trace.zmin) / (trace.zmax - trace.zmin)
    stops, colours = zip(*trace.colorscale)
    return np.array([np.interp(at, stops, channel) for channel in zip(*map(to_rgb, colours))])


@THEMES
@pytest.mark.parametrize("low, high", RANGES)
def test_zero_is_the_pages_background_in_every_signed_map(theme, low, high):
    values = np.linspace(low, high, 64).reshape(8, 8)
    (limit,) = limits([values], "raw")
    trace = screen.heatmap(values, limit, theme.signed, theme, signed=True).data[0]
    assert trace.zmin == -trace.zmax == -max(abs(low), abs(high))
    np.testing.assert_allclose(colour_at(trace, 0), to_rgb(theme.background), atol=1e-9)
    assert np.abs(colour_at(trace, trace.zmax) - colour_at(trace, trace.zmin)).max() > 0.3


@THEMES
def test_a_magnitude_starts_at_zero(theme):
    trace = screen.heatmap(np.eye(8), 1.0, theme.magnitude, theme, signed=False).data[0]
    assert (trace.zmin, trace.zmax) == (0, 1)


def test_row_0_is_on_top_on_screen_with_its_mask_and_mark():
    mask = one_hot().astype(bool)
    figure = screen.heatmap(one_hot(), 1.0, LIGHT.signed, LIGHT, signed=True, mask=mask, pixel=(0, 0))
    heat, around, mark = figure.data
    np.testing.assert_array_equal(heat.z, one_hot())
    assert tuple(figure.layout.yaxis.range) == (7.5, -0.5) and tuple(figure.layout.xaxis.range) == (-0.5, 7.5)
    assert heat.x is None and heat.y is None and heat.zsmooth is False
    for line in (around, mark):
        assert {v for v in line.x if v is not None} == {v for v in line.y if v is not None} == {-0.5, 0.5}


def test_the_marked_pixel_is_row_then_column():
    figure = screen.heatmap(np.zeros((8, 8)), 1.0, LIGHT.signed, LIGHT, signed=True, pixel=(2, 5))
    mark = figure.data[-1]
    assert {v for v in mark.x if v is not None} == {4.5, 5.5}
    assert {v for v in mark.y if v is not None} == {1.5, 2.5}


def test_hover_numbers_belong_to_their_pixel():
    numbers = np.arange(128, dtype=np.int8).reshape(8, 8, 2)
    trace = screen.heatmap(np.zeros((8, 8)), 1.0, LIGHT.signed, LIGHT, signed=True, hover=numbers,
                           hover_names=("a", "b")).data[0]
    np.testing.assert_array_equal(trace.customdata, numbers)
    maps = np.array([[[1.0, -4.0]], [[0.0, 0.0]]])
    np.testing.assert_array_equal(screen.percents(maps), [[[25, 0], [-100, 0]]])
    assert "a: %{customdata[0]" in trace.hovertemplate and "b: %{customdata[1]" in trace.hovertemplate


def test_figures_keep_no_global_state(python):
    run = python("-c", "import sys; from core.figures import screen, style; "
                       "print([m for m in ('matplotlib.pyplot', 'streamlit') if m in sys.modules])")
    assert run.stdout.strip() == "[]", run.stdout + run.stderr
