"""How long a city takes: from nothing, after one object moved, and when there is nothing to do.

python bench/targets_untold.py

Processor seconds are those of all processes: other work on the machine changes them less than the
wall time.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import lod_scene
import numpy as np

from encoders.untold.format.reader import unpack_untold

ROOT = Path(__file__).parent.parent
COLUMNS, ROWS, OBJECTS = 12, 12, 2500
MANIFEST = """target = "untold"
[[scene]]
name = "city"
source = "assets/city.glb"
lods = [0.5, 0.2, 0.1]
hlod = 0.05
"""
# Processor seconds.
GOALS = {"from nothing": 50.0, "one object moved": 3.0}
WORKER_GOAL_MB = 500


def run(folder: Path, *words: str) -> tuple[float, float, str]:
    """Return the wall and processor seconds of doit with its workers, and what it said."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    before, start = _children_seconds(), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "doit", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    # doit waits for its workers, so their time is in its own.
    return seconds, _children_seconds() - before, done.stdout


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _built(folder: Path) -> list[dict[str, Any]]:
    """Return what the last build says of the nodes that it built."""
    nodes = json.loads((folder / ".cartwright/last-build.json").read_bytes())["nodes"]
    return [node for node in nodes if node["outcome"] == "built"]


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="untold-"))
    try:
        for name in ("dodo.py", "doit.cfg"):
            shutil.copy(ROOT / name, folder / name)
        (folder / "manifests").mkdir()
        (folder / "assets").mkdir()
        (folder / "manifests/untold.toml").write_text(MANIFEST)
        city = lod_scene.city(COLUMNS, ROWS, OBJECTS)
        (folder / "assets/city.glb").write_bytes(city.glb())
        measure(folder, city)
    finally:
        shutil.rmtree(folder)


def kept(build: Path, tiles: list[dict]) -> str:
    """The shares of all triangles that the levels have."""
    counts = np.zeros(5)
    for tile in tiles:
        levels = [*tile["lod_levels"], *tile["hlod_levels"]]
        paths = [tile["path_relative_to_manifest"], *(level["path"] for level in levels)]
        counts += [unpack_untold((build / one).read_bytes(), one).triangle_count for one in paths]
    return ", ".join(f"{share:8.1%}" for share in counts[1:] / counts[0])


def measure(folder: Path, city: lod_scene.Glb) -> None:
    """Build three times and print the figures."""
    times = {"from nothing": run(folder, "-n", "2")[:2]}
    peak = max(node["peak_bytes"] or 0 for node in _built(folder)) / (1 << 20)
    tiles = json.loads((folder / "build/untold/city.json").read_bytes())["tiles"]
    node = next(one for one in city.document["nodes"] if _is_inside(one["translation"]))
    node["translation"][1] += 0.5
    (folder / "assets/city.glb").write_bytes(city.glb())
    *moved, said = run(folder, "-n", "2")
    times["one object moved"] = moved[0], moved[1]
    built = len(re.findall(r"^built ", said, re.MULTILINE))
    times["nothing to do"] = run(folder)[:2]
    print(f"{OBJECTS} objects, {city.triangles:,} triangles, {len(tiles)} tiles, 4 levels, -n 2\n")
    for name, (wall, seconds) in times.items():
        goal = GOALS.get(name)
        verdict = "" if goal is None else "reached" if seconds < goal else "missed"
        print(
            f"{name:20}{seconds:8.2f} s CPU {wall:8.2f} s wall   "
            f"{verdict and f'goal {goal:.0f} s CPU: {verdict}'}"
        )
    print(f"{'nodes built again':20}{built:8}")
    print(f"{'kept of triangles':20}{kept(folder / 'build/untold', tiles)}")
    print(f"{'peak of a node':20}{peak:8.0f} MB  goal {WORKER_GOAL_MB} MB")


def _is_inside(place: list[float], tile: float = 25.0) -> bool:
    """Tell whether an object lies in the middle of a tile."""
    return all(8 < abs(place[axis]) % tile < 17 for axis in (0, 2))


if __name__ == "__main__":
    main()
