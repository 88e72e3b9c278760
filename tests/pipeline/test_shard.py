"""Shards: how nodes are divided, and jobs that build a game together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.build.shard import Shard, divide, parse_shard
from tests.pipeline.game import Game
from tests.remote.test_build import clone, new_game


@st.composite
def graphs(draw: st.DrawFn) -> tuple[dict[str, list[str]], dict[str, float]]:
    count = draw(st.integers(1, 20))
    names = [f"toy:{number}" for number in range(count)]
    needs = {
        name: draw(st.lists(st.sampled_from(names[:at]), unique=True, max_size=4)) if at else []
        for at, name in enumerate(names)
    }
    times = st.floats(0.0, 100.0, allow_nan=False)
    return needs, {name: draw(times) for name in names}


# A busy machine may take seconds for the first example.
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(graphs(), st.integers(1, 5))
def test_the_shares_of_all_jobs_have_every_node_once(
    graph: tuple[dict[str, list[str]], dict[str, float]], count: int
) -> None:
    needs, seconds = graph
    shares = [divide(needs, seconds, Shard(one + 1, count)) for one in range(count)]
    assert sorted(task for share in shares for task in share.own) == sorted(needs)
    for share in shares:
        assert all(need in share for task in share.own | share.needed for need in needs[task])
        assert share.late <= share.own | share.needed


def test_long_nodes_are_spread_by_their_durations() -> None:
    seconds = {f"toy:{name}": time for name, time in zip("abcde", (8, 5, 4, 4, 3), strict=True)}
    needs: dict[str, list[str]] = {task: [] for task in seconds}
    loads = [
        sum(seconds[task] for task in divide(needs, seconds, Shard(one, 3)).own)
        for one in (1, 2, 3)
    ]
    assert sorted(loads) == [8, 8, 8]


def test_a_chain_stays_together_and_what_joins_chains_comes_last() -> None:
    needs = {"t:a1": [], "t:a2": ["t:a1"], "t:b1": [], "t:b2": ["t:b1"], "t:all": ["t:a2", "t:b2"]}
    first, last = (divide(needs, dict.fromkeys(needs, 1.0), Shard(one, 2)) for one in (1, 2))
    assert (first.own, first.needed) == ({"t:a1", "t:a2"}, frozenset())
    assert last.own == {"t:b1", "t:b2", "t:all"}
    assert last.late == {"t:a1", "t:a2", "t:all"}


@pytest.mark.parametrize("text", ["", "3", "0/4", "5/4", "1/0", "a/b", "1/4/2", "-1/4", "1/99999"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a shard is needed"):
        parse_shard(text)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder that all jobs see, as on the disk of a cluster."""
    monkeypatch.setenv("CARTWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CARTWRIGHT_REMOTE_CACHE", raising=False)
    return tmp_path


def test_four_shards_from_nothing_give_the_bytes_of_one_build(folder: Path) -> None:
    game = new_game(folder / "game", 12)
    built = []
    for number in range(1, 5):
        job = clone(game, folder / f"job{number}")
        ran = job.doit("--shard", f"{number}/4")
        assert ran.code == 0, ran.out
        built += ran.built
    assert len(built) == len(set(built)), "two jobs have encoded the same node"
    last = clone(game, folder / "last")
    ran = last.doit("--require-cached")
    assert (ran.code, ran.built) == (0, []), ran.out
    alone = clone(game, folder / "alone")
    assert alone.doit("-a").code == 0
    assert last.outputs() == alone.outputs()


def test_a_missing_shard_is_a_list_of_nodes_and_exit_code_1(folder: Path) -> None:
    game = new_game(folder / "game", 12)
    assert clone(game, folder / "job").doit("--shard", "1/2").code == 0
    last = clone(game, folder / "last")
    ran = last.doit("--require-cached", "--json", "result.json")
    assert ran.code == 1
    assert ran.built == []
    nodes = json.loads(last.read("result.json"))["nodes"]
    missing = [one["task"] for one in nodes if one["outcome"] == "failed"]
    assert missing
    assert set(missing) <= set(ran.failed)
    assert "its result is in no cache" in ran.out
    assert {one["outcome"] for one in nodes} <= {"restored", "failed", "not built"}


def test_with_everything_up_to_date_nothing_is_required(folder: Path) -> None:
    game = new_game(folder / "game")
    assert game.doit().code == 0
    assert game.doit("--require-cached").code == 0


@pytest.mark.parametrize(
    "words", [("--shard", "1/2", "--require-cached"), ("-a", "--require-cached"), ("--shard", "9")]
)
def test_options_that_cannot_be_meant_are_refused(folder: Path, words: tuple[str, ...]) -> None:
    game = Game(folder / "game")
    assert game.doit(*words).code == 3
