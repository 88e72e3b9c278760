"""Animation clips: channels as key times and values, and their values at any time.

Times and the place between two keys are float32, as engines compute them, so frame counts and
key hits agree with theirs. Before the first key the first value holds, after the last the last.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from encoders.kit.source.gltf.data.accessor import decode_floats
from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.document.fault import fault
from encoders.kit.source.gltf.document.spec import (
    Animation,
    AnimationSampler,
    Interpolation,
    element,
    node_place,
    place,
)
from encoders.kit.source.gltf.geometry.rotation import normalise, slerp
from encoders.kit.warning import grouped

Floats = npt.NDArray[np.float32]

# Components of the paths that move a node; weights of morph targets do not.
WIDTHS = {"translation": 3, "rotation": 4, "scale": 3}
# 36 minutes at 30 frames a second, and what a 16-bit count can hold.
FRAME_LIMIT = 65535


class Channel(NamedTuple):
    """Keys of one path of one node. Cubic values are (keys, 3, n): in-tangent, value, out."""

    node: int
    path: str
    interpolation: Interpolation
    times: Floats
    values: Floats


@dataclass(frozen=True, eq=False)
class Clip:
    """A named animation. Its duration is the last key of any channel, moving a node or not."""

    name: str
    duration: np.float32
    channels: tuple[Channel, ...]


def decode_clip(gltf: Gltf, index: int) -> Clip:
    """Read an animation; what does not move a node is left out with a warning."""
    record = element(gltf.document.animations, index, "animations", gltf.name)
    where = place(record.name, f"animations[{index}]")
    times = _key_times(gltf, record, where)
    channels: dict[tuple[int, str], Channel] = {}
    read: dict[str, Channel] = {}  # all of them, by where they are
    for number, channel in enumerate(record.channels):
        node, path = channel.target.node, channel.target.path
        if node is None or path not in WIDTHS:
            gltf.warn(grouped("ignored", f'clip "{record.name}": a channel for {path} was ignored'))
            continue
        where = place(record.name, f"animations[{index}].channels[{number}]")
        element(gltf.document.nodes, node, where, gltf.name)
        if (node, path) in channels:
            gltf.warn(
                grouped(
                    "ignored",
                    f'clip "{record.name}": {node_place(gltf.document, node)} has two channels '
                    f"for {path}",
                )
            )
        sampler = record.samplers[channel.sampler]
        values = _values(gltf, sampler, len(times[sampler.input]), path, where)
        keys = times[sampler.input]
        read[where] = Channel(node, path, sampler.interpolation, keys, values)
        channels[node, path] = read[where]
    _check_values(gltf, read)
    duration = max((keys[-1] for keys in times.values()), default=np.float32(0))
    return Clip(record.name, duration, tuple(channels.values()))


def _key_times(gltf: Gltf, record: Animation, where: str) -> dict[int, Floats]:
    """Return the key times that channels use, by accessor."""
    found: dict[int, Floats] = {}
    for channel in record.channels:
        sampler = element(record.samplers, channel.sampler, where, gltf.name)
        if sampler.input not in found:
            found[sampler.input] = _times(gltf, sampler.input, where)
    return found


def _times(gltf: Gltf, accessor: int, where: str) -> Floats:
    times = decode_floats(gltf, accessor)
    gltf.charge(times.nbytes, where)
    if times.ndim != 1 or not len(times):
        raise fault("animation has no key times", gltf.name, where, times.shape, "scalars")
    if not np.isfinite(times[-1]) or not (times[1:] >= times[:-1]).all():
        raise fault("animation key times do not rise", gltf.name, where)
    return times


def _values(gltf: Gltf, sampler: AnimationSampler, keys: int, path: str, where: str) -> Floats:
    values = decode_floats(gltf, sampler.output)
    gltf.charge(values.nbytes, where)
    is_cubic = sampler.interpolation == "CUBICSPLINE"
    shape = (keys * 3 if is_cubic else keys, WIDTHS[path])
    if values.shape != shape:
        problem = "animation values do not fit their times"
        raise fault(problem, gltf.name, where, values.shape, shape)
    return values.reshape(keys, 3, WIDTHS[path]) if is_cubic else values


def _check_values(gltf: Gltf, channels: Mapping[str, Channel]) -> None:
    """Refuse values that are no numbers, and rotations without a direction, wherever one is.

    All channels are looked at together: a clip has hundreds, each with a few dozen numbers.
    """
    if not channels:
        return
    turns = [_key_values(one.values) for one in channels.values() if one.path == "rotation"]
    numbers = np.concatenate([one.values.ravel() for one in channels.values()])
    if np.isfinite(numbers).all() and (not turns or np.concatenate(turns).any(axis=1).all()):
        return
    for where, one in channels.items():
        if not np.isfinite(one.values).all():
            raise fault("animation value is not finite", gltf.name, where)
        if one.path == "rotation" and not _key_values(one.values).any(axis=1).all():
            found, allowed = "0 0 0 0", "a unit quaternion"
            raise fault("rotation has no direction", gltf.name, where, found, allowed)


def _key_values(values: Floats) -> Floats:
    return values[:, 1] if values.ndim == 3 else values


def frame_times(
    duration: np.float32, rate: float, name: str, *, include_last: bool = False
) -> Floats:
    """Return the times of frames 0, 1, ... at `rate`: ceil(duration x rate) of them, at least one.

    The last key itself is not a frame, which suits loops, unless `include_last` adds one.
    """
    if float(duration) * rate > FRAME_LIMIT:
        found = f"{duration} seconds at {rate} a second"
        raise fault("clip has too many frames", name, "animation", found, FRAME_LIMIT)
    frames = max(math.ceil(np.float32(duration) * np.float32(rate)), 1) + include_last
    return np.arange(frames, dtype=np.float32) / np.float32(rate)


@dataclass(frozen=True, eq=False)
class Track:
    """Channels of one path that share key times: values are (channels, keys, n).

    For cubic splines they are (channels, keys, 3, n).
    """

    path: str
    interpolation: Interpolation
    keys: Floats
    values: Floats

    def at(self, times: Floats) -> Floats:
        """Return the values (channels, frames, n); rotations have unit length."""
        low, high, factor = _place(self.keys, times)
        before, after = self.values[:, low], self.values[:, high]
        with np.errstate(all="ignore"):  # overflow shows in the result, which is checked
            if self.interpolation == "CUBICSPLINE":
                span = self.keys[high] - self.keys[low]
                result = _cubic(before, after, factor[:, None], span[:, None])
                before = before[..., 1, :]
            elif self.interpolation == "STEP":
                result = before
            elif self.path == "rotation":
                return _slerp(before, after, factor)
            else:
                result = before + (after - before) * factor[:, None]
        return _unit(result, before) if self.path == "rotation" else result


def _slerp(before: Floats, after: Floats, factor: Floats) -> Floats:
    a, b = (normalise(value.astype(np.float64)) for value in (before, after))
    return slerp(a, b, factor.astype(np.float64)).astype(np.float32)


def _unit(rotations: Floats, instead: Floats) -> Floats:
    """Normalise; where a spline passes through nothing, the key before stands in."""
    is_lost = ~rotations.any(axis=-1, keepdims=True)
    return normalise(np.where(is_lost, instead, rotations).astype(np.float64)).astype(np.float32)


def _place(
    keys: Floats, times: Floats
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], Floats]:
    """Return the key before each time, the one after, and how far between them it is."""
    low = np.clip(np.searchsorted(keys, times, side="right") - 1, 0, len(keys) - 1)
    high = np.minimum(low + 1, len(keys) - 1)
    span = keys[high] - keys[low]
    factor = (times - keys[low]) / np.where(span > 0, span, np.float32(1))
    return low, high, np.clip(np.where(span > 0, factor, 0), 0, 1).astype(np.float32)


def _cubic(a: Floats, b: Floats, t: Floats, span: Floats) -> Floats:
    """Evaluate the cubic Hermite spline between keys `a` and `b`."""
    square, cube = t * t, t * t * t
    return (
        (2 * cube - 3 * square + 1) * a[..., 1, :]
        + span * (cube - 2 * square + t) * a[..., 2, :]
        + (3 * square - 2 * cube) * b[..., 1, :]
        + span * (cube - square) * b[..., 0, :]
    )
