"""Subdivision, beside a naive implementation, trimesh and known coordinates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.kit.mesh.subdivide.channel import make_channel
from encoders.kit.mesh.subdivide.net import Net, Step, make_net, refine_net, sharpen_edges
from tests.kit.naive_subdivision import Naive

CUBE = [(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)]
CUBE_FACES = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
TRIANGLES = [[a, b, c] for f in CUBE_FACES for a, b, c in (f[:3], [f[0], f[2], f[3]])]
# Two rows of quads, one of which is two triangles: borders, and vertices of several valences.
SHEET = [(x, y, x * y * 0.3) for y in (0.0, 1.0, 2.0) for x in (0.0, 1.0, 2.0, 3.0)]
SHEET_FACES = [[0, 1, 5, 4], [1, 2, 6], [1, 6, 5], [2, 3, 7, 6], [4, 5, 9, 8], [5, 6, 10, 9]]


def net_of(points, faces, edges=(), corners=()) -> Net:
    sizes = np.array([len(face) for face in faces])
    net = make_net(sizes, np.concatenate(faces), len(points))
    for (a, b), sharpness in edges:
        sharpen_edges(net, np.array([[a, b]]), np.array([sharpness]))
    for vertex, sharpness in corners:
        net.vertex_sharpness[vertex] = sharpness
    return net


def refine(net: Net, values, scheme="catmullClark", levels=1):
    values = np.array(values, np.float64)
    for _ in range(levels):
        step = refine_net(net, scheme)
        values, net = step.apply(values), step.refined
    return net, values


def as_set(net: Net, values) -> list:
    """The faces as sorted lists of rounded points, whatever their order and first corner."""
    faces = np.split(np.round(values[net.corners], 9) + 0.0, np.cumsum(net.sizes)[:-1])
    return sorted(sorted(map(tuple, face.tolist())) for face in faces)


def naive_set(naive: Naive) -> list:
    faces = [[naive.points[one] for one in face] for face in naive.faces]
    rounded = [np.round(np.array(face), 9) + 0.0 for face in faces]
    return sorted(sorted(map(tuple, face.tolist())) for face in rounded)


def test_a_subdivided_cube_has_the_coordinates_of_the_published_rules():
    net, values = refine(net_of(CUBE, CUBE_FACES), CUBE)
    assert len(net.sizes) == 24
    assert (net.sizes == 4).all()
    found = np.abs(values)
    # A corner: (1/3) * face middle (1/3 each) + (2/3) * edge middle (2/3 each) + 0 = 5/9.
    assert np.allclose(found[:8], 5 / 9)
    # An edge: two ends (0, 1, 1) and two faces (0, 1/2, 1/2) give 3/4.
    assert np.allclose(np.sort(found[8:20], axis=1), [0, 0.75, 0.75])
    assert np.allclose(np.sort(found[20:], axis=1), [0, 0, 1])


@pytest.mark.parametrize("scheme", ["catmullClark", "loop"])
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_fading_creases_and_corners_are_those_of_a_naive_implementation(scheme, data):
    is_closed = data.draw(st.booleans())
    points, faces = (CUBE, CUBE_FACES) if is_closed else (SHEET, SHEET_FACES)
    if scheme == "loop":
        faces = TRIANGLES if is_closed else [[0, 1, 5], [0, 5, 4], [1, 2, 6], [1, 6, 5], [5, 6, 10]]
    known = sorted({tuple(sorted(p)) for f in faces for p in zip(f, f[1:] + f[:1], strict=True)})
    sharpness = st.sampled_from([0.25, 0.5, 1.0, 1.5, 2.0, 3.75, 10.0])
    edges = data.draw(st.dictionaries(st.sampled_from(known), sharpness, max_size=5))
    corners = data.draw(st.dictionaries(st.sampled_from(faces[0]), sharpness, max_size=2))
    net, values = refine(net_of(points, faces, edges.items(), corners.items()), points, scheme, 2)
    endless = {key: float("inf") if one >= 10 else one for key, one in corners.items()}
    sharp = {frozenset(key): float("inf") if one >= 10 else one for key, one in edges.items()}
    naive = Naive(points, faces, sharp, endless)
    for _ in range(2):
        naive = naive.refined(scheme)
    assert as_set(net, values) == naive_set(naive)


def test_loop_gives_the_triangles_of_trimesh():
    trimesh = pytest.importorskip("trimesh")
    shape = trimesh.creation.icosphere(subdivisions=1)
    shape.vertices[:, 0] *= 1.7
    net, values = refine(net_of(shape.vertices, shape.faces.tolist()), shape.vertices, "loop", 2)
    vertices, faces = trimesh.remesh.subdivide_loop(shape.vertices, shape.faces, iterations=2)
    expected = sorted(sorted(map(tuple, np.round(vertices[face], 7).tolist())) for face in faces)
    corners = np.round(values[net.corners], 7).reshape(-1, 3, 3).tolist()
    found = [sorted(map(tuple, one)) for one in corners]
    assert np.allclose(sorted(found), expected, atol=2e-7)


def test_an_endlessly_sharp_cube_stays_a_cube():
    edges = [(pair, 10) for f in CUBE_FACES for pair in zip(f, f[1:] + f[:1], strict=True)]
    _, values = refine(net_of(CUBE, CUBE_FACES, edges), CUBE, levels=3)
    assert np.abs(values).max(axis=1).min() == 1
    assert {*map(tuple, CUBE)} <= {*map(tuple, values.tolist())}


def steps_of(net: Net, values) -> np.ndarray:
    step: Step = refine_net(net, "catmullClark")
    return step.apply(np.array(values, np.float64))


def test_values_do_not_blend_across_a_seam():
    net = net_of(SHEET, SHEET_FACES)
    # The quads on the right have rows of their own.
    is_right = np.repeat([face in ([2, 3, 7, 6],) for face in SHEET_FACES], net.sizes)
    rows = np.where(is_right, net.corners + 12, net.corners)
    values = np.concatenate([np.zeros(12), np.ones(12)])[:, None]
    for rule in ("none", "cornersOnly", "cornersPlus1", "cornersPlus2", "boundaries", "all"):
        channel, used = make_channel(net, rows, rule)
        found = steps_of(channel, values[used])
        assert {*np.unique(found)} == {0.0, 1.0}, rule


def test_values_that_follow_the_points_stay_with_them():
    net = net_of(SHEET, SHEET_FACES, [((5, 6), 1.5)])
    channel, used = make_channel(net, net.corners, "none")
    points = np.array(SHEET)
    assert as_set(refine_net(net, "catmullClark").refined, steps_of(net, points)) == as_set(
        refine_net(channel, "catmullClark").refined, steps_of(channel, points[used])
    )


@pytest.mark.parametrize(
    ("rule", "is_fixed"),
    [("none", False), ("cornersOnly", True), ("cornersPlus1", True), ("boundaries", True)],
)
def test_the_corner_of_an_island_stays_as_the_rule_says(rule, is_fixed):
    net = net_of(SHEET, SHEET_FACES)
    uv = np.array(SHEET)[:, :2]
    channel, used = make_channel(net, net.corners, rule)
    found = steps_of(channel, uv[used])
    assert ((found == (3, 0)).all(axis=1).any()) == is_fixed


def test_an_edge_of_an_island_is_smoothed_unless_boundaries_are_linear():
    net = net_of(SHEET, SHEET_FACES)
    uv = np.array(SHEET)[:, :2] ** 2
    at = {}
    for rule in ("cornersPlus1", "boundaries"):
        channel, used = make_channel(net, net.corners, rule)
        at[rule] = steps_of(channel, uv[used])[list(used).index(1)]
    assert at["boundaries"].tolist() == [1, 0]
    assert at["cornersPlus1"].tolist() == [0.75 * 1 + (0 + 4) / 8, 0]


def test_three_islands_at_a_point_keep_their_values_from_the_first_rule_that_says_so():
    # Three rows around vertex 5; the one above has two faces, so it is no corner by itself.
    net = net_of(SHEET, SHEET_FACES)
    island = np.repeat([0, 1, 1, 1, 2, 2], net.sizes)
    rows = net.corners + 12 * island
    values = np.tile(np.array(SHEET)[:, :2] ** 2, (3, 1))
    for rule, is_fixed in (("cornersOnly", False), ("cornersPlus1", True)):
        channel, used = make_channel(net, rows, rule)
        vertex = list(used).index(5 + 12 * 2)
        assert ((steps_of(channel, values[used])[vertex] == (1, 1)).all()) == is_fixed


def test_linear_values_are_halved_and_stay():
    net = net_of(CUBE, CUBE_FACES)
    channel, used = make_channel(net, net.corners, "all")
    found = steps_of(channel, np.array(CUBE)[used])
    assert {*map(tuple, CUBE)} <= {*map(tuple, found.tolist())}
    assert (np.abs(found).max(axis=1) == 1).all()


def test_a_vertex_without_faces_stays_where_it_is():
    points = [*CUBE, (9.0, 9.0, 9.0)]
    _, values = refine(net_of(points, CUBE_FACES), points)
    assert values[8].tolist() == [9, 9, 9]
