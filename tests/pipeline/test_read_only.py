"""A project that may not be written to: what only tells works there, what builds says why not."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from tests.pipeline.game import Game, Ran

# Mount a folder over itself, read-only, in a file system of our own.
MOUNT = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && cd "$0" && exec "$@"'


def run_read_only(game: Game, *command: str) -> Ran:
    """Run a command in a game that nobody can write to, not even the administrator."""
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", MOUNT, str(game.root), *command],
        env=game.environment(PYTHONDONTWRITEBYTECODE="1"),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def doit_read_only(game: Game, *arguments: str) -> Ran:
    return run_read_only(game, sys.executable, "-m", "doit", *arguments)


@pytest.fixture
def sealed(game: Game) -> Game:
    """A game with one text that was built and then changed."""
    if shutil.which("unshare") is None or run_read_only(game, "true").code:
        pytest.skip("no read-only mounts here")
    game.write("assets/a.txt", "hello")
    assert game.doit().code == 0
    game.write("assets/a.txt", "changed")
    return game


@pytest.mark.parametrize("is_new", [False, True])
@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("list --all", 0, "toy:a"),
        ("list --all --status", 0, "R toy:a"),
        ("info toy:a", 1, "from assets/a.txt"),
        ("explain", 0, "toy:a  "),
        ("help", 0, "explain"),
    ],
)
def test_what_only_tells_works_without_permission_to_write(sealed, line, code, said, is_new):
    if is_new:
        for name in (".cartwright", "cache", "build"):
            sealed.remove(name)
    ran = doit_read_only(sealed, *line.split())
    assert (ran.code, ran.err) == (code, ""), ran.out
    assert said in ran.out


def test_what_was_built_before_is_known_without_permission_to_write(sealed):
    explained = "toy:a  source changed: assets/a.txt\n"
    assert doit_read_only(sealed, "explain", "toy:a").out == explained
    sealed.doit()
    up_to_date = doit_read_only(sealed, "explain")
    assert (up_to_date.code, up_to_date.out) == (0, "")
    ran = doit_read_only(sealed)
    assert (ran.code, "nothing to do" in ran.out) == (0, True), ran.err


@pytest.mark.parametrize("left", [{"wal", "shm"}, {"wal"}])
def test_the_state_that_a_killed_build_left_is_known_without_permission_to_write(sealed, left):
    sealed.doit()
    path = sealed.path(".cartwright/state.db")
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("INSERT INTO fact VALUES ('x', 'y', x'00', 0)")
        db.commit()
        files = {name: path.with_name(f"state.db-{name}").read_bytes() for name in left}
    for name, data in files.items():
        path.with_name(f"state.db-{name}").write_bytes(data)
    ran = doit_read_only(sealed, "explain")
    assert (ran.code, ran.out) == (0, "")


@pytest.mark.parametrize("line", ["", "forget toy", "gc"])
@pytest.mark.parametrize("is_new", [False, True])
def test_what_has_to_write_names_the_place_and_the_reason(sealed, line, is_new):
    if is_new:
        sealed.remove(".cartwright")
    ran = doit_read_only(sealed, *line.split())
    place = ".cartwright" if is_new else ".cartwright/lock"
    expected = f"ERROR: {sealed.root}/{place}: Read-only file system\n"
    assert (ran.code, ran.err) == (3, expected), ran.out


def test_ignore_names_the_place_and_the_reason(sealed):
    ran = doit_read_only(sealed, "ignore", "toy:a")
    expected = "ERROR: .cartwright/doit.json: Read-only file system\n"
    assert (ran.code, ran.err) == (3, expected)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.EPERM])
@pytest.mark.parametrize("is_new", [False, True])
def test_commands_that_tell_survive_every_refusal_to_write(game, monkeypatch, number, is_new):
    game.write("assets/a.txt", "hello")
    if not is_new:
        game.doit()
    before = {path for path in game.root.rglob("*") if "__pycache__" not in path.parts}

    def refuse(path, *others, **named):
        raise OSError(number, os.strerror(number), str(path))

    for name in ("mkdir", "utime"):
        monkeypatch.setattr(os, name, refuse)
    for line in ("list", "info toy:a", "explain"):
        ran = game.doit(*line.split())
        assert (ran.code in (0, 1), "ERROR" in ran.err) == (True, False), ran.err
    monkeypatch.undo()
    assert {path for path in game.root.rglob("*") if "__pycache__" not in path.parts} == before
