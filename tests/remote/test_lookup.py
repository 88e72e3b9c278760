"""Look-ups before a pool and before this process: who waits for what, and for how long."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from pipeline.build.executor import InProcess
from pipeline.build.job import Job, RunConfig
from pipeline.build.lookup import AT_ONCE, ROOM, LookUps
from pipeline.cache.local import Cache
from pipeline.cache.shared.address import Address
from pipeline.cache.shared.shared_cache import SharedCache
from pipeline.process.pool import Pool


class Silent(SharedCache):
    """A shared cache whose look-ups take until the test lets them go."""

    def __init__(self) -> None:
        super().__init__(Address("http", "127.0.0.1", 9, ""))
        self.asked = threading.Semaphore(0)
        self.go_on = threading.Event()
        self.ended = False
        self.mistake: Exception | None = None

    def fetch(self, *_: Any) -> bool:
        self.asked.release()
        if self.mistake:
            raise self.mistake
        self.go_on.wait(30)
        self.ended = True
        return False


@pytest.fixture
def silent() -> Iterator[Silent]:
    shared = Silent()
    yield shared
    shared.go_on.set()
    shared.close()


def job_of(name: str) -> Job:
    at = RunConfig("", "", "", "")
    return Job(name, "", {}, {}, {}, {}, "", name.rjust(64, "0"), at)


def name_of(job: Job) -> str:
    return job.task


def process_of(_: Job) -> int:
    return os.getpid()


def answers(look_ups: LookUps, count: int) -> list[str]:
    return sorted(look_ups.next_answer()[1] for _ in range(count))


@pytest.mark.parametrize("workers", [0, 1])
def test_nobody_waits_for_a_server_that_is_left_out(
    silent: Silent, tmp_path: Path, workers: int
) -> None:
    pool = Pool(workers, str(tmp_path)) if workers else None
    look_ups = LookUps(silent, Cache(str(tmp_path)), pool)
    for name in "abc":
        look_ups.submit(name, name_of, job_of(name))

    def leave_out() -> None:
        for _ in range(3):
            silent.asked.acquire()
        silent.breaker.trip("for a reason")

    threading.Thread(target=leave_out).start()
    assert answers(look_ups, 3) == ["a", "b", "c"]
    assert not silent.ended
    assert not look_ups.is_busy
    look_ups.close()


def test_a_mistake_in_a_look_up_holds_nobody_up(silent: Silent, tmp_path: Path) -> None:
    silent.mistake = ValueError("a mistake")
    look_ups = LookUps(silent, Cache(str(tmp_path)), None)
    for number in range(ROOM):
        look_ups.submit(number, name_of, job_of(str(number)))
    assert len(answers(look_ups, ROOM)) == ROOM
    assert silent.breaker.reason == "ValueError in a look-up"
    look_ups.close()


def test_what_is_ready_is_done_while_a_look_up_takes_its_time(
    silent: Silent, tmp_path: Path
) -> None:
    cache = Cache(str(tmp_path))
    look_ups = LookUps(silent, cache, Pool(1, str(tmp_path)))
    look_ups.submit("slow", name_of, job_of("slow"))
    silent.asked.acquire()
    for name in ("here", "there"):
        job = job_of(name)
        Path(cache._path("receipts", job.fingerprint)).parent.mkdir(parents=True, exist_ok=True)
        Path(cache._path("receipts", job.fingerprint)).touch()
        look_ups.submit(name, name_of, job)
    assert answers(look_ups, 2) == ["here", "there"]
    assert not silent.ended
    silent.go_on.set()
    assert answers(look_ups, 1) == ["slow"]
    look_ups.close()


def test_workers_that_a_long_build_gets_take_over_what_waits(
    silent: Silent, tmp_path: Path
) -> None:
    pool = Pool(2, str(tmp_path))
    alone = InProcess(lambda: pool, wants_workers=lambda job: job.task == "slow")
    look_ups = LookUps(silent, Cache(str(tmp_path)), None, alone)
    silent.go_on.set()
    look_ups.submit("quick", process_of, job_of("quick"))
    assert look_ups.next_answer() == ("quick", os.getpid())
    for name in ("slow", *"abcdef"):
        look_ups.submit(name, process_of, job_of(name))
    found = dict(look_ups.next_answer() for _ in range(7))
    assert set(found) == {"slow", *"abcdef"}
    assert os.getpid() not in found.values()
    assert not look_ups.is_busy
    look_ups.close()


def test_what_is_not_asked_for_yet_when_workers_take_over_is_asked_for_then(
    silent: Silent, tmp_path: Path
) -> None:
    pool = Pool(1, str(tmp_path))
    alone = InProcess(lambda: pool, wants_workers=lambda job: job.task == "slow")
    look_ups = LookUps(silent, Cache(str(tmp_path)), None, alone)
    silent.go_on.set()
    slow = job_of("slow")
    # It is not looked up, so that it starts before the others are.
    look_ups.submit("slow", name_of, slow._replace(config=slow.config._replace(encode_again=True)))
    for name in "abc":
        look_ups.submit(name, name_of, job_of(name))
    assert answers(look_ups, 4) == ["a", "b", "c", "slow"]
    look_ups.close()


def test_a_node_that_was_found_is_restored_here_and_counts_for_no_workers(
    silent: Silent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(silent, "fetch", lambda *_: True)
    alone = InProcess(lambda: pytest.fail("workers were started"), wants_workers=lambda _: True)
    look_ups = LookUps(silent, Cache(str(tmp_path)), None, alone)
    look_ups.submit("found", process_of, job_of("found"))
    assert look_ups.next_answer() == ("found", os.getpid())
    look_ups.close()


def test_many_are_looked_up_at_once_and_no_more(silent: Silent, tmp_path: Path) -> None:
    look_ups = LookUps(silent, Cache(str(tmp_path)), Pool(1, str(tmp_path)))
    for number in range(2 * AT_ONCE):
        look_ups.submit(number, name_of, job_of(str(number)))
    for _ in range(AT_ONCE):
        assert silent.asked.acquire(timeout=30)
    assert not silent.asked.acquire(blocking=False)
    silent.go_on.set()
    assert len(answers(look_ups, 2 * AT_ONCE)) == 2 * AT_ONCE
    look_ups.close()


def test_jobs_are_done_in_the_order_of_submission_whichever_answer_comes_first(
    silent: Silent, tmp_path: Path
) -> None:
    look_ups = LookUps(silent, Cache(str(tmp_path)), None)
    for number in range(4):
        look_ups.submit(number, name_of, job_of(str(number)))
    for ticket in (3, 1, 4, 2):
        look_ups._release(ticket, fetched=False)
    assert [look_ups.next_answer()[0] for _ in range(4)] == [0, 1, 2, 3]
    look_ups.close()


@pytest.mark.parametrize("workers", [0, 1])
def test_a_node_is_encoded_when_its_look_up_takes_longer_than_it_did(
    silent: Silent, tmp_path: Path, workers: int
) -> None:
    pool = Pool(workers, str(tmp_path)) if workers else None
    look_ups = LookUps(silent, Cache(str(tmp_path)), pool)
    for name in "ab":
        look_ups.submit(name, name_of, job_of(name)._replace(known_seconds=0.05))
    assert answers(look_ups, 2) == ["a", "b"]
    assert not silent.ended
    look_ups.close()


class Late(Silent):
    """A shared cache that finds a node, but late."""

    def fetch(self, *words: Any) -> bool:
        super().fetch(*words)
        return True


def restored_or_encoded(job: Job) -> str:
    """Restore at once, or encode until somebody writes to a pipe, as a slow encoder would."""
    if job.is_fetched:
        return f"{job.task} restored"
    folder = Path(job.config.root)
    (folder / "encoding").write_text("begun")  # which waits for a reader
    (folder / "end").read_text()
    return f"{job.task} encoded"


def test_an_answer_that_comes_while_a_worker_encodes_the_node_wins(tmp_path: Path) -> None:
    for name in ("encoding", "end"):
        os.mkfifo(tmp_path / name)
    shared = Late()
    look_ups = LookUps(shared, Cache(str(tmp_path)), Pool(1, str(tmp_path)))
    config = RunConfig(str(tmp_path), "", "", "")
    job = job_of("a")._replace(known_seconds=0.01, config=config)
    look_ups.submit("a", restored_or_encoded, job)
    threading.Thread(target=answer_when_begun, args=(tmp_path / "encoding", shared)).start()
    assert look_ups.next_answer() == ("a", "a restored")
    assert not look_ups.is_busy
    look_ups.close()  # the worker would go on for ever


def answer_when_begun(pipe: Path, shared: Late) -> None:
    assert pipe.read_text() == "begun"
    shared.go_on.set()


class ManualPool:
    """Workers that answer what the test lets them."""

    has_room, is_busy = True, True

    def __init__(self, shared: Late) -> None:
        self.shared, self.answers = shared, list[tuple[str, str]]()
        self.submitted: list[str] = []
        self.is_abandoned = False

    def submit(self, key: str, function: Any, job: Job) -> None:
        self.submitted.append(key)
        self.shared.go_on.set()  # now that it is being encoded, it is found
        if len(self.submitted) == 2:  # the first is answered first
            self.answers = [(one, f"{one} done") for one in reversed(self.submitted)]

    def answer_or_wake(self, wake: Any) -> tuple[str, str] | None:
        if not self.answers:
            assert wake.poll(30)
            return None
        return self.answers.pop()

    def abandon(self) -> None:
        self.is_abandoned = True

    def close(self) -> None:
        """End as soon as all workers have ended."""


@pytest.mark.parametrize("is_answered", [True, False])
def test_the_answer_of_a_worker_that_lost_is_dropped(tmp_path: Path, is_answered: bool) -> None:
    shared = Late()
    pool = ManualPool(shared)
    look_ups = LookUps(shared, Cache(str(tmp_path)), cast(Any, pool))
    look_ups.submit("a", restored_or_encoded, job_of("a")._replace(known_seconds=0.01))
    assert look_ups.next_answer() == ("a", "a restored")
    assert not look_ups.is_busy
    if is_answered:
        look_ups.submit("b", restored_or_encoded, job_of("b"))
        assert look_ups.next_answer() == ("b", "b done")
    assert pool.submitted == ["a", "b"][: 1 + is_answered]
    look_ups.close()
    assert pool.is_abandoned != is_answered


def test_an_answer_that_comes_before_an_overdue_node_is_begun_is_used(tmp_path: Path) -> None:
    shared, answered = Late(), threading.Semaphore(0)
    look_ups = LookUps(shared, Cache(str(tmp_path)), None)
    hand_over = look_ups._answer

    def note(*words: Any) -> None:
        hand_over(*words)
        answered.release()

    look_ups._answer = note  # type: ignore[method-assign]

    def do(job: Job) -> str:
        if job.is_fetched:
            return f"{job.task} restored"
        shared.go_on.set()  # while the first is encoded, both are found
        assert answered.acquire(timeout=30)
        assert answered.acquire(timeout=30)
        return f"{job.task} encoded"

    for name in "ab":
        look_ups.submit(name, do, job_of(name)._replace(known_seconds=0.01))
    assert look_ups.next_answer() == ("a", "a encoded")
    assert look_ups.next_answer() == ("b", "b restored")
    look_ups.close()


def test_a_node_is_waited_for_where_nothing_may_be_encoded(silent: Silent, tmp_path: Path) -> None:
    look_ups = LookUps(silent, Cache(str(tmp_path)), None)
    config = RunConfig("", "", "", "", require_cached=True)
    look_ups.submit("a", name_of, job_of("a")._replace(known_seconds=0.0, config=config))
    threading.Timer(0.1, silent.go_on.set).start()
    assert answers(look_ups, 1) == ["a"]
    assert silent.ended
    look_ups.close()


@pytest.mark.parametrize(
    ("seconds", "is_asked"), [(None, True), (0.2, True), (0.05, False), (0.0, False)]
)
def test_a_node_that_is_quicker_than_sharing_pays_is_not_looked_up(
    tmp_path: Path, seconds: float | None, is_asked: bool
) -> None:
    shared = SharedCache(Address("http", "127.0.0.1", 9, "", least_seconds=0.1))
    asked = []
    shared.fetch = lambda *words: bool(asked.append(words))  # type: ignore[method-assign]
    look_ups = LookUps(shared, Cache(str(tmp_path)), None)
    look_ups.submit("a", name_of, job_of("a")._replace(known_seconds=seconds))
    assert answers(look_ups, 1) == ["a"]
    assert bool(asked) is is_asked
    assert shared.pays(seconds) is is_asked
    look_ups.close()
    shared.close()


def test_only_a_far_server_decides_by_its_round_trip_what_pays() -> None:
    shared = SharedCache(Address("http", "127.0.0.1", 9, ""))
    for round_trip, requests, least in ((0.001, 99, 0.0), (0.03, 2, 0.0), (0.03, 99, 0.03)):
        shared.client.round_trip_seconds, shared.client.requests = round_trip, requests
        assert shared.least_seconds == least
    shared.close()
