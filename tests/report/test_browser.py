"""The report and the live page in a real browser."""

from __future__ import annotations

import base64
import io
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from PIL import Image

from encoders.kit.view.glb import encode_glb
from encoders.kit.view.scene import ViewMaterial, ViewMesh, ViewScene
from pipeline.report.page.viewer import viewer_page
from tests.pipeline.game import Game
from tests.report.browser import Watched, expect, missing, running
from tests.report.conftest import make_game, paint
from tests.report.part import REPORT, Page
from tests.report.test_report_page import failed_page, failure, large_page, page_of_failures

pytestmark = [pytest.mark.skipif(bool(missing()), reason=missing()), pytest.mark.timeout(240)]
SCHEMES = ("light", "dark")
LETTERS = "#10151b"  # the colour of names on maps


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with running() as one:
        yield one


@pytest.fixture
def watched(browser: Any) -> Iterator[Watched]:
    one = Watched(browser)
    yield one
    one.context.close()
    assert one.problems == []


@pytest.fixture
def report(built: Game, watched: Watched) -> Any:
    tab = watched.open(built.path(REPORT).as_uri())
    yield tab
    assert watched.others("file:") == []


def until(tab: Any, expression: str, within_s: float = 30) -> None:
    """Wait until an expression is true; playwright's own wait is stopped by the page's policy."""
    end = time.monotonic() + within_s
    while not tab.evaluate(expression):
        assert time.monotonic() < end, expression
        tab.wait_for_timeout(20)


def title_of_dialog(tab: Any, title: str) -> None:
    """Wait for the dialog, which opens when its details are unpacked."""
    expect(tab.locator("dialog[open] #detail-title")).to_have_text(title)


def closed(tab: Any) -> None:
    """Wait until the dialog is closed and emptied."""
    expect(tab.locator("dialog:not([open]) #detail-body > *")).to_have_count(0)
    expect(tab.locator("dialog[open]")).to_have_count(0)


def names(tab: Any, count: int) -> list[str]:
    """Return the names of the entries in the list, when there are so many."""
    expect(tab.locator(".entry")).to_have_count(count)
    found: list[str] = tab.eval_on_selector_all(
        ".entry", "all => all.map((one) => one.dataset.name)"
    )
    return found


def test_the_page_has_every_asset_with_its_pictures(report):
    expect(report.locator(".entry")).to_have_count(7)
    report.evaluate("[...document.images].forEach((one) => { one.loading = 'eager'; })")
    until(report, "[...document.images].every((one) => one.complete && one.naturalWidth)")
    assert report.locator(".entry img").count() >= 8


def test_filters_leave_what_they_name(report):
    report.fill("#search", "leaf")
    assert names(report, 1) == ["assets/leaf.png"]
    report.fill("#search", "")
    report.select_option("#by-target", "kac")
    assert names(report, 1) == ["assets/box.obj"]
    # Not the inner text: an entry that is not in view yet has none.
    assert report.locator(".entry .tile b").all_text_contents() == ["source", "kac"]
    report.select_option("#by-target", "")
    report.select_option("#by-state", "built")
    expect(report.locator(".entry")).to_have_count(7)


def test_steps_without_a_file_have_no_tile_before_details_are_opened(report):
    report.fill("#search", "box")
    titles = report.locator(".entry .tile").evaluate_all("all => all.map((one) => one.title)")
    assert "splashpack:yard" in titles
    assert "splashpack:yard/layout" not in titles
    report.locator(".entry .tile.source").click()
    title_of_dialog(report, "assets/box.obj")
    expect(report.locator('#detail .tile[title="splashpack:yard/layout"]')).to_have_count(1)


def test_warnings_are_a_line_with_their_number_until_it_is_opened(report):
    # Of the wasm that the ROM lacks, and of the hero's picture that is no texture of it.
    expect(report.locator("#warnings-title")).to_have_text("Warnings (2)")
    expect(report.locator("#warning-list")).to_be_hidden()
    report.locator("#warnings-title").click()
    expect(report.locator("#warning-list")).to_be_visible()


def test_assets_are_sorted_by_size_and_time(report, built):
    index = Page(built).index
    for key in ("bytes", "seconds"):
        report.select_option("#sort", key)
        cost = {
            one["name"]: sum(index["nodes"][number].get(key) or 0 for number in one["nodes"])
            for one in index["entries"]
        }
        found = [cost[name] for name in names(report, len(cost))]
        assert found == sorted(found, reverse=True)
        assert len(set(found)) > 3


def test_a_3d_view_draws_the_model(report):
    report.locator('.tile[title="kac:box"]').click()
    report.get_by_role("button", name="Open the 3D view").click()
    frame = report.frame_locator("iframe")
    frame.locator("html[data-drawn]").wait_for()
    picture = Image.open(io.BytesIO(report.locator("iframe").screenshot())).convert("RGB")
    colors = picture.getcolors(1 << 20)
    assert colors is not None
    brown = sum(count for count, (red, _, blue) in colors if red > blue + 40)
    assert brown > 0.02 * picture.width * picture.height


def test_a_clip_plays_until_it_is_stopped(report):
    report.set_viewport_size({"width": 320, "height": 480})  # few pixels are soon drawn
    report.fill("#search", "hero")
    report.locator('.tile[title="emberware:hero.clip.walk"]').click()
    report.get_by_role("button", name="Open the 3D view").click()
    frame = report.frame_locator("iframe")
    frame.locator("html[data-drawn]").wait_for()
    view = report.locator("iframe")
    first = view.screenshot()
    moved = (view.screenshot() for _ in range(200))
    assert any(one != first for one in moved)
    frame.get_by_role("button", name="Pause").click()
    frame.get_by_role("button", name="Play").wait_for()
    # A frame that was being drawn may still appear.
    assert any(view.screenshot() == view.screenshot() for _ in range(20))


def test_a_3d_view_begins_where_fronts_are_seen(watched):
    places = np.array([(0, 0, 0), (0, 1, 0), (1, 1, 0), (1, 0, 0)], np.float32)
    away = ViewMesh(places, np.array([(0, 1, 2), (0, 2, 3)]))  # it faces -z
    model = encode_glb(ViewScene((away,), (ViewMaterial(color=(1, 0, 0, 1)),)))
    page = viewer_page()
    assert page is not None
    watched.tab.set_viewport_size({"width": 200, "height": 200})
    watched.tab.set_content(page.decode().replace("@model@", base64.b64encode(model).decode()))
    watched.tab.locator("html[data-drawn]").wait_for()
    picture = Image.open(io.BytesIO(watched.tab.screenshot())).convert("RGB")
    colors = picture.getcolors(1 << 20)
    assert colors is not None
    red = sum(count for count, (red, green, _) in colors if red > green + 40)
    assert red > 0.1 * 200 * 200


@pytest.mark.parametrize("again", ["openEntry('assets/box.obj')", "openNode(page.box)"])
def test_what_is_opened_right_after_the_dialog_was_closed_is_shown(report, again):
    report.evaluate("page.box = page.index.nodes.findIndex((one) => one.task === 'kac:box')")
    report.locator('.tile[title="rp2350:leaf"]').click()
    title_of_dialog(report, "rp2350:leaf")
    # In one go: the browser tells of the close when the next thing is asked for, or open already.
    report.evaluate(f"document.getElementById('detail').close(); {again}; undefined")
    report.locator("dialog[open] #detail-title", has_text="box").wait_for()
    # The event that tells of the close has been handled when a later one is.
    report.evaluate("new Promise((done) => { setTimeout(done, 50); })")
    expect(report.locator("#detail img").first).to_be_visible()
    report.keyboard.press("Escape")
    closed(report)


def test_escape_closes_the_dialog_from_within_its_3d_view(report):
    report.locator('.tile[title="kac:box"]').click()
    report.get_by_role("button", name="Open the 3D view").click()
    report.frame_locator("iframe").locator("html[data-drawn]").wait_for()
    report.frame_locator("iframe").locator("canvas").focus()
    report.keyboard.press("Escape")
    closed(report)


def test_a_3d_view_is_reached_turned_and_left_with_the_keyboard(report):
    report.set_viewport_size({"width": 320, "height": 480})  # few pixels are soon drawn
    report.fill("#search", "hero")
    report.locator('.tile[title="emberware:hero.clip.walk"]').focus()
    report.keyboard.press("Enter")
    title_of_dialog(report, "emberware:hero.clip.walk")
    report.get_by_role("button", name="Open the 3D view").focus()
    report.keyboard.press("Enter")
    frame = report.frame_locator("iframe")
    frame.locator("canvas:focus").wait_for()
    style = frame.locator("canvas").evaluate("one => getComputedStyle(one).outlineStyle")
    assert style == "solid"
    assert frame.locator("canvas").get_attribute("aria-label")
    report.keyboard.press("Tab")
    frame.locator("button:focus").wait_for()
    report.keyboard.press("Enter")
    frame.get_by_role("button", name="Play").wait_for()
    view = report.locator("iframe")
    assert any(view.screenshot() == view.screenshot() for _ in range(20))
    for key in ("ArrowLeft", "ArrowUp", "+"):
        before = view.screenshot()
        report.keyboard.press(key)
        assert any(view.screenshot() != before for _ in range(50)), key
    report.keyboard.press("Tab")
    until(report, "document.activeElement.matches('#detail button')")


def test_an_open_3d_view_outlives_a_build_that_leaves_its_model_as_it_was(report):
    report.locator('.tile[title="kac:box"]').click()
    report.get_by_role("button", name="Open the 3D view").click()
    frame = report.frame_locator("iframe")
    frame.locator("html[data-drawn]").wait_for()
    frame.locator("html").evaluate("one => { one.dataset.mark = 'first'; }")
    report.evaluate("document.getElementById('detail').scrollTop = 80")
    number = "page.index.nodes.findIndex((one) => one.task === 'kac:box')"
    report.evaluate(f"page.index.nodes[{number}].outcome = 'unchanged'; refreshDetail()")
    report.locator("#detail dd", has_text="unchanged").wait_for()
    expect(frame.locator("html[data-mark]")).to_have_count(1)
    assert report.evaluate("document.getElementById('detail').scrollTop") == 80


def test_a_3d_view_of_a_model_that_changed_is_opened_again(report):
    report.locator('.tile[title="kac:box"]').click()
    report.get_by_role("button", name="Open the 3D view").click()
    frame = report.frame_locator("iframe")
    frame.locator("html[data-drawn]").wait_for()
    frame.locator("html").evaluate("one => { one.dataset.mark = 'first'; }")
    report.evaluate("document.getElementById('detail').scrollTop = 80")
    # As if the model of another node had become that of this one.
    report.evaluate(
        "(async () => { const at = (task) => page.index.nodes.findIndex((o) => o.task === task);"
        " const [own, other] = await Promise.all(['kac:box', 'untold:yard'].map("
        "(task) => page.store.detail(at(task), task))); own.glb = other.glb;"
        " await refreshDetail(); })()"
    )
    until(report, "document.querySelectorAll('#detail iframe').length === 1")
    frame.locator("html[data-drawn]:not([data-mark])").wait_for()
    assert report.evaluate("document.getElementById('detail').scrollTop") == 80


def test_another_node_is_shown_from_its_top_with_the_focus_on_its_title(report):
    report.locator('.tile[title="rp2350:leaf"]').click()
    title_of_dialog(report, "rp2350:leaf")
    report.set_viewport_size({"width": 400, "height": 300})
    report.locator("#detail .graph button").first.focus()
    report.keyboard.press("Enter")
    title_of_dialog(report, "rp2350:mod.rs")
    assert report.evaluate("document.getElementById('detail').scrollTop") == 0
    assert report.evaluate("document.activeElement.id") == "detail-title"


def test_a_group_of_warnings_stays_open_when_something_is_built(report):
    report.locator("#warnings-title").click()
    report.locator("#warning-list summary").first.click()
    report.evaluate("renderWarnings()")
    expect(report.locator("#warning-list li").first).to_be_visible()


def test_areas_are_pressed_with_the_keys_of_buttons(report):
    report.get_by_role("link", name="Sizes").click()
    for key in ("Enter", " "):
        report.locator('.budget [role="button"][aria-label^="leaf"]').first.focus()
        report.keyboard.press(key)
        title_of_dialog(report, "rp2350:leaf")
        report.keyboard.press("Escape")
        closed(report)
    # What opens nothing says that it is no button.
    report.get_by_role("link", name="Assets", exact=True).click()
    report.locator('.tile[title="emberware:game.ewz"]').click()
    title_of_dialog(report, "emberware:game.ewz")
    assert report.locator("#detail svg rect").count() > 3
    expect(report.locator('#detail svg [role="button"]')).to_have_count(0)


def test_names_of_options_are_not_broken_for_long_values(report):
    report.set_viewport_size({"width": 360, "height": 700})
    report.locator('.tile[title="emberware:game.ewz"]').click()
    title_of_dialog(report, "emberware:game.ewz")
    lines = report.eval_on_selector_all(
        "#detail h3:has(+ table) + table td:first-child:not(.path)",
        "all => all.map((one) => { const range = document.createRange();"
        " range.selectNodeContents(one); return range.getClientRects().length; })",
    )
    assert set(lines) == {1}
    assert report.evaluate("document.documentElement.scrollWidth") <= 360


def test_maps_name_what_is_under_the_pointer(report):
    report.get_by_role("link", name="Maps").click()
    report.locator("rect.area-texture").first.hover()
    line = report.locator(".map", has_text="VRAM").locator(".readout")
    expect(line).to_have_text(re.compile("^texture assets/wood.png, 64 x 64"))
    report.get_by_role("link", name="Sizes").click()
    report.locator('.budget rect[aria-label^="leaf"]').first.wait_for()


def test_a_sound_plays(report):
    report.locator('.tile[title="emberware:tone"]').click()
    until(report, "document.querySelector('audio')?.src.startsWith('blob:')")
    played = report.evaluate(
        "async () => { const one = document.querySelector('audio'); one.muted = true;"
        " await one.play(); return one.duration; }"
    )
    assert 0.05 < played < 0.15


def test_the_keyboard_is_enough(report):
    report.keyboard.press("/")
    report.keyboard.type("leaf")
    assert names(report, 1) == ["assets/leaf.png"]
    for _ in range(5):  # target, state, sort, source, node
        report.keyboard.press("Tab")
    report.keyboard.press("Enter")
    title_of_dialog(report, "rp2350:leaf")
    report.keyboard.press("Escape")
    closed(report)
    unnamed = report.eval_on_selector_all(
        "button, a, input, select, [role=button]",
        "all => all.filter((one) => !(one.innerText || one.ariaLabel || one.labels?.length ||"
        " one.getAttribute('aria-label'))).length",
    )
    assert unnamed == 0


@pytest.mark.parametrize("scheme", SCHEMES)
def test_text_has_the_contrast_that_accessibility_asks(browser, built, scheme):
    one = Watched(browser, color_scheme=scheme)
    tab = one.open(built.path(REPORT).as_uri())
    style = "getComputedStyle(document.documentElement).getPropertyValue"
    colors = {
        name: tab.evaluate(f"{style}('--{name}')").strip()
        for name in ("back", "card", "text", "soft", "accent", "bad", "bad-back", "warn", "good")
    }
    tones = tab.evaluate("TONES")
    one.context.close()
    assert all(contrast(LETTERS, tone) >= 4.5 for tone in tones)
    assert len(set(tones)) >= 10, "a ROM holds things of so many kinds"
    for text in ("text", "soft", "accent", "bad", "warn", "good"):
        for ground in ("back", "card"):
            assert contrast(colors[text], colors[ground]) >= 4.5, (text, ground)
    assert contrast(colors["bad"], colors["bad-back"]) >= 4.5


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours as WCAG 2 defines it."""
    lights = sorted((luminance(one), luminance(other)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def luminance(color: str) -> float:
    levels = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in levels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_a_phone_need_not_scroll_sideways(browser, built):
    one = Watched(browser, viewport={"width": 360, "height": 700})
    tab = one.open(built.path(REPORT).as_uri())
    for view, part in (("assets", ".entry"), ("sizes", ".budget"), ("maps", ".map")):
        tab.evaluate(f"location.hash = '{view}'")
        tab.locator(f"#{view} {part}").first.wait_for()
        assert tab.evaluate("document.documentElement.scrollWidth") <= 360, view
    one.context.close()


def test_names_on_maps_can_be_read_on_a_phone(browser, built):
    one = Watched(browser, viewport={"width": 360, "height": 700})
    tab = one.open(built.path(REPORT).as_uri())
    for view in ("sizes", "maps"):
        tab.evaluate(f"location.hash = '{view}'")
        names = tab.locator(f"#{view} svg text:not([transform])")
        names.first.wait_for()
        heights = names.evaluate_all("all => all.map((one) => one.getBoundingClientRect().height)")
        assert min(heights) >= 9, view
    one.context.close()


def test_a_failure_with_a_long_name_fits_on_a_phone(browser, tmp_path):
    (tmp_path / "page.html").write_bytes(failed_page())
    one = Watched(browser, viewport={"width": 360, "height": 700})
    tab = one.open((tmp_path / "page.html").as_uri())
    tab.locator(".failure h3").first.wait_for()
    tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
    one.context.close()


def test_failures_that_are_alike_share_a_box_whatever_they_were_for(watched, tmp_path):
    tasks = ("kac:a/x", "kac:a/y", "untold:a", "kac:a/w")
    alike = [failure(one, "too large", f"a/{one[-1]}.png") for one in tasks]
    others = [failure(f"kac:b/{one}", "too small", "b/same.png") for one in ("x", "y")]
    (tmp_path / "page.html").write_bytes(page_of_failures([*alike, *others], "village"))
    tab = watched.open((tmp_path / "page.html").as_uri())
    expect(tab.locator("#failures-title")).to_have_text("Failures (6)")
    expect(tab.locator(".failure")).to_have_count(3)
    tab.get_by_text("and so 3 more").click()
    tab.get_by_role("button", name="kac:a/w").click()
    title_of_dialog(tab, "kac:a/w")


def test_5000_nodes_are_listed_as_the_reader_scrolls(watched, tmp_path):
    (tmp_path / "large.html").write_bytes(large_page())
    tab = watched.open((tmp_path / "large.html").as_uri())
    # Compared within the browser, because a busy machine makes everything slower.
    ready = float(tab.locator("html").get_attribute("data-ready"))
    read = tab.evaluate("performance.getEntriesByType('navigation')[0].domInteractive")
    assert ready < read, "the list waits for the pictures"
    expect(tab.locator("#count")).to_have_text(re.compile("5,000 of 5,000 assets"))
    assert tab.locator(".entry").count() < 200
    tab.fill("#search", "thing_4999")
    assert names(tab, 1) == ["assets/props/thing_4999.obj"]


class Server:
    """`doit serve` in a process of its own."""

    def __init__(self, game: Game) -> None:
        command = [sys.executable, "-m", "doit", "serve", "--port", "0"]
        self.process = subprocess.Popen(
            command, cwd=game.root, env=game.environment(), stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        found = re.search(r"http://\S+", self.process.stdout.readline())
        assert found is not None
        self.address = found[0]
        while "Watching" not in self.process.stdout.readline():  # the first build has ended
            assert self.process.poll() is None

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def served(tmp_path) -> Iterator[tuple[Game, Server]]:
    game = make_game(tmp_path / "village")
    for name in ("kac", "splashpack", "untold", "emberware"):
        game.remove(f"manifests/{name}.toml")
    assert game.doit().code == 0
    server = Server(game)
    yield game, server
    server.stop()


WOOD = """document.querySelector('[data-name="assets/wood.png"]')"""
TOP_OF_WOOD = f"{WOOD}.getBoundingClientRect().top"


def picture_of(tab: Any, task: str) -> str:
    found: str = tab.locator(f'.tile[title="{task}"] img').evaluate("one => one.src")
    return found


def test_the_live_page_shows_what_is_saved_broken_and_mended(served, watched):
    game, server = served
    watched.tab.set_viewport_size({"width": 400, "height": 300})
    tab = watched.open(server.address)
    tab.locator("#live", has_text="Watching").wait_for()
    until(tab, "document.querySelectorAll('.entry').length === 3")
    tab.evaluate("scrollTo(0, 200)")
    place = tab.evaluate("scrollY")
    assert place == 200
    before, other = picture_of(tab, "rp2350:leaf"), picture_of(tab, "rp2350:wood")
    started = time.monotonic()
    paint(game, "assets/leaf.png", (200, 30, 30))
    image = """document.querySelector('.tile[title="rp2350:leaf"] img')"""
    until(tab, f"{image}.src !== '{before}' && {image}.complete")
    print(f"shown after {time.monotonic() - started:.2f} s")
    assert picture_of(tab, "rp2350:wood") == other
    assert tab.evaluate("scrollY") == place
    # Of the entry above only the end is seen, which a failure makes longer.
    tab.evaluate(f"scrollBy(0, {TOP_OF_WOOD} - 100)")
    game.write("assets/leaf.png", b"no picture at all")
    entry = tab.locator('.entry[data-name="assets/leaf.png"]')
    entry.locator("p.problem").wait_for(timeout=60_000)
    expect(tab.locator("#failure-list")).to_have_text(re.compile("assets/leaf.png"))
    until(tab, f"Math.abs({TOP_OF_WOOD} - 100) <= 1")
    paint(game, "assets/leaf.png", (30, 30, 200))
    until(tab, """!document.querySelector('.entry[data-name="assets/leaf.png"] .problem')""")
    tab.locator("#failures").wait_for(state="hidden")
    until(tab, f"Math.abs({TOP_OF_WOOD} - 100) <= 1")
    game.write("manifests/rp2350.toml", "target = 'rp2350'\nnonsense = 1\n")
    tab.locator("#live.bad", has_text="nonsense").wait_for(timeout=60_000)
    assert watched.others(server.address) == []
