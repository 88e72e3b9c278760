"""Choose a codebook: up to 256 blocks of 2x2 RGBA texels that stand for all blocks of pictures.

Blocks are compared with colours multiplied by alpha, so that hidden colours cost nothing. The
search starts at evenly spaced blocks of the sorted ones and moves entries by k-means; in each round
entries that hardly matter move to where an entry divides in two with more gain. Nothing is random
and all sums are of whole numbers, so the same pictures give the same codebook everywhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from encoders.kit.image.pixel import Rgba8
from encoders.kit.native.kernel import choose

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

ENTRIES = 256
TEXELS, CHANNELS = 4, 4
BLOCK_BYTES = TEXELS * CHANNELS
# Rounds in which entries may move elsewhere, and rounds in all. More gain less than 0.1 dB.
MOVING_ROUNDS = 8
ROUNDS = 12
# Without moves, a round that gains less than this part of the error is the last.
LEAST_GAIN = 1 / 1024
# The second distance where there is no second entry; larger than any distance.
NO_SECOND = (2**31 - 1) // ENTRIES


def to_quads(picture: Rgba8) -> Bytes:
    """Return the 2x2 blocks of a picture, row by row: north-west, north-east, south-west, ..."""
    height, width = picture.shape[:2]
    grid = picture.reshape(height // 2, 2, width // 2, 2, CHANNELS).swapaxes(1, 2)
    return np.ascontiguousarray(grid).reshape(-1, BLOCK_BYTES)


def from_quads(quads: Bytes, width: int, height: int) -> Rgba8:
    """Return the picture that has these 2x2 blocks."""
    grid = quads.reshape(height // 2, width // 2, 2, 2, CHANNELS).swapaxes(1, 2)
    return np.ascontiguousarray(grid).reshape(height, width, CHANNELS)


def choose_codebook(quads: Bytes) -> Bytes:
    """Choose at most 256 entries (count, 16) for blocks, sorted; exact where that is possible."""
    used, weight = count_quads(quads)
    if len(used) <= ENTRIES:
        return used
    shown, weight = _merge(clear_hidden(used), weight)
    if len(shown) <= ENTRIES:
        return shown
    label = _search_labels(premultiply(shown), weight)
    return np.unique(_mean_quads(shown, weight, label), axis=0)


def match_quads(quads: Bytes, entries: Bytes) -> Bytes:
    """Return the index of the best entry for each block: an equal one, else the nearest."""
    used, number = _number_quads(quads)
    guess = np.zeros(len(used), np.int32)
    found = _search(premultiply(used), premultiply(entries), guess)
    # Blocks that differ in colours of low alpha alone are equal after multiplication.
    doubtful = (found.nearest == 0) & (used[:, 3::CHANNELS] < 255).any(axis=1)
    found.label[doubtful] = _equal_entries(used[doubtful], entries, found.label[doubtful])
    return found.label.astype(np.uint8)[number]


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
    return _merge(quads, np.ones(len(quads), np.int64))


def clear_hidden(quads: Bytes) -> Bytes:
    """Return the blocks with black instead of the colours of texels with alpha 0."""
    texels = quads.reshape(-1, TEXELS, CHANNELS)
    return np.where(texels[..., 3:] > 0, texels, 0).astype(np.uint8).reshape(-1, BLOCK_BYTES)


def premultiply(quads: Bytes) -> Bytes:
    """Return the blocks with colours multiplied by alpha, rounded; alpha stays."""
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


def _merge(quads: Bytes, weight: Longs) -> tuple[Bytes, Longs]:
    """Return the different blocks, sorted by their bytes, with the sums of their weights."""
    used, number = _number_quads(quads)
    return used, np.bincount(number, weight, len(used)).astype(np.int64)


class _Found(NamedTuple):
    """The nearest entry of each block, its squared distance and that of the next one."""

    label: Ints
    nearest: Ints
    second: Ints


def _search(blocks: Bytes, centers: Bytes, guess: Ints) -> _Found:
    found = _Found(guess.copy(), np.zeros(len(blocks), np.int32), np.zeros(len(blocks), np.int32))
    choose("nearest_blocks", nearest_blocks)(blocks, centers, *found)
    return found


def nearest_blocks(
    blocks: Bytes, centers: Bytes, labels: Ints, nearest: Ints, second: Ints
) -> None:
    """Fill the three arrays: the reference of the native kernel, which starts at `labels`."""
    # All sums are integers below 2**24, so float32 is exact.
    right = centers.astype(np.float32)
    squares = (right * right).sum(axis=1)
    entry = np.arange(len(centers), dtype=np.int32)
    for start in range(0, len(blocks), 4096):
        rows = slice(start, start + 4096)
        left = blocks[rows].astype(np.float32)
        # |b - c|^2 without |b|^2, which is the same for all entries.
        off = squares - 2 * (left @ right.T)
        distance = (off + (left * left).sum(axis=1, keepdims=True)).astype(np.int32)
        # Distance and entry in one number, so that the lowest of equally near entries is first.
        keys = distance * ENTRIES + entry
        labels[rows] = keys.min(axis=1) % ENTRIES
        nearest[rows] = keys.min(axis=1) // ENTRIES
        two = np.partition(keys, 1, axis=1)[:, 1] // ENTRIES if len(centers) > 1 else NO_SECOND
        second[rows] = two


def _search_labels(blocks: Bytes, weight: Longs) -> Ints:
    """Divide sorted blocks among 256 entries with little squared error; return their labels."""
    label, centers = _first_centers(blocks, weight)
    columns = [np.multiply(weight, one, dtype=np.float64) for one in blocks.T]
    best, least, may_move = label, None, True
    for number in range(ROUNDS):
        found = _search(blocks, centers, label)
        label = found.label
        error = int(np.sum(weight * found.nearest))
        is_last = least is not None and not may_move and error > least * (1 - LEAST_GAIN)
        if least is None or error < least:
            best, least = label, error
        if is_last or not error:
            break
        sums = _Sums(label, weight, columns)
        moved = _moved(sums, blocks, found) if may_move and number < MOVING_ROUNDS else {}
        may_move = bool(moved)
        centers = sums.means()
        for entry, center in moved.items():
            centers[entry] = center
    return best


def _first_centers(blocks: Bytes, weight: Longs) -> tuple[Ints, Bytes]:
    """Return blocks at equal steps of weight, and for each block the number of the one above."""
    below = np.cumsum(weight)
    steps = (2 * np.arange(ENTRIES) + 1) * below[-1] // (2 * ENTRIES)
    at = np.searchsorted(below, steps, side="right")
    label = np.minimum(np.searchsorted(at, np.arange(len(blocks))), ENTRIES - 1)
    return label.astype(np.int32), np.ascontiguousarray(blocks[at])


class _Sums:
    """Weights and weighted sums of the blocks of each label."""

    def __init__(self, label: Ints, weight: Longs, columns: list[Floats], count: int = ENTRIES):
        """Add up; bincount sums in float64, exact below 2^53."""
        self.weight, self.columns, self.uses = weight, columns, np.bincount(label, weight, count)
        self.divisor = np.maximum(self.uses, 1)
        self.sums = [np.bincount(label, column, count) for column in columns]

    def means(self) -> Bytes:
        """Return the rounded mean block of each label; zeros where it has none."""
        rows = [np.floor(one / self.divisor + 0.5) for one in self.sums]
        return np.stack(rows, axis=1).astype(np.uint8)

    def energy(self) -> Floats:
        """Return by how much each label's mean lowers the sum of its squares."""
        # One axis after the other: the order of adding must not depend on the machine.
        total = np.zeros(len(self.uses))
        for one in self.sums:
            total += one * one / self.divisor
        return total


def _moved(sums: _Sums, blocks: Bytes, found: _Found) -> dict[int, Bytes]:
    """Return new places of entries: the least useful ones go where one divides with more gain."""
    halves = _Sums(_halves(sums, blocks, found.label), sums.weight, sums.columns, 2 * ENTRIES)
    gain = halves.energy().reshape(-1, 2).sum(axis=1) - sums.energy()
    extra = sums.weight * (found.second.astype(np.int64) - found.nearest)
    loss = np.bincount(found.label, extra, ENTRIES)
    useless, costly = np.argsort(loss, kind="stable"), np.argsort(-gain, kind="stable")
    moved: dict[int, Bytes] = {}
    places = halves.means()
    # Pairs of the least loss and the greatest gain; half of the entries can move at most.
    for off, apart in zip(useless.tolist(), costly.tolist(), strict=True):
        if gain[apart] <= loss[off] or off == apart or off in moved or apart in moved:
            break
        moved |= {off: places[2 * apart], apart: places[2 * apart + 1]}
    return moved


def _halves(sums: _Sums, blocks: Bytes, label: Ints) -> Ints:
    """Label the halves of each label, cut at the mean of the axis with the greatest variance."""
    variance = np.zeros((BLOCK_BYTES, ENTRIES))
    for axis, column in enumerate(sums.columns):
        squares = np.bincount(label, column * blocks[:, axis], ENTRIES)
        variance[axis] = squares - sums.sums[axis] * sums.sums[axis] / sums.divisor
    axis = variance.argmax(axis=0)
    mean = np.stack(sums.sums)[axis, np.arange(ENTRIES)] / sums.divisor
    is_above = blocks[np.arange(len(blocks)), axis[label]] > mean[label]
    halves: Ints = 2 * label + is_above.astype(np.int32)
    return halves


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
