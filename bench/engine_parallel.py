"""How much two workers gain over one, with nodes that do nothing but use the processor.

What the machine itself can gain is measured beside it, with two bare processes: on a machine
that others use too, that is the most to be had.
"""

from __future__ import annotations

import hashlib
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from engine_peer import Cost, Tool, measure, median
from engine_table import columns
from engine_tree import Tree

NODES = 400
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
    """What one worker took and what two did, and how many times faster the two were."""

    tool: str
    one: Cost
    two: Cost
    gain: float


def calibrate() -> int:
    """Give the rounds of work that keep a processor busy for the time of one node."""
    times = []
    for _ in range(5):
        start = time.process_time()
        hashlib.pbkdf2_hmac("sha256", bytes(4096), b"", CALIBRATION_ROUNDS)
        times.append(time.process_time() - start)
    return round(CALIBRATION_ROUNDS * NODE_SECONDS / min(times))


def run_bare(workers: int, work: int) -> Cost:
    """Do the work of all nodes in processes that know nothing of one another."""
    words = [sys.executable, "-c", BURN, str(NODES // workers), str(work)]
    with ThreadPoolExecutor(workers) as threads:
        costs = list(threads.map(lambda _: measure(words, Path.cwd()), range(workers)))
    cpu = sum(cost.cpu for cost in costs)
    return Cost(max(cost.wall for cost in costs), cpu, max(cost.peak_mb for cost in costs))


def run_tool(tool: Tool, tree: Tree, workers: int) -> Cost:
    """Build everything from scratch with so many workers."""
    tree.delete(("build", *tool.memory))
    cost = measure(tool.command("-n", str(workers)), tree.folder)
    tree.check()
    return cost


def measure_speedups(tools: Sequence[Tool], folder: Path, runs: int) -> list[Speedup]:
    """Measure the tools that have worker processes, taking turns."""
    work = calibrate()
    actions: dict[str, Callable[[int], Cost]] = {BARE: lambda workers: run_bare(workers, work)}
    for tool in tools:
        if tool.name in ("cartwright", "doit"):
            tree = Tree(folder / f"{tool.name}-parallel", NODES, work)
            tree.write_sources()
            tool.describe(tree)
            actions[tool.name] = partial(run_tool, tool, tree)
    times: dict[str, list[tuple[Cost, Cost]]] = {name: [] for name in actions}
    for _ in range(runs):
        for name, action in actions.items():
            times[name].append((action(1), action(2)))
    return [summarise(name, found) for name, found in times.items()]


def summarise(name: str, times: Sequence[tuple[Cost, Cost]]) -> Speedup:
    """Take medians; the gain is the median of the gains, each from two runs in a row."""
    ones, twos = zip(*times, strict=True)
    gain = statistics.median(one.wall / two.wall for one, two in times)
    return Speedup(name, median(ones), median(twos), gain)


def speedup_lines(speedups: Sequence[Speedup]) -> Iterator[str]:
    """Give the table of gains."""
    rows = [["from scratch", "-n 1, wall s", "-n 2, wall s", "gain", "-n 1, CPU s", "-n 2, CPU s"]]
    for one in speedups:
        walls = [f"{one.one.wall:.2f}", f"{one.two.wall:.2f}", f"{one.gain:.2f}"]
        rows.append([one.tool, *walls, f"{one.one.cpu:.2f}", f"{one.two.cpu:.2f}"])
    yield f"{NODES} nodes of {NODE_SECONDS * 1000:.0f} ms CPU each, and their packs:"
    yield from columns(rows)
