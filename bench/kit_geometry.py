"""Measure the geometry of the kit: simplification against a peer, patches, strips, and the rest.

Run `python bench/kit_geometry.py`. Every ratio is of figures from this run. Errors are symmetric:
the mean distance from points sampled on either surface to the other, relative to the diagonal.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import fast_simplification
import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from encoders.kit.mesh.clip import CutMesh, cut_at_plane, start_cut
from encoders.kit.mesh.patch import cluster_patches
from encoders.kit.mesh.simplify.collapse import Surface, simplify
from encoders.kit.mesh.strip import strip_patches
from encoders.kit.mesh.tangent import TangentMesh, corner_tangents
from encoders.kit.mesh.vertex_cache import cache_miss_ratio, order_triangles
from encoders.kit.mesh.weld import weld_mesh
from encoders.kit.native.kernel import has_native, use_native

Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]
Indices = NDArray[np.int32]
R = TypeVar("R")

SAMPLES = 20_000


def timed(work: Callable[[], R], repeats: int = 3) -> tuple[float, R]:
    """Return the best time of a few runs, in seconds, and the result."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return best, result


def grid(columns: int, rows: int) -> Indices:
    corner = (np.arange(rows)[:, None] * (columns + 1) + np.arange(columns)).reshape(-1)
    right, below = corner + 1, corner + columns + 1
    quads = np.stack([corner, right, below + 1, corner, below + 1, below], axis=1)
    return quads.reshape(-1, 3).astype(np.int32)


def smooth_normals(positions: Float32, triangles: Indices) -> Float32:
    _, place = np.unique(positions, axis=0, return_inverse=True)
    place = place.reshape(-1)
    a, b, c = np.moveaxis(positions[triangles].astype(np.float64), 1, 0)
    faces = np.cross(b - a, c - a)
    sums = np.zeros((int(place.max()) + 1, 3))
    for corner in range(3):
        np.add.at(sums, place[triangles[:, corner]], faces)
    sums /= np.linalg.norm(sums, axis=1, keepdims=True)
    return sums[place].astype(np.float32)


def terrain(size: int) -> Surface:
    """Hills of three sizes with an open border; 2 * size^2 triangles."""
    x, y = np.meshgrid(np.linspace(0, 1, size + 1), np.linspace(0, 1, size + 1))
    z = 0.08 * np.sin(9 * x) * np.cos(7 * y) + 0.02 * np.sin(31 * x + 3 * y) * np.sin(27 * y)
    z += 0.005 * np.sin(90 * x) * np.sin(80 * y)
    positions = np.stack([x, y, z], axis=-1).reshape(-1, 3).astype(np.float32)
    triangles = grid(size, size)
    uvs = positions[:, :2].copy()
    return Surface(positions, triangles, smooth_normals(positions, triangles), uvs)


def torus(around: int, across: int) -> Surface:
    """A bumpy torus, closed, with a UV seam both ways; 2 * around * across triangles."""
    turn, roll = np.meshgrid(np.arange(across + 1), np.arange(around + 1))
    a, b = 2 * np.pi * (roll % around) / around, 2 * np.pi * (turn % across) / across
    radius = 0.35 + 0.03 * np.sin(7 * a) * np.cos(5 * b)
    radius += 0.01 * np.sin(23 * a + 3 * np.sin(4 * b)) * np.cos(19 * b)
    reach = 1 + radius * np.cos(b)
    points = np.stack([reach * np.cos(a), reach * np.sin(a), radius * np.sin(b)], axis=-1)
    positions = points.reshape(-1, 3).astype(np.float32)
    uvs = np.stack([roll / around, turn / across], axis=-1).reshape(-1, 2).astype(np.float32)
    triangles = np.ascontiguousarray(grid(across, around)[:, ::-1])
    return Surface(positions, triangles, smooth_normals(positions, triangles), uvs)


def sampled(positions: Float32, triangles: Indices, seed: int, count: int = SAMPLES) -> Float64:
    """Return points spread evenly over a surface."""
    chance = np.random.default_rng(seed)
    corners = positions[triangles].astype(np.float64)
    faces = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    shares = np.cumsum(np.linalg.norm(faces, axis=1))
    picked = corners[np.searchsorted(shares, chance.random(count) * shares[-1])]
    u, v = chance.random((2, count, 1))
    u, v = np.where(u + v > 1, 1 - u, u), np.where(u + v > 1, 1 - v, v)
    edges = picked[:, 1:] - picked[:, :1]
    points: Float64 = picked[:, 0] + u * edges[:, 0] + v * edges[:, 1]
    return points


def point_triangle(points: Float64, corners: Float64) -> Float64:
    """Return the distance of each point to its triangle."""

    def to_edge(start: Float64, end: Float64) -> Float64:
        along = end - start
        square = np.maximum((along * along).sum(1), 1e-300)
        share = np.clip(((points - start) * along).sum(1) / square, 0, 1)
        off: Float64 = points - start - share[:, None] * along
        return (off * off).sum(1)

    ends = [corners[:, n] for n in (0, 1, 2, 0)]
    normal = np.cross(ends[1] - ends[0], ends[2] - ends[0])
    inside = np.ones(len(points), np.bool_)
    nearest = np.full(len(points), np.inf)
    for start, end in pairwise(ends):
        inside &= (np.cross(end - start, points - start) * normal).sum(1) >= 0
        nearest = np.minimum(nearest, to_edge(start, end))
    height = ((points - ends[0]) * normal).sum(1) ** 2
    height /= np.maximum((normal * normal).sum(1), 1e-300)
    return np.sqrt(np.where(inside, height, nearest))


def distances(
    points: Float64, positions: Float32, triangles: Indices, cell: float | None = None
) -> Float64:
    """Return the distance of each point to a surface, through a grid of its triangles.

    A distance of more than a cell may be too large, or infinite.
    """
    corners = positions[triangles].astype(np.float64)
    low, high = corners.min(axis=1), corners.max(axis=1)
    cell = cell or 2 * float(np.median((high - low).max(axis=1)))
    origin = np.minimum(low.min(axis=0), points.min(axis=0)) - 2 * cell
    first = np.floor((low - origin) / cell).astype(np.int64) - 1
    span = np.floor((high - origin) / cell).astype(np.int64) + 2 - first
    count = span.prod(axis=1)
    owner = np.repeat(np.arange(len(count)), count)
    step = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    wide, tall = span[owner, 2], span[owner, 1]
    offset = np.stack([step // (wide * tall), step // wide % tall, step % wide], axis=1)
    factors = np.array([1 << 40, 1 << 20, 1])
    key = ((first[owner] + offset) * factors).sum(axis=1)
    order = np.argsort(key, kind="stable")
    key, owner = key[order], owner[order]
    wanted = (np.floor((points - origin) / cell).astype(np.int64) * factors).sum(axis=1)
    start, end = np.searchsorted(key, wanted), np.searchsorted(key, wanted, side="right")
    nearest = np.full(len(points), np.inf)
    for block in np.array_split(np.arange(len(points)), 8):
        many = end[block] - start[block]
        point = np.repeat(block, many)
        place = np.arange(len(point)) - np.repeat(np.cumsum(many) - many - start[block], many)
        found = point_triangle(points[point], corners[owner[place]])
        np.minimum.at(nearest, point, found)
    return nearest


def surface_error(surface: Surface, positions: Float32, triangles: Indices) -> tuple[float, float]:
    """Return the mean and the largest symmetric distance, relative to the diagonal."""
    there = distances(sampled(surface.positions, surface.indices, 1), positions, triangles)
    back = distances(sampled(positions, triangles, 2), surface.positions, surface.indices)
    diagonal = float(np.linalg.norm(np.ptp(surface.positions, axis=0)))
    return (there.mean() + back.mean()) / 2 / diagonal, max(there.max(), back.max()) / diagonal


def row(*cells: object) -> None:
    print("".join(f"{cell!s:<{width}}" for cell, width in zip(cells, WIDTHS, strict=False)))


WIDTHS = (38, 12, 12, 14, 14, 12)


def measure_simplification() -> None:
    row("100,000 triangles to 25 %", "time s", "triangles", "mean error", "max error", "ratios")
    for name, surface in (("terrain", terrain(224)), ("torus with seams", torus(280, 179))):
        target = len(surface.indices) // 4
        # The peer knows no seams: it gets the mesh welded by position, which suits it best.
        [places], welded = weld_mesh([surface.positions], surface.indices)
        peer_time, (points, peer) = timed(
            lambda p=places, t=welded: fast_simplification.simplify(p, t, 0.75)
        )
        peer_error = surface_error(surface, points, peer)
        row(f"{name}: fast-simplification", f"{peer_time:.3f}", len(peer), *shown(peer_error))
        bare = Surface(surface.positions, surface.indices)
        for label, given in (("positions", bare), ("normals, UVs", surface)):
            seconds, result = timed(lambda g=given, t=target: simplify(g, t))
            error = surface_error(surface, surface.positions, result.indices)
            ratios = f"{seconds / peer_time:.1f} x time, {error[0] / peer_error[0]:.3f} x error"
            row(f"{name}: {label}", f"{seconds:.3f}", len(result.indices), *shown(error), ratios)


def shown(error: tuple[float, float]) -> tuple[str, str]:
    return f"{error[0]:.3e}", f"{error[1]:.3e}"


def measure_patches() -> None:
    sphere = grid(100, 50)
    coarse = simplify(terrain(224), 100_352 // 4).indices
    meshes = {
        "sphere 10,000": (sphere, 101 * 51),
        "sphere 10,000 shuffled": (np.random.default_rng(1).permutation(sphere), 101 * 51),
        "simplified terrain 25,088": (coarse, 225 * 225),
        "torus 100,240": (torus(280, 179).indices, 281 * 180),
    }
    row("\npatches and strips", "native s", "pure s", "patches", "entries/tri", "bytes")
    for name, (triangles, count) in meshes.items():

        def work(t: Indices = triangles, n: int = count) -> object:
            return strip_patches(t, n, cluster_patches(t, n))

        native, patches = timed(work)
        before = use_native(False)
        pure, _ = timed(work, 1)
        use_native(before)
        entries = f"{len(patches.entries) / len(triangles):.3f}"
        size = 16 * len(patches.vertices) + len(patches.entries)
        row(name, f"{native:.3f}", f"{pure:.2f}", len(patches), entries, size)


def cut_in_squares(mesh: CutMesh, size: float) -> CutMesh:
    """Cut a mesh at all multiples of a size along x and y."""
    for axis in (0, 1):
        ends = mesh.attributes[0][:, axis]
        for step in range(int(ends.min() // size) + 1, int(ends.max() // size) + 1):
            mesh = cut_at_plane(mesh, axis, step * size)
    return mesh


def measure_the_rest() -> None:
    surface = torus(280, 179)
    count = len(surface.positions)
    shuffled = np.random.default_rng(1).permutation(surface.indices)
    corners = [a[surface.indices.reshape(-1)] for a in (surface.positions, surface.normals)]
    shape = TangentMesh(surface.positions, surface.normals, surface.uvs, surface.indices)
    row("\n100,000 triangles", "time s", "result")
    seconds, (_, welded) = timed(lambda: weld_mesh(corners, np.arange(surface.indices.size)))
    row("weld 300,000 corners", f"{seconds:.3f}", f"{int(welded.max()) + 1} vertices")
    seconds, _ = timed(lambda: corner_tangents(shape))
    row("tangents", f"{seconds:.3f}")
    seconds, order = timed(lambda: order_triangles(shuffled, count), 1)
    ratio = cache_miss_ratio(shuffled[order])
    row("vertex cache", f"{seconds:.3f}", f"{ratio:.3f} misses for each triangle")
    mesh = start_cut([surface.positions, surface.normals], surface.indices)
    seconds, cut = timed(lambda: cut_in_squares(mesh, 0.25), 1)
    row("cut into squares", f"{seconds:.3f}", f"{len(cut.indices)} triangles")


if __name__ == "__main__":
    if not has_native("simplify"):
        print("the extension is not built: native figures are those of the references")
    measure_simplification()
    measure_patches()
    measure_the_rest()
