"""Codebooks of 2x2 blocks: exact where they can be, better than plain k-means where not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from encoders.kit.image.palette.codebook import (
    choose_codebook,
    clear_hidden,
    from_quads,
    index_quads,
    match_quads,
    premultiply,
    to_quads,
)
from encoders.kit.native import kernel


def decoded(quads):
    entries = choose_codebook(quads)
    return entries[match_quads(quads, entries)]


def distinct_quads(count: int):
    """Opaque blocks that all differ."""
    quads = np.full((count, 16), 255, np.uint8)
    quads[:, 0], quads[:, 5] = np.arange(count) % 251, np.arange(count) // 251 * 40
    return quads


def scene(size: int = 64):
    """Flat areas with edges, a gradient and some grain."""
    y, x = np.mgrid[0:size, 0:size]
    random = np.random.default_rng(2)
    wall = np.where((x // 8 + y // 8) % 2, 60, 190)
    sky = np.where(y < size // 2, wall, x * 255 // size)
    grain = random.integers(0, 12, (size, size)) * (x > size // 2)
    planes = [sky + grain, wall, (wall + sky) // 2, np.full_like(x, 255)]
    return np.clip(np.stack(planes, axis=-1), 0, 255).astype(np.uint8)


def plain_kmeans(quads, rounds: int = 40):
    """Random blocks to begin with, then means of what is nearest."""
    used, weight = np.unique(quads, axis=0, return_counts=True)
    points = used.astype(np.float64)
    centers = points[np.random.default_rng(1).choice(len(points), 256, replace=False)]
    for _ in range(rounds):
        label = ((centers**2).sum(axis=1) - 2 * points @ centers.T).argmin(axis=1)
        for entry in np.unique(label):
            inside = label == entry
            centers[entry] = np.average(points[inside], axis=0, weights=weight[inside])
    return np.rint(centers).astype(np.uint8)


def squared_error(quads, other) -> int:
    return int(((quads.astype(int) - other) ** 2).sum())


def test_a_block_is_north_west_north_east_south_west_south_east():
    picture = np.arange(32, dtype=np.uint8).reshape(2, 4, 4)
    quads = to_quads(picture)
    assert quads[0].tolist() == [*range(8), *range(16, 24)]
    assert quads[1].tolist() == [*range(8, 16), *range(24, 32)]
    assert np.array_equal(from_quads(quads, 4, 2), picture)


@pytest.mark.parametrize("count", [1, 2, 255, 256])
def test_up_to_256_blocks_are_kept_to_the_bit_and_sorted(count):
    quads = distinct_quads(count)
    quads[:, 3] = 0  # a hidden texel keeps its colour as well
    order = np.random.default_rng(0).integers(0, count, 999)
    shuffled = np.concatenate([quads[::-1], quads[order]])
    entries = choose_codebook(shuffled)
    assert sorted(row.tobytes() for row in entries) == [row.tobytes() for row in entries]
    assert len(entries) == count
    assert np.array_equal(entries[match_quads(shuffled, entries)], shuffled)


def test_one_block_more_is_no_longer_exact_but_near():
    quads = distinct_quads(257)
    found = decoded(quads)
    assert 0 < np.abs(quads.astype(int) - found).max() <= 1


def test_hidden_colours_take_no_entries():
    random = np.random.default_rng(4)
    quads = random.integers(0, 256, (4000, 16)).astype(np.uint8)
    quads[:, 3::4] = 0
    quads[:200] = distinct_quads(200)
    entries = choose_codebook(quads)
    assert len(entries) == 201
    assert np.array_equal(entries[match_quads(quads, entries)], clear_hidden(quads))


def test_blocks_of_low_alpha_that_look_alike_stay_apart_where_entries_are_enough():
    quads = np.zeros((100, 16), np.uint8)
    quads[:, 3::4] = 1
    quads[:, 0] = np.arange(100)
    assert len(np.unique(premultiply(quads), axis=0)) == 1
    assert np.array_equal(decoded(quads), quads)


def test_colours_count_by_their_alpha():
    random = np.random.default_rng(5)
    quads = random.integers(0, 256, (3000, 16)).astype(np.uint8)
    quads[:, 3::4] = np.where(np.arange(3000) % 2, 255, 8)[:, None]
    off = np.abs(quads.astype(int) - decoded(quads))[:, [0, 1, 2, 4, 5, 6]].mean(axis=1)
    assert off[1::2].mean() < 0.75 * off[::2].mean()


def test_frequent_blocks_are_nearer_than_rare_ones():
    random = np.random.default_rng(6)
    rare = random.integers(0, 256, (900, 16)).astype(np.uint8)
    rare[:, 3::4] = 255
    quads = np.concatenate([rare, np.tile(rare[:150], (50, 1))])
    off = np.abs(quads.astype(int) - decoded(quads)).max(axis=1)
    assert off[:150].max() < 10
    assert off[150:900].mean() > 20


@pytest.mark.parametrize("native", [True, False])
def test_a_large_background_does_not_keep_entries_from_the_rest(native):
    """Most entries begin as twins at a block that covers most of the picture."""
    lit = np.array([255, 255, 255, 255] * 4, np.uint8)
    gradient = distinct_quads(900)
    quads = np.concatenate([np.tile(lit, (60_000, 1)), gradient])
    before = kernel.use_native(native)
    entries = choose_codebook(quads)
    kernel.use_native(before)
    assert len(entries) > 250
    assert squared_error(gradient, entries[match_quads(gradient, entries)]) < 20 * len(gradient)


@pytest.mark.parametrize("alphas", [(255, 256), (0, 256), (0, 3)])
@pytest.mark.parametrize("size", [8, 64])
def test_choosing_and_matching_at_once_is_the_same_as_one_after_the_other(size, alphas):
    quads = to_quads(scene(size))
    quads[:, 3::4] = np.random.default_rng(4).integers(*alphas, (len(quads), 4))
    found = index_quads(quads)
    entries = choose_codebook(quads)
    assert np.array_equal(found.entries, entries)
    assert np.array_equal(found.indices, match_quads(quads, entries))


def test_the_order_of_blocks_does_not_matter():
    quads = to_quads(scene())
    shuffled = np.random.default_rng(7).permutation(quads)
    assert np.array_equal(choose_codebook(quads), choose_codebook(shuffled))


def test_a_codebook_is_at_least_one_decibel_nearer_than_plain_k_means():
    quads = to_quads(scene())
    plain = plain_kmeans(quads)
    ours = squared_error(quads, decoded(quads))
    theirs = squared_error(quads, plain[match_quads(quads, plain)])
    assert 10 * np.log10(theirs / ours) >= 1


@pytest.mark.skipif(not kernel.has_native("nearest_blocks"), reason="the extension is not built")
@pytest.mark.parametrize("size", [32, 64, 128])
def test_kernel_and_reference_choose_the_same_codebook(size):
    quads = to_quads(scene(size))
    quads[::3, 3] = np.arange(len(quads[::3])) % 256
    native = choose_codebook(quads)
    before = kernel.use_native(False)
    try:
        reference = choose_codebook(quads)
        assert np.array_equal(native, reference)
        indices = match_quads(quads, reference)
    finally:
        kernel.use_native(before)
    assert np.array_equal(match_quads(quads, native), indices)


@settings(max_examples=40, deadline=None)
@given(
    hnp.arrays(np.uint8, st.tuples(st.integers(1, 60), st.just(16)), elements=st.integers(0, 3)),
    hnp.arrays(np.uint8, st.tuples(st.integers(1, 40), st.just(16)), elements=st.integers(0, 3)),
)
def test_the_entry_of_a_block_is_the_nearest_one(quads, entries):
    found = match_quads(quads, entries)
    left, right = premultiply(quads).astype(int), premultiply(entries).astype(int)
    every = ((left[:, None] - right) ** 2).sum(axis=2)
    assert (every[np.arange(len(quads)), found] == every.min(axis=1)).all()
