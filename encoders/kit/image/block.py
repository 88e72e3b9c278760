"""4x4 block order: split raster pictures into blocks, and join them again.

Blocks run left to right, then top to bottom, and so do the texels in a block. A picture that does
not fill its last blocks repeats its last column and row there.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

BLOCK_SIDE = 4
_Texel = TypeVar("_Texel", bound="np.generic[Any]")


def to_blocks(image: npt.NDArray[_Texel]) -> npt.NDArray[_Texel]:
    """Split a picture (height, width, ...) into blocks (blocks, 4, 4, ...)."""
    height, width = image.shape[:2]
    edges = [(0, -height % BLOCK_SIDE), (0, -width % BLOCK_SIDE)]
    # Repeating the edge keeps the padding from pulling the colours of a block away.
    padded = np.pad(image, edges + [(0, 0)] * (image.ndim - 2), "edge")
    rows, columns = padded.shape[0] // BLOCK_SIDE, padded.shape[1] // BLOCK_SIDE
    rest = image.shape[2:]
    grid = padded.reshape(rows, BLOCK_SIDE, columns, BLOCK_SIDE, *rest).swapaxes(1, 2)
    return np.ascontiguousarray(grid).reshape(-1, BLOCK_SIDE, BLOCK_SIDE, *rest)


def from_blocks(blocks: npt.NDArray[_Texel], width: int, height: int) -> npt.NDArray[_Texel]:
    """Join blocks to the picture (height, width, ...) that `to_blocks` split."""
    columns = -(-width // BLOCK_SIDE)
    rest = blocks.shape[3:]
    grid = blocks.reshape(-1, columns, BLOCK_SIDE, BLOCK_SIDE, *rest).swapaxes(1, 2)
    raster = grid.reshape(-1, columns * BLOCK_SIDE, *rest)
    return np.ascontiguousarray(raster[:height, :width])
