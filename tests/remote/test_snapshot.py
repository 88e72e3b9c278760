"""Snapshots: published by one machine, fetched by another that has neither sources nor encoders."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from pipeline.build import fetch_snapshot
from pipeline.cache.shared import snapshot_contents
from pipeline.cache.shared.address import find_address
from pipeline.cache.shared.shared_cache import SharedCache
from pipeline.cache.shared.snapshot import (
    Snapshot,
    SnapshotBundle,
    SnapshotError,
    SnapshotFile,
    SnapshotNode,
    check_path,
    get_named,
    make_bundles,
    pack_snapshot,
    put_named,
    unpack_snapshot,
)
from pipeline.cache.shared.snapshot_contents import SnapshotContents
from tests.pipeline.death import Death
from tests.pipeline.game import Game
from tests.remote.conftest import share
from tests.remote.fake import Fake
from tests.remote.test_build import clone, new_game


@pytest.fixture
def published(tmp_path: Path, remote: Fake) -> Game:
    game = new_game(tmp_path / "first", 8)
    assert game.doit().code == 0
    ran = game.doit("snapshot", "publish")
    assert ran.code == 0, ran.out + ran.err
    assert "files published as main" in ran.out
    return game


def empty_game(folder: Path) -> Game:
    """A folder with nothing in it."""
    game = Game(folder)
    for one in folder.iterdir():
        game.remove(one.name)
    return game


def open_shared_cache() -> SharedCache:
    address = find_address(".")
    assert address is not None
    return SharedCache(address)


def test_a_snapshot_in_an_empty_folder_equals_the_build(published: Game, tmp_path: Path) -> None:
    other = empty_game(tmp_path / "second")
    ran = other.doit("snapshot", "fetch")
    assert ran.code == 0, ran.out + ran.err
    assert other.outputs() == published.outputs()
    assert sorted(one.name for one in other.root.iterdir()) == [".cartwright", "build", "cache"]


def test_only_what_differs_is_written(published: Game, tmp_path: Path) -> None:
    other = empty_game(tmp_path / "second")
    other.doit("snapshot", "fetch")
    path = next(iter(other.outputs()))
    other.write(path, b"altered")
    ran = other.doit("snapshot", "fetch", "main")
    assert ": 1 written" in ran.out
    assert other.outputs() == published.outputs()
    assert ": 0 written" in other.doit("snapshot", "fetch").out


def test_only_the_targets_that_are_named_are_fetched_and_others_stay(
    published: Game, tmp_path: Path
) -> None:
    published.write("manifests/spare.toml", published.read("manifests/toy.toml"))
    assert published.doit().code == 0
    assert published.doit("snapshot", "publish").code == 0
    whole = published.outputs()
    spare = {path: data for path, data in whole.items() if path.startswith("build/spare/")}
    other = empty_game(tmp_path / "second")
    assert other.doit("snapshot", "fetch", "main", "spare").code == 0
    assert other.outputs() == spare
    rest = sorted({path.split("/")[1] for path in whole} - {"spare"})
    assert other.doit("snapshot", "fetch", "main", *rest).code == 0
    assert other.outputs() == whole


def test_doit_goes_on_from_a_snapshot_without_encoding(
    published: Game, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = clone(published, tmp_path / "second")
    assert other.doit("snapshot", "fetch").code == 0
    stamps = {one: one.stat().st_mtime_ns for one in other.path("build").rglob("*.out")}
    monkeypatch.setenv("CARTWRIGHT_REMOTE_CACHE", "off")
    ran = other.doit()
    assert (ran.code, ran.built) == (0, []), ran.out
    assert other.outputs() == published.outputs()
    assert stamps
    assert stamps == {one: one.stat().st_mtime_ns for one in stamps}


def test_doit_goes_on_where_files_are_there_and_the_cache_is_lost(
    published: Game, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = clone(published, tmp_path / "second")
    assert other.doit("snapshot", "fetch").code == 0
    other.remove("cache")
    files = sorted(one for one in (other.root / "build").rglob("*") if one.is_file())
    files[0].unlink()
    ran = other.doit("snapshot", "fetch")
    assert ": 1 written" in ran.out, ran.out
    share(monkeypatch, "off")
    ran = other.doit()
    assert (ran.code, ran.built) == (0, []), ran.out


class InThisThread(ThreadPoolExecutor):
    """Does at once what it is asked to, so that it ends with the thread that asks."""

    def submit(self, work: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(work(*given, **named))
        return done


@pytest.mark.timeout(300)
def test_a_kill_at_any_moment_of_a_fetch_leaves_no_half_and_the_next_ends_it(
    published: Game, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch_snapshot, "ThreadPoolExecutor", InThisThread)
    monkeypatch.setattr(fetch_snapshot, "BATCH_NODES", 5)  # a whole folder, then single files
    whole = published.outputs()
    moment, came, seen = 1, True, set()
    while came:
        other = empty_game(tmp_path / str(moment))
        with Death(after=moment) as death:
            other.doit("snapshot", "fetch")
        came = death.came
        assert other.outputs().items() <= whole.items(), f"half-made after {moment}"
        seen.add(len(other.outputs()))
        ran = other.doit("snapshot", "fetch")
        assert (ran.code, other.outputs()) == (0, whole), f"{moment}: {ran.out}{ran.err}"
        moment += 1
    assert seen > {0, 5, len(whole)}


def test_what_a_newer_snapshot_lacks_is_removed_unless_somebody_changed_it(
    published: Game, tmp_path: Path
) -> None:
    other = empty_game(tmp_path / "second")
    other.doit("snapshot", "fetch")
    before = other.outputs()
    published.remove("assets/text001.txt")
    published.remove("assets/text002.txt")
    assert published.doit().code == 0
    assert published.doit("snapshot", "publish").code == 0
    gone = sorted(set(before) - set(published.outputs()))
    assert len(gone) >= 2
    other.write(gone[0], b"mine now")
    assert other.doit("snapshot", "fetch").code == 0
    assert other.outputs() == published.outputs() | {gone[0]: b"mine now"}


def test_a_commit_names_its_snapshot(published: Game, tmp_path: Path) -> None:
    def git(*words: str) -> str:
        words = ("git", "-c", "user.name=n", "-c", "user.email=e@example.org", *words)
        ran = subprocess.run(words, cwd=published.root, capture_output=True, text=True, check=True)
        return ran.stdout.strip()

    git("init", "-q")
    published.write(".gitignore", "build\ncache\n.cartwright\n")
    git("add", "-A")
    git("commit", "-qm", "first")
    commit = git("rev-parse", "HEAD")
    assert published.doit("snapshot", "publish", "--name", "night").code == 0
    other = empty_game(tmp_path / "second")
    assert other.doit("snapshot", "fetch", commit, "toy").code == 0
    assert other.outputs() == published.outputs()
    assert published.doit("snapshot", "fetch", commit[:10]).code == 0


def test_an_unfinished_build_is_not_published(published: Game) -> None:
    published.write("assets/new.txt", "new\n")
    ran = published.doit("snapshot", "publish")
    assert ran.code == 3
    assert "not up to date; run doit first" in ran.err


@pytest.mark.parametrize("words", [("nothing",), ("main", "no-such-target")])
def test_what_is_not_there_is_said(published: Game, tmp_path: Path, words: tuple[str, ...]) -> None:
    ran = empty_game(tmp_path / "second").doit("snapshot", "fetch", *words)
    assert ran.code in (1, 3)
    assert "no such" in ran.out + ran.err


def test_without_a_shared_cache_the_message_names_the_setting(tmp_path: Path) -> None:
    ran = new_game(tmp_path / "game").doit("snapshot", "publish")
    assert ran.code == 3
    assert "CARTWRIGHT_REMOTE_CACHE" in ran.err


def test_with_a_key_an_unsigned_snapshot_is_refused(
    published: Game, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARTWRIGHT_REMOTE_KEY", "a key")
    other = empty_game(tmp_path / "second")
    ran = other.doit("snapshot", "fetch")
    assert ran.code == 1
    assert "no valid signature" in ran.out
    assert not other.path("build").exists()
    assert published.doit("snapshot", "publish").code == 0
    assert other.doit("snapshot", "fetch").code == 0


def test_changed_bytes_on_the_server_are_not_used(
    published: Game, remote: Fake, tmp_path: Path
) -> None:
    for path, data in remote.entries.items():
        if path.startswith("/cas/"):
            remote.entries[path] = data[:-1] + bytes([data[-1] ^ 1])
    ran = empty_game(tmp_path / "second").doit("snapshot", "fetch")
    assert ran.code == 1


NO_OUTPUTS = """/etc/passwd ../x/y build/../../x .git/hooks/post-checkout dodo.py assets/a.png
build/.hidden build//x C:/x/y build\\x/y Assets/x cache/v2/x"""


@pytest.mark.parametrize("path", [*NO_OUTPUTS.split(), "build/a\n"])
def test_a_file_that_no_output_can_be_is_refused(path: str) -> None:
    node = SnapshotNode("toy:x", "f" * 64, [SnapshotFile("r", 1, "a" * 64, path)], [], [])
    with pytest.raises(SnapshotError, match="no output"):
        unpack_snapshot(pack_snapshot(Snapshot({"toy": "toy"}, [node], [])))
    for good in ("build/toy/x.toy", "build/größer als/x y.toy"):
        check_path(good)


@pytest.mark.parametrize(
    ("fingerprint", "sha", "size"),
    [("../../../x", "a" * 64, 1), ("f" * 64, "../" * 21 + "x", 1), ("f" * 64, "a" * 64, -1)],
)
def test_what_is_no_digest_names_no_file(fingerprint: str, sha: str, size: int) -> None:
    node = SnapshotNode("toy:x", fingerprint, [SnapshotFile("r", size, sha, "build/x")], [], [])
    with pytest.raises(SnapshotError, match="digest"):
        unpack_snapshot(pack_snapshot(Snapshot({"toy": "toy"}, [node], [])))


@pytest.mark.parametrize("paths", [("b/x", "b/x"), ("b/x", "b/x/y"), ("b/x", "b/x/y/z", "b/w")])
def test_files_that_cannot_be_there_at_once_are_refused(paths: tuple[str, ...]) -> None:
    nodes = [
        SnapshotNode(f"toy:{n}", "f" * 64, [SnapshotFile("r", 1, "a" * 64, path)], [], [])
        for n, path in enumerate(paths)
    ]
    with pytest.raises(SnapshotError, match=r"twice|a folder as well"):
        unpack_snapshot(pack_snapshot(Snapshot({"toy": "toy"}, nodes, [])))


def test_a_result_that_is_not_what_a_node_promises_is_encoded(
    published: Game, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = open_shared_cache()
    data = get_named(shared, "main")
    assert data is not None
    sha = hashlib.sha256(b"x").hexdigest()
    assert shared.put_blob(sha, b"x")
    nodes = [
        SnapshotNode(one.task, one.fingerprint, [SnapshotFile("else", 1, sha, f"b/{n}")], [], [])
        for n, one in enumerate(unpack_snapshot(data).nodes)
    ]
    assert put_named(shared, ["forged"], pack_snapshot(Snapshot({"toy": "toy"}, nodes, [])))
    shared.close()
    other = clone(published, tmp_path / "second")
    assert other.doit("snapshot", "fetch", "forged").code == 0
    monkeypatch.setenv("CARTWRIGHT_REMOTE_CACHE", "off")
    ran = other.doit()
    assert (ran.code, len(ran.built)) == (0, len(nodes)), ran.out
    assert other.outputs() == published.outputs()
    other.remove("build")
    assert other.doit().built == [], "what was forged is forgotten"


def test_a_bundle_that_would_fill_the_memory_is_refused() -> None:
    bundle = SnapshotBundle("a" * 64, 1 << 40, [])
    with pytest.raises(SnapshotError, match="bundle"):
        unpack_snapshot(pack_snapshot(Snapshot({"toy": "toy"}, [], [bundle])))


def test_no_file_goes_where_a_link_leads_out_of_the_folder(published: Game, tmp_path: Path) -> None:
    game, outside = empty_game(tmp_path / "second"), tmp_path / "outside"
    outside.mkdir()
    (game.root / "build").symlink_to(outside)
    ran = game.doit("snapshot", "fetch")
    assert (ran.code, list(outside.iterdir())) == (1, [])
    assert "a link leads out of the project" in ran.out


def test_nothing_is_removed_from_a_folder_that_became_a_link(
    published: Game, tmp_path: Path
) -> None:
    game, outside = empty_game(tmp_path / "second"), tmp_path / "outside"
    assert game.doit("snapshot", "fetch").code == 0
    (game.root / "build").rename(outside)
    (game.root / "build").symlink_to(outside)
    shared = open_shared_cache()
    assert put_named(shared, ["none"], pack_snapshot(Snapshot({"toy": "toy"}, [], [])))
    shared.close()
    assert game.doit("snapshot", "fetch", "none").code == 0
    assert len([one for one in outside.rglob("*") if one.is_file()]) == len(published.outputs())


@pytest.mark.parametrize("text", ["[]", '{"toy": []}', '{"toy": {"build/x": 1}}', "{"])
def test_a_damaged_list_of_what_was_fetched_removes_nothing(
    published: Game, tmp_path: Path, text: str
) -> None:
    game = empty_game(tmp_path / "second")
    game.write(".cartwright/fetched.json", text)
    game.write("build/x", "mine")
    ran = game.doit("snapshot", "fetch")
    assert ran.code == 0, ran.err
    assert game.outputs() == published.outputs() | {"build/x": b"mine"}


def test_an_output_that_somebody_edited_is_kept_and_said(published: Game, tmp_path: Path) -> None:
    game = empty_game(tmp_path / "second")
    assert game.doit("snapshot", "fetch").code == 0
    edited = next(one for one in sorted((game.root / "build").rglob("*")) if one.is_file())
    edited.write_text("my own work")
    ran = game.doit("snapshot", "fetch")
    kept = f".cartwright/displaced/{edited.relative_to(game.root)}"
    assert (ran.code, (game.root / kept).read_text()) == (0, "my own work")
    assert kept in ran.out
    assert game.outputs() == published.outputs()


@pytest.mark.parametrize("is_folder", [True, False])
def test_what_cannot_be_replaced_is_named_and_nothing_of_it_is_lost(
    published: Game, tmp_path: Path, is_folder: bool
) -> None:
    game = empty_game(tmp_path / "second")
    first = min(published.outputs())
    mine = game.root / (f"{first}/mine.txt" if is_folder else Path(first).parts[0])
    mine.parent.mkdir(parents=True, exist_ok=True)
    mine.write_text("my own work")
    ran = game.doit("snapshot", "fetch")
    assert (ran.code, mine.read_text()) == (3, "my own work"), ran.out + ran.err
    assert f"{first}: " in ran.err
    assert "Traceback" not in ran.out + ran.err


def test_every_cut_of_a_snapshot_is_refused() -> None:
    node = SnapshotNode("toy:x", "f" * 64, [SnapshotFile("r", 1, "a" * 64, "build/x")], ["w"], [])
    data = pack_snapshot(Snapshot({"toy": "toy"}, [node], []))
    assert unpack_snapshot(data).nodes == [node]
    for size in range(len(data)):
        with pytest.raises(SnapshotError):
            unpack_snapshot(data[:size])
    assert msgspec.structs.asdict(unpack_snapshot(data))["manifests"] == {"toy": "toy"}


def test_a_changed_file_leaves_most_bundles_as_they_were() -> None:
    files = [
        SnapshotFile("r", 8192, f"{n * 7919 % 65536:04x}" + "0" * 60, f"b/{n:05}")
        for n in range(4000)
    ]
    before = {one.sha for one, _ in make_bundles(files, lambda one: one.sha.encode())}
    changed = [*files[:2000], SnapshotFile("r", 8192, "f" * 64, "b/02000"), *files[2001:]]
    after = {one.sha for one, _ in make_bundles(changed, lambda one: one.sha.encode())}
    assert len(before) > 8
    assert len(after - before) <= 2


class CountingCache:
    """Bytes by digest that take a while to come; it notes what is asked for."""

    problem = ""

    def __init__(self, blobs: dict[str, bytes]) -> None:
        self.blobs, self.asked = blobs, list[str]()

    def blob(self, sha: str, size: int) -> bytes | None:
        self.asked.append(sha)
        return self.blobs.get(sha)


def snapshot_file(number: int, size: int) -> tuple[SnapshotFile, bytes]:
    data = number.to_bytes(4, "big") * (size // 4)
    return SnapshotFile("r", size, hashlib.sha256(data).hexdigest(), f"b/{number:05}"), data


@pytest.mark.parametrize("kept_bytes", [1 << 26, 1])
def test_every_piece_of_a_snapshot_is_fetched_once_and_in_order(
    kept_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_contents, "KEPT_BYTES", kept_bytes)
    monkeypatch.setattr(snapshot_contents, "AHEAD_BYTES", 1 << 20)
    made = [snapshot_file(n, 1 << 17 if n % 500 == 7 else 4096) for n in range(3000)]
    blobs = {one.sha: data for one, data in made}
    bundles = list(make_bundles([one for one, _ in made], lambda one: blobs[one.sha]))
    cache = CountingCache(blobs | {bundle.sha: data for bundle, data in bundles})
    shared = cast(SharedCache, cache)
    with SnapshotContents(shared, [bundle for bundle, _ in bundles]) as contents:
        contents.plan(one for one, _ in made)
        assert all(contents.load(one) == data for one, data in made)
    large = [one.sha for one, _ in made if one.size > 4096]
    assert len(bundles) > 2
    assert sorted(set(cache.asked)) == sorted([*large, *(one.sha for one, _ in bundles)])
    if kept_bytes > 1:  # else a large file between the files of a bundle pushes that out
        assert len(cache.asked) == len(set(cache.asked))


def test_a_file_that_a_bundle_does_not_have_is_refused() -> None:
    good, data = snapshot_file(1, 4096)
    wrong = SnapshotFile("r", 4096, "e" * 64, "b/wrong")
    bundle = SnapshotBundle("a" * 64, 8192, [(good.sha, 4096), (wrong.sha, 4096)])
    shared = cast(SharedCache, CountingCache({"a" * 64: data * 2}))
    with SnapshotContents(shared, [bundle]) as contents:
        assert contents.load(good) == data
        for one in (wrong, SnapshotFile("r", 4096, "d" * 64, "b/missing")):
            with pytest.raises(SnapshotError, match="lacks a file") as caught:
                contents.load(one)
            assert caught.value.facts["file"] == one.path


def test_of_two_that_publish_at_once_one_is_the_snapshot_whole(
    published: Game, tmp_path: Path
) -> None:
    games = [published, new_game(tmp_path / "second", 8)]
    games[1].write("assets/text003.txt", "another text\n")
    games[1].write("assets/only.txt", "only here\n")
    assert games[1].doit().code == 0
    with ThreadPoolExecutor(3) as threads:  # one game twice: its folder has one lock
        runs = list(
            threads.map(lambda one: one.doit("snapshot", "publish"), [games[0], games[1], games[0]])
        )
    assert [one.code for one in runs] == [0, 0, 0], [one.out + one.err for one in runs]
    other = empty_game(tmp_path / "third")
    assert other.doit("snapshot", "fetch").code == 0
    assert games[0].outputs() != games[1].outputs()
    assert other.outputs() in [one.outputs() for one in games]
