"""Choose a codebook: up to 256 blocks of 2x2 RGBA texels that stand for all blocks of pictures.

Blocks are compared with colours multiplied by alpha, so that hidden colours cost nothing. The
search starts at evenly spaced blocks of the sorted ones and moves entries by k-means. Nothing is
random and all sums are of whole numbers, so the same pictures give the same codebook everywhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from encoders.kit.image.palette.codebook_search import (
    BLOCK_BYTES,
    ENTRIES,
    Bytes,
    Ints,
    Longs,
    nearest_blocks,
    search_codebook,
)
from encoders.kit.image.pixel import Rgba8
from encoders.kit.native.kernel import choose

TEXELS, CHANNELS = 4, 4


def to_quads(picture: Rgba8) -> Bytes:
    """Return the 2x2 blocks of a picture, row by row: north-west, north-east, south-west, ..."""
    height, width = picture.shape[:2]
    grid = picture.reshape(height // 2, 2, width // 2, 2, CHANNELS).swapaxes(1, 2)
    return np.ascontiguousarray(grid).reshape(-1, BLOCK_BYTES)


def from_quads(quads: Bytes, width: int, height: int) -> Rgba8:
    """Return the picture that has these 2x2 blocks."""
    grid = quads.reshape(height // 2, width // 2, 2, 2, CHANNELS).swapaxes(1, 2)
    return np.ascontiguousarray(grid).reshape(height, width, CHANNELS)


class IndexedQuads(NamedTuple):
    """A codebook of at most 256 entries (count, 16), sorted, and for each block its index."""

    entries: Bytes
    indices: Bytes


def index_quads(quads: Bytes) -> IndexedQuads:
    """Choose a codebook for blocks and match them; the same as both by themselves, but quicker."""
    used, number = _number_quads(quads)
    entries, guess = _choose(used, np.bincount(number, minlength=len(used)))
    return IndexedQuads(entries, _match(used, entries, guess)[number])


def choose_codebook(quads: Bytes) -> Bytes:
    """Choose at most 256 entries (count, 16) for blocks, sorted; exact where that is possible."""
    return _choose(*count_quads(quads))[0]


def match_quads(quads: Bytes, entries: Bytes) -> Bytes:
    """Return the index of the best entry for each block: an equal one, else the nearest."""
    used, number = _number_quads(quads)
    return _match(used, entries, np.zeros(len(used), np.int32))[number]


def _choose(used: Bytes, weight: Longs) -> tuple[Bytes, Ints]:
    """Choose entries for different, sorted blocks; guess the index of each block."""
    if len(used) <= ENTRIES:
        return used, np.arange(len(used), dtype=np.int32)
    blocks, merged = used, np.arange(len(used))
    if not used[:, 3::CHANNELS].all():
        blocks, merged = _number_quads(clear_hidden(used))
        weight = np.bincount(merged, weight, len(blocks)).astype(np.int64)
    if len(blocks) <= ENTRIES:
        return blocks, merged.astype(np.int32)
    label = _search_labels(premultiply(blocks), weight)
    entries, index = _number_quads(_mean_quads(blocks, weight, label))
    # Labels without blocks have no entry.
    is_used = np.bincount(label, minlength=ENTRIES) > 0
    guess = index[(np.cumsum(is_used) - 1)[label[merged]]]
    return entries, guess.astype(np.int32)


def _match(used: Bytes, entries: Bytes, guess: Ints) -> Bytes:
    """Return the index of the best entry for each of different blocks; a good guess saves time."""
    label, nearest = guess.copy(), np.zeros(len(used), np.int32)
    search = choose("nearest_blocks", nearest_blocks)
    search(premultiply(used), premultiply(entries), label, nearest)
    # Blocks that differ in colours of low alpha alone are equal after multiplication.
    doubtful = (nearest == 0) & (used[:, 3::CHANNELS] < 255).any(axis=1)
    label[doubtful] = _equal_entries(used[doubtful], entries, label[doubtful])
    return label.astype(np.uint8)


def _equal_entries(quads: Bytes, entries: Bytes, nearest: Ints) -> list[int]:
    """Return the entry that equals each block, also without hidden colours, or the nearest."""
    number = {entry.tobytes(): index for index, entry in enumerate(entries)}
    rows = zip(quads, clear_hidden(quads), nearest.tolist(), strict=True)
    return [
        number.get(quad.tobytes(), number.get(cleared.tobytes(), other))
        for quad, cleared, other in rows
    ]


def count_quads(quads: Bytes) -> tuple[Bytes, Longs]:
    """Return the different blocks, sorted by their bytes, and how often each is there."""
    used, number = _number_quads(quads)
    return used, np.bincount(number, minlength=len(used))


def clear_hidden(quads: Bytes) -> Bytes:
    """Return the blocks with black instead of the colours of texels with alpha 0."""
    texels = quads.reshape(-1, TEXELS, CHANNELS)
    return np.where(texels[..., 3:] > 0, texels, 0).astype(np.uint8).reshape(-1, BLOCK_BYTES)


def premultiply(quads: Bytes) -> Bytes:
    """Return the blocks with colours multiplied by alpha, rounded; alpha stays."""
    if (quads[:, 3::CHANNELS] == 255).all():
        return quads
    texels = quads.reshape(-1, TEXELS, CHANNELS).astype(np.uint32)
    texels[..., :3] = (texels[..., :3] * texels[..., 3:] + 127) // 255
    return texels.astype(np.uint8).reshape(-1, BLOCK_BYTES)


def _number_quads(quads: Bytes) -> tuple[Bytes, Longs]:
    """Return the different blocks, sorted by their bytes, and the number of each block's own."""
    # Two big-endian words sort like the bytes, in a fifth of the time.
    words = quads.view(">u8").astype(np.uint64)
    order = np.lexsort((words[:, 1], words[:, 0]))
    words = words[order]
    is_new = np.ones(len(words), bool)
    is_new[1:] = (words[1:] != words[:-1]).any(axis=1)
    number = np.zeros(len(words), np.int64)
    number[order] = np.cumsum(is_new) - 1
    return quads[order[is_new]], number


def _search_labels(blocks: Bytes, weight: Longs) -> Ints:
    """Divide sorted blocks among 256 entries with little squared error; return their labels."""
    below = np.cumsum(weight)
    # Begin at blocks at equal steps of weight, and for each block guess the one above.
    steps = (2 * np.arange(ENTRIES) + 1) * below[-1] // (2 * ENTRIES)
    at = np.searchsorted(below, steps, side="right")
    guess = np.minimum(np.searchsorted(at, np.arange(len(blocks))), ENTRIES - 1)
    label, centers = guess.astype(np.int32), np.ascontiguousarray(blocks[at])
    search = choose("search_codebook", search_codebook)
    search(blocks, weight.astype(np.int32), centers, label)
    return label


def _mean_quads(quads: Bytes, weight: Longs, label: Ints) -> Bytes:
    """Return the mean block of each label that is in use, colours weighted by alpha."""
    texels = quads.reshape(-1, TEXELS, CHANNELS).astype(np.int64)
    alpha = texels[..., 3] * weight[:, None]
    uses = np.bincount(label, weight, ENTRIES)
    rows = np.zeros((ENTRIES, TEXELS, CHANNELS), np.uint8)
    for texel in range(TEXELS):
        total = np.bincount(label, alpha[:, texel], ENTRIES)
        rows[:, texel, 3] = np.floor(total / np.maximum(uses, 1) + 0.5)
        for channel in range(3):
            one = np.bincount(label, alpha[:, texel] * texels[:, texel, channel], ENTRIES)
            rows[:, texel, channel] = np.floor(one / np.maximum(total, 1) + 0.5)
    # A mean alpha that rounds to 0 hides its colour.
    return clear_hidden(rows.reshape(-1, BLOCK_BYTES)[uses > 0])
