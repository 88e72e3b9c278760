"""A real adaptive cluster: it has no worker until there is work, and sends them away afterwards."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from distributed import Client

from tests.pipeline.game import ROOT, Game
from tests.remote.fake import server_process
from tests.remote.test_build import clone, new_game

WAIT_SECONDS = 120
CLUSTER = """
import sys
from distributed import LocalCluster

if __name__ == "__main__":
    quiet = {"host": "127.0.0.1", "dashboard_address": None, "threads_per_worker": 1}
    with LocalCluster(n_workers=0, **quiet) as cluster:
        cluster.adapt(minimum=0, maximum=2, interval="50ms", wait_count=1)
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@contextmanager
def adaptive_cluster(folder: Path, environment: dict[str, str]) -> Iterator[str]:
    """Start a cluster in a game's folder; it sends a worker away that has nothing to do."""
    program = folder.parent / "cluster.py"
    program.write_text(CLUSTER)
    process = subprocess.Popen(
        [sys.executable, str(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**environment, "PYTHONPATH": str(ROOT)},
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.communicate(timeout=WAIT_SECONDS)


def wait_for_no_worker(address: str) -> None:
    end = time.monotonic() + WAIT_SECONDS
    with Client(address, set_as_default=False) as client:
        while client.nthreads():
            assert time.monotonic() < end
            time.sleep(0.05)


@pytest.mark.timeout(400)  # each worker is a process that is started for it
def test_a_cluster_whose_workers_come_and_go_gives_the_bytes_of_a_local_build(
    tmp_path: Path,
) -> None:
    game = new_game(tmp_path / "here", 12)
    other: Game = clone(game, tmp_path / "there")
    assert game.process().code == 0
    with server_process() as port:
        settings = {
            "CARTWRIGHT_REMOTE_CACHE": f"http://127.0.0.1:{port}",
            "CARTWRIGHT_REMOTE_WRITE": "1",
            "CARTWRIGHT_CLUSTER_WAIT": str(WAIT_SECONDS),
        }
        with adaptive_cluster(other.root, other.environment(**settings)) as address:
            words = ("--executor", "dask", "--scheduler", address, "--json", "result.json")
            first = other.process(*words, **settings)
            assert first.code == 0, first.out + first.err
            assert other.outputs() == game.outputs()
            wait_for_no_worker(address)
            other.write("assets/text001.txt", "changed when all workers had gone")
            second = other.process(*words, **settings)
    assert second.code == 0, second.out + second.err
    nodes = json.loads(other.read("result.json"))["nodes"]
    workers = {one["worker"] for one in nodes if one["outcome"] == "built"}
    assert workers
    assert all("tcp://127.0.0.1:" in one for one in workers), workers
    game.write("assets/text001.txt", "changed when all workers had gone")
    assert game.process().code == 0
    assert other.outputs() == game.outputs()
