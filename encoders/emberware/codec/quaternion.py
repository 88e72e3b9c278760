"""Smallest-three encoding: a unit quaternion in 32 bits, ten for each of three components.

The component of largest magnitude is dropped (the last one on a tie) and made positive. All
arithmetic is float32, as in the console's own encoder: in float64 a few codes in a million differ.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Words = npt.NDArray[np.uint32]

ONE = np.float32(1)
SQRT2 = np.float32(1.41421354)
HALF_RANGE = np.float32(511.5)
LARGEST_CODE = np.float32(1023)
# Row n: the components that are kept, in x y z w order, when component n is dropped.
KEPT = np.array(((1, 2, 3), (0, 2, 3), (0, 1, 3), (0, 1, 2)))


def pack_quaternions(rotations: Floats) -> Words:
    """Encode unit quaternions (..., 4) in x y z w order."""
    dropped = _largest(np.abs(rotations))
    taken = np.take_along_axis(rotations, dropped[..., None], axis=-1)
    # q and -q are the same rotation; the decoder takes the dropped component as positive.
    turned = np.where(taken < 0, -rotations, rotations)
    a, b, c = np.moveaxis(_codes(np.take_along_axis(turned, KEPT[dropped], axis=-1)), -1, 0)
    words: Words = (a << 22) | (b << 12) | (c << 2) | dropped.astype(np.uint32)
    return words


def _largest(size: Floats) -> npt.NDArray[np.intp]:
    """Return the index of the largest component, the last one on a tie."""
    index: npt.NDArray[np.intp] = 3 - np.argmax(size[..., ::-1], axis=-1)
    return index


def _codes(parts: Floats) -> Words:
    """Map -1/sqrt(2) .. 1/sqrt(2) to 0 .. 1023, halves rounded up, values outside clamped."""
    scaled = (parts * SQRT2 + ONE) * HALF_RANGE
    # floor(x + 0.5) would be wrong: the float32 sum itself can round up.
    whole = np.floor(scaled)
    rounded = whole + (scaled - whole >= np.float32(0.5))
    codes: Words = np.minimum(np.maximum(rounded, np.float32(0)), LARGEST_CODE).astype(np.uint32)
    return codes


def unpack_quaternions(words: Words) -> Floats:
    """Decode words to quaternions (..., 4) with the console's own arithmetic."""
    shifts = np.array((22, 12, 2), np.uint32)
    codes = ((words[..., None] >> shifts) & np.uint32(0x3FF)).astype(np.float32)
    kept = (codes * (ONE / HALF_RANGE) - ONE) * (ONE / SQRT2)
    a, b, c = np.moveaxis(kept, -1, 0)
    # Rounding can push the sum of the squares above one.
    square = np.maximum(ONE - a * a - b * b - c * c, np.float32(0))
    dropped = (words & np.uint32(3)).astype(np.intp)
    rotations = np.empty((*words.shape, 4), np.float32)
    np.put_along_axis(rotations, KEPT[dropped], kept, axis=-1)
    np.put_along_axis(rotations, dropped[..., None], np.sqrt(square)[..., None], axis=-1)
    return rotations
