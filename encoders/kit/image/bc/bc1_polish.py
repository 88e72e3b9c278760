"""Small steps of a line's ends, judged by the colours that a decoder shows.

This is the reference of the kernel in bc1_polish.c: it tries the same moves in the same order.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from encoders.kit.image.bc.bc1_fit import TOP, Ints, Line, Texels, expand, total

# Moves by levels of both ends, (moves, end, channel): in one channel by up to two levels, and by
# one level in up to three of the six numbers.
WIDE, MOST_TOGETHER = (-2, -1, 0, 1, 2), 3
CHANNEL_MOVES = np.array(
    [np.outer((a, b), np.eye(3)[c]) for c in range(3) for a, b in product(WIDE, WIDE)]
).astype(np.int32)
TOGETHER_MOVES = np.array(
    [by[::-1] for by in product((-1, 0, 1), repeat=6) if np.count_nonzero(by) <= MOST_TOGETHER]
).astype(np.int32)
TOGETHER_MOVES = TOGETHER_MOVES.reshape(-1, 2, 3)


class Shown(NamedTuple):
    """What a decoder shows of lines: each texel's nearest step, and the squared error."""

    steps: Ints
    error: Ints


def show(texels: Texels, line: Line) -> Shown:
    """Return the nearest steps of lines, the lowest of equally near ones, and their error."""
    a, b, d = expand(line.a), expand(line.b), texels.steps
    # Decoders of 8 bits round down.
    shown = np.stack([((d - k) * a + k * b) // d for k in range(d + 1)])
    off = texels.color - shown[:, :, None]
    apart = off[:, 0] ** 2 + off[:, 1] ** 2 + off[:, 2] ** 2
    return Shown(apart.argmin(axis=0).astype(np.int32), total(apart.min(axis=0) * texels.opaque))


def polish(texels: Texels, line: Line) -> tuple[Line, Shown]:
    """Return lines moved for as long as that is nearer, and what is shown of them."""
    a, b = line.a.copy(), line.b.copy()
    live = np.flatnonzero(show(texels, line).error > 0)
    while len(live):
        part = Texels(texels.color[..., live], texels.opaque[..., live], texels.steps)
        ends = np.stack([a[:, live], b[:, live]])
        is_moved = _move(part, ends, CHANNEL_MOVES)
        stuck = np.flatnonzero(~is_moved)
        rest = Texels(part.color[..., stuck], part.opaque[..., stuck], part.steps)
        others = ends[..., stuck]
        is_moved[stuck] = _move(rest, others, TOGETHER_MOVES)
        ends[..., stuck] = others
        a[:, live], b[:, live] = ends
        live = live[is_moved]
    line = Line(a, b)
    return line, show(texels, line)


def _move(texels: Texels, ends: Ints, moves: Ints) -> NDArray[np.bool_]:
    """Try one move after the other, keep those that are nearer, and return which blocks moved."""
    least = show(texels, Line(*ends)).error
    is_moved = np.zeros(len(least), bool)
    top = TOP.astype(np.int32)
    for move in moves[..., None]:
        moved = ends + move
        error = show(texels, Line(*moved)).error
        is_nearer = ((moved >= 0) & (moved <= top)).all(axis=(0, 1)) & (error < least)
        ends[..., is_nearer], least[is_nearer] = moved[..., is_nearer], error[is_nearer]
        is_moved |= is_nearer
    return is_moved
