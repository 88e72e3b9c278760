"""How full VRAM gets, how good palettes are, and how fast a scene is built.

python bench/targets_splashpack.py
"""

from __future__ import annotations

import io
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from encoders.kit.image.palette.quantise import levels_555, quantise_555
from encoders.splashpack.vram.packing import VramTexture, pack_vram

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.encoders.splashpack_yardstick import fits  # noqa: E402

RESERVED = [(0, 0, 320, 240), (0, 256, 320, 240), (960, 464, 64, 48)]
AREAS = [(x, y, x + width, y + height) for x, y, width, height in RESERVED]
FREE_WORDS = 21 * 64 * 256
SETS = 10
POWERS = (16, 32, 64, 128, 256)
# Sides of a texture, and how many of 4, 8 and 16 bits there are.
CROWDS: dict[str, tuple[Callable[[random.Random], int], tuple[int, int, int]]] = {
    "powers of two, 4 bits": (lambda rng: rng.choice(POWERS), (1, 0, 0)),
    "powers of two, mixed": (lambda rng: rng.choice(POWERS), (6, 3, 1)),
    "any size to 128, mixed": (lambda rng: rng.randint(8, 128), (6, 2, 1)),
    "any size to 256, 4 bits": (lambda rng: rng.randint(8, 256), (1, 0, 0)),
    "any size to 256, mixed": (lambda rng: rng.randint(8, 256), (3, 5, 1)),
}
Texture = tuple[int, int, int, int]


def make_crowd(name: str, seed: int) -> list[Texture]:
    side, weights = CROWDS[name]
    rng = random.Random(f"{name} {seed}")
    crowd = []
    for _ in range(600):
        depth = rng.choices((0, 1, 2), weights)[0]
        width = -(-side(rng) * (4 << depth) // 16)
        crowd.append((width, side(rng), depth, (16, 256, 0)[depth]))
    return crowd


def fill(does_fit: Callable[[list[Texture]], bool], crowd: list[Texture]) -> float:
    """The share of VRAM's pages that is full when textures come until one finds no place."""
    count = 0
    for step in (32, 8, 2, 1):
        while count + step <= len(crowd) and does_fit(crowd[: count + step]):
            count += step
    return sum(one[0] * one[1] for one in crowd[:count]) / FREE_WORDS


def is_arranged(crowd: list[Texture]) -> bool:
    pieces = [VramTexture(f"{n:04}", *one, f"palette {n}") for n, one in enumerate(crowd)]
    return pack_vram(pieces, AREAS) is not None


def compare_filling() -> None:
    print(f"{'VRAM full at the first failure':34}{'ours':>8}{'exporter':>10}{'points':>8}")
    gains = []
    for name in CROWDS:
        crowds = [make_crowd(name, seed) for seed in range(SETS)]
        ours = sum(fill(is_arranged, crowd) for crowd in crowds) / SETS
        theirs = sum(fill(lambda some: fits(some, RESERVED), crowd) for crowd in crowds) / SETS
        gains.append(ours - theirs)
        print(f"{name:34}{ours:8.1%}{theirs:10.1%}{100 * gains[-1]:8.1f}")
    verdict = "reached" if min(gains) >= 0.10 else "missed"
    print(f"goal: 10 points more on each: {verdict}\n")


def make_pictures(side: int = 128) -> dict[str, np.ndarray]:
    """Pictures of the kinds that games have: none is evenly spread over the colours."""
    rng = np.random.default_rng(4)
    y, x = np.mgrid[0:side, 0:side] / side
    cloud = sum(
        np.kron(rng.random((2**n + 1, 2**n + 1)), np.ones((side >> n, side >> n)))[:side, :side]
        / 2**n
        for n in range(1, 7)
    )
    grain = rng.normal(0, 1, (side, side))
    bricks = ((y * 8 % 1 < 0.15) | ((x * 4 + (np.floor(y * 8) % 2) / 2) % 1 < 0.08)) * 1.0
    spot = np.exp(-((x - 0.6) ** 2 + (y - 0.3) ** 2) * 12)
    wood = np.sin(40 * x + 6 * cloud) * 0.5 + 0.5
    layers = {
        "bricks": (150 - 90 * bricks + 25 * cloud, 70 + 30 * bricks + 18 * cloud, 50 + 60 * bricks),
        "wood": (90 + 90 * wood + 8 * grain, 50 + 60 * wood + 6 * grain, 25 + 30 * wood),
        "lamp in the dark": (20 + 235 * spot, 15 + 200 * spot + 4 * grain, 30 + 90 * spot),
        "grass": (40 + 50 * cloud, 90 + 70 * cloud + 12 * grain, 20 + 25 * cloud),
        "sky": (90 + 120 * y + 30 * cloud, 140 + 80 * y + 25 * cloud, 230 - 10 * y + 10 * cloud),
    }
    # A little grain of its own in every channel, as photographs have it.
    own = rng.normal(0, 6, (side, side, 3))
    return {
        name: np.clip(np.dstack(layer) + own, 0, 255).astype(np.uint8)
        for name, layer in layers.items()
    }


def psnr(levels: np.ndarray, right: np.ndarray) -> float:
    error = ((levels.astype(float) - right) ** 2).mean()
    return float(10 * np.log10(31**2 / error)) if error else float("inf")


def compare_palettes() -> None:
    print(f"{'palette, dB in 5-5-5':28}{'colours':>8}{'ours':>8}{'median':>8}{'gain':>7}")
    gains: dict[int, list[float]] = {16: [], 256: []}
    for name, picture in make_pictures().items():
        rgba = np.dstack([picture, np.full(picture.shape[:2], 255, np.uint8)])
        right = levels_555(rgba)
        for colors in (16, 256):
            indexed = quantise_555(rgba, colors)
            ours = psnr(indexed.palette[indexed.indices], right)
            cut = Image.fromarray(picture).quantize(colors, Image.Quantize.MEDIANCUT, dither=0)
            theirs = psnr(levels_555(np.array(cut.convert("RGBA"))), right)
            gains[colors].append(ours - theirs)
            print(f"{name:28}{colors:8}{ours:8.2f}{theirs:8.2f}{ours - theirs:7.2f}")
    means = {colors: sum(all_) / len(all_) for colors, all_ in gains.items()}
    verdict = "reached" if min(means.values()) >= 1 else "missed"
    shown = ", ".join(f"{gain:.2f} with {colors}" for colors, gain in means.items())
    print(f"goal: 1 dB more in the mean ({shown}): {verdict}\n")


MANIFEST = 'target = "splashpack"\n[[texture]]\nmatch = "*"\nbpp = 4\n'


def make_game(root: Path) -> None:
    """200 textures of 128 x 128 and 3,000 triangles; VRAM holds 80 at most, so in four scenes."""
    for name in ("dodo.py", "doit.cfg"):
        (root / name).write_bytes((ROOT / name).read_bytes())
    (root / "manifests").mkdir()
    scenes = "".join(
        f'[[scene]]\nname = "part{n}"\nsource = "assets/part{n}.obj"\n' for n in range(4)
    )
    (root / "manifests/splashpack.toml").write_text(MANIFEST + scenes)
    (root / "assets").mkdir()
    for number in range(200):
        write_picture(root / f"assets/{number:03}.png", number)
    for part in range(4):
        lines = [f"mtllib part{part}.mtl", "vt 0 0", "vt 1 0", "vt 0 1"]
        mtl = []
        for number in range(50 * part, 50 * part + 50):
            mtl.append(f"newmtl m{number}\nmap_Kd {number:03}.png")
            lines.append(f"usemtl m{number}")
            for triangle in range(15):
                x, y = number, triangle
                lines += [f"v {x} {y} 9", f"v {x + 1} {y} 9", f"v {x} {y + 1} 9"]
                lines.append("f -3/1 -2/2 -1/3")
        (root / f"assets/part{part}.obj").write_text("\n".join(lines))
        (root / f"assets/part{part}.mtl").write_text("\n".join(mtl))


PICTURES: list[np.ndarray] = []


def write_picture(path: Path, seed: int) -> None:
    pictures = PICTURES or [*make_pictures().values()]
    PICTURES[:] = pictures
    picture = np.roll(pictures[seed % len(pictures)], seed, axis=(0, 1)).astype(int) + seed // 8
    stream = io.BytesIO()
    Image.fromarray(np.clip(picture, 0, 255).astype(np.uint8)).save(stream, "PNG")
    path.write_bytes(stream.getvalue())


def run(root: Path) -> float:
    start = time.perf_counter()
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "doit",
        ],
        cwd=root,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return time.perf_counter() - start


def time_builds() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        make_game(root)
        first = run(root)
        nothing = run(root)
        edits = []
        for seed in range(3):
            write_picture(root / "assets/017.png", 201 + seed)
            edits.append(run(root))
    print("200 textures of 128 x 128, 3,000 triangles, one process, wall time\n")
    print(f"{'':34}{'s':>8}{'goal':>8}")
    print(f"{'from scratch':34}{first:8.2f}{6.0:8.2f}")
    print(f"{'one texture edited':34}{min(edits):8.2f}{0.5:8.2f}")
    print(f"{'nothing to do':34}{nothing:8.2f}")


if __name__ == "__main__":
    compare_filling()
    compare_palettes()
    time_builds()
