"""Measure codebooks of 2x2 blocks beside plain k-means: decibels and seconds for each picture.

Run as `python bench/kit_codebook.py`. Plain k-means begins at 256 random blocks of the different
ones and does 40 rounds, weighted by use, with numpy's matrix product. Pictures are generated or the
sample's, and then those of `quality_block.py`, which chose no constant of the search, 128 texels a
side. Times are CPU seconds of this process; both end with the index of every block.
"""

from __future__ import annotations

import os

# Before numpy is loaded: the products of both run in one thread.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from encoders.kit.image.palette.codebook import (
    count_quads,
    index_quads,
    match_quads,
    to_quads,
)
from encoders.kit.image.palette.codebook_search import Bytes
from encoders.kit.native.kernel import use_native

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench import quality_block  # noqa: E402

ROUNDS = 40
GOAL_DB, GOAL_SHARE = 1.0, 0.1
RUNS = 5


def scene(size: int) -> Bytes:
    """Walls of brick with shading, a gradient of sky, and grain in the grass."""
    y, x = np.mgrid[0:size, 0:size]
    random = np.random.default_rng(2)
    row = y // 8
    is_mortar = (y % 8 == 0) | ((x + row % 2 * 8) % 16 == 0)
    shade = random.integers(-20, 20, (size // 8 + 1, size // 16 + 2))[row, (x + row % 2 * 8) // 16]
    brick = np.where(is_mortar, 170, 120 + shade)
    sky = 255 - y * 200 // size
    grass = 60 + random.integers(0, 40, (size, size))
    bands = [y < size // 3, y < 2 * size // 3]
    red = np.select(bands, [sky // 2, brick], grass // 2)
    green = np.select(bands, [sky * 3 // 4, brick * 2 // 3], grass * 2)
    blue = np.select(bands, [sky, brick // 2], grass // 3)
    return np.stack([red, green, blue], axis=-1).clip(0, 255).astype(np.uint8)


def clouds(size: int, grain: float) -> Bytes:
    """Soft noise, with fine noise on it: no two blocks are alike."""
    random = np.random.default_rng(5)
    coarse = random.integers(40, 216, (size // 16 + 1, size // 16 + 1, 3)).astype(np.uint8)
    cloud = np.array(Image.fromarray(coarse).resize((size, size), Image.Resampling.BICUBIC))
    return np.clip(cloud + random.normal(0, grain, cloud.shape), 0, 255).astype(np.uint8)


def pictures() -> dict[str, Bytes]:
    """Return opaque pictures, as RGBA."""
    y, x = np.mgrid[0:256, 0:256]
    found = {
        "scene, 128": scene(128),
        "scene, 256": scene(256),
        "gradient and xor": np.stack([x, y, x ^ y], axis=-1).astype(np.uint8),
        "clouds": clouds(256, 0),
        "clouds with grain": clouds(256, 6),
    }
    for name in ("building", "ground_ne", "hero", "nature", "prop"):
        with Image.open(ROOT / f"assets/textures/{name}.png") as picture:
            found[name] = np.array(picture.convert("RGB"))
            # Made half as large, pixel art gets as many different blocks as a photograph.
            small = picture.convert("RGB").resize((picture.width // 2, picture.height // 2))
            found[f"{name}, halved"] = np.array(small)
    return {
        name: np.dstack([one, np.full(one.shape[:2], 255, np.uint8)]) for name, one in found.items()
    }


def plain_kmeans(quads: Bytes) -> Bytes:
    """Return what 40 rounds of k-means make of the blocks."""
    used, weight = count_quads(quads)
    points = used.astype(np.float32)
    count = min(256, len(points))
    centers = points[np.random.default_rng(1).choice(len(points), count, replace=False)]
    for _ in range(ROUNDS):
        label = np.argmin((centers * centers).sum(axis=1) - 2 * (points @ centers.T), axis=1)
        uses = np.bincount(label, weight, count)
        for axis in range(points.shape[1]):
            sums = np.bincount(label, weight * points[:, axis], count)
            centers[:, axis] = np.where(uses > 0, sums / np.maximum(uses, 1), centers[:, axis])
    entries = np.rint(centers).astype(np.uint8)
    return entries[match_quads(quads, entries)]


def codebook(quads: Bytes) -> Bytes:
    """Return what the kit makes of the blocks."""
    found = index_quads(quads)
    return found.entries[found.indices]


def timed(work: Callable[[Bytes], Bytes], quads: Bytes) -> tuple[Bytes, float]:
    """Run a few times; return the result and the least CPU time."""
    least = float("inf")
    for _ in range(RUNS):
        start = time.process_time()
        found = work(quads)
        least = min(least, time.process_time() - start)
    return found, least


def decibels(quads: Bytes, found: NDArray[np.uint8]) -> float:
    """Return how near the colours are; 99 where they are the same."""
    off = quads.astype(np.float64) - found
    error = float(np.sum(off * off)) / (quads.size * 3 / 4)
    return 10 * float(np.log10(255**2 / error)) if error else 99.0


def unseen() -> dict[str, Bytes]:
    """Return the opaque pictures of the bench of blocks, but for the sample's."""
    found = dict(quality_block.pictures())
    names = [name for name in found if name not in quality_block.TEXTURES]
    return {name: found[name] for name in names if (found[name][..., 3] == 255).all()}


def row(name: str, picture: Bytes) -> bool | None:
    """Print a row; return whether the goal is met, None where the codebook is exact."""
    quads = to_quads(picture)
    (ours, seconds), (plain, plain_seconds) = timed(codebook, quads), timed(plain_kmeans, quads)
    near, plain_near = decibels(quads, ours), decibels(quads, plain)
    gain, share = near - plain_near, seconds / plain_seconds
    is_met = (gain >= GOAL_DB and share <= 1) or (gain >= 0 and share <= GOAL_SHARE)
    is_exact = np.array_equal(ours, quads)
    verdict = "exact" if is_exact else "met" if is_met else "MISSED"
    print(
        f"{name:23}{len(count_quads(quads)[0]):8,}{near:8.2f}{plain_near:9.2f}{gain:+7.2f}"
        f"{seconds:8.4f}s{plain_seconds:8.3f}s{share:7.2f} {verdict}"
    )
    return None if is_exact else is_met


def table(title: str, rows: dict[str, Bytes]) -> None:
    """Print the rows of some pictures, and on how many the goal is met."""
    heads = (
        f"{'blocks':>8}{'ours':>8}{'k-means':>9}{'gain':>7}{'ours':>9}{'k-means':>9}{'share':>7}"
    )
    print(f"{title:23}{heads}")
    met = [found for name, one in rows.items() if (found := row(name, one)) is not None]
    print(f"{GOAL_DB} dB more in no more time, or as near in a tenth: {sum(met)}/{len(met)}\n")


def main() -> None:
    """Print the tables."""
    seen = pictures()
    table("picture", seen)
    table("unseen picture", unseen())
    quads = to_quads(seen["scene, 128"])
    for label, native in (("kernel", True), ("reference", False)):
        before = use_native(native)
        print(f"scene, 128, {label}: {timed(codebook, quads)[1]:.3f} s")
        use_native(before)


if __name__ == "__main__":
    main()
