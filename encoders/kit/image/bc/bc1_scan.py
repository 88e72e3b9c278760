"""The likely cuts of sixteen opaque texels, by the error of the unrounded line.

How much a line explains depends on the cut alone and on one sum of colours, so all 969 cuts are
rated quickly. For each place of the first cut the best others are kept, and the rounded line is
judged for those that come near. This is the reference of the kernel in bc1_scan.c: every float
operation is a single float32 operation, in its order.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from encoders.kit.image.bc.bc1_fit import Floats, Ints, Line, Texels, error, fit, total
from encoders.kit.image.bc.bc1_search import cut_moments, suffix_sums

TEXELS = 16
# Cuts that are tried at most: later ones hardly ever win.
TRIES = 8
# A cut is tried when the unrounded line loses less against the best one than this part of what
# rounding has cost so far.
NEAR = np.float32(0.4)
# What the sums are of, in units of an error: 9 / 16 of the square of a sum of colours.
SHARE = np.float32(9 / TEXELS)
# Second and third cuts, the last ones first: those behind a first cut are the first rows.
PAIRS = [(b, c) for b in range(TEXELS, -1, -1) for c in range(b, TEXELS + 1)]


@cache
def factors() -> Floats:
    """Return what turns the square of a sum of colours into what a cut explains, by its places."""
    found = np.zeros((TEXELS + 1, len(PAIRS)), np.float32)
    for n, (second, third) in enumerate(PAIRS):
        for first in range(second + 1):
            one, two, three = TEXELS - first, TEXELS - second, TEXELS - third
            once, twice = one + two + three, one + 3 * two + 5 * three
            aa, ab = 9 * TEXELS - 6 * once + twice, 3 * once - twice
            determinant = aa * twice - ab * ab
            if determinant > 0:
                found[first, n] = SHARE * np.float32(9) / np.float32(determinant)
    return found


def rate_cuts(colors: Ints, sums: Ints) -> tuple[Floats, NDArray[np.intp]]:
    """Return what the best cuts explain for each place of the first, and which pairs they are."""
    places = np.arange(TEXELS + 1, dtype=np.int32)[:, None]
    start = (TEXELS * colors - (TEXELS - places) * sums[:, None]).astype(np.float32)
    pairs = [start[:, [pair[k] for pair in PAIRS]] for k in range(2)]
    both = pairs[0] + pairs[1]
    most = np.zeros((TEXELS + 1, colors.shape[2]), np.float32)
    which = np.zeros(most.shape, np.intp)
    for first in range(TEXELS + 1):
        count = (TEXELS + 1 - first) * (TEXELS + 2 - first) // 2
        red, green, blue = both[:, :count] + start[:, first, None]
        gain = (red * red + green * green + blue * blue) * factors()[first, :count, None]
        which[first] = gain.argmax(axis=0)
        most[first] = gain.max(axis=0)
    return most, which


def scan(texels: Texels, best: tuple[Line, Ints]) -> Line:
    """Return the line of each block or a better one of the cuts that come near the best."""
    colors, counts, _ = suffix_sums(texels)
    sums = total(texels.color)
    most, which = rate_cuts(colors, sums)
    a, b, least = best[0].a.copy(), best[0].b.copy(), best[1].copy()
    red, green, blue = sums.astype(np.float32)
    base = SHARE * (red * red + green * green + blue * blue)
    top = most.max(axis=0) + base
    live = np.arange(len(base))
    for _ in range(TRIES):
        first = most[:, live].argmax(axis=0)
        gain = most[first, live]
        loss = top[live] - (gain + base[live])
        is_near = loss <= NEAR * (top[live] + least[live].astype(np.float32))
        kept = (gain > 0) & is_near
        live, first = live[kept], first[kept]
        if not len(live):
            break
        most[first, live] = 0
        places = np.array(PAIRS)[which[first, live]].T
        line, now = _line_of(colors[..., live], counts[..., live], (first, *places))
        less = now < least[live]
        some = live[less]
        a[:, some], b[:, some], least[some] = line.a[:, less], line.b[:, less], now[less]
    return Line(a, b)


def _line_of(colors: Ints, counts: Ints, cuts: tuple[NDArray[np.intp], ...]) -> tuple[Line, Ints]:
    """Return the rounded line of each block's cut, and its error."""
    every = np.arange(colors.shape[2])
    at = [(colors[:, cut, every], counts[cut, every]) for cut in cuts]
    found = cut_moments(colors[:, 0], counts[0], at)
    line = fit(found, len(cuts))
    return line, error(found, line, len(cuts))
