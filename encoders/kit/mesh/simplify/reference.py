"""The readable reference of the native simplification kernel: collapse edges, cheapest first.

A place is a position; a wedge is a vertex at that place (several along a seam). The cost of moving
a place onto a neighbour is the place's quadric evaluated there. Costs are sums of float64 products
in a fixed order and ties go to the lower number, so that the kernel gives the same triangles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from encoders.kit.mesh.simplify.quadric import SIZE
from encoders.kit.mesh.triangle import Indices
from encoders.kit.mesh.vector import Float64

# A triangle may turn by at most 60 degrees from its original direction.
MIN_COSINE = 0.5
# A move of length l costs at least this times l squared. On flat surfaces, where all errors are
# zero, short moves then come first and triangles stay well shaped.
LENGTH_COST = 1e-5
# Places with more triangles than this never move: the centre of a large fan would take too long.
MAX_RING = 48
# How a place may move: anywhere, not at all, or only along its open edge.
FREE, LOCKED, RIM = 0.0, 1.0, 2.0
# The vertices of a triangle that has been removed.
REMOVED = -1


@dataclass(frozen=True)
class _Move:
    """A possible collapse of a place onto `target`: its cost, and which wedge becomes which."""

    cost: float
    target: int
    error: float
    wedges: list[tuple[int, int]]


class _CollapsingMesh:
    """The remaining triangles, by place, and the accumulated quadrics."""

    def __init__(
        self, triangles: Indices, place: NDArray[np.int32], places: Float64, wedges: Float64
    ) -> None:
        self.corners: list[list[int]] = triangles.tolist()
        self.place: list[int] = place.tolist()
        rows: list[list[float]] = places.tolist()
        self.points = [row[:3] for row in rows]
        self.freedom = [row[3] for row in rows]
        self.max_errors = [row[4] for row in rows]
        self.quadrics = [row[5:] for row in rows]
        count = (wedges.shape[1] - SIZE) // 5
        self.values: list[list[float]] = wedges[:, :count].tolist()
        self.slopes: list[list[float]] = wedges[:, count : 5 * count].tolist()
        self.value_quadrics: list[list[float]] = wedges[:, 5 * count :].tolist()
        self.is_alive = [True] * len(self.corners)
        self.normals = [
            _normal(*(self.points[self.place[vertex]] for vertex in corners))
            for corners in self.corners
        ]
        self.around: list[list[int]] = [[] for _ in rows]
        for triangle, corners in enumerate(self.corners):
            for vertex in corners:
                self.around[self.place[vertex]].append(triangle)

    def ring(self, place: int) -> list[int]:
        """Return the remaining triangles at a place."""
        self.around[place] = [t for t in self.around[place] if self.is_alive[t]]
        return self.around[place]

    def neighbours(self, place: int) -> set[int]:
        """Return the places that share a triangle with this one."""
        near = {self.place[v] for triangle in self.ring(place) for v in self.corners[triangle]}
        return near - {place}


def collapse_reference(
    triangles: Indices,
    place: NDArray[np.int32],
    places: Float64,
    wedges: Float64,
    target: int,
    reached: Float64,
) -> int:
    """Collapse until at most `target` triangles are left, and return how many are.

    Updates `triangles` in place: a removed triangle becomes -1, -1, -1, the others keep their rows.
    `reached[0]` becomes the largest squared error of a collapse.
    """
    mesh = _CollapsingMesh(triangles, place, places, wedges)
    queue = _Queue(mesh)
    left = len(triangles)
    while left > target:
        found = queue.pop()
        if found is None:
            break
        one, move = found
        reached[0] = max(float(reached[0]), move.error)
        touched = mesh.neighbours(one)
        left -= _collapse(mesh, one, move)
        for near in sorted(touched):
            queue.touch(near, near == move.target)
    triangles[:] = mesh.corners
    triangles[np.logical_not(mesh.is_alive)] = REMOVED
    return sum(mesh.is_alive)


class _Queue:
    """The best move of every place, cheapest first; entries with an outdated cost are ignored."""

    def __init__(self, mesh: _CollapsingMesh) -> None:
        self.mesh = mesh
        self.current = [-1.0] * len(mesh.points)
        self.heap: list[tuple[float, int]] = []
        for one in range(len(mesh.points)):
            self.update(one)

    def update(self, one: int) -> _Move | None:
        """Compute the best move of a place again, and queue it if its cost has changed."""
        move = _best_move(self.mesh, one)
        cost = move.cost if move else -1.0
        if move and cost != self.current[one]:
            heappush(self.heap, (cost, one))
        self.current[one] = cost
        return move

    def touch(self, near: int, has_grown: bool) -> None:
        """Update a neighbour that gained triangles or could not move; others update when popped."""
        # The others keep their queued cost: `pop` finds out when it no longer holds.
        if has_grown or self.current[near] < 0.0:
            self.update(near)

    def pop(self) -> tuple[int, _Move] | None:
        """Return the cheapest move whose cost is still valid, or None."""
        while self.heap:
            cost, one = heappop(self.heap)
            # The place has been updated since; a newer entry is in the heap, or none is needed.
            if cost != self.current[one]:
                continue
            # Neighbours may have moved since: the cost is only valid if it comes out the same.
            move = self.update(one)
            if move and move.cost == cost:
                self.current[one] = -1.0
                return one, move
        return None


def _best_move(mesh: _CollapsingMesh, one: int) -> _Move | None:
    """Return the cheapest allowed move of a place, or None."""
    ring = mesh.ring(one) if mesh.freedom[one] in (FREE, RIM) else []
    is_rim = mesh.freedom[one] == RIM
    # The last triangle of a place on a rim stays: removing it would remove the next edge too.
    if not int(is_rim) < len(ring) <= MAX_RING:
        return None
    spokes: dict[int, list[tuple[int, int]]] = {}
    here = set()
    for triangle in ring:
        wedge = next(v for v in mesh.corners[triangle] if mesh.place[v] == one)
        here.add(wedge)
        for vertex in mesh.corners[triangle]:
            if vertex != wedge:
                spokes.setdefault(mesh.place[vertex], []).append((wedge, vertex))
    moves = [
        _price(mesh, one, target, sorted(set(pairs)))
        for target, pairs in spokes.items()
        if _is_consistent(pairs, len(here), is_rim)
    ]
    # A cost that overflowed, or is no number, has no place in the order of the queue.
    moves = [move for move in moves if move.cost < math.inf]
    for move in sorted(moves, key=lambda move: (move.cost, move.target)):
        if move.error <= mesh.max_errors[one] and _is_allowed(mesh, one, move.target, is_rim):
            return move
    return None


def _is_consistent(pairs: list[tuple[int, int]], wedge_count: int, is_rim: bool) -> bool:
    """Tell whether the triangles at an edge map every wedge here to exactly one wedge there."""
    if is_rim:
        return len(pairs) == 1 and wedge_count == 1
    if len(pairs) != 2:
        return False
    (wedge, onto), (other, other_onto) = pairs
    if wedge == other:
        return wedge_count == 1 and onto == other_onto
    return wedge_count == 2


def _price(mesh: _CollapsingMesh, one: int, target: int, wedges: list[tuple[int, int]]) -> _Move:
    """Return the move of a place onto a target, with its cost.

    The cost lies between the sum of the squared distances, which prefers to keep large triangles,
    and their mean, which ignores the size of triangles.
    """
    point, here = mesh.points[target], mesh.points[one]
    shape = max(0.0, _quadric_at(mesh.quadrics[one], point))
    attributes = 0.0
    for wedge, onto in wedges:
        attributes += _attribute_error(mesh, wedge, mesh.values[onto], point)
    weight = mesh.quadrics[one][SIZE - 1]
    # No triangle with an area around it: moving costs nothing.
    if weight <= 0.0:
        return _Move(0.0, target, 0.0, wedges)
    dx, dy, dz = point[0] - here[0], point[1] - here[1], point[2] - here[2]
    length = LENGTH_COST * weight * (dx * dx + dy * dy + dz * dz)
    scale = math.sqrt(weight) * math.sqrt(math.sqrt(weight))
    cost = (shape + max(0.0, attributes) + length) / scale
    return _Move(cost, target, shape / weight, wedges)


def _quadric_at(q: list[float], point: list[float]) -> float:
    """Evaluate a quadric."""
    x, y, z = point
    squares = q[0] * x * x + q[1] * y * y + q[2] * z * z
    mixed = q[3] * x * y + q[4] * x * z + q[5] * y * z
    linear = q[6] * x + q[7] * y + q[8] * z
    return squares + 2.0 * mixed + 2.0 * linear + q[9]


def _attribute_error(
    mesh: _CollapsingMesh, wedge: int, values: list[float], point: list[float]
) -> float:
    """Return how far these attributes at a point are from those of the wedge's triangles."""
    quadric, slopes = mesh.value_quadrics[wedge], mesh.slopes[wedge]
    x, y, z = point
    error = _quadric_at(quadric, point)
    for n, value in enumerate(values):
        g = slopes[4 * n : 4 * n + 4]
        expected = g[0] * x + g[1] * y + g[2] * z + g[3]
        error += value * (value * quadric[SIZE - 1] - 2.0 * expected)
    return error


def _is_allowed(mesh: _CollapsingMesh, one: int, target: int, is_rim: bool) -> bool:
    """Tell whether a collapse keeps the surface manifold and flips no triangle."""
    if len(mesh.ring(target)) > MAX_RING:
        return False
    edge_triangles = 1 if is_rim else 2
    # The link condition: further common neighbours would fold the surface onto itself.
    if len(mesh.neighbours(one) & mesh.neighbours(target)) != edge_triangles:
        return False
    for triangle in mesh.ring(one):
        places = [mesh.place[vertex] for vertex in mesh.corners[triangle]]
        if target in places:
            continue
        after = [mesh.points[target if place == one else place] for place in places]
        if _is_flipped(mesh.normals[triangle], _normal(*after)):
            return False
    return True


def _normal(a: list[float], b: list[float], c: list[float]) -> tuple[float, float, float]:
    """Return the normal of a triangle, as long as twice its area."""
    ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    vx, vy, vz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    return uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx


def _is_flipped(n: tuple[float, float, float], m: tuple[float, float, float]) -> bool:
    """Tell whether a triangle turns too far from its original normal, or loses its area."""
    before = n[0] * n[0] + n[1] * n[1] + n[2] * n[2]
    after = m[0] * m[0] + m[1] * m[1] + m[2] * m[2]
    both = n[0] * m[0] + n[1] * m[1] + n[2] * m[2]
    # A degenerate triangle has no direction to turn from.
    if before == 0.0:
        return False
    return both <= 0.0 or both * both < MIN_COSINE * MIN_COSINE * before * after


def _collapse(mesh: _CollapsingMesh, one: int, move: _Move) -> int:
    """Move a place onto its target; return the number of triangles removed."""
    removed = 0
    onto = dict(move.wedges)
    for triangle in mesh.ring(one):
        corners = mesh.corners[triangle]
        if any(mesh.place[vertex] == move.target for vertex in corners):
            mesh.is_alive[triangle] = False
            removed += 1
            continue
        mesh.corners[triangle] = [onto.get(vertex, vertex) for vertex in corners]
        mesh.around[move.target].append(triangle)
    mesh.around[one] = []
    _add(mesh.quadrics, one, move.target)
    for wedge, other in move.wedges:
        _add(mesh.slopes, wedge, other)
        _add(mesh.value_quadrics, wedge, other)
    return removed


def _add(rows: list[list[float]], source: int, target: int) -> None:
    """Add one row to another."""
    rows[target] = [a + b for a, b in zip(rows[target], rows[source], strict=True)]
