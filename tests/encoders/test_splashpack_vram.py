"""Where things go in VRAM: the rules of the console, and never worse than its own exporter."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.splashpack.vram.packing import VramLayout, VramTexture, cover_slots, pack_vram
from tests.encoders.splashpack_yardstick import fits

RESERVED = [(0, 0, 320, 240), (0, 256, 320, 240), (960, 464, 64, 48)]
AREAS = [(x, y, x + width, y + height) for x, y, width, height in RESERVED]


def overlap(one, other):
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def vram_textures(textures):
    return [
        VramTexture(
            f"{number:04}", width, height, depth, colors, f"palette {number}" if colors else ""
        )
        for number, (width, height, depth, colors) in enumerate(textures)
    ]


def check(wanted: list[VramTexture], found: VramLayout) -> None:
    """Every hard rule of the hardware."""
    atlases = [(x, y, x + width, y + 256) for x, y, width in found.atlases]
    for x, y, width in found.atlases:
        assert x % 64 == 0
        assert y in (0, 256)
        assert width in (64, 128, 256)
        assert x + width <= 1024
    textures = []
    for one in wanted:
        x, y = found.places[one.key]
        assert x % 64 + one.width <= 64 << one.depth or any(
            x >= left and x + one.width <= left + (64 << one.depth) for left, *_ in atlases
        )
        assert y % 256 + one.height <= 256
        covered = [a for a in atlases if overlap(a, (x, y, x + one.width, y + one.height))]
        words = sum(min(a[2], x + one.width) - max(a[0], x) for a in covered)
        assert words == one.width
        textures.append((x, y, x + one.width, y + one.height))
    cluts = []
    for one in wanted:
        if one.colors:
            x, y = found.cluts[one.palette]
            assert x % 16 == 0
            assert x + one.colors <= 1024
            cluts.append((x, y, x + one.colors, y + 1))
    for one, other in combinations(textures, 2):
        assert not overlap(one, other)
    for one, other in combinations([*AREAS, *atlases, *set(cluts)], 2):
        assert not overlap(one, other) or (one in AREAS and other in AREAS)


def random_texture(draw_or_random, depth=None):
    rng = draw_or_random
    depth = rng.choice((0, 0, 0, 1, 1, 2)) if depth is None else depth
    width, height = rng.randint(1, 256), rng.randint(1, 256)
    per_word = (4, 2, 1)[depth]
    colors = (2 * rng.randint(1, 8), 2 * rng.randint(1, 128), 0)[depth]
    return -(-width // per_word), height, depth, colors


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 45))
def test_nothing_overlaps_and_everything_is_aligned(seed, count):
    rng = random.Random(seed)
    wanted = vram_textures([random_texture(rng) for _ in range(count)])
    found = pack_vram(wanted, AREAS)
    if found is not None:
        check(wanted, found)
    shuffled = wanted[:]
    rng.shuffle(shuffled)
    assert pack_vram(shuffled, AREAS) == found


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from([None, 0, 1, 2]))
def test_whatever_the_exporter_places_is_placed(seed, depth):
    rng = random.Random(seed)
    textures = [random_texture(rng, depth) for _ in range(rng.randint(1, 60))]
    if fits(textures, RESERVED):
        assert pack_vram(vram_textures(textures), AREAS) is not None


def fill(fits_all, textures) -> float:
    """The share of the pages that is full when the first texture finds no place."""
    count = 0
    for step in (32, 8, 2, 1):
        while count + step <= len(textures) and fits_all(textures[: count + step]):
            count += step
    return sum(one[0] * one[1] for one in textures[:count]) / (21 * 64 * 256)


def test_crowded_sets_fill_at_least_ten_points_more():
    ours = theirs = 0.0
    for seed in range(4):
        rng = random.Random(seed)
        textures = []
        for _ in range(200):
            depth = rng.choice((0, 0, 0, 1))
            width, height = rng.choice((32, 64, 128, 256)), rng.choice((32, 64, 128, 256))
            textures.append((width * (4 << depth) // 16, height, depth, (16, 256)[depth]))
        ours += fill(lambda some: pack_vram(vram_textures(some), AREAS) is not None, textures)
        theirs += fill(lambda some: fits(some, RESERVED), textures)
    assert (ours - theirs) / 4 > 0.10


def test_small_scene_looks_like_the_exporter_s():
    found = pack_vram(vram_textures([(16, 64, 0, 16), (32, 64, 1, 256), (32, 64, 1, 16)]), AREAS)
    assert found is not None
    assert found.atlases == ((320, 0, 128), (448, 0, 64))
    assert found.places == {"0000": (448, 0), "0001": (320, 0), "0002": (352, 0)}
    assert found.cluts == {"palette 1": (0, 240), "palette 2": (0, 241), "palette 0": (0, 242)}


def test_defaults_hold_twenty_one_pages_of_four_bits():
    full = [(64, 256, 0, 16)]
    assert pack_vram(vram_textures(full * 21), AREAS) is not None
    assert pack_vram(vram_textures(full * 22), AREAS) is None
    assert pack_vram(vram_textures(full * 22), AREAS[:2]) is not None


@pytest.mark.parametrize(("depth", "most"), [(1, 10), (2, 4)])
def test_defaults_hold_as_many_wide_pages_as_the_console_has(depth, most):
    full = [(64 << depth, 256, depth, 0)]
    assert pack_vram(vram_textures(full * most), AREAS) is not None
    assert pack_vram(vram_textures(full * (most + 1)), AREAS) is None


def test_palettes_fill_the_rows_below_the_screens():
    wide = vram_textures([(1, 1, 1, 256)] * 32 + [(1, 1, 0, 16)] * 128)
    found = pack_vram(wide, [*AREAS, (320, 0, 896, 512)])
    assert found is not None
    check(wide, found)
    assert (
        pack_vram([*wide, VramTexture("x", 1, 1, 1, 256, "x")], [*AREAS, (448, 0, 1024, 512)])
        is None
    )


def test_narrow_textures_go_beside_wide_ones_where_their_own_pages_are_full():
    textures = [(200, 256, 2, 0)] * 4 + [(64, 256, 0, 16)] * 7 + [(48, 256, 0, 16)]
    wanted = vram_textures(textures)
    assert not fits(textures, RESERVED)
    found = pack_vram(wanted, AREAS)
    assert found is not None
    check(wanted, found)


def test_pages_are_covered_by_the_widest_atlases():
    slots = [(64 * column, 0) for column in (5, 6, 7, 8, 9, 11)] + [(640, 256), (704, 256)]
    assert cover_slots(slots) == [(320, 0, 256), (576, 0, 64), (704, 0, 64), (640, 256, 128)]
