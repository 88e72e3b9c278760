"""Measure what the machine-readable result of a run costs: with it and without, in turns.

Run `python bench/recording.py`. Without it, the function that saves the result is replaced. CPU
seconds are those of the driver and its workers; on a busy machine they say more than wall seconds.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from engine_tree import REPOSITORY, Tree, write_cartwright

WITHOUT = """
import sys
import pipeline.doit_plugin.result_option as option
option.save_result = lambda *_: bytes
option.LastBuild.begin = lambda _: None
"""
RUN = "from doit.doit_cmd import DoitMain; sys.exit(DoitMain().run([]))"
CODES = {"with": f"import sys\n{RUN}", "without": WITHOUT + RUN}


def run(folder: Path, code: str) -> tuple[float, float]:
    """Return the wall and CPU seconds of a run."""
    before, began = os.times(), time.perf_counter()
    command = [sys.executable, "-P", "-c", code]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - began, os.times()
    spent = after.children_user + after.children_system
    return wall, spent - before.children_user - before.children_system


def rounds(tree: Tree, count: int) -> Iterator[tuple[str, str, tuple[float, float]]]:
    """Build from scratch and run with nothing to do, with the result and without, in turns."""
    for number in range(count):
        for name in sorted(CODES, reverse=bool(number % 2)):
            tree.delete(("build", ".cartwright", "cache"))
            yield "from scratch", name, run(tree.folder, CODES[name])
            yield "first with nothing to do", name, run(tree.folder, CODES[name])
            for _ in range(3):
                yield "nothing to do", name, run(tree.folder, CODES[name])


def main() -> None:
    """Print a table of medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(Path(folder), options.size)
        tree.write_sources()
        write_cartwright(tree)
        for state, name, cost in rounds(tree, options.rounds):
            found.setdefault((state, name), []).append(cost)
    print("| | wall with | without | CPU with | without | more CPU |")
    print("| --- " * 6 + "|")
    for state in dict.fromkeys(state for state, _ in found):
        costs = [[median(c[n] for c in found[state, name]) for name in CODES] for n in (0, 1)]
        (wall, wall_without), (cpu, cpu_without) = costs
        more = f"{cpu / cpu_without - 1:+.1%}"
        times = f"{wall:.2f} | {wall_without:.2f} | {cpu:.2f} | {cpu_without:.2f}"
        print(f"| {state} | {times} | {more} |")


if __name__ == "__main__":
    main()
