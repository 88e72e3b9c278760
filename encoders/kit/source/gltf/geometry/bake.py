"""Placed primitives in world space: transforms are baked into the arrays.

All is computed in float64 and rounded once: positions by the matrix, normals by its inverse
transpose, tangents by its 3 x 3 part. A mirroring matrix swaps two corners of each triangle, so
that counter-clockwise stays outside. A skinned primitive takes its joints' rest pose.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.document.fault import fault
from encoders.kit.source.gltf.document.spec import node_place
from encoders.kit.source.gltf.geometry.matrix import (
    Doubles,
    cofactor,
    determinant,
    multiply,
    transform,
)
from encoders.kit.source.gltf.geometry.primitive import Floats, Primitive
from encoders.kit.source.gltf.geometry.scene import PlacedPrimitive
from encoders.kit.source.gltf.geometry.skin import decode_skin
from encoders.kit.warning import grouped

FLOAT32_RANGE = "positions within 3.40282e+38, which float32 holds"


def bake(gltf: Gltf, placed: PlacedPrimitive) -> Primitive:
    """Return the primitive in world space."""
    primitive, where = placed.primitive, node_place(gltf.document, placed.node)
    matrices = placed.matrix
    # Many nodes may show one mesh, and each of them copies it.
    gltf.charge(primitive.position.nbytes + primitive.triangles.nbytes, where)
    if placed.skin is not None and primitive.joints is not None:
        matrices = _rest_matrices(gltf, placed, where)
    elif np.array_equal(matrices, np.eye(4)):
        return primitive
    gltf.charge(primitive.position.nbytes * 4, where)
    moved = _move(primitive, matrices)
    if not np.isfinite(moved.position).all():
        found = f"numbers up to {np.abs(matrices).max():.6g} in its matrix"
        hint = "Correct the transform of the node or of those above it."
        raise fault("placed position is not finite", gltf.name, where, found, FLOAT32_RANGE, hint)
    return moved


def _move(primitive: Primitive, matrices: Doubles) -> Primitive:
    """Apply one matrix, or one for each vertex."""
    with np.errstate(all="ignore"):  # the caller refuses what overflows
        position = transform(matrices, primitive.position) + matrices[..., :3, 3]
        sign = np.where(determinant(matrices) < 0, -1.0, 1.0)
        normal = _direction(primitive.normal, cofactor(matrices) * sign[..., None, None])
        tangent = _tangent(primitive.tangent, matrices, sign)
        position32 = np.ascontiguousarray(position.astype(np.float32))
    triangles = primitive.triangles
    if (sign < 0).all():
        triangles = triangles[:, [0, 2, 1]]
    return replace(
        primitive, triangles=triangles, position=position32, normal=normal, tangent=tangent
    )


def _tangent(tangent: Floats | None, matrices: Doubles, sign: Doubles) -> Floats | None:
    """Move tangents; a mirror also turns the bitangent's sign over."""
    if tangent is None:
        return None
    moved = _direction(tangent[:, :3], matrices)
    assert moved is not None
    return np.column_stack((moved, tangent[:, 3] * sign.astype(np.float32)))


def _direction(vectors: Floats | None, matrices: npt.NDArray[np.float64]) -> Floats | None:
    """Turn vectors and give them unit length; one of no length stays zero."""
    if vectors is None:
        return None
    moved = transform(matrices, vectors)
    x, y, z = moved.T
    length = np.sqrt(x * x + y * y + z * z)
    # A length of nothing, or one past all numbers, has no direction to give.
    is_real = (length > 0) & (length < np.inf)
    shrink = np.where(is_real, 1.0, 0.0) / np.where(is_real, length, 1.0)
    unit = np.where(is_real, moved.T, 0.0) * shrink
    return np.ascontiguousarray(unit.T.astype(np.float32))


def _rest_matrices(gltf: Gltf, placed: PlacedPrimitive, where: str) -> Doubles:
    """Blend each vertex's joints, as they stand without animation, into its matrix."""
    joints, weights = placed.primitive.joints, placed.primitive.weights
    assert joints is not None
    assert weights is not None
    assert placed.skin is not None
    gltf.warn(grouped("ignored", f"{where} is skinned: its rest pose was taken"))
    gltf.charge(256 * len(joints), where)
    bones = _bones(gltf, placed.skin)
    return _blend(bones, np.minimum(joints, len(bones) - 1), weights.astype(np.float64))


def _bones(gltf: Gltf, index: int) -> Doubles:
    """Return what each joint of a skin does to bound vertices at rest."""
    if index not in gltf.bones:
        skin = decode_skin(gltf, index)
        rest = np.array([gltf.world[joint] for joint in skin.joints]).reshape(-1, 4, 4)
        with np.errstate(all="ignore"):
            gltf.bones[index] = multiply(rest, skin.inverse_bind.astype(np.float64))
    return gltf.bones[index]


def _blend(bones: Doubles, joints: npt.NDArray[np.uint16], weights: Doubles) -> Doubles:
    """Sum the weighted bones of each vertex; weights are brought to a sum of one."""
    total = weights[:, 0]
    for column in range(1, weights.shape[1]):
        total = total + weights[:, column]
    blended = np.zeros((len(joints), 4, 4))
    with np.errstate(all="ignore"):
        for column in range(joints.shape[1]):
            share = weights[:, column] / np.where(total == 0, 1.0, total)
            blended += share[:, None, None] * bones[joints[:, column]]
    blended[total == 0] = np.eye(4)
    return blended
