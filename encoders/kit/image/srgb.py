"""sRGB and linear light, in integers.

Linear light is a 16-bit number (65535 is white). Both directions are lookups in integer tables,
because the power function differs in its last bit between machines.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

LINEAR_WHITE = 65535


def linear_of(srgb: float) -> float:
    """Convert an sRGB value of 0 to 1 to linear light."""
    return srgb / 12.92 if srgb <= 0.04045 else ((srgb + 0.055) / 1.055) ** 2.4


def srgb_of(linear: float) -> float:
    """Convert linear light of 0 to 1 to an sRGB value."""
    return 12.92 * linear if linear <= 0.0031308 else 1.055 * linear ** (1 / 2.4) - 0.055


# Rounded to 16 bits, so that the last bit of the power function does not show.
_LINEAR = np.array([round(linear_of(code / 255) * LINEAR_WHITE) for code in range(256)], np.uint16)
# Entry n: the least light from which code n + 1 is nearer than code n.
_STEPS = np.array(
    [math.ceil(linear_of((code + 0.5) / 255) * LINEAR_WHITE) for code in range(255)], np.uint16
)
_CODES = np.searchsorted(_STEPS, np.arange(LINEAR_WHITE + 1), side="right").astype(np.uint8)


def to_linear(codes: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint16]:
    """Convert 8-bit sRGB values to 16-bit linear light."""
    return _LINEAR[codes]


def from_linear(light: npt.NDArray[np.integer]) -> npt.NDArray[np.uint8]:
    """Convert 16-bit linear light to the nearest 8-bit sRGB values."""
    return np.asarray(_CODES[light])
