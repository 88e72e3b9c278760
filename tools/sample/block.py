"""Boxes with bevels, and irregular balls of rock or leaves.

A bevel has the normals of the faces beside it at its corners, so that edges are shaded smoothly
while the faces stay flat.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from sample.noise import scatter
from sample.shape import Model, Point, Vector, face_normal, uv_rect

# For each face: the axis that it looks along, its sign, and the axes that u and v follow.
FACES = {
    "right": (0, 1, (2, -1), (1, 1)),
    "left": (0, -1, (2, 1), (1, 1)),
    "top": (1, 1, (0, 1), (2, -1)),
    "bottom": (1, -1, (0, 1), (2, 1)),
    "front": (2, 1, (0, 1), (1, 1)),
    "back": (2, -1, (0, -1), (1, 1)),
}
PHI = (1 + math.sqrt(5)) / 2


def box(
    model: Model,
    low: Point,
    high: Point,
    skins: Mapping[str, tuple[str, str]] | tuple[str, str],
    bevel: float = 0,
) -> None:
    """Add a box; `skins` names a surface for each face or one for all, others stay open."""
    half = (np.array(high, float) - np.array(low, float)) / 2
    middle = np.array(low, float) + half
    chosen = dict.fromkeys(FACES, skins) if isinstance(skins, tuple) else dict(skins)
    for name, skin in chosen.items():
        corners = [_corner(name, signs, half, bevel) for signs in _ROUND]
        _face(model, name, corners, (middle, half), skin)
    if not bevel:
        return
    for first, second in itertools.combinations(FACES, 2):
        if first in chosen and second in chosen and FACES[first][0] != FACES[second][0]:
            _edge(model, (first, second), (middle, half, bevel), chosen[first])
    for signs in itertools.product((-1, 1), repeat=3):
        names = [_named(axis, sign) for axis, sign in enumerate(signs)]
        if all(name in chosen for name in names):
            _tip(model, names, (middle, half, bevel), chosen)


_ROUND = ((-1, -1), (1, -1), (1, 1), (-1, 1))


def _named(axis: int, sign: float) -> str:
    return next(name for name, face in FACES.items() if face[:2] == (axis, sign))


def _corner(name: str, signs: tuple[int, int], half: Vector, bevel: float) -> Vector:
    axis, sign, (u_axis, u_sign), (v_axis, v_sign) = FACES[name]
    point = np.zeros(3)
    point[axis] = sign * half[axis]
    point[u_axis] = signs[0] * u_sign * (half[u_axis] - bevel)
    point[v_axis] = signs[1] * v_sign * (half[v_axis] - bevel)
    return point


def _corner_at(name: str, signs: Vector, half: Vector, bevel: float) -> Vector:
    """Return the corner of a face that lies in this direction from the middle."""
    _, _, (u_axis, u_sign), (v_axis, v_sign) = FACES[name]
    return _corner(name, (int(signs[u_axis] * u_sign), int(signs[v_axis] * v_sign)), half, bevel)


def _normal(name: str) -> Vector:
    axis, sign, *_ = FACES[name]
    normal = np.zeros(3)
    normal[axis] = sign
    return normal


def _project(name: str, point: Vector, half: Vector, skin: tuple[str, str]) -> tuple[float, float]:
    """Return the texel of a face that lies behind a point."""
    u0, v0, u1, v1 = uv_rect(*skin)
    _, _, (u_axis, u_sign), (v_axis, v_sign) = FACES[name]
    u = 0.5 + point[u_axis] * u_sign / (2 * half[u_axis])
    v = 0.5 - point[v_axis] * v_sign / (2 * half[v_axis])
    return (u0 + (u1 - u0) * u, v0 + (v1 - v0) * v)


def _face(
    model: Model,
    name: str,
    corners: Sequence[Vector],
    size: tuple[Vector, Vector],
    skin: tuple[str, str],
) -> None:
    middle, half = size
    uvs = [_project(name, point, half, skin) for point in corners]
    model.add([middle + point for point in corners], uvs, skin[0])


def _add_turned(
    model: Model,
    points: list[Vector],
    middle: Vector,
    uvs: list[tuple[float, float]],
    more: tuple[str, list[Vector]],
) -> None:
    """Add a polygon so that it looks away from the middle."""
    material, normals = more
    if float((face_normal(np.array(points)) * np.sum(normals, axis=0)).sum()) < 0:
        points, uvs, normals = points[::-1], uvs[::-1], normals[::-1]
    model.add([middle + point for point in points], uvs, material, normals)


def _edge(
    model: Model, names: tuple[str, str], size: tuple[Vector, Vector, float], skin: tuple[str, str]
) -> None:
    middle, half, bevel = size
    signs = _normal(names[0]) + _normal(names[1])
    free = int(np.flatnonzero(signs == 0)[0])
    points, normals = [], []
    for name, order in zip(names, ((-1, 1), (1, -1)), strict=True):
        for sign in order:
            signs[free] = sign
            points.append(_corner_at(name, signs, half, bevel))
            normals.append(_normal(name))
    uvs = [_project(names[0], point, half, skin) for point in points]
    _add_turned(model, points, middle, uvs, (skin[0], normals))


def _tip(
    model: Model,
    names: Sequence[str],
    size: tuple[Vector, Vector, float],
    skins: Mapping[str, tuple[str, str]],
) -> None:
    middle, half, bevel = size
    signs = np.sum([_normal(name) for name in names], axis=0)
    points = [_corner_at(name, signs, half, bevel) for name in names]
    uvs = [_project(names[1], point, half, skins[names[1]]) for point in points]
    _add_turned(model, points, middle, uvs, (skins[names[1]][0], [_normal(one) for one in names]))


def icosahedron() -> tuple[Vector, list[tuple[int, int, int]]]:
    """Return twelve unit points and twenty triangles."""
    points = []
    for a, b in itertools.product((-1, 1), (-PHI, PHI)):
        points += [(a, b, 0), (0, a, b), (b, 0, a)]
    found = np.array(points, float) / math.sqrt(1 + PHI * PHI)
    faces = []
    for three in itertools.combinations(range(12), 3):
        sides = [found[i] - found[j] for i, j in itertools.combinations(three, 2)]
        # Neighbours are 1.05 apart, the next nearest points 1.70: 1.2 is between their squares.
        if all(float((side * side).sum()) < 1.2 for side in sides):
            up = face_normal(found[list(three)])
            is_outward = float((up * found[three[0]]).sum()) > 0
            faces.append(three if is_outward else three[::-1])
    return found, faces


def lump(
    model: Model, at: Point, radii: Point, skin: tuple[str, str], seed: int, wild: float = 0.18
) -> None:
    """Add an irregular ball; its surface is brightest at the top."""
    points, faces = icosahedron()
    chance = scatter(np.arange(12), np.full(12, seed), seed)
    points = points * (1 - wild + 2 * wild * chance)[:, None]
    soft = points / np.sqrt((points * points).sum(axis=1))[:, None]
    placed = points * np.array(radii, float) + np.array(at, float)
    u0, v0, u1, v1 = uv_rect(*skin)
    for number, face in enumerate(faces):
        shift = float(scatter(number, seed, seed + 1)) * 0.45
        flat = face_normal(placed[list(face)])
        around = [math.atan2(points[i][0] + 0.01, points[i][2]) / (2 * math.pi) for i in face]
        # Relative to the first corner and less than half a turn: no face spans the seam.
        around = [one - around[0] - round(one - around[0]) for one in around]
        spread = min(around)
        uvs = [
            (
                u0 + (u1 - u0) * min(shift + (one - spread) * 2.4, 1),
                v0 + (v1 - v0) * (0.5 - points[i][1] * 0.41),
            )
            for i, one in zip(face, around, strict=True)
        ]
        normals = [flat * 0.45 + soft[i] * 0.55 for i in face]
        model.add([placed[i] for i in face], uvs, skin[0], normals)
