"""The meshes of a USD stage: polygons to triangles, a primitive for each material.

v is counted from the top, as in glTF.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
from pxr import UsdGeom

from encoders.kit.error import EncodeError
from encoders.kit.source.gltf.document import spec
from encoders.kit.source.gltf.document.builder import GlbBuilder, OutlineBuilder
from encoders.kit.source.shared.polygon_mesh import Integers, Weights, distinct
from encoders.kit.source.usd.batch import Batch, Pending, Values, placed_points
from encoders.kit.source.usd.frame import Doubles, Frame
from encoders.kit.source.usd.material import NO_MATERIAL, Materials
from encoders.kit.source.usd.primvar import Table, attribute_of, merge_corners, read_table, rows_of
from encoders.kit.source.usd.stage import Opened, read_value
from encoders.kit.source.usd.surface import Shown, Surface, Surfaces

UV_TYPES = ("texCoord2f[]", "texCoord2d[]", "texCoord2h[]")
UV_NAMES = ("st", "st0", "uv", "UVMap", "map1")


class Meshes:
    """The meshes so far: one for each gprim and the materials that it is shown with."""

    def __init__(
        self,
        surfaces: Surfaces,
        glb: GlbBuilder,
        materials: Materials,
        frame: Frame,
        opened: Opened,
    ) -> None:
        self.meshes: list[spec.Mesh] = []
        self.triangles: list[int] = []
        self.losses: Counter[str] = Counter()
        self._surfaces = surfaces
        self._opened, self._glb, self._materials, self._frame = opened, glb, materials, frame
        self._with_data = not isinstance(glb, OutlineBuilder)
        self._numbers: dict[Any, int | None] = {}
        self._batch = Batch(glb, frame)

    def place(self, shown: Shown, bind: Doubles | None, weights: Weights | None) -> int | None:
        """Return the number of the mesh of a gprim, None where it has no triangles.

        A skinned mesh is moved to where it was bound, by `bind`.
        """
        prim = shown.prim
        sides = {
            "double_sided": "doubleSided" in shown.own and bool(self._value(prim, "doubleSided")),
            "blended": self._is_translucent(shown),
        }
        material = self._materials.number(self._materials.bound(prim), **sides)
        subsets = [
            (self._materials.number(self._materials.bound(one.GetPrim()), **sides), one)
            for one in self._subsets(shown)
        ]
        origin = prim.GetPrimInPrototype() if prim.IsInstanceProxy() else prim
        key = origin.GetPath(), material, tuple(number for number, _ in subsets)
        # Weights are those of the path, so a skinned mesh in instances is one mesh as well.
        if key not in self._numbers:
            self._numbers[key] = self._convert(shown, material, subsets, (bind, weights))
        return self._numbers[key]

    def _subsets(self, shown: Shown) -> list[Any]:
        if not shown.has_children:
            return []
        found: list[Any] = UsdGeom.Subset.GetGeomSubsets(
            UsdGeom.Imageable(shown.prim), UsdGeom.Tokens.face, "materialBind"
        )
        return found

    def _value(self, prim: Any, name: str) -> Any:
        return read_value(self._opened, prim.GetAttribute(name))

    def _is_translucent(self, shown: Shown) -> bool:
        if not shown.has("primvars:displayOpacity"):
            return False
        table = self._primvar(shown, "displayOpacity", 1)
        return table is not None and bool((table.values < 1).any())

    def _convert(
        self,
        shown: Shown,
        material: int,
        subsets: list[tuple[int, Any]],
        bound: tuple[Doubles | None, Weights | None],
    ) -> int | None:
        surface = self._surfaces.read(shown)
        if surface is None:
            return None
        count = int(surface.triangle_counts().sum())
        materials = self._face_materials(surface, material, subsets)
        primitives: tuple[spec.Primitive, ...] = ()
        if not count:
            return None
        if not self._with_data:
            primitives = self._store_outline(shown, surface, materials, bound[0])
        number = len(self.meshes)
        self.meshes.append(spec.Mesh(name=shown.prim.GetName(), primitives=primitives))
        self.triangles.append(count)
        if self._with_data:
            self._add_pending(shown, surface, materials, bound)
        return number

    def _face_materials(
        self, surface: Surface, material: int, subsets: list[tuple[int, Any]]
    ) -> Integers:
        found = np.full(len(surface.cage.sizes), material)
        for number, subset in subsets:
            indices = read_value(self._opened, subset.GetIndicesAttr())
            faces = np.array(indices or (), np.int64)
            found[faces[(faces >= 0) & (faces < len(found))]] = number
        by_face: Integers = surface.by_face(found)
        return by_face

    def _store_outline(
        self, shown: Shown, surface: Surface, materials: Integers, bind: Doubles | None
    ) -> tuple[spec.Primitive, ...]:
        """Store what a survey looks at: bounds, and how many triangles each material has."""
        points = placed_points(self._frame, surface.points, bind)
        if not np.isfinite(points).all():
            raise EncodeError("a position is not finite", self._surfaces.facts(shown.prim))
        position = self._glb.accessor(points, with_bounds=True)
        triangles = surface.triangle_counts()
        primitives = []
        for number in distinct(materials):
            count = int(triangles[materials == number].sum())
            if count:
                indices = self._glb.accessor(np.broadcast_to(np.uint32(0), 3 * count))
                primitives.append(
                    spec.Primitive(
                        attributes={"POSITION": position},
                        indices=indices,
                        material=None if number == NO_MATERIAL else number,
                    )
                )
        return tuple(primitives)

    def _add_pending(
        self,
        shown: Shown,
        surface: Surface,
        materials: Integers,
        bound: tuple[Doubles | None, Weights | None],
    ) -> None:
        """Read the attributes of the last mesh; it is cut into triangles with others."""
        bind, weights = bound
        values: Values = {
            "POSITION": (surface.points, surface.topology.points),
            **self._normals(shown, surface),
            **self._coordinates(shown, surface),
        }
        if not self._materials.shows_colors.isdisjoint(distinct(materials)):
            values |= self._colors(shown, surface)
        if weights is not None and surface.refinement is not None:
            weights = surface.refinement.refine_weights(weights)
        facts = self._surfaces.facts(shown.prim)
        number = len(self.meshes) - 1
        self._batch.add(Pending(number, surface, values, materials, bind, weights, facts))
        if self._batch.is_full:
            self.finish()

    def finish(self) -> None:
        """Cut and store the meshes that are pending."""
        for number, primitives in self._batch.store():
            mesh = self.meshes[number]
            self.meshes[number] = msgspec.structs.replace(mesh, primitives=primitives)

    def _normals(self, shown: Shown, surface: Surface) -> Values:
        if surface.refinement is not None:
            points = surface.points.astype(np.float64)
            return {"NORMAL": surface.refinement.normals(points, surface.is_left_handed)}
        shape = surface.shape
        if shape is not None:
            table: Table | None = Table(shape.normals, None, "faceVarying")
        else:
            table = self._primvar(shown, "normals", 3)
            if table is None and "normals" in shown.own:
                value = self._value(shown.prim, "normals")
                kind = UsdGeom.Mesh(shown.prim).GetNormalsInterpolation()
                table = read_table(value, None, kind, 3)
        if table is None:
            return {}
        return self._fitted(shown, "normals", "NORMAL", table, surface)

    def _coordinates(self, shown: Shown, surface: Surface) -> Values:
        shape = surface.shape
        if shape is not None:
            tables: list[Table | None] = [Table(shape.uv, None, "faceVarying")]
        else:
            names = self._materials.uv_names
            if not any(shown.has(f"primvars:{name}") for name in names):
                names = self._own_coordinates(shown)
            tables = [self._primvar(shown, name, 2) for name in names]
        while tables and tables[-1] is None:
            tables.pop()
        found: Values = {}
        for number, table in enumerate(tables):
            # A set that this mesh lacks keeps its number, because materials count on it.
            known = table or Table(np.zeros((1, 2), "<f4"), None, "constant")
            fitted = self._fitted(shown, "coordinates", f"TEXCOORD_{number}", known, surface)
            if not fitted:
                break
            found |= fitted
        return found

    def _own_coordinates(self, shown: Shown) -> list[str]:
        """Return the name of a mesh's coordinates, where no material tells which are used."""
        for name in UV_NAMES:
            if shown.has(f"primvars:{name}"):
                return [name]
        api = UsdGeom.PrimvarsAPI(shown.prim)
        typed = [one for one in api.GetPrimvarsWithValues() if str(one.GetTypeName()) in UV_TYPES]
        return [one.GetPrimvarName() for one in typed[:1]]

    def _colors(self, shown: Shown, surface: Surface) -> Values:
        """Return vertex colours from the display colour and opacity."""
        color, opacity = (
            self._primvar(shown, "displayColor", 3),
            self._primvar(shown, "displayOpacity", 1),
        )
        values, shares = (
            None if table is None else attribute_of(table, surface.cage)
            for table in (color, opacity)
        )
        if shares is None:
            if color is None or values is None:
                return {}
            table = replace(color, values=color.values.clip(0, 1))
            return self._fitted(shown, "display colours", "COLOR_0", table, surface)
        rgb, rows = values or (np.ones((1, 3), "<f4"), surface.cage.zeros)
        # Both have rows of their own, so each corner gets the two side by side.
        parts = [rgb[rows_of(rows)], shares[0][rows_of(shares[1])]]
        joined = np.hstack(parts).clip(0, 1).astype("<f4")
        table = Table(joined, None, "faceVarying")
        return self._fitted(shown, "display colours", "COLOR_0", table, surface)

    def _primvar(self, shown: Shown, name: str, width: int) -> Table | None:
        if not shown.has(f"primvars:{name}"):
            return None
        time, key = self._opened.time, f"primvars:{name}"
        if key in shown.own:
            attribute = shown.prim.GetAttribute(key)
            value = read_value(self._opened, attribute)
            if value is not None:
                known = f"{key}:indices"
                indices = self._value(shown.prim, known) if known in shown.own else None
                kind = UsdGeom.Primvar(attribute).GetInterpolation()
                return read_table(value, indices, kind, width)
        # Constant primvars are inherited.
        found = UsdGeom.PrimvarsAPI(shown.prim).FindPrimvarWithInheritance(name)
        if not found or not found.HasAuthoredValue():
            return None
        indices = found.GetIndices(time) if found.IsIndexed() else None
        return read_table(
            read_value(self._opened, found.GetAttr()), indices, found.GetInterpolation(), width
        )

    def _fitted(self, shown: Shown, what: str, key: str, table: Table, surface: Surface) -> Values:
        found = attribute_of(table, surface.cage)
        if found is None:
            self.losses[f"{what} of {shown.prim.GetPath()}"] += 1
            return {}
        if surface.refinement is not None:
            values, rows = merge_corners([found], [surface.cage])[0]
            found = surface.refinement.refine(values, rows, table.interpolation)
        return {key: found}
