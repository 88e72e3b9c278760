"""The readable reference of the native simplification kernel: collapse edges, cheapest first.

The cost of moving a place onto a neighbour is the place's quadric evaluated there. A run that
settles also tries to take both to where their quadrics are least together. Costs are sums
of float64 products in a fixed order and ties go to the lower number, so that the kernel gives the
same triangles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from encoders.kit.mesh.simplify.collapsing_mesh import FREE, MAX_RING, RIM, CollapsingMesh
from encoders.kit.mesh.simplify.quadric import SIZE
from encoders.kit.mesh.simplify.settle import best_point, settle
from encoders.kit.mesh.triangle import Indices
from encoders.kit.mesh.vector import Float64

# A move of length l costs at least this times l squared. On flat surfaces, where all errors are
# zero, short moves then come first and triangles stay well shaped.
LENGTH_COST = 1e-5
# What a run may do: move along seams only, across them as well, or also settle every free place,
# in each move and in the end.
KEEP_SEAMS, CROSS_SEAMS, SETTLE = 0, 1, 2
# The vertices of a triangle that has been removed.
REMOVED = -1


@dataclass(frozen=True)
class _Move:
    """A possible collapse of a place onto `target`: its cost, and which wedge becomes which.

    Wedges without a partner move with the place. A placed move takes the target to a point; `extra`
    is what it costs besides the shape.
    """

    cost: float
    target: int
    error: float
    pairs: dict[int, int]
    point: list[float]
    extra: float = 0.0
    is_placed: bool = False


def collapse_reference(
    triangles: Indices,
    place: NDArray[np.int32],
    places: Float64,
    wedges: Float64,
    *rest: *tuple[NDArray[np.int32], Float64, int, int, Float64],
) -> int:
    """Collapse until at most `target` triangles are left, and return how many are.

    The rest are the group of each triangle, the loss of each group, the mode, the target, and what
    is reached. Whole groups are dropped in the order of the collapses, each at its loss; a negative
    loss is none. Updates the arrays: a removed triangle becomes -1, -1, -1, the others keep their
    rows; `reached[0]` becomes the largest squared error of a collapse.
    """
    group, losses, mode, target, reached = rest
    mesh = CollapsingMesh(triangles, place, places, wedges)
    queue = _Queue(mesh, mode)
    groups = _Groups(mesh, group.tolist(), queue, losses.tolist())
    while sum(groups.left) > target:
        found = queue.pop()
        if found is None:
            break
        one, move = found
        if move is None:
            groups.drop(one - len(places), target)
            continue
        reached[0] = max(float(reached[0]), move.error)
        touched = mesh.neighbours(one)
        groups.take(_collapse(mesh, one, move))
        for near in sorted(touched):
            queue.touch(near, near == move.target)
    if mode == SETTLE:
        settle(mesh)
    _write_back(mesh, triangles, place, places, wedges)
    return sum(mesh.is_alive)


def _write_back(
    mesh: CollapsingMesh,
    triangles: Indices,
    place: NDArray[np.int32],
    places: Float64,
    wedges: Float64,
) -> None:
    triangles[:] = mesh.corners
    triangles[np.logical_not(mesh.is_alive)] = REMOVED
    place[:] = mesh.place
    if len(places):
        places[:, :3], places[:, 5:] = mesh.points, mesh.quadrics
    if len(wedges):
        rows = zip(mesh.values, mesh.slopes, mesh.value_quadrics, strict=True)
        wedges[:] = [[*values, *slopes, *quadric] for values, slopes, quadric in rows]


class _Groups:
    """Triangles that may be dropped together, and how many of each group are left."""

    def __init__(
        self, mesh: CollapsingMesh, group: list[int], queue: _Queue, losses: list[float]
    ) -> None:
        self.mesh, self.group = mesh, group
        self.left = [0] * len(losses)
        for one in group:
            self.left[one] += 1
        for number, loss in enumerate(losses):
            if 0.0 <= loss < math.inf and self.left[number]:
                queue.push(len(mesh.points) + number, loss)

    def take(self, removed: list[int]) -> None:
        """Count triangles as removed."""
        for triangle in removed:
            self.left[self.group[triangle]] -= 1

    def drop(self, number: int, target: int) -> None:
        """Remove a group, unless that leads further below the target than it is above."""
        left = sum(self.left)
        after = left - self.left[number]
        if target - after >= left - target:
            return
        self.left[number] = 0
        for triangle, one in enumerate(self.group):
            if one == number:
                self.mesh.is_alive[triangle] = False


class _Queue:
    """The best move of every place, cheapest first; entries with an outdated cost are ignored.

    Numbers beyond the places are those of groups.
    """

    def __init__(self, mesh: CollapsingMesh, mode: int) -> None:
        self.mesh, self.mode = mesh, mode
        self.current = [-1.0] * len(mesh.points)
        self.heap: list[tuple[float, int]] = []
        for one in range(len(mesh.points)):
            self.update(one)

    def update(self, one: int) -> _Move | None:
        """Compute the best move of a place again, and queue it if its cost has changed."""
        move = _best_move(self.mesh, one, self.mode)
        cost = move.cost if move else -1.0
        if move and cost != self.current[one]:
            heappush(self.heap, (cost, one))
        self.current[one] = cost
        return move

    def push(self, group: int, loss: float) -> None:
        """Queue a group, whose loss never changes."""
        heappush(self.heap, (loss, group))

    def touch(self, near: int, has_grown: bool) -> None:
        """Update a neighbour that gained triangles or could not move; others update when popped."""
        # The others keep their queued cost: `pop` finds out when it no longer holds.
        if has_grown or self.current[near] < 0.0:
            self.update(near)

    def pop(self) -> tuple[int, _Move | None] | None:
        """Return the cheapest move whose cost is still valid; a group comes without one."""
        while self.heap:
            cost, one = heappop(self.heap)
            if one >= len(self.current):
                return one, None
            # The place has been updated since; a newer entry is in the heap, or none is needed.
            if cost != self.current[one]:
                continue
            # Neighbours may have moved since: the cost is only valid if it comes out the same.
            move = self.update(one)
            if move and move.cost == cost:
                self.current[one] = -1.0
                return one, move
        return None


def _best_move(mesh: CollapsingMesh, one: int, mode: int) -> _Move | None:
    """Return the cheapest allowed move of a place, or None."""
    ring = mesh.ring(one) if mesh.freedom[one] in (FREE, RIM) else []
    is_rim = mesh.freedom[one] == RIM
    # The last triangle of a place on a rim stays: removing it would remove the next edge too.
    if not int(is_rim) < len(ring) <= MAX_RING:
        return None
    here = mesh.wedges(one)
    crosses = mode != KEEP_SEAMS
    moves = [
        _price(mesh, one, here, mode, (target, _pairs(edge)))
        for target, edge in _spokes(mesh, one).items()
        if len(edge) == (1 if is_rim else 2) and (crosses or _is_consistent(edge, len(here)))
    ]
    if mode == SETTLE:
        placed = [_placed(mesh, one, move) for move in moves]
        moves += [move for move in placed if move is not None]
    # A cost that overflowed, or is no number, has no place in the order of the queue.
    moves = [move for move in moves if move.cost < math.inf]
    for move in sorted(moves, key=lambda move: (move.cost, move.target, move.is_placed)):
        if move.error <= mesh.max_errors[one] and _is_allowed(mesh, one, move, is_rim):
            return move
    return None


def _spokes(mesh: CollapsingMesh, one: int) -> dict[int, list[tuple[int, int]]]:
    """Return the edges at a place by their other end: the wedges of each triangle there."""
    found: dict[int, list[tuple[int, int]]] = {}
    for triangle in mesh.ring(one):
        wedge = next(v for v in mesh.corners[triangle] if mesh.place[v] == one)
        for vertex in mesh.corners[triangle]:
            if vertex != wedge:
                found.setdefault(mesh.place[vertex], []).append((wedge, vertex))
    return found


def _is_consistent(edge: list[tuple[int, int]], wedge_count: int) -> bool:
    """Tell whether the triangles at an edge map every wedge here to exactly one wedge there."""
    here, there = ({pair[side] for pair in edge} for side in (0, 1))
    return len(here) == wedge_count and (len(here) == 2 or len(there) == 1)


def _pairs(edge: list[tuple[int, int]]) -> dict[int, int]:
    """Return which wedge becomes which; the lower one where there are two to choose from."""
    return dict(sorted(edge, reverse=True))


def _scaled(mode: int, squares: float, weight: float) -> float:
    """Return the cost of a sum of squared errors.

    It lies between the sum, which prefers to keep large triangles, and the mean, which ignores the
    size of triangles.
    """
    root = math.sqrt(weight)
    return squares / (root if mode == SETTLE else root * math.sqrt(root))


def _price(
    mesh: CollapsingMesh, one: int, wedges: list[int], mode: int, way: tuple[int, dict[int, int]]
) -> _Move:
    """Return the move of a place onto a target, with its cost."""
    target, pairs = way
    point, here = mesh.points[target], mesh.points[one]
    shape = max(0.0, _quadric_at(mesh.quadrics[one], point))
    attributes = 0.0
    for wedge in wedges:
        attributes += _attribute_error(mesh, wedge, pairs.get(wedge), point)
    weight = mesh.quadrics[one][SIZE - 1]
    # No triangle with an area around it: moving costs nothing.
    if weight <= 0.0:
        return _Move(0.0, target, 0.0, pairs, point)
    dx, dy, dz = point[0] - here[0], point[1] - here[1], point[2] - here[2]
    length = LENGTH_COST * weight * (dx * dx + dy * dy + dz * dz)
    looks = max(0.0, attributes)
    cost = _scaled(mode, shape + looks + length, weight)
    return _Move(cost, target, shape / weight, pairs, point, looks + length)


def _placed(mesh: CollapsingMesh, one: int, move: _Move) -> _Move | None:
    """Return the move that also takes the target to where both are met best, if there is one."""
    here, there = mesh.quadrics[one], mesh.quadrics[move.target]
    is_free = mesh.freedom[one] == mesh.freedom[move.target] == FREE
    if not (is_free and here[SIZE - 1] > 0.0 and there[SIZE - 1] > 0.0):
        return None
    both = [a + b for a, b in zip(there, here, strict=True)]
    point = best_point(mesh, both, mesh.points[move.target])
    if point is None:
        return None
    shape = max(0.0, _quadric_at(both, point))
    # Only what the move adds: errors of the places so far are there without it.
    added = shape - max(0.0, _quadric_at(here, mesh.points[one]))
    added = max(0.0, added - max(0.0, _quadric_at(there, mesh.points[move.target])))
    weight = both[SIZE - 1]
    cost = _scaled(SETTLE, added + move.extra, weight)
    return replace(move, cost=cost, error=shape / weight, point=point, is_placed=True)


def _quadric_at(q: list[float], point: list[float]) -> float:
    """Evaluate a quadric."""
    x, y, z = point
    squares = q[0] * x * x + q[1] * y * y + q[2] * z * z
    mixed = q[3] * x * y + q[4] * x * z + q[5] * y * z
    linear = q[6] * x + q[7] * y + q[8] * z
    return squares + 2.0 * mixed + 2.0 * linear + q[9]


def _attribute_error(
    mesh: CollapsingMesh, wedge: int, onto: int | None, point: list[float]
) -> float:
    """Return how far the attributes of a wedge at a point are from those of this one's triangles.

    Without the other wedge, they are the best that this one can have there.
    """
    quadric = mesh.value_quadrics[wedge]
    weight = quadric[SIZE - 1]
    error = _quadric_at(quadric, point)
    for n, value in enumerate(mesh.values[wedge if onto is None else onto]):
        expected = mesh.expected(wedge, n, point)
        best = expected / weight if onto is None and weight > 0.0 else value
        error += best * (best * weight - 2.0 * expected)
    return error


def _is_allowed(mesh: CollapsingMesh, one: int, move: _Move, is_rim: bool) -> bool:
    """Tell whether a collapse keeps the surface manifold and flips no triangle."""
    target = move.target
    if len(mesh.ring(target)) > MAX_RING:
        return False
    edge_triangles = 1 if is_rim else 2
    # The link condition: further common neighbours would fold the surface onto itself.
    near, beyond = mesh.neighbours(one), mesh.neighbours(target)
    if len(near & beyond) != edge_triangles:
        return False
    planes = mesh.planes(target)
    if any(mesh.planes(other) & planes for other in near - beyond - {target}):
        return False
    if not _stay_up(mesh, one, target, move.point):
        return False
    # A placed target moves as well, with the wedges of both: no more than fit in a ring.
    fits = len(mesh.ring(one)) + len(mesh.ring(target)) <= MAX_RING
    return not move.is_placed or (fits and _stay_up(mesh, target, one, move.point))


def _stay_up(mesh: CollapsingMesh, one: int, other: int, point: list[float]) -> bool:
    """Tell whether no triangle at a place turns over where it moves, but those that vanish."""
    return all(
        other in [mesh.place[vertex] for vertex in mesh.corners[triangle]]
        or mesh.stays_up(triangle, one, point)
        for triangle in mesh.ring(one)
    )


def _collapse(mesh: CollapsingMesh, one: int, move: _Move) -> list[int]:
    """Move a place onto its target; return the triangles removed."""
    ring = mesh.ring(one)
    places = [[mesh.place[vertex] for vertex in mesh.corners[triangle]] for triangle in ring]
    removed = [one for one, at in zip(ring, places, strict=True) if move.target in at]
    _move_wedges(mesh, mesh.wedges(one), move)
    for triangle in removed:
        mesh.is_alive[triangle] = False
    for triangle in ring:
        if mesh.is_alive[triangle]:
            corners = mesh.corners[triangle]
            mesh.corners[triangle] = [move.pairs.get(vertex, vertex) for vertex in corners]
            mesh.around[move.target].append(triangle)
    mesh.around[one] = []
    _add(mesh.quadrics, one, move.target)
    if move.is_placed:
        mesh.put(move.target, move.point)
    return removed


def _move_wedges(mesh: CollapsingMesh, wedges: list[int], move: _Move) -> None:
    """Move the wedges of a place: into those they become, or along with the place."""
    point = mesh.points[move.target]
    for wedge in wedges:
        if wedge in move.pairs:
            _add(mesh.slopes, wedge, move.pairs[wedge])
            _add(mesh.value_quadrics, wedge, move.pairs[wedge])
            continue
        weight = mesh.value_quadrics[wedge][SIZE - 1]
        if weight > 0.0:
            count = range(len(mesh.values[wedge]))
            mesh.values[wedge] = [mesh.expected(wedge, n, point) / weight for n in count]
        mesh.place[wedge] = move.target


def _add(rows: list[list[float]], source: int, target: int) -> None:
    """Add one row to another."""
    rows[target] = [a + b for a, b in zip(rows[target], rows[source], strict=True)]
