"""How long a city takes: from nothing, after one object moved, and when there is nothing to do.

python bench/targets_untold.py

Processor seconds are those of all processes: other work on the machine changes them less than the
wall time.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lod_scene
import quality_lod
from lod_border import unequal_edges

ROOT = Path(__file__).parent.parent
COLUMNS, ROWS, OBJECTS = 12, 12, 2500
TILE_M = 25.0
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
# Of `ru_maxrss`, in bytes.
_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1 << 10


def run(folder: Path, *words: str) -> tuple[float, float]:
    """Return the wall and processor seconds of doit with its workers."""
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
    return seconds, _children_seconds() - before


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _built(folder: Path) -> list[dict[str, Any]]:
    """Return what the last build says of the nodes that it built."""
    nodes = json.loads((folder / ".cartwright/last-build.json").read_bytes())["nodes"]
    return [node for node in nodes if node["outcome"] == "built"]


@dataclass(frozen=True)
class Built:
    """What three builds of a city took: wall and processor seconds by name, nodes, memory."""

    times: dict[str, tuple[float, float]]
    tiles: list[dict[str, Any]]
    nodes_again: int
    peak_mb: float


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="untold-"))
    try:
        city = make_city(folder)
        show(folder, city, build_thrice(folder, city))
    finally:
        shutil.rmtree(folder)


def make_city(folder: Path) -> lod_scene.Glb:
    """Make a game with a city, and return the city."""
    for name in ("dodo.py", "doit.cfg"):
        shutil.copy(ROOT / name, folder / name)
    (folder / "manifests").mkdir()
    (folder / "assets").mkdir()
    (folder / "manifests/untold.toml").write_text(MANIFEST)
    city = lod_scene.city(COLUMNS, ROWS, OBJECTS)
    (folder / "assets/city.glb").write_bytes(city.glb())
    return city


LEVELS = ("", "_lod1", "_lod2", "_lod3", "_hlod")


def read_levels(build: Path, tiles: list[dict]) -> dict[str, dict[quality_lod.Place, Any]]:
    """Return the mesh of each tile, by level."""
    found: dict[str, dict[quality_lod.Place, Any]] = {level: {} for level in LEVELS}
    for tile in tiles:
        _, x, _, z = tile["tile_id"].split("_")
        path = build / tile["path_relative_to_manifest"]
        for level, meshes in found.items():
            data = path.with_stem(path.stem + level).read_bytes()
            meshes[int(x), int(z)] = quality_lod.mesh_of(data)
    return found


def show_levels(build: Path, tiles: list[dict]) -> None:
    """Print what the levels keep, and how many of their edges a neighbouring tile lacks."""
    levels = read_levels(build, tiles)
    counts = [sum(len(mesh[1]) for mesh in meshes.values()) for meshes in levels.values()]
    shares = ", ".join(f"{count / counts[0]:8.1%}" for count in counts[1:])
    lost, edges = zip(*(unequal_edges(one, TILE_M) for one in levels.values()), strict=True)
    print(f"{'kept of triangles':20}{shares}")
    print(f"{'unequal edges':20}{sum(lost):8,} of {sum(edges):,} between tiles of one level")


def build_thrice(folder: Path, city: lod_scene.Glb) -> Built:
    """Build from nothing, after an object was moved, and with nothing to do."""
    times = {"from nothing": run(folder, "-n", "2")}
    peak = max(node["peak_bytes"] or 0 for node in _built(folder)) / (1 << 20)
    tiles = json.loads((folder / "build/untold/city.json").read_bytes())["tiles"]
    node = next(one for one in city.document["nodes"] if _is_inside(one["translation"]))
    node["translation"][1] += 0.5
    (folder / "assets/city.glb").write_bytes(city.glb())
    times["one object moved"] = run(folder, "-n", "2")
    again = len(_built(folder))
    times["nothing to do"] = run(folder)
    return Built(times, tiles, again, peak)


def show(folder: Path, city: lod_scene.Glb, built: Built) -> None:
    """Print the figures."""
    tiles = built.tiles
    print(f"{OBJECTS} objects, {city.triangles:,} triangles, {len(tiles)} tiles, 4 levels, -n 2\n")
    for name, (wall, seconds) in built.times.items():
        goal = GOALS.get(name)
        verdict = "" if goal is None else "reached" if seconds < goal else "missed"
        print(
            f"{name:20}{seconds:8.2f} s CPU {wall:8.2f} s wall   "
            f"{verdict and f'goal {goal:.0f} s CPU: {verdict}'}"
        )
    print(f"{'nodes built again':20}{built.nodes_again:8}")
    show_levels(folder / "build/untold", tiles)
    process = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * _MAXRSS_UNIT / (1 << 20)
    print(f"{'peak of a node':20}{built.peak_mb:8.0f} MB  goal {WORKER_GOAL_MB} MB")
    print(f"{'peak of a process':20}{process:8.0f} MB")


def _is_inside(place: list[float]) -> bool:
    """Tell whether an object lies in the middle of a tile."""
    return all(8 < abs(place[axis]) % TILE_M < 17 for axis in (0, 2))


if __name__ == "__main__":
    main()
