"""The shapes that USD describes by numbers (cube, sphere, cylinder, cone, capsule, plane).

Round shapes have a fixed number of sides, whatever their size.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pxr import UsdGeom

SIDES, RINGS = 32, 16
Doubles = npt.NDArray[np.float64]
Profile = list[tuple[float, float]]  # radius and height, from the bottom to the top
# Which axis of a shape is its length; the others follow in turn, so that its sides stay outside.
TURNS = {"X": (2, 0, 1), "Y": (1, 2, 0), "Z": (0, 1, 2)}


@dataclass(frozen=True, eq=False)
class Shape:
    """Points and faces; normals and coordinates by corner."""

    points: npt.NDArray[np.float64]
    sizes: npt.NDArray[np.int64]
    corners: npt.NDArray[np.int64]
    normals: npt.NDArray[np.float32]
    uv: npt.NDArray[np.float32]


def build_shape(prim: Any, time: Any) -> Shape | None:
    """Return the shape of a prim, None where it is no such shape."""
    for schema, build in BUILDERS:
        if prim.IsA(schema):
            shape = build(schema(prim), time)
            if hasattr(schema, "GetAxisAttr"):
                axis = str(schema(prim).GetAxisAttr().Get(time))
                return _turned(shape, TURNS.get(axis, TURNS["Z"]))
            return shape
    return None


def is_shape(prim: Any) -> bool:
    """Tell whether a prim is a shape that can be built."""
    return any(prim.IsA(schema) for schema, _ in BUILDERS)


def _turned(shape: Shape, axes: tuple[int, int, int]) -> Shape:
    order = list(axes)
    normals = np.ascontiguousarray(shape.normals[:, order])
    return Shape(shape.points[:, order], shape.sizes, shape.corners, normals, shape.uv)


def _cube(cube: Any, time: Any) -> Shape:
    half = float(cube.GetSizeAttr().Get(time)) / 2
    square = np.array([[-1, -1, 1], [1, -1, 1], [1, 1, 1], [-1, 1, 1]], np.float64)
    faces = []
    for axis in range(3):
        for sign in (1.0, -1.0):
            # The axes in turn keep a face's corners counter-clockwise; the back turns about x.
            side = square if sign > 0 else square * [1, -1, -1]
            faces.append(np.roll(side, axis, axis=1))
    corners = np.concatenate(faces)
    normals = np.repeat([face.mean(axis=0) for face in faces], 4, axis=0)
    uv = np.tile([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], (6, 1))
    return _shape(corners * half, np.full(6, 4), normals, uv)


def _plane(plane: Any, time: Any) -> Shape:
    x, y = (float(one.Get(time)) / 2 for one in (plane.GetWidthAttr(), plane.GetLengthAttr()))
    corners = np.array([[-x, -y, 0], [x, -y, 0], [x, y, 0], [-x, y, 0]])
    uv = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    return _shape(corners, np.full(1, 4), np.tile([0.0, 0.0, 1.0], (4, 1)), uv)


def _sphere(sphere: Any, time: Any) -> Shape:
    radius = float(sphere.GetRadiusAttr().Get(time))
    angles = np.linspace(-np.pi / 2, np.pi / 2, RINGS + 1)
    outline = [(_cosine(a), _sine(a)) for a in angles.tolist()]
    outline[0], outline[-1] = (0.0, -1.0), (0.0, 1.0)
    profile = [(radius * r, radius * h) for r, h in outline]
    return _joined([_lathe(profile, outline)])


def _capsule(capsule: Any, time: Any) -> Shape:
    radius, height = (
        float(one.Get(time)) for one in (capsule.GetRadiusAttr(), capsule.GetHeightAttr())
    )
    angles = np.linspace(0, np.pi / 2, RINGS // 2 + 1)
    cap = [(_cosine(a), _sine(a)) for a in angles.tolist()]
    cap[-1] = (0.0, 1.0)
    outline = [(r, -h) for r, h in reversed(cap)] + cap
    middle = [-height / 2] * len(cap) + [height / 2] * len(cap)
    profile = [(radius * r, radius * h + z) for (r, h), z in zip(outline, middle, strict=True)]
    return _joined([_lathe(profile, outline)])


def _cylinder(cylinder: Any, time: Any) -> Shape:
    radius, height = (
        float(one.Get(time)) for one in (cylinder.GetRadiusAttr(), cylinder.GetHeightAttr())
    )
    low, high = -height / 2, height / 2
    side = _lathe([(radius, low), (radius, high)], [(1.0, 0.0), (1.0, 0.0)])
    return _joined([side, _disc(radius, low, -1.0), _disc(radius, high, 1.0)])


def _cone(cone: Any, time: Any) -> Shape:
    radius, height = (float(one.Get(time)) for one in (cone.GetRadiusAttr(), cone.GetHeightAttr()))
    low, high = -height / 2, height / 2
    slope = float(np.hypot(radius, height)) or 1.0
    normal = height / slope, radius / slope
    side = _lathe([(radius, low), (0.0, high)], [normal, normal])
    return _joined([side, _disc(radius, low, -1.0)])


def _disc(radius: float, height: float, side: float) -> tuple[Doubles, Doubles, Doubles]:
    """Return the triangles of a disc that looks up (1) or down (-1): corners, normals, uv."""
    profile = [(radius, height), (0.0, height)] if side > 0 else [(0.0, height), (radius, height)]
    return _lathe(profile, [(0.0, side), (0.0, side)])


def _lathe(profile: Profile, outline: Profile) -> tuple[Doubles, Doubles, Doubles]:
    """Turn a profile about z; `outline` has its normals. Return triangles (n, 3, width)."""
    turn = [2 * math.pi * (side % SIDES) / SIDES for side in range(SIDES + 1)]
    cos, sin = [_cosine(one) for one in turn], [_sine(one) for one in turn]
    height = np.linspace(0, 1, len(profile))
    corners, normals, uv = [], [], []
    for ring in range(len(profile) - 1):
        for side in range(SIDES):
            quad = [(ring, side), (ring, side + 1), (ring + 1, side + 1), (ring + 1, side)]
            # At a pole two corners of a quad are one, and only a triangle is left.
            for triangle in ((quad[0], quad[1], quad[2]), (quad[0], quad[2], quad[3])):
                places = [_around(profile[row], cos[step], sin[step]) for row, step in triangle]
                if len(set(places)) == 3:
                    corners.append(places)
                    normals.append(
                        [_around(outline[row], cos[step], sin[step]) for row, step in triangle]
                    )
                    uv.append([(step / SIDES, height[row]) for row, step in triangle])
    return (
        np.array(corners).reshape(-1, 3, 3),
        np.array(normals).reshape(-1, 3, 3),
        np.array(uv).reshape(-1, 3, 2),
    )


def _sine(angle: float) -> float:
    # Rounded, because libraries differ in the last bit between machines.
    return round(math.sin(angle), 12)


def _cosine(angle: float) -> float:
    return round(math.cos(angle), 12)


def _around(place: tuple[float, float], cos: float, sin: float) -> tuple[float, float, float]:
    # Adding 0 makes a negative zero positive, so that points at a pole are one.
    return float(place[0] * cos) + 0.0, float(place[0] * sin) + 0.0, place[1]


def _joined(parts: list[tuple[Doubles, Doubles, Doubles]]) -> Shape:
    corners, normals, uv = (np.concatenate(column) for column in zip(*parts, strict=True))
    sizes = np.full(len(corners), 3)
    return _shape(corners.reshape(-1, 3), sizes, normals.reshape(-1, 3), uv.reshape(-1, 2))


def _shape(corners: Doubles, sizes: Any, normals: Doubles, uv: Doubles) -> Shape:
    """Return a shape whose corners share points where they are equal."""
    points, rows = np.unique(corners, axis=0, return_inverse=True)
    numbers = rows.reshape(-1).astype(np.int64)
    return Shape(points, sizes.astype(np.int64), numbers, normals.astype("<f4"), uv.astype("<f4"))


BUILDERS: tuple[tuple[Any, Callable[[Any, Any], Shape]], ...] = (
    (UsdGeom.Cube, _cube),
    (UsdGeom.Sphere, _sphere),
    (UsdGeom.Cylinder, _cylinder),
    (UsdGeom.Cone, _cone),
    (UsdGeom.Capsule, _capsule),
    (UsdGeom.Plane, _plane),
)
