"""Instances and invisible nodes, as every reader of a document meets them."""

from __future__ import annotations

import numpy as np
import pytest

from encoders.kit.error import EncodeError
from encoders.kit.source.gltf.document import instance
from encoders.kit.source.gltf.document.node import scene_nodes
from encoders.kit.source.gltf.geometry.scene import place_primitives
from encoders.kit.source.gltf.source import decode_gltf
from encoders.kit.source.gltf.subset import write_subset
from encoders.kit.source.gltf.survey import survey_gltf
from encoders.kit.source.model import open_model
from tests.kit.glb_builder import Builder, quad

PLACES = [(0, 0, 0), (10, 0, 0), (0, 0, 5)]
TURN = (0, np.sqrt(0.5), 0, np.sqrt(0.5))


def instanced(attributes: dict[str, int], builder: Builder, **node) -> Builder:
    extension = {"EXT_mesh_gpu_instancing": {"attributes": attributes}}
    builder.json["nodes"][0] |= {"extensions": extension, **node}
    builder.json["extensionsUsed"] = ["EXT_mesh_gpu_instancing"]
    return builder


def grove(**node) -> Builder:
    builder = quad()
    return instanced({"TRANSLATION": builder.accessor(PLACES)}, builder, **node)


def test_every_instance_is_an_object_with_a_name_of_its_own():
    model = open_model({"a.glb": grove().glb()}, "a.glb")
    assert [one.name for one in model.objects] == ["place.0", "place.1", "place.2"]
    assert model.mesh.triangle_count == 6
    starts = model.mesh.position.values[::4]
    np.testing.assert_array_equal(starts, PLACES)


def test_instance_stands_in_the_space_of_its_node():
    builder = grove(translation=[0, 1, 0], scale=[2, 2, 2])
    model = open_model({"a.glb": builder.glb()}, "a.glb")
    np.testing.assert_array_equal(
        model.mesh.position.values[::4], np.add(np.multiply(PLACES, 2), (0, 1, 0))
    )


def test_rotation_and_scale_of_instances_may_be_quantised():
    builder = quad()
    turn = np.round(np.multiply(TURN, 32767))
    attributes = {
        "ROTATION": builder.accessor([turn], "i2", normalized=True),
        "SCALE": builder.accessor([(2, 3, 4)], "u1"),
        "_ID": builder.accessor([7.0]),
    }
    builder = instanced(attributes, builder)
    model = open_model({"a.glb": builder.glb()}, "a.glb")
    # x becomes -z after it was doubled.
    np.testing.assert_allclose(model.mesh.position.values[1], (0, 0, -2), atol=1e-4)
    np.testing.assert_allclose(model.mesh.position.values[2], (0, 3, 0), atol=1e-4)


def test_survey_places_each_instance():
    survey = survey_gltf(grove().glb(), "a.glb")
    assert [part["object"] for part in survey["parts"]] == ["place.0", "place.1", "place.2"]
    lows = [part["bounds"]["min"] for part in survey["parts"]]
    assert lows == [list(place) for place in PLACES]
    assert survey["triangles"] == 6


def test_survey_does_not_guess_places_that_are_in_another_file():
    survey = survey_gltf(grove().gltf("a.bin"), "a.gltf")
    assert [part["bounds"] for part in survey["parts"]] == [None] * 3


def test_survey_and_model_number_nodes_alike():
    data = grove().glb()
    model = open_model({"a.glb": data}, "a.glb")
    nodes = [part["node"] for part in survey_gltf(data, "a.glb")["parts"]]
    assert [part.node for part in model.mesh.parts] == nodes


def test_part_of_a_file_keeps_its_instances():
    part = decode_gltf(write_subset(decode_gltf(grove().glb(), "a"), [0]), "part")
    assert len(place_primitives(part)) == 3


def test_skinned_mesh_has_no_instances():
    builder = grove(skin=0)
    builder.json["skins"] = [{"joints": [0]}]
    gltf = decode_gltf(builder.glb(), "a")
    assert len(scene_nodes(gltf.document, "a")) == 1
    assert gltf.warnings[0].startswith('"place" (nodes[0]) is skinned')


def test_attributes_of_different_counts_are_refused_by_the_name_of_the_node():
    builder = quad()
    attributes = {
        "TRANSLATION": builder.accessor(PLACES),
        "SCALE": builder.accessor([(1, 1, 1)]),
    }
    with pytest.raises(EncodeError, match="do not fit") as error:
        decode_gltf(instanced(attributes, builder).glb(), "a")
    assert error.value.facts["at"] == '"place" (nodes[0])'


def test_translation_of_a_wrong_type_is_refused():
    builder = quad()
    wrong = instanced({"TRANSLATION": builder.accessor([(1, 2)])}, builder)
    with pytest.raises(EncodeError, match="wrong type"):
        decode_gltf(wrong.glb(), "a")


@pytest.mark.parametrize(
    ("limit", "problem"),
    [("INSTANCE_LIMIT", "too many instances"), ("TRIANGLE_LIMIT", "too many triangles")],
)
def test_more_instances_than_anybody_can_mean_are_refused(monkeypatch, limit, problem):
    monkeypatch.setattr(instance, limit, 2)
    data = grove().glb()
    for read in (decode_gltf, survey_gltf):
        with pytest.raises(EncodeError, match=problem) as error:
            read(data, "a")
        assert error.value.facts["allowed"] == "2"


def test_instances_without_data_are_refused_before_they_are_made():
    builder = quad()
    accessor = builder.add("accessors", componentType=5126, count=1 << 40, type="VEC3")
    with pytest.raises(EncodeError, match="too many instances"):
        decode_gltf(instanced({"TRANSLATION": accessor}, builder).glb(), "a")


def test_invisible_node_is_left_out_with_all_below_it():
    builder = quad(children=[1])
    builder.add("nodes", name="child", mesh=0)
    builder.add("nodes", name="other", mesh=0)
    builder.json["scenes"] = [{"nodes": [0, 2]}]
    builder.json["nodes"][0]["extensions"] = {"KHR_node_visibility": {"visible": False}}
    data = builder.glb()
    shown = [part["object"] for part in survey_gltf(data, "a")["parts"]]
    placed = [one.node_name for one in place_primitives(decode_gltf(data, "a"))]
    assert shown == placed == ["other"]


def test_part_of_a_file_keeps_nodes_invisible():
    builder = quad(extensions={"KHR_node_visibility": {"visible": False}})
    part = decode_gltf(write_subset(decode_gltf(builder.glb(), "a"), [0]), "part")
    assert place_primitives(part) == []


def test_visible_node_is_shown():
    builder = quad(extensions={"KHR_node_visibility": {}})
    assert len(place_primitives(decode_gltf(builder.glb(), "a"))) == 1
