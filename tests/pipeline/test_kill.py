"""A build that ends early, or that another one came before: nothing is lost, nothing is left over.

The rules behind it: a result is in the cache before its files appear, a file is noted as ours
before it appears, and what a run found out is written down when it ends.
"""

from __future__ import annotations

import itertools
import re
import shutil
from pathlib import Path

import pytest

from pipeline.disk.lock import Lock
from pipeline.state.state import State
from tests.pipeline.death import Death
from tests.pipeline.game import ROOT, Game
from tests.pipeline.naive import Naive

STRIDE = 3  # the moments of a build are shared out among so many tests
AN_HOUR = 3600.0


def write(game: Game, **sources: str) -> None:
    """Let these be all sources of a game, by name and kind."""
    for path in game.path("assets").glob("*"):
        path.unlink()
    for name, text in sources.items():
        game.write(f"assets/{name.replace('_', '.')}", text)


def copy_of(game: Game, root: Path) -> Game:
    """Copy a game with its build, which takes less time than to build it again."""
    shutil.copytree(game.root, root, symlinks=True)
    return Game(root)


FIRST = {"a_txt": "hello", "w_bst": "x y"}
SECOND = {"a_txt": "hello there", "w_bst": "x y z"}
THIRD = {"w_bst": "x"}  # nothing makes most of the files any more


@pytest.mark.timeout(300)
@pytest.mark.parametrize("start", range(1, STRIDE + 1))
@pytest.mark.parametrize(
    ("before", "batch_s"),
    [(None, AN_HOUR), (FIRST, AN_HOUR), (FIRST, 0.0)],
    ids=["a first build", "a second build", "a second build in small steps"],
)
def test_after_a_kill_at_any_moment_the_next_build_leaves_exactly_what_is_made(
    tmp_path, monkeypatch, before, batch_s, start
):
    monkeypatch.setattr("pipeline.state.database.BATCH_SECONDS", batch_s)
    first = Game(tmp_path / "first")
    if before:
        write(first, **before)
        assert first.doit().code == 0
    old = first.outputs() if before else {}
    moment, came = start, True
    while came:
        game = copy_of(first, tmp_path / str(moment))
        write(game, **SECOND)
        with Death(after=moment) as death:
            game.doit()
        came = death.came
        halfway, new = game.outputs(), Naive(game).build("upper")[0]
        for path, data in halfway.items():
            assert data in (old.get(path), new.get(path)), f"half-made after {moment}: {path}"
        write(game, **THIRD)
        ran = game.doit()
        assert ran.code == 0, ran.out + ran.err
        assert game.outputs() == Naive(game).build("upper")[0], f"after {moment} changes"
        assert not [*game.path(".cartwright/tmp").iterdir(), *game.path("cache/v2/tmp").glob("*")]
        moment += STRIDE
    assert moment > 5 * STRIDE


def test_files_of_two_killed_builds_are_gone_when_the_sources_are_as_before_them(tmp_path):
    """The node is up to date again and is not built, so it does not remove its files itself."""
    moment, came, until_there = 1, True, 1
    while came:
        game = Game(tmp_path / str(moment))
        write(game, w_bst="x y")
        assert game.doit().code == 0
        write(game, w_bst="x y z")
        if moment == 1:
            until_there = _changes_until(game, "build/toy/w_2.part", tmp_path)
        with Death(after=until_there):
            game.doit()
        assert game.path("build/toy/w_2.part").exists()
        write(game, w_bst="x")
        with Death(after=moment) as death:
            game.doit()
        came = death.came
        write(game, w_bst="x y")
        assert game.doit().code == 0
        assert game.outputs() == Naive(game).build("upper")[0], f"after {moment} changes"
        moment += 2


def _changes_until(game: Game, path: str, tmp_path: Path) -> int:
    """Count the changes of the disk that a build makes until a file is there."""
    for number in itertools.count(1):
        copy = copy_of(game, tmp_path / "copy")
        with Death(after=number):
            copy.doit()
        is_there = copy.path(path).exists()
        shutil.rmtree(copy.root)
        if is_there:
            break
    return number


# A kill where it matters most, in a real process.

KILL = """
import os, signal
import pipeline.state.database
pipeline.state.database.BATCH_SECONDS = 3600

def die():
    os.kill(os.getpid(), signal.SIGKILL)
"""
AFTER_THE_FIRST_FILE = """
replace = os.replace

def replace_and_die(source, target):
    replace(source, target)
    if "/build/" in target:
        die()

os.replace = replace_and_die
"""
AFTER_THE_END = """
from pipeline.doit_plugin.reporter import Reporter
Reporter.complete_run = lambda _: die()
"""


def kill(game: Game, when: str) -> None:
    """Build in a process that kills itself at a moment which its dodo.py watches out for."""
    game.write("dodo.py", (ROOT / "dodo.py").read_text() + KILL + when)
    assert game.process().code == -9
    shutil.copy(ROOT / "dodo.py", game.path("dodo.py"))


def test_a_file_that_a_killed_build_had_just_put_in_place_is_known_as_ours(game):
    """A file is noted before it appears: after it would be too late."""
    write(game, w_bst="x y z")
    kill(game, AFTER_THE_FIRST_FILE)
    assert list(game.outputs()) == ["build/toy/w_0.part"]
    write(game, a_txt="hello")
    assert game.doit().code == 0
    assert list(game.outputs()) == ["build/toy/a.out", "build/toy/all.pack"]


def test_a_file_that_a_killed_build_had_put_over_another_is_known_as_ours(game):
    write(game, w_bst="x y z")
    game.doit()
    write(game, w_bst="one two three")
    kill(game, AFTER_THE_FIRST_FILE)
    assert game.read("build/toy/w_0.part") == b"one"
    write(game, a_txt="hello")
    ran = game.doit()
    assert "stays" not in ran.out
    assert list(game.outputs()) == ["build/toy/a.out", "build/toy/all.pack"]


def test_a_result_is_in_the_cache_before_its_first_file_appears(game):
    write(game, w_bst="x y z")
    kill(game, AFTER_THE_FIRST_FILE)
    ran = game.doit()
    assert (ran.built, ran.restored) == (["toy:parts"], ["toy:w"])


def test_a_build_that_has_ended_is_written_down_before_it_is_told_of(game):
    """The summary may wait for whoever reads it, and the process be killed meanwhile."""
    write(game, **FIRST)
    kill(game, AFTER_THE_END)
    ran = game.doit()
    assert (ran.built, ran.restored) == ([], [])
    assert re.match(r"toy: 4 unchanged, \d+ B in build/toy\nnothing to do", ran.out)


def test_a_state_that_is_closed_keeps_what_was_not_committed_yet(tmp_path, monkeypatch):
    monkeypatch.setattr("pipeline.state.database.BATCH_SECONDS", AN_HOUR)
    state = State(str(tmp_path / "state.db"), is_owner=True)
    with state.batch():
        state.set_facts("source", {"a": 1})
    state.close()
    state = State(str(tmp_path / "state.db"), is_owner=False)
    assert state.facts("source") == {"a": 1}
    state.close()


# What a build that ended leaves for the next one.


def refuse_lock(self: Lock) -> bool:
    raise AssertionError("a run with nothing to do has no use for the lock")


CHANGES = {
    "everything was built": FIRST,
    "a node was built": {**FIRST, "a_txt": "other"},
    "files went": {"a_txt": "hello"},
    "files came": {**FIRST, "b_txt": "more"},
    "a family shrank": {**FIRST, "w_bst": "x"},
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("workers", [[], ["-n", "1"]])
def test_after_a_build_a_glance_shows_that_there_is_nothing_to_do(
    game, monkeypatch, change, workers
):
    write(game, **FIRST)
    game.doit()
    write(game, **CHANGES[change])
    game.rest()
    assert game.doit(*workers).code == 0
    monkeypatch.setattr(Lock, "acquire", refuse_lock)
    ran = game.doit()
    assert (ran.code, "nothing to do" in ran.out) == (0, True), ran.out + ran.err


def test_after_outputs_were_restored_a_glance_shows_that_there_is_nothing_to_do(game, monkeypatch):
    write(game, **FIRST)
    game.doit()
    game.remove("build")
    assert len(game.doit().restored) == 4
    monkeypatch.setattr(Lock, "acquire", refuse_lock)
    assert game.doit().code == 0


# A build that had to wait for another.


def let_another_go_first(game: Game, monkeypatch, meanwhile) -> list[bool]:
    """Let something happen while a build waits for the lock, which it has looked at things for."""
    acquire, waited = Lock.acquire, []

    def acquire_late(self: Lock) -> bool:
        if waited or self.is_held:
            return acquire(self)
        waited.append(True)
        meanwhile()
        acquire(self)
        return True

    monkeypatch.setattr(Lock, "acquire", acquire_late)
    return waited


def test_the_second_of_two_builds_takes_a_glance_and_does_not_plan(game, monkeypatch):
    write(game, **FIRST)
    code = game.read("encoders/toy.py").decode()
    note = 'with open("loaded", "a") as file:\n    file.write("x")\n'
    game.write("encoders/toy.py", f"{code}{note}")
    let_another_go_first(game, monkeypatch, game.process)
    game.doit()
    assert game.read("loaded") == b"x"


@pytest.mark.parametrize("is_first", [True, False])
def test_the_second_of_two_builds_finds_what_the_first_has_built(game, monkeypatch, is_first):
    write(game, **FIRST)
    if not is_first:
        game.doit()
        write(game, **SECOND)
    waited = let_another_go_first(game, monkeypatch, game.process)
    ran = game.doit()
    assert waited
    assert (ran.code, ran.built, ran.restored) == (0, [], [])
    assert re.match(r"toy: 4 unchanged, \d+ B in build/toy\nnothing to do", ran.out)
    assert game.outputs() == Naive(game).build("upper")[0]


def test_a_build_that_waited_builds_from_what_is_there_after_the_wait(game, monkeypatch):
    write(game, **FIRST)
    game.doit()
    write(game, **SECOND)

    def meanwhile() -> None:
        game.process()
        write(game, **THIRD, b_txt="new")

    waited = let_another_go_first(game, monkeypatch, meanwhile)
    ran = game.doit()
    assert waited
    assert ran.code == 0, ran.err
    assert game.outputs() == Naive(game).build("upper")[0]
    assert re.match(r"toy: 4 unchanged, \d+ B in build/toy\nnothing to do", game.doit().out)


def test_a_build_that_waited_keeps_no_stamp_from_before_the_wait(game, monkeypatch):
    """A source that was saved during the wait must not be known by the stamp that it had before."""
    write(game, **FIRST)
    game.doit()
    game.write("assets/a.txt", "HELLO")

    def meanwhile() -> None:
        game.process()
        game.write("assets/a.txt", "hallo")

    let_another_go_first(game, monkeypatch, meanwhile)
    game.doit()
    monkeypatch.undo()
    assert game.read("build/toy/a.out") == b"HALLO"
    assert re.match(r"toy: 4 unchanged, \d+ B in build/toy\nnothing to do", game.doit().out)
