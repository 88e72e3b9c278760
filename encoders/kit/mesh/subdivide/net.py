"""Subdivision of polygon nets: Catmull-Clark, Loop and bilinear, with creases and corners.

The rules are the published ones, with semi-sharp creases: a sharpness counts down by one at each
level, and a vertex whose rule changes between two levels is a blend of both. A net is refined by
linear combinations of its vertices alone, so the same steps refine positions, texture coordinates
and skin weights. Sums run in the order of corners, so that all machines get the same bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]
Scheme = Literal["catmullClark", "loop", "bilinear"]
# A sharpness from here on never counts down.
INFINITE = 10.0
# The part of a triangle's middle in an edge point, under the rule that smooths triangles.
SMOOTH_TRIANGLE = 0.47


@dataclass(frozen=True, eq=False)
class Net:
    """Faces by size and by the vertex of each corner, with the sharpness of edges and vertices.

    `edge` is the edge from each corner to the next of its face, `ends` are the vertices of edges.
    """

    sizes: Integers
    corners: Integers
    edge: Integers
    ends: Integers
    edge_sharpness: Doubles
    vertex_sharpness: Doubles

    @property
    def count(self) -> int:
        """The number of vertices."""
        return len(self.vertex_sharpness)

    @cached_property
    def face(self) -> Integers:
        """The face of each corner."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def edge_faces(self) -> Integers:
        """How many faces each edge has."""
        return np.bincount(self.edge, minlength=len(self.ends))

    @cached_property
    def valence(self) -> Integers:
        """How many edges each vertex has."""
        return np.bincount(self.ends.reshape(-1), minlength=self.count)

    @cached_property
    def following(self) -> Integers:
        """The next corner of the same face, for each corner."""
        return following_corners(self.sizes)


def following_corners(sizes: Integers) -> Integers:
    """Return the next corner of the same face, for each corner."""
    found = np.arange(1, int(sizes.sum()) + 1)
    ends, filled = np.cumsum(sizes), sizes > 0
    found[ends[filled] - 1] = (ends - sizes)[filled]
    return found


def make_net(sizes: Integers, corners: Integers, count: int) -> Net:
    """Return a net of faces without sharpness, but for edges that do not join two faces."""
    edge, ends = _find_edges(corners, corners[following_corners(sizes)])
    net = Net(sizes, corners, edge, ends, np.zeros(len(ends)), np.zeros(count))
    net.edge_sharpness[net.edge_faces != 2] = INFINITE
    return net


def _find_edges(starts: Integers, stops: Integers) -> tuple[Integers, Integers]:
    """Give each pair of neighbours, in either order, the number of an edge."""
    low, high = np.minimum(starts, stops), np.maximum(starts, stops)
    span = int(high.max(initial=0)) + 1
    keys, edge = np.unique(low * span + high, return_inverse=True)
    return edge.reshape(-1).astype(np.int64), np.column_stack([keys // span, keys % span])


def sharpen_edges(net: Net, pairs: Integers, sharpness: Doubles) -> None:
    """Give the edges between pairs of vertices at least this sharpness; others are left out."""
    span = net.count + 1
    known = net.ends[:, 0] * span + net.ends[:, 1]
    wanted = pairs.min(axis=1) * span + pairs.max(axis=1)
    # The ends of edges are sorted, so their numbers are as well.
    place = np.searchsorted(known, wanted)
    is_edge = known[np.minimum(place, len(known) - 1)] == wanted
    np.maximum.at(net.edge_sharpness, place[is_edge], sharpness[is_edge].clip(0, INFINITE))


@dataclass(frozen=True, eq=False)
class Step:
    """One level: the net before it, the net after it, and how vertices are computed."""

    net: Net
    refined: Net
    scheme: Scheme
    smooths_triangles: bool

    def apply(self, values: Doubles) -> Doubles:
        """Refine values (vertices, width): those of vertices, then of edges, then of faces."""
        net = self.net
        ends = values[net.ends[:, 0]] + values[net.ends[:, 1]]
        if self.scheme == "loop":
            smooth = _loop_vertices(net, values)
            return np.concatenate(
                [
                    _with_rules(net, values, smooth),
                    _edges(net, ends, _loop_edges(net, values, ends)),
                ]
            )
        middles = _sums(net.face, values[net.corners], len(net.sizes)) / net.sizes[:, None]
        weights = _middle_weights(net, self.smooths_triangles)
        edges = _edges(net, ends, _quad_edges(net, ends, middles, weights))
        vertices = _with_rules(net, values, _quad_vertices(net, values, middles))
        return np.concatenate([vertices, edges, middles])


def refine_net(net: Net, scheme: Scheme, *, smooths_triangles: bool = False) -> Step:
    """Plan one level; every corner becomes a quad, or every triangle four with Loop's scheme."""
    corner = net.corners
    after, inner = net.edge + net.count, net.face + net.count + len(net.ends)
    before = np.empty_like(after)
    before[net.following] = after
    if scheme == "loop":
        # A triangle at each corner, and one in the middle.
        outer = np.stack([corner, after, before], axis=1).reshape(-1, 9)
        corners = np.concatenate([outer, after.reshape(-1, 3)], axis=1).reshape(-1)
        sizes, count = np.full(4 * len(net.sizes), 3), net.count + len(net.ends)
    else:
        corners = np.stack([corner, after, inner, before], axis=1).reshape(-1)
        sizes, count = np.full(len(corner), 4), net.count + len(net.ends) + len(net.sizes)
    edge, ends = _find_edges(corners, corners[following_corners(sizes)])
    # An edge between a vertex and an edge point is half of an edge; all others are new and smooth.
    half = ends[:, 1] - net.count
    is_half = (ends[:, 0] < net.count) & (half >= 0) & (half < len(net.ends))
    sharpness = np.zeros(len(ends))
    sharpness[is_half] = _decayed(net.edge_sharpness)[half[is_half]]
    vertex_sharpness = np.zeros(count)
    vertex_sharpness[: net.count] = _decayed(net.vertex_sharpness)
    refined = Net(sizes, corners, edge, ends, sharpness, vertex_sharpness)
    return Step(net, refined, scheme, smooths_triangles)


def parents(net: Net, scheme: Scheme) -> Integers:
    """Return the face that each face of the next level is a part of."""
    return np.repeat(np.arange(len(net.sizes)), 4) if scheme == "loop" else net.face


def _decayed(sharpness: Doubles) -> Doubles:
    return np.where(sharpness >= INFINITE, sharpness, (sharpness - 1).clip(0))


def _sums(ids: Integers, values: Doubles, count: int) -> Doubles:
    """Add rows with the same number, in their order."""
    columns = [
        np.bincount(ids, weights=np.ascontiguousarray(values[:, column]), minlength=count)
        for column in range(values.shape[1])
    ]
    return np.stack(columns, axis=1).astype(np.float64)


def _neighbour_sums(ends: Integers, values: Doubles) -> Doubles:
    """Add for each vertex the values at the other ends of these edges."""
    here, there = ends.T.reshape(-1), ends[:, ::-1].T.reshape(-1)
    return _sums(here, values[there], len(values))


def _edges(net: Net, ends: Doubles, smooth: Doubles) -> Doubles:
    """Blend smooth edge points with the middles of sharp edges; `ends` are sums of two ends."""
    share = net.edge_sharpness.clip(0, 1)[:, None]
    return np.where(share > 0, (1 - share) * smooth + share * (ends / 2), smooth)


def _with_rules(net: Net, values: Doubles, smooth: Doubles) -> Doubles:
    """Apply the rules of creases and corners; where they change with the level, blend both."""
    edges, corners = net.edge_sharpness, net.vertex_sharpness
    if net.valence.all() and not edges.any() and not corners.any():
        return smooth
    before = _by_rule(net, edges, corners, values, smooth)
    later_edges, later_corners = _decayed(edges), _decayed(corners)
    after = _by_rule(net, later_edges, later_corners, values, smooth)
    # The weight of the rule before is the mean sharpness of all that is smooth from now on.
    fades = (edges > 0) & (later_edges == 0)
    at, strength = net.ends[fades].reshape(-1), np.repeat(edges[fades], 2)
    total = np.bincount(at, weights=strength, minlength=net.count)
    number = np.bincount(at, minlength=net.count).astype(np.float64)
    is_fading = (corners > 0) & (later_corners == 0)
    total, number = total + np.where(is_fading, corners, 0), number + is_fading
    weight = np.where(number > 0, total / np.maximum(number, 1), 1.0)[:, None]
    return np.where(weight < 1, weight * before + (1 - weight) * after, before)


def _by_rule(
    net: Net, edges: Doubles, corners: Doubles, values: Doubles, smooth: Doubles
) -> Doubles:
    """Return vertices by their rule: smooth with up to one sharp edge, a crease with two."""
    ends = net.ends[edges > 0]
    around = np.bincount(ends.reshape(-1), minlength=net.count)
    crease = values * 0.75 + _neighbour_sums(ends, values) / 8
    is_corner = (around > 2) | (corners > 0) | (net.valence == 0)
    found = np.where((around == 2)[:, None], crease, smooth)
    return np.where(is_corner[:, None], values, found)


def _quad_vertices(net: Net, values: Doubles, middles: Doubles) -> Doubles:
    number = np.maximum(net.valence, 1).astype(np.float64)[:, None]
    around = _neighbour_sums(net.ends, values) + _sums(net.corners, middles[net.face], net.count)
    return values * ((number - 2) / number) + around / (number * number)


def _middle_weights(net: Net, smooths_triangles: bool) -> Doubles:
    """Return the part that the middle of a face has in the points of its edges."""
    faces = np.maximum(net.edge_faces, 1)
    if not smooths_triangles:
        return 0.5 / faces
    each = np.where(net.sizes == 3, SMOOTH_TRIANGLE, 0.25)[net.face]
    return np.bincount(net.edge, weights=each, minlength=len(net.ends)) / faces


def _quad_edges(net: Net, ends: Doubles, middles: Doubles, weights: Doubles) -> Doubles:
    faces = net.edge_faces.astype(np.float64)
    around = _sums(net.edge, middles[net.face], len(net.ends))
    return ends * ((1 - faces * weights) / 2)[:, None] + around * weights[:, None]


def _loop_vertices(net: Net, values: Doubles) -> Doubles:
    number = np.maximum(net.valence, 1)
    table = [0.0, *(_loop_weight(one) for one in range(1, int(number.max(initial=0)) + 1))]
    weight: Doubles = np.array(table)[number][:, None]
    found: Doubles = values * (1 - number[:, None] * weight)
    return found + weight * _neighbour_sums(net.ends, values)


def _loop_weight(valence: int) -> float:
    # Rounded, because libraries differ in the last bit of a cosine.
    inner = 3 / 8 + round(math.cos(2 * math.pi / valence), 12) / 4
    return (5 / 8 - inner * inner) / valence


def _loop_edges(net: Net, values: Doubles, ends: Doubles) -> Doubles:
    # In a triangle, the corner after the next one is opposite of an edge.
    opposite = values[net.corners[net.following[net.following]]]
    return ends * (3 / 8) + _sums(net.edge, opposite, len(net.ends)) / 8
