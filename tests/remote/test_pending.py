"""Results that could not be uploaded: tried again at the end, remembered for the next run."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.cache.local import Cache
from pipeline.cache.receipt import Receipt
from pipeline.cache.shared.address import Address
from pipeline.cache.shared.pending import MOST, Pending
from pipeline.cache.shared.shared_cache import SharedCache
from pipeline.cache.shared.upload import Uploads
from pipeline.output import Output
from tests.pipeline.game import Game
from tests.remote.conftest import share
from tests.remote.fake import Fake, fake_server
from tests.remote.server import free_port
from tests.remote.test_build import clone, new_game, remote_warnings

LIST = ".cartwright/uploads"


@pytest.fixture
def fake() -> Iterator[Fake]:
    with fake_server() as server:
        yield server


@pytest.fixture
def waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Game:
    """A game that was built while the server was away."""
    game = new_game(tmp_path / "first")
    share(monkeypatch, f"http://127.0.0.1:{free_port()}", write=True)
    ran = game.doit()
    assert ran.code == 0
    assert "results not uploaded: 7" in ran.out
    assert "0 B up, 7 still to be sent" in ran.out
    assert len(game.read(LIST).splitlines()) == 7
    return game


def keep(cache: Cache, text: str) -> str:
    data = text.encode()
    sha, key = hashlib.sha256(data).hexdigest(), hashlib.sha256(data * 2).hexdigest()
    receipt = Receipt((Output("out", len(data), sha),), inline={"out": data})
    cache.store_receipt(key, receipt)
    return key


def test_the_next_run_sends_what_this_one_could_not(
    waiting: Game, fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    share(monkeypatch, fake.address, write=True)
    waiting.write("assets/text001.txt", "changed\n")
    ran = waiting.doit()
    assert ran.built == ["toy:pack", "toy:text001"]
    assert "still to be sent" not in ran.out
    assert not remote_warnings(ran)
    assert not waiting.path(LIST).exists()
    assert sum(path.startswith("/ac/") for path in fake.entries) == 9
    share(monkeypatch, fake.address)
    assert clone(waiting, tmp_path / "second").doit().built == []


def test_the_list_grows_while_the_server_stays_away(waiting: Game) -> None:
    waiting.write("assets/text001.txt", "changed\n")
    assert "9 still to be sent" in waiting.doit().out
    assert len(set(waiting.read(LIST).splitlines())) == 9


def test_a_run_that_only_reads_leaves_the_list_alone(
    waiting: Game, fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = waiting.read(LIST)
    share(monkeypatch, fake.address)
    waiting.write("assets/text001.txt", "changed\n")
    assert waiting.doit().code == 0
    assert waiting.read(LIST) == before
    assert not fake.entries


@pytest.mark.parametrize("trimmed", ["cache", "cache/v2/objects"])
def test_what_was_trimmed_meanwhile_is_waited_for_no_longer(
    waiting: Game, fake: Fake, monkeypatch: pytest.MonkeyPatch, trimmed: str
) -> None:
    waiting.remove(trimmed)
    share(monkeypatch, fake.address, write=True)
    waiting.write("assets/text001.txt", "changed\n")
    assert waiting.doit().code == 0
    assert not waiting.path(LIST).exists()


def test_an_upload_that_fails_is_tried_again_at_the_end_of_the_run(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first attempt to send each result fails; more failures would trip the breaker."""
    failed: set[str] = set()

    def first_fails(method: str, path: str) -> int | None:
        if method != "PUT" or not path.startswith("/ac/") or path in failed or len(failed) == 3:
            return None
        failed.add(path)
        return 500

    fake.rule = first_fails
    share(monkeypatch, fake.address, write=True)
    game = new_game(tmp_path / "game")
    ran = game.doit()
    assert len(failed) == 3
    assert failed <= set(fake.entries)
    assert sum(path.startswith("/ac/") for path in fake.entries) == 7
    assert "not uploaded" not in ran.out
    assert "still to be sent" not in ran.out
    assert "requests failed: 3" in ran.out
    assert not game.path(LIST).exists()


def test_a_second_failure_waits_for_the_next_run(tmp_path: Path) -> None:
    tries: list[str] = []

    def send(fingerprint: str, cache: Cache) -> bool:
        tries.append(fingerprint)
        return fingerprint == "b"

    uploads, cache = Uploads(send), Cache(str(tmp_path))
    for name in "abc":
        uploads.add(name, cache)
    assert uploads.finish(30.0) == 2
    assert sorted(tries) == ["a", "a", "b", "c", "c"]
    assert sorted(uploads.unsent()) == ["a", "c"]


def test_an_interrupted_run_remembers_what_was_queued(tmp_path: Path) -> None:
    pending = Pending(str(tmp_path / "uploads"), str(tmp_path))
    cache = Cache(str(tmp_path / "cache"))
    keys = [keep(cache, str(number)) for number in range(10)]
    begun, go_on = threading.Semaphore(0), threading.Event()
    with fake_server() as server:

        def hold(method: str, path: str) -> int | None:
            begun.release()
            go_on.wait(30)
            return None

        server.rule = hold
        shared = SharedCache(Address("http", "127.0.0.1", server.port, "", writes=True), pending)
        for key in keys:
            shared.offer(key, cache)
        begun.acquire()
        shared.close()
        go_on.set()
    assert set(pending.load()) == set(keys)
    assert shared.summary().endswith("10 still to be sent")


def test_the_list_keeps_the_newest_and_no_more(tmp_path: Path) -> None:
    pending = Pending(str(tmp_path / "uploads"), str(tmp_path))
    keys = [
        hashlib.sha256(bytes([number % 256, number // 256])).hexdigest()
        for number in range(MOST + 5)
    ]
    assert pending.save([*keys, keys[-1]]) == MOST
    assert pending.load() == keys[5:]
    (tmp_path / "uploads").write_bytes(b"".join(f"{key}\n".encode() for key in keys))
    assert pending.load() == keys[5:]
    assert pending.save([]) == 0
    assert os.listdir(tmp_path) == []
    assert pending.load() == []


@pytest.mark.parametrize(
    "text", [b"\0" * 200, b"../" * 40, b"A" * 64, b"0" * 63 + b"\n" + b"1" * 65]
)
def test_lines_that_are_no_fingerprints_are_passed_over(tmp_path: Path, text: bytes) -> None:
    good = "0123456789abcdef" * 4
    (tmp_path / "uploads").write_bytes(text + b"\n" + good.encode() + b"\n" + text)
    assert Pending(str(tmp_path / "uploads"), str(tmp_path)).load() == [good]


def test_a_list_that_cannot_be_saved_fails_no_build(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way of a folder")
    pending = Pending(str(tmp_path / "file/uploads"), str(tmp_path))
    shared = SharedCache(Address("http", "127.0.0.1", free_port(), "", writes=True), pending)
    shared.breaker.trip("for a reason")
    shared.offer("0" * 64, Cache(str(tmp_path)))
    assert shared.finish() != []
