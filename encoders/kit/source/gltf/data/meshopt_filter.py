"""The meshopt filters: octahedral unit vectors, quaternions, shared-exponent floats and colours.

All arithmetic is float32 with exactly rounded operations only, so every machine gets the same
integers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]

_ONE = np.float32(1)
_HALF = np.float32(0.5)
_SQRT_HALF = np.float32(np.sqrt(0.5))


def apply_filter(elements: Bytes, name: str) -> Bytes:
    """Undo the filter `name` on decoded elements (count, stride)."""
    if name == "OCTAHEDRAL":
        return _octahedral(elements)
    if name == "QUATERNION":
        return _quaternion(elements)
    if name == "EXPONENTIAL":
        return _exponential(elements)
    return _color(elements) if name == "COLOR" else elements


def _octahedral(elements: Bytes) -> Bytes:
    kind = np.dtype(f"<i{elements.shape[1] // 4}")
    stored = np.ascontiguousarray(elements).view(kind)
    # The third component holds 1.0 at the precision that was chosen for x and y.
    x, y, one = stored[:, :3].astype(np.float32).T
    with np.errstate(all="ignore"):  # a damaged vector may divide by zero
        x, y = x / one, y / one
        z = _ONE - np.abs(x) - np.abs(y)
        # The lower half of the octahedron is folded out over the square's corners.
        fold = np.minimum(z, np.float32(0))
        x, y = x - np.copysign(fold, x), y - np.copysign(fold, y)
        length = np.sqrt(x * x + y * y + z * z)
        unit = np.stack((x / length, y / length, z / length), axis=1)
    largest = np.float32(np.iinfo(kind).max)
    stored = stored.copy()
    stored[:, :3] = _round(unit, largest)
    return stored.view(np.uint8)


def _quaternion(elements: Bytes) -> Bytes:
    stored = np.ascontiguousarray(elements).view("<i2")
    # The last component is 1.0 at the stored precision with the dropped index in its low bits.
    one = (stored[:, 3] | 3).astype(np.float32)
    with np.errstate(all="ignore"):
        kept = stored[:, :3].astype(np.float32) * (_SQRT_HALF / one)[:, None]
        x, y, z = kept.T
        w = np.sqrt(np.maximum(_ONE - x * x - y * y - z * z, np.float32(0)))
    values = _round(np.column_stack((w, kept)), np.float32(32767))
    # w is the largest component, which is not stored; the others follow it, cyclically.
    places = (np.arange(4) + (stored[:, 3:] & 3)) & 3
    result = np.empty_like(stored)
    np.put_along_axis(result, places, values.astype(np.int16), axis=1)
    return result.view(np.uint8)


def _exponential(elements: Bytes) -> Bytes:
    stored = np.ascontiguousarray(elements).view("<i4")
    # 24 bits of mantissa, sign-extended by the shifts, below 8 bits of exponent.
    mantissa = ((stored << 8) >> 8).astype(np.float32)
    with np.errstate(all="ignore"):
        floats: Floats = np.ldexp(mantissa, stored >> 24)
    return floats.astype("<f4").view(np.uint8)


def _color(elements: Bytes) -> Bytes:
    """Turn luma, two chroma differences and alpha into RGBA; alpha's highest bit is the scale."""
    width = elements.shape[1] // 4
    unsigned = np.ascontiguousarray(elements).view(np.dtype(f"<u{width}"))
    signed = unsigned.view(np.dtype(f"<i{width}")).astype(np.int32)
    luma, alpha = unsigned[:, 0].astype(np.int32), unsigned[:, 3].astype(np.int32)
    orange, green = signed[:, 1], signed[:, 2]
    scale = alpha
    for shift in (1, 2, 4, 8):  # all ones below the highest bit
        scale = scale | (scale >> shift)
    stored = (luma + orange - green, luma + green, luma - orange - green)
    columns = np.stack((*stored, ((alpha << 1) & scale) | (alpha & 1)), axis=1)
    largest = np.float32((1 << (8 * width)) - 1)
    factor = largest / np.maximum(scale, 1).astype(np.float32)
    scaled = columns.astype(np.float32) * factor[:, None] + _HALF
    # A damaged colour may lie outside; as an integer it wraps, as it does in other decoders.
    return np.trunc(scaled).astype(np.int64).astype(unsigned.dtype).view(np.uint8)


def _round(unit: Floats, largest: np.float32) -> npt.NDArray[np.int32]:
    """Scale -1..1 to integers, rounding halves away from zero; what is no number becomes 0."""
    scaled: Floats = np.nan_to_num(np.clip(unit, -_ONE, _ONE)) * largest
    rounded: Floats = np.trunc(scaled + np.copysign(_HALF, scaled))
    return rounded.astype(np.int32)
