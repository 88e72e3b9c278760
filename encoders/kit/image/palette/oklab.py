"""OKLab, a space in which equal distances look about equally different, in integers.

A trace of light is added to every colour: without it, the least differences in the dark would count
more than all others. Everything is integers and tables, so that
all machines agree.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from encoders.kit.image.srgb import LINEAR_WHITE, to_linear

Ints = npt.NDArray[np.int64]
Table = npt.NDArray[np.int32]

# Lightness of white; a and b have the same unit.
UNIT = 4096
# Linear light that is added: a thirty-thousandth of white.
FLARE = 2
_BITS = 20
# Published matrices: from linear sRGB to cone responses, and from their cube roots to L, a and b.
MATRICES: Table = np.rint(
    np.array(
        [
            [
                [0.4122214708, 0.5363325363, 0.0514459929],
                [0.2119034982, 0.6806995451, 0.1073969566],
                [0.0883024619, 0.2817188376, 0.6299787005],
            ],
            [
                [0.2104542553, 0.7936177850, -0.0040720468],
                [1.9779984951, -2.4285922050, 0.4505937099],
                [0.0259040371, 0.7827717662, -0.8086757660],
            ],
        ]
    )
    * (1 << _BITS)
).astype(np.int32)
# Cube roots have this unit for white, and white is 2^16.
_ROOT = 1 << 14
_WHITE_BITS = 16


@cache
def light_table() -> Table:
    """Return the linear light of each 8-bit sRGB value, with the flare."""
    return to_linear(np.arange(256).astype(np.uint8)).astype(np.int32) + FLARE


@cache
def root_table() -> Table:
    """Return the cube root of each amount of light, rounded down."""
    cubes = np.arange(LINEAR_WHITE + FLARE + 2) * (_ROOT**3 >> _WHITE_BITS)
    # The last bit of cbrt differs between machines: correct it in integers.
    root = np.rint(np.cbrt(cubes)).astype(np.int64)
    return (root - (root**3 > cubes)).astype(np.int32)


def to_oklab(rgb: npt.NDArray[np.uint8], light: Table, matrices: Table, roots: Table) -> Ints:
    """Return lightness, a and b of 8-bit sRGB colours (count, 3), by the tables of this module."""
    cones, lab = matrices.astype(np.int64)
    # Integers do not go through BLAS, so these products are exact.
    root = roots[light[rgb].astype(np.int64) @ cones.T >> _BITS]
    found: Ints = root.astype(np.int64) @ lab.T * UNIT // (_ROOT << _BITS)
    return found
