"""Pictures in other sizes: exact area averages when shrinking, bilinear when enlarging.

Weights are integers: a source texel counts by the area of it that a target texel covers. The
one rule: sums are exact and each output byte is rounded once, half up, so the bytes are the
same everywhere. Colour is weighted by alpha, so that what is invisible does not bleed.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from encoders.kit.pixel import Rgba8
from encoders.kit.srgb import from_linear, to_linear

_Sums: TypeAlias = npt.NDArray[np.int64]


def resize_colour(image: Rgba8, width: int, height: int) -> Rgba8:
    """Return an RGBA8 picture in another size, averaged in the stored (gamma) codes."""
    rgb, alpha = _weighted_means(image[..., :3], image[..., 3:], width, height)
    return np.concatenate([rgb, alpha], axis=2).astype(np.uint8)


def resize_linear(image: Rgba8, width: int, height: int) -> Rgba8:
    """Return an RGBA8 picture in another size, its sRGB colours averaged as light."""
    rgb, alpha = _weighted_means(to_linear(image[..., :3]), image[..., 3:], width, height)
    return np.concatenate([from_linear(rgb), alpha.astype(np.uint8)], axis=2)


def resize_normals(image: Rgba8, width: int, height: int) -> Rgba8:
    """Return a normal map in another size, its vectors averaged and made unit length again.

    Vectors that cancel out become the flat normal (128, 128, 255). Alpha is averaged plainly.
    """
    vectors = 2 * image[..., :3].astype(np.int64) - 255
    total, _ = _sums(vectors, width, height)
    alpha, weight = _sums(image[..., 3:].astype(np.int64), width, height)
    # Square roots and quotients of doubles are exactly rounded on every machine.
    x, y, z = (total[..., axis].astype(np.float64) for axis in range(3))
    length = np.sqrt(x * x + y * y + z * z)
    length[length == 0] = 1.0
    codes = [np.floor((axis / length + 1.0) * 127.5 + 0.5) for axis in (x, y, z)]
    normals = np.stack([*codes, _rounded(alpha, weight)[..., 0]], axis=2).astype(np.uint8)
    normals[(total == 0).all(axis=2), :3] = (128, 128, 255)
    return normals


def _weighted_means(
    rgb: npt.NDArray[np.integer], alpha: npt.NDArray[np.uint8], width: int, height: int
) -> tuple[_Sums, _Sums]:
    """Return means of colour, weighted by alpha, and of alpha."""
    colour, cover = rgb.astype(np.int64), alpha.astype(np.int64)
    if (alpha == 255).all():
        means = _rounded(*_sums(colour, width, height))
        return means, np.full((height, width, 1), 255, np.int64)
    alpha_sum, weight = _sums(cover, width, height)
    visible, _ = _sums(colour * cover, width, height)
    means = _rounded(visible, np.maximum(alpha_sum, 1))
    gone = alpha_sum[..., 0] == 0
    if gone.any():
        plain = _rounded(*_sums(colour, width, height))
        means[gone] = plain[gone]
    return means, _rounded(alpha_sum, weight)


def _rounded(total: _Sums, weight: _Sums | int) -> _Sums:
    return (2 * total + weight) // (2 * np.asarray(weight, np.int64))


def _sums(values: _Sums, width: int, height: int) -> tuple[_Sums, int]:
    """Return weighted sums for every target texel, and the weight that each of them has."""
    across, weight_x = _axis_sums(values, 1, width)
    down, weight_y = _axis_sums(across, 0, height)
    return down, weight_x * weight_y


def _axis_sums(values: _Sums, axis: int, target: int) -> tuple[_Sums, int]:
    source = values.shape[axis]
    if target == source:
        return values, 1
    if target > source:
        return _enlarged(values, axis, target), 2 * target
    if source % target == 0:
        shape = (*values.shape[:axis], target, source // target, *values.shape[axis + 1 :])
        return values.reshape(shape).sum(axis=axis + 1), source // target
    return _shrunk(values, axis, target), source


def _shrunk(values: _Sums, axis: int, target: int) -> _Sums:
    """Sum what each target texel covers, with every source texel `target` units long.

    F(t) is the sum over the first t units; a target texel is a difference of two of them.
    """
    source = values.shape[axis]
    lines = np.moveaxis(values, axis, 0)
    sums = np.zeros((source + 1, *lines.shape[1:]), np.int64)
    np.cumsum(lines, axis=0, out=sums[1:])
    whole, part = np.divmod(np.arange(target + 1) * source, target)
    parts = part.reshape(-1, *[1] * (lines.ndim - 1))
    last = lines[np.minimum(whole, source - 1)]
    return np.moveaxis(np.diff(sums[whole] * target + last * parts, axis=0), 0, axis)


def _enlarged(values: _Sums, axis: int, target: int) -> _Sums:
    """Blend the two source texels whose centres lie around each target texel's centre."""
    source = values.shape[axis]
    lines = np.moveaxis(values, axis, 0)
    whole, part = np.divmod((2 * np.arange(target) + 1) * source - target, 2 * target)
    parts = part.reshape(-1, *[1] * (lines.ndim - 1))
    first = lines[np.clip(whole, 0, source - 1)]
    second = lines[np.clip(whole + 1, 0, source - 1)]
    return np.moveaxis(first * (2 * target - parts) + second * parts, 0, axis)
