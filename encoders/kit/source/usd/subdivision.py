"""A subdivision surface of a stage, refined: its faces and whatever is known by point or corner.

Creases, corners, borders and the rule of seams are the mesh's own. Authored normals belong to the
cage, so a refined surface gets new ones, with hard edges where a crease is endlessly sharp.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.mesh.polygon import area_vectors
from encoders.kit.mesh.subdivide.channel import SeamRule, make_channel
from encoders.kit.mesh.subdivide.net import (
    INFINITE,
    Net,
    Scheme,
    Step,
    make_net,
    parents,
    refine_net,
    sharpen_edges,
)
from encoders.kit.mesh.triangle import join_pairs
from encoders.kit.source.shared.polygon_mesh import Floats, Weights
from encoders.kit.source.usd.frame import Doubles
from encoders.kit.source.usd.primvar import Integers, Topology
from encoders.kit.source.usd.skeleton import heaviest, pick_heaviest

SCHEMES = ("catmullClark", "loop", "bilinear")
SEAM_RULES = ("none", "cornersOnly", "cornersPlus1", "cornersPlus2", "boundaries", "all")
# Columns of weights that are refined together, so that many joints need little memory.
JOINTS_AT_ONCE = 32
# Returns the value of a property of the mesh, None where nobody wrote one.
Read = Callable[[str], Any]


@dataclass(frozen=True, eq=False)
class Refinement:
    """A cage with its levels; `parent` is the cage's face of each refined face.

    `corners` are those of the cage whose faces have three or more.
    """

    cage: Topology
    corners: Integers
    steps: tuple[Step, ...]
    seams: SeamRule
    parent: Integers
    creases_fit: bool

    @property
    def topology(self) -> Topology:
        """The refined faces."""
        net = self._finest
        return Topology(net.sizes, net.corners, net.count)

    @property
    def _finest(self) -> Net:
        return self.steps[-1].refined

    def refine_points(self, points: npt.NDArray[Any]) -> Doubles:
        """Return the points of the refined faces."""
        return _apply(self.steps, points.astype(np.float64))

    def refine(self, values: Floats, rows: Integers, interpolation: str) -> tuple[Floats, Integers]:
        """Return values and the row of each refined corner, from those of the cage's corners."""
        if interpolation == "constant":
            return values, self.topology.zeros
        # What belongs to points is smoothed as they are; varying and uniform values are linear.
        known: dict[str, SeamRule] = {"vertex": "none", "faceVarying": self.seams}
        first = self.steps[0]
        net, used = make_channel(first.net, rows[self.corners], known.get(interpolation, "all"))
        steps = _levels(net, first.scheme, first.smooths_triangles, len(self.steps))
        refined = _apply(steps, values[used].astype(np.float64))
        return refined.astype("<f4"), steps[-1].refined.corners

    def refine_weights(self, weights: Weights) -> Weights:
        """Return the weights of the refined points, smoothed like these."""
        joints, shares = weights
        used = np.unique(joints[shares > 0]).astype(np.int64)
        count = self._finest.count
        joint, weight = np.zeros((count, 0), np.int64), np.zeros((count, 0))
        for start in range(0, len(used), JOINTS_AT_ONCE):
            some = used[start : start + JOINTS_AT_ONCE]
            # A point has a joint once, so each of these sums has one term.
            columns = [np.where(joints == one, shares, 0).sum(axis=1) for one in some]
            table = _apply(self.steps, np.stack(columns, axis=1).astype(np.float64))
            weight = np.concatenate([weight, table], axis=1)
            joint = np.concatenate([joint, np.broadcast_to(some, table.shape)], axis=1)
            joint, weight = pick_heaviest(joint, weight)
        return heaviest(joint, weight)

    def normals(self, points: Doubles, is_left_handed: bool) -> tuple[Doubles, Integers]:
        """Return normals and the row of each refined corner: sums of areas around a point."""
        net = self._finest
        corners = net.corners
        before = np.empty_like(corners)
        before[net.following] = np.arange(len(corners))
        triangles = np.stack([corners, corners[net.following], corners[before]], axis=1)
        areas = area_vectors(points[triangles])
        group, rows = np.unique(_smooth_groups(net), return_inverse=True)
        rows = rows.reshape(-1).astype(np.int64)
        sums = [
            np.bincount(rows, weights=areas[:, axis], minlength=len(group)) for axis in range(3)
        ]
        found = np.stack(sums, axis=1).astype(np.float64)
        return -found if is_left_handed else found, rows


def _smooth_groups(net: Net) -> Integers:
    """Return a number for each corner, the same for corners that share a normal."""
    is_hard = (net.edge_sharpness >= INFINITE) & (net.edge_faces == 2)
    if not is_hard.any():
        return net.corners
    # The two corners that begin each smooth edge, one in each of its faces.
    order = np.argsort(net.edge, kind="stable")
    starts = np.cumsum(net.edge_faces) - net.edge_faces
    smooth = starts[(net.edge_faces == 2) & ~is_hard]
    one, other = order[smooth], order[smooth + 1]
    after_one, after_other = net.following[one], net.following[other]
    # Faces that are wound alike run along an edge in opposite directions.
    is_same = net.corners[one] == net.corners[other]
    here = np.concatenate([one, after_one])
    near = np.concatenate(
        [np.where(is_same, other, after_other), np.where(is_same, after_other, other)]
    )
    return join_pairs(here, near, len(net.corners))


def _levels(net: Net, scheme: Scheme, smooths_triangles: bool, count: int) -> tuple[Step, ...]:
    steps: list[Step] = []
    for _ in range(count):
        steps.append(refine_net(net, scheme, smooths_triangles=smooths_triangles))
        net = steps[-1].refined
    return tuple(steps)


def _apply(steps: tuple[Step, ...], values: Doubles) -> Doubles:
    for step in steps:
        values = step.apply(values)
    return values


def count_triangles(topology: Topology, scheme: str, levels: int) -> int:
    """Return how many triangles a cage has at a level."""
    sizes = topology.sizes[topology.sizes > 2]
    each = len(sizes) if scheme == "loop" else int(sizes.sum()) // 2
    return int(each * 4**levels)


def refine_cage(
    read: Read, topology: Topology, levels: int, facts: dict[str, object]
) -> Refinement:
    """Refine the faces of a mesh; `read` gives its properties, `facts` name it in errors."""
    scheme = cast(Scheme, str(read("subdivisionScheme") or SCHEMES[0]))
    if scheme == "loop" and (topology.sizes > 3).any():
        hint = "Triangulate the mesh, or choose `catmullClark` as its scheme."
        found = {**facts, "corners": int(topology.sizes.max())}
        raise EncodeError("Loop subdivision needs triangles", found, hint)
    is_face = topology.sizes > 2
    corners = np.flatnonzero(np.repeat(is_face, topology.sizes))
    net = make_net(topology.sizes[is_face], topology.points[corners], topology.count)
    if str(read("interpolateBoundary") or "edgeAndCorner") == "edgeAndCorner":
        _fix_corners(net)
    fits = _sharpen(net, read)
    if scheme == "bilinear":
        net.edge_sharpness[:] = INFINITE
        net.vertex_sharpness[:] = INFINITE
    is_smooth = str(read("triangleSubdivisionRule") or "") == "smooth"
    parent = np.flatnonzero(is_face)
    steps = _levels(net, scheme, is_smooth and scheme == "catmullClark", levels)
    for step in steps:
        parent = parent[parents(step.net, scheme)]
    written = str(read("faceVaryingLinearInterpolation") or "")
    seams = cast(SeamRule, written if written in SEAM_RULES else "cornersPlus1")
    return Refinement(topology, corners, steps, seams, parent, fits)


def _fix_corners(net: Net) -> None:
    """Let the points at borders stay that have one face."""
    faces = np.bincount(net.corners, minlength=net.count)
    ends = np.bincount(net.ends[net.edge_faces == 1].reshape(-1), minlength=net.count)
    net.vertex_sharpness[(faces == 1) & (ends > 0)] = INFINITE


def _sharpen(net: Net, read: Read) -> bool:
    """Apply creases and corners; return False if some do not fit the mesh and are left out."""
    indices, lengths = _integers(read("creaseIndices")), _integers(read("creaseLengths"))
    sharpness = _sharpness(read("creaseSharpnesses"))
    is_last = np.zeros(len(indices), np.bool_)
    fits = not len(lengths) or int(lengths.min()) > 1
    fits &= int(lengths.sum()) == len(indices) and _are_points(indices, net)
    if fits and len(lengths):
        is_last[np.cumsum(lengths) - 1] = True
        edges = lengths - 1
        # A value for each crease, or one for each of their edges.
        if len(sharpness) == len(lengths):
            sharpness = np.repeat(sharpness, edges)
        fits = len(sharpness) == int(edges.sum())
        if fits:
            first = np.flatnonzero(~is_last)
            pairs = np.column_stack([indices[first], indices[first + 1]])
            sharpen_edges(net, pairs, sharpness)
    return _sharpen_corners(net, read) and fits


def _sharpen_corners(net: Net, read: Read) -> bool:
    corners, sharpness = _integers(read("cornerIndices")), _sharpness(read("cornerSharpnesses"))
    if len(corners) != len(sharpness) or not _are_points(corners, net):
        return False
    np.maximum.at(net.vertex_sharpness, corners, sharpness)
    return True


def _are_points(indices: Integers, net: Net) -> bool:
    return not len(indices) or (int(indices.min()) >= 0 and int(indices.max()) < net.count)


def _integers(value: Any) -> Integers:
    return np.array(value if value is not None else (), np.int64)


def _sharpness(value: Any) -> Doubles:
    found = np.array(value if value is not None else (), np.float64)
    return np.where(np.isnan(found), 0, found).clip(0, INFINITE)
