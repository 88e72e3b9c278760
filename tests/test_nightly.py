"""What the page on nightly builds promises of caches and exit codes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.pipeline.game import ROOT, Game

PAGE = (ROOT / "docs/nightly.md").read_text(encoding="utf-8")
ALONE = PAGE.partition("## A cache that machines share")[0]  # the jobs of one machine
COMMANDS = list(dict.fromkeys(re.findall(r"(?:run:|  -) doit (.*?)(?: \|\| true)?$", ALONE, re.M)))
BROKEN_TASK = "\n\ndef task_broken():\n    return {'actions': [lambda: 1 / 0]}\n"


@pytest.fixture
def game(tmp_path: Path) -> Game:
    game = Game(tmp_path / "game")
    game.write("assets/one.txt", "one\n")
    game.write("assets/two.txt", "two\n")
    return game


def run_the_night(game: Game, **environment: str) -> list[str]:
    """Run the commands of the page in their order, and name what was encoded."""
    nights = [game.process(*command.split(), **environment) for command in COMMANDS]
    assert [ran.code for ran in nights] == [0, 0], nights
    return nights[0].built


def start_from_nothing(game: Game) -> None:
    for name in ("build", ".cartwright"):
        game.remove(name)


def test_both_examples_run_the_same_commands() -> None:
    assert COMMANDS == ["-n 2", "gc --max-size 2G"]


def test_the_second_night_encodes_nothing_with_the_cache_alone(game: Game) -> None:
    assert run_the_night(game)
    first = game.outputs()
    start_from_nothing(game)
    assert run_the_night(game) == []
    assert game.outputs() == first


def test_a_folder_named_in_the_environment_is_the_cache(game: Game, tmp_path: Path) -> None:
    shared = str(tmp_path / "shared")
    assert run_the_night(game, CARTWRIGHT_CACHE=shared)
    start_from_nothing(game)
    assert not game.path("cache").exists()
    assert run_the_night(game, CARTWRIGHT_CACHE=shared) == []


@pytest.mark.parametrize(
    ("code", "file", "text"),
    [
        (0, "assets/three.txt", "three\n"),
        (1, "assets/three.txt", b"\xff"),
        (2, "dodo.py", (ROOT / "dodo.py").read_text() + BROKEN_TASK),
        (3, "manifests/toy.toml", 'target = "toy"\nsurce = 1\n'),
    ],
)
def test_the_exit_code_is_the_one_in_the_table(
    game: Game, code: int, file: str, text: str | bytes
) -> None:
    assert f"\n| {code} | " in PAGE
    game.write(file, text)
    assert game.process().code == code
    assert game.process("-n", "2").code == code
