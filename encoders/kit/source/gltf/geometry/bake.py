"""Placed primitives in world space: transforms are baked into the arrays.

All is computed in float64 and rounded once: positions by the matrix, normals by its inverse
transpose, tangents by its 3 x 3 part. A mirroring matrix swaps two corners of each triangle, so
that counter-clockwise stays outside. A skinned primitive takes its joints' rest pose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

IDENTITY = np.eye(4)
# So many vertices are moved at once: their matrices still fit the processor's cache.
BATCH_VERTICES = 1 << 13
FLOAT32_RANGE = "positions within 3.40282e+38, which float32 holds"


def bake(gltf: Gltf, placed: PlacedPrimitive) -> Primitive:
    """Return the primitive in world space."""
    matrices = _checked_matrices(gltf, placed)
    if matrices is None:
        return placed.primitive
    moved = _move(placed.primitive, matrices)
    _check_finite(gltf, placed, moved, matrices)
    return moved


def bake_all(gltf: Gltf, placed: Sequence[PlacedPrimitive]) -> list[Primitive]:
    """Return primitives in world space; small ones are moved together, which saves calls."""
    found = [one.primitive for one in placed]
    batch: list[tuple[int, Doubles]] = []
    count = 0
    for number, one in enumerate(placed):
        matrices = _checked_matrices(gltf, one)
        if matrices is None:
            continue
        if matrices.ndim > 2:  # a skin has a matrix for each vertex
            found[number] = _move(one.primitive, matrices)
            _check_finite(gltf, one, found[number], matrices)
            continue
        batch.append((number, matrices))
        count += len(one.primitive.position)
        if count >= BATCH_VERTICES:
            _bake_batch(gltf, placed, batch, found)
            batch, count = [], 0
    _bake_batch(gltf, placed, batch, found)
    return found


def _bake_batch(
    gltf: Gltf,
    placed: Sequence[PlacedPrimitive],
    batch: Sequence[tuple[int, Doubles]],
    found: list[Primitive],
) -> None:
    """Move primitives that have one matrix each; they replace those in `found`."""
    if not batch:
        return
    primitives = [placed[number].primitive for number, _ in batch]
    moved = _move_each(primitives, np.stack([matrix for _, matrix in batch]))
    for (number, matrix), one in zip(batch, moved, strict=True):
        _check_finite(gltf, placed[number], one, matrix)
        found[number] = one


def _checked_matrices(gltf: Gltf, placed: PlacedPrimitive) -> Doubles | None:
    """Return the matrix of a primitive, or one for each vertex; None where nothing moves."""
    primitive, where = placed.primitive, node_place(gltf.document, placed.node)
    matrices = placed.matrix
    # Many nodes may show one mesh, and each of them copies it.
    gltf.charge(primitive.position.nbytes + primitive.triangles.nbytes, where)
    if placed.skin is not None and primitive.joints is not None:
        matrices = _rest_matrices(gltf, placed, where)
    elif np.array_equal(matrices, IDENTITY):
        return None
    gltf.charge(primitive.position.nbytes * 4, where)
    return matrices


def _check_finite(gltf: Gltf, placed: PlacedPrimitive, moved: Primitive, matrices: Doubles) -> None:
    if np.isfinite(moved.position).all():
        return
    where = node_place(gltf.document, placed.node)
    found = f"numbers up to {np.abs(matrices).max():.6g} in its matrix"
    hint = "Correct the transform of the node or of those above it."
    raise fault("placed position is not finite", gltf.name, where, found, FLOAT32_RANGE, hint)


def _move_each(primitives: Sequence[Primitive], matrices: Doubles) -> list[Primitive]:
    """Apply a matrix to each primitive: the operations of `_move`, on all vertices at once."""
    with np.errstate(all="ignore"):  # the caller refuses what overflows
        sign = np.where(determinant(matrices) < 0, -1.0, 1.0)
        turns = cofactor(matrices) * sign[..., None, None]
    counts = [len(one.position) for one in primitives]
    positions = _moved_points(
        np.concatenate([one.position for one in primitives]), matrices, counts
    )
    normals = _each(primitives, lambda one: one.normal, lambda v, n: _direction(v, turns[n]))
    tangents = _each(
        primitives, lambda one: one.tangent, lambda v, n: _tangent(v, matrices[n], sign[n])
    )
    return [
        replace(
            one,
            triangles=one.triangles[:, [0, 2, 1]] if side < 0 else one.triangles,
            position=position,
            normal=normal,
            tangent=tangent,
        )
        for one, side, position, normal, tangent in zip(
            primitives,
            sign,
            np.split(positions, np.cumsum(counts)[:-1]),
            normals,
            tangents,
            strict=True,
        )
    ]


def _moved_points(points: Floats, matrices: Doubles, counts: Sequence[int]) -> Floats:
    with np.errstate(all="ignore"):
        rows = np.repeat(matrices, counts, axis=0)
        return np.ascontiguousarray((transform(rows, points) + rows[:, :3, 3]).astype(np.float32))


def _each(
    primitives: Sequence[Primitive],
    pick: Callable[[Primitive], Floats | None],
    move: Callable[[Floats, npt.NDArray[np.intp]], Floats | None],
) -> list[Floats | None]:
    """Move one attribute of all primitives that have it; `move` gets the matrix of each row."""
    given = [
        (number, values)
        for number, one in enumerate(primitives)
        if (values := pick(one)) is not None
    ]
    found: list[Floats | None] = [None] * len(primitives)
    if not given:
        return found
    counts = [len(values) for _, values in given]
    rows = np.repeat([number for number, _ in given], counts)
    with np.errstate(all="ignore"):
        moved = move(np.concatenate([values for _, values in given]), rows)
    assert moved is not None
    for (number, _), own in zip(given, np.split(moved, np.cumsum(counts)[:-1]), strict=True):
        found[number] = own
    return found


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
