"""The surfaces of gprims: points and faces as written, or refined where they are asked to be.

A subdivision surface is shown by its cage unless the manifest says `subdivide`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from pxr import UsdGeom

from encoders.kit.error import EncodeError
from encoders.kit.source.shared.polygon_mesh import Integers
from encoders.kit.source.usd.primvar import Topology
from encoders.kit.source.usd.shape import Shape, build_shape
from encoders.kit.source.usd.stage import Opened, read_value
from encoders.kit.source.usd.subdivision import Refinement, count_triangles, refine_cage

NOTHING = np.zeros(0, np.int64)
SUBDIVISION = "subdivision"


@dataclass(frozen=True)
class Levels:
    """How often subdivision surfaces are refined, and how many triangles that may give in all."""

    count: int = 0
    triangle_limit: int = 1 << 30


@dataclass(frozen=True, eq=False, slots=True)
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
    refinement: Refinement | None = None

    @property
    def cage(self) -> Topology:
        """The faces as they were written, which primvars and subsets belong to."""
        return self.topology if self.refinement is None else self.refinement.cage

    def by_face(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return values of the written faces for the faces that are shown."""
        return values if self.refinement is None else values[self.refinement.parent]

    @cached_property
    def is_shown(self) -> npt.NDArray[np.bool_] | None:
        """Whether each face is shown; None where all are."""
        known = len(self.cage.sizes)
        holes = self.holes[(self.holes >= 0) & (self.holes < known)]
        if not len(holes):
            return None
        shown = np.ones(known, np.bool_)
        shown[holes] = False
        found: npt.NDArray[np.bool_] = self.by_face(shown)
        return found

    def triangle_counts(self) -> Integers:
        """Return how many triangles each face gives."""
        counts = np.maximum(self.topology.sizes - 2, 0)
        return counts if self.is_shown is None else np.where(self.is_shown, counts, 0)


class Surfaces:
    """Reads the surfaces of a stage, and counts what could not be shown as it was meant."""

    def __init__(self, opened: Opened, levels: Levels) -> None:
        self.losses: Counter[str] = Counter()
        self.refined = 0
        self._opened, self._levels, self._triangles = opened, levels, 0

    def facts(self, prim: Any) -> dict[str, object]:
        """Return what errors say of a gprim."""
        return {"file": self._opened.name, "mesh": prim.GetPath()}

    def read(self, shown: Shown) -> Surface | None:
        """Return the surface of a gprim, None where it has no faces."""
        if not shown.is_mesh:
            shape = build_shape(shown.prim, self._opened.time)
            if shape is None:
                return None
            topology = Topology(shape.sizes, shape.corners, len(shape.points))
            return Surface(shape.points, topology, shape=shape)
        points, sizes, corners = (
            self._value(shown.prim, name)
            for name in ("points", "faceVertexCounts", "faceVertexIndices")
        )
        if not points or not sizes or not corners:
            return None
        topology = Topology(np.array(sizes, np.int64), np.array(corners, np.int64), len(points))
        self._check(shown.prim, topology)
        is_left = self._own(shown, "orientation") == UsdGeom.Tokens.leftHanded
        holes = self._own(shown, "holeIndices")
        found = np.array(points), is_left, np.array(holes, np.int64) if holes else NOTHING
        # A mesh without the word is a subdivision surface.
        if self._own(shown, "subdivisionScheme") != UsdGeom.Tokens.none:
            if self._levels.count:
                return self._refine(shown, topology, *found)
            self.losses[SUBDIVISION] += 1
        return Surface(found[0], topology, *found[1:])

    def _value(self, prim: Any, name: str) -> Any:
        return read_value(self._opened, prim.GetAttribute(name))

    def _own(self, shown: Shown, name: str) -> Any:
        return self._value(shown.prim, name) if name in shown.own else None

    def _check(self, prim: Any, topology: Topology) -> None:
        """Refuse faces that refer to no point, or that do not add up."""
        sizes, points = topology.sizes, topology.points
        count, total = topology.count, int(sizes.sum())
        if total != len(points) or int(sizes.min()) < 0:
            facts = {**self.facts(prim), "corners of faces": total, "indices": len(points)}
            raise EncodeError("the faces of a mesh do not fit its indices", facts)
        # A negative index is a large one without its sign.
        if int(points.view(np.uint64).max()) >= count:
            facts = {**self.facts(prim), "points": count, "index": int(points.max())}
            raise EncodeError("a face refers to a point that does not exist", facts)

    def _refine(
        self,
        shown: Shown,
        topology: Topology,
        points: npt.NDArray[Any],
        is_left: bool,
        holes: Integers,
    ) -> Surface:
        levels = self._levels
        scheme = self._own(shown, "subdivisionScheme")
        self._triangles += count_triangles(topology, str(scheme), levels.count)
        self.check_triangles(self._triangles, self.facts(shown.prim))
        refinement = refine_cage(
            lambda name: self._own(shown, name), topology, levels.count, self.facts(shown.prim)
        )
        self.refined += 1
        if not refinement.creases_fit:
            self.losses[f"creases of {shown.prim.GetPath()}"] += 1
        refined = refinement.refine_points(points)
        return Surface(refined, refinement.topology, is_left, holes, refinement=refinement)

    def check_triangles(self, count: int, facts: dict[str, object]) -> None:
        """Refuse more triangles than refining may give."""
        levels = self._levels
        if levels.count and count > levels.triangle_limit:
            facts = {**facts, "subdivide": levels.count, "triangles": f"{count} or more"}
            facts |= {"allowed": levels.triangle_limit}
            hint = "Take a smaller `subdivide`, or set a larger `triangle_limit` for this source."
            raise EncodeError("the subdivided model has too many triangles", facts, hint)
