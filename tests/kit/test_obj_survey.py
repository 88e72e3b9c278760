from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from encoders.kit.error import EncodeError
from encoders.kit.source.obj.decode import decode_obj
from encoders.kit.source.obj.survey import survey_obj
from tests.kit.obj_maker import damaged, make_grid, obj_files

QUICK = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
HOUSE = b"""mtllib house.mtl roof.mtl
mtllib house.mtl
v 9 9 9
o walls
v 0 0 0
v 1 0 0
v 0 .1 0
usemtl brick
f 2 3 4
o roof
g tiles
v 0 0 5
usemtl slate
f 2 3 4 5
o walls
usemtl brick
f 2 3 5
"""


def bounds_of(data: bytes) -> dict[str, list[float]]:
    mesh = decode_obj(data, "a.obj").mesh
    points = mesh.position.values[mesh.position.corner.reshape(-1)]
    return {"min": points.min(axis=0).tolist(), "max": points.max(axis=0).tolist()}


def test_survey_knows_files_names_counts_and_bounds() -> None:
    tenth = float(np.float32(0.1))
    high: dict[str, Any] = {"min": [0, 0, 0], "max": [1, tenth, 5]}
    assert survey_obj(HOUSE, "house.obj") == {
        "refs": ["house.mtl", "roof.mtl"],
        "libraries": ["house.mtl", "roof.mtl"],
        "materials": ["brick", "slate"],
        "positions": 5,
        "triangles": 4,
        "bounds": high,
        "objects": [
            {"object": "walls", "triangles": 2, "bounds": high},
            {"object": "roof", "triangles": 2, "bounds": high},
        ],
        "parts": [
            {
                "object": "walls",
                "group": "",
                "triangles": 2,
                "bounds": high,
                "materials": [0],
            },
            {
                "object": "roof",
                "group": "tiles",
                "triangles": 2,
                "bounds": high,
                "materials": [1],
            },
        ],
    }


def test_object_is_bounded_by_what_its_faces_use_not_by_what_it_declares() -> None:
    data = b"v 0 0 0\nv 1 0 0\nv 0 1 0\no a\nv 7 7 7\nf 1 2 3\no b\nf 2 3 4\n"
    survey: Any = survey_obj(data, "a.obj")
    assert [each["bounds"]["max"] for each in survey["objects"]] == [[1, 1, 0], [7, 7, 7]]


def test_part_has_the_materials_that_hold_where_its_faces_are() -> None:
    faces = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
    text = b"o a\n" + faces + b"usemtl x\ng b\nf 1 2 3\nusemtl y\nf 1 2 3\nusemtl\no c\nf 1 2 3\n"
    survey: Any = survey_obj(b"usemtl unused\nusemtl\n" + text, "a.obj")
    assert survey["materials"] == ["unused", "x", "y"]
    found = {(one["object"], one["group"]): one["materials"] for one in survey["parts"]}
    assert found == {("a", ""): [-1], ("a", "b"): [1, 2], ("c", ""): [-1]}


def test_libraries_keep_the_order_of_the_file() -> None:
    survey = survey_obj(b"mtllib z.mtl\nmtllib a.mtl z.mtl\n", "a.obj")
    assert (survey["libraries"], survey["refs"]) == (["z.mtl", "a.mtl"], ["a.mtl", "z.mtl"])


def test_file_without_faces_has_no_bounds() -> None:
    survey = survey_obj(b"v 0 0 0\nmtllib a.mtl", "a.obj")
    assert (survey["bounds"], survey["parts"], survey["refs"]) == (None, [], ["a.mtl"])


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"v 1 2 x\n", "1"),
        (b"\nv 1 2\n", "2"),
        (b"v 1 nan 2\n", "1"),
        (b"v 1 2 3\nv 1 1e39 2\n", "2"),
        (b"v 1 2 3\nf 1 1 2\n", "2"),
        (b"v 1 2 3\nf 1 1 -2\n", "2"),
        (b"v 1 2 3\nf 1 1 0\n", "2"),
        (b"v 1 2 3\nf 1 1 x\n", "2"),
    ],
)
def test_what_has_no_bounds_is_refused_with_its_line(text: bytes, line: str) -> None:
    with pytest.raises(EncodeError) as caught:
        survey_obj(text, "a.obj")
    assert (caught.value.facts["file"], caught.value.facts["line"]) == ("a.obj", line)


@QUICK
@given(obj_files())
def test_survey_agrees_with_the_decoded_mesh(data: bytes) -> None:
    survey: Any = survey_obj(data, "a.obj")
    obj = decode_obj(data, "a.obj")
    names = {(part.object, part.group) for part in obj.mesh.parts}
    assert survey["bounds"] == bounds_of(data)
    assert survey["triangles"] == obj.mesh.triangle_count
    assert {(part["object"], part["group"]) for part in survey["parts"]} == names
    assert {material.name for material in obj.mesh.materials} <= set(survey["materials"])


def test_survey_of_a_grid_agrees_with_the_decoded_mesh() -> None:
    data = make_grid(20)
    survey = survey_obj(data, "grid.obj")
    assert (survey["bounds"], survey["triangles"]) == (bounds_of(data), 800)


@QUICK
@given(damaged(obj_files()))
def test_damaged_file_is_surveyed_or_refused_by_name(data: bytes) -> None:
    try:
        survey = survey_obj(data, "a.obj")
    except EncodeError as error:
        survey = {"file": error.facts["file"]}
    assert json.dumps(survey, allow_nan=False)
    assert survey.get("file", "a.obj") == "a.obj"
