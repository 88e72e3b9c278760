"""Add back sides to triangles, for renderers that draw fronts only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.mesh.import_option import SOURCE
from encoders.kit.mesh.mesh import Attribute, Corners, Mesh, select
from encoders.kit.option import Value

# The order of corners that reverses the winding; the first corner stays the first.
REVERSED = [0, 2, 1]
# A back side has the same tangent and bitangent as its front, but the opposite normal.
FLIPPED_TANGENT = np.array([1, 1, 1, -1], np.float32)


def has_back(mesh: Mesh, choice: Value) -> npt.NDArray[np.bool_]:
    """Tell for each triangle whether `double_sided = choice` gives it a back side."""
    if choice != SOURCE:
        return np.full(mesh.triangle_count, bool(choice))
    # The additional last entry is found by the index -1, which triangles without a material have.
    is_double = np.array([*(one.double_sided for one in mesh.materials), False])
    return is_double[mesh.material]


def add_backs(mesh: Mesh, choice: Value) -> Mesh:
    """Put a reversed triangle behind each one that has a back side.

    Missing normals must be computed before: smooth ones of fronts and backs would cancel out.
    """
    rows = np.flatnonzero(has_back(mesh, choice))
    if not len(rows):
        return mesh
    count = mesh.triangle_count
    # Stable, so that each back follows its front.
    order = np.argsort(np.concatenate([np.arange(count), rows]), kind="stable")
    source = np.concatenate([np.arange(count), rows])[order]
    is_back = order >= count
    doubled = select(mesh, source)

    def turned(attribute: Attribute[Any] | None) -> Any:
        return attribute and Attribute(attribute.values, _reversed(attribute.corner, is_back))

    return replace(
        doubled,
        position=turned(doubled.position),
        normal=_signed(turned(doubled.normal), is_back, np.float32(-1)),
        uv=tuple(turned(one) for one in doubled.uv),
        color=turned(doubled.color),
        tangent=_signed(turned(doubled.tangent), is_back, FLIPPED_TANGENT),
        joints=turned(doubled.joints),
        weights=turned(doubled.weights),
    )


def _reversed(corner: Corners, is_back: npt.NDArray[np.bool_]) -> Corners:
    turned = corner.copy()
    turned[is_back] = corner[is_back][:, REVERSED]
    return turned


def _signed(
    attribute: Attribute[np.float32] | None, is_back: npt.NDArray[np.bool_], sign: Any
) -> Attribute[np.float32] | None:
    """Multiply the values of backs; fronts keep theirs."""
    if attribute is None:
        return None
    # Adding zero turns -0 into 0.
    values = np.concatenate([attribute.values, attribute.values * sign + np.float32(0)])
    corner = attribute.corner.copy()
    moved = is_back[:, None] & (corner >= 0)
    corner[moved] += len(attribute.values)
    return Attribute(values, corner)
