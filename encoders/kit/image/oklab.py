"""OKLab, a space in which equal distances look about equally different, in integers.

A little light is added to every colour, as a room does to a screen: without it, differences in the
dark that nobody sees would count more than all others. Only integers are rounded, so that all
machines agree.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from encoders.kit.image.srgb import LINEAR_WHITE, to_linear

Ints = npt.NDArray[np.int64]

# Lightness of white; a and b have the same unit.
UNIT = 4096
# Linear light that is added: a thousandth of white.
FLARE = 65
# Published matrices: from linear sRGB to cone responses, and from their cube roots to L, a and b.
_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
_BITS = 20
_CONES_FIXED: Ints = np.rint(_CONES * (1 << _BITS)).astype(np.int64)
_LAB_FIXED: Ints = np.rint(_LAB * (1 << _BITS)).astype(np.int64)
# Cube roots have this unit for white, cubes below 2^53.
_ROOT = 1 << 14


def to_oklab(rgb: npt.NDArray[np.uint8]) -> Ints:
    """Return lightness, a and b of 8-bit sRGB colours (count, 3)."""
    light = to_linear(rgb).astype(np.int64) + FLARE
    # Integers do not go through BLAS, so these products are exact.
    cones = (light @ _CONES_FIXED.T) * (_ROOT**3 // (LINEAR_WHITE + 1)) >> _BITS
    lab: Ints = _cube_root(cones) @ _LAB_FIXED.T * UNIT // (_ROOT << _BITS)
    return lab


def _cube_root(cubes: Ints) -> Ints:
    """Return cube roots, rounded down."""
    # The last bit of cbrt differs between machines: correct it in integers.
    root = np.rint(np.cbrt(cubes)).astype(np.int64)
    exact: Ints = root - (root**3 > cubes)
    return exact
