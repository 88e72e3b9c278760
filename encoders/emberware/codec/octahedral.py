"""Octahedral encoding: a unit vector as two signed 16-bit numbers in one 32-bit word.

All arithmetic is float32 and the numbers are truncated towards zero, because the console's own
encoder does so and the words have to be equal to its words.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Words = npt.NDArray[np.uint32]

ONE = np.float32(1)
LARGEST = np.float32(32767)


def pack_directions(vectors: Floats) -> Words:
    """Encode vectors (n, 3) of any length; a zero vector becomes +z."""
    length = _lengths(vectors)
    is_long = np.isinf(length)
    if is_long.any():
        # The square of a number above 1e19 is no float32; a shorter vector has the same direction.
        vectors = np.where(is_long[:, None], vectors * np.float32(2.0**-66), vectors)
        length = _lengths(vectors)
    has_length = length > 0
    factor = ONE / np.where(has_length, length, ONE)
    x, y, z = vectors.T * factor
    # The L1 norm projects the sphere onto the octahedron.
    size = np.where(has_length, np.abs(x) + np.abs(y) + np.abs(z), ONE)
    folded_u, folded_v = _fold(x / size, y / size, z < 0)
    return _snorm16(folded_u) | (_snorm16(folded_v) << np.uint32(16))


def _lengths(vectors: Floats) -> Floats:
    x, y, z = vectors.T
    with np.errstate(over="ignore"):
        lengths: Floats = np.sqrt(x * x + y * y + z * z)
    return lengths


def unpack_directions(words: Words) -> Floats:
    """Decode words to unit vectors (n, 3)."""
    # u is in the low half of the word, so it comes first in little-endian order.
    pairs = np.ascontiguousarray(words).view(np.int16).reshape(-1, 2)
    u, v = (np.maximum(pairs[:, k].astype(np.float32) / LARGEST, -ONE) for k in range(2))
    z = ONE - np.abs(u) - np.abs(v)
    x, y = _fold(u, v, z < 0)
    length = np.sqrt(x * x + y * y + z * z)
    vectors: Floats = np.stack((x, y, z), axis=1) / length[:, None]
    return vectors


def _fold(u: Floats, v: Floats, is_below: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Map points with z < 0 to the corners of the square; the function is its own inverse."""
    over_u = (ONE - np.abs(v)) * _sign(u)
    over_v = (ONE - np.abs(u)) * _sign(v)
    return np.where(is_below, over_u, u), np.where(is_below, over_v, v)


def _sign(values: Floats) -> Floats:
    """Return -1 or 1, never the 0 that `np.sign` gives for zero."""
    return np.where(values < 0, -ONE, ONE)


def _snorm16(values: Floats) -> Words:
    scaled = np.clip(values, -ONE, ONE) * LARGEST
    return scaled.astype(np.int32).astype(np.uint32) & np.uint32(0xFFFF)
