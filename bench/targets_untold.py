"""How long a city takes: from nothing, after one object moved, and when there is nothing to do.

python bench/targets_untold.py
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from encoders.untold.format.reader import unpack_untold

ROOT = Path(__file__).parent.parent
COLUMNS, ROWS, TILE = 8, 6, 25.0
OBJECTS, TRIANGLES = 800, 500_000
MATERIALS = 12
MANIFEST = 'target = "untold"\n[[scene]]\nname = "city"\nsource = "assets/city.glb"\n'
GOALS = {"from nothing": 60.0, "one object moved": 4.0}
WORKER_GOAL_MB = 1000


def tower(rings: int, sides: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A round tower with a wavy wall: positions, normals, UVs and triangles."""
    level, side = np.meshgrid(np.arange(rings + 1), np.arange(sides + 1), indexing="ij")
    angle, height = 2 * np.pi * side / sides, level / rings
    radius = 1.0 + 0.1 * np.sin(9 * height) + 0.05 * np.sin(3 * angle)
    position = np.stack([radius * np.cos(angle), height, -radius * np.sin(angle)], axis=-1)
    position[:, -1] = position[:, 0]
    normal = np.stack([np.cos(angle), 0 * angle, -np.sin(angle)], axis=-1)
    normal[:, -1] = normal[:, 0]
    uv = np.stack([4 * side / sides, 1 - 4 * height], axis=-1)
    low = (level[:-1, :-1] * (sides + 1) + side[:-1, :-1]).reshape(-1)
    up, right = low + sides + 1, low + 1
    triangles = np.concatenate([np.stack([low, right, up + 1], 1), np.stack([low, up + 1, up], 1)])
    flat = [array.reshape(-1, array.shape[-1]).astype("<f4") for array in (position, normal, uv)]
    return flat[0], flat[1], flat[2], triangles.astype("<u2")


class City:
    """A GLB file with a mesh of its own for each of the objects."""

    def __init__(self) -> None:
        self.binary = bytearray()
        self.document: dict = {
            "asset": {"version": "2.0"},
            "bufferViews": [],
            "accessors": [],
            "meshes": [],
            "nodes": [],
            "materials": [
                {"pbrMetallicRoughness": {"baseColorFactor": [n / MATERIALS, 1, 1, 1]}}
                for n in range(MATERIALS)
            ],
        }
        random = np.random.default_rng(8)
        width, depth = COLUMNS * TILE, ROWS * TILE
        for number in range(OBJECTS):
            rings, sides = 16, 2 * round(TRIANGLES / OBJECTS / 64) - 1 + (number % 2) * 2
            x, z = random.uniform(2, width - 2), random.uniform(2, depth - 2)
            scale = [random.uniform(0.7, 1.8), random.uniform(3, 30), random.uniform(0.7, 1.8)]
            self.add(tower(rings, sides), [x, 0.0, -z], scale, number % MATERIALS)

    def add(self, shape: tuple, translation: list, scale: list, material: int) -> None:
        position, normal, uv, triangles = shape
        attributes = {
            "POSITION": self.accessor(position, 5126, "VEC3", bounds=True),
            "NORMAL": self.accessor(normal, 5126, "VEC3"),
            "TEXCOORD_0": self.accessor(uv, 5126, "VEC2"),
        }
        indices = self.accessor(triangles.reshape(-1), 5123, "SCALAR")
        primitive = {"attributes": attributes, "indices": indices, "material": material}
        self.document["meshes"].append({"primitives": [primitive]})
        mesh = len(self.document["meshes"]) - 1
        node = {"name": f"tower {mesh}", "mesh": mesh, "translation": translation, "scale": scale}
        self.document["nodes"].append(node)

    def accessor(self, array: np.ndarray, kind: int, shape: str, bounds: bool = False) -> int:
        self.binary += bytes(-len(self.binary) % 4)
        view = {"buffer": 0, "byteOffset": len(self.binary), "byteLength": array.nbytes}
        self.document["bufferViews"].append(view)
        self.binary += array.tobytes()
        record = {"bufferView": len(self.document["bufferViews"]) - 1, "componentType": kind}
        record |= {"count": len(array), "type": shape}
        if bounds:
            record |= {"min": array.min(axis=0).tolist(), "max": array.max(axis=0).tolist()}
        self.document["accessors"].append(record)
        return len(self.document["accessors"]) - 1

    def glb(self) -> bytes:
        self.document["buffers"] = [{"byteLength": len(self.binary)}]
        text = json.dumps(self.document).encode()
        text += b" " * (-len(text) % 4)
        binary = bytes(self.binary) + bytes(-len(self.binary) % 4)
        chunks = struct.pack("<II", len(text), 0x4E4F534A) + text
        chunks += struct.pack("<II", len(binary), 0x004E4942) + binary
        return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks

    @property
    def triangles(self) -> int:
        accessors = self.document["accessors"]
        meshes = self.document["meshes"]
        return sum(accessors[mesh["primitives"][0]["indices"]]["count"] // 3 for mesh in meshes)


def run(folder: Path, *words: str) -> tuple[float, str]:
    """The wall time of doit, and what it said."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    start = time.perf_counter()
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
    return seconds, done.stdout


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="untold-"))
    try:
        for name in ("dodo.py", "doit.cfg"):
            shutil.copy(ROOT / name, folder / name)
        (folder / "manifests").mkdir()
        (folder / "assets").mkdir()
        (folder / "manifests/untold.toml").write_text(MANIFEST)
        city = City()
        (folder / "assets/city.glb").write_bytes(city.glb())
        measure(folder, city)
    finally:
        shutil.rmtree(folder)


def kept(build: Path, tiles: list[dict]) -> str:
    """The shares of all triangles that the levels have."""
    counts = np.zeros(4)
    for tile in tiles:
        levels = [*tile["lod_levels"], *tile["hlod_levels"]]
        paths = [tile["path_relative_to_manifest"], *(level["path"] for level in levels)]
        counts += [unpack_untold((build / one).read_bytes(), one).triangle_count for one in paths]
    return ", ".join(f"{share:8.1%}" for share in counts[1:] / counts[0])


def measure(folder: Path, city: City) -> None:
    times = {"from nothing": run(folder, "-n", "2")[0]}
    tiles = json.loads((folder / "build/untold/city.json").read_bytes())["tiles"]
    node = next(one for one in city.document["nodes"] if 5 < one["translation"][0] % TILE < 20)
    node["translation"][1] += 0.5
    (folder / "assets/city.glb").write_bytes(city.glb())
    times["one object moved"], said = run(folder, "-n", "2")
    built = len(re.findall(r"^built ", said, re.M))
    times["nothing to do"] = run(folder)[0]
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{OBJECTS} objects, {city.triangles:,} triangles, {len(tiles)} tiles, 3 levels, -n 2\n")
    for name, seconds in times.items():
        goal = GOALS.get(name)
        verdict = "" if goal is None else "reached" if seconds < goal else "missed"
        print(f"{name:20}{seconds:8.2f} s   {verdict and f'goal {goal:.0f} s: {verdict}'}")
    print(f"{'nodes built again':20}{built:8}")
    print(f"{'kept of triangles':20}{kept(folder / 'build/untold', tiles)}")
    print(f"{'peak memory':20}{peak:8.0f} MB  goal {WORKER_GOAL_MB} MB a process")


if __name__ == "__main__":
    main()
