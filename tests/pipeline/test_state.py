"""The state: whatever happens to it costs a re-check, never a wrong build and never a traceback."""

from __future__ import annotations

import os
import random
import sqlite3

import pytest

from pipeline.disk.listing import (
    FOLDER,
    TICK_NS,
    UNKNOWN,
    differing_names,
    digest_listing,
    is_trusted,
    pack_listing,
    unpack_listing,
    without_fresh,
)
from pipeline.state.database import StateDamagedError, unavailable_error
from pipeline.state.ledger import Ledger
from pipeline.state.serial import freeze
from pipeline.state.state import NodeRow, State
from tests.pipeline.naive import Naive

SECOND = 1_000_000_000


@pytest.fixture
def built(game):
    game.write("assets/a.txt", "hello")
    game.write("assets/l.lst", "one\ntwo\n")
    game.write("assets/w.bst", "x y z")
    game.doit()
    return game


@pytest.mark.parametrize("seed", range(48))
def test_a_damaged_state_costs_a_recheck_and_nothing_else(built, seed):
    chance = random.Random(seed)
    path = built.path(".cartwright/state.db")
    data = bytearray(path.read_bytes())
    for _ in range(1 + seed * 3):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data[: chance.randrange(len(data))] if seed % 3 == 0 else data)
    built.write("assets/a.txt", "changed")
    built.write("assets/l.lst", "one\n")
    ran = built.doit()
    assert ran.code == 0, ran.out + ran.err
    assert "Traceback" not in ran.out + ran.err
    assert built.outputs() == Naive(built).build("upper")[0]


@pytest.mark.parametrize("content", [b"", b"not a database", b"SQLite format 3\0" + bytes(4000)])
def test_a_state_that_is_no_state_is_made_anew(built, content):
    built.path(".cartwright/state.db").write_bytes(content)
    ran = built.doit()
    assert (ran.code, ran.built) == (0, [])


def test_a_lost_state_still_knows_its_own_outputs(built):
    built.write("build/toy/mine.txt", "not made here")
    built.remove("assets/l.lst")
    for path in built.path(".cartwright").glob("state.db*"):
        path.unlink()
    assert built.doit().built == []
    assert "build/toy/l/0.line" not in built.outputs()
    assert built.read("build/toy/mine.txt") == b"not made here"


def test_a_state_of_another_version_is_made_anew(built):
    db = sqlite3.connect(built.path(".cartwright/state.db"))
    db.execute("PRAGMA user_version=999")
    db.close()
    assert built.doit().code == 0


def test_damage_that_shows_only_during_the_build_is_survived(built, monkeypatch):
    built.write("assets/a.txt", "changed")
    rows = State.outputs_of
    calls = []

    def damaged_once(self, task):
        calls.append(task)
        if len(calls) == 1:
            raise sqlite3.DatabaseError("database disk image is malformed")
        return rows(self, task)

    monkeypatch.setattr(State, "outputs_of", damaged_once)
    ran = built.doit()
    assert ran.code == 0, ran.err
    assert built.outputs() == Naive(built).build("upper")[0]


def fill_disk_after(monkeypatch, pages):
    """Let the state grow by so many pages and no further."""
    connect = State._connect

    def connect_with_limit(self, is_owner):
        db = connect(self, is_owner)
        (count,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count={count + pages}")
        return db

    monkeypatch.setattr(State, "_connect", connect_with_limit)


@pytest.mark.parametrize("batch_s", [0, 60])
@pytest.mark.parametrize("pages", [0, 3, 6, 9, 12, 15])
def test_a_full_disk_is_an_error_that_names_the_file_and_nothing_is_lost(
    built, monkeypatch, pages, batch_s
):
    monkeypatch.setattr("pipeline.state.database.BATCH_SECONDS", batch_s)
    for number in range(40):
        built.write(f"assets/{number}-{'long' * 20}.txt", f"text {number}")
    with monkeypatch.context() as context:
        fill_disk_after(context, pages)
        for _ in range(2):
            ran = built.doit()
            assert (ran.code, "Traceback" in ran.err + ran.out) == (3, False)
            assert ".cartwright/state.db: out of reach: database or disk is full" in ran.err
    state = State(str(built.path(".cartwright/state.db")), is_owner=False)
    assert state.stems() == ["toy"]
    assert state.fact("ledger", "stamp")
    state.close()
    for path in built.path("assets").glob("1*.txt"):
        path.unlink()
    assert built.doit().code == 0
    assert built.outputs() == Naive(built).build("upper")[0]


@pytest.mark.parametrize("command", ["run", "gc"])
def test_a_state_that_cannot_be_opened_is_named(built, command):
    built.remove(".cartwright/state.db")
    built.path(".cartwright/state.db").mkdir()
    ran = built.doit(command)
    assert (ran.code, "Traceback" in ran.err) == (3, False)
    assert ".cartwright/state.db: out of reach: unable to open database file" in ran.err


def test_a_damaged_header_that_forbids_writing_is_damage(built):
    data = bytearray(built.read(".cartwright/state.db"))
    data[18] = 9
    built.write(".cartwright/state.db", bytes(data))
    built.write("assets/a.txt", "changed")
    assert built.doit().code == 0
    assert built.read("build/toy/a.out") == b"CHANGED"


@pytest.mark.parametrize(
    ("name", "is_damage"),
    [
        ("SQLITE_CORRUPT_INDEX", True),
        ("SQLITE_NOTADB", True),
        ("SQLITE_ERROR", True),
        ("SQLITE_IOERR_SHORT_READ", True),
        ("SQLITE_FULL", False),
        ("SQLITE_IOERR_WRITE", False),
        ("SQLITE_READONLY_DIRECTORY", False),
        ("SQLITE_CANTOPEN", False),
        ("SQLITE_PERM", False),
        ("SQLITE_BUSY", False),
    ],
)
def test_only_what_tells_of_damage_drops_the_state(tmp_path, name, is_damage):
    error = sqlite3.OperationalError("something")
    error.sqlite_errorname = name
    assert (unavailable_error(error, str(tmp_path / "state.db")) is None) == is_damage


def test_a_lost_batch_leaves_the_mark_of_a_build_that_did_not_end(tmp_path):
    state = State(str(tmp_path / "state.db"), is_owner=True)
    with pytest.raises(ZeroDivisionError), state.batch():
        raise ZeroDivisionError
    assert state.has_lost
    state.close()


def test_a_ledger_that_could_not_be_written_says_so_and_tears_no_later_line(tmp_path, monkeypatch):
    ledger, sha = Ledger(str(tmp_path / "outputs")), "f" * 64
    ledger.note({"first": sha})
    with monkeypatch.context() as context:
        write = os.write
        context.setattr(os, "write", lambda handle, data: write(handle, data[:70]))
        with pytest.raises(OSError, match="No space left"):
            ledger.note({"second": sha})
    ledger.note({"third": sha})
    ledger.close()
    assert {"first", "third"} <= ledger.files().keys()


def test_a_row_that_does_not_match_its_checksum_is_damage(tmp_path):
    state = State(str(tmp_path / "state.db"), is_owner=True)
    state.set_rows([NodeRow("toy:a", "toy", freeze({"params": 1}), None, True)])
    state.set_facts("source", {"a": [1]})
    state.db.execute("UPDATE node SET plan=?", (freeze({"params": 2}),))
    state.db.execute("UPDATE fact SET record=?", (freeze([2]),))
    with pytest.raises(StateDamagedError):
        state.row("toy:a")
    with pytest.raises(StateDamagedError):
        state.fact("source", "a")
    state.close()


def note_and_fail(state):
    with state.transaction():
        state.set_facts("source", {"a": 1})
        with state.transaction():
            state.set_facts("source", {"b": 1})
        raise ZeroDivisionError


def test_a_transaction_happens_whole_or_not_at_all(tmp_path):
    state = State(str(tmp_path / "state.db"), is_owner=True)
    with pytest.raises(ZeroDivisionError):
        note_and_fail(state)
    assert state.facts("source") == {}
    state.close()


def test_a_in_memory_copy_leaves_no_trace(tmp_path):
    state = State(str(tmp_path / "state.db"), is_owner=True)
    with state.in_memory_copy():
        with state.transaction():
            state.set_facts("source", {"a": 1})
        assert state.facts("source") == {"a": 1}
    assert state.facts("source") == {}
    state.close()


def test_a_state_that_is_not_owned_is_never_touched(tmp_path):
    path = tmp_path / "state.db"
    state = State(str(path), is_owner=False)
    state.set_facts("source", {"a": 1})
    state.close()
    assert not path.exists()
    path.write_bytes(b"not a database")
    State(str(path), is_owner=False).close()
    assert path.read_bytes() == b"not a database"


def test_old_surveys_are_forgotten_when_there_are_too_many(built, monkeypatch):
    monkeypatch.setattr("pipeline.plan.survey.UNUSED_KEPT", -4)
    for number in range(12):
        built.write("assets/l.lst", f"{number}\n")
        built.doit()
    state = State(str(built.path(".cartwright/state.db")), is_owner=False)
    assert state.count_facts("survey") < 6
    state.close()


def test_a_listing_survives_its_bytes_and_equal_listings_are_equal_bytes():
    listing = {"b.txt": (1, 2, 3, 4), "a.txt": (5, 6, 7, 8), "sub/": FOLDER}
    packed = pack_listing(listing)
    assert unpack_listing(packed) == listing
    assert pack_listing(dict(reversed(listing.items()))) == packed
    assert digest_listing(packed) != digest_listing(pack_listing({}))
    assert unpack_listing(pack_listing(None)) is None


def test_a_stamp_is_trusted_only_when_the_file_had_been_at_rest():
    stamp = (5 * SECOND + 1, 5 * SECOND + 1, 10, 1)
    assert not is_trusted(stamp, 5 * SECOND + 1)
    assert not is_trusted(stamp, 5 * SECOND + TICK_NS)
    assert is_trusted(stamp, 5 * SECOND + 2 * TICK_NS)


def test_a_clock_of_whole_seconds_needs_a_longer_rest():
    stamp = (5 * SECOND, 5 * SECOND, 10, 1)
    assert not is_trusted(stamp, 7 * SECOND)
    assert is_trusted(stamp, 8 * SECOND)


def test_fresh_stamps_are_not_kept():
    old, fresh = (1, 2, 3, 4), (9 * SECOND + 5, 9 * SECOND + 5, 3, 4)
    kept = without_fresh({"old": old, "new": fresh, "sub/": FOLDER}, 9 * SECOND + 6)
    assert kept == {"old": old, "new": UNKNOWN, "sub/": FOLDER}
    assert set(differing_names(kept, {"old": old, "new": fresh, "sub/": FOLDER})) == {"new"}


def test_what_appears_goes_or_changes_differs():
    old = {"same": (1, 1, 1, 1), "gone": (2, 2, 2, 2), "changed": (3, 3, 3, 3)}
    new = {"same": (1, 1, 1, 1), "changed": (3, 3, 4, 3), "added": (5, 5, 5, 5)}
    assert set(differing_names(old, new)) == {"gone", "changed", "added"}
    assert set(differing_names(None, new)) == set(new)


def steps_to_ask_for_outputs(folder, count):
    """Return how much SQLite does when all of so many outputs are asked for."""
    state = State(str(folder / f"{count}.db"), is_owner=True)
    paths = [f"build/toy/{number}.out" for number in range(count)]
    state.set_outputs((path, "toy", f"toy:{path}", 1, "sha") for path in paths)
    steps = []
    state.db.set_progress_handler(lambda: steps.append(1), 100)
    assert len(state.outputs_among("toy", paths)) == count
    state.close()
    return len(steps)


def test_asking_for_all_outputs_takes_work_in_proportion_to_their_number(tmp_path):
    few, many = (steps_to_ask_for_outputs(tmp_path, count) for count in (2000, 8000))
    assert many < 4 * few * 1.5
