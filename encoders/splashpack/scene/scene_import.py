"""Apply the import options of a scene to the objects of a source: turn, move, simplify.

Vertices are in the local spaces of their objects, so a turn and a move have to change both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.mesh.import_mesh import find_pivot, flip_v, turn_z_up, wanted_triangles
from encoders.kit.mesh.import_option import KEEP
from encoders.kit.mesh.mesh import Attribute, Mesh, prune, select
from encoders.kit.mesh.simplify.reduce import reduce_mesh
from encoders.kit.plan import Params
from encoders.kit.warning import grouped
from encoders.splashpack.scene.scene_object import DecodedObjects, Doubles, SceneObject

# Turns z up to y up; `turn_z_up` does the same to vertices.
TURN = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])


def import_objects(decoded: DecodedObjects, params: Params, warnings: list[str]) -> DecodedObjects:
    """Return the objects as the options ask for them; missing params ask for nothing."""
    # The format has no skinning, so nothing keeps a skinned mesh where its joints are.
    mesh = replace(decoded.model.mesh, joints=None, weights=None)
    decoded = _with_mesh(decoded, flip_v(mesh) if params.get("flip_v") else mesh)
    if params.get("up") == "z":
        decoded = _turned(decoded)
    if params.get("pivot", KEEP) != KEEP:
        decoded = _moved(decoded, find_pivot(_world_points(decoded), params["pivot"]))
    source, count = decoded.model.source, decoded.model.mesh.triangle_count
    wanted = wanted_triangles(count, params, source)
    if wanted is None or wanted >= count:
        return decoded
    decoded = _with_mesh(decoded, _reduced(decoded, wanted))
    left = decoded.model.mesh.triangle_count
    if left > wanted:
        text = f"{wanted} triangles were asked for; the shape permits no less than {left}"
        warnings.append(grouped("simplify", f"{source}: {text}"))
    return decoded


def _with_mesh(decoded: DecodedObjects, mesh: Mesh) -> DecodedObjects:
    return replace(decoded, model=replace(decoded.model, mesh=mesh))


def _turned(decoded: DecodedObjects) -> DecodedObjects:
    objects = tuple(
        SceneObject(one.name, TURN @ one.position, TURN @ one.rotation @ TURN.T)
        for one in decoded.objects
    )
    return replace(_with_mesh(decoded, turn_z_up(decoded.model.mesh)), objects=objects)


def _object_of_triangle(decoded: DecodedObjects) -> npt.NDArray[np.int64]:
    return decoded.object_of_part[decoded.model.mesh.part]


def _world_points(decoded: DecodedObjects) -> Doubles:
    position = decoded.model.mesh.position
    points = position.values[position.corner].astype(np.float64)
    number = _object_of_triangle(decoded)
    for index, one in enumerate(decoded.objects):
        rows = number == index
        points[rows] = points[rows] @ one.rotation.T + one.position
    return points.reshape(-1, 3)


def _moved(decoded: DecodedObjects, pivot: Doubles) -> DecodedObjects:
    """Move objects by their positions; those at the origin, such as all of OBJ, by their vertices.

    A position that leads back to the origin would not help vertices that lie too far out.
    """
    is_at_origin = np.array(
        [not one.position.any() and np.array_equal(one.rotation, np.eye(3)) for one in
         decoded.objects]
    )  # fmt: skip
    objects = tuple(
        one if stays else replace(one, position=one.position - pivot)
        for one, stays in zip(decoded.objects, is_at_origin.tolist(), strict=True)
    )
    position = decoded.model.mesh.position
    values = (position.values.astype(np.float64) - pivot).astype(np.float32)
    corner = position.corner.copy()
    corner[is_at_origin[_object_of_triangle(decoded)]] += len(values)
    moved = prune(Attribute(np.concatenate([position.values, values]), corner))
    mesh = replace(decoded.model.mesh, position=moved)
    return replace(_with_mesh(decoded, mesh), objects=objects)


def _reduced(decoded: DecodedObjects, wanted: int) -> Mesh:
    """Simplify each object by itself: those of different spaces must not share vertices."""
    mesh, number = decoded.model.mesh, _object_of_triangle(decoded)
    parts = []
    for index in np.unique(number).tolist():
        part = select(mesh, number == index)
        share = part.triangle_count * wanted // mesh.triangle_count
        parts.append(reduce_mesh(part, max(share, 1)))
    return _joined(mesh, parts)


def _joined(mesh: Mesh, parts: Sequence[Mesh]) -> Mesh:
    """Join meshes that were selected from one."""
    columns = [list(part.attributes()) for part in parts]
    joined = iter([_joined_attribute(same) for same in zip(*columns, strict=True)])
    return replace(
        mesh,
        position=next(joined),
        part=np.concatenate([one.part for one in parts]),
        material=np.concatenate([one.material for one in parts]),
        smoothing=np.concatenate([one.smoothing for one in parts]),
        # In the order of `Mesh.attributes`.
        normal=next(joined) if mesh.normal else None,
        uv=tuple(next(joined) for _ in mesh.uv),
        color=next(joined) if mesh.color else None,
        tangent=next(joined) if mesh.tangent else None,
    )


def _joined_attribute(parts: Sequence[Attribute[Any]]) -> Attribute[Any]:
    starts = np.cumsum([0, *(len(one.values) for one in parts[:-1])])
    corners = [
        np.where(one.corner >= 0, one.corner + start, -1)
        for one, start in zip(parts, starts.tolist(), strict=True)
    ]
    values = np.concatenate([one.values for one in parts])
    return Attribute(values, np.concatenate(corners).astype(np.int32))
