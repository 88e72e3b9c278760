"""Durations that jobs know of one another, through the snapshot that their nights end with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.build.duration import (
    known_durations,
    merge_durations,
    publish_durations,
    shard_durations,
)
from pipeline.cache.shared.shared_cache import SharedCache
from pipeline.cache.shared.snapshot import put_named
from tests.remote.fake import Fake
from tests.remote.test_build import clone, new_game
from tests.remote.test_snapshot import open_shared_cache


@pytest.fixture
def shared(remote: Fake) -> Iterator[SharedCache]:
    one = open_shared_cache()
    yield one
    one.close()


def test_durations_of_a_build_come_with_its_snapshot(shared: SharedCache, tmp_path: Path) -> None:
    game = new_game(tmp_path / "game")
    assert game.doit().code == 0
    assert game.doit("snapshot", "publish").code == 0
    durations = known_durations(shared, "main")
    assert "toy:text000" in durations
    assert all(one >= 0 for one in durations.values())
    assert put_named(shared, ["broken"], b"no snapshot")
    assert known_durations(shared, "broken") == known_durations(shared, "none") == {}


def test_a_shard_with_nothing_to_build_hides_no_other(shared: SharedCache) -> None:
    publish_durations(shared, 1, "", {})
    publish_durations(shared, 2, "", {"toy:a": 3.0})
    publish_durations(shared, 4, "", {"toy:b": 3.0})
    assert shard_durations(shared, "") == {"toy:a": 3.0}


def test_shards_of_another_commit_tell_nothing(shared: SharedCache) -> None:
    publish_durations(shared, 1, "a" * 40, {"toy:a": 3.0})
    publish_durations(shared, 1, "b" * 40, {"toy:a": 9.0})
    assert shard_durations(shared, "a" * 40) == {"toy:a": 3.0}


def test_a_duration_stays_until_the_node_takes_twice_or_half_as_long() -> None:
    before = {"same": 4.0, "longer": 4.0, "shorter": 4.0, "quick": 0.001, "gone": 1.0}
    now = {"same": 7.0, "longer": 9.0, "shorter": 1.9, "quick": 0.009, "new": 2.0}
    merged = {"same": 4.0, "longer": 9.0, "shorter": 1.9, "quick": 0.001, "gone": 1.0, "new": 2.0}
    assert merge_durations(before, now) == merged


def test_shards_go_by_the_snapshot_that_the_project_names(
    shared: SharedCache, tmp_path: Path
) -> None:
    game = new_game(tmp_path / "game", 4)
    game.write("pyproject.toml", '[tool.cartwright]\nsnapshot = "space/main"\n')
    assert game.doit().code == 0
    assert "published as space/main" in game.doit("snapshot", "publish").out
    assert known_durations(shared, "main") == {}
    other = clone(game, tmp_path / "other")
    assert "files of space/main" in other.doit("snapshot", "fetch").out
    long = {
        one: 50.0 if one == "toy:text003" else 1.0 for one in known_durations(shared, "space/main")
    }
    publish_durations(shared, 1, "", long)
    assert game.doit("snapshot", "publish").code == 0
    share_of = clone(game, tmp_path / "job").doit("--shard", "1/2", "-v")
    assert "toy:text003" in share_of.out
    assert "toy:text002" not in share_of.restored + share_of.built, share_of.out


def test_a_name_that_no_snapshot_can_have_is_refused_by_its_setting(
    remote: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARTWRIGHT_SNAPSHOT", "x" * 201)
    game = new_game(tmp_path / "game")
    for words in (("snapshot", "fetch"), ("--shard", "1/2")):
        ran = game.doit(*words)
        assert (ran.code, "CARTWRIGHT_SNAPSHOT: a name" in ran.err) == (3, True), ran.err
