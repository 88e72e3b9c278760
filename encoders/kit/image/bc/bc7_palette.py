"""What a BC7 palette is: levels, low bits and the weights of its entries."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

# Weights are 64ths of the second endpoint, by the bits of an index.
WHOLE = 64
WEIGHTS = {
    2: np.array([0, 21, 43, 64]),
    3: np.array([0, 9, 18, 27, 37, 46, 55, 64]),
    4: np.array([0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64]),
}


class LowBit(Enum):
    """How the lowest bit of an endpoint's levels is stored."""

    NONE = 0  # as part of each level
    OWN = 1  # one bit for each endpoint
    SHARED = 2  # one for both
    SET = 3  # one for each endpoint that has to be 1, so that an alpha of 255 is possible


class Palette(NamedTuple):
    """Bits of a level without the low bit, and bits of an index."""

    bits: int
    low_bit: LowBit
    index_bits: int

    @property
    def level_bits(self) -> int:
        """The bits of a level with its low bit."""
        return self.bits + (self.low_bit is not LowBit.NONE)


def expand(level: Ints, bits: int) -> Ints:
    """Expand levels to 8 bits by repeating their high bits."""
    return (level << (8 - bits)) | (level >> (2 * bits - 8))
