"""The search for a codebook of 256 blocks: the references of the kernels in codebook*.c.

Rounds of k-means. In the first ones entries that hardly matter move to where another divides with
more gain; until the last rounds entries go twice as far as to their means, because they drift the
same way for long.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

ENTRIES = 256
BLOCK_BYTES = 16
# Rounds in which entries may move elsewhere, rounds in all, and those without overshoot at the end.
MOVING_ROUNDS, ROUNDS, PLAIN_ROUNDS = 8, 13, 2
# A round that gains less than this part of the error is followed by plain ones: after no moves, and
# after a few of them. Many moves may gain late.
LEAST_GAIN, LEAST_GAIN_MOVED, FEW_MOVES = 1 / 8192, 1 / 128, 16


class _Found(NamedTuple):
    """The nearest entry of each block, its squared distance and that of the next one."""

    label: Ints
    nearest: Ints
    second: Ints


def nearest_blocks(blocks: Bytes, centers: Bytes, labels: Ints, nearest: Ints) -> None:
    """Fill both arrays; the kernel starts at the labels, which changes only the time."""
    for start in range(0, len(blocks), 4096):
        rows = slice(start, start + 4096)
        keys = _distance_keys(blocks[rows], centers).min(axis=1)
        labels[rows], nearest[rows] = keys % ENTRIES, keys // ENTRIES


def _distance_keys(blocks: Bytes, centers: Bytes) -> Ints:
    """Return distance * 256 + entry, so that the lowest of equally near entries is first."""
    # All sums are integers below 2**24, so float32 is exact.
    left, right = blocks.astype(np.float32), centers.astype(np.float32)
    off = (right * right).sum(axis=1) - 2 * (left @ right.T)
    distance = (off + (left * left).sum(axis=1, keepdims=True)).astype(np.int32)
    keys: Ints = distance * ENTRIES + np.arange(len(centers), dtype=np.int32)
    return keys


def _find(blocks: Bytes, centers: Bytes) -> _Found:
    """Return the two nearest of several entries for each block."""
    parts = [
        np.partition(_distance_keys(blocks[start : start + 4096], centers), 1, axis=1)[:, :2]
        for start in range(0, len(blocks), 4096)
    ]
    first, second = np.concatenate(parts).T
    return _Found(first % ENTRIES, first // ENTRIES, second // ENTRIES)


def search_codebook(blocks: Bytes, weights: Ints, centers: Bytes, labels: Ints) -> None:
    """Set the labels that divide the blocks among 256 entries with little squared error."""
    columns = [np.multiply(weights, one, dtype=np.float64) for one in blocks.T]
    # How many entries moved in the round before, as pairs: all at first.
    last, moves, number = ROUNDS - PLAIN_ROUNDS, ENTRIES, 0
    least = before = np.inf
    while number < ROUNDS:
        may_move = moves > 0 and number < MOVING_ROUNDS
        found = _find(blocks, centers)
        error = float(np.sum(weights.astype(np.int64) * found.nearest))
        if error < least:
            labels[:], least = found.label, error
        if not error:
            return
        least_gain = LEAST_GAIN_MOVED if may_move else LEAST_GAIN
        if number < last and moves <= FEW_MOVES and error > before * (1 - least_gain):
            number, may_move = last, False
        before = error
        sums = _Sums(found.label, weights, columns)
        centers = _center(sums.means(), centers, overshoots=0 < number < last)
        moved = _moved(sums, blocks, found) if may_move else {}
        moves = len(moved) // 2
        for entry, center in moved.items():
            centers[entry] = center
        number += 1


def _center(means: Bytes, centers: Bytes, overshoots: bool) -> Bytes:
    """Return the means, or places as far beyond them."""
    if not overshoots:
        return means
    beyond: Bytes = np.clip(2 * means.astype(np.int32) - centers, 0, 255).astype(np.uint8)
    return beyond


class _Sums:
    """Weights and weighted sums of the blocks of each label."""

    def __init__(self, label: Ints, weight: Ints, columns: list[Floats], count: int = ENTRIES):
        """Add up; bincount sums in float64, exact below 2^53."""
        self.weight, self.columns, self.uses = weight, columns, np.bincount(label, weight, count)
        self.divisor = np.maximum(self.uses, 1)
        self.sums = [np.bincount(label, column, count) for column in columns]

    def means(self) -> Bytes:
        """Return the rounded mean block of each label; zeros where it has none."""
        rows = [(2 * one + self.uses) // (2 * self.divisor) for one in self.sums]
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
    # An entry without blocks goes first: one with a twin loses nothing either.
    loss = np.where(sums.uses > 0, np.bincount(found.label, extra, ENTRIES), -1)
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
    total = np.stack(sums.sums)[axis, np.arange(ENTRIES)]
    is_above = blocks[np.arange(len(blocks)), axis[label]] * sums.uses[label] > total[label]
    halves: Ints = 2 * label + is_above.astype(np.int32)
    return halves
