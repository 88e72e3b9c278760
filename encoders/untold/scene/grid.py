"""The grid of tiles, numbered as the engine's tools number it, and the tiles of an object.

Tile x counts along +X and tile z along -Z, because the engine's exporter works in Blender's axes,
where Y points away. The grid lies on multiples of the tile size, whatever the extent of the scene,
so that a tile keeps its number when the scene grows; only y counts from the scene's lowest point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

# An object lies in a tile if it reaches into it by more than this, in metres.
SHRINK = 1e-4
# An object is spanning if it is wider than so many tiles, or lies in more than the square of it.
SPAN = 4
SPLIT_CANDIDATE_RATIO = 15
# An object is cut if it lies in at most so many tiles, be it wide or tall. A dense one, which has
# DENSE_TRIANGLES for each of its tiles, is cut into more: as one file it would be huge. Tiles of
# fewer triangles would be mostly borders.
MAX_CUT_TILES, MAX_DENSE_TILES, DENSE_TRIANGLES = 400, 4096, 64
# The longest side of a tile that a manifest may ask for, in metres.
MAX_TILE_SIZE = 1e6
# Further out a float32 position does not tell neighbouring tiles from each other.
MAX_TILE_NUMBER = 1 << 24
# The most pairs of object and tile in a scene: so many, and more for each object and triangle.
# Triangles count up to a limit, because they are declared by the file, like bounds.
SCENE_CUTS, OBJECT_CUTS, MAX_TRIANGLE_CUTS = 8192, SPAN * SPAN, 1 << 18

# For `tile_size = "auto"`: the most objects in a tile, tiles in a scene and attempts; then, in
# metres, the least size, the step between sizes and the height of a tile.
AUTO_OBJECTS, AUTO_TILES, AUTO_ROUNDS = 32, 2000, 8
AUTO_LEAST, AUTO_STEP, AUTO_HEIGHT = 5.0, 5.0, 10000.0

# The name of the bucket for objects that belong to no tile.
SHARED = "shared"

TileCoord = tuple[int, int, int]
Point = tuple[float, float, float]
# The first and the last tile along an axis.
Span = tuple[int, int]
Label = Literal["local_overlap", "shared_bucket", "future_split_candidate"]


@dataclass(frozen=True)
class Box:
    """World bounds of an object."""

    low: Point
    high: Point

    @property
    def size(self) -> tuple[float, float, float]:
        """The extent along each axis."""
        x, y, z = (high - low for low, high in zip(self.low, self.high, strict=True))
        return x, y, z

    def turned_z_up(self) -> Box:
        """Return the bounds after z, which points up in the source, has become y."""
        (x0, y0, z0), (x1, y1, z1) = self.low, self.high
        return Box((x0, z0, -y1), (x1, z1, -y0))

    def moved(self, pivot: Point) -> Box:
        """Return the bounds after the pivot has become the origin."""
        low, high = (
            (x - pivot[0], y - pivot[1], z - pivot[2]) for x, y, z in (self.low, self.high)
        )
        return Box(low, high)


@dataclass(frozen=True)
class Grid:
    """Tiles of one size; `floor` is where tile y 0 begins."""

    size: tuple[float, float, float]
    floor: float = 0.0

    @property
    def widest(self) -> float:
        """The longer side of a tile on the ground."""
        return max(self.size[0], self.size[2])

    def spans(self, box: Box) -> tuple[Span, Span, Span]:
        """Return the first and last tile that a box reaches into, along each axis."""
        # z is negated, so low and high change places.
        lows = (box.low[0], box.low[1] - self.floor, -box.high[2])
        highs = (box.high[0], box.high[1] - self.floor, -box.low[2])
        x, y, z = (
            _span(low, high, size) for low, high, size in zip(lows, highs, self.size, strict=True)
        )
        return x, y, z

    def owner(self, box: Box) -> TileCoord:
        """Return the tile that holds the centre of a box."""
        centre = [(low + high) / 2 for low, high in zip(box.low, box.high, strict=True)]
        x, y, z = centre[0], centre[1] - self.floor, -centre[2]
        across, up, along = self.size
        return math.floor(x / across), math.floor(y / up), math.floor(z / along)


def _span(low: float, high: float, size: float) -> Span:
    # A flat box would turn inside out, so it counts by its centre.
    if high - low > 2 * SHRINK:
        low, high = low + SHRINK, high - SHRINK
    else:
        low = high = (low + high) / 2
    return math.floor(low / size), math.floor(high / size)


def tile_name(tile: TileCoord) -> str:
    """Return the stem of a tile's file."""
    x, y, z = tile
    return f"tile_{x}_{y}_{z}"


def tiles_in(spans: Sequence[Span]) -> list[TileCoord]:
    """Return all tiles between the first and the last along each axis."""
    (x0, x1), (y0, y1), (z0, z1) = spans
    return [
        (x, y, z) for x in range(x0, x1 + 1) for y in range(y0, y1 + 1) for z in range(z0, z1 + 1)
    ]


def classify(box: Box, grid: Grid) -> Label:
    """Return the engine's label for an object: local to its tiles, or too large for that."""
    (x0, x1), _, (z0, z1) = grid.spans(box)
    longest = max(box.size[0], box.size[2])
    if longest > SPLIT_CANDIDATE_RATIO * grid.widest:
        return "future_split_candidate"
    if longest > SPAN * grid.widest or (x1 - x0 + 1) * (z1 - z0 + 1) > SPAN * SPAN:
        return "shared_bucket"
    return "local_overlap"


def assign_tiles(
    box: Box, grid: Grid, *, clip: bool, triangles: int = 0
) -> tuple[Span, Span, Span] | None:
    """Return the tiles that an object is cut into, or the one that owns it; None is shared."""
    if clip:
        spans = grid.spans(box)
        dense = min(triangles // DENSE_TRIANGLES, MAX_DENSE_TILES)
        return spans if count_tiles(spans) <= max(dense, MAX_CUT_TILES) else None
    if classify(box, grid) != "local_overlap":
        return None
    x, y, z = grid.owner(box)
    return (x, x), (y, y), (z, z)


def size_that_cuts(box: Box, grid: Grid) -> tuple[float, float, float] | None:
    """Return a larger tile size with which an object is cut; None if no allowed size is enough."""
    x, y, z = grid.size
    is_tall = len(set(grid.spans(box)[1])) > 1
    factor = 2
    while factor * grid.widest <= MAX_TILE_SIZE:
        # The height of a tile hardly ever matters, so it stays where it can.
        size = x * factor, min(y * factor, MAX_TILE_SIZE) if is_tall else y, z * factor
        if count_tiles(Grid(size, grid.floor).spans(box)) <= MAX_CUT_TILES:
            return size
        factor += 1 if factor < 10 else factor // 2
    return None


def count_tiles(spans: Sequence[Span]) -> int:
    """Count tiles without listing them: a huge object has more than memory could hold."""
    return math.prod(last - first + 1 for first, last in spans)


def is_too_far(spans: Sequence[Span]) -> bool:
    """Tell whether tiles are too far from the origin to be told from their neighbours."""
    return any(abs(number) > MAX_TILE_NUMBER for span in spans for number in span)


def furthest_coordinate(box: Box, grid: Grid) -> tuple[int, float]:
    """Return axis and value of the coordinate that is the most tiles away from the origin."""
    corners = [(axis, corner[axis]) for corner in (box.low, box.high) for axis in range(3)]
    return max(corners, key=lambda one: abs(one[1]) / grid.size[one[0]])


def float32_step(value: float) -> float:
    """Return the distance between neighbouring numbers of 32 bits at a value."""
    # A float32 has 24 significant bits.
    return math.ldexp(1.0, math.frexp(value)[1] - 24)


def max_scene_cuts(objects: int, triangles: int) -> int:
    """Return how many pairs of object and tile a scene may have."""
    return SCENE_CUTS + OBJECT_CUTS * objects + min(triangles, MAX_TRIANGLE_CUTS)


def auto_size(boxes: Sequence[Box]) -> tuple[float, float, float]:
    """Choose a tile size with at most 32 objects in a tile and at most 2000 tiles, if possible.

    Sizes are multiples of a step, so that a small edit seldom changes all tiles.
    """
    width = max(box.high[0] for box in boxes) - min(box.low[0] for box in boxes)
    depth = max(box.high[2] for box in boxes) - min(box.low[2] for box in boxes)
    area = max(width, AUTO_LEAST) * max(depth, AUTO_LEAST)
    wanted = min(AUTO_TILES, math.ceil(len(boxes) / AUTO_OBJECTS))
    size = _stepped(math.sqrt(area / wanted))
    for _ in range(AUTO_ROUNDS):
        tiles, objects = _occupancy(boxes, size)
        if tiles > AUTO_TILES:
            size = _stepped(size * 1.25)
        elif objects > AUTO_OBJECTS and size > AUTO_LEAST:
            size = min(_stepped(size * 0.75), size - AUTO_STEP)
        else:
            break
    return size, AUTO_HEIGHT, size


def _stepped(size: float) -> float:
    return max(AUTO_LEAST, math.ceil(size / AUTO_STEP) * AUTO_STEP)


def _occupancy(boxes: Sequence[Box], size: float) -> tuple[int, int]:
    """Return the number of tiles of a size, and of objects in the fullest one."""
    grid = Grid((size, AUTO_HEIGHT, size))
    counts: dict[tuple[int, int], int] = {}
    for box in boxes:
        if classify(box, grid) == "local_overlap":
            x, _, z = grid.owner(box)
            counts[x, z] = counts.get((x, z), 0) + 1
    return len(counts), max(counts.values(), default=0)
