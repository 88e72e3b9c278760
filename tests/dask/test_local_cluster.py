"""A cluster of one machine, started for a build, and clusters whose workers come and go."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.build.dask.error import ClusterError
from pipeline.build.dask.workers import Workers
from tests.dask.test_workers import Scheduler
from tests.pipeline.game import Game
from tests.remote.fake import server_process
from tests.remote.test_build import clone, new_game


@pytest.mark.timeout(300)  # it starts several processes, on a machine that may be busy
def test_a_local_cluster_gives_the_bytes_of_a_local_build_and_names_its_workers(
    tmp_path: Path,
) -> None:
    game = new_game(tmp_path / "here")
    assert game.process().code == 0
    other: Game = clone(game, tmp_path / "there")
    with server_process() as port:
        settings = {
            "CARTWRIGHT_REMOTE_CACHE": f"http://127.0.0.1:{port}",
            "CARTWRIGHT_REMOTE_WRITE": "1",
            "CARTWRIGHT_CLUSTER_WAIT": "120",
        }
        words = ("--executor", "dask", "--scheduler", "local", "--json", "result.json")
        ran = other.process(*words, **settings)
    assert ran.code == 0, ran.out + ran.err
    assert other.outputs() == game.outputs()
    nodes = json.loads(other.read("result.json"))["nodes"]
    workers = {one["worker"] for one in nodes if one["outcome"] == "built"}
    assert workers
    assert all("tcp://127.0.0.1:" in one for one in workers), workers


def test_an_adaptive_cluster_may_have_no_worker_while_there_is_nothing_to_do() -> None:
    now = [0.0]
    scheduler = Scheduler({"a": 1})
    workers = Workers(scheduler, "tcp://host", 30.0, clock=lambda: now[0])  # type: ignore[arg-type]
    now[0], scheduler.workers = 100.0, {}
    workers.begin_waiting()
    workers.refresh()
    now[0] = 129.0
    workers.refresh()
    scheduler.workers = {"b": 2}
    now[0] = 131.0
    workers.refresh()
    assert workers.threads == 2
    scheduler.workers = {}
    now[0] = 162.0
    with pytest.raises(ClusterError, match="had no worker for 30 s"):
        workers.refresh()
