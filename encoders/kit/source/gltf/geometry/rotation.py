"""Quaternions (x, y, z, w) in bulk: unit length, slerp, and to and from matrices.

Only exactly rounded operations (+ - * / and square root) are used, the sines too, because the
libraries' own differ in the last bit between machines, and clips must not.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]

# Above this cosine the arc is so short that a normalised lerp is as good.
LERP_COSINE = 0.9995
# The first term left out is below 2e-18 at a right angle.
_SINE_TERMS = range(21, 1, -2)
# The first term left out is below 1e-18 at a tangent of 0.2.
_ARCTANGENT_TERMS = range(23, 1, -2)


def normalise(rotations: Doubles) -> Doubles:
    """Scale to unit length; the caller has made sure that there is a length."""
    return rotations / np.sqrt(dot(rotations, rotations))[..., None]


def dot(a: Doubles, b: Doubles) -> Doubles:
    """Sum the products of the four components, in a fixed order."""
    products = a * b
    total: Doubles = products[..., 0] + products[..., 1] + products[..., 2] + products[..., 3]
    return total


def slerp(a: Doubles, b: Doubles, factor: Doubles) -> Doubles:
    """Turn from unit `a` to unit `b` along the shorter arc; the result has unit length."""
    cosine = dot(a, b)
    # q and -q are the same rotation; the nearer of the two gives the shorter arc.
    b = np.where(cosine[..., None] < 0, -b, b)
    cosine = np.minimum(np.abs(cosine), 1.0)
    is_close = cosine > LERP_COSINE
    # Where the lerp is taken the angle is not used; a cosine of 0 keeps its sine off 0.
    angle = _arc_cosine(np.where(is_close, 0.0, cosine))
    rest = np.where(is_close, 1.0 - factor, sine((1.0 - factor) * angle) / sine(angle))
    part = np.where(is_close, factor, sine(factor * angle) / sine(angle))
    return normalise(rest[..., None] * a + part[..., None] * b)


def sine(angle: Doubles) -> Doubles:
    """Return the sine of angles from 0 to a right angle, to the last bit or two."""
    square = angle * angle
    series = np.ones_like(angle)
    for term in _SINE_TERMS:
        series = 1.0 - square / (term * (term - 1)) * series
    return angle * series


def _arc_cosine(cosine: Doubles) -> Doubles:
    """Return the angle of cosines from 0 to 1, by the half-angle tangent."""
    tangent = np.sqrt((1.0 - cosine) / (1.0 + cosine))
    # Halving the angle twice more brings the tangent below 0.2, where the series is short.
    for _ in range(2):
        tangent = tangent / (1.0 + np.sqrt(1.0 + tangent * tangent))
    square = tangent * tangent
    series = np.zeros_like(tangent)
    for term in _ARCTANGENT_TERMS:
        series = square * (1.0 / term - series)
    return 8.0 * tangent * (1.0 - series)


def to_matrix(rotations: Doubles) -> Doubles:
    """Return the rotation matrices (..., 3, 3) of unit quaternions."""
    x, y, z, w = np.moveaxis(rotations, -1, 0)
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
        (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
        (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def from_matrix(matrices: Doubles) -> Doubles:
    """Return the unit quaternions of rotation matrices (..., 3, 3).

    Each is built from its largest component, so that nothing is divided by a small number.
    """
    m = np.moveaxis(matrices, (-2, -1), (0, 1))
    # Four times the squares of x, y, z and w.
    squares = (
        1 + m[0, 0] - m[1, 1] - m[2, 2],
        1 - m[0, 0] + m[1, 1] - m[2, 2],
        1 - m[0, 0] - m[1, 1] + m[2, 2],
        1 + m[0, 0] + m[1, 1] + m[2, 2],
    )
    # Four times the products of two components each.
    xy, xz, yz = m[0, 1] + m[1, 0], m[0, 2] + m[2, 0], m[1, 2] + m[2, 1]
    xw, yw, zw = m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]
    candidates = (
        (squares[0], xy, xz, xw),
        (xy, squares[1], yz, yw),
        (xz, yz, squares[2], zw),
        (xw, yw, zw, squares[3]),
    )
    # A row of candidates is the quaternion times four times one of its components.
    largest = np.argmax(np.stack(squares), axis=0)
    parts = [np.choose(largest, list(column)) for column in zip(*candidates, strict=True)]
    return normalise(np.stack(parts, axis=-1))
