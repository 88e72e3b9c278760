"""Encode patches as triangle strips, and decode them.

The graphics processor keeps a window of the last three vertices. An entry is
`vertex << 4 | kick << 2`: kick 0 only pushes the vertex, 1 also draws the window in order, 2 draws
it with the last two vertices swapped. A strip is two pushes and one or more kicks. Every triangle
of a patch is drawn exactly once, with its winding.

To find few strips, each triangle has six states: three ways to cross it from one edge to another,
in two directions, numbered `6 * triangle + 2 * uncrossed_edge + direction`. The next state of a
strip follows from the state before. State numbers decide every tie, so that the native kernel gives
the same strips.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from encoders.kit.error import EncodeError
from encoders.kit.mesh.patch import Clusters
from encoders.kit.mesh.triangle import Indices, checked_triangles, has_distinct_corners
from encoders.kit.native.kernel import choose

# The low four bits of an entry, and the positions in the window that they draw.
NO_KICK = 0b0000
KICKS = (0b0100, 0b1000)
DRAWN = {0b0100: (0, 1, 2), 0b1000: (0, 2, 1)}
MAX_VERTICES = 16
MAX_TRIANGLES = 64
# Branches that the search tries for one patch. It exceeds the triangles of a patch, so that the
# first descent always completes a cover.
BRANCH_LIMIT = 256

# The states of a strip, in order.
Strip = list[int]


@dataclass(frozen=True)
class StripPatches:
    """Patches one after another: the mesh's vertices in order of first use, and the entries.

    Row p of `starts` has the index of patch p's first vertex and of its first entry.
    """

    vertices: NDArray[np.int32]
    entries: NDArray[np.uint8]
    starts: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __iter__(self) -> Iterator[tuple[NDArray[np.int32], bytes]]:
        rows = self.starts.tolist()
        for (vertex, entry), (vertex_end, entry_end) in pairwise(rows):
            yield self.vertices[vertex:vertex_end], self.entries[entry:entry_end].tobytes()


def strip_patches(
    indices: NDArray[np.integer], vertex_count: int, clusters: Clusters, max_entries: int = 48
) -> StripPatches:
    """Encode each cluster as one patch, or as several where it needs more than `max_entries`."""
    if max_entries < 3:
        raise ValueError(f"no triangle fits into {max_entries} entries")
    if len(clusters) and int(np.diff(clusters.starts).max()) > MAX_TRIANGLES:
        raise ValueError(f"a cluster has more than {MAX_TRIANGLES} triangles")
    triangles = checked_triangles(indices, vertex_count)[clusters.order]
    if not has_distinct_corners(triangles).all():
        raise ValueError("a cluster has a triangle with fewer than three vertices")
    # Three vertices and three entries for each triangle is the worst case: strips of one.
    vertices = np.empty(triangles.size, np.int32)
    entries = np.empty(triangles.size, np.uint8)
    starts = np.zeros((len(triangles) + 1, 2), np.int32)
    kernel = choose("strip_patches", _strip_reference)
    count = kernel(triangles, clusters.starts, max_entries, vertices, entries, starts)
    if count < 0:
        raise ValueError(f"a cluster has more than {MAX_VERTICES} vertices")
    vertex_end, entry_end = starts[count]
    return StripPatches(
        vertices[:vertex_end].copy(), entries[:entry_end].copy(), starts[: count + 1].copy()
    )


def _strip_reference(
    triangles: Indices,
    cluster_starts: NDArray[np.int32],
    max_entries: int,
    vertices: NDArray[np.int32],
    entries: NDArray[np.uint8],
    starts: NDArray[np.int32],
) -> int:
    """Fill the arrays; return the number of patches, or -1 if a cluster has too many vertices."""
    count = vertex_end = entry_end = 0
    for begin, end in pairwise(cluster_starts.tolist()):
        corners: list[list[int]] = triangles[begin:end].tolist()
        for strips in _group_strips(cover_patch(corners, max_entries - 2), max_entries):
            local = _local_numbers(corners, strips)
            # An entry has four bits for the vertex.
            if len(local) > MAX_VERTICES:
                return -1
            commands = [entry for strip in strips for entry in _commands(corners, strip, local)]
            vertices[vertex_end : vertex_end + len(local)] = list(local)
            entries[entry_end : entry_end + len(commands)] = commands
            vertex_end += len(local)
            entry_end += len(commands)
            count += 1
            starts[count] = vertex_end, entry_end
    return count


def _group_strips(strips: list[Strip], max_entries: int) -> Iterator[list[Strip]]:
    """Yield the strips of each patch: in order, as many as `max_entries` hold."""
    group: list[Strip] = []
    room = max_entries
    for strip in strips:
        # Two pushes start each strip.
        if len(strip) + 2 > room:
            yield group
            group, room = [], max_entries
        group.append(strip)
        room -= len(strip) + 2
    yield group


def _local_numbers(corners: list[list[int]], strips: list[Strip]) -> dict[int, int]:
    """Return local numbers of the strips' vertices by first use, in the order of the triangles."""
    used = sorted(state // 6 for strip in strips for state in strip)
    local: dict[int, int] = {}
    for triangle in used:
        for vertex in corners[triangle]:
            local.setdefault(vertex, len(local))
    return local


def _commands(corners: list[list[int]], strip: Strip, local: dict[int, int]) -> Iterator[int]:
    """Yield the entries of one strip: two pushes, then a kick for each triangle."""
    for vertex in state_window(corners, strip[0])[:2]:
        yield local[vertex] << 4 | NO_KICK
    for state in strip:
        yield local[state_window(corners, state)[2]] << 4 | KICKS[state % 2]


def cover_patch(corners: list[list[int]], longest: int) -> list[Strip]:
    """Return strips of at most `longest` states that cover every triangle once."""
    search = _Search(corners, longest)
    search.descend((1 << len(corners)) - 1)
    return search.best


def state_window(corners: list[list[int]], state: int) -> tuple[int, int, int]:
    """Return the three vertices of a state, in the order in which its strip pushes them."""
    triangle, edge = corners[state // 6], state % 6 // 2
    first, second, third = triangle[(edge + 1) % 3], triangle[(edge + 2) % 3], triangle[edge]
    return (third, second, first) if state % 2 else (first, second, third)


class _Search:
    """Depth-first search for the fewest strips.

    At each step the triangle with the fewest remaining neighbours goes into each of the strips
    through it, the longest first. Sets of triangles are bit masks.
    """

    def __init__(self, corners: list[list[int]], longest: int) -> None:
        partner = _partners(corners)
        self.follow = [_next_state(corners, partner, state) for state in range(6 * len(corners))]
        self.beside = [0] * len(corners)
        for edge, other in enumerate(partner):
            if other >= 0:
                self.beside[edge // 3] |= 1 << other // 3
        self.longest = longest
        self.strips: list[Strip] = []
        self.best: list[Strip] = []
        self.branches = 0

    def descend(self, remaining: int) -> None:
        """Cover the remaining triangles; keep the result if it has fewer strips than the best."""
        if not remaining:
            self.best = list(self.strips)
            return
        if self.best and (len(self.strips) + 1 >= len(self.best) or self.branches >= BRANCH_LIMIT):
            return
        self.branches += 1
        state = 6 * self._most_isolated(remaining)
        # By mask: ways that cover the same triangles are tried once.
        # Edges from last to first: the dict keeps the run of the lowest edge for a mask.
        runs = {mask: run for run, mask in (self._run(state + k, remaining) for k in (4, 2, 0))}
        for mask, run in sorted(runs.items(), key=lambda item: (-len(item[1]), item[1])):
            self.strips.append(run)
            self.descend(remaining & ~mask)
            self.strips.pop()

    def _most_isolated(self, remaining: int) -> int:
        """Return the first triangle with the fewest remaining neighbours."""
        best, fewest, rest = 0, 4, remaining
        while rest and fewest:
            low = rest & -rest
            rest ^= low
            count = (self.beside[low.bit_length() - 1] & remaining).bit_count()
            if count < fewest:
                best, fewest = low.bit_length() - 1, count
        return best

    def _run(self, state: int, remaining: int) -> tuple[Strip, int]:
        """Return the longest strip of remaining triangles through a state, and their mask."""
        free = remaining & ~(1 << state // 6)
        behind: Strip = []
        # Backwards is forwards in the other direction, bit 0 of the state.
        free = self._walk(state ^ 1, free, self.longest - 1, behind)
        run = [back ^ 1 for back in reversed(behind)] + [state]
        free = self._walk(state, free, self.longest - len(run), run)
        return run, remaining & ~free

    def _walk(self, state: int, free: int, steps: int, run: Strip) -> int:
        """Append up to `steps` following states to the run; return the triangles still free."""
        follow = self.follow
        for _ in range(steps):
            state = follow[state]
            if state < 0 or not free >> state // 6 & 1:
                break
            free ^= 1 << state // 6
            run.append(state)
        return free


def _partners(corners: list[list[int]]) -> list[int]:
    """Pair the edges `3 * triangle + edge` that join the same vertices, two by two in order."""
    partner = [-1] * (3 * len(corners))
    alone: dict[tuple[int, int], int] = {}
    for triangle, (a, b, c) in enumerate(corners):
        for edge, ends in enumerate(((a, b), (b, c), (c, a))):
            # Regardless of direction: triangles of both windings may share an edge.
            other = alone.pop(ends if ends[0] < ends[1] else ends[::-1], -1)
            here = 3 * triangle + edge
            if other < 0:
                alone[ends if ends[0] < ends[1] else ends[::-1]] = here
            else:
                partner[here], partner[other] = other, here
    return partner


def _next_state(corners: list[list[int]], partner: list[int], state: int) -> int:
    """Return the state in which the strip enters the next triangle, or -1 at a border."""
    triangle, uncrossed, direction = state // 6, state % 6 // 2, state % 2
    # The strip leaves by the edge that its two newest vertices form.
    exit_edge = (uncrossed + 2 - direction) % 3
    newest = corners[triangle][(uncrossed + direction) % 3]
    other = partner[3 * triangle + exit_edge]
    if other < 0:
        return -1
    entered, edge = divmod(other, 3)
    # Which way round the next triangle lies decides the direction, and so its kick.
    if corners[entered][(edge + 1) % 3] == newest:
        return 6 * entered + 2 * ((edge + 2) % 3)
    return 6 * entered + 2 * ((edge + 1) % 3) + 1


def decode_strip(entries: bytes, name: str) -> NDArray[np.uint8]:
    """Return the triangles that the entries of one patch draw, or refuse malformed entries."""
    triangles: list[tuple[int, ...]] = []
    window: tuple[int, ...] = ()
    pushes = 0
    for position, entry in enumerate(entries):
        vertex, command = entry >> 4, entry & 15
        window = (*window[-2:], vertex)
        if command == NO_KICK:
            pushes += 1
            continue
        # A strip starts with exactly two pushes, and goes on without any.
        if command not in DRAWN or len(set(window)) < 3 or pushes not in (0, 2):
            raise _refusal(entries, position, name)
        triangles.append(tuple(window[corner] for corner in DRAWN[command]))
        pushes = 0
    if pushes or not triangles:
        raise _refusal(entries, len(entries), name)
    return np.array(triangles, np.uint8)


def _refusal(entries: bytes, position: int, name: str) -> EncodeError:
    """Return the error for an entry that no strip can have there."""
    found = f"0x{entries[position]:02X}" if position < len(entries) else "the end"
    return EncodeError(
        "a strip is not made of segments",
        {"file": name, "entry": position, "found": found},
        "a segment is two pushes and at least one kick, and each kick draws three vertices",
    )
