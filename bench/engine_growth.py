"""How the engine's cost grows with the number of nodes: CPU and memory, whole and for each node.

Only Cartwright: at these sizes the other tools take hours. A memory disk (`--folder /dev/shm`)
leaves out what a disk adds. Linear growth shows as the same cost for each node in all rows.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
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


# A state, a size, what is compared, the limit, and how it is read.
GOALS: tuple[tuple[str, int, str, float, Callable[[Grown], float]], ...] = (
    (DELETED, 10_000, "ms CPU a node", 0.25, lambda one: one.ms_each),
    (SCRATCH, 200_000, "CPU s", 100, lambda one: one.cost.cpu),
    (SCRATCH, 200_000, "peak MB", 600, lambda one: one.cost.peak_mb),
    (NOTHING, 200_000, "CPU s", 1.2, lambda one: one.cost.cpu),
)


LINEAR = 1.1  # a tenth is what runs of one size differ by


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


def first_build_lines(folder: Path) -> Iterator[str]:
    """Say what the first build of a small new game takes, beside its goal."""
    # Imported late: the memory of this process counts as the peak of those that it starts.
    from rom_build import measure_small

    small = folder / "small"
    small.mkdir()
    for text, cost, goal in measure_small(small):
        verdict = "" if goal is None else "reached" if cost.cpu <= goal else "MISSED"
        yield f"{text}: {cost.cpu:.2f} s CPU; goal {goal:g}: {verdict}"


def write_in_a_loop(source: Path, target: Path) -> None:
    """Write every source again, as the plainest program that restores files would."""
    for path in sorted(source.rglob("*.src")):
        (target / path.name).write_bytes(path.read_bytes())


def loop_ms(folder: Path, count: int = 10_000) -> float:
    """Return the CPU milliseconds that a plain loop takes to write one of so many small files."""
    tree = Tree(folder / "loop", count)
    tree.write_sources()
    target = tree.folder / "written"
    target.mkdir()
    began = time.process_time()
    write_in_a_loop(tree.folder, target)
    seconds = time.process_time() - began
    tree.delete(("",))
    return seconds / count * 1e3


def loop_line(folder: Path, count: int = 10_000) -> str:
    """Say what a plain loop takes to write as many small files."""
    each = loop_ms(folder, count)
    return f"A plain loop that writes {count:,} such files: {each:.3f} ms CPU each"


def linear_rows(found: Sequence[Grown]) -> Iterator[list[str]]:
    """Judge whether a node of the largest size costs no more than one of the smallest."""
    for state in dict.fromkeys(one.state for one in found):
        of_state = [one for one in found if one.state == state]
        first, last = of_state[0], of_state[-1]
        if last.nodes > first.nodes:
            text = f"{state}, CPU a node of {last.nodes:,} to {first.nodes:,}"
            value = last.ms_each / first.ms_each
            verdict = "reached" if value <= LINEAR else "MISSED"
            yield [text, f"{LINEAR:g}", f"{value:.2f}", verdict]


def growth_goal_lines(found: Sequence[Grown]) -> Iterator[str]:
    """Say which goals are reached: absolute ones, of the sizes that they are set for."""
    rows = [["goal", "limit", "found", "verdict"]]
    for state, nodes, text, limit, figure in GOALS:
        for one in found:
            if one.state == state and nodes <= one.nodes < 1.1 * nodes:
                value = figure(one)
                verdict = "reached" if value <= limit else "MISSED"
                rows.append([f"{state}, {nodes:,}: {text}", f"{limit:g}", f"{value:.2f}", verdict])
    rows += linear_rows(found)
    return columns(rows) if len(rows) > 1 else iter(())


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
