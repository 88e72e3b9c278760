"""The line through a block's colours: the reference of the kernel in bc1_fit.c.

The palette of a block is a line from endpoint a to endpoint b, divided into D steps (3 in the
four-colour mode, 2 in the three-colour mode); each texel takes a step j = 0..D. `refine` starts
from the principal axis of the colours and alternates between choosing steps and fitting endpoints.

Kernel and reference have to give the same bytes. So all sums are integers, whose order does not
matter, and the few float operations are single float32 operations per block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int32]
Floats = NDArray[np.float32]

ROUNDS = 2
# Products with the covariance; each one turns the vector closer to the principal axis.
POWER_STEPS = 4
# Part of the first line that is cut off at either end: outliers cost less than a line too long.
INSET = 16
AXIS_SCALE = np.float32(1023)
# Beyond every coordinate along an axis.
FAR = np.int32(1 << 30)

# By channel: the bits of a level, the highest level, and levels per unit of 8-bit colour.
BITS = np.array([5, 6, 5], np.int32).reshape(3, 1)
TOP = np.array([31, 63, 31], np.float32).reshape(3, 1)
LEVELS_PER_UNIT = (TOP / np.float32(255)).astype(np.float32)


class Texels(NamedTuple):
    """Blocks of one mode: colours by channel, texel and block; 1 for opaque texels; D."""

    color: Ints
    opaque: Ints
    steps: int


class Line(NamedTuple):
    """A pair of endpoints as 5-6-5 levels, by channel and block."""

    a: Ints
    b: Ints


class Moments(NamedTuple):
    """The sums over a block's texels from which the error of a line follows, for chosen steps.

    A texel at step j is (D - j) parts of a and j parts of b. The sums are of the products of these
    weights, and of the colours times either weight.
    """

    aa: Ints
    ab: Ints
    bb: Ints
    a_color: Ints
    b_color: Ints


def expand(levels: Ints) -> Ints:
    """Expand 5-6-5 levels to 8 bits by repeating their high bits."""
    return (levels << (8 - BITS)) | (levels >> (2 * BITS - 8))


def total(values: Ints) -> Ints:
    """Sum over the texels of each block."""
    sums: Ints = np.add.reduce(values, axis=-2, dtype=np.int32)
    return sums


def principal_axis(texels: Texels) -> Ints:
    """Return the direction in which the colours of each block vary most, as small integers."""
    count = total(texels.opaque)
    sums = [total(channel) for channel in texels.color]

    def covariance(i: int, j: int) -> Floats:
        products = total(texels.color[i] * texels.color[j])
        return (count * products - sums[i] * sums[j]).astype(np.float32)

    rr, gg, bb = covariance(0, 0), covariance(1, 1), covariance(2, 2)
    rg, rb, gb = covariance(0, 1), covariance(0, 2), covariance(1, 2)
    # Start the power iteration from the covariance row of the channel that varies most.
    green_widest, blue_widest = gg > rr, bb > np.maximum(rr, gg)
    x = np.where(blue_widest, rb, np.where(green_widest, rg, rr))
    y = np.where(blue_widest, gb, np.where(green_widest, gg, rg))
    z = np.where(blue_widest, bb, np.where(green_widest, gb, rb))
    for step in range(POWER_STEPS):
        if step % 2 == 0:  # float32 has the range for two products with the covariance, not four
            x, y, z = unit(x, y, z)
        x, y, z = rr * x + rg * y + rb * z, rg * x + gg * y + gb * z, rb * x + gb * y + bb * z
    return (np.stack(unit(x, y, z)) * AXIS_SCALE).astype(np.int32)


def unit(x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats, Floats]:
    """Scale vectors so that their largest component is 1; zero vectors stay."""
    longest: Floats = np.maximum(np.maximum(np.abs(x), np.abs(y)), np.abs(z))
    # A block of one colour has no axis.
    longest[longest == 0] = 1
    return x / longest, y / longest, z / longest


def project(texels: Texels, axis: Ints) -> Ints:
    """Return each texel's coordinate along its block's axis."""
    red, green, blue = texels.color
    along: Ints = red * axis[0] + green * axis[1] + blue * axis[2]
    return along


def quantise(texels: Texels, along: Ints, start: Ints, length: Ints) -> Ints:
    """Return the nearest step for coordinates along a line; transparent texels get step 0."""
    steps = np.zeros(along.shape, np.int32)
    for k in range(texels.steps):
        steps += along > start + (2 * k + 1) * length // (2 * texels.steps)
    return steps * texels.opaque


def first_steps(texels: Texels) -> Ints:
    """Choose steps on a line between the outermost texels along the principal axis, shortened."""
    along = project(texels, principal_axis(texels))
    low = np.minimum.reduce(np.where(texels.opaque != 0, along, FAR), axis=0)
    high = np.maximum.reduce(np.where(texels.opaque != 0, along, -FAR), axis=0)
    inset = (high - low) // INSET
    return quantise(texels, along, low + inset, high - low - 2 * inset)


def nearest_steps(texels: Texels, line: Line) -> Ints:
    """Return the nearest step of a line for every texel."""
    a, b = expand(line.a), expand(line.b)
    axis = b - a
    start = axis[0] * a[0] + axis[1] * a[1] + axis[2] * a[2]
    length = axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]
    return quantise(texels, project(texels, axis), start, length)


def moments(texels: Texels, steps: Ints) -> Moments:
    """Return the sums from which the error of a line follows."""
    d = texels.steps
    once, twice = total(steps), total(steps * steps)
    b_color = np.stack([total(steps * channel) for channel in texels.color])
    a_color = d * np.stack([total(channel) for channel in texels.color]) - b_color
    a_twice = d * d * total(texels.opaque) - 2 * d * once + twice
    return Moments(a_twice, d * once - twice, twice, a_color, b_color)


def channel_errors(found: Moments, line: Line, steps: int) -> Ints:
    """Return the part of each channel in the error of a line."""
    a, b = expand(line.a), expand(line.b)
    squares = found.aa * (a * a) + 2 * found.ab * (a * b) + found.bb * (b * b)
    parts: Ints = squares - 2 * steps * (a * found.a_color + b * found.b_color)
    return parts


def error(found: Moments, line: Line, steps: int) -> Ints:
    """Return D² times the squared error of a line, less a constant of the block."""
    parts = channel_errors(found, line, steps)
    summed: Ints = parts[0] + parts[1] + parts[2]
    return summed


def to_level(numerator: Ints, denominator: Ints, half: float) -> Ints:
    """Return the level of a colour, given as a quotient: `half` 0 rounds down, 0.5 to nearest."""
    level = numerator.astype(np.float32) * (LEVELS_PER_UNIT / denominator.astype(np.float32))
    return (np.clip(level, np.float32(0), TOP) + np.float32(half)).astype(np.int32)


def fit(found: Moments, steps: int) -> Line:
    """Return the least-squares line for the chosen steps: a down or up, with the b to match."""
    # 0 where all texels have one step; the quotient is then useless, but its error is judged too.
    determinant = np.maximum(found.aa * found.bb - found.ab * found.ab, 1)
    weight = np.maximum(found.bb, 1)
    low = to_level(steps * (found.bb * found.a_color - found.ab * found.b_color), determinant, 0)
    high = np.minimum(low + 1, TOP.astype(np.int32))
    # b is fitted to the rounded a: better than rounding both.
    down, up = (
        Line(a, to_level(steps * found.b_color - found.ab * expand(a), weight, 0.5))
        for a in (low, high)
    )
    less = channel_errors(found, up, steps) < channel_errors(found, down, steps)
    return Line(np.where(less, up.a, down.a), np.where(less, up.b, down.b))


def flat_line(texels: Texels, table: Bytes) -> tuple[Line, Ints]:
    """Return the line whose first step is nearest to the mean, and the error of using it alone."""
    d, count, color = texels.steps, total(texels.opaque), total(texels.color)
    mean = (2 * color + count) // (2 * count)
    ends = np.stack([table[3 - d, c][mean[c]] for c in range(3)]).astype(np.int32)
    line = Line(ends[..., 0], ends[..., 1])
    found = Moments((d - 1) * (d - 1) * count, (d - 1) * count, count, (d - 1) * color, color)
    return line, error(found, line, d)


def evaluate(texels: Texels, line: Line) -> tuple[Moments, Ints]:
    """Return the moments and the error of a line with its nearest steps."""
    found = moments(texels, nearest_steps(texels, line))
    return found, error(found, line, texels.steps)


def alternate(
    texels: Texels, found: Moments, best: tuple[Line, Ints], rounds: int
) -> tuple[Line, Ints]:
    """Alternate between fitting a line and choosing steps; return the best line and its error."""
    (a, b), least = best
    for _ in range(rounds):
        line = fit(found, texels.steps)
        found, now = evaluate(texels, line)
        less = now < least
        a, b = np.where(less, line.a, a), np.where(less, line.b, b)
        least = np.where(less, now, least)
    return Line(a, b), least


def refine(texels: Texels, table: Bytes) -> tuple[Line, Ints]:
    """Return a good line for each block, and its error."""
    found = moments(texels, first_steps(texels))
    return alternate(texels, found, flat_line(texels, table), ROUNDS)
