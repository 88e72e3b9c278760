"""The 4x4 Bayer matrix: an order of texels that spreads any number of them evenly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# For ordered dithering, the threshold, of sixteen, at which a texel in this position is rounded up.
BAYER = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]], np.int32)


def tile_bayer(height: int, width: int) -> NDArray[np.int32]:
    """Return the matrix, repeated to fill a picture."""
    return np.tile(BAYER, (-(-height // 4), -(-width // 4)))[:height, :width]
