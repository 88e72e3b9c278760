"""Move the entries of a small palette, word by word, to where colours are nearer and look nearer.

What is made small is a product of two means: of squared distances in red, green and blue, and of
OKLab distances. The second is a mean of lengths, not of squares, so that large areas are worth
their exact colour. Every operation is on single numbers or in the order of colours, so that all
machines agree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from encoders.kit.image.palette.color_search import Points, find_nearest

Entries = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

# What an entry may do in a round: stay, or go a level down or up in one channel.
STEPS = np.array(
    [[0, 0, 0], *(s * np.eye(3, dtype=np.int64)[c] for c in range(3) for s in (-1, 1))]
)
# The powers of both means in their product.
SQUARES, LENGTHS = 3, 2
# A mean of nothing would divide by 0.
TINY = 1e-6
# Weights of lengths: an OKLab distance, in points, that is short, and about what the weights add
# up to at most, so that few texels keep fractions.
SHORT, TOTAL = 80, 1 << 22


class Means(NamedTuple):
    """The mean squared distance and the mean OKLab distance of colours."""

    square: float
    length: float

    def error(self) -> float:
        """Return the product; by multiplication, because powers may differ between machines."""
        product = 1.0
        for factor in [self.square] * SQUARES + [self.length] * LENGTHS:
            product *= factor
        return product

    def factors(self) -> tuple[np.float32, np.float32]:
        """Return what either distance adds to the error, but for a common factor."""
        square, length = max(self.square, TINY), max(self.length, TINY)
        return np.float32(SQUARES / square), np.float32(LENGTHS / length)


class Words(NamedTuple):
    """The points of all words that entries may be, and the same by axis."""

    points: Points
    columns: Floats


def by_axis(points: Points) -> Floats:
    """Return points by axis, as they are measured."""
    return np.ascontiguousarray(points.T, np.float32)


class Polish:
    """Weighted points, and all words that entries may be."""

    def __init__(self, points: Points, weights: Points, words: Words) -> None:
        """Keep them, points by axis too."""
        self.points, self.weights, self.words = points, weights, words
        self.columns = by_axis(points)
        self.shares, self.all_one = weights.astype(float), np.zeros(len(weights), np.intp)

    def run(self, entries: Entries, rounds: int) -> tuple[float, Entries]:
        """Return the least error of some rounds, and its entries, sorted."""
        best = (float("inf"), entries)
        for number in range(rounds):
            label = self._label(entries)
            means = Means(*(self._mean(one) for one in self._measure(entries[label])))
            if means.error() >= best[0]:
                break
            best = (means.error(), entries)
            if number + 1 < rounds:
                entries = np.unique(self._step(entries, label, means))
        return best

    def length_weights(self, entries: Entries) -> Points:
        """Return weights with which squared OKLab distances add up about as their lengths do.

        Each is divided by the distance from the entries: what is near them is worth more.
        """
        _, look = self._measure(entries[self._label(entries)])
        weights = self.weights.astype(np.int64)
        share = SHORT * max(1, TOTAL // int(weights.sum()))
        found: Points = np.maximum(weights * share // (SHORT + look.astype(np.int64)), 1)
        return found.astype(np.int32)

    def _label(self, entries: Entries) -> Points:
        return find_nearest(self.points, self.words.points[entries])

    def _measure(self, words: Entries) -> tuple[Floats, Floats]:
        """Return the squared distance and the OKLab distance of each colour from its word."""
        red, green, blue, light, a, b = self.columns - self.words.columns.take(words, axis=1)
        look: Floats = np.sqrt(light * light + a * a + b * b)
        return red * red + green * green + blue * blue, look

    def _mean(self, values: Floats) -> float:
        """Return a weighted mean; bincount adds one after the other on every machine."""
        return float(np.bincount(self.all_one, values * self.shares)[0] / self.shares.sum())

    def _step(self, entries: Entries, label: Points, means: Means) -> Entries:
        """Return for each entry the word nearby that suits its colours best."""
        levels = np.stack([entries & 31, entries >> 5 & 31, entries >> 10], axis=-1)
        near: Entries = np.clip(levels[:, None] + STEPS, 0, 31) @ np.array([1, 32, 1024])
        costs, factors = np.zeros(near.shape), means.factors()
        for step in range(len(STEPS)):
            square, length = self._measure(near[label, step])
            cost = (square * factors[0] + length * factors[1]) * self.weights
            costs[:, step] = np.bincount(label, cost, len(entries))
        chosen: Entries = near[np.arange(len(near)), costs.argmin(axis=1)]
        return chosen
