"""4x4 block order: raster pictures cut into blocks and put together again.

Blocks go left to right, then top to bottom; so do the texels in a block. The one rule: a
picture that does not fill its blocks repeats its last column and row.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

BLOCK_SIDE = 4
_Texel = TypeVar("_Texel", bound="np.generic[Any]")


def to_blocks(image: npt.NDArray[_Texel]) -> npt.NDArray[_Texel]:
    """Return (blocks, 4, 4, ...) texels of a (height, width, ...) picture."""
    height, width = image.shape[:2]
    edges = [(0, -height % BLOCK_SIDE), (0, -width % BLOCK_SIDE)]
    padded = np.pad(image, edges + [(0, 0)] * (image.ndim - 2), "edge")
    rows, columns = padded.shape[0] // BLOCK_SIDE, padded.shape[1] // BLOCK_SIDE
    rest = image.shape[2:]
    grid = padded.reshape(rows, BLOCK_SIDE, columns, BLOCK_SIDE, *rest).swapaxes(1, 2)
    return np.ascontiguousarray(grid).reshape(-1, BLOCK_SIDE, BLOCK_SIDE, *rest)


def from_blocks(blocks: npt.NDArray[_Texel], width: int, height: int) -> npt.NDArray[_Texel]:
    """Return the (height, width, ...) picture that `to_blocks` took apart."""
    columns = -(-width // BLOCK_SIDE)
    rest = blocks.shape[3:]
    grid = blocks.reshape(-1, columns, BLOCK_SIDE, BLOCK_SIDE, *rest).swapaxes(1, 2)
    raster = grid.reshape(-1, columns * BLOCK_SIDE, *rest)
    return np.ascontiguousarray(raster[:height, :width])
