"""What a survey says, without bulk data."""

import json
from pathlib import Path

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.kit.error import EncodeError
from encoders.kit.source.gltf.source import decode_gltf
from encoders.kit.source.gltf.survey import survey_gltf
from encoders.kit.source.gltf.world import decode_world
from tests.kit.glb_builder import POSITIONS, Builder, glb, quad

CHAIN = (Path(__file__).parent / "data" / "chain.glb").read_bytes()


def test_chain_is_surveyed_whole():
    survey = survey_gltf(CHAIN, "chain.glb")
    assert survey["clips"] == [
        {"name": "Bend", "duration": 1.0, "channels": 3},
        {"name": "Step", "duration": 1.0, "channels": 1},
        {"name": "Cubic", "duration": 1.0, "channels": 1},
        {"name": "Late", "duration": 0.75, "channels": 1},
    ]
    assert survey["skins"] == [{"name": "rig", "joints": ["root", "mid", "tip"], "count": 3}]
    assert [node["name"] for node in survey["nodes"]] == ["root", "mid", "tip", "quad"]
    assert survey["triangles"] == 2
    assert survey["bounds"] == {"min": [-0.5, 0, 0], "max": [0.5, 3, 0]}
    assert json.loads(json.dumps(survey)) == survey


def without_size(survey: dict) -> dict:
    return {key: value for key, value in survey.items() if key != "stored_bytes"}


def test_only_the_json_is_looked_at():
    builder = quad()
    with_data, without = builder.glb(), glb(builder.document())
    assert without_size(survey_gltf(with_data, "a")) == without_size(survey_gltf(without, "a"))


def test_text_and_binary_form_give_the_same_survey():
    builder = quad()
    binary, text = survey_gltf(builder.glb(), "a"), survey_gltf(builder.gltf(), "a")
    assert without_size(binary) == without_size(text)


def test_refs_are_external_uris_as_written_once_and_sorted():
    document = {
        "asset": {"version": "2.0"},
        "buffers": [
            {"uri": "z.bin", "byteLength": 1},
            {"uri": "data:;base64,AA==", "byteLength": 1},
            {"byteLength": 1},
            {
                "uri": "old.bin",
                "byteLength": 1,
                "extensions": {"EXT_meshopt_compression": {"fallback": True}},
            },
        ],
        "images": [{"uri": "a%20b.png"}, {"uri": "a%20b.png"}, {"bufferView": 0, "name": "in"}],
    }
    survey = survey_gltf(json.dumps(document).encode(), "a.gltf")
    assert survey["refs"] == ["a%20b.png", "z.bin"]
    assert survey["images"][2] == {"name": "in", "uri": None, "buffer_view": 0, "mime": ""}


def test_survey_says_which_slot_an_image_is_for():
    document = {
        "asset": {"version": "2.0"},
        "images": [{"uri": "a.png"}, {"uri": "data:,"}, {"uri": "n.png"}],
        "textures": [{"source": 0}, {"source": 1}, {"source": 2}, {}, {"source": 9}],
        "materials": [
            {"pbrMetallicRoughness": {"baseColorTexture": {"index": number}}}
            for number in (0, 0, 1, 3, 4, 9)
        ]
        + [{"normalTexture": {"index": 2}}],
    }
    survey = survey_gltf(json.dumps(document).encode(), "a.gltf")
    slots = [surface["images"] for surface in survey["surfaces"]]
    base = [{"base_color": {"image": number}} for number in (0, 0, 1)]
    assert slots == [*base, {}, {}, {}, {"normal": {"image": 2}}]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-5, 5, width=32), min_size=3, max_size=3),
    st.lists(st.floats(-3, 3, width=32), min_size=3, max_size=3),
    st.sampled_from([[0, 0, 0, 1], [0.5, 0.5, 0.5, 0.5], [0, 0.6, 0, 0.8]]),
)
def test_bounds_hold_every_baked_vertex(translation, scale, rotation):
    data = quad(translation=translation, scale=scale, rotation=rotation).glb()
    bounds = survey_gltf(data, "a")["bounds"]
    position = decode_world(decode_gltf(data, "a")).position.values
    assert (position >= np.array(bounds["min"]) - 1e-5).all()
    assert (position <= np.array(bounds["max"]) + 1e-5).all()


def test_bounds_are_those_of_trimesh():
    builder = quad(translation=[1, 2, 3], scale=[2, 1, 1])
    bounds = survey_gltf(builder.glb(), "a")["nodes"][0]["bounds"]
    with trimesh.util.BytesIO(builder.glb()) as stream:
        other = trimesh.load_scene(stream, file_type="glb").bounds
    np.testing.assert_allclose([bounds["min"], bounds["max"]], other)


def test_normalised_bounds_are_real_values():
    builder = Builder()
    positions = builder.accessor(np.array(POSITIONS) * 127, "i1", bounds=True, normalized=True)
    builder.mesh({"POSITION": positions})
    builder.add("nodes", mesh=0, scale=[10, 10, 10])
    assert survey_gltf(builder.glb(), "a")["bounds"] == {"min": [0, 0, 0], "max": [10, 10, 0]}


def test_bounds_that_are_not_declared_are_unknown():
    builder = quad()
    for missing in ({"min": None}, {"max": [None, 1, 1]}):
        builder.json["accessors"][0] |= missing
        assert survey_gltf(builder.glb(), "a")["nodes"][0]["bounds"] is None


@pytest.mark.parametrize(("mode", "triangles"), [(1, 0), (4, 2), (5, 4), (6, 4)])
def test_triangles_are_counted_by_mode(mode, triangles):
    builder = quad()
    builder.json["meshes"][0]["primitives"][0]["mode"] = mode
    survey = survey_gltf(builder.glb(), "a")
    assert survey["meshes"][0]["triangles"] == triangles
    assert survey["triangles"] == triangles


def test_extensions_and_materials_are_listed():
    builder = quad()
    builder.add("materials", name="paint")
    builder.json |= {"extensionsUsed": ["B", "A"], "extensionsRequired": ["B"]}
    survey = survey_gltf(builder.glb(), "a")
    assert survey["extensions"] == {"used": ["A", "B"], "required": ["B"]}
    assert survey["materials"] == ["paint"]


def test_clip_without_declared_times_has_no_duration():
    builder = Builder()
    keys = builder.accessor([0.0, 1.0])
    builder.add("nodes")
    channel = {"sampler": 0, "target": {"node": 0, "path": "scale"}}
    builder.add("animations", samplers=[{"input": keys, "output": keys}], channels=[channel])
    assert survey_gltf(builder.glb(), "a")["clips"][0]["duration"] is None


def test_survey_of_a_broken_file_names_it():
    with pytest.raises(EncodeError) as error:
        survey_gltf(b"glTF", "broken.glb")
    assert error.value.facts["file"] == "broken.glb"
