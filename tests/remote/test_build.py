"""Builds that share a cache server, and what becomes of them when the server is no good."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.build.lookup import AT_ONCE
from pipeline.cache.local import FEW
from pipeline.cache.shared import breaker, client
from tests.pipeline.game import Game, Ran
from tests.remote import proxy as harm
from tests.remote.conftest import PROGRAMS, share
from tests.remote.fake import Fake
from tests.remote.proxy import Harm, Proxy, between
from tests.remote.server import PASSWORD, USER, Server, free_port

MANY = 3 * AT_ONCE
FAULTS = (
    harm.mute,
    harm.slow,
    harm.closing,
    harm.cutting,
    harm.ending,
    harm.corrupting,
    harm.babbling,
    harm.redirecting,
    harm.flooding,
    harm.zipping,
    harm.breaking,
    harm.denying,
)


def new_game(folder: Path, texts: int = 3) -> Game:
    game = Game(folder)
    for number in range(texts):
        game.write(f"assets/text{number:03}.txt", f"text {number}\n")
    game.write("assets/large.txt", "large and lossy\n" * 5000)
    game.write("assets/words.bst", "a family of words, ten times as good " * 3)
    return game


def clone(game: Game, folder: Path) -> Game:
    """Copy what a repository holds, and nothing that was built."""
    shutil.copytree(
        game.root, folder, ignore=shutil.ignore_patterns("cache", "build", ".cartwright")
    )
    return Game(folder)


def remote_warnings(ran: Ran) -> list[str]:
    return [line for line in ran.out.splitlines() if line.startswith("warning: shared cache")]


@pytest.fixture
def warm(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Game:
    """A game whose results are all on the server."""
    game = new_game(tmp_path / "first")
    share(monkeypatch, server.address, write=True)
    ran = game.doit()
    assert ran.code == 0, ran.out
    assert not remote_warnings(ran), ran.out
    share(monkeypatch, server.address)
    return game


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_clean_clone_encodes_nothing_and_gets_the_same_bytes(
    warm: Game, tmp_path: Path, workers: tuple[str, ...]
) -> None:
    other = clone(warm, tmp_path / "second")
    ran = other.doit(*workers)
    assert ran.code == 0, ran.out
    assert ran.built == []
    assert len(ran.restored) == 7
    assert other.outputs() == warm.outputs()
    assert "7 nodes from the shared cache, " in ran.out
    assert "warning: toy:large: something was lost" in ran.out
    assert not remote_warnings(ran)


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_results_whose_receipts_are_bundled_are_shared_too(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...]
) -> None:
    share(monkeypatch, server.address, write=True)
    game = new_game(tmp_path / "first", 3 * FEW)
    assert len(game.doit(*workers).built) == 3 * FEW + 4
    assert list(game.path("cache/v2/bundles").iterdir())
    other = clone(game, tmp_path / "second")
    ran = other.doit(*workers)
    assert ran.built == []
    assert not remote_warnings(ran)
    assert other.outputs() == game.outputs()


def test_two_machines_give_each_other_what_they_built(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    share(monkeypatch, server.address, write=True)
    one = new_game(tmp_path / "one")
    assert one.doit().code == 0
    two = clone(one, tmp_path / "two")
    two.write("assets/text001.txt", "changed there\n")
    assert two.doit().built == ["toy:pack", "toy:text001"]
    one.write("assets/text001.txt", "changed there\n")
    assert one.doit().built == []
    assert one.outputs() == two.outputs()


def test_nothing_is_sent_where_the_cache_is_read_only(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    share(monkeypatch, server.address)
    ran = new_game(tmp_path / "game").doit()
    assert ran.code == 0
    assert "0 nodes from the shared cache, 0 B down, 0 B up" in ran.out
    assert server.entries("ac") == server.entries("cas") == []
    assert not remote_warnings(ran)


def test_what_is_in_the_local_cache_is_not_asked_for(warm: Game) -> None:
    for name in ("build", ".cartwright"):
        warm.remove(name)
    ran = warm.doit()
    assert len(ran.restored) == 7
    assert "0 nodes from the shared cache, 0 B down" in ran.out


def test_encoding_all_again_takes_nothing_from_the_server(warm: Game, tmp_path: Path) -> None:
    ran = clone(warm, tmp_path / "second").doit("-a")
    assert len(ran.built) == 7
    assert "0 nodes from the shared cache, 0 B down" in ran.out


def test_the_project_can_name_the_server(warm: Game, server: Server, tmp_path: Path) -> None:
    other = clone(warm, tmp_path / "second")
    other.write("pyproject.toml", f'[tool.cartwright]\nremote_cache = "{server.address}"\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("CARTWRIGHT_REMOTE_CACHE")
        patch.delenv("CARTWRIGHT_REMOTE_WRITE")
        assert other.doit().built == []


# What is wrong is between us and the server, so that one program is as good as the other.
@pytest.mark.parametrize("program", PROGRAMS[:1], indirect=True)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda one: one.__name__)
def test_a_build_goes_on_without_a_server_that_is_no_good(
    warm: Game,
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fault: Callable[[Proxy], Harm],
) -> None:
    monkeypatch.setattr(client, "PATIENCE_SECONDS", 0.5)
    for number in range(MANY):
        warm.write(f"assets/more{number:03}.txt", f"more {number}\n")
    share(monkeypatch, server.address, write=True)
    assert warm.doit().code == 0
    other = clone(warm, tmp_path / "second")
    with between(server.port, fault) as between_us:
        share(monkeypatch, between_us.address, write=True)
        ran = other.doit()
    assert ran.code == 0, ran.out
    assert other.outputs() == warm.outputs()
    assert len(remote_warnings(ran)) == 1, ran.out
    assert len(ran.built) == MANY + 7
    assert between_us.connections < MANY


def test_a_build_goes_on_without_a_server_that_is_always_late(
    warm: Game, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(breaker, "QUICK_SECONDS", 0.05)
    monkeypatch.setattr(breaker, "DEBT_SECONDS", 0.1)
    other = clone(warm, tmp_path / "second")
    with between(server.port, harm.delaying) as between_us:
        share(monkeypatch, between_us.address)
        ran = other.doit()
    assert ran.code == 0, ran.out
    assert other.outputs() == warm.outputs()
    assert "left out from there on: it is too slow" in remote_warnings(ran)[0]
    assert ran.built


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_server_that_is_not_there_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...]
) -> None:
    share(monkeypatch, f"http://127.0.0.1:{free_port()}", write=True)
    ran = new_game(tmp_path / "game").doit(*workers)
    assert ran.code == 0
    assert len(ran.built) == 7
    assert len(remote_warnings(ran)) == 1
    assert "connection refused; results not uploaded: 7" in ran.out


def test_a_result_whose_bytes_the_server_lost_is_encoded(
    warm: Game, server: Server, tmp_path: Path
) -> None:
    for entry in server.entries("cas"):
        entry.unlink()
    other = clone(warm, tmp_path / "second")
    ran = other.doit()
    assert ran.built == ["toy:large"]
    assert other.outputs() == warm.outputs()


def test_a_result_whose_bytes_were_altered_is_encoded(
    warm: Game, server: Server, tmp_path: Path
) -> None:
    if server.program != "nginx":
        pytest.skip("the files of bazel-remote are its own")
    for entry in server.entries("cas"):
        entry.write_bytes(entry.read_bytes().replace(b"LARGE", b"LARGO"))
    other = clone(warm, tmp_path / "second")
    ran = other.doit()
    assert ran.built == ["toy:large"]
    assert other.outputs() == warm.outputs()
    assert "wrong answers refused: 1 (bytes do not have the digest" in remote_warnings(ran)[0]


def test_a_result_under_the_key_of_another_is_encoded(
    warm: Game, server: Server, tmp_path: Path
) -> None:
    if server.program != "nginx":
        pytest.skip("the files of bazel-remote are its own")
    entries = server.entries("ac")
    texts = [entry.read_bytes() for entry in entries]
    for entry, text in zip(entries, [*texts[1:], texts[0]], strict=True):
        entry.write_bytes(text)
    other = clone(warm, tmp_path / "second")
    ran = other.doit()
    assert len(ran.built) == 7
    assert other.outputs() == warm.outputs()


def test_credentials_open_a_guarded_server_and_show_nowhere(
    guarded: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    share(monkeypatch, guarded.address, write=True)
    monkeypatch.setenv("CARTWRIGHT_REMOTE_USER", USER)
    monkeypatch.setenv("CARTWRIGHT_REMOTE_PASSWORD", PASSWORD)
    game = new_game(tmp_path / "game")
    ran = game.doit("-n", "2")
    other = clone(game, tmp_path / "other")
    assert other.doit().built == []
    assert PASSWORD not in ran.out + ran.err
    kept = [
        path
        for path in tmp_path.rglob("*")
        if path.is_file() and guarded.folder not in path.parents
    ]
    assert kept
    for path in kept:
        assert PASSWORD.encode() not in path.read_bytes(), path


def test_a_shard_whose_results_do_not_arrive_fails(
    guarded: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = new_game(tmp_path / "game")
    share(monkeypatch, guarded.address, write=True)
    ran = game.doit("--shard", "1/2", "--json", "result.json")
    assert ran.code == 1
    problem = f"results of this shard that the shared cache did not get: {len(ran.built)}"
    assert problem in ran.err
    (error,) = json.loads(game.read("result.json"))["errors"]
    assert error["problem"] == problem
    monkeypatch.setenv("CARTWRIGHT_REMOTE_USER", USER)
    monkeypatch.setenv("CARTWRIGHT_REMOTE_PASSWORD", PASSWORD)
    assert game.doit("--shard", "1/2").code == 0


def test_a_shard_sends_each_result_once_and_asks_about_none_of_them(
    remote: Fake, tmp_path: Path
) -> None:
    sent: list[str] = []
    asked: list[str] = []
    kept = {"PUT": sent, "HEAD": asked, "GET": []}
    remote.rule = lambda method, path: kept[method].append(path)
    assert new_game(tmp_path / "game").doit("--shard", "1/1").code == 0
    assert len(sent) > 7
    assert len(sent) == len(set(sent))
    assert not [path for path in asked if path.startswith("/ac/")]


def test_a_server_that_takes_nothing_from_us_is_still_read(
    guarded: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = new_game(tmp_path / "game")
    share(monkeypatch, guarded.address, write=True)
    with monkeypatch.context() as patch:
        patch.setenv("CARTWRIGHT_REMOTE_USER", USER)
        patch.setenv("CARTWRIGHT_REMOTE_PASSWORD", PASSWORD)
        assert game.doit().code == 0
    other = clone(game, tmp_path / "other")
    other.write("assets/text001.txt", "changed there\n")
    ran = other.doit()
    assert ran.built == ["toy:pack", "toy:text001"]
    (warning,) = remote_warnings(ran)
    assert warning.endswith(
        "results not uploaded: 2 (it takes none: it answers 401) [shared-cache]"
    )


def test_a_wrong_setting_stops_the_run_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = new_game(tmp_path / "game")
    monkeypatch.setenv("CARTWRIGHT_REMOTE_CACHE", f"http://{USER}:{PASSWORD}@127.0.0.1:9/")
    ran = game.process()
    assert ran.code == 3
    assert "CARTWRIGHT_REMOTE_CACHE: the address holds a user's name or password" in ran.err
    assert PASSWORD not in ran.out + ran.err
    assert not game.path("build").exists()


@pytest.mark.parametrize(("key", "value"), [("CACHE", "5"), ("PATIENCE", "abc")])
def test_a_wrong_setting_stops_a_run_that_has_nothing_to_do_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, value: str
) -> None:
    game = new_game(tmp_path / "game")
    game.doit()
    share(monkeypatch, "http://127.0.0.1:9")
    assert "nothing to do" in game.doit().out
    monkeypatch.setenv(f"CARTWRIGHT_REMOTE_{key}", value)
    ran = game.doit()
    assert ran.code == 3
    assert f"CARTWRIGHT_REMOTE_{key}: " in ran.err


def test_nothing_of_it_is_imported_where_no_server_is_set(tmp_path: Path) -> None:
    game = new_game(tmp_path / "game")
    text = game.read("dodo.py").decode()
    game.write(
        "dodo.py",
        f"{text}\nimport atexit, sys\n"
        "names = ('http.client', 'ssl', 'netrc')\n"
        "atexit.register(lambda: print([name for name in sys.modules"
        " if name.startswith('pipeline.cache.shared') or name in names]))\n",
    )
    game.write("pyproject.toml", "[project]\nname = 'game'\n")
    ran = game.process()
    assert len(ran.built) == 7
    assert ran.out.splitlines()[-1] == "[]"


def test_a_result_of_another_machine_is_verified_against_the_shared_cache(
    warm: Game, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = clone(warm, tmp_path / "second")
    assert other.doit().code == 0
    ran = other.doit("verify", "--shared")
    assert (ran.code, "differs" in ran.out, " same" in ran.out) == (0, False, True), ran.out
    assert not (other.root / ".cartwright/tmp/verify").exists()
    monkeypatch.setenv("CARTWRIGHT_REMOTE_CACHE", f"http://127.0.0.1:{free_port()}")
    assert other.doit("verify", "--shared").code == 3
