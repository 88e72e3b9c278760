"""Measure what the order of nodes is worth: one slow node late in the list, longest path first.

Run `python bench/schedule.py`. A project has many nodes of the same duration, and one slow node
whose name comes last. It is built twice with the same number of workers: first without a record
of earlier runs, in the order of names, then with one, longest path first. Nodes sleep instead of
computing, so that the figures hardly depend on what else the machine does. The makespan goes from
the start of the first node to the end of the last one. The best possible one is the duration of
the slow node, or the sum of all durations divided by the workers if that is more.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
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


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", type=int, default=100, help="how many quick nodes")
    parser.add_argument("--seconds", type=float, default=0.1, help="the duration of each")
    parser.add_argument("--slow", type=float, default=4.0, help="the duration of the slow one")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--runs", type=int, default=3)
    measure_order(parser.parse_args())


if __name__ == "__main__":
    main()
