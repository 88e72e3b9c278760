"""Wrap texture coordinates: cut triangles where a repeat begins, and move each into the texture.

The runtime sets no texture window: the console would read what lies beside a texture in VRAM, so no
coordinate may leave it. The result shows what the sampler's wrap mode asks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from encoders.kit.mesh.clip import CutMesh, cut_at_plane, start_cut
from encoders.kit.mesh.normal import normalise
from encoders.kit.source.material import Sampler, Wrap

# A quarter of a texel of the largest texture: 0.99999 and 1.00001 of a modeller are both 1.
SNAP = 1 / 1024

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Corners:
    """Triangles with the attributes of their corners, each of the shape (triangles, 3, n).

    `source` is the number of the source's triangle that each of them is, or was cut from.
    """

    uv: Floats
    position: Floats
    normal: Floats
    color: Floats
    source: npt.NDArray[np.int64]

    def take(self, rows: npt.NDArray[np.integer]) -> Corners:
        """Return these triangles."""
        columns = (self.uv, self.position, self.normal, self.color, self.source)
        return Corners(*(column[rows] for column in columns))


def join_corners(parts: Sequence[Corners]) -> Corners:
    """Join triangles and sort them by `source`."""
    columns = ("uv", "position", "normal", "color", "source")
    whole = Corners(*(np.concatenate([getattr(part, name) for part in parts]) for name in columns))
    return whole.take(np.argsort(whole.source, kind="stable"))


def snapped(uv: Floats) -> Floats:
    """Round coordinates that are nearly whole."""
    near = np.rint(uv)
    return np.where(np.abs(uv - near) < SNAP, near, uv).astype(np.float32)


def count_repeats(uv: Floats) -> npt.NDArray[np.float64]:
    """Return the number of repeats that each triangle spans along both axes, (triangles, 2)."""
    low, high = np.floor(uv.min(axis=1)), np.ceil(uv.max(axis=1))
    repeats: npt.NDArray[np.float64] = np.maximum(high.astype(np.float64) - low, 1)
    return repeats


def find_outside(uv: Floats) -> npt.NDArray[np.bool_]:
    """Tell which triangles have a corner outside of the texture."""
    return np.asarray(((uv < 0) | (uv > 1)).any(axis=(1, 2)))


def wrap_triangles(corners: Corners, sampler: Sampler) -> Corners:
    """Cut triangles at the borders of repeats, and move the pieces into the texture."""
    wraps = (sampler.wrap_u, sampler.wrap_v)
    uv = corners.uv.copy()
    for axis, wrap in enumerate(wraps):
        if wrap != "clamp":
            # Whole periods can be subtracted without a cut; a mirrored texture has one of two.
            period = 2 if wrap == "mirror" else 1
            uv[..., axis] -= np.floor(uv[..., axis].min(axis=1) / period)[:, None] * period
    cut = _cut(replace(corners, uv=uv), wraps)
    for axis, wrap in enumerate(wraps):
        cut.uv[..., axis] = _wrapped(cut.uv[..., axis], wrap)
    return cut


def _wrapped(values: Floats, wrap: Wrap) -> Floats:
    """Move the coordinates of triangles, each within one repeat, into 0 to 1."""
    if wrap == "clamp":
        return np.clip(values, 0, 1)
    # By the middle, because a corner on a border belongs to both repeats.
    middle = (values.min(axis=1) + values.max(axis=1)) / 2
    repeat = np.floor(middle)[:, None]
    inside: Floats = np.clip(values - repeat, 0, 1)
    if wrap == "mirror":
        inside = np.where(repeat % 2 == 1, 1 - inside, inside)
    return inside


def _cut(corners: Corners, wraps: Sequence[Wrap]) -> Corners:
    """Cut at every border between repeats; with `clamp` at those of the texture only."""
    # UV and position are one attribute, so that a piece without an area in the texture is kept.
    joint = np.concatenate([corners.uv, corners.position], axis=2).reshape(-1, 5)
    columns = (joint, corners.normal.reshape(-1, 3), corners.color.reshape(-1, 3))
    mesh = start_cut(columns, np.arange(len(joint)).reshape(-1, 3))
    for axis, wrap in enumerate(wraps):
        last = int(np.ceil(corners.uv[..., axis].max(initial=0)))
        borders = (0, 1) if wrap == "clamp" else range(1, last)
        for border in borders:
            mesh = cut_at_plane(mesh, axis, border)
    return _corners(mesh, len(joint), corners.source)


def _corners(mesh: CutMesh, uncut: int, source: npt.NDArray[np.int64]) -> Corners:
    """Return the pieces as triangles; the first `uncut` vertices were there before the cuts."""
    joint, normal, color = mesh.attributes
    # What lies between two unit normals is shorter than they are.
    normal = np.concatenate([normal[:uncut], normalise(normal[uncut:]).astype(np.float32)])
    at = mesh.indices
    return Corners(joint[at, :2], joint[at, 2:], normal[at], color[at], source[mesh.source])
