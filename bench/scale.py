"""Measure what several machines share: the cache server, played by this machine's loopback.

Run `python bench/scale.py`. Every measured build starts in a fresh copy of the tree, because a
file system that has just deleted thousands of files makes new ones more slowly. The states take
turns, so that whatever else the machine does falls on all of them; figures are medians.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from engine_peer import environment, find_program
from engine_table import columns
from engine_tree import REPOSITORY, Tree, write_cartwright
from suite import run_suite

sys.path.insert(0, str(REPOSITORY))

from tests.remote.server import Server, running

GOAL_PER_SECOND = 1000
PLAIN, LOCAL, EMPTY, FULL, FULL_TWO = (
    "no remote, encoded",
    "no remote, restored from the local cache",
    "empty shared cache, encoded and sent",
    "warm shared cache",
    "warm shared cache, -n 2",
)


@dataclass(frozen=True, slots=True)
class Bench:
    """Where trees are made, and how large they are."""

    folder: Path
    size: int
    baseline: Path | None

    def build(self, name: str, server: Server, *words: str, **more: str) -> tuple[Tree, float]:
        """Build a fresh copy of the tree and give the seconds; what was built is checked."""
        tree = Tree(Path(tempfile.mkdtemp(prefix="tree-", dir=self.folder)), self.size)
        tree.write_sources()
        write_cartwright(tree)
        remote = {"CARTWRIGHT_REMOTE_CACHE": server.address} if name in (FULL, FULL_TWO) else {}
        return tree, run(tree, words, environment() | remote | more)


def run(tree: Tree, words: tuple[str, ...], settings: Mapping[str, str]) -> float:
    """Run doit to its end, which must be a good one."""
    began = time.perf_counter()
    command = [str(find_program("doit")), *words]
    output = subprocess.run(
        command, cwd=tree.folder, env=settings, capture_output=True, text=True, check=True
    ).stdout
    seconds = time.perf_counter() - began
    tree.check()
    if "warning: shared cache" in output:
        raise AssertionError(output)
    return seconds


def measure(bench: Bench, rounds: int) -> dict[str, list[float]]:
    """Measure all states, taking turns."""
    walls: dict[str, list[float]] = {}

    def note(name: str, server: Server, *words: str, **more: str) -> Tree:
        tree, seconds = bench.build(name, server, *words, **more)
        walls.setdefault(name, []).append(seconds)
        print(f"{name}: {seconds:.2f} s", file=sys.stderr)
        return tree

    for turn in range(rounds):
        with running(bench.folder / f"server-{turn}") as server:
            if bench.baseline:
                note(f"before, {PLAIN}", server, PYTHONPATH=str(bench.baseline))
            tree = note(PLAIN, server)
            note(LOCAL, server, CARTWRIGHT_CACHE=f"{tree.folder}/cache")
            sending = {"CARTWRIGHT_REMOTE_CACHE": server.address, "CARTWRIGHT_REMOTE_WRITE": "1"}
            note(EMPTY, server, **sending)
            note(FULL, server)
            note(FULL_TWO, server, "-n", "2")
    return walls


def lines(walls: Mapping[str, list[float]], nodes: int) -> Iterator[str]:
    """Lay the figures out, and the goals beside them."""
    rows = [["from a fresh clone", "s", "nodes a second"]]
    medians = {name: statistics.median(found) for name, found in walls.items()}
    rows += [[name, f"{wall:.2f}", f"{nodes / wall:,.0f}"] for name, wall in medians.items()]
    yield from columns(rows)
    best = nodes / min(*walls[FULL], *walls[FULL_TWO])
    verdict = "reached" if nodes / medians[FULL] >= GOAL_PER_SECOND else "not reached"
    yield f"goal: {GOAL_PER_SECOND:,} small nodes a second from a warm shared cache, {verdict}"
    yield f"best round: {best:,.0f} nodes a second"
    before = medians.get(f"before, {PLAIN}")
    if before:
        yield f"no remote set, beside the baseline: {medians[PLAIN] / before:.2f} x the time"


def main() -> None:
    """Measure in a folder of our own."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=int, default=5000, help="how many sources")
    parser.add_argument("--rounds", type=int, default=3, help="rounds that medians are taken of")
    parser.add_argument("--folder", type=Path, help="where the trees go, instead of a temporary")
    parser.add_argument("--baseline", type=Path, help="another checkout, to compare with")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="scale-", dir=given.folder) as folder:
        bench = Bench(Path(folder), given.size, given.baseline)
        packs = (given.size + 99) // 100 + 1
        print(f"Python {platform.python_version()}, {os.cpu_count()} processors")
        print(f"load before: {os.getloadavg()[0]:.1f}; {given.size + packs:,} nodes of 4 KiB\n")
        walls = measure(bench, given.rounds)
        print("\n".join(lines(walls, given.size + packs)))
    run_suite("scale")


if __name__ == "__main__":
    main()
