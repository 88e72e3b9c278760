"""The page of keys says what manifests are checked against."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from encoders.kit.source.registry import FORMATS
from pipeline.plan.target import load_target
from tests.pipeline.game import ROOT, Game

PAGE = (ROOT / "docs/manifests.md").read_text(encoding="utf-8")
TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"


def test_the_page_is_what_the_script_makes(tmp_path: Path) -> None:
    made = tmp_path / "manifests.md"
    command = [sys.executable, str(ROOT / "tools/make_manual.py"), "--into", str(made)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    assert made.read_text(encoding="utf-8") == PAGE, "run python tools/make_manual.py"


def test_every_key_of_a_target_has_a_row() -> None:
    chapter = PAGE.partition("\n## emberware\n")[2].partition("\n## ")[0]
    target = load_target("emberware")
    for holder in (target, *target.kinds.values(), *target.tables.values()):
        for key in holder.options:
            assert f"\n| `{key}` | " in chapter


def test_every_row_has_four_cells() -> None:
    for row in re.findall(r"^\|.*\|$", PAGE, re.MULTILINE):
        assert len(re.split(r"(?<!\\)\|", row)) == 6, row


def test_the_example_builds_and_later_entries_win(tmp_path: Path) -> None:
    game = Game(tmp_path / "game")
    game.remove("manifests/toy.toml")
    game.remove("encoders")
    example = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert example is not None
    game.write("manifests/kac.toml", example[1])
    for name in ("barrel", "crate", "wip/draft"):
        game.write(f"assets/meshes/{name}.obj", TRIANGLE)
    assert game.process().built == ["kac:meshes/barrel", "kac:meshes/crate"]
    game.write("manifests/kac.toml", example[1].replace('"smooth"', '"auto"'))
    assert game.process().built == ["kac:meshes/crate"]


def test_every_source_format_has_a_row_with_its_suffixes() -> None:
    page = (ROOT / "docs/sources.md").read_text(encoding="utf-8")
    (table,) = [part for part in page.split("\n\n") if part.startswith("| format | suffixes |")]
    rows = table.splitlines()
    for one in FORMATS:
        suffixes = ", ".join(f"`{suffix}`" for suffix in sorted(one.suffixes))
        (row,) = [row for row in rows if row.startswith(f"| {one.name} | {suffixes} | ")]
        assert not one.extra or f"cartwright-build[{one.extra}]" in row
    assert sum(row.startswith("| ") for row in rows) == len(FORMATS) + 2
