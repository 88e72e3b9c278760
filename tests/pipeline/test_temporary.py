"""Temporary files of a build that did not end well are gone after the next one, and no others."""

from __future__ import annotations

import errno
import os
import shutil
import time

import pytest

from pipeline.disk.temporary import new_run, temporary_name
from pipeline.state.state import BUILDING, State
from tests.pipeline.death import Death
from tests.pipeline.game import Game

SCRATCH, CACHE_SCRATCH = ".cartwright/tmp", "cache/v2/tmp"


def temporaries(game: Game) -> list[str]:
    """Name all files that lie where only temporary files do, or are called like one."""
    return sorted(
        str(path.relative_to(game.root))
        for path in game.root.rglob("*")
        if path.is_file() and (path.parent.name == "tmp" or path.name.startswith((".run", "run")))
    )


def kill_with_temporaries(game: Game) -> list[str]:
    """Kill builds at each of their first moments, until one leaves a temporary file behind."""
    for moment in range(1, 60):
        with Death(after=moment):
            game.doit()
        if found := temporaries(game):
            return found
    return []


@pytest.fixture
def other_device(monkeypatch):
    """Let `build/` be on another device than everything else."""
    replace = os.replace

    def refuse_to_cross(source, target):
        if "/build/" in target and "/build/" not in source:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), source)
        replace(source, target)

    monkeypatch.setattr(os, "replace", refuse_to_cross)


def test_temporary_files_of_a_killed_build_are_removed_by_the_next(game):
    game.write("assets/a.txt", "hello")
    assert kill_with_temporaries(game)
    assert game.doit().code == 0
    assert temporaries(game) == []


def test_temporary_files_beside_outputs_are_removed_where_these_are_on_another_device(
    game, other_device
):
    game.write("assets/a.txt", "x" * 20_000)
    found: list[str] = []
    for moment in range(1, 80):
        with Death(after=moment):
            game.doit()
        found += [path for path in temporaries(game) if path.startswith("build/")]
        if found:
            break
        for folder in ("cache", "build", ".cartwright"):
            shutil.rmtree(game.path(folder), ignore_errors=True)
    assert found
    assert game.doit().code == 0
    assert sorted(game.outputs()) == ["build/toy/a.out", "build/toy/all.pack"]


def test_temporary_files_of_a_build_that_runs_elsewhere_stay(game):
    """Another project may share the cache, and be building at this moment."""
    game.write("assets/a.txt", "hello")
    assert game.doit().code == 0
    other = f"{CACHE_SCRATCH}/{new_run()}-{temporary_name()}"
    game.write(other, "half")
    game.write("assets/a.txt", "changed")
    with Death(after=12):
        game.doit()
    assert game.doit().code == 0
    assert temporaries(game) == [other]


@pytest.mark.parametrize("folder", [SCRATCH, CACHE_SCRATCH, ".cartwright"])
def test_old_temporary_files_go_even_if_nobody_knows_their_run(game, folder):
    game.write("assets/a.txt", "hello")
    assert game.doit().code == 0
    old = game.write(f"{folder}/{temporary_name()}", "half")
    an_hour_ago = time.time() - 3700
    os.utime(old, (an_hour_ago, an_hour_ago))
    mine = game.write(f"{folder}/notes-1-2.txt", "not a temporary file")
    os.utime(mine, (an_hour_ago, an_hour_ago))
    game.write("assets/a.txt", "changed")
    assert game.doit().code == 0
    assert not old.exists()
    assert mine.exists()


def test_a_folder_that_was_to_be_renamed_whole_goes_like_a_temporary_file(game):
    game.write("assets/a.txt", "hello")
    assert game.doit().code == 0
    old = game.write(f"{SCRATCH}/{temporary_name()}/a.out", "half")
    mine = game.write(f"{SCRATCH}/notes/a.out", "not a temporary file")
    game.write("assets/a.txt", "changed")
    assert game.doit().code == 0
    assert not old.parent.exists()
    assert mine.exists()


def test_a_run_with_nothing_to_do_looks_for_no_temporary_files(game, monkeypatch):
    game.write("assets/a.txt", "hello")
    game.rest()
    assert game.doit().code == 0
    for name in ("remove_abandoned", "remove_temporaries"):
        refuse = lambda *_: pytest.fail("looked for them")  # noqa: E731
        monkeypatch.setattr(f"pipeline.disk.temporary.{name}", refuse)
    assert "nothing to do" in game.doit().out


# A run that is refused changes nothing.

WRONG_SETTING = '[tool.cartwright]\nremote_cache = "gopher://x"\n'


def marks(game: Game) -> int:
    state = State(str(game.path(".cartwright/state.db")), is_owner=False)
    try:
        return state.count_facts(BUILDING)
    finally:
        state.close()


@pytest.mark.parametrize(
    ("setting", "arguments"),
    [
        (WRONG_SETTING, ()),
        ("[tool.cartwright]\nremote_cahce = 1\n", ()),
        ("", ("--executor", "nonsense")),
        ("", ("nonsense",)),
        ("", ("-o", "no/such/folder/out.txt")),
        ("", ("-r", "nonsense")),
    ],
)
def test_a_refused_run_removes_nothing_and_is_not_taken_for_a_killed_one(game, setting, arguments):
    game.write("assets/a.txt", "hello")
    game.write("assets/b.txt", "hello")
    assert game.doit().code == 0
    game.write("pyproject.toml", setting)
    game.write("assets/a.txt", "changed")
    game.remove("assets/b.txt")
    ran = game.doit(*arguments)
    assert ran.code == 3, ran.out + ran.err
    assert "build/toy/b.out" in game.outputs()
    assert marks(game) == 0
    game.write("pyproject.toml", "")
    ran = game.doit()
    assert ran.built == ["toy:a", "toy:pack"]
    assert "build/toy/b.out" not in game.outputs()


def test_a_mistake_in_one_manifest_removes_no_output_of_any(game):
    game.write("assets/a.txt", "hello")
    game.write("assets/b.txt", "hello")
    game.write("manifests/two.toml", 'target = "toy"\n[[asset]]\nsource = "assets/*"\n')
    assert game.doit().code == 0
    before = game.outputs()
    game.write("manifests/two.toml", 'target = "toy"\nassset = 1\n')
    game.remove("assets/b.txt")
    assert game.doit().code == 3
    assert game.outputs() == before
