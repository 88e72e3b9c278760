"""Leave out keys that the keys around them give as well, within a tolerance.

Both ends stay: the engine needs a key at 0 and one at the end of the clip.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from encoders.kit.source.gltf.geometry.rotation import slerp

Doubles = npt.NDArray[np.float64]
# Keys stay within a third of a turn of each other: at half a turn both ways are equally short.
LEAST_COSINE = 0.5
# Between two values, at several places from 0 to 1.
Interpolation = Callable[[Doubles, Doubles, Doubles], Doubles]


def lerp(before: Doubles, after: Doubles, factor: Doubles) -> Doubles:
    """Go straight from one vector to another."""
    return before + (after - before) * factor[:, None]


def turn(before: Doubles, after: Doubles, factor: Doubles) -> Doubles:
    """Turn from one quaternion to another; infinite where the way is not certain."""
    shape = (len(factor), 4)
    if (before * after).sum() < LEAST_COSINE:
        return np.full(shape, np.inf)
    return slerp(np.broadcast_to(before, shape), np.broadcast_to(after, shape), factor)


def kept_keys(
    times: Doubles, values: Doubles, between: Interpolation, tolerance: float
) -> npt.NDArray[np.intp]:
    """Return the keys to keep, so that no value is off by more than the tolerance."""
    kept = {0, len(times) - 1}
    stack = [(0, len(times) - 1)]
    while stack:
        low, high = stack.pop()
        if high - low < 2:
            continue
        inner = slice(low + 1, high)
        factor = (times[inner] - times[low]) / (times[high] - times[low])
        off = values[inner] - between(values[low], values[high], factor)
        error = np.sqrt((off**2).sum(axis=1))
        worst = int(np.argmax(error))
        if error[worst] > tolerance:
            is_known = bool(np.isfinite(error[worst]))
            middle = low + 1 + worst if is_known else (low + high) // 2
            kept.add(middle)
            stack += [(low, middle), (middle, high)]
    return np.array(sorted(kept), np.intp)


def same_side(rotations: Doubles) -> Doubles:
    """Give neighbouring quaternions the sign that makes them near: q and -q are one rotation."""
    cosine = (rotations[1:] * rotations[:-1]).sum(axis=1)
    signs = np.cumprod(np.where(cosine < 0, -1.0, 1.0))
    near: Doubles = rotations * np.concatenate([[1.0], signs])[:, None]
    return near
