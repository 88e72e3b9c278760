"""Geometry between nodes: meshes of one object and one material, and whole tiles of them.

Only this target reads these bytes. Equal geometry gives equal bytes, so that a node whose result
did not change leaves the nodes after it up to date.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from encoders.kit.mesh.weld import prune_vertices, weld_vertices

Floats = npt.NDArray[np.float32]
Triangles = npt.NDArray[np.int32]

ATTRIBUTE_WIDTHS = {
    "position": 3,
    "normal": 3,
    "uv": 2,
    "uv1": 2,
    "color": 4,
    "tangent": 4,
    "component": 6,
}
# The columns of `component`.
NUMBER, SIZE, DROP_SHARE, IS_MULTI_TILE, GROUP, THICKNESS = range(6)
# What a mesh has in place of an attribute that others have; what is not named here is 0.
DEFAULTS = {"color": 1.0}


@dataclass(frozen=True, eq=False)
class TileMesh:
    """Triangles of one object and one material, in world space and with v upwards.

    `owner` tells objects of the same name apart: it is the object's number among those of a source
    in the tile or, in a merged tile, among its unmerged objects.
    `uv1`, `color` and `tangent` have no rows where the source has none. `component` describes, for
    each vertex, the connected component of the uncut object that it belongs to: its number, its
    size in metres, the share of triangles below which every level drops it, whether it concerns
    several tiles, so that no tile may drop it alone, the number of the component that it is
    dropped with, and its thickness in metres. `is_border` marks the vertices that lie in a plane
    at which the object was cut.
    """

    object: str
    material: int
    position: Floats
    normal: Floats
    uv: Floats
    uv1: Floats
    color: Floats
    tangent: Floats
    component: Floats
    is_border: npt.NDArray[np.bool_]
    triangles: Triangles
    owner: int = 0


@dataclass(frozen=True, eq=False)
class Tile:
    """The merged meshes of a tile; their `material` is an index into `materials`.

    The same type holds a simplified level of the tile. `full_count` is the number of triangles
    before simplification, and `missed` describes, in the last level, all levels that kept more
    triangles than asked for.
    """

    meshes: tuple[TileMesh, ...]
    materials: tuple[dict[str, Any], ...]
    full_count: int
    missed: tuple[str, ...] = ()

    @property
    def triangle_count(self) -> int:
        """The number of triangles of all meshes."""
        return sum(len(mesh.triangles) for mesh in self.meshes)


def join_meshes(meshes: Sequence[TileMesh]) -> TileMesh:
    """Join meshes into one, with the object and material of the first."""
    columns = {name: _column(meshes, name) for name in ATTRIBUTE_WIDTHS}
    starts = np.cumsum([0, *(len(mesh.position) for mesh in meshes)])
    triangles = [
        mesh.triangles + np.int32(start)
        for mesh, start in zip(meshes, starts.tolist(), strict=False)
    ]
    border = np.concatenate([mesh.is_border for mesh in meshes])
    return replace(meshes[0], **columns, is_border=border, triangles=np.concatenate(triangles))


def _column(meshes: Sequence[TileMesh], name: str) -> Any:
    """Join one attribute; meshes without it get its default if any other has it."""
    found = [getattr(mesh, name) for mesh in meshes]
    if not any(len(one) for one in found):
        return found[0]
    width, default = ATTRIBUTE_WIDTHS[name], DEFAULTS.get(name, 0.0)
    return np.concatenate(
        [
            one if len(one) else np.full((len(mesh.position), width), default, np.float32)
            for one, mesh in zip(found, meshes, strict=True)
        ]
    )


def weld_tile_mesh(mesh: TileMesh) -> TileMesh:
    """Merge vertices that are equal in all attributes, and remove unused ones."""
    names = [name for name in ATTRIBUTE_WIDTHS if len(getattr(mesh, name))]
    weld = weld_vertices([getattr(mesh, name) for name in names])
    border = np.zeros(len(weld.first), np.bool_)
    # A border vertex stays one, whichever of its equals is kept.
    border[weld.number[mesh.is_border]] = True
    used, triangles = prune_vertices(weld.number[mesh.triangles], len(weld.first))
    columns = {name: getattr(mesh, name)[weld.first[used]] for name in names}
    return replace(mesh, **columns, is_border=border[used], triangles=triangles)


def with_back_faces(mesh: TileMesh) -> TileMesh:
    """Give every triangle a second one that faces the other way, with vertices of its own."""
    columns = {name: getattr(mesh, name) for name in ATTRIBUTE_WIDTHS}
    both: dict[str, Any] = {
        name: np.concatenate([column, column]) for name, column in columns.items()
    }
    count = len(mesh.position)
    both["normal"][count:] *= np.float32(-1)
    # The bitangent is normal x tangent times w, and must stay as it is.
    both["tangent"][count:, 3] *= np.float32(-1)
    triangles = np.concatenate([mesh.triangles, mesh.triangles[:, ::-1] + np.int32(count)])
    border = np.concatenate([mesh.is_border, mesh.is_border])
    return replace(mesh, **both, is_border=border, triangles=triangles)


def pack_meshes(meshes: Sequence[TileMesh]) -> bytes:
    """Encode meshes; an empty list becomes empty bytes."""
    return msgspec.msgpack.encode([_to_data(mesh) for mesh in meshes]) if meshes else b""


def unpack_meshes(data: bytes) -> list[TileMesh]:
    """Decode the result of `pack_meshes`."""
    return [_from_data(one) for one in msgspec.msgpack.decode(data)] if data else []


def pack_tile(tile: Tile) -> bytes:
    """Encode a tile; one without meshes becomes empty bytes."""
    if not tile.meshes:
        return b""
    meshes = [_to_data(mesh) for mesh in tile.meshes]
    return msgspec.msgpack.encode([meshes, tile.materials, tile.full_count, tile.missed])


def unpack_tile(data: bytes) -> Tile:
    """Decode the result of `pack_tile`."""
    if not data:
        return Tile((), (), 0)
    meshes, materials, full_count, missed = msgspec.msgpack.decode(data)
    found = tuple(_from_data(one) for one in meshes)
    return Tile(found, tuple(materials), full_count, tuple(missed))


def _to_data(mesh: TileMesh) -> list[Any]:
    # Explicit byte order, so that the bytes do not depend on the machine.
    arrays = [getattr(mesh, name).astype("<f4").tobytes() for name in ATTRIBUTE_WIDTHS]
    border = np.packbits(mesh.is_border).tobytes()
    return [
        mesh.object,
        mesh.material,
        len(mesh.position),
        *arrays,
        border,
        mesh.triangles.astype("<i4").tobytes(),
        mesh.owner,
    ]


def _from_data(data: Sequence[Any]) -> TileMesh:
    name, material, count, *arrays, border, triangles, owner = data
    columns = {
        key: np.frombuffer(one, "<f4").reshape(-1, width)
        for (key, width), one in zip(ATTRIBUTE_WIDTHS.items(), arrays, strict=True)
    }
    # `count` is needed because packed bits are padded to whole bytes.
    is_border = np.unpackbits(np.frombuffer(border, np.uint8), count=count).astype(np.bool_)
    corners = np.frombuffer(triangles, "<i4").reshape(-1, 3)
    return TileMesh(name, material, **columns, is_border=is_border, triangles=corners, owner=owner)
