"""The distances at which tiles are loaded and dropped, and at which their levels change.

These are the formulas of the engine's exporter, with the gap of 4 m between levels that the runtime
enforces. All distances are in metres, to the nearest point of a tile's bounds.
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
# The runtime accepts no smaller distance.
LEAST_DISTANCE = 1.0


@dataclass(frozen=True)
class Radii:
    """Within `streaming` a tile is loaded, beyond `unload` it is dropped."""

    streaming: float
    unload: float


def half_diagonal(size_x: float, size_z: float) -> float:
    """Return half the diagonal of a scene on the ground."""
    return 0.5 * math.sqrt(size_x * size_x + size_z * size_z)


def tile_radii(tile: float, half: float) -> Radii:
    """Return the radii of all tiles, from a tile's longer side and the scene's half diagonal."""
    streaming = min(2.0 * tile, 0.35 * half)
    return Radii(streaming, max(min(3.0 * tile, 0.5 * half), 1.5 * streaming))


def shared_radii(half: float) -> Radii:
    """Return the radii of the shared bucket."""
    return Radii(half, 1.5 * half)


def hlod_distance(radii: Radii) -> float:
    """Return the distance from which the HLOD is shown."""
    low = radii.streaming + GAP
    margin = min(OUTER_MARGIN, 0.25 * max(radii.unload - radii.streaming, 2.0 * GAP))
    high = max(low, radii.unload - margin)
    eased = 1.0 - (1.0 - HLOD_POSITION) ** 2
    return low + (high - low) * eased


def lod_distances(radii: Radii, count: int, hlod: float | None) -> list[float]:
    """Return the distance from which each LOD is shown: at least GAP apart, before the HLOD."""
    far = radii.unload - OUTER_MARGIN if hlod is None else hlod - GAP
    near = max(radii.streaming + GAP, 0.45 * radii.streaming, GAP)
    # Where the levels would not fit between, they begin earlier.
    near = min(near, far - GAP * (count - 1))
    found: list[float] = []
    for number, position in enumerate(_positions(count)):
        wanted = near + (far - near) * position**1.25
        latest = far - GAP * (count - 1 - number)
        earliest = found[-1] + GAP if found else LEAST_DISTANCE
        found.append(max(min(wanted, latest), earliest))
    return found


def _positions(count: int) -> Sequence[float]:
    step = (LAST_POSITION - FIRST_POSITION) / max(count - 1, 1)
    return [FIRST_POSITION + step * number for number in range(count)]
