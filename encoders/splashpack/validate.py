"""Validation of a whole SPLASHPACK file, before it is written and after it is read.

The rules are the console's: where a texture page can begin, what a CLUT may cover, which numbers
the geometry engine can hold. The runtime checks none of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.splashpack.format import (
    ATLAS_WIDTHS,
    COUNT_LIMIT,
    DIRECT,
    PAGE_HEIGHT,
    PAGE_WIDTH,
    VRAM_HEIGHT,
    VRAM_WIDTH,
    Area,
    Atlas,
    Columns,
    Splashpack,
)

# What the 16 bits of the geometry engine hold.
LEAST, GREATEST = -32768, 32767


def validate_splashpack(pack: Splashpack, name: str) -> None:
    """Refuse a file that the runtime would misread."""
    numbers = {
        "objects": len(pack.triangle_count),
        "atlases": len(pack.atlases),
        "CLUTs": len(pack.cluts),
    }
    for kind, count in numbers.items():
        if count > COUNT_LIMIT:
            facts = {"file": name, kind: count, "allowed": COUNT_LIMIT}
            raise EncodeError(f"there are too many {kind}", facts)
    check_range(pack.position, "an object's position", name)
    check_range(pack.rotation, "an object's rotation", name)
    for number, atlas in enumerate(pack.atlases):
        _check_atlas(atlas, {"file": name, "atlas": number})
    for number, clut in enumerate(pack.cluts):
        check_clut(clut.area, {"file": name, "CLUT": number})
    _check_overlap(pack, name)
    _check_triangles(pack, name)


def check_range(values: npt.NDArray[np.integer], what: str, name: str) -> None:
    """Refuse values that the geometry engine cannot hold: it would wrap them around in silence."""
    wrong = np.argwhere((values < LEAST) | (values > GREATEST))
    if len(wrong):
        row, column = wrong[0].tolist()
        facts = {"file": name, "row": row, "found": values[row, column]}
        raise EncodeError(
            f"{what} does not fit 16 bits", {**facts, "allowed": f"{LEAST} to {GREATEST}"}
        )


def _check_atlas(atlas: Atlas, facts: Mapping[str, object]) -> None:
    if atlas.words.shape[0] != PAGE_HEIGHT or atlas.width not in ATLAS_WIDTHS:
        shape = f"{atlas.width} x {atlas.words.shape[0]}"
        raise EncodeError("an atlas has a size that no depth has", {**facts, "found": shape})
    # A texture page begins at a multiple of 64 words, in the upper or the lower half of VRAM.
    is_placed = atlas.x % PAGE_WIDTH == 0 and atlas.y in (0, PAGE_HEIGHT)
    if not is_placed or atlas.x + atlas.width > VRAM_WIDTH:
        place = f"x {atlas.x}, y {atlas.y}, {atlas.width} words wide"
        raise EncodeError("an atlas stands where no texture page begins", {**facts, "found": place})


def check_clut(area: Area, facts: Mapping[str, object]) -> None:
    """Refuse a palette that the runtime cannot upload, or that lies outside of VRAM."""
    left, top, right, _ = area
    count = right - left
    # The count is the width of an upload, and the runtime uploads pairs of words only.
    if not 2 <= count <= 256 or count % 2:
        found = {**facts, "found": count, "allowed": "an even number from 2 to 256"}
        raise EncodeError("the runtime stops at a palette of this size", found)
    if right > VRAM_WIDTH or top >= VRAM_HEIGHT:
        place = f"x {left}, y {top}, {count} words"
        raise EncodeError("a CLUT lies outside of VRAM", {**facts, "found": place})


def _check_overlap(pack: Splashpack, name: str) -> None:
    """Refuse uploads that overwrite one another in VRAM."""
    areas = [(f"atlas {number}", one.area) for number, one in enumerate(pack.atlases)]
    cluts = [(f"CLUT {number}", one.area) for number, one in enumerate(pack.cluts)]
    for number, (one, area) in enumerate(areas):
        for other, second in areas[number + 1 :] + cluts:
            if overlaps(area, second):
                raise overlap_error(one, other, name)
    # There may be thousands of CLUTs, one row high each: only neighbours in a row can overlap.
    ordered = sorted(cluts, key=lambda pair: (pair[1][1], pair[1][0]))
    for (one, area), (other, second) in pairwise(ordered):
        if overlaps(area, second):
            raise overlap_error(one, other, name)


def overlap_error(one: str, other: str, name: str) -> EncodeError:
    """Return the error of two uploads that overwrite one another."""
    return EncodeError("two areas of VRAM overlap", {"file": name, "one": one, "other": other})


def overlaps(one: Area, other: Area) -> bool:
    """Tell whether two rectangles have a word in common."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _check_triangles(pack: Splashpack, name: str) -> None:
    """Refuse triangles whose texels lie in no atlas or whose palette is no CLUT of the file."""
    columns = {key: np.asarray(column).astype(np.int64) for key, column in pack.triangles.items()}
    # 3 is reserved by the graphics processor.
    refuse_triangles(columns["depth"] > DIRECT, "a triangle's texture has a depth of 3", name)
    refuse_triangles(
        columns["dither"] == 0, "a triangle's texture page does not ask for dithering", name
    )
    is_lost = find_without_clut(columns, {(clut.x, clut.y) for clut in pack.cluts})
    refuse_triangles(is_lost, "a triangle's palette is no CLUT of the file", name)
    refuse_triangles(_leaves_atlases(pack, columns), "a triangle's texture is in no atlas", name)


def find_without_clut(
    columns: Columns, places: Collection[tuple[int, int]]
) -> npt.NDArray[np.bool_]:
    """Tell which triangles have a palette at none of the places (x in steps of 16, y)."""
    found = zip(columns["clut_x"].tolist(), columns["clut_y"].tolist(), strict=True)
    is_direct = (columns["depth"] == DIRECT).tolist()
    # Textures of 16 bits have no palette; the fields are zero then.
    allowed = {False: places, True: {(0, 0)}}
    is_lost = [one not in allowed[direct] for one, direct in zip(found, is_direct, strict=True)]
    return np.array(is_lost, bool)


def _leaves_atlases(pack: Splashpack, columns: Columns) -> npt.NDArray[np.bool_]:
    """Tell which triangles read columns of 64 words that no atlas covers."""
    # Wider than VRAM, because a page near its right end may reach beyond; nothing covers that.
    covered = np.zeros((2, VRAM_WIDTH // PAGE_WIDTH + PAGE_WIDTH), np.int64)
    for atlas in pack.atlases:
        left = atlas.x // PAGE_WIDTH
        covered[atlas.y // PAGE_HEIGHT, left : left + atlas.width // PAGE_WIDTH] = 1
    # Prefix sums: a range is covered if the sum over it is its length.
    before = np.concatenate([np.zeros((2, 1), np.int64), np.cumsum(covered, axis=1)], axis=1)
    shift = (8 - columns["depth"])[:, None]  # 256, 128 or 64 texels in a column
    reach = columns["page_x"][:, None] + (columns["uv"][..., 0] >> shift)
    first, last, row = reach.min(axis=1), reach.max(axis=1) + 1, columns["page_y"]
    leaves: npt.NDArray[np.bool_] = before[row, last] - before[row, first] != last - first
    return leaves


def refuse_triangles(is_wrong: npt.NDArray[np.bool_], problem: str, name: str) -> None:
    """Refuse a file with such triangles, and name the first of them."""
    rows = np.flatnonzero(is_wrong)
    if len(rows):
        raise EncodeError(problem, {"file": name, "triangle": rows[0], "such": len(rows)})
