"""Receipts: read as they were written, whatever this version calls small, or known as damaged."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from pipeline.cache import receipt as receipts
from pipeline.cache.local import Cache
from pipeline.cache.receipt import Receipt, pack_receipt, unpack_receipt
from pipeline.output import Output

KEY = "c" * 64


def output(role: str, data: bytes) -> Output:
    return Output(role, len(data), hashlib.sha256(data).hexdigest())


A, B, C = output("a", b"first"), output("b", b""), output("c", b"large" * 10_000)
RECEIPT = Receipt((A, B, C), ("warned",), ("said",), {"a": b"first", "b": b""})


def with_digest(body: bytes) -> bytes:
    """Give a body the digest that belongs to it, as a faulty writer would."""
    return hashlib.sha256(body).hexdigest().encode() + body


def body_of(table: object, inline: bytes = b"") -> bytes:
    text = json.dumps(table).encode()
    return b"%d\n" % len(text) + text + inline


def row(one: Output, at: object = None) -> list[object]:
    return [one.role, one.size, one.sha, at]


@pytest.fixture(params=["file", "bundle"])
def cache(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    """A cache that keeps receipts as files, or in bundles."""
    monkeypatch.setattr("pipeline.cache.local.FEW", 64 if request.param == "file" else 0)
    return Cache(str(tmp_path / "cache"))


def stored(cache: Cache, data: bytes) -> Cache:
    """Give a cache that holds these bytes as a receipt, as a new process sees it."""
    cache.store_packed(KEY, data)
    cache.close()
    return Cache(cache.folder)


def is_set_aside(cache: Cache) -> bool:
    """Load the receipt, and tell whether it was missing because it is damaged, for good."""
    missing = cache.load_receipt(KEY) is None and cache.set_aside == [KEY]
    return missing and not Cache(cache.folder).has_receipt(KEY)


def test_a_receipt_says_which_bytes_are_inside_and_where():
    data = pack_receipt(RECEIPT)
    assert unpack_receipt(data) == RECEIPT
    length, _, rest = data[64:].partition(b"\n")
    rows, warnings, report = json.loads(rest[: int(length)])
    assert rows == [row(A, 0), row(B, 5), row(C)]
    assert (warnings, report, rest[int(length) :]) == (["warned"], ["said"], b"first")


@pytest.mark.parametrize("limit", [0, 3, 1 << 30])
def test_a_receipt_is_read_alike_whatever_counts_as_small(monkeypatch, limit):
    data = pack_receipt(RECEIPT)
    monkeypatch.setattr(receipts, "INLINE_BYTES", limit)
    assert unpack_receipt(data) == RECEIPT
    assert pack_receipt(RECEIPT) == data


@pytest.mark.parametrize("limit", [0, 1 << 17])
def test_a_build_is_restored_right_from_a_cache_with_another_limit(game, monkeypatch, limit):
    game.write("assets/large.txt", "a" * 20_000)
    game.write("assets/words.bst", f"some words {'w' * 20_000} more")
    built = len(game.doit().built)
    before = game.outputs()
    for name in ("build", ".cartwright"):
        game.remove(name)
    monkeypatch.setattr(receipts, "INLINE_BYTES", limit)
    ran = game.doit()
    assert (ran.code, ran.built, len(ran.restored)) == (0, [], built)
    assert game.outputs() == before
    assert "nothing to do" in game.doit().out


def test_every_truncated_receipt_is_set_aside(cache):
    data = pack_receipt(RECEIPT)
    for end in (*range(0, len(data), 3), len(data) - 1):
        cache = stored(cache, data[:end])
        assert is_set_aside(cache), end


@pytest.mark.parametrize("more", [b"\0", b"first", b"x" * 1000])
def test_a_receipt_with_bytes_after_its_end_is_set_aside(cache, more):
    assert unpack_receipt(pack_receipt(RECEIPT) + more) is None
    longer = with_digest(pack_receipt(RECEIPT)[64:] + more)
    assert is_set_aside(stored(cache, longer))


def test_every_flipped_bit_of_a_receipt_is_known(cache):
    data = pack_receipt(RECEIPT)
    for position in range(len(data)):
        for bit in range(8):
            flipped = bytearray(data)
            flipped[position] ^= 1 << bit
            assert unpack_receipt(bytes(flipped)) is None
    flipped = bytearray(data)
    flipped[-1] ^= 1
    assert is_set_aside(stored(cache, bytes(flipped)))


def test_inline_bytes_that_do_not_have_their_digest_are_never_used(cache):
    data = pack_receipt(RECEIPT)
    wrong = with_digest(data[64:].replace(b"first", b"First"))
    assert is_set_aside(stored(cache, wrong))


GOOD = [row(A, 0), row(B, 5), row(C)]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\n",
        b"12",
        b"-1\n[[],[],[]]",
        b"+10\n[[],[],[]]",
        b"1_0\n[[],[],[]]",
        b"11\n[[],[],[]]",
        b"9\n[[],[],[]]",
        b"9" * 5000 + b"\n[[],[],[]]",
        b"10\n[[],[],\xff]]",
        b"200000\n" + b"[" * 200_000,
        body_of(None),
        body_of({}),
        body_of([[], []]),
        body_of([[], [], [], []]),
        body_of(["abc", [], []]),
        body_of([[["a", 5, A.sha]], [], []], b"first"),
        body_of([[row(A, 0)], "no list", []], b"first"),
        body_of([[row(A, 0)], [1], []], b"first"),
        body_of([[row(A, 0)], [], [None]], b"first"),
        body_of([[row(A, 0)], [], []], b"firs"),
        body_of([[row(A, 0)], [], []], b"first!"),
        body_of([[row(A, 1)], [], []], b"!first"),
        body_of([[row(A, -5)], [], []], b"first"),
        body_of([[row(A, "0")], [], []], b"first"),
        body_of([[row(A, 0.0)], [], []], b"first"),
        body_of([[row(A, False)], [], []], b"first"),
        body_of([[row(A, 0), row(A, 5)], [], []], b"firstfirst"),
        body_of([[row(A, 0), ["b", 5, A.sha, 0]], [], []], b"first"),
        body_of([[["a", -5, A.sha, None]], [], []]),
        body_of([[["a", 5.0, A.sha, None]], [], []]),
        body_of([[["a", True, A.sha, None]], [], []]),
        body_of([[["a", "5", A.sha, None]], [], []]),
        body_of([[[1, 5, A.sha, None]], [], []]),
        body_of([[["a", 5, A.sha[:-1], None]], [], []]),
        body_of([[["a", 5, A.sha.upper(), None]], [], []]),
        body_of([[["a", 5, A.sha + "\n", None]], [], []]),
        body_of([[["a", 5, "../" * 21 + "a", None]], [], []]),
        body_of([[["a", 5, None, None]], [], []]),
    ],
    ids=lambda body: repr(body[:40]),
)
def test_a_malformed_receipt_with_a_right_digest_is_set_aside(cache, body):
    assert unpack_receipt(with_digest(body_of([GOOD, [], []], b"first"))) is not None
    assert unpack_receipt(with_digest(body)) is None
    assert is_set_aside(stored(cache, with_digest(body)))


def test_every_flipped_bit_of_an_object_is_known(tmp_path):
    cache = Cache(str(tmp_path))
    data = b"object"
    sha = hashlib.sha256(data).hexdigest()
    path = Path(cache._path("objects", sha))
    for position in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[position // 8] ^= 1 << position % 8
        cache.store_object(sha, data)
        path.write_bytes(flipped)
        assert cache.load_object(sha) is None
        assert not path.exists()
    assert os.listdir(f"{cache.store}/damaged") == [sha]


@pytest.mark.parametrize("version", ["", "v1/", "v3/", "v99/"])
def test_a_cache_of_another_version_is_neither_read_nor_changed(game, version):
    game.write("assets/a.txt", "a")
    assert len(game.doit().built) == 2
    for kind in ("receipts", "bundles"):
        for path in game.path(f"cache/v2/{kind}").glob("*"):
            other = game.path(f"cache/{version}{kind}/{path.name}")
            other.parent.mkdir(parents=True, exist_ok=True)
            path.rename(other)
    game.write(f"cache/{version}objects/00/{'0' * 62}", "of another version")
    game.write(f"cache/{version}tmp/old", "half")
    os.utime(game.path(f"cache/{version}tmp/old"), (1_000_000_000, 1_000_000_000))
    before = game.outputs(f"cache/{version}")
    for name in ("build", ".cartwright"):
        game.remove(name)
    assert len(game.doit().built) == 2
    assert game.doit("gc", "--max-size", "0").code == 0
    after = game.outputs(f"cache/{version}")
    assert {path: after.get(path) for path in before} == before


def test_gc_tells_of_an_older_cache_and_how_large_it_is(game):
    game.write("assets/a.txt", "a")
    game.doit()
    assert "older cache" not in game.doit("gc").out
    game.write("cache/objects/00/11", "x" * 3000)
    game.write("cache/v1/objects/00/11", "x" * 500)
    game.write("cache/v3/objects/00/11", "x" * 7000)
    out = game.doit("gc").out
    assert "older cache: 3.5 kB" in out
    assert "7.0 kB" not in out
