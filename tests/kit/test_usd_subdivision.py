"""`subdivide`: subdivision surfaces of USD refined, with everything that belongs to them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from encoders.kit.error import EncodeError
from encoders.kit.isolate import use_scratch
from encoders.kit.mesh.mesh import Mesh
from encoders.kit.source.conversion import compose
from encoders.kit.source.model import open_model
from encoders.untold.scene.picture_survey import survey_composed_pictures
from pipeline.process.scratch import install_scratch
from tests.kit.naive_subdivision import Naive
from tests.kit.test_subdivide import CUBE, CUBE_FACES
from tests.kit.usd_maker import RIG, SKINNED, at, mesh, usda

pytest.importorskip("pxr")

NAME = "assets/shape.usda"
POINTS = f"[{', '.join(map(str, CUBE))}]"
SIZES = "[4, 4, 4, 4, 4, 4]"
CORNERS = str([corner for face in CUBE_FACES for corner in face])


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path) -> Iterator[None]:
    install_scratch(str(tmp_path / "scratch"))
    yield
    use_scratch(None)


def cube(body: str = "", scheme: str = "catmullClark", **options: str) -> str:
    return mesh("cube", body, points=POINTS, sizes=SIZES, corners=CORNERS, scheme=scheme, **options)


def refined(body: str, levels: int = 1, limit: int = 1 << 20) -> tuple[Mesh, tuple[str, ...]]:
    refine = {"subdivide": levels, "triangle_limit": limit}
    glb, warnings = compose({NAME: usda(body)}, NAME, refine=refine)
    return open_model({NAME: glb}, NAME).mesh, warnings


def points_of(found: Mesh) -> set:
    return rounded(found.position.values[found.position.corner.reshape(-1)])


def rounded(points: object) -> set:
    exact = np.array(points, np.float32).astype(np.float64)
    return {*map(tuple, (np.round(exact, 5) + 0.0).tolist())}


def expected(levels: int, edges=None) -> set:
    naive = Naive(CUBE, CUBE_FACES, edges)
    for _ in range(levels):
        naive = naive.refined("catmullClark")
    return rounded(naive.points)


def test_a_cube_has_the_points_of_a_naive_implementation():
    for levels in (1, 2, 3):
        found, warnings = refined(cube(), levels)
        assert points_of(found) == expected(levels)
        assert found.triangle_count == 12 * 4**levels
        assert warnings == ()


def test_without_the_option_the_cage_is_shown():
    glb, warnings = compose({NAME: usda(cube())}, NAME)
    assert open_model({NAME: glb}, NAME).mesh.triangle_count == 12
    assert "shown by their cages" in warnings[0]


CREASES = """
    int[] creaseIndices = [0, 1, 3, 2, 4, 6]
    int[] creaseLengths = [4, 2]
    float[] creaseSharpnesses = {values}
"""


@pytest.mark.parametrize("values", ["[1.5, 10]", "[1.5, 1.5, 1.5, 10]"])
def test_creases_are_sharp_whether_given_by_crease_or_by_edge(values):
    edges = {frozenset(pair): 1.5 for pair in ((0, 1), (1, 3), (3, 2))}
    edges[frozenset((4, 6))] = float("inf")
    found, _ = refined(cube(CREASES.format(values=values)), 2)
    assert points_of(found) == expected(2, edges)


def test_a_corner_stays_where_it_is():
    found, _ = refined(cube("int[] cornerIndices = [7]\nfloat[] cornerSharpnesses = [10]\n"), 2)
    assert (1, 1, 1) in points_of(found)
    assert (-1, -1, -1) not in points_of(found)


@pytest.mark.parametrize(
    ("indices", "lengths", "sharpness"),
    [
        ("[0, 99]", "[2]", "[1]"),
        ("[0, 1]", "[3]", "[1]"),
        ("[0, 1]", "[2]", "[]"),
        ("[0]", "[1]", "[1]"),
    ],
)
def test_creases_that_do_not_fit_are_left_out_with_a_warning(indices, lengths, sharpness):
    body = f"int[] creaseIndices = {indices}\nint[] creaseLengths = {lengths}\n"
    found, warnings = refined(cube(f"{body}float[] creaseSharpnesses = {sharpness}\n"))
    assert points_of(found) == expected(1)
    assert warnings == (f"{NAME}: creases of /cube do not fit the mesh; left out [damage]",)


@pytest.mark.parametrize("indices", ["[-1]", "[1, 2]", "[99]"])
def test_corners_that_do_not_fit_are_left_out_with_a_warning(indices):
    body = f"int[] cornerIndices = {indices}\nfloat[] cornerSharpnesses = [1]\n"
    found, warnings = refined(cube(body))
    assert points_of(found) == expected(1)
    assert "creases of /cube do not fit" in warnings[0]


@pytest.mark.parametrize(("rule", "stays"), [("edgeAndCorner", True), ("edgeOnly", False)])
def test_the_rule_of_borders_decides_whether_corners_stay(rule, stays):
    body = mesh(body=f'uniform token interpolateBoundary = "{rule}"\n', scheme="catmullClark")
    found, _ = refined(body.replace("uniform token interpolate", "token interpolate"))
    assert ((0, 0, 0) in points_of(found)) == stays


def test_texture_coordinates_by_corner_come_along():
    uv = "texCoord2f[] primvars:st = [(0, 0), (1, 0), (1, 1), (0, 1)] "
    body = mesh(body=uv + '(interpolation = "faceVarying")\n', scheme="catmullClark")
    found, _ = refined(body)
    corners = np.arange(3 * found.triangle_count)
    place, coordinate = found.position.at(corners), found.uv[0].at(corners)
    # The quad is 1 by 2 and stays flat, so coordinates follow positions; v is from the top.
    assert np.allclose(coordinate[:, 0], place[:, 0], atol=1e-6)
    assert np.allclose(1 - coordinate[:, 1], place[:, 1] / 2, atol=1e-6)


def test_new_normals_are_smooth_and_hard_only_at_endless_creases():
    authored = 'normal3f[] normals = [(0, 0, 1)] (interpolation = "constant")\n'
    found, _ = refined(cube(authored), 2)
    corners = np.arange(3 * found.triangle_count)
    place, normal = found.position.at(corners), found.normal.at(corners)
    assert np.allclose(np.linalg.norm(normal, axis=1), 1, atol=1e-5)
    # The cube becomes nearly round, so normals point away from its middle.
    away = place / np.linalg.norm(place, axis=1)[:, None]
    assert (normal * away).sum(axis=1).min() > 0.99
    assert len(np.unique(np.round(place, 5), axis=0)) == len(
        np.unique(np.round(np.hstack([place, normal]), 4), axis=0)
    )
    ring = "int[] creaseIndices = [0, 1, 3, 2, 0]\nint[] creaseLengths = [5]\n"
    hard, _ = refined(cube(ring + "float[] creaseSharpnesses = [10]\n"), 2)
    place, normal = hard.position.at(corners), hard.normal.at(corners)
    assert len(np.unique(np.round(place, 5), axis=0)) < len(
        np.unique(np.round(np.hstack([place, normal]), 4), axis=0)
    )


def test_a_left_handed_surface_faces_outwards_as_well():
    found, _ = refined(cube('uniform token orientation = "leftHanded"\n'), 1)
    corners = np.arange(3 * found.triangle_count)
    place, normal = found.position.at(corners), found.normal.at(corners)
    a, b, c = (found.position.at(corners[start::3]) for start in range(3))
    winding = np.cross(b - a, c - a)
    assert ((winding * normal[::3]).sum(axis=1) > 0).all()
    assert ((place * normal).sum(axis=1) < 0).all()


def test_subsets_and_holes_belong_to_the_faces_they_were_written_for():
    subset = """
    int[] holeIndices = [5]
    uniform token subsetFamily:materialBind:familyType = "partition"
    def GeomSubset "one" ( prepend apiSchemas = ["MaterialBindingAPI"] )
    {
        uniform token elementType = "face"
        uniform token familyName = "materialBind"
        int[] indices = [0]
        rel material:binding = </m>
    }
"""
    body = 'def Material "m" {}\n' + cube(subset)
    found, _ = refined(body, 2)
    assert found.triangle_count == 5 * 4 * 4 * 2
    counts = np.bincount(found.material + 1)
    assert sorted(counts[counts > 0].tolist()) == [32, 128]


def test_skin_weights_are_refined_with_the_points():
    meta = '(\n prepend apiSchemas = ["SkelBindingAPI"]\n)'
    body = RIG % mesh("quad", SKINNED + at(9, 9, 9), meta=meta, scheme="catmullClark")
    more = "    timeCodesPerSecond = 24\n    startTimeCode = 24\n"
    data = usda(body, more=more)
    glb, _ = compose({NAME: data}, NAME, refine={"subdivide": 1, "triangle_limit": 99})
    found = open_model({NAME: glb}, NAME).mesh
    corners = np.arange(3 * found.triangle_count)
    weights, joints = found.weights.at(corners), found.joints.at(corners)
    assert np.allclose(weights.sum(axis=1), 1)
    hip = np.where(joints == 0, weights, 0).sum(axis=1)
    # Points have 1, 0.75, 0 and 0 of the hip; the middle of the face has their mean.
    assert {0.0, 0.75, 1.0} <= {*np.round(hip, 5).tolist()}
    assert 0.4375 in np.round(hip, 5).tolist()


def test_loop_refuses_what_is_no_triangle():
    with pytest.raises(EncodeError, match="Loop subdivision needs triangles"):
        refined(cube(scheme="loop"))


def test_a_bilinear_surface_keeps_its_shape():
    found, _ = refined(cube(scheme="bilinear"), 2)
    used = found.position.values[found.position.corner.reshape(-1)]
    assert (np.abs(used).max(axis=1) == 1).all()


def test_more_triangles_than_allowed_are_refused_before_they_are_made():
    with pytest.raises(EncodeError) as caught:
        refined(cube(), 6, 49_151)
    assert caught.value.facts["triangles"] == "49152 or more"
    assert "triangle_limit" in caught.value.hint
    refined(cube(), 2, 192)


def test_instances_count_towards_the_limit():
    two = 'def Xform "a" (\n instanceable = true\n references = </p>\n)\n{\n}\n'
    body = f'class Xform "p"\n{{\n{cube()}\n}}\n' + two + two.replace('"a"', '"b"')
    assert refined(body, 1, 96)[0].triangle_count == 96
    with pytest.raises(EncodeError, match="too many triangles"):
        refined(body, 1, 95)


def test_a_stage_without_subdivision_surfaces_says_that_the_option_has_no_effect():
    _, warnings = refined(mesh())
    assert warnings == (
        f"{NAME}: `subdivide` has no effect: it has no subdivision surface [ignored]",
    )


def test_a_scene_is_judged_by_the_size_of_its_files_not_of_its_survey():
    data = usda(cube())
    survey = survey_composed_pictures(data, NAME, {"assets/other.usda": usda("")})
    assert survey["stored_bytes"] == len(data) + len(usda(""))


def test_faces_of_less_than_three_corners_are_left_out():
    body = cube().replace(SIZES, "[4, 4, 4, 4, 4, 4, 2]").replace(CORNERS, CORNERS[:-1] + ", 0, 7]")
    assert points_of(refined(body)[0]) == expected(1)
