"""Texture coordinates beyond the texture: folded back, and triangles cut where a repeat begins.

The console reads what lies beside a texture in VRAM, so no coordinate may leave it. The one rule:
what is shown is what the sampler's wrap says; a triangle that would come to too many pieces is
refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from encoders.kit.mesh.clip import CutMesh, cut_at_plane, start_cut
from encoders.kit.source.material import Sampler, Wrap

# A quarter of a texel of the largest texture: modellers' 0.99999 and 1.00001 are both 1.
SNAP = 1 / 1024

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Corners:
    """Triangles by their corners: UVs, positions, normals, colours (each (triangles, 3, n)).

    `source` tells which of the triangles before a cut each one comes from.
    """

    uv: Floats
    position: Floats
    normal: Floats
    color: Floats
    source: npt.NDArray[np.int64]

    def take(self, rows: npt.NDArray[np.integer]) -> Corners:
        """Give some of the triangles."""
        columns = (self.uv, self.position, self.normal, self.color, self.source)
        return Corners(*(column[rows] for column in columns))


def join(parts: Sequence[Corners]) -> Corners:
    """Put triangles together in the order of their sources."""
    columns = ("uv", "position", "normal", "color", "source")
    whole = Corners(*(np.concatenate([getattr(part, name) for part in parts]) for name in columns))
    return whole.take(np.argsort(whole.source, kind="stable"))


def snapped(uv: Floats) -> Floats:
    """Move coordinates that are nearly whole onto the whole number."""
    near = np.rint(uv)
    return np.where(np.abs(uv - near) < SNAP, near, uv).astype(np.float32)


def count_tiles(uv: Floats) -> npt.NDArray[np.float64]:
    """Count the repeats that each triangle reaches over, along both axes (triangles, 2)."""
    low, high = np.floor(uv.min(axis=1)), np.ceil(uv.max(axis=1))
    tiles: npt.NDArray[np.float64] = np.maximum(high.astype(np.float64) - low, 1)
    return tiles


def find_outside(uv: Floats) -> npt.NDArray[np.bool_]:
    """Tell which triangles have a corner outside of the texture."""
    return np.asarray(((uv < 0) | (uv > 1)).any(axis=(1, 2)))


def fold(corners: Corners, sampler: Sampler) -> Corners:
    """Bring triangles into the texture, cut at its borders where they reach across."""
    wraps = (sampler.wrap_u, sampler.wrap_v)
    uv = corners.uv.copy()
    for axis, wrap in enumerate(wraps):
        if wrap != "clamp":
            period = 2 if wrap == "mirror" else 1
            uv[..., axis] -= np.floor(uv[..., axis].min(axis=1) / period)[:, None] * period
    cut = _cut(replace(corners, uv=uv), wraps)
    for axis, wrap in enumerate(wraps):
        cut.uv[..., axis] = _wrapped(cut.uv[..., axis], wrap)
    return cut


def _wrapped(values: Floats, wrap: Wrap) -> Floats:
    """Bring coordinates of triangles that lie in one repeat each into 0 to 1."""
    if wrap == "clamp":
        return np.clip(values, 0, 1)
    middle = (values.min(axis=1) + values.max(axis=1)) / 2
    repeat = np.floor(middle)[:, None]
    inside: Floats = np.clip(values - repeat, 0, 1)
    if wrap == "mirror":
        inside = np.where(repeat % 2 == 1, 1 - inside, inside)
    return inside


def _cut(corners: Corners, wraps: Sequence[Wrap]) -> Corners:
    """Cut at every border of a repeat; with `clamp` there are only the texture's own."""
    # Positions go with the coordinates, so that a piece without an area in the texture is kept.
    joint = np.concatenate([corners.uv, corners.position], axis=2).reshape(-1, 5)
    columns = (joint, corners.normal.reshape(-1, 3), corners.color.reshape(-1, 3))
    mesh = start_cut(columns, np.arange(len(joint)).reshape(-1, 3))
    for axis, wrap in enumerate(wraps):
        last = int(np.ceil(corners.uv[..., axis].max(initial=0)))
        borders = (0, 1) if wrap == "clamp" else range(1, last)
        for border in borders:
            mesh = cut_at_plane(mesh, axis, border)
    return _corners(mesh, corners.source)


def _corners(mesh: CutMesh, source: npt.NDArray[np.int64]) -> Corners:
    joint, normal, color = (column[mesh.indices] for column in mesh.attributes)
    return Corners(joint[..., :2].copy(), joint[..., 2:], normal, color, source[mesh.source])
