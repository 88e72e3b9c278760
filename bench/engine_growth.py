"""How the engine's cost grows with the number of nodes: CPU and memory, whole and for each node.

Only Cartwright: at these sizes the other tools take hours. A memory disk (`--folder /dev/shm`)
leaves out what a disk adds. Linear growth shows as the same cost for each node in all rows.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine_peer import TOOLS, Cost, measure, median
from engine_table import DELETED, NOTHING, SCRATCH, columns
from engine_tree import PER_PACK, Tree

STATES = (SCRATCH, NOTHING, DELETED)
IDLE_RUNS = 3
HEADER = (
    "nodes",
    "state",
    "CPU s",
    "ms CPU a node",
    "peak MB",
    "KB a node",
    "a node, to the first",
)


@dataclass(frozen=True, slots=True)
class Grown:
    """What one state of one size took."""

    nodes: int
    state: str
    cost: Cost

    @property
    def ms_each(self) -> float:
        """CPU time for each node."""
        return self.cost.cpu / self.nodes * 1e3

    def row(self, first: Grown) -> list[str]:
        """Say it beside the smallest size in the same state."""
        cpu, each = f"{self.cost.cpu:.2f}", f"{self.ms_each:.4f}"
        kilobytes = f"{self.cost.peak_mb / self.nodes * 1024:.1f}"
        ratio = f"{self.ms_each / first.ms_each:.2f}"
        return [
            f"{self.nodes:,}",
            self.state,
            cpu,
            each,
            f"{self.cost.peak_mb:.0f}",
            kilobytes,
            ratio,
        ]


def grow(folder: Path, sizes: Sequence[int], states: Sequence[str] = STATES) -> Iterator[Grown]:
    """Measure each size from scratch, with nothing to do, and with all outputs deleted."""
    tool = next(one for one in TOOLS if one.name == "cartwright")
    for size in sizes:
        tree = Tree(folder / f"growth-{size}", size)
        tree.write_sources()
        tool.describe(tree)
        nodes = size + -(-size // PER_PACK) + 1
        for state in states:
            if state == DELETED:
                tree.delete(("build",))
            runs = IDLE_RUNS if state == NOTHING else 1
            if state == NOTHING:  # the run after a build still looks at what that has written
                measure(tool.command(), tree.folder)
            cost = median([measure(tool.command(), tree.folder) for _ in range(runs)])
            tree.check()
            progress = f"{nodes:,} nodes, {state}: CPU {cost.cpu:.2f} s, {cost.peak_mb:.0f} MB"
            print(progress, file=sys.stderr)
            yield Grown(nodes, state, cost)
        tree.delete(("",))


def growth_lines(found: Sequence[Grown]) -> Iterator[str]:
    """Give the table of growth."""
    first: dict[str, Grown] = {}
    for one in found:
        first.setdefault(one.state, one)
    yield from columns([HEADER, *(one.row(first[one.state]) for one in found)])


def floor_lines() -> Iterator[str]:
    """Say what every run takes before the engine has done anything: Python, and doit's modules."""
    for text, code in (("Python starts", "pass"), ("`import doit`", "import doit.doit_cmd")):
        runs = [measure([sys.executable, "-c", code], Path.cwd()).cpu for _ in range(5)]
        yield f"{text}: {statistics.median(runs) * 1e3:.0f} ms CPU"
