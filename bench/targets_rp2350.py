"""Measure the RP2350 target beside a greedy split in file order and a plain range fit.

Run as `python bench/targets_rp2350.py`. Everything is generated; times are CPU seconds of this
process, the best of a few runs. The last column tells whether a figure that was aimed at is met.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from encoders.kit.image.bc.bc1 import decode_bc1
from encoders.kit.mesh.patch import cluster_patches
from encoders.kit.mesh.strip import StripPatches, strip_patches
from encoders.kit.native import kernel
from encoders.rp2350.node_mesh import encode_mesh
from encoders.rp2350.node_texture import encode_texture

Triangles = NDArray[np.int32]
Picture = NDArray[np.uint8]
TEXTURE = {"identifier": "X", "source": "x.png", "mipmaps": True, "alpha_cutoff": 128}
MESH = {"identifier": "X", "source": "x.obj", "patch_size": 16, "entry_limit": 48}
MESH |= {"strip": True, "flip_v": False, "generate_normals": False}


def timed(work: Callable[[], Any], runs: int = 3) -> tuple[Any, float]:
    """Run something a few times; give its result and its least CPU time."""
    least = float("inf")
    for _ in range(runs):
        start = time.process_time()
        result = work()
        least = min(least, time.process_time() - start)
    return result, least


def row(name: str, value: str, other: str, aim: str, met: bool | None = None) -> None:
    """Print one line of the table."""
    verdict = "" if met is None else ("met" if met else "MISSED")
    print(f"{name:<44} {value:>14} {other:>22} {aim:>16} {verdict}")


def sheet(columns: int, rows: int) -> Triangles:
    """Quads in rows, two triangles each: the indices of a UV sphere or a terrain."""
    j, i = np.mgrid[0:rows, 0:columns]
    a = (j * (columns + 1) + i).reshape(-1)
    b, c, d = a + 1, a + columns + 1, a + columns + 2
    return np.stack([a, b, d, a, d, c], axis=1).reshape(-1, 3).astype(np.int32)


def shuffled(triangles: Triangles) -> Triangles:
    """Give the triangles in another order."""
    return triangles[np.random.default_rng(1).permutation(len(triangles))]


def torus(around: int, along: int) -> Triangles:
    """A closed sheet."""
    open_sheet = sheet(around, along)
    j, i = np.divmod(open_sheet, around + 1)
    return (j % along * around + i % around).astype(np.int32)


def fans(count: int, size: int) -> Triangles:
    """Separate discs, each a fan around its own centre."""
    i = np.arange(size)
    fan = np.stack([np.zeros(size, int), 1 + i, 1 + (i + 1) % size], axis=1)
    return (
        (fan[None] + np.arange(count)[:, None, None] * (size + 1)).reshape(-1, 3).astype(np.int32)
    )


def split(triangles: Triangles) -> StripPatches:
    """Cluster and strip, as the target does."""
    count = int(triangles.max()) + 1
    return strip_patches(triangles, count, cluster_patches(triangles, count, 16, 32), 48)


def greedy(triangles: Triangles) -> tuple[int, int]:
    """Count patches and vertices of a split in file order: 16 vertices, 16 triangles."""
    patches, stored, used, held = 0, 0, set[int](), 0
    for corners in triangles.tolist():
        fresh = set(corners) - used
        if held and (len(used) + len(fresh) > 16 or held == 16):
            patches, stored, used, held = patches + 1, stored + len(used), set(), 0
            fresh = set(corners)
        used |= fresh
        held += 1
    return patches + 1, stored + len(used)


def measure_patches() -> None:
    """Patches, bytes and entries of the sphere, and entries of other shapes."""
    sphere = sheet(100, 50)
    for name, triangles, most, size in (
        ("sphere", sphere, 620, 172_000),
        ("sphere, shuffled", shuffled(sphere), 640, 178_000),
    ):
        patches, stored = greedy(triangles)
        found = split(triangles)
        total = 16 * len(found.vertices) + len(found.entries)
        listed = 16 * stored + 3 * len(triangles)
        row(f"{name}: patches", f"{len(found)}", f"{patches}", f"{most}", len(found) <= most)
        row(f"{name}: bytes", f"{total:,}", f"{listed:,}", f"{size:,}", total <= size)
    shapes = {
        "sphere": sphere,
        "sphere, shuffled": shuffled(sphere),
        "terrain 64 x 64": sheet(64, 64),
        "torus 60 x 30": torus(60, 30),
        "long strip": sheet(500, 1),
    }
    for name, triangles in shapes.items():
        ratio = len(split(triangles).entries) / len(triangles)
        row(f"{name}: entries a triangle", f"{ratio:.3f}", "3.000", "1.45", ratio <= 1.45)
    # A strip leaves the hub of a fan after three triangles, so no strips do better than 5 / 3.
    discs = fans(100, 12)
    ratio = len(split(discs).entries) / len(discs)
    row("discs of 12: entries a triangle", f"{ratio:.3f}", "3.000", "")


def measure_split() -> None:
    """Time for 100,000 triangles, with the extension and without."""
    triangles = sheet(250, 200)
    for name, native, most in (("native", True, 0.5), ("reference", False, 5.0)):
        if native and not kernel.has_native("cluster_patches"):
            print("(the extension is not built: its rows are left out)")
            continue
        before = kernel.use_native(native)
        _, seconds = timed(lambda: split(triangles), 3 if native else 1)
        kernel.use_native(before)
        row(
            f"split and strip 100,000 triangles, {name}",
            f"{seconds:.3f} s",
            "",
            f"{most} s",
            seconds <= most,
        )
    obj = sphere_obj(100, 50)
    outputs, seconds = timed(lambda: encode_mesh({"x.obj": obj}, MESH))
    row(f"sphere, OBJ to {len(outputs) - 4:,} files", f"{seconds:.3f} s", "", "")


def sphere_obj(columns: int, rows: int) -> bytes:
    """A UV sphere as text."""
    t = np.linspace(0, np.pi, rows + 1)[:, None]
    p = np.linspace(0, 2 * np.pi, columns + 1)[None]
    points = np.stack(np.broadcast_arrays(np.sin(t) * np.cos(p), np.cos(t), np.sin(t) * np.sin(p)))
    lines = [f"v {x:.6f} {y:.6f} {z:.6f}" for x, y, z in points.reshape(3, -1).T.tolist()]
    lines += [f"f {a} {b} {c}" for a, b, c in (sheet(columns, rows) + 1).tolist()]
    return "\n".join(lines).encode()


def pictures(size: int) -> dict[str, Picture]:
    """Opaque pictures of different kinds."""
    y, x = np.mgrid[0:size, 0:size]
    random = np.random.default_rng(5)
    coarse = random.integers(40, 216, (size // 16 + 1, size // 16 + 1, 3)).astype(np.uint8)
    cloud = np.array(Image.fromarray(coarse).resize((size, size), Image.Resampling.BICUBIC))
    grain = np.clip(cloud + random.normal(0, 6, cloud.shape), 0, 255)
    made = {
        "gradient and xor": np.stack([x * 255 // size, y * 255 // size, (x ^ y) & 255], axis=-1),
        "clouds": cloud,
        "clouds with grain": grain,
    }
    alpha = np.full((size, size), 255)
    return {name: np.dstack([color, alpha]).astype(np.uint8) for name, color in made.items()}


def range_fit(picture: Picture) -> Picture:
    """Decode what a range fit gives: ends of the longest axis as 5-6-5, nearest of four colours."""
    size = picture.shape[0]
    blocks = picture[..., :3].reshape(size // 4, 4, size // 4, 4, 3).swapaxes(1, 2)
    texels = blocks.reshape(-1, 16, 3).astype(np.float64)
    centred = texels - texels.mean(axis=1, keepdims=True)
    _, vectors = np.linalg.eigh(np.einsum("bti,btj->bij", centred, centred))
    along = np.einsum("bti,bi->bt", centred, vectors[..., 2])
    rows = np.arange(len(texels))
    bits = np.array([31, 63, 31])
    ends = [texels[rows, pick] for pick in (along.argmax(axis=1), along.argmin(axis=1))]
    first, second = (np.rint(np.rint(end / 255 * bits) / bits * 255) for end in ends)
    mixes = [first, second, (2 * first + second) // 3, (first + 2 * second) // 3]
    palette = np.stack(mixes, axis=1)
    error = ((texels[:, :, None] - palette[:, None]) ** 2).sum(axis=3)
    chosen = np.take_along_axis(palette, error.argmin(axis=2)[..., None], axis=1)
    grid = chosen.reshape(size // 4, size // 4, 4, 4, 3).swapaxes(1, 2)
    return np.asarray(grid.reshape(size, size, 3), np.uint8)


def decibels(one: NDArray[Any], two: NDArray[Any]) -> float:
    """The distance of two pictures."""
    error = float(np.mean((one.astype(float) - two.astype(float)) ** 2))
    return float(10 * np.log10(255**2 / error))


def measure_textures(size: int = 512) -> None:
    """Time and quality of BC1 with mips."""
    for name, picture in pictures(size).items():
        stream = io.BytesIO()
        Image.fromarray(picture).save(stream, "PNG")
        plain = decibels(picture[..., :3], range_fit(picture))
        for quality, runs in (("default", 5), ("best", 1)):
            params = {**TEXTURE, "format": "bc1", "quality": quality}
            made, seconds = timed(
                lambda p=params, s=stream: encode_texture({"source": s.getvalue()}, p), runs
            )
            base = made["data"][: size * size // 2]
            found = decibels(picture[..., :3], decode_bc1(base, name, size, size)[..., :3])
            label = f"BC1 {quality}, {name}"
            aim = f"+{0.5:.2f} dB"
            gain = found - plain
            row(label, f"{found:.2f} dB", f"range fit {plain:.2f} dB", aim, gain >= 0.5)
            if quality == "default":
                met = seconds <= 0.03
                row(f"{label}, PNG to chain", f"{seconds:.3f} s", "", "0.03 s", met)
        params = {**TEXTURE, "format": "rgba4444"}
        _, seconds = timed(lambda p=params, s=stream: encode_texture({"source": s.getvalue()}, p))
        row(f"RGBA4444, {name}, PNG to chain", f"{seconds:.3f} s", "", "")


def main() -> None:
    """Print the table."""
    row("measure", "here", "plain method", "aim")
    measure_patches()
    measure_split()
    measure_textures()


if __name__ == "__main__":
    main()
