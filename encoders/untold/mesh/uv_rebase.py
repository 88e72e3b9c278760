"""Move texture coordinates near to 0, where half floats are finest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from encoders.kit.mesh.component import label_components
from encoders.untold.mesh.tile_mesh import TileMesh

# Texture coordinates within this stay as they are; beyond it, whole repeats are subtracted.
UV_REACH = 2.0


def rebase_uv(mesh: TileMesh) -> TileMesh:
    """Subtract whole repeats from the coordinates of UV islands that lie far from 0.

    The engine repeats all textures, so nothing moves; half floats are finer near 0.
    """
    if float(np.abs(mesh.uv).max(initial=0.0)) <= UV_REACH:
        return mesh
    island = np.zeros(len(mesh.position), np.intp)
    label = label_components(mesh.triangles, len(mesh.position))
    island[mesh.triangles.reshape(-1)] = np.repeat(label, 3)
    count = int(label.max()) + 1
    low = np.full((count, 2), np.inf)
    np.minimum.at(low, island, mesh.uv.astype(np.float64))
    high = np.full((count, 2), -np.inf)
    np.maximum.at(high, island, mesh.uv.astype(np.float64))
    is_far = (np.maximum(np.abs(low), np.abs(high)) > UV_REACH).any(axis=1)
    centre = np.floor((low + high) / 2.0)
    repeats = np.where(is_far[:, None], centre, 0.0)
    moved = (mesh.uv.astype(np.float64) - repeats[island]).astype(np.float32)
    return replace(mesh, uv=moved)
