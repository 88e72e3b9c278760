"""The console's own exporter, as far as it packs: the yardstick for our layouts.

Written from the description of its steps, flaws and all: only the last atlas is tried, corners
are scanned word by word, palettes are put column by column. It is slow and does not care.
"""

from __future__ import annotations

Area = tuple[int, int, int, int]


def meets(one: Area, other: Area) -> bool:
    (ax, ay, aw, ah), (bx, by, bw, bh) = one, other
    return ax < bx + bw and bx < ax + aw and ay < by + bh and by < ay + ah


class Rows:
    """Taken words as one number a row, so that scanning is quick enough for tests."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.rows = [0] * height

    def is_free(self, area: Area) -> bool:
        x, y, width, height = area
        mask = ((1 << width) - 1) << x
        return not any(row & mask for row in self.rows[y : y + height])

    def take(self, area: Area) -> None:
        x, y, width, height = area
        mask = ((1 << width) - 1) << x
        for row in range(y, min(y + height, self.height)):
            self.rows[row] |= mask

    def first_corner(self, width: int, height: int) -> tuple[int, int] | None:
        """The topmost, then leftmost corner of a free rectangle."""
        every = (1 << (self.width - width + 1)) - 1 if width <= self.width else 0
        for y in range(self.height - height + 1):
            taken = 0
            for row in self.rows[y : y + height]:
                taken |= row
            free = ~taken
            spots = free & ((1 << self.width) - 1)
            done = 1
            while done < width and spots:
                step = min(done, width - done)
                spots &= spots >> step
                done += step
            spots &= every
            if spots:
                return (spots & -spots).bit_length() - 1, y
        return None


def pack_group(sizes: list[tuple[int, int]], width: int) -> list[list[tuple[int, int, int]]] | None:
    """Atlases of (number, x, y), or None when a texture fits no atlas."""
    atlases: list[list[tuple[int, int, int]]] = [[]]
    current = Rows(width, 256)
    order = sorted(range(len(sizes)), key=lambda number: -sizes[number][0] * sizes[number][1])
    for number in order:
        spot = current.first_corner(*sizes[number])
        if spot is None:
            current = Rows(width, 256)
            atlases.append([])
            spot = current.first_corner(*sizes[number])
        if spot is None:
            return None
        current.take((*spot, *sizes[number]))
        atlases[-1].append((number, *spot))
    return atlases


def fits(textures: list[tuple[int, int, int, int]], taken: list[Area]) -> bool:
    """Whether the exporter places textures of (words, rows, depth, palette words)."""
    vram = Rows(1024, 512)
    for area in taken:
        vram.take(area)
    palettes: list[int] = []
    for depth in (2, 1, 0):
        group = [one for one in textures if one[2] == depth]
        if not group:
            continue
        width = 64 << depth
        atlases = pack_group([one[:2] for one in group], width)
        if atlases is None:
            return False
        for atlas in atlases:
            spots = [(x, y) for y in (0, 256) for x in range(0, 1024 - width + 1, 64)]
            spot = next((s for s in spots if vram.is_free((*s, width, 256))), None)
            if spot is None:
                return False
            vram.take((*spot, width, 256))
            palettes += [group[number][3] for number, _, _ in atlas if group[number][3]]
    return all(place_palette(vram, words) for words in palettes)


def place_palette(vram: Rows, words: int) -> bool:
    for x in range(0, 1024 - words + 1, 16):
        for y in range(512):
            if vram.is_free((x, y, words, 1)):
                vram.take((x, y, words, 1))
                return True
    return False
