"""Move the places that a simplification left to where the surface is met best: the reference.

The names and the order of every floating-point operation are those of the native kernel.
"""

from __future__ import annotations

from encoders.kit.mesh.simplify.collapsing_mesh import FREE, MAX_RING, CollapsingMesh
from encoders.kit.mesh.simplify.quadric import SIZE

# A place settles as if held at its position by this part of its area, which keeps flat surfaces
# where they are, and by at most this part of its shortest edge.
DAMPING, SETTLE_REACH = 0.01, 0.5


def settle(mesh: CollapsingMesh) -> None:
    """Move every free place to where its quadric is least, with the attributes of its wedges."""
    for one, freedom in enumerate(mesh.freedom):
        count = len(mesh.ring(one)) if freedom == FREE else 0
        known = 0 < count <= MAX_RING
        point = best_point(mesh, mesh.quadrics[one], mesh.points[one]) if known else None
        if point is not None and _may_settle(mesh, one, point):
            mesh.put(one, point)


def best_point(mesh: CollapsingMesh, q: list[float], row: list[float]) -> list[float] | None:
    """Return where the quadric of a place is least, damped; None where it is there already.

    Beside a convex surface that is outside of it, but never outside of the mesh's bounds.
    """
    damping = DAMPING * q[SIZE - 1]
    a, b, c = q[0] + damping, q[1] + damping, q[2] + damping
    d, e, f = q[3], q[4], q[5]
    x = -(q[0] * row[0] + d * row[1] + e * row[2] + q[6])
    y = -(d * row[0] + q[1] * row[1] + f * row[2] + q[7])
    z = -(e * row[0] + f * row[1] + q[2] * row[2] + q[8])
    bc, ac, ab = b * c - f * f, a * c - e * e, a * b - d * d
    dc, df, af = e * f - d * c, d * f - e * b, d * e - a * f
    determinant = a * bc + d * dc + e * df
    if not determinant > 0.0:
        return None
    least = [
        row[0] + (bc * x + dc * y + df * z) / determinant,
        row[1] + (dc * x + ac * y + af * z) / determinant,
        row[2] + (df * x + af * y + ab * z) / determinant,
    ]
    found = mesh.within(least)
    return found if found != row else None


def _may_settle(mesh: CollapsingMesh, one: int, point: list[float]) -> bool:
    """Tell whether a place may go to a point: within its error, and not far for its edges."""
    way = _squared_distance(mesh.points[one], point)
    if not way <= mesh.max_errors[one]:
        return False
    reach = SETTLE_REACH * SETTLE_REACH
    edges = (_squared_distance(mesh.points[one], mesh.points[n]) for n in mesh.neighbours(one))
    if any(way > reach * edge for edge in edges):
        return False
    return all(mesh.stays_up(triangle, one, point) for triangle in mesh.ring(one))


def _squared_distance(one: list[float], other: list[float]) -> float:
    x, y, z = one[0] - other[0], one[1] - other[1], one[2] - other[2]
    return x * x + y * y + z * z
