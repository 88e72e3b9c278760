"""A game may have files and folders that are called like Cartwright's packages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipeline.game import ROOT, Game

COLLISIONS = {
    "a package `pipeline`": {"pipeline/__init__.py": "raise RuntimeError('of the game')\n"},
    "a module `pipeline`": {"pipeline.py": "raise RuntimeError('of the game')\n"},
    "a module `encoders`": {"encoders.py": "raise RuntimeError('of the game')\n"},
    "a package `encoders`": {"encoders/__init__.py": "raise RuntimeError('of the game')\n"},
}


def run(game: Game, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=game.root,
        env=game.environment(**environment),
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


@pytest.fixture(params=COLLISIONS)
def crowded(request, game: Game) -> Game:
    game.write("assets/a.txt", "hello")
    for name, text in COLLISIONS[request.param].items():
        game.write(name, text)
    return game


def test_doit_as_a_module_with_workers_builds_in_a_game_with_such_names(crowded):
    """`python -m doit` puts the game's folder first on the path, also on that of workers."""
    ran = run(crowded, "-m", "doit", "-n", "2")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert crowded.read("build/toy/a.out") == b"HELLO"


def test_watch_starts_builds_that_find_cartwright(game, monkeypatch):
    from pipeline.doit_plugin.command import watch

    game.write("pipeline.py", "raise RuntimeError('of the game')\n")
    game.write("assets/a.txt", "hello")
    monkeypatch.chdir(game.root)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    assert watch.start_build([]).wait(100) == 0


def test_a_module_that_was_imported_before_is_named_in_one_sentence(game):
    game.write("before/pipeline.py", "")
    game.write("before/sitecustomize.py", "import pipeline\n")
    path = f"{game.path('before')}:{ROOT}"
    ran = run(game, "-m", "doit", PYTHONPATH=path)
    assert ran.returncode == 3
    assert "before/pipeline.py was imported as `pipeline` before doit began" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_file_that_hides_a_module_of_python_is_named_in_one_sentence(game):
    game.write("json.py", "")
    ran = run(game, "-m", "doit", "list")
    assert ran.returncode == 3
    assert ran.stderr.startswith(f"ERROR: {game.path('json.py')} hides Python's own module `json`;")
    assert ran.stderr.count("\n") == 1


def test_a_file_called_like_a_module_that_python_imports_later_is_not_imported(game):
    game.write("tomllib.py", "raise RuntimeError('of the game')\n")
    game.write("assets/a.txt", "hello")
    ran = run(game, "-m", "doit")
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("name", ["random.py", "json.py"])
def test_workers_import_no_file_of_the_game_in_place_of_a_module_of_python(game, name):
    """A new process has the game's folder first on its path, even where `doit` has not."""
    game.write(name, "raise SystemExit('of the game')\n")
    for letter in "ab":
        game.write(f"assets/{letter}.txt", "hello")
    ran = run(game, str(Path(sys.executable).with_name("doit")), "-n", "2")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert game.read("build/toy/b.out") == b"HELLO"
