"""What may not be read, listed or removed: it is named, and everything else is built.

Tests may run as a user who may do everything, so the system's refusal is played.
"""

from __future__ import annotations

import errno
import os
from contextlib import nullcontext

import pytest

from pipeline.disk.listing import take_listing
from pipeline.disk.lock import Lock
from tests.pipeline.game import MANIFEST, Game


@pytest.fixture
def village(game: Game) -> Game:
    """Two texts in one folder each and a burst; everything built."""
    game.write("assets/a.txt", "hello")
    game.write("assets/sub/b.txt", "bye")
    game.write("assets/w.bst", "x y z")
    assert game.doit().code == 0
    return game


@pytest.fixture
def deny(village, monkeypatch):
    """Give a function that lets a call refuse one path of the village."""

    def refuse(name, path):
        call, denied = getattr(os, name), str(village.path(path))

        def refusing(first, *rest, **named):
            if str(first) == denied:
                raise PermissionError(errno.EACCES, "Permission denied", first)
            return call(first, *rest, **named)

        monkeypatch.setattr(os, name, refusing)

    return refuse


@pytest.mark.parametrize("command", ["run", "explain", "list"])
def test_a_source_folder_that_cannot_be_listed_is_a_mistake_and_removes_nothing(
    village, deny, command
):
    before = village.outputs()
    deny("open", "assets/sub")
    entry = '[[asset]]\nsource = "assets/sub/*"\ntimes = 2\n'
    for text in (MANIFEST, MANIFEST + entry):
        village.write("manifests/toy.toml", text)
        ran = village.doit(command)
        assert (ran.code, "Traceback" in ran.err) == (3, False)
        assert ran.err.count('source  "assets/sub" can\'t be listed: Permission denied') == 1
    assert village.outputs() == before


def test_an_empty_source_folder_that_can_no_longer_be_listed_is_a_mistake(village, deny):
    village.path("assets/empty").mkdir()
    village.doit()
    deny("open", "assets/empty")
    ran = village.doit()
    assert (ran.code, '"assets/empty" can\'t be listed' in ran.err) == (3, True)


def test_manifests_that_cannot_be_listed_are_not_taken_for_vanished_ones(village, deny):
    before = village.outputs()
    deny("open", "manifests")
    ran = village.doit()
    assert (ran.code, "manifests: Permission denied" in ran.err) == (3, True)
    assert village.outputs() == before


def test_an_output_that_cannot_be_read_fails_its_node_and_no_other(village, deny):
    os.utime(village.path("build/toy/a.out"), (1, 1))
    village.write("assets/sub/b.txt", "farewell")
    deny("open", "build/toy/a.out")
    assert "toy:a  output altered: build/toy/a.out\n" in village.doit("explain").out
    ran = village.doit()
    assert (ran.code, ran.failed) == (1, ["toy:a", "toy:pack"])
    assert "toy:a  Permission denied\n" in ran.out
    assert "build/toy/a.out" in ran.out
    assert village.read("build/toy/sub/b.out") == b"FAREWELL"


def test_an_output_that_cannot_be_read_after_the_state_was_lost_stays_known(village, deny):
    village.remove(".cartwright/state.db")
    deny("open", "build/toy/a.out")
    assert village.doit("gc").code == 0
    assert b"build/toy/a.out" in village.read(".cartwright/outputs")


def test_an_output_folder_that_cannot_be_listed_stops_nothing_else(village, deny):
    deny("open", "build/toy/sub")
    village.write("assets/a.txt", "changed")
    ran = village.doit()
    assert ran.code == 0
    assert village.read("build/toy/a.out") == b"CHANGED"


@pytest.mark.parametrize("stale", ["a.out", "w_2.part"])
def test_a_stale_file_that_cannot_be_removed_is_told_and_goes_when_it_can(
    village, monkeypatch, stale
):
    village.remove("assets/a.txt")
    village.write("assets/w.bst", "x y")
    with monkeypatch.context() as context:
        unlink = os.unlink

        def refusing(path, **named):
            if str(path).endswith(stale):
                raise PermissionError(errno.EACCES, "Permission denied", path)
            unlink(path, **named)

        context.setattr(os, "unlink", refusing)
        for _ in range(2):
            ran = village.doit()
            assert ran.code == 0
            told = f"build/toy/{stale}: nothing makes it any more; Permission denied, so it stays"
            assert told in ran.out
        assert village.read("build/toy/parts.pack") == b"x|y"
    assert village.doit().code == 0
    assert sorted(village.outputs()) == [
        "build/toy/all.pack",
        "build/toy/parts.pack",
        "build/toy/sub/b.out",
        "build/toy/w_0.part",
        "build/toy/w_1.part",
    ]
    assert "warning" not in village.doit().out


def test_a_file_that_goes_while_its_folder_is_listed_hides_nothing_beside_it(tmp_path, monkeypatch):
    for name in ("gone", "there"):
        (tmp_path / name).write_text(name)
    scandir = os.scandir

    def scan_and_remove(folder):
        with scandir(folder) as entries:
            found = list(entries)
        (tmp_path / "gone").unlink()
        return nullcontext(found)

    monkeypatch.setattr("pipeline.disk.listing._stamp_files", None)  # it does not call Python
    monkeypatch.setattr(os, "scandir", scan_and_remove)
    monkeypatch.setattr(os, "supports_fd", {scan_and_remove})
    assert list(take_listing(str(tmp_path)) or ()) == ["there"]


def test_a_file_system_without_locks_is_an_error_and_no_wait(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def refuse(handle, operation):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(OSError, match=os.strerror(errno.ENOLCK)):
        Lock(str(tmp_path / "lock"), on_wait=pytest.fail).acquire()


def test_a_stale_output_that_cannot_be_read_now_is_removed_by_a_later_build(game, monkeypatch):
    game.write("assets/a.txt", "hello")
    game.write("assets/b.txt", "there")
    assert game.doit().code == 0
    game.path("assets/b.txt").unlink()
    os.utime(game.path("build/toy/b.out"), (1, 1))  # its stamp is not known, so it is read
    real = os.open

    def refuse(path, *given, **named):
        if str(path).endswith("b.out"):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        return real(path, *given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        ran = game.doit()
    assert f"build/toy/b.out: nothing makes it any more; {os.strerror(errno.EIO)}" in ran.out
    assert game.path("build/toy/b.out").exists()
    game.doit()
    assert not game.path("build/toy/b.out").exists()
