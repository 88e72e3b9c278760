"""The cache: shared, verified, trimmed, and never changed by what was made of it."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys

import pytest

import pipeline.build.work
from pipeline.cache.local import Cache
from pipeline.cache.receipt import INLINE_BYTES, Receipt, pack_receipt, unpack_receipt
from pipeline.cache.trim import GRACE_S, trim_cache
from pipeline.disk import file as files
from pipeline.doit_plugin.command.gc import parse_size
from pipeline.output import Output
from tests.pipeline.game import ROOT, Game

LONG_AGO, NOW = 1_000_000_000, 2_000_000_000
LARGE = 2 * INLINE_BYTES


@pytest.fixture
def cache(tmp_path) -> Cache:
    return Cache(str(tmp_path / "cache"))


def store(cache: Cache, data: bytes, used: int = LONG_AGO) -> tuple[str, str]:
    """Store a result of one object; its fingerprint and its digest come back."""
    sha = hashlib.sha256(data).hexdigest()
    fingerprint = hashlib.sha256(b"fingerprint of " + data).hexdigest()
    cache.store_result(fingerprint, Receipt((Output("out", len(data), sha),)), {"out": data})
    for path in (cache._path("objects", sha), cache._path("receipts", fingerprint)):
        os.utime(path, (used, used))
    return fingerprint, sha


def test_a_receipt_survives_its_bytes():
    made = (Output("a", 3, "f" * 64), Output("b/0", 0, "0" * 64), Output("c", LARGE, "1" * 64))
    receipt = Receipt(made, ("warned",), ("said",), {"a": b"\n\0x", "b/0": b""})
    assert unpack_receipt(pack_receipt(receipt)) == receipt


def test_every_damaged_receipt_is_known_as_such():
    data = pack_receipt(Receipt((Output("a", 3, "f" * 64),), inline={"a": b"abc"}))
    for position in range(len(data)):
        assert unpack_receipt(data[:position]) is None
        flipped = bytes([*data[:position], data[position] ^ 1, *data[position + 1 :]])
        assert unpack_receipt(flipped) is None


def test_a_damaged_object_is_set_aside_and_counts_as_missing(cache):
    content = b"content" * LARGE
    _, sha = store(cache, content)
    with open(cache._path("objects", sha), "r+b") as file:
        file.write(b"c0ntent")
    assert cache.load_object(sha) is None
    assert not cache.has_object(sha)
    assert os.path.exists(f"{cache.store}/damaged/{sha}")
    cache.store_object(sha, content)
    assert cache.load_object(sha) == content


def test_a_damaged_object_is_encoded_again_with_a_warning(game):
    game.write("assets/a.txt", "a" * LARGE)
    game.doit()
    sha = hashlib.sha256(b"A" * LARGE).hexdigest()
    game.write(f"cache/v2/objects/{sha[:2]}/{sha[2:]}", "damaged")
    game.remove("build")
    ran = game.doit()
    assert ran.code == 0
    assert ran.built == ["toy:a"]
    assert f"set aside: {sha}" in ran.out
    assert game.read("build/toy/a.out") == b"A" * LARGE


def test_damage_that_a_reader_meets_is_said(game):
    """The node that made it is up to date, and nobody else reads its result."""
    game.write("assets/a.txt", "hello")
    game.write("assets/b.txt", "world")
    game.doit()
    for path in game.path("cache/v2/receipts").rglob("*"):
        if path.is_file() and b"HELLO" in path.read_bytes():
            path.write_bytes(b"damaged")
    game.write("assets/b.txt", "another")
    ran = game.doit()
    assert ran.out.count("set aside: ") == 1
    assert game.read("build/toy/all.pack") == b"a=5\nb=7\n"


def test_a_damaged_receipt_is_encoded_again_with_a_warning(game):
    game.write("assets/a.txt", "a")
    game.doit()
    receipts = [path for path in game.path("cache/v2/receipts").rglob("*") if path.is_file()]
    for path in receipts:
        path.write_bytes(path.read_bytes()[:-1])
    game.remove("build")
    ran = game.doit()
    assert (ran.code, ran.built) == (0, ["toy:a", "toy:pack"])
    assert ran.out.count("set aside: ") == len(receipts)
    assert game.read("build/toy/a.out") == b"A"


def test_an_edited_output_never_changes_the_cache(game):
    game.write("assets/a.txt", "a" * 100_000)
    game.doit()
    objects = game.outputs("cache/v2/objects")
    with open(game.path("build/toy/a.out"), "r+b") as file:
        file.write(b"edited in place")
    assert game.outputs("cache/v2/objects") == objects


def test_several_worktrees_share_a_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CARTWRIGHT_CACHE", str(tmp_path / "shared"))
    one, other = Game(tmp_path / "one"), Game(tmp_path / "other")
    for game in (one, other):
        game.write("assets/a.txt", "a")
        game.write("assets/l.lst", "l\n")
    assert len(one.doit().built) == 3
    ran = other.doit()
    assert (ran.built, len(ran.restored)) == ([], 3)
    assert other.outputs() == one.outputs()


def test_processes_that_share_a_cache_do_not_disturb_one_another(tmp_path):
    games = [Game(tmp_path / str(number)) for number in range(3)]
    for game in games:
        for number in range(20):
            game.write(f"assets/{number}.txt", f"text {number % 7}")
    environment = games[0].environment(CARTWRIGHT_CACHE=str(tmp_path / "shared"))
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "doit"],
            cwd=game.root,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for game in games
    ]
    assert [process.wait(timeout=60) for process in running] == [0, 0, 0]
    assert games[0].outputs() == games[1].outputs() == games[2].outputs()
    assert os.listdir(tmp_path / "shared" / "v2" / "tmp") == []


def test_switching_a_branch_back_and_forth_costs_no_encoding(game):
    game.write("assets/a.txt", "main")
    game.doit()
    for text, encoded in (("branch", 2), ("main", 0), ("branch", 0), ("main", 0)):
        game.write("assets/a.txt", text)
        assert len(game.doit().built) == encoded
        assert game.read("build/toy/a.out") == text.upper().encode()


def test_blocks_are_shared_where_the_file_system_can(tmp_path, monkeypatch):
    """A file system that can is played by a call that copies; the bytes must be the twin's."""
    fcntl = pytest.importorskip("fcntl")
    calls = []

    def reflink(target, request, source):
        calls.append(request)
        os.write(target, os.pread(source, 1 << 20, 0))

    monkeypatch.setattr(fcntl, "ioctl", reflink)
    monkeypatch.setattr(files, "_cannot_share", set())
    twin = tmp_path / "twin"
    data = b"x" * files.WORTH_SHARING
    twin.write_bytes(data)
    files.write_whole(str(tmp_path / "out"), data, str(tmp_path), str(twin))
    assert calls == ([files.FICLONE] if sys.platform.startswith("linux") else [])
    assert (tmp_path / "out").read_bytes() == data


def test_a_copy_is_made_where_blocks_cannot_be_shared(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def refuse(*_):
        raise OSError(95, "not supported")

    monkeypatch.setattr(fcntl, "ioctl", refuse)
    monkeypatch.setattr(files, "_cannot_share", set())
    data = b"x" * files.WORTH_SHARING
    (tmp_path / "twin").write_bytes(data)
    files.write_whole(str(tmp_path / "out"), data, str(tmp_path), str(tmp_path / "twin"))
    assert (tmp_path / "out").read_bytes() == data


def test_an_output_folder_on_another_device_is_filled_all_the_same(game, monkeypatch):
    """Another device is played by a rename that refuses to leave its folder."""
    rename = os.replace

    def within_a_device(source, target):
        if "/build/" in str(target) and "/build/" not in str(source):
            raise OSError(18, "Invalid cross-device link", source, None, target)
        rename(source, target)

    monkeypatch.setattr(os, "replace", within_a_device)
    game.write("assets/a.txt", "a")
    assert game.doit().code == 0
    assert sorted(game.outputs()) == ["build/toy/a.out", "build/toy/all.pack"]
    assert os.listdir(game.path(".cartwright/tmp")) == []


def test_a_trim_takes_the_least_recently_used_first(cache):
    old, _ = store(cache, b"o" * LARGE, LONG_AGO)
    new, _ = store(cache, b"n" * LARGE, LONG_AGO + 5)
    trim_cache(cache, 3 * LARGE // 2, set(), NOW)
    assert cache.load_receipt(old) is None
    assert cache.load_receipt(new) is not None


def test_a_trim_never_takes_what_is_needed(cache):
    needed, sha = store(cache, b"needed" * LARGE)
    other, _ = store(cache, b"other" * LARGE)
    trimmed = trim_cache(cache, 0, {needed, sha}, NOW)
    assert cache.load_object(sha) == b"needed" * LARGE
    assert cache.load_receipt(needed) is not None
    assert cache.load_receipt(other) is None
    assert trimmed.removed_files == 2


def test_a_trim_keeps_objects_that_another_receipt_names(cache):
    data = b"shared" * LARGE
    sha = hashlib.sha256(data).hexdigest()
    store(cache, data)
    cache.store_result("1" * 64, Receipt((Output("out", len(data), sha),)), {"out": data})
    os.utime(cache._path("receipts", "1" * 64), (NOW, NOW))
    trim_cache(cache, len(data) + 300, set(), NOW)
    assert cache.load_object(sha) == data


def test_a_trim_leaves_young_orphans_alone_because_a_build_may_be_about_to_name_them(cache):
    data = b"orphan"
    sha = hashlib.sha256(data).hexdigest()
    cache.store_object(sha, data)
    os.utime(cache._path("objects", sha), (NOW, NOW))
    trim_cache(cache, 0, set(), NOW + GRACE_S / 2)
    assert cache.has_object(sha)
    trim_cache(cache, 0, set(), NOW + GRACE_S * 2)
    assert not cache.has_object(sha)


def test_a_trim_takes_no_more_than_it_must(cache):
    for number in range(10):
        store(cache, bytes([number]) * LARGE, LONG_AGO + number)
    trimmed = trim_cache(cache, 6 * LARGE, set(), NOW)
    assert 4.5 * LARGE < trimmed.kept_bytes <= 6 * LARGE


def test_gc_keeps_the_current_build_whole(game):
    for text in ("first", "second", "third"):
        game.write("assets/a.txt", text)
        game.doit()
    ran = game.doit("gc", "--max-size", "0")
    assert ran.code == 0
    assert ran.out.startswith("removed ")
    assert "which the current build or one that runs may need" in ran.out
    game.remove("build")
    assert game.doit().built == []
    game.write("assets/a.txt", "first")
    assert "toy:a" in game.doit().built


def test_gc_shortens_the_list_of_outputs_and_loses_none(game):
    for text in ("first", "second", "third"):
        game.write("assets/a.txt", text)
        game.doit()
    before = game.read(".cartwright/outputs").count(b"\n")
    game.doit("gc")
    assert game.read(".cartwright/outputs").count(b"\n") == 2 < before
    game.remove("assets/a.txt")
    game.remove(".cartwright/state.db")
    game.doit()
    assert game.outputs() == {}


@pytest.mark.parametrize("text", ["a", "a" * LARGE])
def test_a_build_ends_well_whatever_others_remove_from_the_cache_meanwhile(game, monkeypatch, text):
    do = pipeline.build.work.do_job

    def do_and_wipe(job):
        result = do(job)
        shutil.rmtree(game.path("cache"), ignore_errors=True)
        return result

    for module in ("work", "build"):
        monkeypatch.setattr(f"pipeline.build.{module}.do_job", do_and_wipe)
    for name in ("a", "b", "c"):
        game.write(f"assets/{name}.txt", text)
    ran = game.doit()
    assert (ran.code, ran.failed) == (0, [])
    size = len(text)
    assert game.read("build/toy/all.pack") == f"a={size}\nb={size}\nc={size}\n".encode()


def test_gc_clears_old_temporary_files_of_the_project_and_leaves_young_ones(game):
    game.write("assets/a.txt", "a")
    game.doit()
    for name, used in (("old", LONG_AGO), ("young", None)):
        path = game.write(f".cartwright/tmp/{name}", "half")
        os.utime(path, used and (used, used))
    assert "removed 1 file (4 B)" in game.doit("gc").out
    assert os.listdir(game.path(".cartwright/tmp")) == ["young"]


@pytest.mark.parametrize("place", ["receipts/ab", "objects/ab", "tmp", "damaged"])
def test_a_stray_folder_in_the_cache_is_left_alone(game, place):
    game.write("assets/a.txt", "a")
    game.doit()
    game.write(f"cache/v2/{place}/stray/file", "mine")
    os.utime(game.path(f"cache/v2/{place}/stray"), (LONG_AGO, LONG_AGO))
    assert game.doit("gc", "--max-size", "0").code == 0
    assert game.read(f"cache/v2/{place}/stray/file") == b"mine"


@pytest.mark.parametrize(
    ("text", "size"), [("10GiB", 10 * 2**30), ("1.5KiB", 1536), ("3 gb", 3 * 10**9), ("7b", 7)]
)
def test_a_size_in_binary_units_is_one(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("size", ["500M", "10G", "1.5k", "0", "3 gb", "10GiB", "500Mi"])
def test_gc_reads_sizes_as_people_write_them(game, size):
    assert game.doit("gc", "--max-size", size).code == 0


def test_gc_refuses_a_size_that_is_none(game):
    ran = game.doit("gc", "--max-size", "lots")
    assert ran.code == 3
    assert "500M" in ran.err


def test_nothing_but_outputs_lies_in_an_output_folder(game):
    game.write("assets/a.txt", "a")
    game.doit()
    assert sorted(game.outputs()) == ["build/toy/a.out", "build/toy/all.pack"]
    assert os.listdir(game.path(".cartwright/tmp")) == []
    assert game.read(".cartwright/.gitignore") == b"*\n"
    assert (ROOT / "cache" / ".gitkeep").exists()
