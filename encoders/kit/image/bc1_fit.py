"""The reference of the BC1 kernel: two endpoints and sixteen indices for every block.

The colours of a block are taken as points on a line from endpoint a to endpoint b, cut into
D steps (3 in the opaque mode, 2 in the punch-through mode), and j = 0..D is a texel's step.
The one rule: everything but the principal axis and the rounding of endpoints is integer
arithmetic, and those two are single float32 operations on one block each, so that the order
of sums never shows and the native kernel gives the same bytes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Floats = NDArray[np.float32]

ROUNDS = 3
POWER_STEPS = 4
INSET = 16  # outliers at the ends of a line cost less than a line too long
AXIS_SCALE = np.float32(1023)
CHUNK = 2048  # blocks at a time, so that the arrays of one step stay in the processor's cache
FAR = np.int32(1 << 30)

# By channel: bits of a level, the highest level, and levels per unit of 8-bit colour.
BITS = np.array([5, 6, 5], np.int32).reshape(3, 1)
TOP = np.array([31, 63, 31], np.float32).reshape(3, 1)
LEVELS_PER_UNIT = (TOP / np.float32(255)).astype(np.float32)

# From a step to the index in the block, by which of the words of a and b is the greater.
OPAQUE_INDEX = np.array([[0, 0, 0, 0], [0, 2, 3, 1], [1, 3, 2, 0]], np.uint32)
CUT_OUT_INDEX = np.array([[0, 0, 0, 0], [1, 2, 0, 0], [0, 2, 1, 0]], np.uint32)


class Texels(NamedTuple):
    """Blocks of one mode: colours by channel, texel and block; which texels count; D."""

    color: Ints
    opaque: Ints
    steps: int


class Line(NamedTuple):
    """A pair of endpoints as 5-6-5 levels, by channel and block."""

    a: Ints
    b: Ints


class Moments(NamedTuple):
    """What the error of a line depends on, once the steps are chosen.

    Sums over the texels of a block: products of their shares (in steps) of a and of b, and
    their colours weighted by either share.
    """

    aa: Ints
    ab: Ints
    bb: Ints
    a_color: Ints
    b_color: Ints


def expand(levels: Ints) -> Ints:
    """Widen 5-6-5 levels to 8 bits by repeating their high bits."""
    return (levels << (8 - BITS)) | (levels >> (2 * BITS - 8))


def total(values: Ints) -> Ints:
    """Sum over the texels of each block."""
    sums: Ints = np.add.reduce(values, axis=-2, dtype=np.int32)
    return sums


def principal_axis(texels: Texels) -> Ints:
    """Find the direction in which the colours of each block vary most, as small integers."""
    count = total(texels.opaque)
    sums = [total(channel) for channel in texels.color]

    def covariance(i: int, j: int) -> Floats:
        products = total(texels.color[i] * texels.color[j])
        return (count * products - sums[i] * sums[j]).astype(np.float32)

    rr, gg, bb = covariance(0, 0), covariance(1, 1), covariance(2, 2)
    rg, rb, gb = covariance(0, 1), covariance(0, 2), covariance(1, 2)
    # The row of the widest channel is one step of the iteration already done.
    green_widest, blue_widest = gg > rr, bb > np.maximum(rr, gg)
    x = np.where(blue_widest, rb, np.where(green_widest, rg, rr))
    y = np.where(blue_widest, gb, np.where(green_widest, gg, rg))
    z = np.where(blue_widest, bb, np.where(green_widest, gb, rb))
    for step in range(POWER_STEPS):
        if step % 2 == 0:  # float32 holds two products with the covariance, not four
            x, y, z = unit(x, y, z)
        x, y, z = rr * x + rg * y + rb * z, rg * x + gg * y + gb * z, rb * x + gb * y + bb * z
    return (np.stack(unit(x, y, z)) * AXIS_SCALE).astype(np.int32)


def unit(x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats, Floats]:
    """Scale vectors so that their longest part is 1; a null vector stays."""
    longest: Floats = np.maximum(np.maximum(np.abs(x), np.abs(y)), np.abs(z))
    longest[longest == 0] = 1
    return x / longest, y / longest, z / longest


def project(texels: Texels, axis: Ints) -> Ints:
    """Give each texel's place along its block's axis."""
    red, green, blue = texels.color
    place: Ints = red * axis[0] + green * axis[1] + blue * axis[2]
    return place


def cut(texels: Texels, place: Ints, start: Ints, length: Ints) -> Ints:
    """Choose the nearest step for places along a line; transparent texels are at step 0."""
    steps = np.zeros(place.shape, np.int32)
    for k in range(texels.steps):
        steps += place > start + (2 * k + 1) * length // (2 * texels.steps)
    return steps * texels.opaque


def first_steps(texels: Texels) -> Ints:
    """Choose steps between the outermost texels along the principal axis, a little inside."""
    place = project(texels, principal_axis(texels))
    low = np.minimum.reduce(np.where(texels.opaque != 0, place, FAR), axis=0)
    high = np.maximum.reduce(np.where(texels.opaque != 0, place, -FAR), axis=0)
    inset = (high - low) // INSET
    return cut(texels, place, low + inset, high - low - 2 * inset)


def nearest_steps(texels: Texels, line: Line) -> Ints:
    """Choose the nearest step of a line for every texel."""
    a, b = expand(line.a), expand(line.b)
    axis = b - a
    start = axis[0] * a[0] + axis[1] * a[1] + axis[2] * a[2]
    length = axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]
    return cut(texels, project(texels, axis), start, length)


def moments(texels: Texels, steps: Ints) -> Moments:
    """Sum up what the error depends on."""
    d = texels.steps
    once, twice = total(steps), total(steps * steps)
    b_color = np.stack([total(steps * channel) for channel in texels.color])
    a_color = d * np.stack([total(channel) for channel in texels.color]) - b_color
    a_twice = d * d * total(texels.opaque) - 2 * d * once + twice
    return Moments(a_twice, d * once - twice, twice, a_color, b_color)


def error(found: Moments, line: Line, steps: int) -> Ints:
    """Give D² times the squared error of a line, less a constant of the block."""
    a, b = expand(line.a), expand(line.b)
    squares = found.aa * (a * a) + 2 * found.ab * (a * b) + found.bb * (b * b)
    parts = squares - 2 * steps * (a * found.a_color + b * found.b_color)
    summed: Ints = parts[0] + parts[1] + parts[2]
    return summed


def nearest_level(numerator: Ints, denominator: Ints) -> Ints:
    """Round a colour, given as a quotient, to a level of its channel."""
    level = numerator.astype(np.float32) * (LEVELS_PER_UNIT / denominator.astype(np.float32))
    return (np.clip(level, np.float32(0), TOP) + np.float32(0.5)).astype(np.int32)


def fit(found: Moments, steps: int) -> Line:
    """Round the least-squares line for the chosen steps: a first, then the b that suits it."""
    determinant = np.maximum(found.aa * found.bb - found.ab * found.ab, 1)
    solution = steps * (found.bb * found.a_color - found.ab * found.b_color)
    a = nearest_level(solution, determinant)
    rest = steps * found.b_color - found.ab * expand(a)
    return Line(a, nearest_level(rest, np.maximum(found.bb, 1)))


def flat_line(texels: Texels, table: NDArray[np.uint8]) -> tuple[Line, Ints]:
    """Take the line whose first step is nearest to each block's mean, all texels at that step."""
    d, count, color = texels.steps, total(texels.opaque), total(texels.color)
    mean = (2 * color + count) // (2 * count)
    ends = np.stack([table[3 - d, c][mean[c]] for c in range(3)]).astype(np.int32)
    line = Line(ends[..., 0], ends[..., 1])
    found = Moments((d - 1) * (d - 1) * count, (d - 1) * count, count, (d - 1) * color, color)
    return line, error(found, line, d)


def judge(texels: Texels, line: Line) -> tuple[Moments, Ints]:
    """Give the moments and the error of a line at its nearest steps."""
    found = moments(texels, nearest_steps(texels, line))
    return found, error(found, line, texels.steps)


def alternate(
    texels: Texels, found: Moments, best: tuple[Line, Ints], rounds: int
) -> tuple[Line, Ints]:
    """Fit a line and choose steps in turns; return the best line met and its error."""
    (a, b), least = best
    for _ in range(rounds):
        line = fit(found, texels.steps)
        found, now = judge(texels, line)
        less = now < least
        a, b = np.where(less, line.a, a), np.where(less, line.b, b)
        least = np.where(less, now, least)
    return Line(a, b), least


def refine(texels: Texels, table: NDArray[np.uint8]) -> tuple[Line, Ints]:
    """Find a good line for each block, and its error."""
    found = moments(texels, first_steps(texels))
    return alternate(texels, found, flat_line(texels, table), ROUNDS)


def pack_blocks(texels: Texels, line: Line) -> NDArray[np.uint8]:
    """Write the line and its nearest steps as 8-byte blocks of the texels' mode."""
    steps = nearest_steps(texels, line)
    words = [(end[0] << 11) | (end[1] << 5) | end[2] for end in line]
    low, high = np.minimum(*words), np.maximum(*words)
    order = np.sign(words[0] - words[1])
    opaque_mode = texels.steps == 3
    index = (OPAQUE_INDEX if opaque_mode else CUT_OUT_INDEX)[order, steps]
    index = np.where(texels.opaque != 0, index, np.uint32(3))
    packed = np.bitwise_or.reduce(index << (2 * np.arange(16, dtype=np.uint32))[:, None], axis=0)
    blocks = np.empty((len(low), 8), np.uint8)
    blocks[:, 0:2] = (high if opaque_mode else low).astype("<u2")[:, None].view(np.uint8)
    blocks[:, 2:4] = (low if opaque_mode else high).astype("<u2")[:, None].view(np.uint8)
    blocks[:, 4:8] = packed.astype("<u4")[:, None].view(np.uint8)
    return blocks
