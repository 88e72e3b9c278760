"""Measure what a run spends on recording what it did: as a share of the CPU seconds of that run.

Run `python bench/recording.py`; it ends within some 90 s. Recording is all that a build would not
need: the JSON of the run, the costs of its nodes, the clock and the memory of each node, and the
order of equal results. The functions that do it are timed where a run calls them, by the same clock
as the whole and in the same seconds, so a busy machine slows both alike. What workers do of it
cannot be timed there: it counts as much for each node as in the driver, where it is tried.
Runs with nothing to do are also made with these functions replaced by ones that do nothing, in
turn with the others: the difference is what a user waits for.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from engine_tree import REPOSITORY, Tree, write_cartwright

# What a timed call costs by itself is measured on an empty function, and taken off.
PROBE = """
import importlib, json, os, sys
from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter, process_time, thread_time

calls, seconds = 0, 0.0


def timed(module, path):
    global calls
    owner = importlib.import_module(module)
    *names, last = path.split(".")
    for name in names:
        owner = getattr(owner, name)
    function = getattr(owner, last)

    def call(*args, **options):
        global calls, seconds
        began = thread_time()
        try:
            return function(*args, **options)
        finally:
            seconds += thread_time() - began
            calls += 1

    setattr(owner, last, call)


def empty():
    pass


def left_out(module, path):
    owner = importlib.import_module(module)
    *names, last = path.split(".")
    for name in names:
        owner = getattr(owner, name)
    setattr(owner, last, lambda *args: bytes)


for one in sys.argv[2].split():
    (left_out if sys.argv[5] == "off" else timed)(*one.split(":"))
timed("__main__", "empty")
began = process_time()
for _ in range(10_000):
    empty()
wrapped, inside = (process_time() - began) / 10_000, seconds / 10_000
calls, seconds, before = 0, 0.0, process_time()
from doit.doit_cmd import DoitMain

code = DoitMain().run([])
# The start of Python is a part of a run; trying the clock is none.
whole = process_time() - before + float(sys.argv[3])
workers = getrusage(RUSAGE_CHILDREN)
whole += workers.ru_utime + workers.ru_stime
recording = seconds - calls * inside
if int(sys.argv[4]):
    from pipeline.build.job import Result
    from pipeline.build.work import with_cost

    result, began = Result("built"), process_time()
    for _ in range(int(sys.argv[4])):
        with_cost(result, perf_counter(), thread_time())
    recording += process_time() - began
json.dump([whole - calls * wrapped, recording], open(sys.argv[1], "w"))
os._exit(code)
"""
RECORDING = (
    "pipeline.doit_plugin.result_option:save_result",
    "pipeline.doit_plugin.result_option:LastBuild.begin",
    "pipeline.build.cost:Costs.save",
    "pipeline.build.event:BuildLog.order_equal_results",
)
STATES = ("from scratch", "first with nothing to do", "nothing to do")
OFF = "nothing to do, not recorded"
IN_TURN = (STATES[2], OFF) * 4
Cost = tuple[float, float]  # CPU seconds of a run, and of its recording


def start_seconds() -> float:
    """Return the CPU seconds that Python takes to start."""
    before = os.times()
    for _ in range(5):
        subprocess.run([sys.executable, "-P", "-c", ""], check=True)
    after = os.times()
    spent = after.children_user + after.children_system
    return (spent - before.children_user - before.children_system) / 5


def run(folder: Path, start: float, nodes: int, state: str) -> Cost:
    """Return the CPU seconds of a run that encodes so many nodes, and of its recording."""
    found = folder / "recording.json"
    args = [
        str(found),
        " ".join(RECORDING),
        str(start),
        str(nodes),
        "off" if state == OFF else "on",
    ]
    command = [sys.executable, "-P", "-c", PROBE, *args]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    whole, recording = json.loads(found.read_text(encoding="utf-8"))
    found.unlink()
    return whole, recording


def rounds(tree: Tree, seconds: float) -> Iterator[tuple[str, Cost]]:
    """Build from scratch and run with nothing to do, until the time is over."""
    ends, start = time.monotonic() + seconds, start_seconds()
    while True:
        began = time.monotonic()
        tree.delete(("build", ".cartwright", "cache"))
        for state in (*STATES[:2], *IN_TURN):
            yield state, run(tree.folder, start, tree.size if state == STATES[0] else 0, state)
        if 2 * time.monotonic() - began > ends:  # another round would take too long
            return


def main() -> None:
    """Print a table of medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=75, help="no round begins that ends later")
    options = parser.parse_args()
    found: dict[str, list[Cost]] = {}
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(Path(folder), options.size)
        tree.write_sources()
        write_cartwright(tree)
        for state, cost in rounds(tree, options.seconds):
            found.setdefault(state, []).append(cost)
    print("| | runs | CPU seconds | recording | share | lowest | highest |")
    print("| --- " * 7 + "|")
    for state, costs in found.items():
        shares = [recording / whole for whole, recording in costs]
        whole, recording = (median(one[n] for one in costs) for n in (0, 1))
        spread = f"{median(shares):.2%} | {min(shares):.2%} | {max(shares):.2%}"
        print(f"| {state} | {len(costs)} | {whole:.3f} | {recording:.4f} | {spread} |")


if __name__ == "__main__":
    main()
