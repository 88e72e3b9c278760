"""The UVs at which base colour textures are read, for targets with one UV set and no transforms.

The UV set and the transform of each material's texture are applied. UVs outside of what a format
holds are moved by whole tiles where that shows the same texels.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from encoders.kit.mesh.component import label_components
from encoders.kit.mesh.mesh import Attribute, Mesh, compact
from encoders.kit.mesh.texcoord import place_uv
from encoders.kit.source.material import Material, Texture, Wrap

Doubles = npt.NDArray[np.float64]
Uv = Attribute[np.float32]

# After so many tiles a picture repeats; one that is clamped never does.
PERIOD: dict[Wrap, int] = {"repeat": 1, "mirror": 2, "clamp": 0}
# Exporters round: UVs this little beside a border lie on it.
TOLERANCE = 2.0**-14


def base_uv(mesh: Mesh) -> Uv | None:
    """Return the UVs of the base colour textures; None where the mesh has none at all."""
    used = {int(number): _material(mesh, int(number)) for number in np.unique(mesh.material)}
    if all(_placement(_texture(one)) == _placement(Texture()) for one in used.values()):
        return mesh.uv[0] if mesh.uv else None
    corners = np.arange(mesh.triangle_count * 3)
    values = np.zeros((len(corners), 2), np.float32)
    rows = np.full(len(corners), -1, np.int32)
    for number, material in used.items():
        texture = _texture(material)
        if texture.uv_set >= len(mesh.uv):
            continue
        source = mesh.uv[texture.uv_set]
        # Materials may use different UV sets; each fills its own triangles' corners.
        chosen = corners[np.repeat(mesh.material == number, 3) & (source.corner.reshape(-1) >= 0)]
        values[chosen] = place_uv(material, texture, source.at(chosen))
        rows[chosen] = chosen
    return compact(Attribute(values, rows.reshape(-1, 3)))


def move_by_tiles(uv: Uv, mesh: Mesh, low: float | Doubles, high: float | Doubles) -> Uv:
    """Move UVs outside of `low` to `high` inside, by whole tiles, where a known texture repeats.

    Islands are moved as a whole if they fit, so that they stay connected, else triangles alone.
    What does not fit stays where it is.
    """
    complete = np.flatnonzero((uv.corner >= 0).all(axis=1))
    points = uv.values[uv.corner[complete]].astype(np.float64)
    if not ((points < low) | (points > high)).any():
        return uv
    periods = _periods(mesh)[complete]
    islands = label_components(uv.corner[complete], len(uv.values))
    bounds = np.asarray(low, np.float64), np.asarray(high, np.float64)
    for labels in (islands, np.arange(len(complete))):
        points = _move_groups(points, labels, periods, bounds)
    corners = np.arange(mesh.triangle_count * 3)
    values = uv.at(corners).reshape(-1, 3, 2)
    values[complete] = points
    rows = np.where(uv.corner < 0, -1, corners.reshape(-1, 3)).astype(np.int32)
    return compact(Attribute(values.reshape(-1, 2), rows))


def _move_groups(
    points: Doubles, labels: npt.NDArray[np.intp], periods: Doubles, bounds: tuple[Doubles, Doubles]
) -> Doubles:
    """Move each group of triangles that lies outside of the bounds and fits inside."""
    low, high = bounds
    count = int(labels.max()) + 1
    least, most = np.full((count, 2), np.inf), np.full((count, 2), -np.inf)
    np.minimum.at(least, labels, points.min(axis=1))
    np.maximum.at(most, labels, points.max(axis=1))
    # Of several materials in a group, one that is clamped holds it; a mirror asks for two tiles.
    shortest, period = np.full((count, 2), np.inf), np.zeros((count, 2))
    np.minimum.at(shortest, labels, periods)
    np.maximum.at(period, labels, periods)
    tiles = np.floor((least + most) / 2 / np.maximum(period, 1))
    steps = np.where(shortest > 0, tiles * period, 0)
    fits = (least - steps >= low - TOLERANCE) & (most - steps <= high + TOLERANCE)
    moves = (fits & ((least < low) | (most > high)))[labels][:, None]
    moved = np.clip(points - steps[labels][:, None], low, high)
    return np.where(moves, moved, points)


def _periods(mesh: Mesh) -> Doubles:
    """Return for each triangle after how many tiles its texture repeats, along u and v."""
    numbers, inverse = np.unique(mesh.material, return_inverse=True)
    table = [_period(_material(mesh, int(number))) for number in numbers]
    return np.array(table, np.float64).reshape(-1, 2)[inverse]


def _period(material: Material) -> tuple[int, int]:
    """Return the period along u and v; 0 without a texture, because nothing says that it wraps."""
    texture = material.textures.get("base_color")
    if texture is None:
        return 0, 0
    return PERIOD[texture.sampler.wrap_u], PERIOD[texture.sampler.wrap_v]


def _material(mesh: Mesh, number: int) -> Material:
    return mesh.materials[number] if number >= 0 else Material()


def _texture(material: Material) -> Texture:
    return material.textures.get("base_color", Texture())


def _placement(texture: Texture) -> tuple[object, ...]:
    return texture.uv_set, texture.scale, texture.rotation, texture.offset
