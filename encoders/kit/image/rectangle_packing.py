"""Pack rectangles into pages: MaxRects with the best-short-side-fit rule, alignment, obstacles.

Free space is a list of maximal free rectangles, which may overlap. The result depends only on the
rectangles, not on the order in which they are given. Rectangles that do not fit are reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias


class Rect(NamedTuple):
    """A rectangle in whole units, by its top left corner and its size."""

    x: int
    y: int
    width: int
    height: int


# A free rectangle as (left, top, right, bottom): the search compares edges.
_Space: TypeAlias = tuple[int, int, int, int]


@dataclass(frozen=True)
class Item:
    """A rectangle to place, with its corner at multiples of `align_x` and `align_y`.

    `within_x = (step, reach)` is for textures that are read through a window: the item must end
    within `reach` of the last multiple of `step` at or before its corner. `within_y` likewise. A
    step has to be a multiple of the alignment.
    """

    key: str
    width: int
    height: int
    align_x: int = 1
    align_y: int = 1
    within_x: tuple[int, int] | None = None
    within_y: tuple[int, int] | None = None


@dataclass(frozen=True)
class PageKind:
    """The size of every page, the areas taken on each, and the maximal number of pages."""

    width: int
    height: int
    obstacles: tuple[Rect, ...] = ()
    max_pages: int | None = None


@dataclass(frozen=True)
class Packing:
    """The page and rectangle of each placed item, by key, and the keys that did not fit."""

    placed: dict[str, tuple[int, Rect]]
    unplaced: tuple[str, ...]
    pages: int


def pack_rectangles(items: Iterable[Item], page: PageKind) -> Packing:
    """Try several orders; return the packing with the fewest unplaced items, then fewest pages.

    Each item goes to the first page that has room for it; items of equal size go by key.
    """
    every = _checked(items)
    empty = _empty_page(page)
    best: Packing | None = None
    for order in _ORDERS:
        found = _pack_in_order(sorted(every, key=order), page, empty)
        if best is None or (len(found.unplaced), found.pages) < (len(best.unplaced), best.pages):
            best = found
        # No order can do better than the area allows.
        if not best.unplaced and best.pages <= _least_pages(every, page):
            break
    return best or Packing({}, (), 0)


# Largest first by area, longer side, perimeter and shorter side: none is best for every set. The
# key makes each order total.
_ORDERS: tuple[Callable[[Item], tuple[int, int, int, str]], ...] = (
    lambda item: (-item.width * item.height, -item.height, -item.width, item.key),
    lambda item: (-max(item.width, item.height), -item.height, -item.width, item.key),
    lambda item: (-item.width - item.height, -item.height, -item.width, item.key),
    lambda item: (-min(item.width, item.height), -item.height, -item.width, item.key),
)


def _checked(items: Iterable[Item]) -> list[Item]:
    every = list(items)
    if len({item.key for item in every}) != len(every):
        raise ValueError("two items have the same key")
    if any(min(item.width, item.height, item.align_x, item.align_y) < 1 for item in every):
        raise ValueError("an item has no area or no alignment")
    if any(not _fits_windows(item) for item in every):
        raise ValueError("an item is larger than its window, or its window is not aligned")
    return every


def _fits_windows(item: Item) -> bool:
    axes = (
        (item.width, item.align_x, item.within_x),
        (item.height, item.align_y, item.within_y),
    )
    return all(
        within is None or (size <= within[1] and within[0] % align == 0)
        for size, align, within in axes
    )


def _least_pages(items: list[Item], page: PageKind) -> int:
    """Return the number of pages that the items' area needs at least."""
    area = sum(item.width * item.height for item in items)
    return -(-area // (page.width * page.height))


def _empty_page(page: PageKind) -> list[_Space]:
    """Return the free rectangles of a page with nothing but its obstacles."""
    free = [(0, 0, page.width, page.height)]
    for x, y, width, height in page.obstacles:
        free = _take(free, (x, y, x + width, y + height))
    return free


def _pack_in_order(items: list[Item], page: PageKind, empty: list[_Space]) -> Packing:
    pages: list[_Page] = []
    placed: dict[str, tuple[int, Rect]] = {}
    unplaced: list[str] = []
    for item in items:
        number, spot = _first_spot(item, pages)
        if spot is None and (page.max_pages is None or len(pages) < page.max_pages):
            # On a new page; an item that does not fit an empty page never fits.
            spot = _best_spot(item, empty)
            if spot is not None:
                pages.append(_Page(empty))
        if spot is None:
            unplaced.append(item.key)
            continue
        x, y = spot
        pages[number] = _Page(_take(pages[number].free, (x, y, x + item.width, y + item.height)))
        placed[item.key] = (number, Rect(x, y, item.width, item.height))
    return Packing(dict(sorted(placed.items())), tuple(sorted(unplaced)), len(pages))


class _Page:
    """The free rectangles of a page, with the greatest width and height to rule pages out fast."""

    def __init__(self, free: list[_Space]) -> None:
        self.free = free
        self.widest = max((right - left for left, _, right, _ in free), default=0)
        self.highest = max((bottom - top for _, top, _, bottom in free), default=0)


def _first_spot(item: Item, pages: list[_Page]) -> tuple[int, tuple[int, int] | None]:
    """Return the first page with room and the best corner on it, or the next page and None."""
    for number, page in enumerate(pages):
        if item.width <= page.widest and item.height <= page.highest:
            spot = _best_spot(item, page.free)
            if spot is not None:
                return number, spot
    return len(pages), None


def _best_spot(item: Item, free: list[_Space]) -> tuple[int, int] | None:
    """Return the aligned corner that leaves least space on the shorter side, then the longer."""
    best: tuple[int, int, int, int] | None = None
    for left, top, right, bottom in free:
        x = _corner(left, item.width, item.align_x, item.within_x)
        y = _corner(top, item.height, item.align_y, item.within_y)
        spare_x, spare_y = right - x - item.width, bottom - y - item.height
        if spare_x < 0 or spare_y < 0:
            continue
        # Position last, so that equal fits go to the top left.
        score = (spare_x, spare_y, y, x) if spare_x < spare_y else (spare_y, spare_x, y, x)
        if best is None or score < best:
            best = score
    return None if best is None else (best[3], best[2])


def _corner(edge: int, size: int, align: int, within: tuple[int, int] | None) -> int:
    """Return the first coordinate from an edge on where an item of this size may begin."""
    start = -(-edge // align) * align
    if within is not None and start % within[0] + size > within[1]:
        # The next window begins at a multiple of the step, which is aligned too.
        return -(-start // within[0]) * within[0]
    return start


def _take(free: list[_Space], taken: _Space) -> list[_Space]:
    """Return the maximal free rectangles that are left when an area is taken."""
    left, top, right, bottom = taken
    kept: list[_Space] = []
    rests: set[_Space] = set()
    for space in free:
        if space[0] < right and left < space[2] and space[1] < bottom and top < space[3]:
            rests.update(_rests(space, taken))
        else:
            kept.append(space)
    # Only new rectangles can be contained in others: those kept were maximal before.
    return kept + [rest for rest in sorted(rests) if not _is_inside(rest, kept, rests)]


def _rests(space: _Space, taken: _Space) -> list[_Space]:
    """Return the parts of a free rectangle to the left, right, top and bottom of an area."""
    left, top, right, bottom = space
    parts = []
    if left < taken[0]:
        parts.append((left, top, taken[0], bottom))
    if taken[2] < right:
        parts.append((taken[2], top, right, bottom))
    if top < taken[1]:
        parts.append((left, top, right, taken[1]))
    if taken[3] < bottom:
        parts.append((left, taken[3], right, bottom))
    return parts


def _is_inside(rest: _Space, kept: list[_Space], rests: set[_Space]) -> bool:
    """Tell whether another free rectangle contains this one."""
    left, top, right, bottom = rest
    for others in (kept, rests):
        for other in others:
            if (
                other[0] <= left and other[1] <= top and right <= other[2] and bottom <= other[3]
            ) and other != rest:
                return True
    return False
