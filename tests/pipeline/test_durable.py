"""A power cut: what a finished build said is there, and what was lost is noticed."""

from __future__ import annotations

import errno
import os
import random

import pytest

from pipeline.disk import sync
from pipeline.disk.listing import take_listing
from pipeline.state.state import BUILDING, State
from tests.pipeline.game import Game
from tests.pipeline.naive import Naive

STATE = ".cartwright/state.db"
LARGE = random.Random(1).randbytes(40_000).hex()  # too large for a receipt, so it is an object


@pytest.fixture
def built(game: Game, monkeypatch) -> Game:
    """A game whose cache holds receipts, bundles with an index, and objects."""
    monkeypatch.setattr("pipeline.cache.local.FEW", 2)
    game.write("assets/a.txt", "hello")
    game.write("assets/big.txt", LARGE)
    game.write("assets/l.lst", "one\ntwo\n")
    game.write("assets/w.bst", "x y z")
    assert game.doit().code == 0
    return game


@pytest.fixture
def synced(monkeypatch) -> list[set[str]]:
    """Collect the files of each sync, and make the build durable."""
    calls: list[set[str]] = []
    monkeypatch.setenv("CARTWRIGHT_DURABLE", "1")
    monkeypatch.setattr(sync, "sync_files", lambda files, _: calls.append(set(files)))
    return calls


def marks(game: Game) -> int:
    state = State(str(game.path(STATE)), is_owner=False)
    try:
        return state.count_facts(BUILDING)
    finally:
        state.close()


KINDS = {
    "receipt": "cache/v2/receipts/*/*",
    "bundle": "cache/v2/bundles/*.bundle",
    "index": "cache/v2/bundles/*.index",
    "object": "cache/v2/objects/*/*",
    "state": STATE,
    "ledger": ".cartwright/outputs",
    "output": "build/toy/**/*.*",
}


@pytest.mark.parametrize("share", [0, 0.5])
@pytest.mark.parametrize("kind", KINDS)
def test_files_that_were_cut_off_are_noticed(built, kind, share):
    paths = [path for path in built.root.glob(KINDS[kind]) if path.is_file()]
    assert paths
    for path in paths:
        data = path.read_bytes()
        path.write_bytes(data[: int(len(data) * share)])
    # Everything of the cache is needed again, and one source has changed besides.
    if kind != "output":
        built.remove("build")
        built.write("assets/w.bst", "x y")
    ran = built.doit()
    assert ran.code == 0, ran.out + ran.err
    assert built.outputs() == Naive(built).build("upper")[0]
    assert built.doit().built == []


def zero_with_known_stamp(game: Game, name: str) -> None:
    """Fill an output with zeros and let the state believe that it always looked like this."""
    path = game.path(f"build/toy/{name}")
    path.write_bytes(bytes(path.stat().st_size))
    state = State(str(game.path(STATE)), is_owner=True)
    with state.transaction():
        state.set_listing("toy", "build/toy", take_listing(str(path.parent)))
    state.close()


def test_after_a_build_that_did_not_end_outputs_are_read_whatever_their_stamps_say(built):
    """A power cut may keep size and time of a file and lose its content."""
    zero_with_known_stamp(built, "a.out")
    state = State(str(built.path(STATE)), is_owner=True)
    with state.transaction():
        state.set_facts(BUILDING, {"toy": "run0"})
    state.close()
    assert built.doit().restored == ["toy:a"]
    assert built.outputs() == Naive(built).build("upper")[0]


# The order: files first, then the state that vouches for them.


def test_files_are_synced_before_the_state_vouches_for_them(built, monkeypatch):
    monkeypatch.setenv("CARTWRIGHT_DURABLE", "1")
    found = []

    def look(files, folders):
        found.append((marks(built), {os.path.basename(path) for path in files}, set(folders)))

    monkeypatch.setattr(sync, "sync_files", look)
    built.write("assets/a.txt", "changed")
    assert built.doit().code == 0
    ((mark_count, names, folders),) = found
    assert mark_count == 1
    assert names == {"a.out", "all.pack", "outputs"}
    assert folders == {str(built.path(".cartwright")), str(built.path("cache/v2"))}
    assert marks(built) == 0


def test_a_run_with_nothing_to_do_syncs_nothing(built, synced):
    assert "nothing to do" in built.doit().out
    os.utime(built.path("assets/a.txt"), (1, 1))
    assert built.doit().built == []
    assert synced == []


def test_removed_files_are_synced_too(built, synced):
    built.remove("assets/l.lst")
    assert built.doit().code == 0
    assert any(path.endswith("l/0.line") for path in synced[0])


def test_a_run_that_finds_a_killed_one_complete_syncs_for_it(built, synced):
    state = State(str(built.path(STATE)), is_owner=True)
    with state.transaction():
        state.set_facts(BUILDING, {"toy": "run0"})
    state.close()
    assert built.doit().built == []
    assert len(synced) == 1


@pytest.mark.parametrize("place", ["environment", "project"])
def test_syncing_can_be_turned_off(built, synced, monkeypatch, place):
    if place == "environment":
        monkeypatch.setenv("CARTWRIGHT_DURABLE", "false")
    else:
        monkeypatch.delenv("CARTWRIGHT_DURABLE")
        built.write("pyproject.toml", "[tool.cartwright]\ndurable = false\n")
    built.write("assets/a.txt", "changed")
    assert built.doit().code == 0
    assert synced == []


def test_a_wrong_value_is_refused_before_anything_is_built(built):
    built.write("pyproject.toml", '[tool.cartwright]\ndurable = "perhaps"\n')
    built.write("assets/a.txt", "changed")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("CARTWRIGHT_DURABLE", raising=False)
        ran = built.doit()
    assert (ran.code, ran.built) == (3, [])
    assert "tool.cartwright.durable: true or false is needed" in ran.err


def test_a_disk_that_fails_is_told_and_the_next_run_checks_everything(built, monkeypatch):
    monkeypatch.setenv("CARTWRIGHT_DURABLE", "1")

    def fail(files, folders):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(sync, "sync_files", fail)
    built.write("assets/a.txt", "changed")
    ran = built.doit()
    assert "warning: not written to the disk for good: Input/output error" in ran.out
    assert marks(built) == 1


@pytest.mark.parametrize("has_syncfs", [True, False])
def test_files_and_folders_are_really_synced(tmp_path, monkeypatch, has_syncfs):
    if not has_syncfs:
        monkeypatch.setattr(sync, "_sync_file_systems", lambda _: False)
    handles: list[str] = []
    fsync = os.fsync

    def note(handle):
        handles.append(os.readlink(f"/proc/self/fd/{handle}"))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", note)
    file = tmp_path / "folder" / "file"
    file.parent.mkdir()
    file.write_bytes(b"x")
    sync.sync_files([str(file), str(tmp_path / "gone")], [str(tmp_path)])
    expected = [] if has_syncfs else [str(file), str(tmp_path), str(file.parent)]
    assert sorted(handles) == sorted(expected)
