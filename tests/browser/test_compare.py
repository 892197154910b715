"""What a person does on Compare. What none of it may show is checked in conftest.py after every test."""

from __future__ import annotations

import csv
import io
import json
import struct
import zlib

import numpy as np
import pytest
from playwright.sync_api import expect

from core import METRICS, Spec, explain, model_library, score
from core.pipeline import DEFAULT_METHODS

SMALL = "?size=8&snr=0.15"
LIME = SMALL + "&methods=lime,gradient"
PLAIN = Spec(size=8, snr=0.15)


# ---- opening


@pytest.mark.parametrize("link", ["?size=8&snr=0.15&image=3", "compare?size=8&snr=0.15&image=3"])
def test_first_request_of_a_new_server_shows_frame_and_page_without_notice(window, new_server, link):
    screen = window(new_server(), link).ready()
    assert screen.page.title() == "Attribution Lab" or "Compare" in screen.page.title()
    assert screen.page.get_by_role("heading", name="Compare explanations").is_visible()
    assert screen.page.locator("[data-testid=stSidebarLogo]").is_visible()
    assert screen.page.get_by_text("Page not found").count() == 0
    assert screen.page.locator("[data-testid=stAlert]").count() == 0
    expect(screen.field("image")).to_have_value("3")
    assert list(screen.scores()) == list(DEFAULT_METHODS)


def test_default_page_shows_a_finished_comparison_without_a_click(window, server):
    screen = window(server, "").ready(wait=180_000)  # makes the 64x64 data first
    assert list(screen.scores()) == list(DEFAULT_METHODS)
    assert "64 × 64" in screen.page.locator(".st-key-size [aria-checked=true]").inner_text()
    for text in screen.scores().values():
        assert all(metric.label in text for metric in METRICS.values())


def test_scores_and_maps_on_screen_are_core_s(compare):
    screen = compare(SMALL + "&image=6")
    for method, text in screen.scores().items():
        attribution = explain(PLAIN.replace(image=6, method=method))
        for name, value in score(attribution).values.items():
            assert f"{METRICS[name].label} {value:.3f}" in text
        screen.wait_for_map(method, attribution.values)


# ---- changing what is shown


def test_next_previous_and_number_change_the_image(compare):
    screen = compare()
    screen.press("Next")
    screen.wait_for_query(image="1")
    screen.wait_for_map("gradient", explain(PLAIN.replace(image=1, method="gradient")).values)
    screen.enter("image", "17")
    screen.wait_for_query(image="17")
    screen.wait_for_map("gradient", explain(PLAIN.replace(image=17, method="gradient")).values)
    screen.press("Previous")
    screen.wait_for_query(image="16")
    screen.wait_for_map("gradient", explain(PLAIN.replace(image=16, method="gradient")).values)


def test_changing_the_scenario_leads_to_a_model_or_the_offer_to_train_one(compare):
    screen = compare()
    for scenario in ("LIN", "RIGID"):
        screen.choose("scenario", scenario)
        screen.wait_for_query(scenario=scenario)
        ready = [
            r.spec.snr
            for r in model_library.known_models(PLAIN.replace(scenario=scenario))
            if r.spec.model == "MLP" and r.available
        ]
        if ready:
            screen.ready()
            assert float(screen.query.get("snr", Spec().snr)) in ready
        else:
            screen.page.get_by_role("button", name="Train this model").wait_for()
            assert screen.query["snr"] == "0.15"
    screen.choose("scenario", "XOR")
    screen.wait_for_query(scenario=None)
    screen.ready()


def test_notice_about_a_bad_link_stays_until_the_reader_goes_on(window, server):
    screen = window(server, SMALL + "&image=99999&colour=red").ready()
    notices = screen.page.locator("[data-testid=stAlert]")
    assert notices.count() == 2, notices.all_inner_texts()
    assert "99999" in " ".join(notices.all_inner_texts()) and "colour" in " ".join(notices.all_inner_texts())
    screen.press("Next")
    notices.first.wait_for(state="detached")


# ---- the address


def test_back_returns_to_the_previous_view_and_forward_to_the_next(compare):
    screen = compare()
    views = [screen.scores()]
    for number in (1, 2):
        screen.press("Next")
        screen.wait_for_query(image=str(number))
        screen.wait_for_map("gradient", explain(PLAIN.replace(image=number, method="gradient")).values)
        views.append(screen.ready().scores())
    for step, number in ((screen.page.go_back, "1"), (screen.page.go_back, None), (screen.page.go_forward, "1")):
        step()
        screen.wait_for_query(image=number)
        screen.wait_for_scores(views[int(number or 0)])
        expect(screen.field("image")).to_have_value(number or "0", timeout=5000)  # drawn a moment after the scores


def test_address_restores_the_screen_in_another_window_and_after_a_reload(compare):
    screen = compare(LIME)
    screen.enter("image", "9")
    screen.wait_for_query(image="9")
    screen.wait_for_map("lime", explain(PLAIN.replace(image=9, method="lime")).values)
    screen.enter("row", "2")
    screen.enter("column", "5")
    screen.wait_for_query(row="2", column="5")
    screen.ready()
    address, scores = screen.page.evaluate("location.search"), screen.scores()
    assert list(scores) == ["lime", "gradient"]
    screen.page.reload()
    for other in (screen.ready(), compare(address, locale="en-GB")):  # an option: another browser
        assert other.scores() == scores
        assert other.page.evaluate("location.search") == address
        for key, value in (("image", "9"), ("row", "2"), ("column", "5")):
            expect(other.field(key)).to_have_value(value)


# ---- options


def test_options_apply_to_the_map_and_go_back_to_defaults(compare):
    screen = compare(LIME)
    plain = explain(PLAIN.replace(method="lime")).values
    screen.wait_for_map("lime", plain)
    form = screen.options("lime")
    form.get_by_label("Samples", exact=True).fill("50")
    form.get_by_role("button", name="Apply").click()
    screen.wait_for_query(**{"lime.n_samples": "50"})
    screen.wait_for_map("lime", explain(PLAIN.replace(method="lime", options={"n_samples": 50})).values)
    screen.ready()
    screen.options("lime").get_by_role("button", name="Defaults").click()
    screen.wait_for_query(**{"lime.n_samples": None})
    screen.wait_for_map("lime", plain)


def test_form_shows_the_defaults_after_defaults(compare):
    screen = compare(LIME + "&lime.n_samples=50")
    form = screen.options("lime")
    assert form.get_by_label("Samples", exact=True).input_value() == "50"
    form.get_by_label("Samples", exact=True).fill("60")
    form.get_by_role("button", name="Apply").click()
    screen.wait_for_query(**{"lime.n_samples": "60"})
    screen.ready()
    screen.options("lime").get_by_role("button", name="Defaults").click()
    screen.wait_for_query(**{"lime.n_samples": None})
    screen.ready()
    expect(screen.options("lime").get_by_label("Samples", exact=True)).to_have_value("1000", timeout=5000)


def test_form_shows_the_options_in_use_after_back(compare):
    screen = compare(LIME)
    form = screen.options("lime")
    form.get_by_label("Samples", exact=True).fill("50")
    form.get_by_role("button", name="Apply").click()
    screen.wait_for_query(**{"lime.n_samples": "50"})
    screen.ready()
    screen.page.go_back()
    screen.wait_for_query(**{"lime.n_samples": None})
    screen.wait_for_map("lime", explain(PLAIN.replace(method="lime")).values)
    screen.ready()
    expect(screen.options("lime").get_by_label("Samples", exact=True)).to_have_value("1000", timeout=5000)


def test_options_applied_one_after_another_leave_no_error(compare):
    screen = compare(LIME)
    for samples in ("50", "60", "70", "80"):
        form = screen.options("lime")
        field = form.get_by_label("Samples", exact=True)
        expect(field).to_have_count(1)  # the field with the value before has gone
        field.fill(samples)
        form.get_by_role("button", name="Apply").click()
        screen.wait_for_query(**{"lime.n_samples": samples})
    screen.wait_for_map("lime", explain(PLAIN.replace(method="lime", options={"n_samples": 80})).values)
    screen.ready()


# ---- taking it away


def download(screen, label: str) -> bytes:
    with screen.page.expect_download() as waiting:
        screen.press(label)
    return waiting.value.path().read_bytes()


def test_downloads_hold_what_is_on_screen(compare):
    screen = compare(LIME + "&image=5&lime.n_samples=200")
    specs = [
        PLAIN.replace(image=5, method="lime", options={"n_samples": 200}),
        PLAIN.replace(image=5, method="gradient"),
    ]
    maps = [explain(spec) for spec in specs]

    table = list(csv.DictReader(io.StringIO(download(screen, "Scores (csv)").decode())))
    assert [row["method"] for row in table] == ["lime", "gradient"]
    for row, attribution in zip(table, maps):
        for name, value in score(attribution).values.items():
            assert float(row[name]) == value
            assert f"{METRICS[name].label} {value:.3f}" in screen.scores()[row["method"]]

    settings = json.loads(download(screen, "Settings (json)"))
    assert [Spec.from_dict(content) for content in settings] == [a.spec for a in maps]

    arrays = np.load(io.BytesIO(download(screen, "Maps (npz)")), allow_pickle=False)
    np.testing.assert_array_equal(arrays["map_lime"], maps[0].values)
    np.testing.assert_array_equal(arrays["map_gradient"], maps[1].values)
    np.testing.assert_array_equal(arrays["image"], maps[0].image)
    np.testing.assert_array_equal(arrays["mask"], maps[0].mask)
    assert json.loads(str(arrays["spec"])) == settings

    width, height, colours = read_png(download(screen, "Figure (PNG)"))
    assert (width, colours) == (6.75 * 300, 4) or (width, colours) == (6.75 * 300, 3)
    assert height > width / 5


def read_png(data: bytes) -> tuple[int, int, int]:
    """Width, height and colour channels of a whole, undamaged PNG file."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    place, kinds = 8, []
    while place < len(data):
        length, kind = struct.unpack(">I4s", data[place : place + 8])
        (body,) = struct.unpack(">I", data[place + 8 + length : place + 12 + length])
        assert zlib.crc32(data[place + 4 : place + 8 + length]) == body
        kinds.append(kind)
        place += 12 + length
    assert kinds[-1] == b"IEND"
    width, height, _, colour = struct.unpack(">IIBB", data[16:26])
    return width, height, {2: 3, 6: 4}[colour]


def test_download_neither_reruns_the_page_nor_computes_again(compare, server):
    screen = compare(LIME + "&image=8")
    results = sorted((server.home / "results").iterdir())
    times = [path.stat().st_mtime_ns for path in results]
    screen.page.evaluate("""() => { window.runs = 0; new MutationObserver(() => {
        window.runs += document.querySelector('[data-test-script-state=running]') ? 1 : 0 }).observe(
        document.querySelector('[data-testid=stApp]'), {attributes: true}) }""")
    for label in ("Figure (PNG)", "Maps (npz)", "Scores (csv)", "Settings (json)"):
        assert download(screen, label)
    assert screen.page.evaluate("window.runs") == 0
    assert sorted((server.home / "results").iterdir()) == results
    assert [path.stat().st_mtime_ns for path in results] == times
    screen.press("Next")
    screen.wait_for_query(image="9")
    assert screen.page.evaluate("window.runs") > 0, "the count works"


# ---- reading values


def over(screen, method, row, column):
    """Puts the pointer on a pixel of a method's 8x8 map."""
    box = screen.panel(method).locator(".al-map")
    box.scroll_into_view_if_needed()
    edges = box.bounding_box()
    screen.page.mouse.move(
        edges["x"] + edges["width"] * (column + 0.5) / 8, edges["y"] + edges["height"] * (row + 0.5) / 8
    )


def test_the_pointer_reads_the_same_pixel_in_all_maps(compare):
    screen = compare(LIME)
    row, column = 1, 2
    for pointed in ("lime", "gradient"):
        over(screen, pointed, row, column)
        for method in ("lime", "gradient"):
            values = explain(PLAIN.replace(method=method)).values
            share = round(100 * values[row, column] / np.abs(values).max())
            where = f"row {row}, column {column}: " if method == pointed else ""
            reading = screen.panel(method).locator(".al-map output")
            expect(reading).to_have_text(f"{where}{share:+d} %" if share else f"{where}0 %")
            expect(reading).to_be_visible()
        inside = "important" if explain(PLAIN.replace(method="lime")).mask[row, column] else "not important"
        expect(screen.panel("of-truth").locator(".al-map output")).to_have_text(inside)
    screen.page.mouse.move(5, 5)
    expect(screen.page.locator(".al-map output:visible")).to_have_count(0)


def test_neither_of_two_clicks_close_together_is_lost(compare):
    screen = compare(LIME)
    for image in range(1, 7):
        screen.press("Next")
        screen.page.wait_for_timeout(20 * image)
        over(screen, "gradient", image, 3)
        screen.page.mouse.down()
        screen.page.mouse.up()
        screen.wait_for_query(image=str(image), row=str(image), column="3")
        screen.ready()


def test_a_click_marks_a_pixel_and_a_second_click_unmarks_it(compare):
    screen = compare(LIME)
    over(screen, "lime", 6, 5)
    screen.page.mouse.down()
    screen.page.mouse.up()
    screen.wait_for_query(row="6", column="5")
    expect(screen.page.locator("[data-testid=stMain]")).to_contain_text("Row 6, column 5")
    screen.ready()
    over(screen, "gradient", 6, 5)
    screen.page.mouse.down()
    screen.page.mouse.up()
    screen.wait_for_query(row=None, column=None)


def test_pixel_can_be_marked_and_unmarked_by_keyboard(compare):
    screen = compare(LIME)
    screen.enter("row", "2")
    screen.enter("column", "3")
    table = screen.page.locator("[data-testid=stDataFrame]")
    table.wait_for()
    screen.wait_for_query(row="2", column="3")
    screen.enter("row", "")
    table.wait_for(state="detached", timeout=5000)
    screen.wait_for_query(row=None)


# ---- many kinds of reader


def test_phone_needs_no_horizontal_scrolling(compare):
    screen = compare(SMALL, viewport={"width": 400, "height": 800})
    assert (
        screen.page.evaluate("""() => Math.max(document.documentElement.scrollWidth,
        document.querySelector('[data-testid=stMain]').scrollWidth)""")
        <= 400
    )
    right = screen.page.evaluate("""() => Math.max(...[...document.querySelectorAll('[data-testid=stMain] button, ' +
        '[data-testid=stMain] input, .al-map')].filter(e => e.offsetParent && !e.closest('[aria-hidden=true]'))
        .map(e => e.getBoundingClientRect().right))""")
    assert right <= 400


def test_dark_reader_gets_a_dark_page_with_a_dark_zero(compare):
    screen = compare(SMALL, color_scheme="dark")
    background = screen.page.evaluate(
        "getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"
    )
    assert max(map(int, background[4:-1].split(","))) < 60
    truth = screen.page.evaluate("""async () => {
        const image = document.querySelector('.st-key-panel-of-truth .al-map img');
        const canvas = new OffscreenCanvas(8, 8);
        await image.decode();
        canvas.getContext('2d').drawImage(image, 0, 0);
        return [...canvas.getContext('2d').getImageData(0, 0, 1, 1).data.slice(0, 3)] }""")
    assert background == "rgb({}, {}, {})".format(*truth), "an unimportant pixel is the page's own background"


def test_keyboard_reaches_every_control_and_works_them(compare):
    screen = compare(LIME)
    wanted = {
        "scenario",
        "background",
        "size",
        "snr",
        "model",
        "image",
        "images",
        "methods",
        "row",
        "column",
        "lime-popover",
        "download-png",
        "download-npz",
        "download-csv",
        "download-json",
    }
    reached: set[str] = set()
    for _ in range(200):  # twice round, wherever the browser starts
        screen.page.keyboard.press("Tab")
        reached.add(
            screen.page.evaluate("""() => document.activeElement.closest('[class*=st-key-]')
            ?.className.match(/st-key-([\\w-]+?)(?:-\\d+)?(?:\\s|$)/)[1] ?? document.activeElement.innerText""")
        )
        if wanted <= reached:
            break
    missing = wanted - reached
    assert not missing, f"not reached: {missing}; reached: {reached}"
    screen.field("image").focus()
    screen.page.keyboard.press("ArrowUp")
    screen.page.keyboard.press("Enter")
    screen.wait_for_query(image="1")


def test_every_button_has_a_name_a_screen_reader_can_say(compare):
    screen = compare(LIME)
    snapshot = screen.page.locator("[data-testid=stMain]").aria_snapshot()
    assert 'button "tune icon"' not in snapshot, "the options button is named after its icon"
    assert not [line for line in snapshot.splitlines() if line.strip() in ("- button", "- button:")]


def test_every_chart_has_a_text_alternative(compare):
    screen = compare(LIME)
    labels = screen.page.evaluate("""() => [...document.querySelectorAll('[class*=st-key-chart-]')].map(chart =>
        chart.querySelector('img')?.alt ?? '')""")
    assert len(labels) == 4 and all(len(label) > 10 for label in labels), labels


# ---- training


def train(screen) -> None:
    """Starts a training and waits for its first counted progress."""
    screen.page.get_by_role("button", name="Train this model").click()
    screen.page.get_by_text("of at most").first.wait_for()


def test_training_shows_counted_progress_and_ends_with_the_comparison(window, server):
    screen = window(server, "?size=8&snr=0.31&methods=gradient")
    train(screen)
    screen.page.get_by_text("of at most").first.wait_for(state="detached", timeout=180_000)
    assert "gradient" in screen.ready(wait=30_000).scores()
    assert screen.query["snr"] == "0.31", "the reader stays where the model was trained"
    assert not [line for line in server.children() if "core train" in line]


def test_cancel_ends_the_training_process(window, server):
    screen = window(server, "?size=8&snr=0.0123&methods=gradient")
    train(screen)
    assert [line for line in server.children() if "core train" in line]
    screen.page.get_by_role("button", name="Cancel").click()
    screen.page.get_by_role("button", name="Train this model").wait_for()
    assert not [line for line in server.children() if "core train" in line]
    assert not [
        path for path in (server.home / "models").glob("*.json") if json.loads(path.read_text())["snr"] == 0.0123
    ]
