"""The meshes of a USD stage: polygons to triangles, a primitive for each material.

A subdivision surface is shown by its cage. v is counted from the top, as in glTF.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from pxr import UsdGeom

from encoders.kit.error import EncodeError
from encoders.kit.source.gltf.document import spec
from encoders.kit.source.gltf.document.builder import GlbBuilder
from encoders.kit.source.gltf.geometry.matrix import cofactor, determinant, transform
from encoders.kit.source.shared.polygon_mesh import (
    Attributes,
    Floats,
    Geometry,
    Integers,
    Weights,
    cut_meshes,
    store_primitives,
)
from encoders.kit.source.usd.frame import Doubles, Frame
from encoders.kit.source.usd.material import NO_MATERIAL, Materials
from encoders.kit.source.usd.primvar import Table, Topology, attribute_of, read_table
from encoders.kit.source.usd.shape import Shape, build_shape
from encoders.kit.source.usd.stage import Opened, read_value

# What glTF's v, from the top, is of USD's: 1 - v.
FLIP, ONE = np.array([1, -1], np.float32), np.array([0, 1], np.float32)
# A stage can have thousands of small meshes; so many corners are cut at once.
BATCH_CORNERS = 1 << 18
NOTHING = np.zeros(0, np.int64)
UV_TYPES = ("texCoord2f[]", "texCoord2d[]", "texCoord2h[]")
UV_NAMES = ("st", "st0", "uv", "UVMap", "map1")


@dataclass(frozen=True, eq=False)
class Shown:
    """A gprim with the names of its own properties and of the primvars above it.

    Asking for a value that nobody wrote costs as much as for one that is there.
    """

    prim: Any
    own: frozenset[str]
    inherited: frozenset[str]
    has_children: bool
    is_mesh: bool

    def has(self, name: str) -> bool:
        """Tell whether a primvar can have a value."""
        return name in self.own or name in self.inherited


@dataclass(frozen=True, eq=False)
class Surface:
    """What a gprim shows: points, faces and what is known of its sides."""

    points: npt.NDArray[Any]
    topology: Topology
    is_left_handed: bool = False
    holes: Integers = field(default_factory=lambda: NOTHING)
    shape: Shape | None = None


@dataclass(frozen=True, eq=False)
class Pending:
    """A mesh that waits to be cut into triangles, with its number and what errors say of it."""

    number: int
    surface: Surface
    attributes: Attributes
    materials: Integers
    weights: Weights | None
    facts: dict[str, object]


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
        self._pending: list[Pending] = []
        self._pending_corners = 0

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
        prim = shown.prim
        shape = None if shown.is_mesh else build_shape(prim, self._opened.time)
        surface = self._surface(shown, shape)
        if surface is None:
            return None
        materials = self._face_materials(surface, material, subsets)
        primitives: tuple[spec.Primitive, ...] = ()
        if self._with_data:
            is_empty = not self._triangle_counts(surface).any()
        else:
            primitives = self._store_outline(shown, surface, materials, bound)
            is_empty = not primitives
        if is_empty:
            return None
        number = len(self.meshes)
        self.meshes.append(spec.Mesh(name=prim.GetName(), primitives=primitives))
        if self._with_data:
            self._add_pending(shown, surface, materials, bound)
        return number

    def _triangle_counts(self, surface: Surface) -> Integers:
        """Return how many triangles each face gives."""
        return np.where(self._is_shown(surface), surface.topology.sizes - 2, 0).clip(0)

    def _surface(self, shown: Shown, shape: Shape | None) -> Surface | None:
        if shape is not None:
            topology = Topology(shape.sizes, shape.corners, len(shape.points))
            return Surface(shape.points, topology, shape=shape)
        prim = shown.prim
        points, sizes, corners = (
            self._value(prim, name) for name in ("points", "faceVertexCounts", "faceVertexIndices")
        )
        if not points or not sizes or not corners:
            return None
        # A mesh without the word is a subdivision surface.
        has_scheme = "subdivisionScheme" in shown.own
        if not has_scheme or self._value(prim, "subdivisionScheme") != UsdGeom.Tokens.none:
            self.losses["subdivision"] += 1
        topology = Topology(np.array(sizes, np.int64), np.array(corners, np.int64), len(points))
        self._check(prim, topology)
        is_left = (
            "orientation" in shown.own
            and self._value(prim, "orientation") == UsdGeom.Tokens.leftHanded
        )
        holes = self._value(prim, "holeIndices") if "holeIndices" in shown.own else None
        return Surface(
            np.array(points), topology, is_left, np.array(holes, np.int64) if holes else NOTHING
        )

    def _check(self, prim: Any, topology: Topology) -> None:
        """Refuse faces that refer to no point, or that do not add up."""
        sizes, points = topology.sizes, topology.points
        facts, count = self._facts(prim), topology.count
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
        for number, subset in subsets:
            indices = read_value(self._opened, subset.GetIndicesAttr())
            faces = np.array(indices or (), np.int64)
            found[faces[(faces >= 0) & (faces < len(found))]] = number
        return found

    def _is_shown(self, surface: Surface) -> npt.NDArray[np.bool_]:
        shown = np.ones(len(surface.topology.sizes), np.bool_)
        shown[surface.holes[(surface.holes >= 0) & (surface.holes < len(shown))]] = False
        return shown

    def _store_outline(
        self,
        shown: Shown,
        surface: Surface,
        materials: Integers,
        bound: tuple[Doubles | None, Weights | None],
    ) -> tuple[spec.Primitive, ...]:
        """Store what a survey looks at: bounds, and how many triangles each material has."""
        points = self._points(surface, bound[0])
        if not np.isfinite(points).all():
            raise EncodeError("a position is not finite", self._facts(shown.prim))
        position = self._glb.accessor(points, with_bounds=True)
        triangles = self._triangle_counts(surface)
        primitives = []
        for number in np.unique(materials).tolist():
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

    def _facts(self, prim: Any) -> dict[str, object]:
        return {"file": self._opened.name, "mesh": prim.GetPath()}

    def _add_pending(
        self,
        shown: Shown,
        surface: Surface,
        materials: Integers,
        bound: tuple[Doubles | None, Weights | None],
    ) -> None:
        """Read the attributes of the last mesh; it is cut into triangles with others."""
        bind, weights = bound
        topology = surface.topology
        attributes: Attributes = {
            "POSITION": (self._points(surface, bind), topology.points),
            **self._normals(shown, surface, bind),
            **self._coordinates(shown, surface),
        }
        if set(np.unique(materials).tolist()) & self._materials.shows_colors:
            attributes |= self._colors(shown, topology)
        facts = self._facts(shown.prim)
        one = Pending(len(self.meshes) - 1, surface, attributes, materials, weights, facts)
        self._pending.append(one)
        self._pending_corners += len(topology.points)
        if self._pending_corners > BATCH_CORNERS:
            self.finish()

    def finish(self) -> None:
        """Cut and store the meshes that are pending."""
        polygons = [
            (one.surface.topology.sizes, one.attributes, one.facts) for one in self._pending
        ]
        for one, (corners, face) in zip(self._pending, cut_meshes(polygons), strict=True):
            primitives = self._store(one, corners, face)
            mesh = self.meshes[one.number]
            self.meshes[one.number] = msgspec.structs.replace(mesh, primitives=primitives)
        self._pending, self._pending_corners = [], 0

    def _store(self, one: Pending, corners: Integers, face: Integers) -> tuple[spec.Primitive, ...]:
        surface = one.surface
        if len(surface.holes):
            is_shown = self._is_shown(surface)[face]
            corners, face = corners[is_shown], face[is_shown]
        if surface.is_left_handed:
            corners = corners[:, ::-1]
        geometry = Geometry(corners, face, one.attributes)
        return store_primitives(self._glb, geometry, one.materials[face], one.weights)

    def _points(self, surface: Surface, bind: Doubles | None) -> npt.NDArray[np.float32]:
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused later
            points = self._frame.points(surface.points)
            if bind is not None:
                points = transform(bind, points) + bind[:3, 3]
            return points.astype("<f4")

    def _normals(self, shown: Shown, surface: Surface, bind: Doubles | None) -> Attributes:
        shape, topology = surface.shape, surface.topology
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
        fitted = self._fitted(shown, "normals", "NORMAL", table, topology)
        return {key: (self._unit(values, bind), rows) for key, (values, rows) in fitted.items()}

    def _unit(self, values: Floats, bind: Doubles | None) -> Floats:
        """Turn normals and give them the length of one that glTF wants; zero stays zero."""
        turned = self._frame.directions(values.astype(np.float64))
        if bind is not None:
            side = 1.0 if determinant(bind) >= 0 else -1.0
            turned = transform(cofactor(bind) * side, turned)
        square = turned * turned
        length = np.sqrt(square[:, 0] + square[:, 1] + square[:, 2])[:, None]
        return (turned / np.where(length == 0, 1, length)).astype("<f4")

    def _coordinates(self, shown: Shown, surface: Surface) -> Attributes:
        shape, topology = surface.shape, surface.topology
        if shape is not None:
            tables: list[Table | None] = [Table(shape.uv, None, "faceVarying")]
        else:
            names = self._materials.uv_names
            if not any(shown.has(f"primvars:{name}") for name in names):
                names = self._own_coordinates(shown)
            tables = [self._primvar(shown, name, 2) for name in names]
        while tables and tables[-1] is None:
            tables.pop()
        found: Attributes = {}
        for number, table in enumerate(tables):
            # A set that this mesh lacks keeps its number, because materials count on it.
            known = table or Table(np.zeros((1, 2), "<f4"), None, "constant")
            fitted = self._fitted(shown, "coordinates", f"TEXCOORD_{number}", known, topology)
            if not fitted:
                break
            found |= {key: (value * FLIP + ONE, rows) for key, (value, rows) in fitted.items()}
        return found

    def _own_coordinates(self, shown: Shown) -> list[str]:
        """Return the name of a mesh's coordinates, where no material tells which are used."""
        for name in UV_NAMES:
            if shown.has(f"primvars:{name}"):
                return [name]
        api = UsdGeom.PrimvarsAPI(shown.prim)
        typed = [one for one in api.GetPrimvarsWithValues() if str(one.GetTypeName()) in UV_TYPES]
        return [one.GetPrimvarName() for one in typed[:1]]

    def _colors(self, shown: Shown, topology: Topology) -> Attributes:
        """Return vertex colours from the display colour and opacity."""
        color, opacity = (
            None if table is None else attribute_of(table, topology)
            for table in (
                self._primvar(shown, "displayColor", 3),
                self._primvar(shown, "displayOpacity", 1),
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
        return self._fitted(shown, "display colours", "COLOR_0", table, topology)

    def _primvar(self, shown: Shown, name: str, width: int) -> Table | None:
        if not shown.has(f"primvars:{name}"):
            return None
        api = UsdGeom.PrimvarsAPI(shown.prim)
        found = api.GetPrimvar(name)
        if not found or not found.HasAuthoredValue():
            # Constant primvars are inherited.
            found = api.FindPrimvarWithInheritance(name)
            if not found or not found.HasAuthoredValue():
                return None
        time = self._opened.time
        indices = found.GetIndices(time) if found.IsIndexed() else None
        return read_table(
            read_value(self._opened, found.GetAttr()), indices, found.GetInterpolation(), width
        )

    def _fitted(
        self, shown: Shown, what: str, key: str, table: Table, topology: Topology
    ) -> Attributes:
        found = attribute_of(table, topology)
        if found is None:
            self.losses[f"{what} of {shown.prim.GetPath()}"] += 1
            return {}
        return {key: found}
