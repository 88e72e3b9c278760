"""A bucket as a shared cache, on moto's S3 server: results in packs, faults, credentials."""

from __future__ import annotations

import hashlib
import os
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pipeline.cache.local import Cache
from pipeline.cache.receipt import Receipt
from pipeline.cache.shared import breaker
from pipeline.cache.shared.address import Address, find_address
from pipeline.cache.shared.breaker import Breaker
from pipeline.cache.shared.bucket import reader
from pipeline.cache.shared.bucket.client import BucketClient
from pipeline.cache.shared.bucket.pack import (
    PACK_BYTES,
    PackError,
    index_bytes,
    pack_results,
    split_packs,
    unpack_index,
)
from pipeline.cache.shared.bucket.store import open_store
from pipeline.cache.shared.client import RemoteError
from pipeline.cache.shared.shared_cache import SharedCache
from pipeline.cli import doctor
from pipeline.output import Output
from pipeline.setting import SettingError
from tests.pipeline.game import Game
from tests.remote import proxy as harm
from tests.remote.bucket import KEY_ID, SECRET, SESSION, BucketServer, bucket_server
from tests.remote.proxy import Harm, Proxy, between
from tests.remote.server import free_port
from tests.remote.test_build import clone, new_game, remote_warnings

OUTPUTS = {"text": "build/text"}
BUSY = b"HTTP/1.1 503 Slow Down\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n"


@pytest.fixture(scope="module")
def s3() -> Iterator[BucketServer]:
    with bucket_server() as one:
        yield one


@pytest.fixture(autouse=True)
def no_cloud(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the credentials of whoever runs the tests out of them."""
    for name in [one for one in os.environ if one.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))


@pytest.fixture
def bucket(
    s3: BucketServer, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> str:
    """Settings that lead to a folder of the bucket that this test has for itself."""
    prefix = hashlib.sha256(request.node.name.encode()).hexdigest()[:12]
    settings = s3.settings() | {
        "CARTWRIGHT_REMOTE_CACHE": f"{s3.address}/{prefix}",
        "CARTWRIGHT_REMOTE_WRITE": "1",
    }
    for key, value in settings.items():
        monkeypatch.setenv(key, value)
    return settings["CARTWRIGHT_REMOTE_CACHE"]


def key_of(number: int) -> str:
    return hashlib.sha256(f"key {number}".encode()).hexdigest()


def open_bucket(folder: Path | str = "") -> SharedCache:
    address = find_address(".")
    assert address is not None
    return SharedCache(address, index_folder=str(folder))


def client_of(shared: SharedCache) -> BucketClient:
    assert isinstance(shared.client, BucketClient)
    return shared.client


def keep(cache: Cache, number: int, size: int = 100) -> bytes:
    data = (f"{number} ".encode() * size)[:size]
    one = Output("text", len(data), hashlib.sha256(data).hexdigest())
    inline = {"text": data} if size <= 1 << 14 else {}
    cache.store_result(key_of(number), Receipt((one,), (), (), inline), {"text": data})
    return data


def send(cache: Cache, *numbers: int) -> SharedCache:
    shared = open_bucket()
    for number in numbers:
        shared.offer(key_of(number), cache)
    assert shared.finish() == []
    return shared


# The format of a pack.


def test_a_pack_gives_back_what_was_put_in() -> None:
    messages = {key_of(one): b"m" * one for one in range(5)}
    name, data = pack_results(messages)
    size = index_bytes(name)
    assert size is not None
    found = unpack_index(name, data[:size])
    assert {one: data[place.start : place.end] for one, place in found.items()} == messages


def test_every_changed_byte_of_an_index_is_refused() -> None:
    name, data = pack_results({key_of(one): b"m" for one in range(3)})
    size = index_bytes(name) or 0
    for at in range(size):
        changed = bytearray(data[:size])
        changed[at] ^= 1
        with pytest.raises(PackError):
            unpack_index(name, bytes(changed))


@pytest.mark.parametrize("name", ["", "0-" + "a" * 64, "x", "9999999-" + "a" * 64, "1-short"])
def test_no_other_object_is_taken_for_a_pack(name: str) -> None:
    assert index_bytes(name) is None


def test_packs_are_of_bounded_size() -> None:
    half = b"x" * (PACK_BYTES // 2 + 1)
    assert [len(one) for one in split_packs((key_of(n), half) for n in range(3))] == [1, 1, 1]


# Results.


def test_results_of_all_sizes_arrive_in_the_other_cache(bucket: str, tmp_path: Path) -> None:
    here, there = Cache(f"{tmp_path}/here"), Cache(f"{tmp_path}/there")
    sizes = [0, 100, 1 << 15, 1 << 18, 1 << 21]
    expected = [keep(here, number, size) for number, size in enumerate(sizes)]
    send(here, *range(len(sizes))).close()
    shared = open_bucket()
    for number, data in enumerate(expected):
        assert shared.fetch(key_of(number), OUTPUTS, there)
        receipt = there.load_receipt_of_other(key_of(number))
        assert receipt is not None
        assert there.load_output(receipt, receipt.made[0]) == data
    assert not shared.fetch(key_of(99), OUTPUTS, there)
    shared.close()


def test_a_thousand_small_results_take_a_few_requests(bucket: str, tmp_path: Path) -> None:
    here, there = Cache(f"{tmp_path}/here"), Cache(f"{tmp_path}/there")
    for number in range(1000):
        keep(here, number, 4096)
    sent = client_of(send(here, *range(1000))).requests
    shared = open_bucket(tmp_path / "indexes")
    assert all(shared.fetch(key_of(number), OUTPUTS, there) for number in range(1000))
    fetched = client_of(shared).requests
    shared.close()
    assert (sent, fetched) <= (4, 24), (sent, fetched)
    again = open_bucket(tmp_path / "indexes")
    assert not any(again.fetch(key_of(number), OUTPUTS, there) for number in range(2000, 3000))
    assert client_of(again).requests == 1, "results that are not there cost one listing in all"
    again.close()


def test_scattered_results_do_not_bring_whole_packs(bucket: str, tmp_path: Path) -> None:
    here, there = Cache(f"{tmp_path}/here"), Cache(f"{tmp_path}/there")
    for number in range(1500):
        keep(here, number, 4096)
    send(here, *range(1500)).close()
    all_of_them, some = open_bucket(), open_bucket()
    assert all(all_of_them.fetch(key_of(number), OUTPUTS, there) for number in range(1500))
    assert all(some.fetch(key_of(number), OUTPUTS, there) for number in range(0, 1500, 100))
    whole, part = client_of(all_of_them).bytes_down, client_of(some).bytes_down
    assert client_of(all_of_them).requests <= 20
    assert part < whole / 2, (part, whole)
    for shared in (all_of_them, some):
        shared.close()


def test_a_result_that_came_with_another_takes_no_request(bucket: str, tmp_path: Path) -> None:
    here, there = Cache(f"{tmp_path}/here"), Cache(f"{tmp_path}/there")
    expected = {number: keep(here, number, 4000) for number in range(1, 4)}
    keep(here, 4, 1 << 20)  # an object of its own
    send(here, *range(1, 5)).close()
    shared = open_bucket()
    assert shared.fetch_at_hand(key_of(2), OUTPUTS, there) is None
    assert shared.fetch(key_of(1), OUTPUTS, there)
    requests = client_of(shared).requests
    receipt = shared.fetch_at_hand(key_of(2), OUTPUTS, there)
    assert receipt is not None
    assert receipt == there.load_receipt(key_of(2))
    assert there.load_output(receipt, receipt.made[0]) == expected[2]
    assert shared.fetch_at_hand(key_of(3), {"other": "build/other"}, there) is None
    assert shared.fetch_at_hand(key_of(4), OUTPUTS, there) is None
    assert client_of(shared).requests == requests
    assert shared.nodes == 2
    shared.close()


def test_an_unsigned_result_that_came_with_another_is_not_taken(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = Cache(f"{tmp_path}/here"), Cache(f"{tmp_path}/there")
    for number in (1, 2):
        keep(here, number)
    send(here, 1, 2).close()
    monkeypatch.setenv("CARTWRIGHT_REMOTE_KEY", "a key")
    shared = open_bucket()
    assert not shared.fetch(key_of(1), OUTPUTS, there)
    assert shared.client.result_at_hand(key_of(2), 1 << 20)
    assert shared.fetch_at_hand(key_of(2), OUTPUTS, there) is None
    assert not there.has_receipt(key_of(2))
    shared.close()


def test_a_bucket_is_asked_whether_it_has_an_object(bucket: str) -> None:
    here, other = (hashlib.sha256(one).hexdigest() for one in (b"here", b"other"))
    shared = open_bucket()
    assert shared.put_blob(here, b"here")
    assert shared.has_blobs([here, other]) == {here}
    shared.close()


def test_what_takes_long_to_send_is_given_the_time_that_its_size_takes(
    s3: BucketServer, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = b"x" * 400_000
    monkeypatch.setenv("CARTWRIGHT_REMOTE_PATIENCE", "0.3")
    with between(s3.port, harm.uphill) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.address)
        shared = open_bucket()
        assert shared.put_blob(hashlib.sha256(data).hexdigest(), data), shared.problem
        shared.close()


def test_an_object_of_any_size_is_sent_with_one_request(
    s3: BucketServer, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = b"x" * 6_000_000
    answers: list[bytes] = []

    def counting(_: Proxy) -> Harm:
        return lambda answer: answers.append(answer) or answer

    with between(s3.port, counting) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.address)
        shared = open_bucket()
        assert shared.put_blob(hashlib.sha256(data).hexdigest(), data)
        shared.close()
    assert b"".join(answers).count(b"HTTP/1.1 200") == 1


def test_an_unsigned_result_does_not_hide_a_signed_one(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Cache(f"{tmp_path}/here")
    keep(here, 1)
    keep(here, 2)
    send(here, 1, 2).close()
    monkeypatch.setenv("CARTWRIGHT_REMOTE_KEY", "a key")
    send(here, 1).close()
    shared = open_bucket()
    assert shared.fetch(key_of(1), OUTPUTS, Cache(f"{tmp_path}/there"))
    assert not shared.fetch(key_of(2), OUTPUTS, Cache(f"{tmp_path}/there"))
    assert shared.unsigned == 1
    shared.close()


def test_a_damaged_pack_costs_only_its_own_results(bucket: str, tmp_path: Path) -> None:
    here = Cache(f"{tmp_path}/here")
    keep(here, 1)
    shared = send(here, 1)
    shared = open_bucket()
    bad, _ = pack_results({key_of(2): b"x"})
    shared.client.put("packs", bad, b"y" * 37)
    assert shared.fetch(key_of(1), OUTPUTS, Cache(f"{tmp_path}/there"))
    assert shared.breaker.refused == 1
    shared.close()


@pytest.mark.parametrize("kept", [0, 1, 60 * 36, 60 * 36 + 100])
def test_a_pack_that_is_cut_short_costs_one_refusal_and_its_own_results(
    bucket: str, tmp_path: Path, kept: int
) -> None:
    here, there = Cache(f"{tmp_path}/here"), Cache(f"{tmp_path}/there")
    for number in range(61):
        keep(here, number)
    send(here, *range(60)).close()
    send(here, 60).close()
    shared = open_bucket()
    client = client_of(shared)
    name = next(one for one in client.list_packs() if one.startswith("60-"))
    whole = client.get("packs", name, 1 << 20)
    assert whole is not None
    client.put("packs", name, whole[:kept])
    found = [number for number in range(61) if shared.fetch(key_of(number), OUTPUTS, there)]
    assert found == [60]
    assert (shared.breaker.refused, shared.breaker.failed, shared.is_on) == (1, 0, True)
    shared.close()


def test_a_pack_that_is_gone_is_asked_for_once(bucket: str, tmp_path: Path) -> None:
    here, there = Cache(f"{tmp_path}/here"), Cache(f"{tmp_path}/there")
    for number in range(30):
        keep(here, number)
    send(here, *range(30)).close()
    shared = open_bucket()
    client = client_of(shared)
    assert client.has_result(key_of(0))
    client.delete_packs(client.list_packs())
    before = client.requests
    assert not any(shared.fetch(key_of(number), OUTPUTS, there) for number in range(30))
    assert client.requests == before + 1
    assert (shared.breaker.refused, shared.breaker.failed) == (0, 0)
    shared.close()


# Whole builds.


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_clean_clone_encodes_nothing_and_gets_the_same_bytes(
    bucket: str, tmp_path: Path, workers: tuple[str, ...]
) -> None:
    game = new_game(tmp_path / "first", 20)
    first = game.doit()
    assert first.code == 0
    assert not remote_warnings(first), first.out
    other = clone(game, tmp_path / "second")
    ran = other.doit(*workers)
    assert (ran.code, ran.built) == (0, []), ran.out
    assert other.outputs() == game.outputs()
    assert "nodes from the shared cache" in ran.out


def expired(proxy: Proxy) -> Harm:
    """Answer as S3 does when a session is over, with the credentials in the text as it has them."""
    text = f"<Error><Code>ExpiredToken</Code><AWSAccessKeyId>{KEY_ID}</AWSAccessKeyId></Error>"
    head = f"HTTP/1.1 400 Bad Request\r\nContent-Length: {len(text)}\r\n\r\n"
    return lambda data: (head + text).encode()


def skewed(proxy: Proxy) -> Harm:
    """Answer as S3 does to who signs with a clock that is wrong."""
    text = "<Error><Code>RequestTimeTooSkewed</Code><Message>The difference</Message></Error>"
    head = f"HTTP/1.1 403 Forbidden\r\nContent-Length: {len(text)}\r\n\r\n"
    return lambda data: (head + text).encode()


def too_busy(proxy: Proxy) -> Harm:
    """Be too busy for now."""
    return lambda data: BUSY


# What the warning says, where that does not depend on how busy this machine is.
FAULTS: dict[Callable[[Proxy], Harm], str] = {
    harm.mute: "does not answer in time",
    harm.closing: "",
    harm.cutting: "",
    harm.corrupting: "",
    harm.babbling: "",
    harm.breaking: "",
    harm.denying: "access is denied",
    expired: "the credentials have expired",
    skewed: "the clock of this machine is wrong",
    too_busy: "",
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda one: one.__name__)
def test_whatever_the_bucket_does_the_build_is_right_and_no_secret_is_told(
    s3: BucketServer,
    bucket: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fault: Callable[[Proxy], Harm],
) -> None:
    game = new_game(tmp_path / "first")
    assert game.doit().code == 0
    monkeypatch.setenv("CARTWRIGHT_REMOTE_PATIENCE", "1")
    monkeypatch.setenv("CARTWRIGHT_REMOTE_WAIT", "2")
    other = clone(game, tmp_path / "second")
    with between(s3.port, fault) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.address)
        ran = other.doit("--json", "result.json", "-v")
    assert ran.code == 0, ran.out
    assert other.outputs() == game.outputs()
    warnings = remote_warnings(ran)
    assert warnings, ran.out
    assert FAULTS[fault] in warnings[0]
    told = told_in(other, ran.out, ran.err)
    assert not [one for one in (KEY_ID, SECRET, SESSION) if one in told]


def told_in(game: Game, *texts: str) -> str:
    """Return all that was said, and the content of all files."""
    files = [one for one in game.root.rglob("*") if one.is_file()]
    return "".join(texts) + "".join(one.read_bytes().decode("latin-1") for one in files)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda one: one.__name__)
def test_whatever_the_bucket_does_a_fetched_snapshot_is_right_or_not_there(
    s3: BucketServer,
    bucket: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fault: Callable[[Proxy], Harm],
) -> None:
    game = new_game(tmp_path / "first")
    assert game.doit().code == 0
    assert game.doit("snapshot", "publish").code == 0
    monkeypatch.setenv("CARTWRIGHT_REMOTE_PATIENCE", "1")
    other = Game(tmp_path / "second")
    with between(s3.port, fault) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.address)
        ran = other.doit("snapshot", "fetch")
    whole = game.outputs()
    assert other.outputs().items() <= whole.items()
    assert ran.code == (0 if other.outputs() == whole else 1), ran.out + ran.err
    assert "Traceback" not in ran.out + ran.err
    told = told_in(other, ran.out, ran.err)
    assert not [one for one in (KEY_ID, SECRET, SESSION) if one in told]
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.settings()["AWS_ENDPOINT_URL"])
    assert other.doit("snapshot", "fetch").code == 0
    assert other.outputs() == whole


def expiring(answers: int) -> Callable[[Proxy], Harm]:
    """Let the session end after so many answers."""

    def harm_after(proxy: Proxy) -> Harm:
        left, over = [answers], expired(proxy)

        def count(data: bytes) -> bytes:
            left[0] -= data.startswith(b"HTTP/1.1 ")
            return data if left[0] >= 0 else over(data)

        return count

    return harm_after


@pytest.mark.parametrize("answers", [1, 3])
def test_credentials_that_expire_meanwhile_cost_encoding_and_are_said(
    s3: BucketServer, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: int
) -> None:
    game = new_game(tmp_path / "first")
    assert game.doit().code == 0
    other = clone(game, tmp_path / "second")
    other.write("assets/text000.txt", "another text, which is sent at the end")
    game.write("assets/text000.txt", "another text, which is sent at the end")
    with between(s3.port, expiring(answers)) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.address)
        ran = other.doit("--trace", "trace.json", "-v")
    assert ran.code == 0, ran.out
    assert "the credentials have expired" in remote_warnings(ran)[0]
    told = told_in(other, ran.out, ran.err)
    assert not [one for one in (KEY_ID, SECRET, SESSION) if one in told]
    monkeypatch.setenv("CARTWRIGHT_REMOTE_CACHE", "off")
    assert game.doit().code == 0
    assert other.outputs() == game.outputs()


def test_four_shards_that_share_a_bucket_give_the_bytes_of_one_build(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = new_game(tmp_path / "game", 12)
    built: list[str] = []
    for number in range(1, 5):
        ran = clone(game, tmp_path / f"job{number}").doit("--shard", f"{number}/4")
        assert ran.code == 0, ran.out
        built += ran.built
    assert len(built) == len(set(built)), "two jobs have encoded the same node"
    last = clone(game, tmp_path / "last")
    ran = last.doit("--require-cached")
    assert (ran.code, ran.built) == (0, []), ran.out
    monkeypatch.setenv("CARTWRIGHT_REMOTE_CACHE", "off")
    assert game.doit().code == 0
    assert last.outputs() == game.outputs()


def test_a_build_goes_on_without_a_bucket_that_is_always_late(
    s3: BucketServer, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = new_game(tmp_path / "first")
    assert game.doit().code == 0
    monkeypatch.setattr(breaker, "QUICK_SECONDS", 0.0)
    monkeypatch.setattr(breaker, "DEBT_SECONDS", 0.1)
    other = clone(game, tmp_path / "second")
    with between(s3.port, harm.delaying) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.address)
        ran = other.doit()
    assert (ran.code, other.outputs()) == (0, game.outputs())
    assert "left out from there on: it is too slow" in remote_warnings(ran)[0]
    assert ran.built


def busy_once(proxy: Proxy) -> Harm:
    """Be too busy for the first request."""
    answers = iter([BUSY])
    return lambda data: next(answers, data)


def busy_and_slow(proxy: Proxy) -> Harm:
    """Be too busy, and slow to say so."""

    def late(data: bytes) -> bytes:
        proxy.over.wait(0.6)
        return BUSY

    return late


def test_a_bucket_that_is_busy_for_a_moment_is_asked_again(
    s3: BucketServer, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with between(s3.port, busy_once) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.address)
        shared = open_bucket()
        assert shared.put_blob(hashlib.sha256(b"x").hexdigest(), b"x")
        shared.close()
    assert (client_of(shared).requests, shared.breaker.failed) == (2, 0)


def test_a_busy_bucket_is_called_busy_when_all_attempts_take_longer_than_one_may(
    s3: BucketServer, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARTWRIGHT_REMOTE_PATIENCE", "1.5")
    with between(s3.port, busy_and_slow) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.address)
        shared = open_bucket()
        assert shared.blob(hashlib.sha256(b"x").hexdigest()) is None
        shared.close()
    assert (shared.breaker.first_problem, shared.breaker.reason) == ("it is too busy", "")


def test_a_bucket_that_nobody_serves_is_left_out_at_once(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    ran = new_game(tmp_path / "game").doit()
    assert ran.code == 0
    assert "it cannot be reached" in remote_warnings(ran)[0]


def test_a_missing_bucket_is_named_as_such(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARTWRIGHT_REMOTE_CACHE", "s3://nowhere")
    ran = new_game(tmp_path / "game").doit()
    assert ran.code == 0
    assert "there is no such bucket" in remote_warnings(ran)[0]


def test_the_doctor_tells_of_a_missing_bucket(
    bucket: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    doctor.run([])
    assert f"ok    shared cache  {bucket} answers" in capsys.readouterr().out
    monkeypatch.setenv("CARTWRIGHT_REMOTE_CACHE", "s3://nowhere/cache")
    doctor.run([])
    said = "note  shared cache  s3://nowhere/cache can't be used: there is no such bucket"
    assert said in capsys.readouterr().out


# Settings.


def test_the_credentials_file_of_the_command_line_is_read(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    path = tmp_path / "credentials"
    path.write_text(
        f"[night]\naws_access_key_id = {KEY_ID}\naws_secret_access_key = 100%{SECRET}\n"
    )
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(path))
    monkeypatch.setenv("AWS_PROFILE", "night")
    shared = open_bucket()
    assert shared.put_blob(hashlib.sha256(b"x").hexdigest(), b"x")
    assert SECRET not in repr(shared.client) + repr(shared.address)
    shared.close()


@pytest.mark.parametrize("address", ["s3://", "s3://key:secret@bucket", "s3://bucket:9000/x"])
def test_a_wrong_address_is_refused_without_quoting_it(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARTWRIGHT_REMOTE_CACHE", address)
    with pytest.raises(SettingError) as caught:
        find_address(".")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("scheme", "name", "value"),
    [
        ("s3", "AWS_ENDPOINT_URL", "no address s3cr3t"),
        ("s3", "AWS_ENDPOINT_URL", "http://user:s3cr3t@127.0.0.1:9"),
        ("s3", "AWS_ENDPOINT_URL_S3", "http://127.0.0.1:s3cr3t"),
        ("s3", "AWS_SESSION_TOKEN", "s3cr3t\n"),
        ("s3", "AWS_ACCESS_KEY_ID", "s3cr3t\r\nx-amz-acl: public-read"),
        ("gs", "GOOGLE_BASE_URL", "s3cr3t"),
        ("gs", "GOOGLE_BEARER_TOKEN", "s3cr3t\n"),
        ("az", "AZURE_STORAGE_ENDPOINT", "https://127.0.0.1/account?sig=s3cr3t"),
        ("az", "AZURE_STORAGE_ACCOUNT_KEY", "s3cr3t\n"),
    ],
)
def test_a_setting_that_no_request_can_have_is_refused_by_its_name(
    monkeypatch: pytest.MonkeyPatch, scheme: str, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingError) as caught:
        open_store(Address(scheme, "content", 0, "/x"), 1.0)
    assert str(caught.value).startswith(f"{name}: ")
    assert "s3cr3t" not in str(caught.value)


def test_without_the_extra_the_message_says_what_to_install(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "obstore.store", None)
    monkeypatch.setitem(__import__("sys").modules, "obstore.exceptions", None)
    with pytest.raises(SettingError, match=r"cartwright-build\[bucket\]"):
        open_bucket()


class MemoryBucket:
    """A bucket with one pack, in memory; `before` is called ahead of every answer."""

    def __init__(self, messages: dict[str, bytes], before: Callable[[], None] = int) -> None:
        self.breaker = Breaker()
        self.parts: list[int] = []
        self.name, self._data = pack_results(messages)
        self._before = before

    def list_packs(self) -> list[str]:
        return [self.name]

    def get_part(self, path: str, start: int, end: int) -> bytes:
        self.parts.append(end - start)
        if start:
            self._before()
        return self._data[start:end]


def small_messages(count: int) -> dict[str, bytes]:
    return {key_of(number): bytes([number % 256]) * 10_000 for number in range(count)}


def test_parts_of_a_pack_grow_while_it_is_read() -> None:
    messages = small_messages(200)
    bucket = MemoryBucket(messages)
    packs = reader.PackReader(bucket, "")
    for one, message in messages.items():
        assert list(packs.messages(one, 1 << 20)) == [message]
    _, *grown = bucket.parts
    assert [round(one / reader.BLOCK_BYTES) for one in grown[:3]] == [1, 2, 4]
    assert len(grown) < 8


def test_look_ups_in_any_order_fetch_no_byte_of_a_pack_twice() -> None:
    messages = small_messages(200)
    bucket = MemoryBucket(messages)
    packs = reader.PackReader(bucket, "")
    order = list(messages)
    random.Random(7).shuffle(order)
    with ThreadPoolExecutor(16) as threads:
        found = list(threads.map(lambda one: list(packs.messages(one, 1 << 20)), order))
    assert found == [[messages[one]] for one in order]
    # A message that crosses into the next part is fetched with both.
    _, *parts = bucket.parts
    assert sum(parts) < sum(map(len, messages.values())) + 10_000 * len(parts) + len(messages) * 36


def test_a_failed_request_is_not_the_answer_of_all_who_wait_for_it() -> None:
    failures = iter([RemoteError("once")])
    together = threading.Barrier(2)

    def fail_once() -> None:
        for one in failures:
            together.wait(10)  # the other thread is about to ask
            raise one

    messages = small_messages(2)
    packs = reader.PackReader(MemoryBucket(messages, fail_once), "")
    first, second = messages
    packs.has(first)

    def ask_later() -> list[bytes]:
        together.wait(10)
        return list(packs.messages(second, 1 << 20))

    with ThreadPoolExecutor(2) as threads:
        failed = threads.submit(lambda: list(packs.messages(first, 1 << 20)))
        later = threads.submit(ask_later)
        assert isinstance(failed.exception(), RemoteError)
        assert later.result() == [messages[second]]


def test_parts_that_were_dropped_are_fetched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "KEPT_BYTES", 1)
    messages = small_messages(50)
    packs = reader.PackReader(MemoryBucket(messages), "")
    for one, message in [*messages.items(), *messages.items()]:
        assert list(packs.messages(one, 1 << 20)) == [message]


def test_a_bucket_takes_quick_nodes_too_because_they_share_round_trips(bucket: str) -> None:
    shared = open_bucket()
    shared.client.round_trip_seconds, shared.client.requests = 0.05, 99
    assert shared.pays(0.0005)
    shared.close()
