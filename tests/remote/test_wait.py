"""Whose time it is: the breaker counts the server's, not ours, as long as the user has patience."""

from __future__ import annotations

import ctypes
import hashlib
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.cache.shared import wait as wait_module
from pipeline.cache.shared.address import Address, find_address
from pipeline.cache.shared.breaker import (
    DEBT_SECONDS,
    FAILURE_SECONDS,
    PATIENCE_SECONDS,
    QUICK_SECONDS,
    Breaker,
)
from pipeline.cache.shared.client import TOO_LATE, Client
from pipeline.cache.shared.shared_cache import SharedCache
from pipeline.cache.shared.wait import TICK_SECONDS, Lag, Wait
from pipeline.setting import SettingError
from tests.remote import proxy as harm
from tests.remote.fake import fake_server, server_process
from tests.remote.proxy import between

MISSING = hashlib.sha256(b"missing").hexdigest()


class Clock:
    """Time that passes when the test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    one = Clock()
    monkeypatch.setattr(wait_module, "monotonic", one)
    return one


def test_time_outside_of_a_wait_does_not_count(clock: Clock) -> None:
    one = Wait(Lag(), 5.0, 5.0)
    clock.now += 10
    with one:
        clock.now += 2
    clock.now += 10
    with one:
        clock.now += 1
    assert (one.seconds, one.longest_seconds) == (3.0, 2.0)


def test_the_time_in_which_we_did_not_run_does_not_count(clock: Clock) -> None:
    lag = Lag()
    one = Wait(lag, 5.0, 5.0)
    lag.tick(clock.now)
    with one:
        clock.now += 4 + TICK_SECONDS  # nobody of ours ran, not even to tick
        assert not one.is_over(clock.now)
        lag.tick(clock.now)
        clock.now += TICK_SECONDS
        lag.tick(clock.now)
        clock.now += 1 + TICK_SECONDS
    assert one.seconds == pytest.approx(3 * TICK_SECONDS)


def test_a_wait_is_over_while_it_lasts(clock: Clock) -> None:
    lag = Lag()
    one = Wait(lag, 5.0, 5.0)
    with one:
        for _ in range(int(5 / TICK_SECONDS)):
            lag.tick(clock.now)
            clock.now += TICK_SECONDS
        lag.tick(clock.now)
        assert not one.is_over(clock.now)
        clock.now += 0.01
        assert one.is_over(clock.now)


@pytest.mark.parametrize(
    ("waited", "error", "too_late"),
    [
        (4.9, TimeoutError(), True),
        (1.0, TimeoutError(), False),  # most of the socket's timeout was our own lag
        (4.9, ConnectionResetError(), False),
        (5.1, ConnectionResetError(), True),  # we hung up, because it was over
    ],
)
def test_a_timeout_is_the_servers_fault_only_if_we_waited_for_it(
    clock: Clock, waited: float, error: OSError, too_late: bool
) -> None:
    one = Wait(Lag(), 5.0, 5.0)
    with one:
        clock.now += waited
    assert one.is_too_late(error) == too_late


def hold_the_interpreters_lock(seconds: float) -> None:
    """Let no other thread run Python, as an encoder in C may do."""
    ctypes.PyDLL(None).usleep(int(seconds * 1e6))


@pytest.mark.skipif(sys.platform == "win32", reason="usleep is of the C library of others")
def test_a_server_is_not_blamed_for_an_encoder_that_lets_nobody_run() -> None:
    """Without a look at whose time it is, each of these requests seems to take a second."""
    answered = threading.Semaphore(0)
    over = threading.Event()
    with server_process() as port:
        shared = SharedCache(Address("http", "127.0.0.1", port, ""))

        def ask() -> None:
            while not over.is_set():
                shared.blob(MISSING)
                answered.release()

        threads = [threading.Thread(target=ask) for _ in range(24)]
        for thread in threads:
            thread.start()
        for _ in range(3):
            for _ in threads:
                assert answered.acquire(timeout=60)
            hold_the_interpreters_lock(1.2)
        over.set()
        for thread in threads:
            thread.join()
        assert shared.is_on, shared.breaker.reason
        shared.close()


def test_our_own_work_between_requests_is_not_the_servers() -> None:
    """What the server sent is there already when we get round to reading it."""
    breaker = Breaker()
    with fake_server() as server:
        client = Client(Address("http", "127.0.0.1", server.port, ""), breaker)
        noted = []
        note = breaker.note_answer

        def noting(seconds: float, size: int) -> None:
            noted.append(seconds)
            note(seconds, size)

        breaker.note_answer = noting  # type: ignore[method-assign]
        send = client._send

        def send_and_dawdle(*arguments: object) -> None:
            send(*arguments)  # type: ignore[arg-type]
            time.sleep(0.5)

        client._send = send_and_dawdle  # type: ignore[method-assign,assignment]
        assert client.get("cas", MISSING, 10) is None
        client.close()
    assert noted[0] < 0.5


@pytest.mark.parametrize("patience", [1.0, PATIENCE_SECONDS, 60.0])
def test_patience_scales_the_whole_of_the_breaker(patience: float) -> None:
    scale = patience / PATIENCE_SECONDS

    def until_open(note: Callable[[Breaker], None]) -> int:
        breaker, count = Breaker(patience), 0
        while not breaker.is_open and count < 1000:
            note(breaker)
            count += 1
        return count

    assert until_open(lambda one: one.note_answer(QUICK_SECONDS * scale, 0)) == 1000
    slow = (QUICK_SECONDS + 1.01) * scale
    assert until_open(lambda one: one.note_answer(slow, 0)) == DEBT_SECONDS
    failures = DEBT_SECONDS // FAILURE_SECONDS + 1
    assert until_open(lambda one: one.note_failure("x")) == failures


def test_patience_is_a_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.cartwright]\nremote_cache = "http://a:1"\nremote_patience = 20\n'
    )
    found = find_address(str(tmp_path))
    assert found is not None
    assert found.patience_seconds == 20.0
    monkeypatch.setenv("CARTWRIGHT_REMOTE_PATIENCE", "0.5")
    found = find_address(str(tmp_path))
    assert found is not None
    assert found.patience_seconds == 0.5
    for wrong in ("0", "-1", "nan", "inf", "soon", "100000"):
        monkeypatch.setenv("CARTWRIGHT_REMOTE_PATIENCE", wrong)
        with pytest.raises(SettingError, match="CARTWRIGHT_REMOTE_PATIENCE: a number of seconds"):
            find_address(str(tmp_path))


def test_a_server_that_never_answers_is_left_out_when_patience_ends() -> None:
    with fake_server() as server, between(server.port, harm.mute) as proxy:
        port = int(proxy.address.rpartition(":")[2])
        shared = SharedCache(Address("http", "127.0.0.1", port, "", patience_seconds=0.3))
        began = time.monotonic()
        while shared.is_on:
            assert shared.blob(MISSING) is None
        assert shared.breaker.reason == TOO_LATE
        assert time.monotonic() - began > 0.2
        shared.close()


def test_a_server_that_answers_late_is_kept_by_who_has_the_patience() -> None:
    """Every answer takes twice what an answer may take at the usual patience."""
    with fake_server() as server:
        server.rule = lambda method, path: time.sleep(2 * QUICK_SECONDS)  # type: ignore[func-returns-value]
        shared = SharedCache(Address("http", "127.0.0.1", server.port, "", patience_seconds=60.0))
        assert shared.blob(MISSING) is None
        assert shared.is_on
        assert shared.breaker._level == 0.0
        shared.close()
