"""Affine 4 x 4 matrices in bulk, in float64: products, normal matrices, points, and TRS parts.

Sums are written out in a fixed order instead of calling a matrix product, whose order of
additions depends on the machine.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from encoders.kit.native.kernel import choose
from encoders.kit.source.gltf.geometry.rotation import from_matrix, to_matrix

Doubles = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float32]


def multiply(a: Doubles, b: Doubles) -> Doubles:
    """Return a·b for matrices of any size (..., n, n)."""
    total = a[..., :, 0:1] * b[..., 0:1, :]
    for k in range(1, a.shape[-1]):
        total += a[..., :, k : k + 1] * b[..., k : k + 1, :]
    return total


def transform(matrices: Doubles, vectors: Floats) -> Doubles:
    """Apply the 3 x 3 part of one matrix, or of one for each vector, to vectors (n, 3)."""
    x, y, z = (vectors[:, k].astype(np.float64) for k in range(3))
    moved = np.empty((3, len(vectors)))
    for k in range(3):
        a, b, c = (matrices[..., k, column] for column in range(3))
        moved[k] = x * a + y * b + z * c
    return moved.T


def cofactor(matrices: Doubles) -> Doubles:
    """Return the cofactors of 3 x 3 parts: the inverse transpose times the determinant."""
    a, b, c = (matrices[..., :3, k] for k in range(3))
    return np.stack((_cross(b, c), _cross(c, a), _cross(a, b)), axis=-1)


def _cross(a: Doubles, b: Doubles) -> Doubles:
    x, y, z = (a[..., k] for k in range(3))
    u, v, w = (b[..., k] for k in range(3))
    return np.stack((y * w - z * v, z * u - x * w, x * v - y * u), axis=-1)


def determinant(matrices: Doubles) -> Doubles:
    """Return the determinants of the 3 x 3 parts of matrices (..., n, n)."""
    m = np.moveaxis(matrices, (-2, -1), (0, 1))
    value: Doubles = (
        m[0, 0] * (m[1, 1] * m[2, 2] - m[1, 2] * m[2, 1])
        - m[0, 1] * (m[1, 0] * m[2, 2] - m[1, 2] * m[2, 0])
        + m[0, 2] * (m[1, 0] * m[2, 1] - m[1, 1] * m[2, 0])
    )
    return value


def invert(matrices: Doubles) -> Doubles:
    """Return the inverses of affine matrices (..., 4, 4); not finite where there is none."""
    with np.errstate(all="ignore"):
        linear = np.swapaxes(cofactor(matrices), -1, -2) / determinant(matrices)[..., None, None]
        inverse = np.zeros_like(matrices)
        inverse[..., :3, :3] = linear
        x, y, z = (matrices[..., None, k, 3] for k in range(3))
        inverse[..., :3, 3] = -(linear[..., 0] * x + linear[..., 1] * y + linear[..., 2] * z)
        inverse[..., 3, 3] = 1.0
    return inverse


def compose(translation: Doubles, rotation: Doubles, scale: Doubles) -> Doubles:
    """Return the matrices T·R·S; rotations have unit length."""
    around = translation.shape[:-1]
    rows = [_rows(part, around) for part in (translation, rotation, scale)]
    matrices = np.empty((len(rows[0]), 16))
    choose("compose_matrices", compose_matrices)(rows[0], rows[1], rows[2], matrices)
    return matrices.reshape(*around, 4, 4)


def _rows(values: Doubles, around: tuple[int, ...]) -> Doubles:
    """Return vectors as rows, the way kernels take them; one may stand for all of an axis."""
    width = values.shape[-1]
    whole = np.broadcast_to(values, (*around, width))
    return np.ascontiguousarray(whole, np.float64).reshape(-1, width)


def compose_matrices(
    translation: Doubles, rotation: Doubles, scale: Doubles, matrices: Doubles
) -> None:
    """Fill rows of 16 numbers: the reference of the native kernel."""
    matrices[:] = 0.0
    rows = matrices.reshape(-1, 4, 4)
    rows[:, :3, :3] = to_matrix(rotation) * scale[:, None, :]
    rows[:, :3, 3] = translation
    rows[:, 3, 3] = 1.0


def decompose(matrices: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """Return translation, rotation and scale; a mirrored matrix gets a negative x scale.

    Where two axes have no length there is no rotation to find, and the identity is taken. Shear
    is lost: compare with `compose` where it matters.
    """
    around = matrices.shape[:-2]
    flat = np.ascontiguousarray(matrices, np.float64).reshape(-1, 16)
    rotation, scale = np.empty((len(flat), 4)), np.empty((len(flat), 3))
    choose("decompose_matrices", decompose_matrices)(flat, rotation, scale)
    return matrices[..., :3, 3], rotation.reshape(*around, 4), scale.reshape(*around, 3)


def decompose_matrices(matrices: Doubles, rotation: Doubles, scale: Doubles) -> None:
    """Fill the rotations and scales of rows of 16 numbers: the reference of the native kernel."""
    linear = matrices.reshape(-1, 4, 4)[:, :3, :3]
    scale[:] = np.sqrt(linear[:, 0] ** 2 + linear[:, 1] ** 2 + linear[:, 2] ** 2)
    scale[:, 0] *= np.where(determinant(linear) < 0, -1.0, 1.0)
    rotation[:] = from_matrix(_axes(linear, scale))


def chain(parents: Sequence[int], matrices: Doubles) -> Doubles:
    """Return matrices (frames, nodes, 4, 4) relative to the root, from those to their parents.

    A node's parent is the number of one before it, or -1.
    """
    flat = matrices.reshape(*matrices.shape[:2], 16).copy()
    choose("chain_matrices", chain_matrices)(np.array(parents, np.int32), flat)
    return flat.reshape(matrices.shape)


def chain_matrices(parents: npt.NDArray[np.int32], matrices: Doubles) -> None:
    """Multiply rows of 16 numbers in place: the reference of the native kernel."""
    # Frames last: numpy is quick along the last axis, and four columns are too few for it.
    planes = np.ascontiguousarray(matrices.reshape(*matrices.shape[:2], 4, 4).transpose(1, 2, 3, 0))
    # A parent stands before its children and is relative to the root by then.
    for node, parent in enumerate(parents.tolist()):
        if parent >= 0:
            planes[node] = _multiply_planes(planes[parent], planes[node])
    matrices[:] = planes.transpose(3, 0, 1, 2).reshape(matrices.shape)


def _multiply_planes(a: Doubles, b: Doubles) -> Doubles:
    """Return a·b for matrices (4, 4, frames), with the sums of `multiply`."""
    total = a[:, 0:1] * b[0:1]
    for k in range(1, 4):
        total += a[:, k : k + 1] * b[k : k + 1]
    return total


def _axes(linear: Doubles, scale: Doubles) -> Doubles:
    """Return the directions of the columns; one of no length stands across the other two."""
    is_lost = scale == 0
    axes = linear / np.where(is_lost, 1.0, scale)[..., None, :]
    for k in range(3):
        across = _cross(axes[..., (k + 1) % 3], axes[..., (k + 2) % 3])
        axes[..., k] = np.where(is_lost[..., k, None], across, axes[..., k])
    return np.where((is_lost.sum(axis=-1) > 1)[..., None, None], np.eye(3), axes)
