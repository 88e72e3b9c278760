"""Divide weighted colours among few centres with little squared error: k-means that can leap.

Colours are points of six whole numbers. In each round, centres move to the means of their colours;
centres that hardly matter leap to where a group of colours divides in two with more gain. Nothing
is random and all sums are exact, so the same colours give the same centres everywhere. Functions
with the name of a kernel are its reference, and compute gains by the same operations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from encoders.kit.native.kernel import choose

Points = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

AXES = 6
# Columns of totals: the weight, sums and sums of squares by axis.
WEIGHT, SUMS, SQUARES = 0, slice(1, 7), slice(7, 13)
COLUMNS = 13
# A split along the axis of a normal distribution leaves 36 % of its variance, and the halves' means
# are 0.8 standard deviations away.
SPLIT_GAIN, SPLIT_STEP = 0.64, 0.8
# Rounds at the end of a search without leaps, and rounds after a single leap before it is judged.
LAST_ROUNDS, SETTLE_ROUNDS = 4, 3
# The largest number of a point.
MOST = 4095


class Totals(NamedTuple):
    """The nearest centre of each point, and sums over the points of each centre."""

    label: Points
    table: Floats

    def means(self, centers: Points) -> Points:
        """Return the rounded mean of each centre's points; an unused one stays."""
        # Whole numbers below 2^53, so that they are exact as integers too.
        weight, sums = (self.table[:, at].astype(np.int64) for at in ([WEIGHT], SUMS))
        found = (2 * sums + weight) // np.maximum(2 * weight, 1)
        return np.where(weight > 0, found, centers).astype(np.int32)

    def error(self, centers: Points) -> float:
        """Return the sum of weighted squared distances to the centres."""
        table, at = self.table, centers.astype(np.float64)
        # Every term is a whole number, so that the sum is exact.
        parts = table[:, SQUARES] - 2 * at * table[:, SUMS] + at * at * table[:, WEIGHT, None]
        return float(parts.sum())


def find_nearest(points: Points, centers: Points) -> Points:
    """Return the nearest centre of each point, the lowest on a tie."""
    found = np.zeros(len(points), np.int32)
    choose("color_label", color_label)(points, centers, found)
    return found


def split_points(points: Points, weights: Points, count: int) -> Totals:
    """Divide points into at most `count` boxes, the one with the greatest variance first."""
    found = Totals(np.zeros(len(points), np.int32), np.zeros((count, COLUMNS)))
    choose("color_split", color_split)(points, weights, *found)
    return found


def search_centers(
    points: Points, weights: Points, label: Points, count: int, limits: tuple[int, int]
) -> Points:
    """Return the best centres found, from the means of labels on; limits: rounds, single leaps."""
    centers = np.zeros((count, AXES), np.int32)
    choose("color_search", color_search)(points, weights, label.copy(), centers, limits)
    return centers


def color_label(points: Points, centers: Points, labels: Points) -> None:
    """Fill `labels`."""
    right = centers.astype(np.float64)
    for start in range(0, len(points), 4096):
        rows = slice(start, start + 4096)
        left = points[rows].astype(np.float64)
        # |p - c|^2 without |p|^2, which is the same for all centres; whole numbers below 2^53.
        labels[rows] = ((right * right).sum(axis=1) - 2 * (left @ right.T)).argmin(axis=1)


def _add_up(points: Points, weights: Points, labels: Points, count: int) -> Floats:
    """Return the totals of labelled points; bincount sums in float64, exact below 2^53."""
    share, column = weights.astype(np.float64), points.T.astype(np.float64)
    columns = [share, *(share * column), *(share * column * column)]
    return np.stack([np.bincount(labels, one, count) for one in columns], axis=1)


def color_split(points: Points, weights: Points, labels: Points, totals: Floats) -> None:
    """Fill `labels` and `totals`: cut the widest box at its mean, again and again."""
    labels[:] = 0
    totals[:] = _add_up(points, weights, labels, len(totals))
    for boxes in range(1, len(totals)):
        mean, spread = _spread(totals[:boxes])
        box = int(spread.max(axis=1).argmax())
        axis = int(spread[box].argmax())
        if spread[box, axis] <= 0:
            break
        above = (labels == box) & (points[:, axis] > mean[box, axis])
        labels[above] = boxes
        totals[boxes] = _add_up(points[above], weights[above], np.zeros_like(labels[above]), 1)[0]
        totals[box] -= totals[boxes]
        if not totals[boxes, WEIGHT] or not totals[box, WEIGHT]:
            break


def color_search(
    points: Points, weights: Points, labels: Points, centers: Points, limits: tuple[int, int]
) -> None:
    """Fill `centers`, from the means of `labels` on; `labels` has those of the last round tried."""
    rounds, tries = limits
    first = Totals(labels, _add_up(points, weights, labels, len(centers)))
    search = _Search(points, weights, labels)
    centers[:] = search.run_rounds(first.means(np.zeros_like(centers)), rounds)
    if tries:
        centers[:] = search.try_leaps(centers.copy(), tries)


class _Search:
    """A search over points; labels are those of the last round."""

    def __init__(self, points: Points, weights: Points, labels: Points):
        self.points, self.weights, self.labels = points, weights, labels

    def _round(self, centers: Points) -> Totals:
        color_label(self.points, centers, self.labels)
        table = _add_up(self.points, self.weights, self.labels, len(centers))
        return Totals(self.labels, table)

    def run_rounds(self, centers: Points, rounds: int) -> Points:
        """Return the centres of the round with the least error."""
        best, least = centers, float("inf")
        for number in range(rounds):
            found = self._round(centers)
            error = found.error(centers)
            if error < least:
                best, least = centers, error
            moved, left = found.means(centers), rounds - LAST_ROUNDS - number
            if left > 0:
                most = len(centers) * left // (4 * rounds) + 1
                moved = _leap_many(found, _losses(found, centers), moved, most)
            if np.array_equal(moved, centers):
                break
            centers = moved
        return best

    def try_leaps(self, centers: Points, tries: int) -> Points:
        """Return centres improved by single leaps, each kept only if it lowers the error."""
        found = self._round(centers)
        least, loss, (gain, halves) = found.error(centers), _losses(found, centers), _splits(found)
        allowed = ~np.eye(len(centers), dtype=bool)
        for _ in range(tries):
            net = np.where(allowed, gain[None, :] - loss[:, None], 0.0)
            off, apart = divmod(int(net.argmax()), len(net))
            if net[off, apart] <= 0:
                break
            allowed[off, apart] = False
            moved = centers.copy()
            moved[off], moved[apart] = halves[0][apart], halves[1][apart]
            for _ in range(SETTLE_ROUNDS):
                moved = self._round(moved).means(moved)
            found = self._round(moved)
            if found.error(moved) < least:
                centers, least = moved, found.error(moved)
                loss, (gain, halves) = _losses(found, centers), _splits(found)
                allowed = ~np.eye(len(centers), dtype=bool)
        return centers


def _spread(table: Floats) -> tuple[Floats, Floats]:
    """Return mean and squared error of each centre's points by axis."""
    mean = table[:, SUMS] / np.maximum(table[:, WEIGHT, None], 1)
    return mean, table[:, SQUARES] - mean * table[:, SUMS]


def _splits(found: Totals) -> tuple[Floats, list[Points]]:
    """Return what dividing each centre's points would gain, and the two halves' means."""
    mean, spread = _spread(found.table)
    axis, rows = spread.argmax(axis=1), np.arange(len(spread))
    step, weight = np.zeros_like(mean), np.maximum(found.table[:, WEIGHT], 1)
    step[rows, axis] = SPLIT_STEP * np.sqrt(np.maximum(spread[rows, axis] / weight, 0))
    halves = [np.clip(np.floor(mean + sign * step + 0.5), 0, MOST) for sign in (-1, 1)]
    return SPLIT_GAIN * spread[rows, axis], [one.astype(np.int32) for one in halves]


def _losses(found: Totals, centers: Points) -> Floats:
    """Return what the loss of each centre costs.

    That is half of what merging it with its nearest one does: its points go to several.
    """
    if len(centers) == 1:
        return np.zeros(1)
    off = (centers[:, None] - centers[None]).astype(np.int64)
    apart = (off * off).sum(axis=2)
    np.fill_diagonal(apart, np.iinfo(np.int32).max)
    nearest, weight = apart.argmin(axis=1), found.table[:, WEIGHT]
    both = weight + weight[nearest]
    least: Floats = weight * weight[nearest] / np.where(both > 0, both, 1) * apart.min(axis=1) / 2
    return least


def _leap_many(found: Totals, loss: Floats, centers: Points, most: int) -> Points:
    """Return the centres after the least useful leapt to where another divides with more gain."""
    gain, halves = _splits(found)
    useless, costly = np.argsort(loss, kind="stable"), np.argsort(-gain, kind="stable")
    moved, leapt = centers.copy(), set[int]()
    for off, apart in zip(useless[:most].tolist(), costly[:most].tolist(), strict=True):
        if gain[apart] <= loss[off] or off == apart or leapt & {off, apart}:
            break
        moved[off], moved[apart] = halves[0][apart], halves[1][apart]
        leapt |= {off, apart}
    return moved
