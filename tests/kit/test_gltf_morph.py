"""Morph targets at their default weights."""

from __future__ import annotations

import numpy as np
import pytest

from encoders.kit.error import EncodeError
from encoders.kit.source.gltf.geometry.scene import place_primitives
from encoders.kit.source.gltf.source import decode_gltf
from encoders.kit.source.gltf.subset import write_subset
from encoders.kit.source.gltf.survey import survey_gltf
from tests.kit.glb_builder import POSITIONS, Builder, quad


def morphed(weights=(0.5, 2.0), **node) -> Builder:
    """A square whose first target lifts it along z and whose second leans its normals to x."""
    builder = quad(**node)
    mesh = builder.json["meshes"][0]
    mesh["primitives"][0]["targets"] = [
        {"POSITION": builder.accessor([(0, 0, 4)] * 4, bounds=True)},
        {
            "NORMAL": builder.accessor([(0.5, 0, 0)] * 4),
            "TANGENT": builder.accessor([(0, 0, -0.5)] * 4),
        },
    ]
    if weights:
        mesh["weights"] = list(weights)
    return builder


def placed(builder: Builder):
    gltf = decode_gltf(builder.glb(), "a")
    return [one.primitive for one in place_primitives(gltf)], gltf


def test_default_weights_move_positions_normals_and_tangents():
    (primitive,), gltf = placed(morphed())
    np.testing.assert_array_equal(primitive.position, np.add(POSITIONS, (0, 0, 2)))
    half = np.sqrt(0.5)
    np.testing.assert_allclose(primitive.normal, [(half, 0, half)] * 4, atol=1e-6)
    np.testing.assert_allclose(primitive.tangent, [(half, 0, -half, 1)] * 4, atol=1e-6)
    assert "default weights" in gltf.warnings[0]


def test_weights_of_a_node_count_before_those_of_its_mesh():
    builder = morphed(weights=[0.25, 0])
    builder.json["nodes"][0]["weights"] = [1, 0]
    builder.add("nodes", mesh=0)
    builder.json["scenes"] = [{"nodes": [0, 1]}]
    (one, other), _ = placed(builder)
    assert (one.position[0, 2], other.position[0, 2]) == (4, 1)


@pytest.mark.parametrize("weights", [(), (0.0, 0.0)])
def test_targets_without_a_weight_change_nothing(weights):
    (primitive,), gltf = placed(morphed(weights))
    np.testing.assert_array_equal(primitive.position, POSITIONS)
    assert "were ignored" in gltf.warnings[0]


def test_surveyed_bounds_hold_the_morphed_shape():
    survey = survey_gltf(morphed().glb(), "a")
    assert survey["bounds"] == {"min": [0, 0, 2], "max": [1, 1, 2]}


def test_part_of_a_file_keeps_targets_only_where_weights_use_them():
    for builder, height in ((morphed(), 2), (morphed(weights=()), 0)):
        gltf = decode_gltf(builder.glb(), "a")
        part = decode_gltf(write_subset(gltf, [0]), "part")
        assert place_primitives(part)[0].primitive.position[0, 2] == height
        assert bool(part.document.meshes[0].primitives[0].targets) == bool(height)


def test_target_of_another_size_is_refused():
    builder = morphed()
    targets = builder.json["meshes"][0]["primitives"][0]["targets"]
    targets[0]["POSITION"] = builder.accessor([(0, 0, 1)] * 3)
    with pytest.raises(EncodeError, match="does not fit its mesh"):
        placed(builder)
