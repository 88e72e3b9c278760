"""The meshes of a USD stage: polygons to triangles, a primitive for each material.

A subdivision surface is shown by its cage. v is counted from the top, as in glTF.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pxr import UsdGeom

from encoders.kit.error import EncodeError
from encoders.kit.source.gltf.document import spec
from encoders.kit.source.gltf.document.builder import GlbBuilder
from encoders.kit.source.gltf.geometry.matrix import cofactor, determinant, transform
from encoders.kit.source.polygon_mesh import (
    Attributes,
    Geometry,
    Integers,
    Weights,
    cut_polygons,
    store_primitives,
)
from encoders.kit.source.usd.frame import Doubles, Frame
from encoders.kit.source.usd.material import NO_MATERIAL, Materials
from encoders.kit.source.usd.primvar import Table, Topology, attribute_of, read_table
from encoders.kit.source.usd.shape import Shape, build_shape
from encoders.kit.source.usd.stage import Opened

# What glTF's v, from the top, is of USD's: 1 - v.
FLIP, ONE = np.array([1, -1], np.float32), np.array([0, 1], np.float32)
UV_TYPES = ("texCoord2f[]", "texCoord2d[]", "texCoord2h[]")
UV_NAMES = ("st", "st0", "uv", "UVMap", "map1")


@dataclass(frozen=True, eq=False)
class Surface:
    """What a gprim shows: points, faces and what is known of its sides."""

    points: npt.NDArray[Any]
    topology: Topology
    is_left_handed: bool
    holes: Integers


class Meshes:
    """The meshes so far: one for each gprim and the materials that it is shown with."""

    def __init__(
        self, opened: Opened, glb: GlbBuilder, materials: Materials, frame: Frame, with_data: bool
    ) -> None:
        self.meshes: list[spec.Mesh] = []
        self.losses: Counter[str] = Counter()
        self._opened, self._glb, self._materials, self._frame = opened, glb, materials, frame
        self._with_data = with_data
        self._numbers: dict[Any, int | None] = {}

    def place(self, prim: Any, bind: Doubles | None, weights: Weights | None) -> int | None:
        """Return the number of the mesh of a gprim, None where it has no triangles.

        A skinned mesh is moved to where it was bound, by `bind`.
        """
        double_sided = bool(UsdGeom.Gprim(prim).GetDoubleSidedAttr().Get(self._opened.time))
        is_blended = self._is_translucent(prim)
        bound = self._materials.bound(prim)
        material = self._materials.number(bound, double_sided=double_sided, blended=is_blended)
        subsets = [
            (self._subset_material(one, double_sided, is_blended), one.GetIndicesAttr())
            for one in UsdGeom.Subset.GetGeomSubsets(
                UsdGeom.Imageable(prim), UsdGeom.Tokens.face, "materialBind"
            )
        ]
        origin = prim.GetPrimInPrototype() if prim.IsInstanceProxy() else prim
        key = origin.GetPath(), material, tuple(number for number, _ in subsets)
        # Weights are those of the path, so a skinned mesh in instances is one mesh as well.
        if key not in self._numbers:
            self._numbers[key] = self._convert(prim, material, subsets, (bind, weights))
        return self._numbers[key]

    def _subset_material(self, subset: Any, double_sided: bool, blended: bool) -> int:
        bound = self._materials.bound(subset.GetPrim())
        return self._materials.number(bound, double_sided=double_sided, blended=blended)

    def _is_translucent(self, prim: Any) -> bool:
        opacity = UsdGeom.Gprim(prim).GetDisplayOpacityAttr().Get(self._opened.time)
        return opacity is not None and len(opacity) > 0 and min(opacity) < 1

    def _convert(
        self,
        prim: Any,
        material: int,
        subsets: list[tuple[int, Any]],
        bound: tuple[Doubles | None, Weights | None],
    ) -> int | None:
        shape = build_shape(prim, self._opened.time)
        surface = self._surface(prim, shape)
        if surface is None:
            return None
        materials = self._face_materials(surface, material, subsets)
        store = self._store if self._with_data else self._store_outline
        primitives = store(prim, surface, shape, materials, bound)
        if not primitives:
            return None
        self.meshes.append(spec.Mesh(name=prim.GetName(), primitives=primitives))
        return len(self.meshes) - 1

    def _surface(self, prim: Any, shape: Shape | None) -> Surface | None:
        if shape is not None:
            topology = Topology(shape.sizes, shape.corners)
            return Surface(shape.points, topology, False, np.zeros(0, np.int64))
        mesh, time = UsdGeom.Mesh(prim), self._opened.time
        points, sizes = mesh.GetPointsAttr().Get(time), mesh.GetFaceVertexCountsAttr().Get(time)
        corners = mesh.GetFaceVertexIndicesAttr().Get(time)
        if not points or not sizes or not corners:
            return None
        scheme = mesh.GetSubdivisionSchemeAttr().Get(time)
        if scheme != UsdGeom.Tokens.none and scheme is not None:
            self.losses["subdivision"] += 1
        topology = Topology(np.array(sizes, np.int64), np.array(corners, np.int64))
        self._check(prim, topology, len(points))
        holes = mesh.GetHoleIndicesAttr().Get(time)
        is_left = mesh.GetOrientationAttr().Get(time) == UsdGeom.Tokens.leftHanded
        return Surface(np.array(points), topology, is_left, np.array(holes or (), np.int64))

    def _check(self, prim: Any, topology: Topology, count: int) -> None:
        """Refuse faces that refer to no point, or that do not add up."""
        sizes, points = topology.sizes, topology.points
        facts = {"file": self._opened.name, "mesh": prim.GetPath()}
        if sizes.min(initial=0) < 0 or int(sizes.sum()) != len(points):
            facts |= {"corners of faces": int(sizes.sum()), "indices": len(points)}
            raise EncodeError("the faces of a mesh do not fit its indices", facts)
        if int(points.min()) < 0 or int(points.max()) >= count:
            facts |= {"points": count, "index": int(points.max())}
            raise EncodeError("a face refers to a point that does not exist", facts)

    def _face_materials(
        self, surface: Surface, material: int, subsets: list[tuple[int, Any]]
    ) -> Integers:
        found = np.full(len(surface.topology.sizes), material)
        for number, indices in subsets:
            faces = np.array(indices.Get(self._opened.time) or (), np.int64)
            found[faces[(faces >= 0) & (faces < len(found))]] = number
        return found

    def _is_shown(self, surface: Surface) -> npt.NDArray[np.bool_]:
        shown = np.ones(len(surface.topology.sizes), np.bool_)
        shown[surface.holes[(surface.holes >= 0) & (surface.holes < len(shown))]] = False
        return shown

    def _store_outline(
        self,
        prim: Any,
        surface: Surface,
        shape: Shape | None,
        materials: Integers,
        bound: tuple[Doubles | None, Weights | None],
    ) -> tuple[spec.Primitive, ...]:
        """Store what a survey looks at: bounds, and how many triangles each material has."""
        points = self._points(surface, bound[0])
        if not np.isfinite(points).all():
            raise EncodeError("a position is not finite", self._facts(prim))
        position = self._glb.accessor(points, with_bounds=True)
        triangles = np.where(self._is_shown(surface), surface.topology.sizes - 2, 0).clip(0)
        primitives = []
        for number in np.unique(materials).tolist():
            count = int(triangles[materials == number].sum())
            if count:
                indices = self._glb.accessor(np.broadcast_to(np.uint32(0), 3 * count))
                shown = None if number == NO_MATERIAL else number
                primitives.append(
                    spec.Primitive(
                        attributes={"POSITION": position}, indices=indices, material=shown
                    )
                )
        return tuple(primitives)

    def _facts(self, prim: Any) -> dict[str, object]:
        return {"file": self._opened.name, "mesh": prim.GetPath()}

    def _store(
        self,
        prim: Any,
        surface: Surface,
        shape: Shape | None,
        materials: Integers,
        bound: tuple[Doubles | None, Weights | None],
    ) -> tuple[spec.Primitive, ...]:
        bind, weights = bound
        topology = surface.topology
        attributes: Attributes = {
            "POSITION": (self._points(surface, bind), topology.points),
            **self._normals(prim, topology, shape, bind),
            **self._coordinates(prim, topology, shape),
        }
        if set(materials.tolist()) & self._materials.shows_colors:
            attributes |= self._colors(prim, topology)
        corners, face = cut_polygons(topology.sizes, attributes, self._facts(prim))
        if len(surface.holes):
            shown = self._is_shown(surface)[face]
            corners, face = corners[shown], face[shown]
        if surface.is_left_handed:
            corners = corners[:, ::-1]
        geometry = Geometry(corners, face, attributes)
        return store_primitives(self._glb, geometry, materials[face], weights)

    def _points(self, surface: Surface, bind: Doubles | None) -> npt.NDArray[np.float32]:
        points = self._frame.points(surface.points)
        if bind is not None:
            points = transform(bind, points) + bind[:3, 3]
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused later
            return points.astype("<f4")

    def _normals(
        self, prim: Any, topology: Topology, shape: Shape | None, bind: Doubles | None
    ) -> Attributes:
        if shape is not None:
            table: Table | None = Table(shape.normals, None, "faceVarying")
        else:
            table = self._primvar(prim, "normals", 3)
            if table is None:
                mesh = UsdGeom.Mesh(prim)
                value = mesh.GetNormalsAttr().Get(self._opened.time)
                table = read_table(value, None, mesh.GetNormalsInterpolation(), 3)
        if table is None:
            return {}
        values = self._frame.directions(table.values.astype(np.float64))
        if bind is not None:
            side = 1.0 if determinant(bind) >= 0 else -1.0
            values = transform(cofactor(bind) * side, values)
        length = np.sqrt((values * values).sum(axis=1, keepdims=True))
        # glTF wants normals of length one; one of length zero stays what it is.
        unit = (values / np.where(length == 0, 1, length)).astype("<f4")
        return self._fitted(
            prim, "normals", "NORMAL", Table(unit, table.indices, table.interpolation), topology
        )

    def _coordinates(self, prim: Any, topology: Topology, shape: Shape | None) -> Attributes:
        if shape is not None:
            tables: list[Table | None] = [Table(shape.uv, None, "faceVarying")]
        else:
            names = self._materials.uv_names or self._own_coordinates(prim)
            tables = [self._primvar(prim, name, 2) for name in names]
        while tables and tables[-1] is None:
            tables.pop()
        found: Attributes = {}
        for number, table in enumerate(tables):
            # A set that this mesh lacks keeps its number, because materials count on it.
            known = table or Table(np.zeros((1, 2), "<f4"), None, "constant")
            flipped = Table(known.values * FLIP + ONE, known.indices, known.interpolation)
            fitted = self._fitted(
                prim, "coordinates", f"TEXCOORD_{number}", flipped, topology
            )
            if not fitted:
                break
            found |= fitted
        return found

    def _own_coordinates(self, prim: Any) -> list[str]:
        """Return the name of a mesh's coordinates, where no material tells which are used."""
        api = UsdGeom.PrimvarsAPI(prim)
        for name in UV_NAMES:
            if api.HasPrimvar(name):
                return [name]
        typed = [one for one in api.GetPrimvarsWithValues() if str(one.GetTypeName()) in UV_TYPES]
        return [one.GetPrimvarName() for one in typed[:1]]

    def _colors(self, prim: Any, topology: Topology) -> Attributes:
        """Return vertex colours from the display colour and opacity."""
        color, opacity = (
            None if table is None else attribute_of(table, topology)
            for table in (
                self._primvar(prim, "displayColor", 3),
                self._primvar(prim, "displayOpacity", 1),
            )
        )
        if color is None and opacity is None:
            return {}
        white = np.ones((1, 3), "<f4"), topology.zeros
        values, rows = color or white
        if opacity is None:
            return {"COLOR_0": (values.clip(0, 1), rows)}
        shares, share_rows = opacity
        # Both have rows of their own, so each corner gets the two side by side.
        joined = np.hstack([values[rows], shares[share_rows]]).clip(0, 1).astype("<f4")
        table = Table(joined, None, "faceVarying")
        return self._fitted(prim, "display colours", "COLOR_0", table, topology)

    def _primvar(self, prim: Any, name: str, width: int) -> Table | None:
        api = UsdGeom.PrimvarsAPI(prim)
        found = api.GetPrimvar(name)
        if not found or not found.HasAuthoredValue():
            # Constant primvars are inherited.
            found = api.FindPrimvarWithInheritance(name)
            if not found or not found.HasAuthoredValue():
                return None
        time = self._opened.time
        indices = found.GetIndices(time) if found.IsIndexed() else None
        return read_table(found.Get(time), indices, found.GetInterpolation(), width)

    def _fitted(
        self, prim: Any, what: str, key: str, table: Table, topology: Topology
    ) -> Attributes:
        found = attribute_of(table, topology)
        if found is None:
            self.losses[f"{what} of {prim.GetPath()}"] += 1
            return {}
        return {key: found}
