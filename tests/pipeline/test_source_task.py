"""Own tasks that make sources: run before the plan, and what they make is built in the same run."""

from __future__ import annotations

import os
import re
import sys

import pytest

from pipeline.doit_plugin.command.watch import what_to_build
from tests.kit.glb_builder import quad
from tests.pipeline.game import ROOT, Game

# doit does not close what it reads a command's words from.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
DRAW = """

def _draw(dependencies, targets):
    import pathlib
    words = pathlib.Path("art/words.list").read_text().split()
    for path, word in zip(targets, words):
        pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(path).write_text(word)
    return "fail" not in words


def task_draw():
    return {
        "actions": [_draw],
        "file_dep": ["art/words.list"],
        "targets": ["assets/drawn/x.txt", "assets/drawn/y.txt"],
    }
"""


@pytest.fixture
def drawn(game: Game) -> Game:
    game.write("art/words.list", "one two")
    game.write("dodo.py", game.read("dodo.py").decode() + DRAW)
    return game


def built(ran) -> list[str]:
    return sorted(name for name in ran.built if ":" in name)


@pytest.mark.parametrize("line", [(), ("toy",), ("-n", "2"), ("toy:drawn/*",)])
def test_sources_are_made_and_built_in_the_first_run(drawn: Game, line: tuple[str, ...]) -> None:
    ran = drawn.process(*line) if "-n" in line else drawn.doit(*line)
    assert ran.code == 0, ran.out + ran.err
    assert {"toy:drawn/x", "toy:drawn/y"} <= set(ran.built)
    assert drawn.path("build/toy/drawn/x.out").exists()


def test_second_run_does_nothing_and_a_changed_dependency_makes_both_again(drawn: Game) -> None:
    first = drawn.doit()
    assert "draw" in first.out
    again = drawn.doit()
    assert (again.code, again.built) == (0, [])
    drawn.write("art/words.list", "one three")
    changed = drawn.doit("toy")
    assert changed.code == 0, changed.out + changed.err
    # Built is not changed: x has the same words as before.
    assert "toy:drawn/y" in changed.built
    assert "toy:drawn/x" not in changed.built


def test_deleted_source_is_made_again(drawn: Game) -> None:
    drawn.doit()
    drawn.remove("assets/drawn/x.txt")
    ran = drawn.doit("toy")
    assert ran.code == 0, ran.out + ran.err
    assert drawn.read("assets/drawn/x.txt") == b"one"


def test_source_named_without_a_glob_may_be_missing_before_the_first_run(drawn: Game) -> None:
    manifest = 'target = "toy"\n[[asset]]\nsource = "assets/drawn/x.txt"\n'
    drawn.write("manifests/toy.toml", manifest)
    ran = drawn.doit()
    assert ran.code == 0, ran.out + ran.err
    assert "toy:drawn/x" in ran.built


def test_list_says_what_makes_a_source_that_does_not_exist_yet(drawn: Game) -> None:
    drawn.write("assets/drawn/y.txt", "here")
    drawn.write("assets/other.txt", "other")
    ran = drawn.doit("list", "--all")
    assert ran.code == 0, ran.err
    line = "assets/drawn/x.txt does not exist yet: the task draw makes it"
    assert line in ran.err
    assert "drawn/y.txt" not in ran.err
    drawn.doit()
    assert "yet" not in drawn.doit("list").err


def test_failing_task_is_told_and_its_nodes_are_not_built(drawn: Game) -> None:
    drawn.write("assets/other.txt", "other")
    drawn.doit()
    drawn.write("art/words.list", "four fail")
    drawn.write("assets/other.txt", "changed")
    ran = drawn.doit("toy")
    assert ran.code == 1
    assert "draw" in ran.failed
    assert "toy:other" in ran.built
    assert not {"toy:drawn/x", "toy:drawn/y"} & set(ran.built)
    drawn.write("art/words.list", "four five")
    mended = drawn.doit("toy")
    assert mended.code == 0, mended.out + mended.err
    assert {"toy:drawn/x", "toy:drawn/y"} <= set(mended.built)


def test_failing_task_whose_source_is_named_and_missing_is_told_beside_the_mistake(
    drawn: Game,
) -> None:
    manifest = 'target = "toy"\n[[asset]]\nsource = "assets/drawn/x.txt"\n'
    drawn.write("manifests/toy.toml", manifest)
    drawn.remove("art/words.list")
    ran = drawn.doit()
    assert ran.code == 3
    assert "draw failed" in ran.err
    assert "art/words.list" in ran.err


def test_task_that_needs_another_task_runs_after_it(drawn: Game) -> None:
    text = drawn.read("dodo.py").decode()
    text += '\ndef task_words():\n    return {"actions": ["echo six seven > art/words.list"], '
    text += '"targets": ["art/words.list"], "uptodate": [True]}\n'
    drawn.write("dodo.py", text)
    drawn.remove("art/words.list")
    ran = drawn.doit("toy")
    assert ran.code == 0, ran.out + ran.err
    assert drawn.read("assets/drawn/x.txt") == b"six"


def test_task_that_reads_outputs_is_no_source_task(drawn: Game) -> None:
    text = drawn.read("dodo.py").decode()
    text += '\ndef task_copy():\n    return {"actions": ["cp %(dependencies)s %(targets)s"], '
    text += '"file_dep": ["build/toy/drawn/x.out"], "targets": ["assets/copy.bin"]}\n'
    drawn.write("dodo.py", text)
    ran = drawn.doit()
    assert ran.code == 0, ran.out + ran.err
    assert drawn.path("assets/copy.bin").exists()


def test_run_for_another_own_task_makes_no_sources(drawn: Game) -> None:
    text = drawn.read("dodo.py").decode()
    text += '\ndef task_lint():\n    return {"actions": ["true"]}\n'
    drawn.write("dodo.py", text)
    assert drawn.doit("lint").code == 0
    assert not drawn.path("assets/drawn").exists()


@pytest.mark.parametrize("words", ["one two", "one fail"])
def test_watch_builds_when_a_file_changes_that_sources_are_made_from(drawn: Game, words) -> None:
    drawn.write("art/words.list", words)
    drawn.doit()
    root = os.fspath(drawn.root)
    assert what_to_build(root, [], ["art/words.list"]) == ["toy:*"]
    assert what_to_build(root, [], ["dodo.py"]) == ["toy:*"]
    assert what_to_build(root, [], ["art/notes.list"]) is None


# Stands in for Blender: writes a model to where the expression says.
BLENDER = """#!{python}
import pathlib, re, sys
blend, expression = pathlib.Path(sys.argv[2]), sys.argv[-1]
assert blend.suffix == ".blend"
glb = re.search(r"filepath='([^']+)'", expression)[1]
pathlib.Path(glb).write_bytes(blend.read_bytes())
"""


def test_recipe_for_blender_builds_what_it_exports(game: Game, monkeypatch) -> None:
    page = (ROOT / "docs/sources.md").read_text(encoding="utf-8")
    recipe = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert recipe is not None
    game.write("dodo.py", game.read("dodo.py").decode() + recipe[1])
    game.write("bin/blender", BLENDER.replace("{python}", sys.executable))
    game.path("bin/blender").chmod(0o755)
    monkeypatch.setenv("PATH", f"{game.path('bin')}{os.pathsep}{os.environ['PATH']}")
    game.remove("manifests/toy.toml")
    game.remove("encoders/toy.py")
    game.write("manifests/kac.toml", 'target = "kac"\n[[asset]]\nsource = "assets/**/*.glb"\n')
    game.write("art/barrel.blend", quad().glb())
    ran = game.doit("kac")
    assert ran.code == 0, ran.out + ran.err
    assert ran.built == ["kac:models/barrel"]
    assert game.doit("kac").built == []
