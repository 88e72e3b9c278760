"""sRGB codes and linear light, in integers.

Linear light is a 16-bit number here (65535 is white). The one rule: both directions are
look-ups in tables of integers, so that no machine's power function decides about a byte.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

LINEAR_WHITE = 65535


def linear_of(share: float) -> float:
    """Return the linear light of an sRGB share of the range 0 to 1."""
    return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4


def share_of(linear: float) -> float:
    """Return the sRGB share of the range of linear light from 0 to 1."""
    return 12.92 * linear if linear <= 0.0031308 else 1.055 * linear ** (1 / 2.4) - 0.055


_LINEAR = np.array([round(linear_of(code / 255) * LINEAR_WHITE) for code in range(256)], np.uint16)
# The least light at which the next code is the nearer one.
_STEPS = np.array(
    [math.ceil(linear_of((code + 0.5) / 255) * LINEAR_WHITE) for code in range(255)], np.uint16
)
_CODES = np.searchsorted(_STEPS, np.arange(LINEAR_WHITE + 1), side="right").astype(np.uint8)


def to_linear(codes: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint16]:
    """Return the 16-bit linear light of sRGB codes."""
    return _LINEAR[codes]


def from_linear(light: npt.NDArray[np.integer]) -> npt.NDArray[np.uint8]:
    """Return the nearest sRGB codes of 16-bit linear light."""
    return np.asarray(_CODES[light])
