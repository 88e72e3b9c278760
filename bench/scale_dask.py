"""What a Dask cluster costs and gains: overhead per node, and two workers beside one.

Scheduler, workers, cache server and driver are processes of this machine. Nodes that wait stand
for workers elsewhere, whose processors are their own; nodes that compute share the processors
with everything else, so what two bare processes gain here is measured beside them.
"""

from __future__ import annotations

import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from engine_parallel import NODE_SECONDS, calibrate, run_bare
from engine_peer import environment, find_program
from engine_table import columns
from engine_tree import TARGET, Tree, write_cartwright

from tests.dask.cluster_processes import ClusterProcesses, running_cluster
from tests.remote.server import Server, installed, running

SMALL_NODES, SLOW_NODES, SLOW_SECONDS = 2_000, 300, 0.05
ROUNDS = 3
OVERHEAD_GOAL_MS, GAIN_GOAL = 5.0, 1.7
BURN = 'hashlib.pbkdf2_hmac("sha256", inputs["source"], b"", params["work"])'
WAIT = '__import__("time").sleep(params["work"] / 1e6)'


@dataclass(frozen=True, slots=True)
class Ground:
    """A game, and the server and the cluster that build it."""

    tree: Tree
    server: Server
    cluster: ClusterProcesses

    def build(self, seed: int) -> float:
        """Build from nothing what the server does not know either; give the seconds."""
        self.tree.delete(("build", "cache", ".cartwright"))
        self.tree.write_sources(seed)
        words = [
            str(find_program("doit")),
            "--executor",
            "dask",
            "--scheduler",
            self.cluster.address,
        ]
        began = time.perf_counter()
        subprocess.run(
            words,
            cwd=self.tree.folder,
            env=environment() | access(self.server),
            stdout=subprocess.DEVNULL,
            check=True,
        )
        seconds = time.perf_counter() - began
        self.tree.check()
        return seconds


def access(server: Server) -> dict[str, str]:
    return {"CARTWRIGHT_REMOTE_CACHE": server.address, "CARTWRIGHT_REMOTE_WRITE": "1"}


def write_tree(folder: Path, nodes: int, work: int, waits: bool = False) -> Tree:
    tree = Tree(folder, nodes, work)
    write_cartwright(tree)
    if waits:
        tree.write("encoders/bench.py", TARGET.replace(BURN, WAIT))
    return tree


def measure(tree: Tree, server: Server, folder: Path, workers: int, rounds: int) -> list[float]:
    """Build several times with so many workers of one thread each."""
    with running_cluster(folder / f"{tree.folder.name}-{workers}", tree.folder) as cluster:
        for _ in range(workers):
            cluster.add_worker(access(server))
        ground = Ground(tree, server, cluster)
        return [ground.build(workers * rounds + number) for number in range(rounds)]


@contextmanager
def cache_server() -> Iterator[tuple[Server, Path]]:
    """Start a cache server, with a folder for trees."""
    folder = Path(tempfile.mkdtemp(prefix="scale-dask-"))
    try:
        with running(folder / "server", installed()[0]) as server:
            yield server, folder
    finally:
        shutil.rmtree(folder)


def small_walls(server: Server, folder: Path, rounds: int) -> list[float]:
    """Build nodes that copy 4 KiB, with two workers."""
    tree = write_tree(folder / "small", SMALL_NODES, 0)
    return measure(tree, server, folder, 2, rounds)


def waiting_walls(server: Server, folder: Path, rounds: int) -> Iterator[tuple[int, list[float]]]:
    """Build nodes that wait, with one worker and with two; give the workers with the seconds."""
    waiting = write_tree(folder / "waiting", SLOW_NODES, round(SLOW_SECONDS * 1e6), waits=True)
    for workers in (1, 2):
        yield workers, measure(waiting, server, folder, workers, rounds)


def overhead_lines(server: Server, folder: Path) -> Iterator[str]:
    wall = statistics.median(small_walls(server, folder, ROUNDS))
    cost_ms = wall / SMALL_NODES * 1000
    verdict = "reached" if cost_ms < OVERHEAD_GOAL_MS else "not reached"
    yield f"{SMALL_NODES:,} nodes that copy 4 KiB and their packs, two workers, from nothing:"
    yield f"{wall:.2f} s, {cost_ms:.2f} ms a node in all"
    yield f"goal: under {OVERHEAD_GOAL_MS:g} ms, {verdict}"


def gain_lines(server: Server, folder: Path) -> Iterator[str]:
    rounds = round(calibrate() * SLOW_SECONDS / NODE_SECONDS)
    computing = write_tree(folder / "computing", SLOW_NODES, rounds)
    both = [measure(computing, server, folder, workers, ROUNDS) for workers in (1, 2)]
    waits = [walls for _, walls in waiting_walls(server, folder, ROUNDS)]
    rows = [["from nothing", "one worker, s", "two workers, s", "gain"]]
    for name, found in (("nodes that wait", waits), ("nodes that compute", both)):
        one, two = map(statistics.median, found)
        rows.append([name, f"{one:.2f}", f"{two:.2f}", f"{one / two:.2f}"])
    one, two = (run_bare(workers, rounds).wall for workers in (1, 2))
    rows.append(["bare processes", f"{one:.2f}", f"{two:.2f}", f"{one / two:.2f}"])
    yield f"{SLOW_NODES} nodes of {SLOW_SECONDS * 1000:.0f} ms and their packs:"
    yield from columns(rows)
    yield f"goal: a gain of {GAIN_GOAL:g}"


def main() -> None:
    """Measure in a folder of our own."""
    print(f"Python {platform.python_version()}, {os.cpu_count()} processors")
    print(f"load before: {os.getloadavg()[0]:.1f}")
    with cache_server() as (server, folder):
        print(f"cache server: {server.program}")
        for block in (overhead_lines, gain_lines):
            print("\n" + "\n".join(block(server, folder)), flush=True)


if __name__ == "__main__":
    main()
