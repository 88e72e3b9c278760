from __future__ import annotations

import random

import pytest
import rectpack
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.kit.image.rectangle_packing import Item, Packing, PageKind, Rect, pack_rectangles

# A PlayStation's video memory: two framebuffers and the font are taken.
FRAMES = (Rect(0, 0, 320, 240), Rect(0, 256, 320, 240))
FONT = Rect(960, 464, 64, 48)


def overlap(a: Rect, b: Rect) -> bool:
    return not (
        a.x + a.width <= b.x
        or b.x + b.width <= a.x
        or a.y + a.height <= b.y
        or b.y + b.height <= a.y
    )


def check_laws(items: list[Item], page: PageKind, packing: Packing) -> None:
    assert sorted([*packing.placed, *packing.unplaced]) == sorted(item.key for item in items)
    by_key = {item.key: item for item in items}
    on_page: dict[int, list[Rect]] = {}
    for key, (number, rect) in packing.placed.items():
        item = by_key[key]
        assert (rect.width, rect.height) == (item.width, item.height)
        assert rect.x % item.align_x == 0
        assert rect.y % item.align_y == 0
        assert 0 <= rect.x <= page.width - rect.width
        assert 0 <= rect.y <= page.height - rect.height
        assert 0 <= number < packing.pages
        taken = on_page.setdefault(number, list(page.obstacles))
        assert not any(overlap(rect, other) for other in taken)
        taken.append(rect)
    assert len(on_page) == packing.pages
    assert page.max_pages is None or packing.pages <= page.max_pages


SIDES = st.integers(1, 40)
ALIGN = st.sampled_from([1, 1, 2, 4, 16])
SHAPES = st.lists(st.tuples(SIDES, SIDES, ALIGN, ALIGN), max_size=40)
OBSTACLES = st.lists(
    st.builds(Rect, st.integers(0, 60), st.integers(0, 60), SIDES, SIDES), max_size=3
)


def items_of(shapes: list[tuple[int, ...]]) -> list[Item]:
    return [Item(f"item{index:03}", *shape) for index, shape in enumerate(shapes)]


@settings(max_examples=60)
@given(SHAPES, OBSTACLES, st.sampled_from([None, 0, 1, 2]))
def test_everything_is_placed_by_the_rules_or_reported(shapes, obstacles, max_pages) -> None:
    items, page = items_of(shapes), PageKind(64, 48, tuple(obstacles), max_pages)
    packing = pack_rectangles(items, page)
    check_laws(items, page, packing)


@settings(max_examples=40)
@given(SHAPES, st.integers(0, 2**32))
def test_order_of_the_items_does_not_matter(shapes, seed) -> None:
    items, page = items_of(shapes), PageKind(64, 48)
    shuffled = random.Random(seed).sample(items, len(items))
    assert pack_rectangles(shuffled, page) == pack_rectangles(items, page)


@settings(max_examples=40)
@given(SHAPES)
def test_what_fits_an_empty_page_is_never_left_over(shapes) -> None:
    items = items_of(shapes)
    packing = pack_rectangles(items, PageKind(64, 48))
    assert packing.unplaced == ()


def rectpack_pages(items: list[Item], page: PageKind) -> int:
    packer = rectpack.newPacker(rotation=False, pack_algo=rectpack.MaxRectsBssf)
    for item in items:
        packer.add_rect(item.width, item.height, item.key)
    packer.add_bin(page.width, page.height, float("inf"))
    packer.pack()
    return len(packer)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(1, 200), st.integers(1, 200)), min_size=1, max_size=60))
def test_at_most_one_page_more_than_rectpack(shapes) -> None:
    items, page = items_of(shapes), PageKind(256, 256)
    packing = pack_rectangles(items, page)
    check_laws(items, page, packing)
    assert packing.pages <= rectpack_pages(items, page) + 1


@pytest.mark.parametrize("seed", range(4))
def test_many_random_textures_need_no_more_pages_than_rectpack_plus_one(seed: int) -> None:
    rng = random.Random(seed)
    shapes = [(rng.randint(4, 96), rng.randint(4, 96)) for _ in range(250)]
    items, page = items_of(shapes), PageKind(256, 256)
    assert pack_rectangles(items, page).pages <= rectpack_pages(items, page) + 1


@pytest.mark.parametrize(("width", "capacity"), [(256, 4), (128, 10), (64, 21)])
def test_video_memory_holds_as_many_atlases_as_the_hardware_allows(width, capacity) -> None:
    page = PageKind(1024, 512, (*FRAMES, FONT), 1)
    items = [Item(f"{i:02}", width, 256, 64, 256) for i in range(capacity + 1)]
    packing = pack_rectangles(items, page)
    check_laws(items, page, packing)
    assert len(packing.unplaced) == 1


def test_palettes_find_the_rows_under_the_framebuffers() -> None:
    rest = Rect(320, 0, 704, 512)
    page = PageKind(1024, 512, (*FRAMES, FONT, rest), 1)
    wide = [Item(f"wide{i:03}", 256, 1, 16) for i in range(32)]
    small = [Item(f"small{i:03}", 16, 1, 16) for i in range(128)]
    packing = pack_rectangles(wide + small, page)
    check_laws(wide + small, page, packing)
    assert packing.unplaced == ()


def test_full_pages_are_filled_without_a_gap() -> None:
    items = [Item(str(index), 64, 64) for index in range(32)]
    packing = pack_rectangles(items, PageKind(256, 256))
    assert packing.pages == 2


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 64), st.integers(1, 40), st.integers(0, 2)), max_size=40))
def test_items_end_within_reach_of_their_window(shapes) -> None:
    items = [
        Item(f"{n}", width, height, within_x=(64, 64 << depth), within_y=(50, 50))
        for n, (width, height, depth) in enumerate(shapes)
    ]
    page = PageKind(300, 120, (Rect(70, 0, 20, 30),), 2)
    packing = pack_rectangles(items, page)
    check_laws(items, page, packing)
    for item, (*_, depth) in zip(items, shapes, strict=True):
        if item.key in packing.placed:
            _, rect = packing.placed[item.key]
            assert rect.x % 64 + rect.width <= 64 << depth
            assert rect.y % 50 + rect.height <= 50


def test_item_larger_than_its_window_is_a_mistake_of_the_caller() -> None:
    for wrong in (Item("a", 65, 1, within_x=(64, 64)), Item("a", 2, 1, 3, within_x=(64, 64))):
        with pytest.raises(ValueError, match="window"):
            pack_rectangles([wrong], PageKind(300, 300))


def test_nothing_to_pack_needs_no_page() -> None:
    assert pack_rectangles([], PageKind(256, 256)) == Packing({}, (), 0)


def test_mistakes_of_the_caller_are_not_packed() -> None:
    for items in ([Item("a", 1, 1), Item("a", 2, 2)], [Item("a", 0, 1)], [Item("a", 1, 1, 0)]):
        with pytest.raises(ValueError, match="item"):
            pack_rectangles(items, PageKind(8, 8))
