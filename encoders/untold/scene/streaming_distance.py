"""The distances at which tiles are loaded and dropped, and at which their levels change.

These are the formulas of the engine's exporter, kept within what the runtime accepts: it moves or
drops levels that are nearer to each other than 4 m or too near to a radius. All distances are in
metres, to the nearest point of a tile's bounds, and those of levels are whole centimetres.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

GAP = 4.0
OUTER_MARGIN = 4.0
PRIORITY = 10
# The exporter's formula has a position from 0 to 1; at 1 the easing has no effect.
HLOD_POSITION = 1.0
# Where the first and the last LOD begin, between the nearest and the furthest distance.
FIRST_POSITION, LAST_POSITION = 0.30, 0.78
# The runtime begins no LOD nearer than this, in metres and as a part of the streaming radius.
LEAST_DISTANCE, LEAST_RATIO = 1.0, 0.35
# The runtime shows no HLOD later than this before the unload radius.
HLOD_MARGIN = 1.0
# The runtime looks at no tile further away.
MAX_DISTANCE = 500.0
# How much further out than the streaming radius a tile is dropped.
UNLOAD_RATIO = 1.5
CENTIMETRES = 100


@dataclass(frozen=True)
class Radii:
    """Within `streaming` a tile is loaded, beyond `unload` it is dropped."""

    streaming: float
    unload: float


def half_diagonal(size_x: float, size_z: float) -> float:
    """Return half the diagonal of a scene on the ground."""
    return 0.5 * math.sqrt(size_x * size_x + size_z * size_z)


def tile_radii(tile: float, half: float, lods: int = 0, *, has_hlod: bool = False) -> Radii:
    """Return the radii of all tiles, with room for so many levels between them.

    `tile` is the longer side of a tile on the ground, `half` the scene's half diagonal.
    """
    streaming = min(2.0 * tile, 0.35 * half, MAX_DISTANCE / UNLOAD_RATIO)
    unload = max(min(3.0 * tile, 0.5 * half), UNLOAD_RATIO * streaming)
    # In whole millimetres, as the manifest has them, so that levels fit the radii as written.
    streaming, unload = round(streaming, 3), round(min(unload, MAX_DISTANCE), 3)
    last = _centimetres_from(_least_hlod(streaming, lods)) / CENTIMETRES
    needed = last + HLOD_MARGIN if has_hlod else max(last, streaming + GAP)
    return Radii(streaming, max(unload, round(needed, 3)))


def shared_radii(half: float) -> Radii:
    """Return the radii of the shared bucket."""
    return Radii(half, max(UNLOAD_RATIO * half, half + GAP))


def hlod_distance(radii: Radii, lods: int = 0) -> float:
    """Return the distance from which the HLOD is shown, with so many LODs before it."""
    low = radii.streaming + GAP
    margin = min(OUTER_MARGIN, 0.25 * max(radii.unload - radii.streaming, 2.0 * GAP))
    high = max(low, radii.unload - margin)
    eased = 1.0 - (1.0 - HLOD_POSITION) ** 2
    wanted = round((low + (high - low) * eased) * CENTIMETRES)
    return max(wanted, _centimetres_from(_least_hlod(radii.streaming, lods))) / CENTIMETRES


def lod_distances(radii: Radii, count: int, hlod: float | None) -> list[float]:
    """Return the distance from which each LOD is shown: at least GAP apart, before the HLOD."""
    far = radii.unload - OUTER_MARGIN if hlod is None else hlod - GAP
    near = max(radii.streaming + GAP, 0.45 * radii.streaming, GAP)
    # Where the levels would not fit between, they begin earlier.
    near = min(near, far - GAP * (count - 1))
    gap = round(GAP * CENTIMETRES)
    last = math.floor(round(far * CENTIMETRES, 6))
    earliest = _centimetres_from(_least_lod(radii.streaming))
    found: list[int] = []
    for number, position in enumerate(_positions(count)):
        wanted = round((near + (far - near) * position**1.25) * CENTIMETRES)
        found.append(max(min(wanted, last - gap * (count - 1 - number)), earliest))
        earliest = found[-1] + gap
    return [one / CENTIMETRES for one in found]


def _least_lod(streaming: float) -> float:
    return max(LEAST_DISTANCE, LEAST_RATIO * streaming)


def _least_hlod(streaming: float, lods: int) -> float:
    """Return the least distance of an HLOD that leaves room for so many LODs before it."""
    first = _centimetres_from(_least_lod(streaming)) / CENTIMETRES
    return max(streaming + GAP, first + GAP * lods)


def _centimetres_from(metres: float) -> int:
    """Round up to whole centimetres; what binary fractions add to a decimal does not count."""
    return math.ceil(round(metres * CENTIMETRES, 6))


def _positions(count: int) -> Sequence[float]:
    step = (LAST_POSITION - FIRST_POSITION) / max(count - 1, 1)
    return [FIRST_POSITION + step * number for number in range(count)]
