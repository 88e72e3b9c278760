"""Scale pictures by a Lanczos filter of three lobes, in linear light and with colour times alpha.

Sharper than the area averages of `resize.py`, for pictures that are scaled once on import. Weights
are whole numbers and every sum stays below 2^53, so that float64 holds it exactly and the bytes do
not depend on the order of additions.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from encoders.kit.image.pixel import Rgba8
from encoders.kit.image.srgb import LINEAR_WHITE, from_linear, to_linear

LOBES = 3
UNIT = 1 << 14  # the sum of the weights of a target texel

_Planes = npt.NDArray[np.float64]


def resize_lanczos(image: Rgba8, width: int, height: int) -> Rgba8:
    """Scale an sRGB picture with straight alpha; colours of transparent texels do not bleed."""
    alpha = image[..., 3:].astype(np.float64)
    light = to_linear(image[..., :3]).astype(np.float64)
    planes = np.concatenate((light * alpha, alpha * LINEAR_WHITE), axis=2)
    if (image[..., 3] == 0).any():
        # Only where the result is transparent: there the colour is that of its neighbourhood.
        planes = np.concatenate((planes, light * 255), axis=2)
    scaled = _scale_rows(_scale_rows(planes, height).swapaxes(0, 1), width).swapaxes(0, 1)
    return _straight(scaled)


def _straight(planes: _Planes) -> Rgba8:
    """Divide colour by alpha and round to bytes."""
    # Divided before it is cut off: where the filter overshoots, colour and alpha do so together.
    weight = planes[..., 3] / LINEAR_WHITE
    alpha = np.clip(np.floor(weight + 0.5), 0, 255)
    is_clear = alpha == 0
    light = planes[..., :3] / np.where(is_clear, 1.0, weight)[..., None]
    if planes.shape[2] > 4:
        light = np.where(is_clear[..., None], planes[..., 4:] / 255, light)
    codes = from_linear(np.clip(np.floor(light + 0.5), 0, LINEAR_WHITE).astype(np.int64))
    return np.concatenate((codes, alpha[..., None].astype(np.uint8)), axis=2)


def _scale_rows(planes: _Planes, target: int) -> _Planes:
    """Filter along the first axis and round the sums to whole numbers."""
    source = planes.shape[0]
    if source == target:
        return planes
    flat = np.ascontiguousarray(planes).reshape(source, -1)
    result = np.empty((target, flat.shape[1]))
    for row in range(target):
        first, weights = _taps(row, source, target)
        result[row] = weights @ flat[first : first + len(weights)]
    return np.floor(result / UNIT + 0.5).reshape(target, *planes.shape[1:])


def _taps(row: int, source: int, target: int) -> tuple[int, npt.NDArray[np.float64]]:
    """Return the first source row of a target row, and the whole weights from there on."""
    step = source / target
    # When a picture shrinks, the filter is as wide as the target's texels.
    reach = LOBES * max(step, 1.0)
    centre = (row + 0.5) * step
    first = max(math.floor(centre - reach), 0)
    last = min(math.ceil(centre + reach), source)
    raw = [_lanczos((at + 0.5 - centre) / max(step, 1.0)) for at in range(first, last)]
    total = math.fsum(raw)
    whole = [math.floor(weight / total * UNIT + 0.5) for weight in raw]
    # Rounding must not change the brightness: the largest weight takes the difference.
    largest = max(range(len(whole)), key=whole.__getitem__)
    whole[largest] += UNIT - sum(whole)
    return first, np.array(whole, np.float64)


def _lanczos(x: float) -> float:
    if x == 0:
        return 1.0
    if abs(x) >= LOBES:
        return 0.0
    angle = math.pi * x
    return LOBES * math.sin(angle) * math.sin(angle / LOBES) / (angle * angle)
