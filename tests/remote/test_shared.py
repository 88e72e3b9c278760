"""The shared cache by itself: bytes by digest, results by fingerprint, and its patience."""

from __future__ import annotations

import hashlib
import shutil
import threading
from http.client import HTTPConnection
from pathlib import Path

import pytest

from pipeline.cache.local import Cache
from pipeline.cache.receipt import Receipt
from pipeline.cache.shared import client
from pipeline.cache.shared.action_result import pack_action
from pipeline.cache.shared.address import Address
from pipeline.cache.shared.breaker import DEBT_SECONDS, QUICK_SECONDS, SLOWEST_RATE, Breaker
from pipeline.cache.shared.shared_cache import SharedCache
from pipeline.cache.shared.upload import LONGEST_QUEUE, THREADS, Uploads
from pipeline.output import Output
from tests.remote import proxy as harm
from tests.remote.fake import fake_server
from tests.remote.proxy import Harm, Proxy, between
from tests.remote.server import Server, running

KEY = hashlib.sha256(b"key").hexdigest()
SMALL, LARGE = b"small", b"large " * 50_000


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def shared_at(port: int, writes: bool = True) -> SharedCache:
    return SharedCache(Address("http", "127.0.0.1", port, "", writes))


def keep_result(cache: Cache, key: str = KEY) -> Receipt:
    made = (Output("large", len(LARGE), sha(LARGE)), Output("small", len(SMALL), sha(SMALL)))
    receipt = Receipt(made, ("a warning",), ("a report",), {"small": SMALL})
    cache.store_result(key, receipt, {"large": LARGE, "small": SMALL})
    return receipt


OUTPUTS = {"large": "build/large", "small": None}


def test_bytes_go_there_and_come_back_by_their_digest(server: Server) -> None:
    shared = shared_at(server.port)
    assert shared.blob(sha(LARGE), len(LARGE)) is None
    assert shared.put_blob(sha(LARGE), LARGE)
    assert shared.has_blobs([sha(LARGE), sha(SMALL)]) == {sha(LARGE)}
    assert shared.blob(sha(LARGE), len(LARGE)) == shared.blob(sha(LARGE)) == LARGE
    assert shared.is_on
    shared.close()


def test_a_result_arrives_in_the_other_cache_as_it_was(server: Server, tmp_path: Path) -> None:
    shared = shared_at(server.port)
    here, there = Cache(f"{tmp_path}/here"), Cache(f"{tmp_path}/there")
    receipt = keep_result(here)
    assert not shared.fetch(KEY, OUTPUTS, there)
    assert shared.upload(KEY, here)
    assert shared.fetch(KEY, OUTPUTS, there)
    assert there.load_receipt(KEY) == receipt
    assert there.load_object(sha(LARGE)) == LARGE
    shared.close()


def answer_to(server: Server, method: str, path: str, body: bytes | None = None) -> int:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request(method, path, body)
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.fixture
def validating(server: Server) -> Server:
    """A server that takes only results that it understands."""
    if answer_to(server, "PUT", f"/ac/{KEY}", b"no message of Bazel's") < 400:
        pytest.skip(f"{server.program} takes everything for a result")
    return server


def test_a_server_that_validates_results_takes_ours(validating: Server, tmp_path: Path) -> None:
    shared, here = shared_at(validating.port), Cache(f"{tmp_path}/here")
    keep_result(here)
    assert shared.upload(KEY, here)
    assert answer_to(validating, "GET", f"/ac/{KEY}") == 200
    shared.close()


def test_a_result_whose_bytes_a_validating_server_lacks_is_missing(
    validating: Server, tmp_path: Path
) -> None:
    shared = shared_at(validating.port)
    here, there = Cache(f"{tmp_path}/here"), Cache(f"{tmp_path}/there")
    message = pack_action(KEY, keep_result(here))
    assert answer_to(validating, "PUT", f"/ac/{KEY}", message) < 400
    assert not shared.fetch(KEY, OUTPUTS, there)
    assert shared.is_on
    assert shared.upload(KEY, here)
    assert shared.fetch(KEY, OUTPUTS, there)
    shared.close()


def test_bytes_that_are_here_already_are_not_fetched(server: Server, tmp_path: Path) -> None:
    shared = shared_at(server.port)
    here, there = Cache(f"{tmp_path}/here"), Cache(f"{tmp_path}/there")
    keep_result(here)
    there.store_object(sha(LARGE), LARGE)
    assert shared.upload(KEY, here)
    assert shared.fetch(KEY, OUTPUTS, there)
    assert shared.client.bytes_down < len(LARGE)
    shared.close()


def test_bytes_that_are_there_already_are_not_sent_again(server: Server, tmp_path: Path) -> None:
    shared = shared_at(server.port)
    cache = Cache(f"{tmp_path}/here")
    keep_result(cache)
    assert shared.put_blob(sha(LARGE), LARGE)
    before = shared.client.bytes_up
    assert shared.upload(KEY, cache)
    assert shared.client.bytes_up - before < len(LARGE)
    shared.close()


def test_a_result_that_does_not_fit_the_node_is_kept_out(server: Server, tmp_path: Path) -> None:
    shared = shared_at(server.port)
    here, there = Cache(f"{tmp_path}/here"), Cache(f"{tmp_path}/there")
    keep_result(here)
    assert shared.upload(KEY, here)
    assert not shared.fetch(KEY, {"other": "build/other"}, there)
    assert there.load_receipt(KEY) is None
    assert shared.breaker.refused == 1
    shared.close()


def test_only_what_was_asked_for_is_read_of_an_answer_that_is_too_long(server: Server) -> None:
    shared = shared_at(server.port)
    assert shared.put_blob(sha(LARGE), LARGE)
    assert shared.blob(sha(LARGE), len(LARGE) - 1) is None
    assert shared.client.bytes_down == 0
    assert shared.breaker.refused == 1
    shared.close()


def test_a_connection_that_was_kept_too_long_is_made_anew(server: Server) -> None:
    shared = shared_at(server.port)
    assert shared.put_blob(sha(SMALL), SMALL)
    (connection,) = shared.client._connections
    client.hang_up(connection)
    assert shared.blob(sha(SMALL)) == SMALL
    assert shared.breaker.failed == 0
    shared.close()


def test_one_connection_serves_all_requests_of_a_thread(server: Server) -> None:
    def harmless(proxy: Proxy) -> Harm:
        return bytes

    with between(server.port, harmless) as proxy:
        shared = shared_at(int(proxy.address.rpartition(":")[2]))
        assert shared.put_blob(sha(SMALL), SMALL)
        for _ in range(20):
            assert shared.blob(sha(SMALL)) == SMALL
            assert shared.blob(sha(b"missing")) is None
        shared.close()
    assert proxy.connections == 1


def test_a_server_that_takes_nothing_can_still_be_read(server: Server) -> None:
    open_to_us = shared_at(server.port)
    assert open_to_us.put_blob(sha(SMALL), SMALL)
    open_to_us.close()
    answers = iter([b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"])

    def first_denied(proxy: Proxy) -> Harm:
        return lambda data: next(answers, data)

    with between(server.port, first_denied) as proxy:
        shared = shared_at(int(proxy.address.rpartition(":")[2]))
        assert not shared.put_blob(sha(LARGE), LARGE)
        assert not shared.takes_uploads
        assert shared.blob(sha(SMALL)) == SMALL
        shared.close()


def test_a_trickle_ends_when_its_time_is_over(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "PATIENCE_SECONDS", 0.4)
    with between(server.port, harm.slow) as proxy:
        shared = shared_at(int(proxy.address.rpartition(":")[2]))
        assert shared.blob(sha(SMALL)) is None
        assert not shared.is_on
        assert shared.breaker.reason == client.TOO_LATE
        shared.close()


def test_an_answer_that_ends_too_early_is_known_by_its_length(server: Server) -> None:
    data = b"neither small nor large" * 10
    sender = shared_at(server.port)
    assert sender.put_blob(sha(data), data)
    sender.close()
    with between(server.port, harm.ending) as proxy:
        shared = shared_at(int(proxy.address.rpartition(":")[2]))
        assert shared.blob(sha(data)) is None
        assert shared.breaker.first_problem == "an answer is cut short"
        shared.close()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_a_certificate_is_trusted_only_by_who_knows_its_maker(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path / "server", program, tls=True) as server:
        address = Address("https", "localhost", server.port, "", writes=True)
        stranger = SharedCache(address)
        assert not stranger.put_blob(sha(SMALL), SMALL)
        assert stranger.breaker.reason == "TLS fails (CERTIFICATE_VERIFY_FAILED)"
        monkeypatch.setenv("SSL_CERT_FILE", str(server.certificate))
        shared = SharedCache(address)
        assert shared.put_blob(sha(LARGE), LARGE)
        assert shared.blob(sha(LARGE), len(LARGE)) == LARGE
        shared.close()


def answers_until_open(seconds: float, size: int = 0) -> int:
    breaker, count = Breaker(), 0
    while not breaker.is_open and count < 1000:
        breaker.note_answer(seconds, size)
        count += 1
    return count


def test_a_slow_server_is_left_out_sooner_the_slower_it_is() -> None:
    assert answers_until_open(QUICK_SECONDS) == 1000
    assert answers_until_open(QUICK_SECONDS + 1) == DEBT_SECONDS + 1
    assert answers_until_open(QUICK_SECONDS + DEBT_SECONDS + 1) == 1
    assert answers_until_open(60.0, 60 * SLOWEST_RATE) == 1000


def test_a_server_that_stumbles_now_and_then_is_kept() -> None:
    breaker = Breaker()
    for _ in range(100):
        breaker.note_failure("a hiccup")
        for _ in range(10):
            breaker.note_answer(0.01, 0)
    assert not breaker.is_open
    assert breaker.failed == 100
    for _ in range(10):
        breaker.note_failure("another")
    assert breaker.reason == "another"


def test_uploads_that_wait_are_given_up_when_the_time_is_over(tmp_path: Path) -> None:
    begun, go_on = threading.Semaphore(0), threading.Event()

    def send(fingerprint: str, cache: Cache) -> bool:
        begun.release()
        return go_on.wait(30)

    uploads, cache = Uploads(send), Cache(str(tmp_path))
    for number in range(10):
        uploads.add(str(number), cache)
    for _ in range(THREADS):
        begun.acquire()
    assert uploads.finish(0.0) == 10
    go_on.set()


def test_a_full_queue_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.cache.shared.upload.LONGEST_QUEUE", 5)
    assert LONGEST_QUEUE > 5
    begun, go_on = threading.Semaphore(0), threading.Event()

    def send(fingerprint: str, cache: Cache) -> bool:
        begun.release()
        return go_on.wait(30)

    uploads, cache = Uploads(send), Cache(str(tmp_path))
    for number in range(THREADS):
        uploads.add(str(number), cache)
        begun.acquire()
    for number in range(20):
        uploads.add(str(number), cache)
    go_on.set()
    assert uploads.finish(30.0) == 15


def test_a_connection_that_another_thread_closes_ends_the_request_and_not_the_thread(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = shared_at(server.port).client
    reach = client.Client._reach

    def close_behind(self: client.Client, connection: HTTPConnection) -> None:
        reach(self, connection)
        self._over.set()
        connection.close()

    monkeypatch.setattr(client.Client, "_reach", close_behind)
    with pytest.raises(client.RemoteError, match="the run is over"):
        one.get("ac", "0" * 64, 100)


@pytest.mark.parametrize(("retry_after", "is_found"), [("0", True), ("", False), ("3600", False)])
def test_a_busy_server_is_asked_again_where_it_says_when(retry_after: str, is_found: bool) -> None:
    with fake_server() as server:
        answers = iter([503])
        server.retry_after, server.rule = retry_after, lambda *_: next(answers, None)
        server.entries[f"/cas/{sha(SMALL)}"] = SMALL
        shared = shared_at(server.port)
        assert (shared.blob(sha(SMALL), len(SMALL)) == SMALL) is is_found
        assert shared.breaker.failed == (not is_found)
        shared.close()
