"""Every way to cut a block's sorted colours into steps: the kernel's reference (bc1_search.c).

There are up to 969 of them in the four-colour mode.
"""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from encoders.kit.image.bc.bc1_fit import (
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
    total,
)

# Rounds of alternation after the search.
SETTLING_ROUNDS = 2


def suffix_sums(texels: Texels) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Sort each block along its axis; return sums and counts of the opaque texels from each on.

    Last comes which of the 17 places are cuts: where the colour changes, and both ends.
    """
    along = project(texels, principal_axis(texels))
    along = np.where(texels.opaque != 0, along, FAR)
    order = np.argsort(along, axis=0, kind="stable")
    rows = np.concatenate([texels.color, texels.opaque[None]])
    rows = np.take_along_axis(rows, order[None], 1)
    sums = np.zeros((4, 17, rows.shape[2]), np.int32)
    # Sums from each texel to the last, so that a cut costs one look-up.
    sums[:, :16] = np.cumsum(rows[:, ::-1], axis=1, dtype=np.int32)[:, ::-1]
    is_cut = np.ones((17, rows.shape[2]), bool)
    is_cut[1:16] = (rows[:3, 1:] != rows[:3, :-1]).any(0) & (rows[3, 1:] != 0)
    places = np.arange(17)[:, None]
    is_cut = (is_cut & (places < sums[3, 0])) | (places == sums[3, 0])
    return sums[:3], sums[3], is_cut


def count_colors(texels: Texels) -> Ints:
    """Return how many colours the opaque texels of each block have."""
    red, green, blue = texels.color
    words = np.where(texels.opaque != 0, (red << 16) | (green << 8) | blue, -1)
    words = np.sort(words, axis=0)
    is_new = np.concatenate([words[:1] >= 0, words[1:] != words[:-1]])
    return total(is_new.astype(np.int32))


def cut_moments(color: Ints, count: Ints, cuts: list[tuple[Ints, Ints]]) -> Moments:
    """Return the moments of texels whose step rises by one at each cut.

    Given are sums of colours and counts: of all texels, and of those from each cut on.
    """
    d = len(cuts)
    b_color, once, twice = np.zeros_like(color), 0 * count, 0 * count
    for k, (above, number) in enumerate(cuts):
        b_color = b_color + above
        once = once + number
        twice = twice + (2 * k + 1) * number  # the squares 1, 4, 9 grow by 1, 3, 5
    a_twice = d * d * count - 2 * d * once + twice
    return Moments(a_twice, d * once - twice, twice, d * color - b_color, b_color)


def promising(found: Moments, least: Ints, steps: int) -> NDArray[np.intp]:
    """Return the blocks where the unrounded fit of these steps would beat the least error.

    The integers are exact in float64, so that the kernel skips the same cuts.
    """
    aa, ab, bb = (part.astype(np.float64) for part in found[:3])
    a, b = found.a_color.astype(np.float64), found.b_color.astype(np.float64)
    squares = bb * (a * a) - 2 * ab * (a * b) + aa * (b * b)
    gain = (squares[0] + squares[1] + squares[2]) * (steps * steps)
    determinant = aa * bb - ab * ab
    return np.flatnonzero((determinant > 0) & (gain > -least.astype(np.float64) * determinant))


def try_cuts(texels: Texels, best: tuple[Line, Ints]) -> tuple[Line, Ints]:
    """Try every division of the sorted texels into steps; return the best line and its error."""
    colors, counts, is_cut = suffix_sums(texels)
    a, b, least = best[0].a.copy(), best[0].b.copy(), best[1].copy()
    # Cut k is where the step rises from k to k + 1; equal cuts skip a step.
    for cuts in combinations_with_replacement(range(17), texels.steps):
        allowed = np.flatnonzero(is_cut[list(cuts)].all(0))
        at = [(colors[:, cut, allowed], counts[cut, allowed]) for cut in cuts]
        found = cut_moments(colors[:, 0, allowed], counts[0, allowed], at)
        some = promising(found, least[allowed], texels.steps)
        where = allowed[some]
        if not len(where):
            continue
        found = Moments(*(part[..., some] for part in found))
        line = fit(found, texels.steps)
        now = error(found, line, texels.steps)
        less = now < least[where]
        where = where[less]
        a[:, where], b[:, where], least[where] = line.a[:, less], line.b[:, less], now[less]
    return Line(a, b), least


def search(texels: Texels, best: tuple[Line, Ints]) -> Line:
    """Improve the best line so far by trying every division, then alternate from there."""
    line, least = try_cuts(texels, best)
    found = moments(texels, nearest_steps(texels, line))
    return alternate(texels, found, (line, least), SETTLING_ROUNDS)[0]
