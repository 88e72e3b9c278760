"""Affine 4 x 4 matrices in bulk, in float64: products, normal matrices, points, and TRS parts.

Sums are written out in a fixed order instead of calling a matrix product, whose order of
additions depends on the machine.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

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
    matrices = np.zeros((*translation.shape[:-1], 4, 4))
    matrices[..., :3, :3] = to_matrix(rotation) * scale[..., None, :]
    matrices[..., :3, 3] = translation
    matrices[..., 3, 3] = 1.0
    return matrices


def decompose(matrices: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """Return translation, rotation and scale; a mirrored matrix gets a negative x scale.

    Where two axes have no length there is no rotation to find, and the identity is taken. Shear
    is lost: compare with `compose` where it matters.
    """
    linear = matrices[..., :3, :3]
    scale = np.sqrt(linear[..., 0, :] ** 2 + linear[..., 1, :] ** 2 + linear[..., 2, :] ** 2)
    scale[..., 0] *= np.where(determinant(linear) < 0, -1.0, 1.0)
    return matrices[..., :3, 3], from_matrix(_axes(linear, scale)), scale


def _axes(linear: Doubles, scale: Doubles) -> Doubles:
    """Return the directions of the columns; one of no length stands across the other two."""
    is_lost = scale == 0
    axes = linear / np.where(is_lost, 1.0, scale)[..., None, :]
    for k in range(3):
        across = _cross(axes[..., (k + 1) % 3], axes[..., (k + 2) % 3])
        axes[..., k] = np.where(is_lost[..., k, None], across, axes[..., k])
    return np.where((is_lost.sum(axis=-1) > 1)[..., None, None], np.eye(3), axes)
