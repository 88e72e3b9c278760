"""Apply the options of `import_option` to a mesh that was just decoded."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import cast

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.mesh.import_option import KEEP
from encoders.kit.mesh.mesh import Attribute, Mesh
from encoders.kit.mesh.normal import Shading, shade_mesh
from encoders.kit.mesh.simplify.reduce import reduce_mesh
from encoders.kit.option import Value
from encoders.kit.plan import Params
from encoders.kit.warning import grouped

Warn = Callable[[str], object]


def import_mesh(mesh: Mesh, params: Params, name: str, warn: Warn) -> Mesh:
    """Turn, move, simplify and shade a mesh as the params ask; missing params ask for nothing.

    Only a mesh that cannot be simplified as far as asked gives a warning.
    """
    pivot = params.get("pivot", KEEP)
    is_turned = params.get("up") == "z"
    if mesh.joints is not None and (is_turned or pivot != KEEP):
        hint = "Take `up` and `pivot` out, or turn and move the whole model where it was made."
        raise EncodeError("a skinned mesh cannot be turned or moved", {"file": name}, hint)
    mesh = turn_z_up(mesh) if is_turned else mesh
    mesh = mesh if pivot == KEEP else _moved(mesh, pivot)
    wanted = wanted_triangles(mesh.triangle_count, params, name)
    mesh = mesh if wanted is None else _reduced(mesh, wanted, warn)
    shading = cast(Shading, params.get("shading", "auto"))
    # With "auto" the target decides whether missing normals are needed at all.
    return mesh if shading == "auto" else shade_mesh(mesh, shading)


def _reduced(mesh: Mesh, wanted: int, warn: Warn) -> Mesh:
    reduced = reduce_mesh(mesh, wanted)
    if reduced.triangle_count > wanted:
        least = f"the shape permits no less than {reduced.triangle_count}"
        warn(grouped("simplify", f"{wanted} triangles were asked for; {least}"))
    return reduced


def wanted_triangles(count: int, params: Params, name: str) -> int | None:
    """Return how many triangles a mesh of `count` is to keep; None where nothing is asked for."""
    most, share = params.get("triangles"), params.get("simplify")
    if most is not None and share is not None:
        facts = {"file": name, "triangles": most, "simplify": share}
        raise EncodeError("both `triangles` and `simplify` are given", facts, "Keep one of them.")
    if isinstance(share, int | float):
        return max(math.floor(count * share), 1)
    assert most is None or isinstance(most, int)
    return most


def turn_z_up(mesh: Mesh) -> Mesh:
    """Turn a mesh whose z points up so that y does: y becomes -z."""

    def turned(attribute: Attribute[np.float32] | None) -> Attribute[np.float32] | None:
        if attribute is None:
            return None
        values = attribute.values.copy()
        values[:, 1], values[:, 2] = attribute.values[:, 2], -attribute.values[:, 1]
        return Attribute(values, attribute.corner)

    position = turned(mesh.position)
    assert position is not None
    return replace(
        mesh, position=position, normal=turned(mesh.normal), tangent=turned(mesh.tangent)
    )


def flip_v(mesh: Mesh) -> Mesh:
    """Turn v over in all sets of texture coordinates."""
    sets = []
    for uv in mesh.uv:
        values = uv.values.copy()
        values[:, 1] = np.float32(1) - values[:, 1]
        sets.append(Attribute(values, uv.corner))
    tangent = mesh.tangent
    if tangent is not None:
        # The bitangent follows v.
        turned = tangent.values * np.array([1, 1, 1, -1], np.float32)
        tangent = Attribute(turned, tangent.corner)
    return replace(mesh, uv=tuple(sets), tangent=tangent)


def _moved(mesh: Mesh, pivot: Value) -> Mesh:
    """Move the mesh so that its pivot is the origin; rounded once."""
    used = mesh.position.values[mesh.position.corner].astype(np.float64).reshape(-1, 3)
    if not len(used):
        return mesh
    values = mesh.position.values.astype(np.float64) - find_pivot(used, pivot)
    return replace(mesh, position=Attribute(values.astype(np.float32), mesh.position.corner))


def find_pivot(points: npt.NDArray[np.float64], pivot: Value) -> npt.NDArray[np.float64]:
    """Return the point that becomes the origin of points (n, 3)."""
    if isinstance(pivot, list):
        return np.array(pivot, np.float64)
    low, high = points.min(axis=0), points.max(axis=0)
    middle: npt.NDArray[np.float64] = (low + high) / 2
    if pivot == "bottom":
        middle[1] = low[1]
    return middle
