"""How much two workers gain over one, with nodes that do nothing but use the processor.

What the machine itself can gain is measured beside it, with two bare processes: on a machine
that others use too, that is the most to be had.
"""

from __future__ import annotations

import hashlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine_peer import Tool, measure
from engine_table import columns
from engine_tree import Tree

NODES = 240
NODE_SECONDS = 0.02
CALIBRATION_ROUNDS = 20_000
BARE = "bare processes"
BURN = (
    "import hashlib, sys\n"
    "for _ in range(int(sys.argv[1])):\n"
    " hashlib.pbkdf2_hmac('sha256', bytes(4096), b'', int(sys.argv[2]))\n"
)


@dataclass(frozen=True, slots=True)
class Speedup:
    """Seconds with one worker and with two, and how many times faster two are."""

    tool: str
    one: float
    two: float
    gain: float


def calibrate() -> int:
    """Give the rounds of work that keep a processor busy for the time of one node."""
    times = []
    for _ in range(5):
        start = time.process_time()
        hashlib.pbkdf2_hmac("sha256", bytes(4096), b"", CALIBRATION_ROUNDS)
        times.append(time.process_time() - start)
    return round(CALIBRATION_ROUNDS * NODE_SECONDS / min(times))


def run_bare(workers: int, work: int) -> float:
    """Do the work of all nodes in processes that know nothing of one another."""
    words = [sys.executable, "-c", BURN, str(NODES // workers), str(work)]
    start = time.perf_counter()
    for process in [subprocess.Popen(words) for _ in range(workers)]:
        process.wait()
    return time.perf_counter() - start


def run_tool(tool: Tool, tree: Tree, workers: int) -> float:
    """Build everything from scratch with so many workers."""
    tree.delete(("build", *tool.memory))
    wall = measure(tool.command("-n", str(workers)), tree.folder).wall
    tree.check()
    return wall


def measure_speedups(tools: Sequence[Tool], folder: Path, runs: int) -> list[Speedup]:
    """Measure the tools that have worker processes, taking turns."""
    work = calibrate()
    actions: dict[str, Callable[[int], float]] = {BARE: lambda workers: run_bare(workers, work)}
    for tool in tools:
        if tool.name in ("cartwright", "doit"):
            tree = Tree(folder / f"{tool.name}-parallel", NODES, work)
            tree.write_sources()
            tool.describe(tree)
            actions[tool.name] = lambda workers, a=tool, b=tree: run_tool(a, b, workers)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in actions}
    for _ in range(runs):
        for name, action in actions.items():
            times[name].append((action(1), action(2)))
    return [summarise(name, found) for name, found in times.items()]


def summarise(name: str, times: Sequence[tuple[float, float]]) -> Speedup:
    """Take medians; the gain is the median of the gains, each from two runs in a row."""
    ones, twos = zip(*times, strict=True)
    gain = statistics.median(one / two for one, two in times)
    return Speedup(name, statistics.median(ones), statistics.median(twos), gain)


def speedup_lines(speedups: Sequence[Speedup]) -> Iterator[str]:
    """Give the table of gains."""
    rows = [["from scratch", "-n 1, wall s", "-n 2, wall s", "gain"]]
    rows += [[s.tool, f"{s.one:.2f}", f"{s.two:.2f}", f"{s.gain:.2f}"] for s in speedups]
    yield f"{NODES} nodes of {NODE_SECONDS * 1000:.0f} ms CPU each, and their packs:"
    yield from columns(rows)
