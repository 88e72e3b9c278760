"""Measure a whole build of a ROM: 200 textures, 101 meshes and 50 clips, 15.4 MB. Run it alone.

Prints the CPU seconds of a build from scratch, of one with nothing to do, and of one after an edit
of one texture, in processes of their own as a user starts them.
"""

from __future__ import annotations

import io
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.targets_emberware import character

ROOT = Path(__file__).resolve().parent.parent
TEXTURES, MESHES, SIDE = 200, 101, 128
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


def run(folder: Path) -> tuple[float, float]:
    """Return CPU and wall seconds of `doit`, its workers included."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [str(Path(sys.executable).parent / "doit")]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if made.returncode:
        sys.exit(made.stdout + made.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return used, time.perf_counter() - start


def main() -> None:
    base = os.environ.get("CARTWRIGHT_BENCH", "/dev/shm")
    with tempfile.TemporaryDirectory(dir=base if os.path.isdir(base) else None) as name:
        folder = Path(name)
        make_game(folder)
        rows = {"from scratch": run(folder), "nothing to do": run(folder)}
        (folder / "assets/textures/t007.png").write_bytes(png(1007))
        rows["one texture changed"] = run(folder)
        size = (folder / "build/emberware/big.ewz").stat().st_size
        print(f"{'ROM of ' + format(size, ',') + ' bytes':<32} {'CPU s':>7} {'wall s':>7}")
        for row, (used, wall) in rows.items():
            print(f"{row:<32} {used:>7.2f} {wall:>7.2f}")


if __name__ == "__main__":
    main()
