"""The readable reference of the native BC1 kernel: endpoints and indices of every block.

The palette of a block is a line from endpoint a to endpoint b, divided into D steps (3 in the
four-colour mode, 2 in the three-colour mode); each texel takes a step j = 0..D. `refine` starts
from the principal axis of the colours and alternates between choosing steps and fitting endpoints.
`search` sorts the texels along that axis and also tries every way to divide their colours into
steps (up to 969 in the four-colour mode): for blocks of few colours always, for others in `best`.

Kernel and reference have to give the same bytes. So all sums are integers, whose order does not
matter, and the few float operations are single float32 operations per block.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int32]
Floats = NDArray[np.float32]

ROUNDS = 3
# Blocks of so many colours are searched by default too: they have few cuts.
FEW_COLORS = 5
# Rounds of alternation after the search.
SETTLING_ROUNDS = 2
# Products with the covariance; each one turns the vector closer to the principal axis.
POWER_STEPS = 4
# Part of the first line that is cut off at either end: outliers cost less than a line too long.
INSET = 16
AXIS_SCALE = np.float32(1023)
# Blocks encoded at a time, so that the arrays of one step stay in the processor's cache.
CHUNK = 2048
# Beyond every coordinate along an axis.
FAR = np.int32(1 << 30)
TRANSPARENT = np.array([0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF], np.uint8)

# By channel: the bits of a level, the highest level, and levels per unit of 8-bit colour.
BITS = np.array([5, 6, 5], np.int32).reshape(3, 1)
TOP = np.array([31, 63, 31], np.float32).reshape(3, 1)
LEVELS_PER_UNIT = (TOP / np.float32(255)).astype(np.float32)

# The stored index of each step, by the sign of (word of a) - (word of b).
OPAQUE_INDEX = np.array([[0, 0, 0, 0], [0, 2, 3, 1], [1, 3, 2, 0]], np.uint32)
CUT_OUT_INDEX = np.array([[0, 0, 0, 0], [1, 2, 0, 0], [0, 2, 1, 0]], np.uint32)


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


def cut_moments(colors: Ints, counts: Ints, cuts: tuple[int, ...]) -> Moments:
    """Return the moments of sorted texels whose step rises by one at each cut."""
    d = len(cuts)
    b_color, once, twice = np.zeros_like(colors[:, 0]), 0 * counts[0], 0 * counts[0]
    for k, cut in enumerate(cuts):
        b_color = b_color + colors[:, cut]
        once = once + counts[cut]
        twice = twice + (2 * k + 1) * counts[cut]  # the squares 1, 4, 9 grow by 1, 3, 5
    a_twice = d * d * counts[0] - 2 * d * once + twice
    return Moments(a_twice, d * once - twice, twice, d * colors[:, 0] - b_color, b_color)


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
        found = cut_moments(colors[..., allowed], counts[..., allowed], cuts)
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


def pack_blocks(texels: Texels, line: Line) -> Bytes:
    """Pack lines and their nearest steps as 8-byte blocks of the texels' mode."""
    steps = nearest_steps(texels, line)
    words = [(end[0] << 11) | (end[1] << 5) | end[2] for end in line]
    # The order of the two words chooses the mode of the block.
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


def encode_blocks(texels: Bytes, table: Bytes, best: bool, blocks: Bytes) -> None:
    """Encode blocks (count, 64) of RGBA texels whose alpha is 0 or 255 into `blocks`."""
    opaque = np.count_nonzero(texels[:, 3::4], axis=1)
    blocks[opaque == 0] = TRANSPARENT
    for steps, chosen in ((3, opaque == 16), (2, (opaque > 0) & (opaque < 16))):
        where = np.flatnonzero(chosen)
        for at in range(0, len(where), CHUNK):
            some = where[at : at + CHUNK]
            planes = texels[some].reshape(-1, 16, 4).transpose(2, 1, 0).astype(np.int32)
            counts = np.minimum(planes[3], 1)
            part = Texels(np.ascontiguousarray(planes[:3] * counts), counts, steps)
            line, least = refine(part, table)
            found = np.flatnonzero(best | (count_colors(part) <= FEW_COLORS))
            few = Texels(part.color[..., found], part.opaque[..., found], steps)
            start = Line(line.a[:, found], line.b[:, found])
            line.a[:, found], line.b[:, found] = search(few, (start, least[found]))
            blocks[some] = pack_blocks(part, line)
