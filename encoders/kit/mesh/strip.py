"""Write patches as strip commands for a window of the last three vertices, and read them back.

An entry is `vertex << 4 | kick << 2`: kick 0 pushes a vertex, 1 also draws the window in its
order, 2 draws it with the last two swapped. A segment is two pushes and one or more kicks. The
one rule: every triangle of a patch is drawn exactly once, with its winding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from encoders.kit.error import EncodeError
from encoders.kit.mesh.patch import Clusters
from encoders.kit.mesh.strip_cover import Strip, cover_patch, state_window
from encoders.kit.mesh.triangle import Indices, checked_triangles, has_distinct_corners
from encoders.kit.native.kernel import choose

# The low four bits of an entry, and the places in the window that they draw.
NO_KICK = 0b0000
KICKS = (0b0100, 0b1000)
DRAWN = {0b0100: (0, 1, 2), 0b1000: (0, 2, 1)}
MAX_VERTICES = 16
MAX_TRIANGLES = 64


@dataclass(frozen=True)
class StripPatches:
    """Patches one after another: vertices of the mesh in order of first use, and entries.

    Row p of `starts` says where patch p has its first vertex and its first entry.
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
    """Write each cluster as one patch, or as several where it needs more than the entries."""
    if max_entries < 3:
        raise ValueError(f"no triangle fits into {max_entries} entries")
    if len(clusters) and int(np.diff(clusters.starts).max()) > MAX_TRIANGLES:
        raise ValueError(f"a cluster has more than {MAX_TRIANGLES} triangles")
    triangles = checked_triangles(indices, vertex_count)[clusters.order]
    if not has_distinct_corners(triangles).all():
        raise ValueError("a cluster has a triangle with fewer than three vertices")
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
    """Fill the arrays and return the number of patches, or -1 where a cluster is too large."""
    count = vertex_end = entry_end = 0
    for begin, end in pairwise(cluster_starts.tolist()):
        corners: list[list[int]] = triangles[begin:end].tolist()
        for strips in _shares(cover_patch(corners, max_entries - 2), max_entries):
            local = _local_numbers(corners, strips)
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


def _shares(strips: list[Strip], max_entries: int) -> Iterator[list[Strip]]:
    """Deal the strips of a cluster to patches in order, each as many as its entries hold."""
    share: list[Strip] = []
    room = max_entries
    for strip in strips:
        if len(strip) + 2 > room:
            yield share
            share, room = [], max_entries
        share.append(strip)
        room -= len(strip) + 2
    yield share


def _local_numbers(corners: list[list[int]], strips: list[Strip]) -> dict[int, int]:
    """Give the vertices of these strips numbers by first use, in the order of the triangles."""
    used = sorted(state // 6 for strip in strips for state in strip)
    local: dict[int, int] = {}
    for triangle in used:
        for vertex in corners[triangle]:
            local.setdefault(vertex, len(local))
    return local


def _commands(corners: list[list[int]], strip: Strip, local: dict[int, int]) -> Iterator[int]:
    """Yield the entries of one segment: two pushes, then a kick for each triangle."""
    for vertex in state_window(corners, strip[0])[:2]:
        yield local[vertex] << 4 | NO_KICK
    for state in strip:
        yield local[state_window(corners, state)[2]] << 4 | KICKS[state % 2]


def decode_strip(entries: bytes, name: str) -> NDArray[np.uint8]:
    """Run the entries of one patch through the window; return the triangles that it draws."""
    triangles: list[tuple[int, ...]] = []
    window: tuple[int, ...] = ()
    pushes = 0
    for place, entry in enumerate(entries):
        vertex, command = entry >> 4, entry & 15
        window = (*window[-2:], vertex)
        if command == NO_KICK:
            pushes += 1
            continue
        if command not in DRAWN or len(set(window)) < 3 or pushes not in (0, 2):
            raise _refusal(entries, place, name)
        triangles.append(tuple(window[corner] for corner in DRAWN[command]))
        pushes = 0
    if pushes or not triangles:
        raise _refusal(entries, len(entries), name)
    return np.array(triangles, np.uint8)


def _refusal(entries: bytes, place: int, name: str) -> EncodeError:
    """Name the entry at which a strip stops making sense."""
    found = f"0x{entries[place]:02X}" if place < len(entries) else "the end"
    return EncodeError(
        "a strip is not made of segments",
        {"file": name, "entry": place, "found": found},
        "a segment is two pushes and at least one kick, and each kick draws three vertices",
    )
