"""Resize pictures: exact area averages when shrinking, bilinear interpolation when enlarging.

Weights are integers: a source texel counts by the area of it that a target texel covers. Sums are
exact and each output byte is rounded once, half up, so that the bytes are the same everywhere.
Colour is weighted by alpha, so that the colour of transparent texels does not bleed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from encoders.kit.image.pixel import Rgba8
from encoders.kit.image.srgb import from_linear, to_linear

_Sums: TypeAlias = npt.NDArray[Any]
_Planes: TypeAlias = npt.NDArray[np.uint8]
_Convert: TypeAlias = Callable[[_Planes], npt.NDArray[Any]]

# Texels whose values are summed at a time.
STRIP_TEXELS = 1 << 18


def resize_colour(image: Rgba8, width: int, height: int) -> Rgba8:
    """Resize an RGBA8 picture, averaging the stored (gamma-encoded) values."""
    planes = _planes(image)
    return _picture(*_weighted_means(planes[:3], planes[3:], width, height))


def resize_linear(image: Rgba8, width: int, height: int) -> Rgba8:
    """Resize an RGBA8 picture, averaging its sRGB colours in linear light."""
    planes = _planes(image)
    rgb, alpha = _weighted_means(planes[:3], planes[3:], width, height, to_linear)
    return _picture(from_linear(rgb), alpha)


def resize_normals(image: Rgba8, width: int, height: int) -> Rgba8:
    """Resize a normal map, averaging its vectors and scaling them to unit length.

    Vectors that cancel out become the flat normal (128, 128, 255). Alpha is averaged as it is.
    """
    planes = _planes(image)
    size = _Size(planes.shape[1], planes.shape[2], width, height)
    # Doubled, so that the zero of the vectors, 127.5, is an integer.
    total, _ = _strip_sums(lambda rows: 2 * planes[:3, rows].astype(np.int64) - 255, size)
    alpha = _rounded(*_strip_sums(lambda rows: planes[3:, rows].astype(np.int64), size))
    # IEEE 754 requires correctly rounded roots and quotients, so all machines agree.
    x, y, z = total.astype(np.float64)
    length = np.sqrt(x * x + y * y + z * z)
    length[length == 0] = 1.0
    codes = np.floor((np.stack([x, y, z]) / length + 1.0) * 127.5 + 0.5).astype(np.int64)
    codes[:, (total == 0).all(axis=0)] = np.array([[128], [128], [255]])
    return _picture(codes, alpha)


def _planes(image: Rgba8) -> npt.NDArray[np.uint8]:
    """Return the channels as planes with contiguous rows."""
    return np.ascontiguousarray(np.moveaxis(image, 2, 0))


def _picture(rgb: npt.NDArray[np.integer], alpha: npt.NDArray[np.integer]) -> Rgba8:
    image = np.empty((*rgb.shape[1:], 4), np.uint8)
    for channel, plane in enumerate((*rgb, *alpha)):
        image[..., channel] = plane
    return image


def _weighted_means(
    rgb: _Planes, alpha: _Planes, width: int, height: int, convert: _Convert = np.asarray
) -> tuple[_Sums, _Sums]:
    """Return the means of colour, weighted by alpha, and the means of alpha.

    `convert` gives the values of colours that are averaged.
    """
    dtype = _sum_dtype(convert(rgb[:, :1, :1]), alpha, width, height)

    def colour(rows: slice) -> _Sums:
        return convert(rgb[:, rows]).astype(dtype)

    def opacity(rows: slice) -> _Sums:
        return alpha[:, rows].astype(dtype)

    size = _Size(alpha.shape[1], alpha.shape[2], width, height)
    if (alpha == 255).all():
        means = _rounded(*_strip_sums(colour, size))
        return means, np.full((1, height, width), 255, dtype)
    alpha_sum, weight = _strip_sums(opacity, size)
    visible, _ = _strip_sums(lambda rows: colour(rows) * opacity(rows), size)
    means = _rounded(visible, np.maximum(alpha_sum, 1))
    # Where all texels are transparent there is no weight: average the colours unweighted.
    is_clear = alpha_sum[0] == 0
    if is_clear.any():
        plain = _rounded(*_strip_sums(colour, size))
        means[:, is_clear] = plain[:, is_clear]
    return means, _rounded(alpha_sum, weight)


class _Size(NamedTuple):
    """Rows and columns of a source, and the size to which it is resized."""

    rows: int
    columns: int
    width: int
    height: int


def _strip_sums(make: Callable[[slice], _Sums], size: _Size) -> tuple[_Sums, int]:
    """Return the sums of values that are made for some rows at a time.

    The sums are exact, so they may be taken in parts; all values of a large picture at once would
    take many times the memory of its bytes.
    """
    factor, rest = divmod(size.rows, size.height)
    rows = _strip_rows(factor, size) if factor and not rest else size.rows
    if rows == size.rows:
        return _sums(make(slice(None)), size.width, size.height)
    # Strips of several target rows, or several strips of one target row.
    each, parts = max(1, rows // factor), max(1, factor // rows)
    strips = [
        _sums(make(slice(start, start + rows)), size.width, each)[0]
        for start in range(0, size.rows, rows)
    ]
    found = np.concatenate(strips, axis=1)
    weight = factor * _axis_weight(size.columns, size.width)
    return (_shrink_whole(found, 1, parts) if parts > 1 else found), weight


def _strip_rows(factor: int, size: _Size) -> int:
    """Return how many rows are summed at a time: a part or a multiple of `factor`."""
    wanted = max(1, STRIP_TEXELS // size.columns)
    if wanted >= size.rows:
        return size.rows
    if wanted < factor:
        # A part that leaves no rest; where there is none but single rows, a whole row of targets.
        return next((one for one in range(wanted, 1, -1) if factor % one == 0), factor)
    each = wanted // factor
    return factor * next(one for one in range(each, 0, -1) if size.height % one == 0)


def _axis_weight(source: int, target: int) -> int:
    """Return the total weight of a target texel along one axis: see `_axis_sums`."""
    if target > source:
        return 2 * target
    return source if source % target else source // target


def _sum_dtype(
    rgb: npt.NDArray[np.integer], alpha: _Planes, width: int, height: int
) -> type[np.int32 | np.int64]:
    """Return int32, which is twice as fast, where doubled sums fit it, else int64."""
    down, rest_y = divmod(alpha.shape[1], height)
    across, rest_x = divmod(alpha.shape[2], width)
    largest = 255 * int(np.iinfo(rgb.dtype).max)
    # _rounded doubles the sums and adds the weight, hence three times.
    fits = not rest_x and not rest_y and 3 * down * across * largest < 2**31
    return np.int32 if fits else np.int64


def _rounded(total: _Sums, weight: _Sums | int) -> _Sums:
    """Divide and round, half up."""
    whole: _Sums = np.asarray(weight, total.dtype)
    return np.asarray((2 * total + whole) // (2 * whole))


def _sums(values: _Sums, width: int, height: int) -> tuple[_Sums, int]:
    """Return the weighted sum of every target texel, and the total weight of each."""
    down, weight_y = _axis_sums(values, 1, height)
    across, weight_x = _axis_sums(down, 2, width)
    return across, weight_x * weight_y


def _axis_sums(values: _Sums, axis: int, target: int) -> tuple[_Sums, int]:
    """Return the weighted sums along one axis, and the total weight of each."""
    source = values.shape[axis]
    if target == source:
        return values, 1
    if target > source:
        return _enlarge(values, axis, target), 2 * target
    if source % target == 0:
        return _shrink_whole(values, axis, source // target), source // target
    return _shrink(values, axis, target), source


def _shrink_whole(values: _Sums, axis: int, factor: int) -> _Sums:
    """Sum runs of `factor` texels."""
    if axis == 2 and factor <= 16:
        # Adding slices is faster than summing along a short last axis.
        total = values[:, :, ::factor].copy()
        for first in range(1, factor):
            total += values[:, :, first::factor]
        return total
    target = values.shape[axis] // factor
    shape = (*values.shape[:axis], target, factor, *values.shape[axis + 1 :])
    return np.asarray(values.reshape(shape).sum(axis=axis + 1, dtype=values.dtype))


def _shrink(values: _Sums, axis: int, target: int) -> _Sums:
    """Sum what each target texel covers, with every source texel `target` units long.

    With F(t) the sum over the first t units, a target texel is the difference of two values of F.
    F may wrap around in 64 bits; the differences are still right.
    """
    source = values.shape[axis]
    lines = np.moveaxis(values, axis, 0)
    sums = np.zeros((source + 1, *lines.shape[1:]), np.int64)
    np.cumsum(lines, axis=0, out=sums[1:])
    whole, part = np.divmod(np.arange(target + 1) * source, target)
    # At the very end there is no further texel, and `part` is 0.
    last = lines[np.minimum(whole, source - 1)]
    return np.moveaxis(np.diff(sums[whole] * target + last * part[:, None, None], axis=0), 0, axis)


def _enlarge(values: _Sums, axis: int, target: int) -> _Sums:
    """Interpolate between the two source texels whose centres enclose each target's centre."""
    source = values.shape[axis]
    lines = np.moveaxis(values, axis, 0)
    # The centre (i + 1/2) * source / target - 1/2 in source texels, times 2 * target. Negative at
    # the edge, where the clipped neighbours are both the first texel.
    whole, part = np.divmod((2 * np.arange(target) + 1) * source - target, 2 * target)
    weight = part[:, None, None]
    first = lines[np.clip(whole, 0, source - 1)]
    second = lines[np.clip(whole + 1, 0, source - 1)]
    return np.moveaxis(first * (2 * target - weight) + second * weight, 0, axis)
