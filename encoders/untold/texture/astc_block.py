"""Blocks of a picture that are compressed once and used often.

ASTC compresses each block by itself, so equal texels give equal bytes. Pictures that are large in
a small file repeat themselves, and a search over every block would take most of a minute.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from encoders.kit.image.pixel import Rgba8

# An ASTC block has 16 bytes, whatever its size in texels.
BLOCK_BYTES = 16
# Distinct blocks side by side in the picture that is compressed in place of the whole one.
COLUMNS = 1024
# Fewer repetitions are not worth the copies.
MIN_SAVED = 0.1
# Odd and without a pattern: multiplied with the words of a block they give its hash.
FACTOR = 0x9E3779B97F4A7C15


class DistinctBlocks(NamedTuple):
    """A picture of the distinct blocks, and which of them stands at each place."""

    picture: Rgba8
    number: npt.NDArray[np.int64]

    def spread(self, compressed: bytes) -> bytes:
        """Return the compressed blocks of the whole picture, from those of the distinct ones."""
        blocks = np.frombuffer(compressed, np.uint8).reshape(-1, BLOCK_BYTES)
        return blocks[self.number].tobytes()


def distinct_blocks(level: Rgba8, block: tuple[int, int]) -> DistinctBlocks | None:
    """Find blocks that are equal in all texels; None where too few are."""
    blocks = _split(level, block)
    words = blocks.reshape(len(blocks), -1).view(np.uint64)
    first, number = _first_of_each(words)
    if len(first) > (1 - MIN_SAVED) * len(blocks) or not np.array_equal(
        words, words[first][number]
    ):
        return None  # the second is a collision of hashes
    return DistinctBlocks(_join(blocks[first]), number)


def _split(level: Rgba8, block: tuple[int, int]) -> npt.NDArray[np.uint8]:
    """Return blocks (n, height, width, 4); those at an edge repeat it, as the library does."""
    width, height = block
    below, beside = -level.shape[0] % height, -level.shape[1] % width
    whole = np.pad(level, ((0, below), (0, beside), (0, 0)), mode="edge")
    rows, columns = whole.shape[0] // height, whole.shape[1] // width
    parts = whole.reshape(rows, height, columns, width, 4).transpose(0, 2, 1, 3, 4)
    return np.ascontiguousarray(parts).reshape(rows * columns, height, width, 4)


def _first_of_each(words: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.int64], ...]:
    """Return the first row of each hash, and for each row the number of its hash."""
    hashed = np.zeros(len(words), np.uint64)
    for column in range(words.shape[1]):
        hashed = (hashed ^ words[:, column]) * np.uint64(FACTOR)
        hashed ^= hashed >> np.uint64(29)
    _, first, number = np.unique(hashed, return_index=True, return_inverse=True)
    return first.astype(np.int64), number.astype(np.int64).reshape(-1)


def _join(blocks: npt.NDArray[np.uint8]) -> Rgba8:
    """Put blocks side by side; the last row is filled with the last block."""
    columns = min(len(blocks), COLUMNS)
    rows = -(-len(blocks) // columns)
    missing = rows * columns - len(blocks)
    filled = np.concatenate([blocks, np.repeat(blocks[-1:], missing, axis=0)])
    _, height, width, _ = blocks.shape
    parts = filled.reshape(rows, columns, height, width, 4).transpose(0, 2, 1, 3, 4)
    return np.ascontiguousarray(parts).reshape(rows * height, columns * width, 4)
