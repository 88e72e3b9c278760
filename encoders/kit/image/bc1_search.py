"""The reference of the exhaustive BC1 search: every way to cut a block's colours in order.

The texels of a block are sorted along a line; every way to cut the sorted row into steps is
tried (969 ways in the opaque mode). The one rule: a cut whose unrounded fit is no better than
the best line met so far is passed over, decided in exact arithmetic, so that the native kernel
passes over the same ones.
"""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from encoders.kit.image.bc1_fit import (
    FAR,
    Ints,
    Line,
    Moments,
    Texels,
    alternate,
    error,
    fit,
    moments,
    nearest_steps,
    principal_axis,
    project,
)

SETTLING_ROUNDS = 2


def suffix_sums(texels: Texels) -> tuple[Ints, Ints]:
    """Sort each block along its axis; sum and count the opaque texels from each place on."""
    place = project(texels, principal_axis(texels))
    place = np.where(texels.opaque != 0, place, FAR)
    order = np.argsort(place, axis=0, kind="stable")
    rows = np.concatenate([texels.color, texels.opaque[None]])
    rows = np.take_along_axis(rows, order[None], 1)
    sums = np.zeros((4, 17, rows.shape[2]), np.int32)
    sums[:, :16] = np.cumsum(rows[:, ::-1], axis=1, dtype=np.int32)[:, ::-1]
    return sums[:3], sums[3]


def cut_moments(colors: Ints, counts: Ints, cuts: tuple[int, ...]) -> Moments:
    """Give the moments of the steps that rise by one at each cut."""
    d = len(cuts)
    b_color, once, twice = np.zeros_like(colors[:, 0]), 0 * counts[0], 0 * counts[0]
    for k, cut in enumerate(cuts):
        b_color = b_color + colors[:, cut]
        once = once + counts[cut]
        twice = twice + (2 * k + 1) * counts[cut]  # the squares 1, 4, 9 grow by 1, 3, 5
    a_twice = d * d * counts[0] - 2 * d * once + twice
    return Moments(a_twice, d * once - twice, twice, d * colors[:, 0] - b_color, b_color)


def promising(found: Moments, least: Ints, steps: int) -> NDArray[np.intp]:
    """List the blocks where the unrounded fit of these steps would beat the least error."""
    aa, ab, bb = (part.astype(np.float64) for part in found[:3])
    a, b = found.a_color.astype(np.float64), found.b_color.astype(np.float64)
    squares = bb * (a * a) - 2 * ab * (a * b) + aa * (b * b)
    gain = (squares[0] + squares[1] + squares[2]) * (steps * steps)
    determinant = aa * bb - ab * ab
    return np.flatnonzero((determinant > 0) & (gain > -least.astype(np.float64) * determinant))


def try_cuts(texels: Texels, best: tuple[Line, Ints]) -> tuple[Line, Ints]:
    """Try every cut along the principal axis; keep the best line met."""
    colors, counts = suffix_sums(texels)
    a, b, least = best[0].a.copy(), best[0].b.copy(), best[1].copy()
    for cuts in combinations_with_replacement(range(17), texels.steps):
        found = cut_moments(colors, counts, cuts)
        where = promising(found, least, texels.steps)
        if not len(where):
            continue
        found = Moments(*(part[..., where] for part in found))
        line = fit(found, texels.steps)
        now = error(found, line, texels.steps)
        less = now < least[where]
        where = where[less]
        a[:, where], b[:, where], least[where] = line.a[:, less], line.b[:, less], now[less]
    return Line(a, b), least


def search(texels: Texels, best: tuple[Line, Ints]) -> Line:
    """Improve the best line so far by trying every cut, then go on alternating from there."""
    line, least = try_cuts(texels, best)
    found = moments(texels, nearest_steps(texels, line))
    return alternate(texels, found, (line, least), SETTLING_ROUNDS)[0]
