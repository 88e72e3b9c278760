"""Bundles: many receipts in one file, found by all, never half there."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.cache.bundle import DIGEST_BYTES, HEAD, INDEX, Bundles, rewrite_bundles, scan_records
from pipeline.cache.local import FEW, Cache
from pipeline.cache.receipt import Receipt
from pipeline.cache.trim import MOST_SMALL_BUNDLES, Trim, trim_cache
from pipeline.output import Output
from tests.pipeline.game import Game

LONG_AGO, NOW = 1_000_000_000, 2_000_000_000


@pytest.fixture
def bundled(game, monkeypatch):
    """A game that was built with all of its receipts in a bundle."""
    monkeypatch.setattr("pipeline.cache.local.FEW", 0)
    for name in "abc":
        game.write(f"assets/{name}.txt", name)
    assert len(game.doit().built) == 4
    assert not game.path("cache/v2/receipts").exists()
    return game


def the_bundle(game):
    (path,) = game.path("cache/v2/bundles").glob("*.bundle")
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
    assert sum(path.is_file() for path in (tmp_path / "v2/receipts").rglob("*")) == FEW
    assert len(list((tmp_path / "v2/bundles").glob("*.bundle"))) == 1
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
    *_, (_, last) = scan_records(str(path))
    path.write_bytes(path.read_bytes()[:-cut])
    without_index(path)
    assert cut < HEAD.size + last.length
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
    paths = list(game.path("cache/v2/bundles").glob("*.bundle"))
    assert paths
    assert all(path.with_name(path.name + INDEX).exists() for path in paths)


def test_an_index_that_has_more_than_its_bundle_costs_only_what_is_missing(bundled):
    path = the_bundle(bundled)
    path.write_bytes(path.read_bytes()[:-5])
    bundled.remove("build")
    bundled.remove(".cartwright")
    ran = bundled.doit()
    assert (ran.code, len(ran.built), len(ran.restored)) == (0, 1, 3)


def test_gc_makes_a_bundle_fit(bundled):
    bundled.remove("manifests/toy.toml")
    bundled.write("manifests/.keep", "")
    bundled.doit()
    assert bundled.doit("gc", "--max-size", "0").code == 0
    assert not any(path.is_file() for path in bundled.path("cache").rglob("*"))


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
    other = Bundles(str(tmp_path), str(tmp_path))
    found = [other.find(digit * 64) for digit in "123"]
    assert found == [b"whole", None, b"whole again"]


def bundle_of(folder: Path, count: int, size: int = 100, used: float = LONG_AGO) -> list[str]:
    """Store results in a new bundle, as a process of its own; name their fingerprints."""
    cache = Cache(str(folder))
    serial = len(list(folder.rglob("*.bundle")))
    keys = [store(cache, f"{serial}-{number} ".ljust(size, "x")) for number in range(count)]
    cache.close()
    os.utime(cache.bundles._own_path, (used, used))
    return keys


def found_in(folder: Path, keys: list[str]) -> list[bool]:
    """Tell which results a new process finds."""
    cache = Cache(str(folder))
    return [cache.load_receipt(key) is not None for key in keys]


def bundle_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*.bundle")}


@pytest.fixture
def always_bundled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.cache.local.FEW", 0)


def test_dropping_a_result_changes_one_byte_of_its_bundle(tmp_path, always_bundled):
    keys = bundle_of(tmp_path, 5)
    ((name, before),) = bundle_files(tmp_path).items()
    Cache(str(tmp_path)).drop_receipt(keys[2])
    ((same, after),) = bundle_files(tmp_path).items()
    assert name == same
    assert sum(a != b for a, b in zip(before, after, strict=True)) == 1
    assert found_in(tmp_path, keys) == [True, True, False, True, True]
    assert not (tmp_path / "v2/receipts").exists()


def test_a_dropped_result_is_missing_in_processes_that_knew_it(tmp_path, always_bundled):
    keys = bundle_of(tmp_path, 3)
    one, other = Cache(str(tmp_path)), Cache(str(tmp_path))
    assert other.load_receipt(keys[1]) is not None
    one.drop_receipt(keys[1])
    assert other.load_receipt(keys[1]) is None
    assert not other.has_receipt(keys[1])
    assert other.load_receipt(keys[0]) is not None


@pytest.mark.parametrize("indexed", [True, False])
def test_a_result_that_is_stored_again_after_it_was_dropped_is_found(
    tmp_path, always_bundled, indexed
):
    (key,) = bundle_of(tmp_path, 1)
    other = Cache(str(tmp_path))
    assert other.load_receipt(key) is not None
    for _ in range(2):
        cache = Cache(str(tmp_path))
        cache.drop_receipt(key)
        store(cache, "0-0 ".ljust(100, "x"))
        assert cache.load_receipt(key) is not None
        cache.drop_receipt(key)
        assert cache.load_receipt(key) is None
        store(cache, "0-0 ".ljust(100, "x"))
        cache.close()
    if not indexed:
        for path in (tmp_path / "v2/bundles").glob("*.index"):
            path.unlink()
    assert found_in(tmp_path, [key]) == [True]
    assert other.load_receipt_of_other(key) is not None


def test_every_flipped_bit_of_a_record_costs_at_most_that_result(tmp_path, always_bundled):
    keys = bundle_of(tmp_path, 3, size=10)
    (path,) = tmp_path.rglob("*.bundle")
    data = path.read_bytes()
    (_, record) = list(scan_records(str(path)))[1]
    for position in range(8 * record.start, 8 * record.end):
        flipped = bytearray(data)
        flipped[position // 8] ^= 1 << position % 8
        path.write_bytes(flipped)
        assert found_in(tmp_path, keys) == [True, False, True], position - 8 * record.start


def test_an_index_of_another_bundle_never_drops_or_gives_a_wrong_result(tmp_path, always_bundled):
    first, second = bundle_of(tmp_path, 4), bundle_of(tmp_path, 4, size=90)
    one, other = sorted(tmp_path.rglob("*.bundle"), key=lambda path: path.stat().st_size)
    before = bundle_files(tmp_path)
    one.write_bytes(before[other.name])
    other.write_bytes(before[one.name])
    cache = Cache(str(tmp_path))
    assert [cache.load_receipt(key) for key in first + second] == [None] * 8
    for key in first + second:
        cache.drop_receipt(key)
    assert sorted(bundle_files(tmp_path).values()) == sorted(before.values())


def test_a_trim_without_need_leaves_bundles_as_they_are(bundled):
    before = bundled.outputs("cache/v2/bundles")
    os.utime(the_bundle(bundled), (LONG_AGO, LONG_AGO))
    trim_cache(Cache(str(bundled.path("cache"))), 10**9, set(), NOW)
    assert bundled.outputs("cache/v2/bundles") == before
    assert int(the_bundle(bundled).stat().st_mtime) == LONG_AGO
    bundled.remove("build")
    bundled.remove(".cartwright")
    assert bundled.doit().built == []


def test_a_trim_removes_the_least_recently_used_bundle_first(tmp_path, always_bundled):
    old = bundle_of(tmp_path, 10, used=LONG_AGO)
    new = bundle_of(tmp_path, 10, used=LONG_AGO + 5)
    size = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    trim_cache(Cache(str(tmp_path)), size // 2, set(), NOW)
    assert not any(found_in(tmp_path, old))
    assert all(found_in(tmp_path, new))
    assert len(bundle_files(tmp_path)) == 1


def test_a_trim_rewrites_a_bundle_of_which_more_than_half_goes(tmp_path, always_bundled):
    keys = bundle_of(tmp_path, 10)
    (size,) = map(len, bundle_files(tmp_path).values())
    trimmed = trim_cache(Cache(str(tmp_path)), 0, set(keys[:3]), NOW)
    assert found_in(tmp_path, keys) == [True] * 3 + [False] * 7
    ((_, data),) = bundle_files(tmp_path).items()
    assert len(data) < size / 3
    (path,) = tmp_path.rglob("*.bundle")
    index = path.with_name(path.name + INDEX)
    assert trimmed.kept_bytes == len(data) + index.stat().st_size


def test_a_trim_that_frees_enough_otherwise_only_marks_what_goes(tmp_path, always_bundled):
    """The large object is what takes the space; the bundle is worth more than its dead record."""
    cache = Cache(str(tmp_path))
    data = b"large" * 10_000
    sha = hashlib.sha256(data).hexdigest()
    cache.store_result("0" * 64, Receipt((Output("out", len(data), sha),)), {"out": data})
    keys = [store(cache, str(number)) for number in range(10)]
    cache.close()
    ((name, before),) = bundle_files(tmp_path).items()
    trim_cache(Cache(str(tmp_path)), len(data) // 2, set(keys), NOW)
    ((same, after),) = bundle_files(tmp_path).items()
    assert (name, len(before)) == (same, len(after))
    assert sum(a != b for a, b in zip(before, after, strict=True)) == 1
    assert found_in(tmp_path, ["0" * 64, *keys]) == [False] + [True] * 10
    assert not cache.has_object(sha)


def test_a_trim_reaches_its_size_though_less_than_half_of_a_bundle_goes(tmp_path, always_bundled):
    keys = bundle_of(tmp_path, 10)
    size = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    trimmed = trim_cache(Cache(str(tmp_path)), int(size * 0.85), set(), NOW)
    assert 0.7 * size < trimmed.kept_bytes <= 0.85 * size
    left = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    assert left == trimmed.kept_bytes
    assert sum(found_in(tmp_path, keys)) == 8


def test_what_was_dropped_is_removed_before_any_result(tmp_path, always_bundled):
    keys = bundle_of(tmp_path, 10)
    size = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    cache = Cache(str(tmp_path))
    for key in keys[:4]:
        cache.drop_receipt(key)
    trim_cache(Cache(str(tmp_path)), int(size * 0.65), set(), NOW)
    assert found_in(tmp_path, keys) == [False] * 4 + [True] * 6


def test_a_trim_keeps_what_is_needed_behind_a_damaged_head(tmp_path, always_bundled):
    keys = bundle_of(tmp_path, 10)
    (path,) = tmp_path.rglob("*.bundle")
    data = bytearray(path.read_bytes())
    data[HEAD.size - 1] ^= 1
    path.write_bytes(data)
    trim_cache(Cache(str(tmp_path)), 0, set(keys[8:]), NOW)
    assert found_in(tmp_path, keys) == [False] * 8 + [True] * 2


def test_a_trim_keeps_the_bundled_copy_of_a_receipt_whose_file_is_damaged(tmp_path, always_bundled):
    keys = bundle_of(tmp_path, 3)
    path = Path(Cache(str(tmp_path))._path("receipts", keys[0]))
    path.parent.mkdir(parents=True)
    path.write_bytes(b"damaged")
    trim_cache(Cache(str(tmp_path)), 0, set(keys), NOW)
    cache = Cache(str(tmp_path))
    assert cache.load_receipt(keys[0]) is None
    assert cache.set_aside == [keys[0]]
    assert cache.load_receipt(keys[0]) is not None


def test_a_trim_keeps_one_of_two_copies(tmp_path, always_bundled):
    first, second = bundle_of(tmp_path, 3), bundle_of(tmp_path, 3)
    cache = Cache(str(tmp_path))
    for number in range(3):
        store(cache, f"0-{number} ".ljust(100, "x"))
    cache.close()
    size = sum(map(len, bundle_files(tmp_path).values()))
    trim_cache(Cache(str(tmp_path)), 10**9, set(), NOW)
    assert sum(map(len, bundle_files(tmp_path).values())) < 0.75 * size
    assert all(found_in(tmp_path, first + second))


def test_dropping_a_result_is_no_use_of_its_bundle(tmp_path, always_bundled):
    keys = bundle_of(tmp_path, 3, used=LONG_AGO)
    cache = Cache(str(tmp_path))
    cache.drop_receipt(keys[0])
    (path,) = tmp_path.rglob("*.bundle")
    assert path.stat().st_mtime == LONG_AGO


def test_a_trim_merges_many_small_bundles(tmp_path, always_bundled):
    keys = [bundle_of(tmp_path, 2, used=LONG_AGO + n) for n in range(MOST_SMALL_BUNDLES + 1)]
    young = bundle_of(tmp_path, 2, used=NOW - 1)
    trim_cache(Cache(str(tmp_path)), 10**9, set(), NOW)
    assert len(bundle_files(tmp_path)) == 2
    assert all(found_in(tmp_path, [key for some in (*keys, young) for key in some]))


def test_a_process_finds_what_a_trim_moved_under_its_feet(tmp_path, always_bundled):
    keys = bundle_of(tmp_path, 10)
    reader = Cache(str(tmp_path))
    assert reader.load_receipt(keys[9]) is not None
    trim_cache(Cache(str(tmp_path)), 0, set(keys[:3]), NOW)
    found = [reader.load_receipt(key) is not None for key in keys]
    assert found == [True] * 3 + [False] * 7


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="lists open files")
def test_a_process_that_reads_from_many_bundles_keeps_few_open(
    tmp_path, always_bundled, monkeypatch
):
    monkeypatch.setattr("pipeline.cache.bundle.MOST_OPEN", 2)
    keys = [key for _ in range(4) for key in bundle_of(tmp_path, 2)]
    reader, before = Cache(str(tmp_path)), len(os.listdir("/proc/self/fd"))
    assert all(reader.load_receipt(key) is not None for key in keys * 2)
    assert len(os.listdir("/proc/self/fd")) == before + 2
    reader.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_build_goes_on_with_a_new_bundle_when_a_trim_takes_its_own(tmp_path, always_bundled):
    writer = Cache(str(tmp_path))
    first = [store(writer, f"first {number}") for number in range(4)]
    trim_cache(Cache(str(tmp_path)), 0, {first[0]}, NOW)
    second = store(writer, "second")
    assert writer.load_receipt(first[0]) is not None
    assert writer.load_receipt(second) is not None
    writer.close()
    assert found_in(tmp_path, [*first, second]) == [True, False, False, False, True]


def test_what_a_build_appends_after_a_trim_has_looked_is_kept(tmp_path, always_bundled):
    writer = Cache(str(tmp_path))
    first = store(writer, "first")
    trim = Trim(Cache(str(tmp_path)), 0, set())
    late = store(writer, "late")
    trim.remove_results()
    trim.tidy_bundles(NOW)
    assert found_in(tmp_path, [first, late]) == [False, True]
    writer.close()


def test_what_a_build_appends_while_its_bundle_is_rewritten_is_kept(tmp_path, always_bundled):
    writer = Cache(str(tmp_path))
    first = store(writer, "first")
    (path,) = map(str, tmp_path.rglob("*.bundle"))
    ((_, record),) = scan_records(path)
    late = store(writer, "late")
    rewrite_bundles({path: record.end}, [record], writer.scratch)
    assert found_in(tmp_path, [first, late]) == [True, True]
    writer.close()
    assert found_in(tmp_path, [first, late]) == [True, True]


@pytest.mark.parametrize("step", ["os.utime", "os.replace", "pipeline.cache.bundle.remove_bundle"])
def test_a_trim_that_is_killed_while_it_rewrites_loses_nothing(
    tmp_path, always_bundled, monkeypatch, step
):
    keys = bundle_of(tmp_path, 10)
    with monkeypatch.context() as patch:
        patch.setattr(step, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            trim_cache(Cache(str(tmp_path)), 0, set(keys[:3]), NOW)
    assert all(found_in(tmp_path, keys[:3]))
    trim_cache(Cache(str(tmp_path)), 0, set(keys[:3]), NOW)
    assert found_in(tmp_path, keys) == [True] * 3 + [False] * 7
    assert len(bundle_files(tmp_path)) == 1


def test_gc_and_builds_at_the_same_time_end_right(tmp_path):
    """Several builds share a cache while it is trimmed to nothing again and again."""
    games = [Game(tmp_path / str(number)) for number in range(2)]
    for game in games:
        for number in range(FEW + 40):
            game.write(f"assets/{number}.txt", f"text {number % 50}")
    environment = games[0].environment(CARTWRIGHT_CACHE=str(tmp_path / "shared"))
    builds = [start(game, environment) for game in games]
    trimmer = Cache(str(tmp_path / "shared"))
    while any(build.poll() is None for build in builds):
        trim_cache(trimmer, 10_000, set(), time.time())
    assert [build.wait() for build in builds] == [0, 0]
    assert games[0].outputs() == games[1].outputs()
    assert len(games[0].outputs()) == FEW + 40 + 1


def start(game: Game, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "doit"],
        cwd=game.root,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
