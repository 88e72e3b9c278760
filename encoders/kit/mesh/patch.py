"""Cluster triangles into patches of few vertices: a greedy search for few patches.

A patch grows vertex by vertex: the vertex that completes most triangles comes first, then the one
with the fewest triangles left, then the one found first, which keeps patches round. Each patch is
grown from a few seeds beside the last one, and the best growth is kept. The result depends on the
indices alone, and the native kernel gives the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from encoders.kit.mesh.triangle import Indices, checked_triangles, has_distinct_corners
from encoders.kit.native.kernel import choose

# Growths tried for each patch; more take time and hardly reduce the number of patches.
ATTEMPTS = 4
# The weight of a triangle in the patch against a triangle left over at one of its vertices.
TRIANGLE_WORTH = 5
# Triangles looked at around one vertex: the centre of a large fan would take too long.
WINDOW = 64
# The kernel keeps the vertices of a patch in an array of this size.
MAX_VERTICES = 256


@dataclass(frozen=True)
class Clusters:
    """Triangle indices by patch: patch p is `order[starts[p] : starts[p + 1]]`."""

    order: NDArray[np.int32]
    starts: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.starts) - 1


def cluster_patches(
    indices: NDArray[np.integer], vertex_count: int, max_vertices: int = 16, max_triangles: int = 32
) -> Clusters:
    """Assign every triangle with three different vertices to a patch; drop the others."""
    if not (3 <= max_vertices <= MAX_VERTICES and 1 <= max_triangles <= WINDOW):
        raise ValueError(f"no patch of {max_vertices} vertices and {max_triangles} triangles")
    triangles = checked_triangles(indices, vertex_count)
    # A triangle with two equal corners draws nothing, and would count a vertex twice.
    is_drawn = has_distinct_corners(triangles)
    # Nearly every mesh draws all: then nothing has to be copied or renumbered.
    drawn = None if is_drawn.all() else np.flatnonzero(is_drawn).astype(np.int32)
    kept = triangles if drawn is None else np.ascontiguousarray(triangles[drawn])
    order = np.empty(len(kept), dtype=np.int32)
    starts = np.zeros(len(kept) + 1, dtype=np.int32)
    kernel = choose("cluster_patches", _cluster_reference)
    count = kernel(kept, vertex_count, max_vertices, max_triangles, order, starts)
    numbers = order if drawn is None else drawn[order]
    return Clusters(numbers, starts[: count + 1].copy())


def _cluster_reference(
    triangles: Indices,
    vertex_count: int,
    max_vertices: int,
    max_triangles: int,
    order: NDArray[np.int32],
    starts: NDArray[np.int32],
) -> int:
    """Fill `order` and `starts`; return the number of patches."""
    pool = _Pool(triangles, vertex_count)
    count = filled = 0
    while pool.left:
        patch = _build_patch(pool, max_vertices, max_triangles)
        order[filled : filled + len(patch.triangles)] = sorted(patch.triangles)
        filled += len(patch.triangles)
        count += 1
        starts[count] = filled
    return count


@dataclass
class _Growth:
    """A growing patch; `seed` is the triangle it grows from, `stuck` says it has no neighbours."""

    vertices: list[int]
    triangles: list[int]
    seed: int
    stuck: bool = False


class _Pool:
    """The triangles that are in no patch yet, and where to look for the next ones."""

    def __init__(self, triangles: Indices, vertex_count: int) -> None:
        flat = triangles.reshape(-1)
        # Stable, so that the triangles around a vertex stay in the order of the mesh.
        by_vertex = (np.argsort(flat, kind="stable") // 3).tolist()
        ends = np.cumsum(np.bincount(flat, minlength=vertex_count)).tolist()
        self.corners: list[list[int]] = triangles.tolist()
        self.around: list[list[int]] = [
            by_vertex[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)
        ]
        self.live = [len(near) for near in self.around]
        # All triangles before `head` are taken.
        self.head = [0] * vertex_count
        self.taken = bytearray(len(triangles))
        self.mark = [0] * vertex_count
        self.marks = 0
        self.border: list[int] = []
        # Vertices of earlier patches with triangles left; a stack.
        self.waiting: list[int] = []
        self.is_waiting = bytearray(vertex_count)
        self.scan = 0
        self.left = len(triangles)

    def near(self, vertex: int) -> list[int]:
        """Return the window of triangles around a vertex, from the first one not taken."""
        head = self.head[vertex]
        return self.around[vertex][head : head + WINDOW]

    def take(self, growth: _Growth, triangles: Iterable[int]) -> None:
        """Mark triangles as taken, and queue the patch's vertices that have others left."""
        for triangle in triangles:
            self.taken[triangle] = 1
            self.left -= 1
            for vertex in self.corners[triangle]:
                self.live[vertex] -= 1
        self.border = [vertex for vertex in growth.vertices if self.live[vertex]]
        for vertex in growth.vertices:
            near, head = self.around[vertex], self.head[vertex]
            # Skip taken triangles once for all, so that a window never starts with them.
            while head < len(near) and self.taken[near[head]]:
                head += 1
            self.head[vertex] = head
        for vertex in self.border:
            if not self.is_waiting[vertex]:
                self.is_waiting[vertex] = 1
                self.waiting.append(vertex)

    def seeds(self) -> list[int]:
        """Return the best next seeds: at the last patch, else at an earlier one, else anywhere."""
        found = self._seeds_around(self.border)
        while not found and self.waiting:
            # The most recently queued first: patches then stay close together.
            vertex = self.waiting.pop()
            self.is_waiting[vertex] = 0
            found = self._seeds_around([vertex])
        if found:
            return found
        # Only reached with triangles left, so the scan ends; it never goes back.
        while self.taken[self.scan]:
            self.scan += 1
        return [self.scan]

    def _seeds_around(self, vertices: list[int]) -> list[int]:
        """Return the free triangles at these vertices with the fewest others left around them."""
        live = self.live
        ranked = set()
        for vertex in vertices:
            for triangle in self.near(vertex):
                if not self.taken[triangle]:
                    a, b, c = self.corners[triangle]
                    ranked.add((live[a] + live[b] + live[c], triangle))
        return [triangle for _, triangle in sorted(ranked)[:ATTEMPTS]]


def _build_patch(pool: _Pool, max_vertices: int, max_triangles: int) -> _Growth:
    """Grow the best connected patch, then fill the remaining room from the next seeds."""
    attempts = [
        _grow(pool, _Growth([], [], seed), max_vertices, max_triangles) for seed in pool.seeds()
    ]
    patch = min(attempts, key=lambda growth: _leftover(pool, growth))
    pool.take(patch, patch.triangles)
    # A small component leaves room. Three vertices must be free for any further seed.
    while patch.stuck and pool.left and len(patch.vertices) + 3 <= max_vertices:
        before = len(patch.triangles)
        if before == max_triangles:
            break
        patch.seed = pool.seeds()[0]
        _grow(pool, patch, max_vertices, max_triangles)
        pool.take(patch, patch.triangles[before:])
    return patch


def _leftover(pool: _Pool, growth: _Growth) -> int:
    """Rate a growth: the triangles left over at its vertices against those it takes."""
    around = sum(pool.live[vertex] for vertex in growth.vertices)
    return around - TRIANGLE_WORTH * len(growth.triangles)


def _grow(pool: _Pool, growth: _Growth, max_vertices: int, max_triangles: int) -> _Growth:
    """Add the seed, then vertices that complete triangles, until the patch is full or stuck."""
    # A new number unmarks all vertices without touching them.
    pool.marks += 1
    for vertex in growth.vertices:
        pool.mark[vertex] = pool.marks
    growth.triangles.append(growth.seed)
    gain: dict[int, int] = {}
    for vertex in pool.corners[growth.seed]:
        if pool.mark[vertex] != pool.marks:
            _join(pool, growth, vertex, gain, max_triangles)
    while gain and len(growth.vertices) < max_vertices:
        best = _best_candidate(gain, pool.live)
        # The best vertex would complete more triangles than fit; a worse one would leave a gap.
        if len(growth.triangles) + gain[best] > max_triangles:
            break
        _join(pool, growth, best, gain, max_triangles)
    growth.stuck = not gain
    return growth


def _best_candidate(gain: dict[int, int], live: list[int]) -> int:
    """Return the vertex that completes most triangles, then has fewest left, then came first."""
    best, most, fewest = -1, 0, 0
    for vertex, completed in gain.items():
        if completed > most or (completed == most and live[vertex] < fewest):
            best, most, fewest = vertex, completed, live[vertex]
    return best


def _join(
    pool: _Pool, growth: _Growth, vertex: int, gain: dict[int, int], max_triangles: int
) -> None:
    """Add a vertex and the triangles it completes; update what other vertices would complete."""
    mark, marks = pool.mark, pool.marks
    growth.vertices.append(vertex)
    mark[vertex] = marks
    gain.pop(vertex, None)
    for triangle in pool.near(vertex):
        if pool.taken[triangle] or triangle == growth.seed:
            continue
        outside = [corner for corner in pool.corners[triangle] if mark[corner] != marks]
        if len(outside) == 1:
            gain[outside[0]] = gain.get(outside[0], 0) + 1
        elif not outside and len(growth.triangles) < max_triangles:
            growth.triangles.append(triangle)
