"""Measure what the order of nodes is worth: one slow node late in the list, longest path first.

Run `python bench/schedule.py`. A project has many nodes of the same duration, and one slow node
whose name comes last. It is built twice with the same number of workers: first without a record
of earlier runs, in the order of names, then with one, longest path first. Nodes sleep instead of
computing, so that the figures hardly depend on what else the machine does. The makespan goes from
the start of the first node to the end of the last one. The best possible one is the duration of
the slow node, or the sum of all durations divided by the workers if that is more.

`--recording` measures what recording costs instead: 10,000 trivial nodes are encoded, and the
time of estimates, order and records is compared with the whole build.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = """
import time

from encoders.kit.plan import Kind, Node, Source, Target


def plan(asset, surveys, settings):
    yield Node(
        asset.name, "encoders.sleeper:encode", {"source": Source(asset.source)}, {},
        {"text": f"{asset.place}.out"},
    )


def encode(inputs, params):
    began, seconds = time.time(), float(inputs["source"])
    if seconds:
        time.sleep(seconds)
    return {"text": f"{began} {time.time()}".encode()}


TARGET = Target(kinds={"text": Kind((".txt",))}, plan=plan)
"""
MANIFEST = 'target = "sleeper"\n[[asset]]\nsource = "assets/*.txt"\n'
PROFILE = """
import atexit, json, sys, time
from pipeline.build import build as room
spent = dict.fromkeys(("plan_order", "note", "save"), 0.0)

def timed(owner, name):
    plain = getattr(owner, name)
    def call(*arguments):
        began = time.perf_counter()
        try:
            return plain(*arguments)
        finally:
            spent[name] += time.perf_counter() - began
    setattr(owner, name, call)

timed(room.Build, "plan_order")
timed(room.Costs, "note")
timed(room.Costs, "save")
atexit.register(lambda: print(json.dumps(spent), file=sys.stderr))
from doit.__main__ import main
sys.exit(main())
"""


def make_project(root: Path, durations: dict[str, float]) -> None:
    """Write a project with a node for each duration."""
    for name in ("dodo.py", "doit.cfg"):
        shutil.copy(ROOT / name, root / name)
    for folder in ("assets", "encoders", "manifests"):
        (root / folder).mkdir()
    (root / "encoders/sleeper.py").write_text(TARGET)
    (root / "manifests/sleeper.toml").write_text(MANIFEST)
    for name, seconds in durations.items():
        (root / f"assets/{name}.txt").write_text(str(seconds))


def build(root: Path, *words: str) -> None:
    """Encode everything."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "doit", "run", "-a", *words]
    subprocess.run(command, cwd=root, env=environment, check=True, stdout=subprocess.DEVNULL)


def makespan(root: Path, *words: str) -> float:
    """Encode everything, and return the seconds from the start of the first node to the end."""
    build(root, *words)
    texts = [path.read_text().split() for path in (root / "build/sleeper").glob("*.out")]
    return max(float(end) for _, end in texts) - min(float(began) for began, _ in texts)


def measure_order(args: argparse.Namespace) -> None:
    """Print the makespans of both orders beside the best possible one."""
    names = [f"quick_{n:04}" for n in range(args.nodes)]
    durations = {**dict.fromkeys(names, args.seconds), "z_slow": args.slow}
    workers = ("-n", str(args.workers))
    best = max(args.slow, sum(durations.values()) / args.workers)
    unknown, known = [], []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        make_project(root, durations)
        for _ in range(args.runs):
            shutil.rmtree(root / ".cartwright", ignore_errors=True)
            unknown.append(makespan(root, *workers))
            known.append(makespan(root, *workers))
    print(f"{len(durations)} nodes, one of {args.slow} s, {args.workers} workers")
    print(f"best possible           {best:6.2f} s")
    for label, times in (("in the order of names", unknown), ("longest path first", known)):
        print(f"{label:<22}  {min(times):6.2f} s  {min(times) / best:5.2f} x")


def measure_recording(args: argparse.Namespace) -> None:
    """Print the part of a build of trivial nodes that estimates, order and records take."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        make_project(root, {f"n{n:05}": 0 for n in range(args.nodes)})
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        for _ in range(args.runs):
            began = time.perf_counter()
            command = [sys.executable, "-c", PROFILE, "run", "-a"]
            ran = subprocess.run(
                command, cwd=root, env=environment, capture_output=True, text=True, check=True
            )
            seconds = time.perf_counter() - began
            parts = json.loads(ran.stderr.splitlines()[-1])
            spent = sum(parts.values())
            shown = ", ".join(f"{name} {one:.3f} s" for name, one in parts.items())
            print(f"{args.nodes:,} nodes, {seconds:.2f} s: {shown}: {spent / seconds:.2%}")


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", type=int, default=0, help="how many quick nodes")
    parser.add_argument("--seconds", type=float, default=0.1, help="the duration of each")
    parser.add_argument("--slow", type=float, default=4.0, help="the duration of the slow one")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--recording", action="store_true", help="measure the cost of recording")
    args = parser.parse_args()
    args.nodes = args.nodes or (10_000 if args.recording else 100)
    (measure_recording if args.recording else measure_order)(args)


if __name__ == "__main__":
    main()
