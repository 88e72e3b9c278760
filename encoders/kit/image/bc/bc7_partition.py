"""The partitions of BC7 blocks into subsets, and how promising each is for a block.

`estimate_partitions` is part of the reference of the native BC7 kernel, and gives its numbers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

# fmt: off
# For each partition into two, then into three subsets, two bits a texel: the subset.
SUBSET_BITS = (
    (
        0x50505050, 0x40404040, 0x54545454, 0x54505040, 0x50404000, 0x55545450, 0x55545040,
        0x54504000, 0x50400000, 0x55555450, 0x55544000, 0x54400000, 0x55555440, 0x55550000,
        0x55555500, 0x55000000, 0x55150100, 0x00004054, 0x15010000, 0x00405054, 0x00004050,
        0x15050100, 0x05010000, 0x40505054, 0x00404050, 0x05010100, 0x14141414, 0x05141450,
        0x01155440, 0x00555500, 0x15014054, 0x05414150, 0x44444444, 0x55005500, 0x11441144,
        0x05055050, 0x05500550, 0x11114444, 0x41144114, 0x44111144, 0x15055054, 0x01055040,
        0x05041050, 0x05455150, 0x14414114, 0x50050550, 0x41411414, 0x00141400, 0x00041504,
        0x00105410, 0x10541000, 0x04150400, 0x50410514, 0x41051450, 0x05415014, 0x14054150,
        0x41050514, 0x41505014, 0x40011554, 0x54150140, 0x50505500, 0x00555050, 0x15151010,
        0x54540404,
    ),
    (
        0xAA685050, 0x6A5A5040, 0x5A5A4200, 0x5450A0A8, 0xA5A50000, 0xA0A05050, 0x5555A0A0,
        0x5A5A5050, 0xAA550000, 0xAA555500, 0xAAAA5500, 0x90909090, 0x94949494, 0xA4A4A4A4,
        0xA9A59450, 0x2A0A4250, 0xA5945040, 0x0A425054, 0xA5A5A500, 0x55A0A0A0, 0xA8A85454,
        0x6A6A4040, 0xA4A45000, 0x1A1A0500, 0x0050A4A4, 0xAAA59090, 0x14696914, 0x69691400,
        0xA08585A0, 0xAA821414, 0x50A4A450, 0x6A5A0200, 0xA9A58000, 0x5090A0A8, 0xA8A09050,
        0x24242424, 0x00AA5500, 0x24924924, 0x24499224, 0x50A50A50, 0x500AA550, 0xAAAA4444,
        0x66660000, 0xA5A0A5A0, 0x50A050A0, 0x69286928, 0x44AAAA44, 0x66666600, 0xAA444444,
        0x54A854A8, 0x95809580, 0x96969600, 0xA85454A8, 0x80959580, 0xAA141414, 0x96960000,
        0xAAAA1414, 0xA05050A0, 0xA0A5A5A0, 0x96000000, 0x40804080, 0xA9A8A9A8, 0xAAAAAA44,
        0x2A4A5254,
    ),
)
# The texel of the second and of the third subset whose index lacks its highest bit.
ANCHORS = (
    (
        15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 2, 8, 2, 2, 8,
        8, 15, 2, 8, 2, 2, 8, 8, 2, 2, 15, 15, 6, 8, 2, 8, 15, 15, 2, 8, 2, 2,
        2, 15, 15, 6, 6, 2, 6, 8, 15, 15, 2, 2, 15, 15, 15, 15, 15, 2, 2, 15,
    ),
    (
        3, 3, 15, 15, 8, 3, 15, 15, 8, 8, 6, 6, 6, 5, 3, 3, 3, 3, 8, 15, 3, 3,
        6, 10, 5, 8, 8, 6, 8, 5, 15, 15, 8, 15, 3, 5, 6, 10, 8, 15, 15, 3, 15, 5,
        15, 15, 15, 15, 3, 15, 5, 5, 5, 8, 5, 10, 5, 10, 8, 13, 15, 12, 3, 3,
    ),
    (
        15, 8, 8, 3, 15, 15, 3, 8, 15, 15, 15, 15, 15, 15, 15, 8, 15, 8, 15, 3, 15, 8,
        15, 8, 3, 15, 6, 10, 15, 15, 10, 8, 15, 3, 15, 10, 10, 8, 9, 10, 6, 15, 8, 15,
        3, 6, 6, 8, 15, 3, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 3, 15, 15, 8,
    ),
)
# fmt: on
# By number of subsets, partition and texel.
SUBSETS = {
    count: np.array(bits, np.uint32)[:, None] >> (2 * np.arange(16, dtype=np.uint32)) & 3
    for count, bits in zip((2, 3), SUBSET_BITS, strict=True)
}
# By number of subsets, partition and subset.
ANCHOR = {
    1: np.zeros((1, 1), np.int64),
    2: np.array([[0] * 64, ANCHORS[0]]).T,
    3: np.array([[0] * 64, ANCHORS[1], ANCHORS[2]]).T,
}
# The part of the variance along a line that counts as error: it decides between partitions of
# colours that lie on a line anyway.
STEP_ERROR = np.float32(1 / 512)
AXIS_STEPS = 4


def covariance(color: Floats, member: Floats) -> Floats:
    """Return covariances times the number of members: (..., C, C) of texels (..., 16, C)."""
    # Whole numbers below 2^24, so the sums are exact.
    sums = np.einsum("...t,...tc->...c", member, color)
    products = np.einsum("...t,...ti,...tj->...ij", member, color, color)
    count = member.sum(-1)[..., None, None]
    found: Floats = count * products - sums[..., :, None] * sums[..., None, :]
    return found


def turn(matrix: Floats, vector: Floats) -> Floats:
    """Multiply vectors by matrices, adding from the first channel to the last."""
    turned: Floats = matrix[..., 0] * vector[..., :1]
    for channel in range(1, vector.shape[-1]):
        turned = turned + matrix[..., channel] * vector[..., channel, None]
    return turned


def widest_row(matrix: Floats) -> Floats:
    """Return the covariances of the channel that varies most, the first of equal ones."""
    variance = np.diagonal(matrix, axis1=-2, axis2=-1)
    widest = np.argmax(variance, axis=-1)[..., None, None]
    row: Floats = np.take_along_axis(matrix, widest, -2)[..., 0, :]
    return row


def scale_to_one(vector: Floats) -> Floats:
    """Scale vectors so that their largest component is 1; zero vectors stay."""
    longest = np.abs(vector).max(-1, keepdims=True)
    divisor: Floats = np.where(longest == 0, np.float32(1), longest)
    scaled: Floats = np.divide(vector, divisor, dtype=np.float32)
    return scaled


def principal_axis(matrix: Floats) -> Floats:
    """Return the direction in which texels vary most."""
    axis = widest_row(matrix)
    for step in range(AXIS_STEPS):
        # float32 has the range for two products with the covariance, not for four.
        axis = turn(matrix, axis if step % 2 else scale_to_one(axis))
    return scale_to_one(axis)


def dot(one: Floats, other: Floats) -> Floats:
    """Multiply and add from the first channel to the last."""
    total: Floats = one[..., 0] * other[..., 0]
    for channel in range(1, one.shape[-1]):
        total = total + one[..., channel] * other[..., channel]
    return total


def line_residue(matrix: Floats, count: Floats) -> Floats:
    """Return what a line through the mean leaves of the squared distances from it."""
    axis = turn(matrix, scale_to_one(widest_row(matrix)))
    square = dot(axis, axis)
    along = dot(axis, turn(matrix, axis)) / np.where(square > 0, square, np.float32(1))
    diagonal = np.diagonal(matrix, axis1=-2, axis2=-1)
    trace = dot(diagonal, np.ones_like(diagonal))
    left: Floats = ((trace - along * (np.float32(1) - STEP_ERROR)) / count).astype(np.float32)
    return left


def estimate_partitions(color: Floats, subsets: int) -> Floats:
    """Estimate the squared error of every partition: (blocks, 64) of texels (blocks, 16, C)."""
    left = np.zeros((len(color), 64), np.float32)
    # The first subset is added last, as in the kernel: the sum is rounded.
    for subset in (*range(subsets - 1, 0, -1), 0):
        member = (SUBSETS[subsets] == subset).astype(np.float32)
        matrix = covariance(color[:, None], np.broadcast_to(member, (len(color), 64, 16)))
        left = left + line_residue(matrix, member.sum(-1))
    return left
