"""The mesh of an object as it is stored, with the joints of its vertices."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from encoders.kit.mesh.vertex_cache import order_mesh
from encoders.kit.mesh.weld import weld_vertices
from encoders.untold.format.layout import VERTEX_SIZE
from encoders.untold.format.rig_record import Floats, SkinRecord, Slots
from encoders.untold.mesh.object_mesh import ObjectMesh
from encoders.untold.mesh.tangents import split_with_tangents
from encoders.untold.mesh.tile_mesh import ATTRIBUTE_WIDTHS, TileMesh, with_back_faces
from encoders.untold.mesh.uv_rebase import rebase_uv
from encoders.untold.mesh.vertex import pack_vertices
from encoders.untold.rig.pose_bounds import SkinnedPoints


@dataclass(frozen=True, eq=False)
class PackedMesh:
    """Stored vertices and indices; `joints` are numbers in the skeleton, (vertices, 4)."""

    vertices: bytes
    indices: npt.NDArray[np.uint32]
    position: Floats
    joints: Slots
    weights: Floats

    @property
    def points(self) -> SkinnedPoints:
        """What the bounds over all poses depend on."""
        return SkinnedPoints(self.position, self.joints, self.weights)


def pack_model_mesh(one: ObjectMesh, name: str, *, has_backs: bool) -> PackedMesh:
    """Pack a mesh in the order of the vertex cache; vertices equal as stored become one."""
    mesh, origin = split_with_tangents(rebase_uv(_tile_mesh(one)))
    if has_backs:
        mesh, origin = with_back_faces(mesh), np.concatenate([origin, origin])
    packed = np.frombuffer(pack_vertices(mesh, name), np.uint8).reshape(-1, VERTEX_SIZE)
    columns: list[npt.NDArray[np.generic]] = [packed]
    if len(one.joints):
        columns += [one.joints[origin], one.weights[origin]]
    weld = weld_vertices(columns)
    used, triangles = order_mesh(weld.number[mesh.triangles], len(weld.first))
    kept = weld.first[used]
    has_joints = bool(len(one.joints))
    return PackedMesh(
        packed[kept].tobytes(),
        triangles.reshape(-1).astype(np.uint32),
        mesh.position[kept],
        one.joints[origin[kept]] if has_joints else one.joints,
        one.weights[origin[kept]] if has_joints else one.weights,
    )


def _tile_mesh(one: ObjectMesh) -> TileMesh:
    count = len(one.vertices["position"])
    # Components matter to levels of a tile alone.
    component = np.zeros((count, ATTRIBUTE_WIDTHS["component"]), np.float32)
    whole = replace(one, vertices={**one.vertices, "component": component})
    return whole.tile_mesh(one.material)


def skin_record(packed: PackedMesh, entity: int, mesh: int, skeleton: int) -> SkinRecord:
    """Return the skin of a mesh, with only the joints that its vertices use."""
    mapping = np.unique(packed.joints[packed.weights > 0])
    # A joint without weight need not be in the mapping; it becomes the first slot.
    is_used = packed.weights > 0
    slots = np.where(is_used, np.searchsorted(mapping, packed.joints), 0).astype(np.uint16)
    return SkinRecord(entity, mesh, skeleton, tuple(mapping.tolist()), slots, packed.weights)
