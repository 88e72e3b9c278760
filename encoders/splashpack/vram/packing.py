"""Pack textures and palettes into VRAM: 1024 x 512 words, of which the screen takes a part.

Textures are packed into atlases, atlases stand on texture pages, and palettes (CLUTs) lie in the
rows that are left. All numbers are integers, and the result depends on the textures alone, not on
their order. Several strategies are tried, among them that of the console's own exporter, so
whatever the exporter can fit is fitted here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from encoders.kit.image.rectangle_packing import Item, PageKind, Rect, pack_rectangles
from encoders.splashpack.format import (
    CLUT_STEP,
    PAGE_HEIGHT,
    PAGE_WIDTH,
    VRAM_HEIGHT,
    VRAM_WIDTH,
    Area,
)

Grid = npt.NDArray[np.bool_]
# The widest first, because wide atlases have fewer places to go to.
DEPTHS = (2, 1, 0)

# The left and top corner of something in VRAM, in words.
Corner = tuple[int, int]
# An atlas: left, top, width.
AtlasPlace = tuple[int, int, int]
# A stretch of free words: left end, row, right end.
Run = tuple[int, int, int]


@dataclass(frozen=True)
class VramTexture:
    """A texture to place: its size in words and rows, its depth, and the size of its palette.

    Textures with equal `palette` share one; `colors` is 0 for a texture without a palette.
    """

    key: str
    width: int
    height: int
    depth: int
    colors: int = 0
    palette: str = ""


@dataclass(frozen=True)
class VramLayout:
    """Where everything lies: atlases, textures by their key, and palettes by their name."""

    atlases: tuple[AtlasPlace, ...]
    places: Mapping[str, Corner]
    cluts: Mapping[str, Corner]


class VramMap:
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

    def runs(self) -> list[Run]:
        """Return all stretches of free words."""
        # Taken words before and behind each row, so that every stretch has two ends.
        edges = np.diff(self._grid, axis=1, prepend=True, append=True)
        rows, ends = np.nonzero(edges)
        pairs = zip(ends[0::2].tolist(), rows[0::2].tolist(), ends[1::2].tolist(), strict=True)
        return sorted(pairs)


def pack_vram(textures: Sequence[VramTexture], taken: Iterable[Area]) -> VramLayout | None:
    """Find a place for everything by the first strategy that does, or return None."""
    areas = list(taken)
    ordered = sorted(textures, key=lambda texture: texture.key)
    strategies: tuple[Strategy, ...] = (
        by_depth(pack_tightly),
        pack_all_depths,
        by_depth(pack_by_scan),
    )
    for strategy in strategies:
        # A new map for each: a strategy that fails has taken areas already.
        vram = VramMap(areas)
        found = strategy(ordered, vram)
        if found is None:
            continue
        words = palettes_of(ordered, found[1])
        cluts = place_cluts(words, vram.runs())
        if cluts is not None:
            return VramLayout(tuple(found[0]), found[1], cluts)
    return None


# The textures of each atlas: key, left, top.
AtlasContents = list[list[tuple[str, int, int]]]
PackAtlases = Callable[[Sequence[VramTexture], int], "AtlasContents | None"]
Found = tuple[list[AtlasPlace], dict[str, Corner]]
# Places textures and marks their atlases as taken.
Strategy = Callable[[Sequence[VramTexture], "VramMap"], "Found | None"]


def by_depth(pack: PackAtlases) -> Strategy:
    """Return the strategy that packs textures of each depth into atlases of their own."""

    def strategy(textures: Sequence[VramTexture], vram: VramMap) -> Found | None:
        atlases: list[AtlasPlace] = []
        places: dict[str, Corner] = {}
        for depth in DEPTHS:
            width = PAGE_WIDTH << depth
            contents = pack([one for one in textures if one.depth == depth], width)
            corners = place_atlases(width, len(contents or ()), vram)
            if contents is None or corners is None:
                return None
            for atlas, (left, top) in zip(contents, corners, strict=True):
                places |= {key: (left + x, top + y) for key, x, y in atlas}
            atlases += [(*corner, width) for corner in corners]
        return atlases, places

    return strategy


def pack_all_depths(textures: Sequence[VramTexture], vram: VramMap) -> Found | None:
    """Pack textures of all depths side by side, and cover them with atlases afterwards.

    A texture may lie anywhere within the reach of a texture page, whose corner need not be that
    of an atlas. Narrow textures can therefore use the room that is left beside wide ones.
    """
    slots = [(x, y) for y in (0, PAGE_HEIGHT) for x in range(0, VRAM_WIDTH, PAGE_WIDTH)]
    closed = [slot for slot in slots if not vram.is_free(_slot_area(slot))]
    obstacles = tuple(Rect(x, y, PAGE_WIDTH, PAGE_HEIGHT) for x, y in closed)
    items = [
        Item(
            texture.key,
            texture.width,
            texture.height,
            within_x=(PAGE_WIDTH, PAGE_WIDTH << texture.depth),
            within_y=(PAGE_HEIGHT, PAGE_HEIGHT),
        )
        for texture in textures
    ]
    packing = pack_rectangles(items, PageKind(VRAM_WIDTH, VRAM_HEIGHT, obstacles, 1))
    if packing.unplaced:
        return None
    used = _used_slots(rect for _, rect in packing.placed.values())
    for slot in used:
        vram.take(_slot_area(slot))
    places = {key: (rect.x, rect.y) for key, (_, rect) in packing.placed.items()}
    return cover_slots(used), places


def _used_slots(rects: Iterable[Rect]) -> set[Corner]:
    return {
        (column * PAGE_WIDTH, rect.y // PAGE_HEIGHT * PAGE_HEIGHT)
        for rect in rects
        for column in range(rect.x // PAGE_WIDTH, -(-(rect.x + rect.width) // PAGE_WIDTH))
    }


def _slot_area(slot: Corner) -> Area:
    x, y = slot
    return x, y, x + PAGE_WIDTH, y + PAGE_HEIGHT


def cover_slots(slots: Iterable[Corner]) -> list[AtlasPlace]:
    """Cover texture pages with the widest atlases that cover no other page."""
    left = sorted(slots, key=lambda slot: (slot[1], slot[0]))
    atlases = []
    while left:
        x, y = left[0]
        for depth in DEPTHS:
            width = PAGE_WIDTH << depth
            covered = [(at, y) for at in range(x, x + width, PAGE_WIDTH)]
            if set(covered) <= set(left):
                atlases.append((x, y, width))
                # Slots are sorted, so the covered ones are the first.
                left = left[len(covered) :]
                break
    return atlases


def pack_tightly(textures: Sequence[VramTexture], width: int) -> AtlasContents | None:
    """Pack textures into as few atlases as the rectangle packer needs."""
    items = [Item(texture.key, texture.width, texture.height) for texture in textures]
    packing = pack_rectangles(items, PageKind(width, PAGE_HEIGHT))
    if packing.unplaced:
        return None
    atlases: AtlasContents = [[] for _ in range(packing.pages)]
    for key, (page, rect) in packing.placed.items():
        atlases[page].append((key, rect.x, rect.y))
    return [sorted(atlas, key=lambda one: (one[2], one[1])) for atlas in atlases]


def pack_by_scan(textures: Sequence[VramTexture], width: int) -> AtlasContents | None:
    """Pack textures, the largest first, each at the first free spot of the last atlas.

    This is how the console's own exporter packs. It is usually worse, but not always.
    """
    atlases: AtlasContents = []
    grid = np.zeros((0, width), np.bool_)
    for texture in sorted(textures, key=lambda one: -one.width * one.height):
        spot = _first_spot(grid, texture.width, texture.height)
        if spot is None:
            grid = np.zeros((PAGE_HEIGHT, width), np.bool_)
            atlases.append([])
            spot = _first_spot(grid, texture.width, texture.height)
        if spot is None:
            return None
        x, y = spot
        grid[y : y + texture.height, x : x + texture.width] = True
        atlases[-1].append((texture.key, x, y))
    return atlases


def _first_spot(grid: Grid, width: int, height: int) -> Corner | None:
    """Find the topmost, then leftmost corner of a free rectangle."""
    if grid.shape[0] < height or grid.shape[1] < width:
        return None
    # A summed-area table counts the taken words of all rectangles of this size at once.
    sums = np.zeros((grid.shape[0] + 1, grid.shape[1] + 1), np.int32)
    sums[1:, 1:] = grid.cumsum(axis=0, dtype=np.int32).cumsum(axis=1, dtype=np.int32)
    taken = sums[height:, width:] - sums[:-height, width:] - sums[height:, :-width]
    free = np.flatnonzero(taken + sums[:-height, :-width] == 0)
    if not len(free):
        return None
    y, x = divmod(int(free[0]), taken.shape[1])
    return x, y


def place_atlases(width: int, count: int, vram: VramMap) -> list[Corner] | None:
    """Take the first free texture pages for atlases of one width; None if they do not fit.

    Widths divide one another, so with the widest first no other choice fits more.
    """
    corners: list[Corner] = []
    for y in (0, PAGE_HEIGHT):
        for x in range(0, VRAM_WIDTH - width + 1, PAGE_WIDTH):
            area = (x, y, x + width, y + PAGE_HEIGHT)
            if len(corners) < count and vram.is_free(area):
                vram.take(area)
                corners.append((x, y))
    return corners if len(corners) == count else None


def palettes_of(textures: Iterable[VramTexture], places: Mapping[str, Corner]) -> dict[str, int]:
    """Return the words of each palette, in the order in which their textures lie in VRAM."""

    def order(texture: VramTexture) -> tuple[int, int, int, int]:
        x, y = places[texture.key]
        return -texture.depth, y // PAGE_HEIGHT, x // PAGE_WIDTH, y

    ordered = sorted((texture for texture in textures if texture.colors), key=order)
    return {texture.palette: texture.colors for texture in ordered}


def place_cluts(words: Mapping[str, int], free: Iterable[Run]) -> dict[str, Corner] | None:
    """Place palettes of so many words in free rows, in the given order; None if they do not fit.

    A palette is one row high and begins at a multiple of 16 words.
    """
    runs = {run for run in map(_stepped, free) if run[0] < run[2]}
    widest_first = sorted(words, key=lambda name: -words[name])
    # First below one another, then with as little waste as possible, and at last in the order and
    # with the choice of the console's exporter.
    attempts = ((widest_first, _leftmost), (widest_first, _tightest), (list(words), _leftmost))
    for order, choose in attempts:
        places = _place_in_runs(order, words, set(runs), choose)
        if places is not None:
            return {name: places[name] for name in words}
    return None


def _stepped(run: Run) -> Run:
    """Move the left end of a run to where a palette can begin."""
    left, row, right = run
    return -(-left // CLUT_STEP) * CLUT_STEP, row, right


def _leftmost(runs: Iterable[Run]) -> Run:
    return min(runs)


def _tightest(runs: Iterable[Run]) -> Run:
    return min(runs, key=lambda run: (run[2] - run[0], run))


def _place_in_runs(
    order: Sequence[str],
    words: Mapping[str, int],
    runs: set[Run],
    choose: Callable[[Iterable[Run]], Run],
) -> dict[str, Corner] | None:
    places: dict[str, Corner] = {}
    for name in order:
        fits = [run for run in runs if run[0] + words[name] <= run[2]]
        if not fits:
            return None
        left, row, right = choose(fits)
        places[name] = (left, row)
        runs.remove((left, row, right))
        rest = _stepped((left + words[name], row, right))
        if rest[0] < rest[2]:
            runs.add(rest)
    return places
