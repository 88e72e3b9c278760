"""Where textures and palettes go in VRAM: 1024 x 512 words, of which the screen takes a part.

Textures are packed into atlases of their depth, atlases stand on texture pages, palettes lie in
rows that are left. All numbers are whole, and the one rule is that the result depends on the
pieces alone, whatever their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from encoders.kit.image.rectangle_packing import Item, PageKind, Rect, pack_rectangles
from encoders.splashpack.clut import place_cluts
from encoders.splashpack.table import (
    PAGE_HEIGHT,
    PAGE_WIDTH,
    VRAM_HEIGHT,
    VRAM_WIDTH,
)

Area = tuple[int, int, int, int]
Grid = npt.NDArray[np.bool_]
# Wide atlases have fewer places to go to.
DEPTHS = (2, 1, 0)


@dataclass(frozen=True)
class Piece:
    """A texture to place: its size in words and rows, its depth, and its palette, if any.

    Pieces with equal `palette` share one.
    """

    key: str
    width: int
    height: int
    depth: int
    colors: int = 0
    palette: str = ""


@dataclass(frozen=True)
class Arrangement:
    """Where everything went: atlases as corner and width, textures and palettes by their corners.

    Textures and palettes go by key and name.
    """

    atlases: tuple[tuple[int, int, int], ...]
    places: Mapping[str, tuple[int, int]]
    cluts: Mapping[str, tuple[int, int]]


class Memory:
    """Which words of VRAM are taken."""

    def __init__(self, taken: Iterable[Area]) -> None:
        self._grid = np.zeros((VRAM_HEIGHT, VRAM_WIDTH), np.bool_)
        for area in taken:
            self.take(area)

    def take(self, area: Area) -> None:
        """Mark a rectangle (left, top, right, bottom) as taken."""
        left, top, right, bottom = area
        self._grid[top:bottom, left:right] = True

    def is_free(self, area: Area) -> bool:
        """Tell whether no word of a rectangle is taken."""
        left, top, right, bottom = area
        return not self._grid[top:bottom, left:right].any()

    def runs(self) -> list[tuple[int, int, int]]:
        """List the stretches of free words as left end, row, right end."""
        edges = np.diff(self._grid, axis=1, prepend=True, append=True)
        rows, ends = np.nonzero(edges)
        pairs = zip(ends[0::2].tolist(), rows[0::2].tolist(), ends[1::2].tolist(), strict=True)
        return sorted(pairs)


def arrange(pieces: Sequence[Piece], taken: Iterable[Area]) -> Arrangement | None:
    """Find a place for everything, or None; ways of packing are tried until one fits."""
    areas = list(taken)
    ordered = sorted(pieces, key=lambda piece: piece.key)
    ways: tuple[Way, ...] = (by_depth(pack_tightly), place_anywhere, by_depth(pack_by_scan))
    for way in ways:
        memory = Memory(areas)
        found = way(ordered, memory)
        if found is None:
            continue
        words = palettes_of(ordered, found[1])
        cluts = place_cluts(words, memory.runs())
        if cluts is not None:
            return Arrangement(tuple(found[0]), found[1], cluts)
    return None


Shelves = list[list[tuple[str, int, int]]]
Pack = Callable[[Sequence[Piece], int], "Shelves | None"]
Found = tuple[list[tuple[int, int, int]], dict[str, tuple[int, int]]]
Way = Callable[[Sequence[Piece], "Memory"], "Found | None"]


def by_depth(pack: Pack) -> Way:
    """Give the way that packs atlases of one depth each, and places these."""

    def way(pieces: Sequence[Piece], memory: Memory) -> Found | None:
        atlases: list[tuple[int, int, int]] = []
        places: dict[str, tuple[int, int]] = {}
        for depth in DEPTHS:
            width = PAGE_WIDTH << depth
            shelves = pack([piece for piece in pieces if piece.depth == depth], width)
            corners = place_atlases(width, len(shelves or ()), memory)
            if shelves is None or corners is None:
                return None
            for shelf, (left, top) in zip(shelves, corners, strict=True):
                places |= {key: (left + x, top + y) for key, x, y in shelf}
            atlases += [(*corner, width) for corner in corners]
        return atlases, places

    return way


def place_anywhere(pieces: Sequence[Piece], memory: Memory) -> Found | None:
    """Pack textures of all depths side by side, and cover them with atlases then.

    A texture may lie anywhere within the reach of a texture page, whose corner need not be that
    of an atlas: what is left beside wide textures is room for narrow ones.
    """
    slots = [(x, y) for y in (0, PAGE_HEIGHT) for x in range(0, VRAM_WIDTH, PAGE_WIDTH)]
    closed = [slot for slot in slots if not memory.is_free(_slot_area(slot))]
    obstacles = tuple(Rect(x, y, PAGE_WIDTH, PAGE_HEIGHT) for x, y in closed)
    items = [
        Item(
            piece.key,
            piece.width,
            piece.height,
            within_x=(PAGE_WIDTH, PAGE_WIDTH << piece.depth),
            within_y=(PAGE_HEIGHT, PAGE_HEIGHT),
        )
        for piece in pieces
    ]
    packing = pack_rectangles(items, PageKind(VRAM_WIDTH, VRAM_HEIGHT, obstacles, 1))
    if packing.unplaced:
        return None
    used = _used_slots(rect for _, rect in packing.placed.values())
    for slot in used:
        memory.take(_slot_area(slot))
    places = {key: (rect.x, rect.y) for key, (_, rect) in packing.placed.items()}
    return cover_slots(used), places


def _used_slots(rects: Iterable[Rect]) -> set[tuple[int, int]]:
    return {
        (column * PAGE_WIDTH, rect.y // PAGE_HEIGHT * PAGE_HEIGHT)
        for rect in rects
        for column in range(rect.x // PAGE_WIDTH, -(-(rect.x + rect.width) // PAGE_WIDTH))
    }


def _slot_area(slot: tuple[int, int]) -> Area:
    x, y = slot
    return x, y, x + PAGE_WIDTH, y + PAGE_HEIGHT


def cover_slots(slots: Iterable[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Cover texture pages with the widest atlases that cover no other."""
    left = sorted(slots, key=lambda slot: (slot[1], slot[0]))
    atlases = []
    while left:
        x, y = left[0]
        for depth in DEPTHS:
            width = PAGE_WIDTH << depth
            covered = [(at, y) for at in range(x, x + width, PAGE_WIDTH)]
            if set(covered) <= set(left):
                atlases.append((x, y, width))
                left = left[len(covered) :]
                break
    return atlases


def pack_tightly(pieces: Sequence[Piece], width: int) -> Shelves | None:
    """Pack textures into as few atlases as free rectangles allow, each in order of its rows."""
    items = [Item(piece.key, piece.width, piece.height) for piece in pieces]
    packing = pack_rectangles(items, PageKind(width, PAGE_HEIGHT))
    if packing.unplaced:
        return None
    shelves: Shelves = [[] for _ in range(packing.pages)]
    for key, (page, rect) in packing.placed.items():
        shelves[page].append((key, rect.x, rect.y))
    return [sorted(shelf, key=lambda one: (one[2], one[1])) for shelf in shelves]


def pack_by_scan(pieces: Sequence[Piece], width: int) -> Shelves | None:
    """Pack textures, the largest first, each at the first free spot of the last atlas.

    This is how the console's own exporter does it: worse as a rule, but now and then not.
    """
    shelves: Shelves = []
    grid = np.zeros((0, width), np.bool_)
    for piece in sorted(pieces, key=lambda one: -one.width * one.height):
        spot = _first_spot(grid, piece.width, piece.height)
        if spot is None:
            grid = np.zeros((PAGE_HEIGHT, width), np.bool_)
            shelves.append([])
            spot = _first_spot(grid, piece.width, piece.height)
        if spot is None:
            return None
        x, y = spot
        grid[y : y + piece.height, x : x + piece.width] = True
        shelves[-1].append((piece.key, x, y))
    return shelves


def _first_spot(grid: Grid, width: int, height: int) -> tuple[int, int] | None:
    """Find the topmost, then leftmost corner of a free rectangle."""
    if grid.shape[0] < height or grid.shape[1] < width:
        return None
    sums = np.zeros((grid.shape[0] + 1, grid.shape[1] + 1), np.int32)
    sums[1:, 1:] = grid.cumsum(axis=0, dtype=np.int32).cumsum(axis=1, dtype=np.int32)
    taken = sums[height:, width:] - sums[:-height, width:] - sums[height:, :-width]
    free = np.flatnonzero(taken + sums[:-height, :-width] == 0)
    if not len(free):
        return None
    y, x = divmod(int(free[0]), taken.shape[1])
    return x, y


def place_atlases(width: int, count: int, memory: Memory) -> list[tuple[int, int]] | None:
    """Take the first free texture pages for atlases of one width, or None if they do not fit.

    Widths divide one another, so with the widest first no other choice fits more.
    """
    corners: list[tuple[int, int]] = []
    for y in (0, PAGE_HEIGHT):
        for x in range(0, VRAM_WIDTH - width + 1, PAGE_WIDTH):
            area = (x, y, x + width, y + PAGE_HEIGHT)
            if len(corners) < count and memory.is_free(area):
                memory.take(area)
                corners.append((x, y))
    return corners if len(corners) == count else None


def palettes_of(pieces: Iterable[Piece], places: Mapping[str, tuple[int, int]]) -> dict[str, int]:
    """Name the palettes in the order in which their textures lie, each once, with its words."""

    def order(piece: Piece) -> tuple[int, int, int, int]:
        x, y = places[piece.key]
        return -piece.depth, y // PAGE_HEIGHT, x // PAGE_WIDTH, y

    ordered = sorted((piece for piece in pieces if piece.colors), key=order)
    return {piece.palette: piece.colors for piece in ordered}
