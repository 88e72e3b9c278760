"""The meshes of an FBX file: polygons to triangles, a primitive for each material.

FBX indexes each attribute by itself, so corners that agree in all of them become one vertex. The
one rule: values stay what they are, but for v, which glTF counts from the top.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.source.fbx.library import items, kept, numbers, table
from encoders.kit.source.fbx.material import Materials
from encoders.kit.source.fbx.skin import Skins
from encoders.kit.source.gltf.document import spec
from encoders.kit.source.gltf.document.builder import GlbBuilder
from encoders.kit.source.shared.polygon_mesh import (
    NO_MATERIAL,
    Geometry,
    Integers,
    Weights,
    cut_polygons,
    store_primitives,
)

# v from the top: 1 - v.
FLIP, ONE = np.array([1, -1], np.float32), np.array([0, 1], np.float32)


class Meshes:
    """The meshes so far: one for each FBX mesh and the materials that a node shows it with."""

    def __init__(self, glb: GlbBuilder, skins: Skins, materials: Materials, name: str) -> None:
        self.meshes: list[spec.Mesh] = []
        self._glb, self._skins, self._materials, self._name = glb, skins, materials, name
        self._numbers: dict[tuple[int, tuple[int, ...]], int | None] = {}
        self._geometries: dict[int, Geometry] = {}
        self._bound: dict[int, tuple[int, Weights] | None] = {}

    def place(self, node: Any) -> tuple[int | None, int | None]:
        """Return the numbers of the mesh and of the skin that a node shows."""
        if node.mesh is None:
            return None, None
        mesh = kept(node.mesh)
        shown = items(node.materials) or items(mesh.materials)
        materials = tuple(self._materials.number(one) for one in shown)
        # Materials belong to the node in FBX and to the mesh in glTF: a mesh that two nodes show
        # with different materials becomes two.
        key = mesh.typed_id, materials
        if key not in self._numbers:
            self._numbers[key] = self._convert(mesh, materials)
        bound = self._bound[mesh.typed_id]
        number = self._numbers[key]
        return number, bound[0] if bound and number is not None else None

    def _convert(self, mesh: Any, materials: tuple[int, ...]) -> int | None:
        """Store a mesh; one without triangles is none."""
        if mesh.typed_id not in self._geometries:
            self._geometries[mesh.typed_id] = decode_geometry(mesh, self._name)
            self._bound[mesh.typed_id] = self._skins.of(mesh)
        geometry, bound = self._geometries[mesh.typed_id], self._bound[mesh.typed_id]
        weights = None if bound is None else bound[1]
        slots = np.append(np.array(materials, np.int64), NO_MATERIAL)
        # A slot that has no material is that of the last entry: none.
        slot = np.where(geometry.material < len(materials), geometry.material, len(materials))
        of_triangle = slots[slot]
        primitives = store_primitives(self._glb, geometry, of_triangle, weights)
        if not primitives:
            return None
        self.meshes.append(spec.Mesh(name=mesh.name, primitives=primitives))
        return len(self.meshes) - 1


def decode_geometry(mesh: Any, name: str) -> Geometry:
    """Read the triangles of a mesh with all attributes that glTF has a place for."""
    sizes = table(mesh.faces, np.int64)[:, 1]
    attributes = {"POSITION": _attribute(mesh.vertex_position)}
    if mesh.vertex_normal.exists:
        attributes["NORMAL"] = _attribute(mesh.vertex_normal)
    for number, one in enumerate(items(mesh.uv_sets)):
        values, rows = _attribute(one.vertex_uv)
        attributes[f"TEXCOORD_{number}"] = values * FLIP + ONE, rows
    if mesh.vertex_color.exists:
        attributes["COLOR_0"] = _attribute(mesh.vertex_color)
    corners, face = cut_polygons(sizes, attributes, {"file": name, "mesh": mesh.name})
    slots = numbers(mesh.face_material)
    # Without the list no triangle has a material; the largest number is above every slot.
    material = slots[face] if len(slots) else np.full(len(face), np.iinfo(np.int64).max)
    return Geometry(corners, material, attributes)


def _attribute(found: Any) -> tuple[npt.NDArray[np.float32], Integers]:
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused later
        return table(found.values).astype("<f4"), numbers(found.indices)
