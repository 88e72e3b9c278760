"""Measure a whole build of a ROM: 200 textures, 101 meshes and 50 clips, 15.4 MB.

Prints the CPU seconds of a build from scratch, of one with nothing to do, and of one after an edit
of one texture, in processes of their own as a user starts them; the same for the ROM alone, and
the first build of a new game with eight small OBJ files. Each is the best of three runs. No packer
of such ROMs is on a registry, so what stands beside them is what Python, doit and numpy take to be
imported.
"""

from __future__ import annotations

import io
import itertools
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engine_peer import Cost, measure

from bench.targets_emberware import character

ROOT = Path(__file__).resolve().parent.parent
TEXTURES, MESHES, SIDE = 200, 101, 128
RUNS = 3
Row = tuple[str, Cost, float | None]  # what was measured, its cost, and the goal in CPU seconds
FLOOR_ROW = "import of doit and numpy"
FLOOR = {"Python starts": "pass", FLOOR_ROW: "import doit.doit_cmd, numpy"}
SMALL_MANIFEST = 'target = "kac"\n[[asset]]\nsource = "assets/*.obj"\n'
MANIFEST = """target = "emberware"
[game]
id = "big"
title = "Big"
author = "B"
version = "1"
wasm = "assets/game.wasm"
[[asset]]
source = "assets/**/*"
"""


def png(seed: int) -> bytes:
    """A picture of soft noise."""
    random = np.random.default_rng(seed)
    small = random.integers(0, 256, (SIDE // 8, SIDE // 8, 3), np.uint8)
    picture = Image.fromarray(small).resize((SIDE, SIDE), Image.Resampling.BICUBIC)
    stream = io.BytesIO()
    picture.save(stream, "PNG", compress_level=1)
    return stream.getvalue()


def grid_obj(seed: int, side: int = 13) -> str:
    """A bumpy square of 2 x side x side triangles."""
    random = np.random.default_rng(seed)
    lines = []
    for y in range(side + 1):
        for x in range(side + 1):
            lines.append(f"v {x} {random.random():.4f} {y}")
            lines.append(f"vt {x / side:.4f} {y / side:.4f}")
    for y in range(side):
        for x in range(side):
            a = y * (side + 1) + x + 1
            b, c, d = a + 1, a + side + 1, a + side + 2
            lines.append(f"f {a}/{a} {b}/{b} {d}/{d} {c}/{c}")
    return "\n".join(lines) + "\n"


def make_game(folder: Path) -> None:
    for name in ("dodo.py", "doit.cfg"):
        shutil.copy(ROOT / name, folder)
    for name in ("manifests", "assets/textures", "assets/meshes"):
        (folder / name).mkdir(parents=True)
    (folder / "manifests/emberware.toml").write_text(MANIFEST)
    (folder / "assets/game.wasm").write_bytes(b"\0asm\1\0\0\0")
    for number in range(TEXTURES):
        (folder / f"assets/textures/t{number:03}.png").write_bytes(png(number))
    for number in range(MESHES):
        (folder / f"assets/meshes/m{number:03}.obj").write_text(grid_obj(number))
    (folder / "assets/hero.glb").write_bytes(character())


def make_small_game(folder: Path) -> None:
    for name in ("dodo.py", "doit.cfg"):
        shutil.copy(ROOT / name, folder)
    for name in ("manifests", "assets"):
        (folder / name).mkdir(parents=True)
    (folder / "manifests/kac.toml").write_text(SMALL_MANIFEST)
    for number in range(8):
        (folder / f"assets/m{number}.obj").write_text(grid_obj(number))


def run(folder: Path, before: Callable[[], object] = bool, runs: int = RUNS) -> Cost:
    """Return the cheapest of several runs of `doit`, its workers included."""
    command = [str(Path(sys.executable).parent / "doit")]
    found = []
    for _ in range(runs):
        before()
        found.append(measure(command, folder))
    return min(found, key=lambda cost: cost.cpu)


def forget(folder: Path) -> None:
    """Remove all that builds have left."""
    for name in ("build", "cache", ".cartwright"):
        shutil.rmtree(folder / name, ignore_errors=True)


def measure_rom(folder: Path) -> Iterator[Row]:
    make_game(folder)
    measure([str(Path(sys.executable).parent / "doit")], folder)  # leaves compiled modules
    seeds, texture = itertools.count(1007), folder / "assets/textures/t007.png"
    yield "from scratch", run(folder, lambda: forget(folder)), 1.0
    yield "nothing to do", run(folder), None
    edit = partial(write_texture, texture, seeds)
    yield "one texture changed", run(folder, edit), 0.35
    size = (folder / "build/emberware/big.ewz").stat().st_size
    print(f"ROM of {size:,} bytes", file=sys.stderr)
    (folder / "manifests/emberware.toml").write_text(f"loose_files = false\n{MANIFEST}")
    yield "from scratch, without loose files", run(folder, lambda: forget(folder)), None
    yield "one texture changed there", run(folder, edit), None


def write_texture(path: Path, seeds: Iterator[int]) -> None:
    path.write_bytes(png(next(seeds)))


def measure_small(folder: Path) -> Iterator[Row]:
    make_small_game(folder)
    yield "a new game's first doit, 8 OBJ", run(folder, lambda: forget(folder)), 0.45


def measure_floor(folder: Path) -> Iterator[Row]:
    for text, code in FLOOR.items():
        costs = [measure([sys.executable, "-c", code], folder) for _ in range(5)]
        yield text, min(costs, key=lambda cost: cost.cpu), None


def main() -> None:
    base = os.environ.get("CARTWRIGHT_BENCH", "/dev/shm")
    rows: list[Row] = []
    for measured in (measure_floor, measure_rom, measure_small):
        with tempfile.TemporaryDirectory(dir=base if os.path.isdir(base) else None) as name:
            rows += measured(Path(name))
    floor = next(cost.cpu for text, cost, _ in rows if text == FLOOR_ROW)
    print(f"{'':<34} {'CPU s':>7} {'MB':>5} {'goal':>5} {'to the imports':>15}")
    for text, cost, goal in rows:
        wanted = "" if goal is None else f"{goal:.2f}"
        verdict = "" if goal is None else ("reached" if cost.cpu <= goal else "MISSED")
        ratio = f"{cost.cpu / floor:.1f} x"
        print(f"{text:<34} {cost.cpu:>7.2f} {cost.peak_mb:>5.0f} {wanted:>5} {ratio:>15} {verdict}")


if __name__ == "__main__":
    main()
