"""Measure the engine beside other build tools: the same tree, the same states, the same run.

Run `python bench/engine.py`. The tools take turns state by state, so that whatever else the
machine does falls on all of them; figures are medians over the rounds. Each tool has a copy of
the tree for itself, and what it builds is checked after every measured run. Then come the first
build of a small new game, and how the cost of a node grows with their number, both on a memory
disk where there is one; `--growth 200000,500000` measures the latter alone.
"""

from __future__ import annotations

import argparse
import itertools
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine_goal import goal_lines
from engine_growth import (
    first_build_lines,
    floor_lines,
    grow,
    growth_goal_lines,
    growth_lines,
    loop_line,
)
from engine_parallel import Speedup, measure_speedups, speedup_lines
from engine_peer import TYPED_DOIT, Cost, Tool, measure, median, present, version_of
from engine_table import AFTER, CHANGED, DELETED, NOTHING, SCRATCH, TOUCHED, Figures, table_lines
from engine_tree import Tree

# From these sizes on `--quick` has rebuilds by command only once, and leaves out most rebuilds.
MIDDLE, LARGE = 10_000, 50_000
STARTERS = ("ninja", "make")
REBUILDS = (SCRATCH, TOUCHED, DELETED)
QUICK_TOOLS = ("cartwright", TYPED_DOIT, "doit", "ninja")
GROWTH, QUICK_GROWTH = (10_000, 200_000, 500_000), (10_000, 200_000)
MEMORY_DISK = Path("/dev/shm")
serials = itertools.count()


@dataclass(frozen=True, slots=True)
class State:
    """A situation that a build starts from; unmeasured runs come first to let things settle."""

    name: str
    prepare: Callable[[Tree, Tool], None]
    settling_runs: int = 0


def leave(tree: Tree, tool: Tool) -> None:
    """Let everything be as the last run left it."""


STATES = (
    State(SCRATCH, lambda tree, tool: tree.delete(("build", *tool.memory))),
    State(NOTHING, leave, settling_runs=2),
    State(CHANGED, lambda tree, _: tree.change_one(next(serials))),
    State(TOUCHED, lambda tree, _: tree.touch_all(), settling_runs=1),
    State(AFTER, leave),
    State(DELETED, lambda tree, _: tree.delete(("build",)), settling_runs=1),
)


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asks for."""

    sizes: Sequence[int]
    only: Sequence[str]
    runs: int
    quick: bool
    growth: Sequence[int] = ()

    def wants(self, tool: Tool, state: State, size: int, turn: int) -> bool:
        """Tell whether a state is measured; a quick run leaves out what takes minutes."""
        if tool.name == TYPED_DOIT:  # only the start of a run differs from `cartwright`
            return state.name == NOTHING
        if not self.quick or size < MIDDLE:
            return True
        if size < LARGE:
            return turn == 0 or tool.name not in STARTERS or state.name not in REBUILDS
        if state.name in (NOTHING, CHANGED):
            return tool.name in QUICK_TOOLS
        if state.name == SCRATCH:
            return tool.name in QUICK_TOOLS and turn == 0
        return tool.name == "cartwright" and turn == 0


def read_options() -> tuple[Options, Path | None]:
    """Read the command line."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", default="1000,10000,50000", help="how many sources")
    parser.add_argument("--only", default="", help="cartwright,doit,scons,ninja,make")
    parser.add_argument("--runs", type=int, default=3, help="rounds that medians are taken of")
    parser.add_argument("--quick", action="store_true", help="spare peers large rebuilds")
    parser.add_argument("--folder", type=Path, help="where the trees go, instead of a temporary")
    parser.add_argument("--growth", default="", help="only Cartwright, with so many sources")
    given = parser.parse_args()
    sizes, growth = (
        [int(size) for size in text.split(",") if size] for text in (given.sizes, given.growth)
    )
    only = [name for name in given.only.split(",") if name]
    return Options(sizes, only, given.runs, given.quick, growth), given.folder


def run_once(tool: Tool, tree: Tree, state: State) -> Cost:
    """Bring about a state, measure the run that follows, and check what it built."""
    for _ in range(state.settling_runs):
        measure(tool.command(), tree.folder)
    state.prepare(tree, tool)
    cost = measure(tool.command(), tree.folder)
    tree.check()
    return cost


def measure_size(options: Options, tools: Sequence[Tool], size: int, folder: Path) -> Figures:
    """Measure all tools in all states with one number of sources."""
    trees = {tool.name: Tree(folder / f"{tool.name}-{size}", size) for tool in tools}
    for tool in tools:
        trees[tool.name].write_sources()
        tool.describe(trees[tool.name])
    costs: dict[tuple[int, str, str], list[Cost]] = {}
    for turn, state, tool in itertools.product(range(options.runs), STATES, tools):
        if options.wants(tool, state, size, turn):
            cost = run_once(tool, trees[tool.name], state)
            costs.setdefault((size, state.name, tool.name), []).append(cost)
            progress = f"{size:,} sources, round {turn + 1}, {state.name}: {tool.name}"
            print(f"{progress} {cost.wall:.2f} s, CPU {cost.cpu:.2f} s", file=sys.stderr)
    for tree in trees.values():
        tree.delete(("",))
    return {key: median(found) for key, found in costs.items()}


def heading(tools: Sequence[Tool]) -> Iterator[str]:
    """Say what was measured, and on what."""
    versions = ", ".join(version_of(tool) for tool in tools if "cartwright" not in tool.name)
    yield f"Python {platform.python_version()}, {os.cpu_count()} processors; {versions}"
    floor = measure(["true"], Path.cwd()).peak_mb
    yield f"The bench itself shows as a peak of {floor:.0f} MB: less cannot be seen."
    yield from floor_lines()


def run_all(options: Options, folder: Path) -> None:
    """Measure everything and print the tables."""
    tools = present(options.only)
    figures: Figures = {}
    for size in options.sizes:
        figures |= measure_size(options, tools, size, folder)
    speedups: list[Speedup] = measure_speedups(tools, folder, options.runs)
    blocks = (
        heading(tools),
        table_lines(figures),
        speedup_lines(speedups),
        goal_lines(figures, speedups),
    )
    for block in blocks:
        print("\n".join(block), end="\n\n")


def measure_growth(folder: Path, sizes: Sequence[int]) -> None:
    """Print what a small new game and each size cost, and which of their goals are reached."""
    print("\n".join([*floor_lines(), *first_build_lines(folder), loop_line(folder)]), end="\n\n")
    grown = list(grow(folder, sizes))
    print("\n".join([*growth_lines(grown), "", *growth_goal_lines(grown)]))


def main() -> None:
    """Measure in folders of our own, or in the one that was named."""
    options, chosen = read_options()
    if not options.growth:
        with tempfile.TemporaryDirectory(prefix="engine-", dir=chosen) as folder:
            run_all(options, Path(folder))
    growth = options.growth or (QUICK_GROWTH if options.quick else GROWTH)
    place = chosen or (MEMORY_DISK if MEMORY_DISK.is_dir() else None)
    with tempfile.TemporaryDirectory(prefix="engine-", dir=place) as folder:
        measure_growth(Path(folder), growth)


if __name__ == "__main__":
    main()
