"""Mesh patches for the RP2350 beside meshoptimizer's meshlets of the same limits, both as strips.

Patches have at most 16 vertices, 32 triangles and 48 strip entries. Meshlets are written as strips
by our own strip writer, which splits those with too many entries. Times are CPU milliseconds of
clustering alone.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import numpy as np
from kit_geometry import simplify, terrain
from meshoptimizer._loader import lib
from numpy.typing import NDArray
from targets_rp2350 import fans, sheet, shuffled, timed, torus

from encoders.kit.mesh.patch import Clusters, cluster_patches
from encoders.kit.mesh.strip import strip_patches

Triangles = NDArray[np.int32]
Positions = NDArray[np.float32]
VERTICES, TRIANGLES, ENTRIES = 16, 32, 48
LIMITS = (VERTICES, TRIANGLES)


def flat(width: int, rows: int) -> Positions:
    """Return the vertices of a sheet."""
    at = np.arange(width * rows)
    return np.stack([at % width, at // width, 0 * at], axis=1).astype(np.float32)


def round_torus(around: int, along: int) -> Positions:
    """Return the vertices of a torus."""
    at = np.arange(around * along)
    a, b = 2 * np.pi * (at % around) / around, 2 * np.pi * (at // around) / along
    reach = 3 + np.cos(a)
    return np.stack([reach * np.cos(b), reach * np.sin(b), np.sin(a)], axis=1).astype(np.float32)


def discs(count: int, size: int) -> Positions:
    """Return the vertices of discs in a row."""
    turn = 2 * np.pi * np.arange(size) / size
    rim = np.stack([np.cos(turn), np.sin(turn), 0 * turn], axis=1)
    disc = np.concatenate([np.zeros((1, 3)), rim])
    far = 3 * np.arange(count)[:, None, None] * np.array([1, 0, 0])
    return (disc + far).reshape(-1, 3).astype(np.float32)


def meshes() -> dict[str, tuple[Triangles, Positions]]:
    """Return the test meshes."""
    hills = terrain(64)
    return {
        "sphere": (sheet(100, 50), flat(101, 51)),
        "sphere, shuffled": (shuffled(sheet(100, 50)), flat(101, 51)),
        "terrain 64 x 64": (sheet(64, 64), flat(65, 65)),
        "torus 60 x 30": (torus(60, 30), round_torus(60, 30)),
        "long strip": (sheet(500, 1), flat(501, 2)),
        "discs of 12": (fans(100, 12), discs(100, 12)),
        "grid of 100,000": (sheet(250, 200), flat(251, 201)),
        "simplified terrain": (simplify(hills, 64 * 64 // 2).indices, hills.positions),
    }


class Meshlets:
    """A call of meshoptimizer, with all its arrays allocated before."""

    def __init__(self, triangles: Triangles, positions: Positions) -> None:
        self.indices = np.ascontiguousarray(triangles.reshape(-1), np.uint32)
        self.count, self.positions = len(positions), np.ascontiguousarray(positions)
        bound = len(triangles) + self.count
        self.table = np.zeros((bound, 4), np.uint32)
        self.vertices = np.zeros(bound * VERTICES, np.uint32)
        self.corners = np.zeros(bound * TRIANGLES * 3, np.uint8)

    def build(self) -> int:
        """Build the meshlets; return their number."""
        arrays = (self.table, self.vertices, self.corners, self.indices)
        call, size = lib.meshopt_buildMeshlets, ctypes.c_size_t
        call.restype, call.argtypes = size, None
        made = call(
            *(one.ctypes.data_as(ctypes.c_void_p) for one in arrays),
            size(len(self.indices)),
            self.positions.ctypes.data_as(ctypes.c_void_p),
            *map(size, (self.count, 12, VERTICES, TRIANGLES)),
            ctypes.c_float(0),
        )
        return int(made)

    def clusters(self, made: int) -> tuple[Triangles, Clusters]:
        """Return triangles in the order of the meshlets, and the meshlets as clusters."""
        parts = []
        for first, start, _, amount in self.table[:made].tolist():
            own = self.corners[start : start + 3 * amount].astype(np.int64)
            parts.append(self.vertices[first + own].reshape(-1, 3))
        starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int32)
        ordered = np.concatenate(parts).astype(np.int32)
        return ordered, Clusters(np.arange(len(ordered), dtype=np.int32), starts)


def rows() -> Iterator[tuple[str, ...]]:
    """Return the table: patches, bytes and times."""
    names = ("patches", "bytes", "ms")
    yield (
        "mesh",
        *(f"{way} {one}" for one in names for way in ("our", "their")),
        "patches",
        "time",
    )
    for name, (triangles, positions) in meshes().items():
        count = len(positions)
        clusters, spent = timed(lambda t=triangles, n=count: cluster_patches(t, n, *LIMITS))
        peer = Meshlets(triangles, positions)
        made, peer_spent = timed(peer.build)
        ordered, meshlets = peer.clusters(made)
        ours = strip_patches(triangles, count, clusters, ENTRIES)
        theirs = strip_patches(ordered, count, meshlets, ENTRIES)
        sizes = [16 * len(one.vertices) + len(one.entries) for one in (ours, theirs)]
        yield (
            name,
            *(str(len(one)) for one in (ours, theirs)),
            *(f"{size:,}" for size in sizes),
            f"{1000 * spent:.1f}",
            f"{1000 * peer_spent:.1f}",
            f"{len(ours) / len(theirs) - 1:+.1%}",
            f"x {spent / peer_spent:.2f}",
        )


if __name__ == "__main__":
    from quality import show

    show(rows())
