"""What `doit watch` builds after a change."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import encoders
from pipeline.doit_plugin.command.watch import (
    MANY_CHANGES,
    MOST_WAIT_SECONDS,
    Watcher,
    what_to_build,
)
from tests.pipeline.game import MANIFEST, Game
from tests.pipeline.naive import Naive

SECOND = 'target = "toy"\nsource_root = "other"\n[[asset]]\nsource = "other/*.txt"\n'
LATE = MANIFEST + '[[asset]]\nsource = "late/x/y.txt"\n'


@pytest.fixture
def watched(game: Game, monkeypatch: pytest.MonkeyPatch) -> Game:
    monkeypatch.setattr(encoders, "__path__", list(encoders.__path__))
    game.write("assets/a.txt", "hello")
    game.write("other/x.txt", "x")
    game.write("manifests/second.toml", SECOND)
    assert game.doit().code == 0
    return game


def wanted(game: Game, *paths: str, names: tuple[str, ...] = ()) -> list[str] | None:
    return what_to_build(str(game.root), list(names), paths)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("assets/a.txt", ["toy:*"]),
        ("assets/new", ["toy:*"]),
        ("assets", ["toy:*"]),
        ("other/x.txt", ["second:*"]),
        ("manifests/toy.toml", ["toy:*"]),
        ("encoders/toy.py", ["second:*", "toy:*"]),
        ("encoders/new.py", ["second:*", "toy:*"]),
        ("build/toy/a.out", None),
        ("cache/objects", None),
        (".cartwright/state.db", None),
        ("encoders/__pycache__/toy.py", None),
        ("notes.txt", None),
    ],
)
def test_a_change_concerns_only_manifests_that_look_there(watched, path, expected):
    assert wanted(watched, path) == expected


@pytest.mark.parametrize("path", ["late", "late/x", "late/x/y.txt"])
def test_a_manifest_with_mistakes_waits_for_any_file(watched, path):
    watched.write("manifests/toy.toml", LATE)
    assert watched.doit().code == 3
    assert wanted(watched, path) == ["toy:*"]


@pytest.mark.parametrize("path", ["build/toy/a.out", "build/second/x.out"])
def test_a_manifest_with_mistakes_does_not_wait_for_outputs(watched, path):
    watched.write("manifests/toy.toml", LATE)
    assert wanted(watched, path) is None


@pytest.mark.parametrize("path", ["late", "late/x", "late/x/y.txt"])
def test_a_source_whose_folder_went_is_seen_when_the_folder_comes_back(watched, path):
    watched.write("manifests/toy.toml", LATE)
    watched.write("late/x/y.txt", "y")
    assert watched.doit().code == 0
    watched.remove("late")
    assert watched.doit().code == 3
    assert wanted(watched, path) == ["toy:*"]


def test_everything_is_built_when_a_manifest_is_gone_so_that_its_outputs_go(watched):
    watched.remove("manifests/second.toml")
    arguments = wanted(watched, "manifests/second.toml")
    assert arguments == []
    assert watched.doit("run", *arguments).code == 0
    assert not watched.path("build/second").exists()
    assert wanted(watched, "assets/a.txt") == ["toy:*"]


def test_only_what_was_named_is_built(watched):
    assert wanted(watched, "other/x.txt", names=("toy:a",)) is None
    assert wanted(watched, "assets/a.txt", names=("toy:a",)) == ["toy:a"]
    assert wanted(watched, "assets/a.txt", names=("toy",)) == ["toy:*"]
    watched.remove("manifests/second.toml")
    assert wanted(watched, "manifests/second.toml", names=("second",)) is None


@pytest.mark.parametrize("name", ["nosuch", "nosuch:a", "toy2"])
def test_to_watch_what_there_is_not_is_refused(watched, name):
    ran = watched.doit("watch", name)
    assert ran.code == 3
    expected = f'ERROR: watch: "{name}" is no manifest and no target; there are second, toy\n'
    assert ran.err == expected


class Builds:
    """Stands for the processes that build: notes their names, and ends when it is told how."""

    def __init__(self) -> None:
        self.names: list[list[str]] = []
        self.code: int | None = None

    def __call__(self, names: list[str]) -> Builds:
        self.names.append(list(names))
        self.code = None
        return self

    def poll(self) -> int | None:
        return self.code


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def builds() -> Builds:
    return Builds()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def watcher(watched: Game, builds: Builds, clock: Clock) -> Watcher:
    """A watcher whose first build has just succeeded."""
    watcher = Watcher(str(watched.root), [], builds, clock)
    builds.code = 0
    watcher.tick(set())
    assert builds.names == [[]]
    return watcher


def after(watcher: Watcher, *paths: str, code: int = 0) -> list[list[str]]:
    """Let paths change and things come to rest; give what is built then, with this exit code."""
    builds = watcher.start
    before = len(builds.names)
    watcher.tick(set(paths))
    watcher.tick(set())
    builds.code = code
    watcher.tick(set())
    return builds.names[before:]


def test_what_was_not_built_for_another_manifests_mistake_is_built_when_that_is_mended(
    watched, watcher
):
    watched.write("manifests/second.toml", "target = \n")
    watched.write("assets/a.txt", "saved with it")
    paths = "manifests/second.toml", "assets/a.txt"
    assert after(watcher, *paths, code=3) == [["second:*", "toy:*"]]
    watched.write("manifests/second.toml", SECOND)
    assert after(watcher, "manifests/second.toml") == [["second:*", "toy:*"]]
    assert after(watcher, "other/x.txt") == [["second:*"]]


def test_what_failed_is_built_again_with_the_next_change_and_not_before(watched, watcher):
    assert after(watcher, "assets/a.txt", code=1) == [["toy:*"]]
    assert after(watcher, "notes.txt", "build/toy/a.out") == []
    assert after(watcher, "other/x.txt", code=1) == [["second:*", "toy:*"]]
    assert after(watcher, "other/x.txt") == [["second:*", "toy:*"]]
    assert after(watcher, "other/x.txt") == [["second:*"]]


def test_a_first_build_that_fails_is_wanted_whole(watched, builds, clock):
    watcher = Watcher(str(watched.root), [], builds, clock)
    builds.code = 3
    watcher.tick(set())
    assert after(watcher, "assets/a.txt") == [[]]
    assert after(watcher, "assets/a.txt") == [["toy:*"]]


def test_what_was_not_built_of_a_manifest_that_is_gone_is_wanted_no_more(watched, builds, clock):
    watcher = Watcher(str(watched.root), ["toy", "second"], builds, clock)
    builds.code = 1
    watcher.tick(set())
    watched.remove("manifests/second.toml")
    assert after(watcher, "manifests/second.toml", "assets/a.txt") == [["toy", "toy:*"]]


def test_changes_during_a_build_are_built_after_it(watched, watcher, builds):
    watcher.tick({"assets/a.txt"})
    watcher.tick(set())
    assert builds.names[1:] == [["toy:*"]]
    watcher.tick({"other/x.txt"})
    watcher.tick(set())
    assert len(builds.names) == 2
    builds.code = 0
    watcher.tick(set())
    assert builds.names[2:] == [["second:*"]]


def test_nothing_is_built_until_changes_come_to_rest(watcher, builds, clock):
    for number in range(5):
        watcher.tick({f"assets/{number}.txt"})
    assert len(builds.names) == 1
    watcher.tick(set())
    assert builds.names[1:] == [["toy:*"]]


def test_the_file_that_the_watcher_prints_to_builds_nothing(watched, watcher, builds, monkeypatch):
    log = watched.write("assets/watch.log", "a line\n")
    with log.open() as file:
        monkeypatch.setattr("pipeline.doit_plugin.command.watch.STDOUT", file.fileno())
        before = len(builds.names)
        watcher.tick({"assets/watch.log"})
        watcher.tick(set())
    assert len(builds.names) == before


def test_changes_that_never_end_are_built_all_the_same(watcher, builds, clock):
    for _ in range(3):
        watcher.tick({"assets/a.txt"})
        clock.now += MOST_WAIT_SECONDS / 2 + 0.1
    assert builds.names[1:] == [["toy:*"]]


@pytest.mark.parametrize("is_worktree", [False, True])
def test_nothing_is_built_while_git_switches_branches(watched, watcher, builds, is_worktree):
    folder = "elsewhere/git" if is_worktree else ".git"
    if is_worktree:
        watched.write(".git", "gitdir: elsewhere/git\n")
    lock = watched.write(f"{folder}/index.lock", "")
    watcher.tick({"assets/a.txt"})
    watcher.tick(set())
    assert len(builds.names) == 1
    lock.unlink()
    watcher.tick(set())
    assert builds.names[1:] == [["toy:*"]]


def test_a_lock_that_git_left_long_ago_holds_nothing_up(watched, watcher, builds):
    os.utime(watched.write(".git/index.lock", ""), (1, 1))
    assert after(watcher, "assets/a.txt") == [["toy:*"]]


def test_so_many_changes_that_some_may_be_lost_build_everything(watcher):
    paths = [f"cache/objects/{number}" for number in range(MANY_CHANGES)]
    assert after(watcher, *paths) == [[]]


def test_a_project_that_cannot_be_looked_at_is_left_to_the_build_to_describe(
    watched, watcher, monkeypatch
):
    def refuse(*_):
        raise PermissionError(errno.EACCES, "Permission denied", "manifests")

    monkeypatch.setattr("pipeline.doit_plugin.command.watch.what_to_build", refuse)
    assert after(watcher, "assets/a.txt") == [[]]


def test_a_build_is_told_with_the_time_and_what_failed(watched, watcher, capsys):
    capsys.readouterr()
    after(watcher, "assets/a.txt", "other/x.txt", code=1)
    said = capsys.readouterr().out
    for line in (
        "checking second, toy: 2 files changed",
        "not built: second, toy; tried again with the next change",
    ):
        assert re.search(rf"^\d\d:\d\d:\d\d  {line}$", said, re.M), said
    after(watcher, "assets/a.txt")
    assert "checking second, toy: assets/a.txt changed" in capsys.readouterr().out


@contextmanager
def running_watch(game: Game, *names: str) -> Iterator[list[str]]:
    """Run `doit watch` until the block ends; gives the lines that it prints, as they come."""
    lines: list[str] = []
    process = subprocess.Popen(
        [sys.executable, "-m", "doit", "watch", *names],
        cwd=game.root,
        env=game.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    reading = threading.Thread(target=lambda: lines.extend(iter(process.stdout.readline, "")))
    reading.start()
    try:
        expect_soon(lambda: any("Watching" in line for line in lines))
        yield lines
    finally:
        os.killpg(process.pid, signal.SIGINT)
        code = process.wait(timeout=20)
        reading.join()
        process.stdout.close()
    assert (code, [line for line in lines if "Traceback" in line]) == (0, []), lines


def expect_soon(condition: Callable[[], bool]) -> None:
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it did not come about")


def test_a_change_that_a_mistake_elsewhere_held_up_is_built_when_that_is_mended(game):
    game.write("assets/a.txt", "first")
    game.write("other/x.txt", "x")
    game.write("manifests/second.toml", SECOND)
    with running_watch(game) as lines:
        game.write("manifests/second.toml", "target = \n")
        game.write("assets/a.txt", "second")
        expect_soon(lambda: any("not built: second, toy" in line for line in lines))
        assert game.read("build/toy/a.out") == b"FIRST"
        game.write("manifests/second.toml", SECOND)
        expect_soon(lambda: game.read("build/toy/a.out") == b"SECOND")


def test_a_change_during_the_first_build_is_built_after_it(game):
    """The encoder itself saves the other source, as a person might at that moment."""
    path = game.path("assets/b.txt")
    code = game.read("encoders/toy.py").decode()
    save = f'    open({str(path)!r}, "w").write("late")\n    text = inputs'
    game.write("encoders/toy.py", code.replace("    text = inputs", save, 1))
    game.write("assets/a.txt", "early")
    with running_watch(game):
        expect_soon(lambda: game.path("build/toy/b.out").exists())


@pytest.mark.skipif(shutil.which("git") is None, reason="no git here")
def test_a_branch_switch_during_a_build_ends_right_and_with_nothing_failed(game):
    def git(*words: str) -> None:
        command = ["git", "-c", "user.name=x", "-c", "user.email=x@example.invalid", *words]
        subprocess.run(command, cwd=game.root, check=True, capture_output=True)

    game.write(".gitignore", "/build/\n/cache/\n__pycache__/\n")
    for branch in ("one", "two"):
        for number in range(30):
            game.write(f"assets/{branch}/{number}.txt", f"{branch} {number}")
        game.write("assets/both.txt", branch)
        if branch == "one":
            git("init", "-q", "-b", branch)
        else:
            shutil.rmtree(game.path("assets/one"))
            git("checkout", "-q", "-b", branch)
        git("add", "-A")
        git("commit", "-q", "-m", branch)
    with running_watch(game) as lines:
        for branch in ("one", "two", "one"):
            git("checkout", "-q", branch)
            time.sleep(0.2)  # so that the next switch comes in the middle of a build
        expected = Naive(game).build("upper")[0]
        expect_soon(lambda: outputs_of(game) == expected)
    last = max(number for number, line in enumerate(lines) if "  checking " in line)
    assert [line for line in lines[last:] if line.startswith("failed")] == []


def outputs_of(game: Game) -> dict[str, bytes]:
    """Give the outputs, or nothing where one is replaced at this moment."""
    try:
        return game.outputs()
    except FileNotFoundError:
        return {}


def test_a_manifest_that_is_no_toml_waits_for_its_own_edit(watched):
    watched.write("manifests/toy.toml", MANIFEST + "[[asset\n")
    assert wanted(watched, "assets/a.txt", "README.md") is None
    assert wanted(watched, "manifests/toy.toml") == ["toy:*"]


def test_only_manifests_with_failed_nodes_are_said_to_be_not_built(watched, watcher, capsys):
    watched.write("assets/a.txt", "boom")
    assert watched.doit().code == 1
    capsys.readouterr()
    after(watcher, "assets/a.txt", "other/x.txt", code=1)
    assert "  not built: toy; tried again with the next change\n" in capsys.readouterr().out
