"""Divide weighted colours among few centres with little squared error: k-means that can leap.

Colours are points of six whole numbers. In each round, centres move to the means of their colours;
centres that hardly matter move to where a group of colours divides in two with more gain. Nothing
is random and all sums are exact, so the same colours give the same centres everywhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from encoders.kit.native.kernel import choose

Points = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

AXES = 6
ENTRIES = 256
# Columns of totals: the weight, sums and sums of squares by axis, what an entry is worth.
WEIGHT, SUMS, SQUARES, LOSS = 0, slice(1, 7), slice(7, 13), 13
COLUMNS = 14
# A split along the axis of a normal distribution leaves 36 % of its variance, and the halves' means
# are 0.8 standard deviations away.
SPLIT_GAIN, SPLIT_STEP = 0.64, 0.8
# Rounds after a single leap before it is judged.
SETTLE_ROUNDS = 3
# The largest number of a point.
MOST = 4095


class Totals(NamedTuple):
    """The nearest centre of each point, and sums over the points of each centre."""

    label: Points
    table: Floats

    def means(self, centers: Points) -> Points:
        """Return the rounded mean of each centre's points; an unused one stays."""
        weight = self.table[:, WEIGHT, None]
        found = np.floor(self.table[:, SUMS] / np.maximum(weight, 1) + 0.5).astype(np.int32)
        return np.where(weight > 0, found, centers)

    def error(self, centers: Points) -> float:
        """Return the sum of weighted squared distances to the centres."""
        table, at = self.table, centers.astype(np.float64)
        # Every term is a whole number, so that the sum is exact.
        parts = table[:, SQUARES] - 2 * at * table[:, SUMS] + at * at * table[:, WEIGHT, None]
        return float(parts.sum())


def run_round(points: Points, weights: Points, centers: Points, label: Points) -> Totals:
    """Find the nearest centre of each point, the lowest on a tie; `label` changes only the time."""
    found = Totals(label.copy(), np.zeros((len(centers), COLUMNS)))
    choose("color_round", color_round)(points, weights, centers, *found)
    return found


def color_round(
    points: Points, weights: Points, centers: Points, labels: Points, totals: Floats
) -> None:
    """Fill `labels` and `totals`: the reference of the native kernel."""
    farther = np.zeros(len(points))
    right = centers.astype(np.float64)
    for start in range(0, len(points), 4096):
        rows = slice(start, start + 4096)
        left = points[rows].astype(np.float64)
        # |p - c|^2 without |p|^2, which is the same for all centres; whole numbers below 2^53.
        off = (right * right).sum(axis=1) - 2 * (left @ right.T)
        labels[rows] = off.argmin(axis=1)
        if len(centers) > 1:
            two = np.partition(off, 1, axis=1)
            farther[rows] = two[:, 1] - two[:, 0]
    count, share = len(centers), weights.astype(np.float64)
    totals[:, WEIGHT] = np.bincount(labels, share, count)
    for axis in range(AXES):
        column = points[:, axis].astype(np.float64)
        totals[:, 1 + axis] = np.bincount(labels, share * column, count)
        totals[:, 1 + AXES + axis] = np.bincount(labels, share * column * column, count)
    totals[:, LOSS] = np.bincount(labels, share * farther, count)


def search_centers(
    points: Points, weights: Points, label: Points, count: int, rounds: int
) -> Points:
    """Return the best centres found; the search begins at the means of the given labels."""
    centers = first_means(points, weights, label, count)
    best, least = centers, float("inf")
    for number in range(rounds):
        found = run_round(points, weights, centers, label)
        label, error = found.label, found.error(centers)
        if error < least:
            best, least = centers, error
        # The last rounds only settle.
        leaps = _leaps(found, count * (rounds - 4 - number) // (4 * rounds) + 1)
        moved = found.means(centers)
        for entry, center in leaps.items() if number < rounds - 4 else ():
            moved[entry] = center
        if np.array_equal(moved, centers):
            break
        centers = moved
    return best


def first_means(points: Points, weights: Points, label: Points, count: int) -> Points:
    """Return the rounded mean of the points of each label."""
    share = weights.astype(np.float64)
    total = np.maximum(np.bincount(label, share, count), 1)
    sums = [np.bincount(label, share * points[:, axis], count) for axis in range(AXES)]
    return np.floor(np.stack(sums, axis=1) / total[:, None] + 0.5).astype(np.int32)


def improve_centers(points: Points, weights: Points, centers: Points, tries: int) -> Points:
    """Return centres improved by single leaps, each kept only if it lowers the error."""
    found = run_round(points, weights, centers, np.zeros(len(points), np.int32))
    least, refused = found.error(centers), set[tuple[int, int]]()
    for _ in range(tries):
        leap = _leap_of_rank(found, refused)
        if leap is None:
            break
        moved, label = centers.copy(), found.label
        for entry, center in leap.items():
            moved[entry] = center
        for _ in range(SETTLE_ROUNDS):
            moved = run_round(points, weights, moved, label).means(moved)
        after = run_round(points, weights, moved, label)
        off, apart = leap
        refused.add((off, apart))
        if after.error(moved) < least:
            centers, found, least, refused = moved, after, after.error(moved), set()
    return centers


def _leap_of_rank(found: Totals, refused: set[tuple[int, int]]) -> dict[int, Points] | None:
    """Return the leap with the greatest gain that was not refused; None after all of them."""
    gain, places = _splits(found)
    # What an entry is worth counts half: the colours around it settle anew.
    net = gain[None, :] - found.table[:, LOSS, None] / 2
    np.fill_diagonal(net, -1)
    for off, apart in refused:
        net[off, apart] = -1
    off, apart = divmod(int(net.argmax()), len(net))
    if net[off, apart] <= 0:
        return None
    return {off: places[0][apart], apart: places[1][apart]}


def _splits(found: Totals) -> tuple[Floats, list[Points]]:
    """Return what dividing each centre's points would gain, and the two halves' means."""
    table = found.table
    weight = np.maximum(table[:, WEIGHT, None], 1)
    mean = table[:, SUMS] / weight
    spread = table[:, SQUARES] - mean * table[:, SUMS]
    axis, rows = spread.argmax(axis=1), np.arange(len(table))
    step = np.zeros_like(mean)
    step[rows, axis] = SPLIT_STEP * np.sqrt(np.maximum(spread[rows, axis] / weight[:, 0], 0))
    halves = [np.clip(np.floor(mean + sign * step + 0.5), 0, MOST) for sign in (-1, 1)]
    return SPLIT_GAIN * spread[rows, axis], [one.astype(np.int32) for one in halves]


def _leaps(found: Totals, most: int) -> dict[int, Points]:
    """Return new places of centres: the least useful go where another divides with more gain."""
    (gain, places), loss = _splits(found), found.table[:, LOSS]
    useless, costly = np.argsort(loss, kind="stable"), np.argsort(-gain, kind="stable")
    leaps: dict[int, Points] = {}
    for off, apart in zip(useless[:most].tolist(), costly[:most].tolist(), strict=True):
        if gain[apart] <= loss[off] or off == apart or off in leaps or apart in leaps:
            break
        leaps |= {off: places[0][apart], apart: places[1][apart]}
    return leaps
