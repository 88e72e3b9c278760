"""The rules of axe-core on the page in a real browser, for every colour scheme and width.

axe-core comes from npm: `.ci/servers` installs it. Without it the tests are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.game import Game
from tests.report.browser import Watched, expect, missing, running
from tests.report.part import REPORT
from tests.report.test_report_page import failed_page

AXE = Path(__file__).parents[2] / ".ci/tools/node_modules/axe-core/axe.min.js"
REASON = missing() or ("" if AXE.is_file() else "axe-core is not installed; .ci/servers does it")
pytestmark = [pytest.mark.skipif(bool(REASON), reason=REASON), pytest.mark.timeout(240)]
LOOKS = [
    ("light", {"width": 1400, "height": 900}),
    ("light", {"width": 390, "height": 844}),
    ("dark", {"width": 1400, "height": 900}),
    ("dark", {"width": 390, "height": 844}),
]
# Rules that somebody has to judge where axe-core cannot, such as of text on a drawing, are not
# among the violations.
CHECK = """async (rules) => {
  const only = rules ? { runOnly: rules } : {};
  const found = await axe.run(document, { resultTypes: ["violations"], ...only });
  return found.violations.flatMap(({ id, nodes }) => nodes.map((one) => `${id}: ${one.html}`));
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with running() as one:
        yield one


@pytest.fixture(params=LOOKS, ids=lambda one: f"{one[0]}-{one[1]['width']}")
def look(browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    scheme, size = request.param
    one = Watched(browser, color_scheme=scheme, viewport=size)
    yield one
    one.context.close()


# The other rules are about pages as a whole, such as that they have a heading.
FOR_FRAMES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def violations(shown: Any, rules: list[str] | None = None) -> list[str]:
    """Return what axe-core finds in a page or a frame."""
    if not shown.evaluate("'axe' in window"):
        shown.evaluate(AXE.read_text())
    found: list[str] = shown.evaluate(CHECK, rules)
    return found


def test_the_views_of_the_page_break_no_rule(look: Watched, built: Game) -> None:
    shown = look.open(built.path(REPORT).as_uri())
    shown.locator("#warnings-title").click()
    for view, part in (("assets", ".entry img"), ("sizes", ".budget"), ("maps", ".map")):
        shown.evaluate(f"location.hash = '{view}'")
        shown.locator(f"#{view} {part}").first.wait_for()
        assert violations(shown) == [], view


def test_the_dialog_and_its_3d_view_break_no_rule(look: Watched, built: Game) -> None:
    shown = look.open(built.path(REPORT).as_uri())
    for task in ("emberware:tone", "rp2350:leaf", "emberware:hero.clip.walk"):
        shown.evaluate(f"openNode(page.index.nodes.findIndex((one) => one.task === '{task}'))")
        expect(shown.locator("dialog[open] #detail-title")).to_have_text(task)
        assert violations(shown) == [], task
    shown.get_by_role("button", name="Open the 3D view").click()
    shown.frame_locator("iframe").locator("html[data-drawn]").wait_for()
    assert violations(shown.frames[1], FOR_FRAMES) == []


def test_failures_break_no_rule(look: Watched, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_bytes(failed_page())
    shown = look.open((tmp_path / "page.html").as_uri())
    shown.locator(".failure h3").first.wait_for()
    assert violations(shown) == []
