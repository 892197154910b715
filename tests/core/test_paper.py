"""Figures for print: exact width and type, crisp cells, true colours, no text over another, the same bytes."""

import base64
import io
import itertools
import re
import shutil
import subprocess
import threading
import zlib

import numpy as np
import pytest
from fontTools.ttLib import TTFont
from matplotlib.colors import to_rgb
from matplotlib.image import imread
from matplotlib.text import Text
from skimage.color import rgb2lab

from core import METHODS, InputError
from core.figures import paper
from core.figures.style import LIGHT, PALETTES, SCALES, coloured

RANGES = [(-1, 3), (0, 5), (-4, -1)]
SCORES = (("EMD", 0.0941), ("IME", 1.0))


def one_hot(row=0, column=0, edge=8):
    image = np.zeros((edge, edge))
    image[row, column] = 1
    return image


def checkers(edge):
    return np.indices((edge, edge)).sum(0) % 2 * 2.0 - 1


def panels(figure):
    """The picture of each panel (rows, columns, 3), cut out of the PNG file; colour bars stand last."""
    picture = imread(io.BytesIO(paper.save(figure, "png")))[..., :3]
    cuts = []
    for axis in figure.axes:
        box = axis.get_window_extent()
        height = len(picture)
        cuts.append(picture[round(height - box.y1) : round(height - box.y0), round(box.x0) : round(box.x1)])
    return cuts


def pixel(panel, row, column, edge=8):
    """The colour in the middle of one image pixel."""
    return panel[int((row + 0.5) * len(panel) / edge), int((column + 0.5) * panel.shape[1] / edge)]


def texts(figure):
    """Every visible text with its box in pixels."""
    renderer = figure.canvas.get_renderer()
    return [
        (t.get_text(), t.get_window_extent(renderer))
        for t in figure.findobj(Text)
        if t.get_visible() and t.get_text().strip()
    ]


# ---- pictures


def test_row_0_is_on_top_left_in_every_panel_of_the_file():
    figure = paper.grid([[paper.Map(one_hot(), kind) for kind in ("image", "truth", "signed", "magnitude")]])
    image, mask, signed, magnitude = panels(figure)[:4]
    np.testing.assert_allclose(pixel(image, 0, 0), to_rgb(LIGHT.image[-1]), atol=0.02)
    np.testing.assert_allclose(pixel(mask, 0, 0), to_rgb(LIGHT.outline), atol=0.02)
    np.testing.assert_allclose(pixel(signed, 0, 0), to_rgb(LIGHT.signed[-1]), atol=0.02)
    np.testing.assert_allclose(pixel(magnitude, 0, 0), to_rgb(LIGHT.magnitude[-1]), atol=0.02)
    for corner in ((0, 7), (7, 0), (7, 7)):
        np.testing.assert_allclose(pixel(signed, *corner), (1, 1, 1), atol=0.02)


@pytest.mark.parametrize("low, high", RANGES)
@pytest.mark.parametrize("scale", SCALES)
def test_zero_is_white_on_paper_in_every_signed_map(low, high, scale):
    values = np.full((8, 8), float(high))
    values[0, 0], values[7, 7] = low, 0
    panel = panels(paper.grid([[paper.Map(values)]], paper.Layout(scale=scale, width="column")))[0]
    np.testing.assert_allclose(pixel(panel, 7, 7), (1, 1, 1), atol=0.005)
    place, end = ((0, 0), 0) if low + high < 0 else ((4, 4), -1)
    np.testing.assert_allclose(pixel(panel, *place), to_rgb(LIGHT.signed[end]), atol=0.02)


@pytest.mark.parametrize("name, palette", PALETTES.items())
def test_colours_start_at_zero_and_end_at_the_limit(name, palette):
    ends = coloured([[-2.0, 0.0, 2.0, 9.0, np.nan]], -2, 2, palette.signed)[0] / 255
    for colour, stop in zip(
        ends,
        (
            palette.signed[0],
            palette.signed[len(palette.signed) // 2],
            palette.signed[-1],
            palette.signed[-1],
            "#d9d9d9",
        ),
    ):
        np.testing.assert_allclose(colour, to_rgb(stop), atol=0.005)


@pytest.mark.parametrize("name, palette", PALETTES.items())
def test_magnitudes_keep_their_order_in_grey_and_signs_where_it_is_promised(name, palette):
    def lightness(colours):
        return rgb2lab(coloured(np.linspace(0, 1, 101)[None], 0, 1, colours)[0])[:, 0]

    steps = np.diff(lightness(palette.magnitude))
    assert (steps > -0.01).all() or (steps < 0.01).all(), "a larger value is never lighter here and darker there"
    steps = np.diff(lightness(palette.signed))
    assert ((steps > -0.01).all() or (steps < 0.01).all()) == palette.grey
    assert not palette.grey or np.ptp(lightness(palette.signed)) > 60


@pytest.mark.parametrize("name, palette", PALETTES.items())
def test_colour_blind_readers_tell_for_from_against(name, palette):
    # Machado, Oliveira and Fernandes 2009: what protanopes and deuteranopes see, on linear light.
    eyes = {
        "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    }
    both = coloured(np.array([[-0.5, 0.5]]), -1, 1, palette.signed)[0] / 255
    linear = np.where(both <= 0.04045, both / 12.92, ((both + 0.055) / 1.055) ** 2.4)
    for matrix in eyes.values():
        seen = np.clip(linear @ np.array(matrix).T, 0, 1)
        seen = np.where(seen <= 0.0031308, 12.92 * seen, 1.055 * seen ** (1 / 2.4) - 0.055)
        assert np.linalg.norm(np.diff(rgb2lab(seen), axis=0)) > 25


def test_images_are_shown_over_their_own_range():
    signed, positive = np.zeros((8, 8), np.float32), np.zeros((8, 8), np.float32)
    signed[0, 0], signed[7, 7], positive[7, 7] = -2, 2, 0.5
    first, second = panels(paper.grid([[paper.Map(signed, "image"), paper.Map(positive, "image")]]))
    black, grey, white = LIGHT.image
    for panel, place, colour in (
        (first, (0, 0), black),
        (first, (3, 3), grey),
        (first, (7, 7), white),
        (second, (0, 0), black),
        (second, (7, 7), white),
    ):
        np.testing.assert_allclose(pixel(panel, *place), to_rgb(colour), atol=0.02)


def test_a_shared_scale_shows_the_weak_map_pale_and_says_so():
    for scale in SCALES:
        figure = paper.grid([[paper.Map(one_hot()), paper.Map(0.01 * one_hot())]], paper.Layout(scale=scale))
        assert any(SCALES[scale] in text for text, _ in texts(figure))
        paleness = pixel(panels(figure)[1], 0, 0).min()
        assert paleness > 0.9 if scale == "shared" else paleness < 0.2
        ends = {"panel": "1", "shared": "1", "raw": "max"}[scale]
        assert {ends, f"−{ends}"} <= {text for text, _ in texts(figure)}


def test_the_outline_can_be_left_out():
    for wanted in (True, False):
        panel = panels(
            paper.grid([[paper.Map(0 * one_hot(), mask=one_hot(3, 3) > 0)]], paper.Layout(outline=wanted))
        )[0]
        green = np.abs(panel - to_rgb(LIGHT.outline)).max(-1) < 0.1
        assert green.any() == wanted


def test_every_cell_of_a_png_has_one_crisp_colour_and_its_size():
    for edge in (8, 64):
        panel = panels(paper.grid([[paper.Map(checkers(edge))]], paper.Layout(width="column", dpi=600)))[0]
        inner = panel[4:-4, 4:-4].reshape(-1, 3)
        ends = np.array([to_rgb(LIGHT.signed[-1]), to_rgb(LIGHT.signed[0])])
        assert (np.abs(inner[:, None] - ends).max(2).min(1) < 0.02).mean() > 0.99
        row = panel[len(panel) // edge // 2, 4:-4, 0] > 0.2
        widths = np.diff(np.flatnonzero(np.diff(row)))
        assert len(widths) == edge - 2 and np.ptp(widths) <= 1


@pytest.mark.skipif(not shutil.which("pdftoppm"), reason="needs poppler-utils")
@pytest.mark.parametrize("edge", [8, 64])
def test_cells_of_a_pdf_stay_crisp_at_1200_percent(tmp_path, edge):
    """At 864 dot per inch, twelve times a screen's 72, an edge between two cells is at most two dots wide."""
    figure = paper.grid([[paper.Map(checkers(edge))] * 4], paper.Layout(width="page"))
    (tmp_path / "figure.pdf").write_bytes(paper.save(figure, "pdf"))
    box = figure.axes[0].get_position()
    scale = 864
    wide, high = figure.get_size_inches() * scale
    place = {"-x": box.x0 * wide, "-y": (1 - box.y1) * high, "-W": box.width * wide, "-H": box.height * high}
    subprocess.run(
        [
            "pdftoppm",
            "-r",
            str(scale),
            "-png",
            *(t for f, v in place.items() for t in (f, str(int(v)))),
            tmp_path / "figure.pdf",
            tmp_path / "zoomed",
        ],
        check=True,
    )
    row = imread(next(tmp_path.glob("zoomed*.png")))[..., :3]
    row = row[int(len(row) / edge / 2), 8:-8]
    ends = np.array([to_rgb(LIGHT.signed[-1]), to_rgb(LIGHT.signed[0])])
    crisp = np.abs(row[:, None] - ends).max(2).min(1) < 0.02
    blurred = [len(list(run)) for soft, run in itertools.groupby(~crisp) if soft]
    assert max(blurred, default=0) <= 2
    assert abs(np.count_nonzero(np.diff(row[crisp][:, 0] > 0.2)) - (edge - 1)) <= 1, "every cell is there"


# ---- sizes and type


@pytest.mark.parametrize("width", paper.WIDTHS)
@pytest.mark.parametrize("across", [1, 5, 12])
def test_widths_are_exact_and_heights_stay_on_the_page(width, across):
    figure = paper.grid([[paper.Map(one_hot(), lines=SCORES)] * across] * 3, paper.Layout(width=width))
    page = paper.WIDTHS[width]
    pdf = paper.save(figure, "pdf")
    wide, high = (float(n) / 72 for n in re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+) ?\]", pdf).groups())
    assert abs(wide - page.inches) < 0.01 and high <= page.height + 0.01
    assert imread(io.BytesIO(paper.save(figure, "png"))).shape[1] == int(page.inches * 300)


NAMES = [entry.label for entry in METHODS.values()]


@pytest.mark.parametrize("width", paper.WIDTHS)
@pytest.mark.parametrize("across", [1, 2, 6, 9, 12])
@pytest.mark.parametrize("points", [0, 5, 6.5])
def test_no_text_lies_over_another_or_leaves_the_page(width, across, points):
    row = [paper.Map(one_hot(), lines=SCORES if i > 1 else (("", "class 1"),)) for i in range(across)]
    row[-1] = paper.Map(None, note="does not apply")
    figure = paper.grid(
        [row] * 3,
        paper.Layout(width=width, points=points * (2 if width == "slide" else 1)),
        columns=NAMES[:across],
        rows=["XOR CORR, SNR 0.05, image 3", "Extraordinarily-long-compound-word", "A"],
        groups=[("WHITE", across)],
        notes=["A note that is long enough to be broken into lines on a narrow page, as notes often are."],
        title="Title",
    )
    found = texts(figure)
    assert len(found) > 3 * across
    page = figure.bbox
    for name, box in found:
        assert box.x0 >= -1 and box.y0 >= -1 and box.x1 <= page.x1 + 1 and box.y1 <= page.y1 + 1, name
    for (a, one), (b, other) in itertools.combinations(found, 2):
        shared = min(one.x1, other.x1) - max(one.x0, other.x0), min(one.y1, other.y1) - max(one.y0, other.y0)
        assert min(shared) <= 1, f"{a!r} lies over {b!r}"
    for axis in figure.axes:
        frame = axis.get_window_extent()
        for name, box in found:
            over = min(min(frame.x1, box.x1) - max(frame.x0, box.x0), min(frame.y1, box.y1) - max(frame.y0, box.y0))
            assert over <= 1 or name in "does not apply", f"{name!r} lies over a panel"


def test_all_type_has_the_stated_size():
    cloud = paper.Points(np.eye(3, 2), np.zeros(3), ("a", "b"))
    figure = paper.grid(
        [[paper.Map(one_hot(), lines=SCORES), cloud]], paper.Layout(points=8.5), columns=["a", "b"], notes=["c"]
    )
    assert {t.get_fontsize() for t in figure.findobj(Text) if t.get_text()} == {8.5}
    pdf = paper.save(figure, "pdf")
    content = b"".join(_inflate(part) for part in re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL))
    assert set(re.findall(rb"/F\d+ ([\d.]+) Tf", content)) == {b"8.5"}


def _inflate(data):
    try:
        return zlib.decompress(data)
    except zlib.error:
        return b""


@pytest.mark.skipif(not shutil.which("pdffonts"), reason="needs poppler-utils")
def test_fonts_of_a_pdf_are_embedded_truetype(tmp_path):
    figure = paper.grid([[paper.Map(one_hot(), lines=SCORES)]], columns=["x − σ × ½"], notes=["words"])
    (tmp_path / "f.pdf").write_bytes(paper.save(figure, "pdf"))
    lines = subprocess.run(
        ["pdffonts", tmp_path / "f.pdf"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert len(lines) > 2
    assert all("TrueType" in line and re.search(r"\byes\s+yes\b", line) for line in lines[2:]), lines


def test_what_cannot_fit_is_refused_in_one_sentence():
    with pytest.raises(InputError, match="wider page"):
        paper.grid([[paper.Map(one_hot(), lines=SCORES)] * 24], paper.Layout(width="column", points=20))
    with pytest.raises(InputError, match="1 to 400 panels"):
        paper.grid([])
    with pytest.raises(InputError, match="2 columns need 2 titles, not 1"):
        paper.grid([[paper.Map(one_hot())] * 2], columns=["a"])


@pytest.mark.parametrize("text, said", [("日本", "日"), ("x" * 301, "300"), ("\x00", "character")])
def test_a_text_the_font_cannot_write_is_refused(text, said):
    with pytest.raises(InputError, match=said):
        paper.checked(text)
    assert paper.checked("σ ≤ 1 − x²,  $not math$") == "σ ≤ 1 − x², $not math$"


@pytest.mark.parametrize(
    "field, value",
    [
        ("width", "poster"),
        ("points", 3),
        ("points", float("nan")),
        ("scale", "log"),
        ("palette", "jet"),
        ("dpi", 9999),
        ("outline", "maybe"),
        ("colour", 1),
    ],
)
def test_layouts_check_every_field(field, value):
    with pytest.raises(InputError, match=field):
        paper.Layout.from_dict({field: value})


# ---- files


@pytest.mark.parametrize("ending", paper.MIME)
def test_the_same_figure_gives_the_same_bytes_in_every_thread(ending):
    def draw():
        cloud = paper.Points(np.linspace(-1, 1, 6).reshape(3, 2), np.zeros(3), ("a", "b"))
        figure = paper.grid([[paper.Map(checkers(8), mask=one_hot() > 0, lines=SCORES), cloud]], columns=["a", "b"])
        return paper.save(figure, ending, {"a": [1, "é"]})

    found = [draw()]
    threads = [threading.Thread(target=lambda: found.append(draw())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 5 and len(set(found)) == 1
    assert b'{"a": [1, ' in found[0], "what it was made from stands in the file"
    assert b"Date" not in re.sub(rb"<dc:date>", b"", found[0]) or ending == "png"


def test_text_of_an_svg_is_text():
    svg = paper.save(paper.grid([[paper.Map(one_hot())]], columns=["My method"]), "svg").decode()
    assert ">My method</text>" in svg and "pixelated" in svg
    font = base64.b64decode(re.search(r"font/ttf;base64,([^)]+)\)", svg)[1])
    assert len(font) < 50_000, "the letters used, no more"
    with TTFont(io.BytesIO(font)) as found:
        assert {ord(c) for c in "My method"} <= set(found.getBestCmap())


def test_a_mask_of_nothing_and_an_empty_map_can_be_drawn():
    figure = paper.grid(
        [
            [
                paper.Map(np.zeros((5, 5)), mask=np.zeros((5, 5), bool)),
                None,
                paper.Map(np.ones((4, 7)), "image"),
                paper.Map(np.full((3, 3), np.nan)),
            ]
        ]
    )
    assert paper.save(figure, "png") and paper.save(figure, "pdf")
