"""Order triangles for a small cache of transformed vertices, by the Tipsify algorithm.

Triangles are emitted vertex by vertex: all remaining ones around a vertex, then those around the
oldest cached vertex that stays in the cache until its own triangles have been emitted. Only the
order of the triangles changes, neither their corners nor their winding.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from encoders.kit.mesh.triangle import Indices, checked_triangles
from encoders.kit.mesh.weld import prune_vertices
from encoders.kit.native.kernel import choose

CACHE_SIZE = 16


def order_triangles(
    indices: NDArray[np.integer], vertex_count: int, cache_size: int = CACHE_SIZE
) -> NDArray[np.int32]:
    """Return the indices of the triangles in cache-friendly order."""
    triangles = checked_triangles(indices, vertex_count)
    order = np.empty(len(triangles), np.int32)
    choose("order_triangles", _order_reference)(triangles, vertex_count, cache_size, order)
    return order


def _order_reference(
    triangles: Indices, vertex_count: int, cache_size: int, order: NDArray[np.int32]
) -> None:
    """Order the triangles: the reference of the native kernel."""
    drawing = _Drawing(triangles, vertex_count, cache_size)
    vertex = drawing.next_waiting()
    while vertex >= 0:
        near = drawing.draw_around(vertex)
        vertex = drawing.best_of(near)
        if vertex < 0:
            vertex = drawing.next_waiting()
    order[:] = drawing.order


def order_mesh(
    indices: NDArray[np.integer], vertex_count: int
) -> tuple[NDArray[np.int32], Indices]:
    """Order triangles for the cache, then number vertices by first use.

    Return the old index of each used vertex, and the triangles with the new indices.
    """
    triangles = checked_triangles(indices, vertex_count)
    return prune_vertices(triangles[order_triangles(triangles, vertex_count)], vertex_count)


def cache_miss_ratio(indices: NDArray[np.integer], cache_size: int = CACHE_SIZE) -> float:
    """Return the misses of a first-in first-out cache per triangle."""
    entered: dict[int, int] = {}
    misses = 0
    for vertex in indices.reshape(-1).tolist():
        if misses - entered.get(vertex, -1 - cache_size) > cache_size:
            entered[vertex] = misses
            misses += 1
    return misses / max(1, indices.size // 3)


class _Drawing:
    """The remaining triangles around each vertex, and the time it last entered the cache."""

    def __init__(self, triangles: Indices, vertex_count: int, cache_size: int) -> None:
        flat = triangles.reshape(-1)
        ends = np.cumsum(np.bincount(flat, minlength=vertex_count)).tolist()
        by_vertex = (np.argsort(flat, kind="stable") // 3).tolist()
        self.corners: list[list[int]] = triangles.tolist()
        self.around = [by_vertex[start:end] for start, end in pairwise([0, *ends])]
        self.left = [len(near) for near in self.around]
        # So long ago that the vertex is not in the cache.
        self.entered = [-1 - cache_size] * vertex_count
        self.cache_size = cache_size
        self.misses = 0
        self.is_drawn = bytearray(len(triangles))
        self.order: list[int] = []
        self.recent: list[int] = []
        self.scan = 0

    def draw_around(self, vertex: int) -> list[int]:
        """Emit the remaining triangles around a vertex; return their corners."""
        near: list[int] = []
        for triangle in self.around[vertex]:
            if self.is_drawn[triangle]:
                continue
            self.is_drawn[triangle] = 1
            self.order.append(triangle)
            near += self.corners[triangle]
            for corner in self.corners[triangle]:
                self.left[corner] -= 1
                if self.misses - self.entered[corner] > self.cache_size:
                    self.entered[corner] = self.misses
                    self.misses += 1
        self.recent += near
        return near

    def best_of(self, near: list[int]) -> int:
        """Return the oldest corner that stays cached while its triangles are emitted, or any."""
        best, oldest = -1, -1
        for vertex in near:
            left = self.left[vertex]
            if left == 0:
                continue
            age = self.misses - self.entered[vertex]
            # Each remaining triangle brings at most two new vertices into the cache.
            # 0, not skipped: a vertex that will be evicted is still better than none nearby.
            stays = age if age + 2 * left <= self.cache_size else 0
            if stays > oldest:
                best, oldest = vertex, stays
        return best

    def next_waiting(self) -> int:
        """Return the most recent vertex with triangles left, else the first one, else -1."""
        while self.recent:
            vertex = self.recent.pop()
            if self.left[vertex]:
                return vertex
        while self.scan < len(self.left) and not self.left[self.scan]:
            self.scan += 1
        return self.scan if self.scan < len(self.left) else -1
