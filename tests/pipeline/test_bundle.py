"""Bundles: many receipts in one file, found by all, never half there."""

from __future__ import annotations

import errno
import hashlib
import os

import pytest

from pipeline.cache.bundle import DIGEST_BYTES, HEAD, INDEX, Bundles
from pipeline.cache.local import FEW, Cache
from pipeline.cache.receipt import Receipt
from pipeline.cache.trim import trim_cache
from pipeline.output import Output

LONG_AGO, NOW = 1_000_000_000, 2_000_000_000


@pytest.fixture
def bundled(game, monkeypatch):
    """A game that was built with all of its receipts in a bundle."""
    monkeypatch.setattr("pipeline.cache.local.FEW", 0)
    for name in "abc":
        game.write(f"assets/{name}.txt", name)
    assert len(game.doit().built) == 4
    assert not game.path("cache/receipts").exists()
    return game


def the_bundle(game):
    (path,) = game.path("cache/bundles").glob("*.bundle")
    return path


def without_index(path):
    """Let a bundle be as a process leaves it that was killed."""
    path.with_name(path.name + INDEX).unlink()


def store(cache: Cache, text: str) -> str:
    data = text.encode()
    sha, fingerprint = hashlib.sha256(data).hexdigest(), hashlib.sha256(data * 2).hexdigest()
    made = (Output("out", len(data), sha),)
    cache.store_result(fingerprint, Receipt(made, inline={"out": data}), {"out": data})
    return fingerprint


def test_only_a_process_with_many_results_bundles_them(tmp_path):
    cache = Cache(str(tmp_path))
    stored = [store(cache, str(number)) for number in range(FEW + 3)]
    cache.close()
    assert sum(path.is_file() for path in (tmp_path / "receipts").rglob("*")) == FEW
    assert len(list((tmp_path / "bundles").glob("*.bundle"))) == 1
    other = Cache(str(tmp_path))
    texts = [other.load_receipt(one).inline["out"].decode() for one in stored]
    assert texts == [str(number) for number in range(FEW + 3)]


def test_a_build_is_restored_from_its_bundle(bundled):
    before = bundled.outputs()
    bundled.remove("build")
    bundled.remove(".cartwright")
    ran = bundled.doit()
    assert (ran.built, len(ran.restored)) == ([], 4)
    assert bundled.outputs() == before


def test_what_another_process_adds_is_found_by_who_looks_again(tmp_path, monkeypatch):
    monkeypatch.setattr("pipeline.cache.local.FEW", 0)
    one, other = Cache(str(tmp_path)), Cache(str(tmp_path))
    assert other.load_receipt("0" * 64) is None
    fingerprint = store(one, "late")
    assert other.load_receipt(fingerprint) is None
    assert other.load_receipt_of_other(fingerprint) is not None
    later = store(one, "later")
    assert other.load_receipt_of_other(later) is not None
    one.close()


@pytest.mark.parametrize("cut", [1, 20, HEAD.size + 3])
def test_a_torn_end_costs_only_the_receipt_that_it_tears(bundled, cut):
    path = the_bundle(bundled)
    last = list(Bundles(str(path.parent), "").take_apart())[-1][1]
    bundled.write("assets/a.txt", "other")
    bundled.remove("cache")
    bundled.doit()
    path = the_bundle(bundled)
    path.write_bytes(path.read_bytes()[:-cut])
    without_index(path)
    assert cut < HEAD.size + len(last)
    bundled.remove("build")
    bundled.remove(".cartwright")
    ran = bundled.doit()
    assert (len(ran.built), len(ran.restored)) == (1, 3)
    assert ran.code == 0


def test_a_damaged_receipt_in_a_bundle_is_set_aside_once_and_encoded_again(bundled):
    before = bundled.outputs()
    path = the_bundle(bundled)
    data = bytearray(path.read_bytes())
    data[HEAD.size + 70] ^= 1
    path.write_bytes(data)
    for expected in (1, 0):
        bundled.remove("build")
        bundled.remove(".cartwright")
        ran = bundled.doit()
        assert len(ran.built) == ran.out.count("set aside: ") == expected
        assert bundled.outputs() == before


@pytest.mark.parametrize("harm", ["none", "no index", "damaged index", "empty index"])
def test_receipts_are_found_with_and_without_an_index(bundled, harm):
    path = the_bundle(bundled)
    index = path.with_name(path.name + INDEX)
    data = bytearray(index.read_bytes())
    data[DIGEST_BYTES + 40] ^= 1
    if harm == "no index":
        without_index(path)
    elif harm != "none":
        index.write_bytes(data if harm == "damaged index" else b"")
    bundled.remove("build")
    bundled.remove(".cartwright")
    ran = bundled.doit()
    assert (ran.code, ran.built, len(ran.restored)) == (0, [], 4)


def test_workers_leave_an_index_of_what_they_bundled(game):
    for number in range(4 * FEW):
        game.write(f"assets/{number}.txt", str(number))
    assert game.doit("-n", "2").code == 0
    paths = list(game.path("cache/bundles").glob("*.bundle"))
    assert paths
    assert all(path.with_name(path.name + INDEX).exists() for path in paths)


def test_an_index_that_has_more_than_its_bundle_costs_only_what_is_missing(bundled):
    path = the_bundle(bundled)
    path.write_bytes(path.read_bytes()[:-5])
    bundled.remove("build")
    bundled.remove(".cartwright")
    ran = bundled.doit()
    assert (ran.code, len(ran.built), len(ran.restored)) == (0, 1, 3)


def test_trimming_takes_bundles_apart_and_loses_nothing(bundled):
    path = the_bundle(bundled)
    os.utime(path, (LONG_AGO, LONG_AGO))
    cache = Cache(str(bundled.path("cache")))
    trim_cache(cache, 10**9, set(), NOW)
    receipts = [path for path in bundled.path("cache/receipts").rglob("*") if path.is_file()]
    assert [int(path.stat().st_mtime) for path in receipts] == [LONG_AGO] * 4
    assert list(bundled.path("cache/bundles").iterdir()) == []
    bundled.remove("build")
    bundled.remove(".cartwright")
    assert bundled.doit().built == []


def test_gc_makes_a_bundle_fit(bundled):
    bundled.remove("manifests/toy.toml")
    bundled.write("manifests/.keep", "")
    assert bundled.doit("gc", "--max-size", "0").code == 0
    assert not any(path.is_file() for path in bundled.path("cache").rglob("*") if path.suffix)


def test_a_bundle_in_use_may_be_taken_apart(tmp_path, monkeypatch):
    monkeypatch.setattr("pipeline.cache.local.FEW", 0)
    writer, trimmer = Cache(str(tmp_path)), Cache(str(tmp_path))
    first = store(writer, "first")
    trimmer.unbundle()
    second = store(writer, "second")
    writer.close()
    reader = Cache(str(tmp_path))
    assert reader.load_receipt(first) is not None
    assert reader.load_receipt(second) is not None


def test_a_forgotten_node_is_encoded_again_though_it_is_in_a_bundle(bundled):
    assert bundled.doit("forget", "toy:a").code == 0
    assert bundled.doit().built == ["toy:a"]


def test_a_full_disk_leaves_no_half_receipt_behind(tmp_path, monkeypatch):
    bundles = Bundles(str(tmp_path), str(tmp_path))
    bundles.add("1" * 64, b"whole")
    write = os.write

    def write_half(handle, data):
        return write(handle, data[: len(data) // 2])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write_half)
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            bundles.add("2" * 64, b"torn")
    bundles.add("3" * 64, b"whole again")
    bundles.close()
    found = {one: data for one, data, _ in Bundles(str(tmp_path), str(tmp_path)).take_apart()}
    assert found == {"1" * 64: b"whole", "3" * 64: b"whole again"}
