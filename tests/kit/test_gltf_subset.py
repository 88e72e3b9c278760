"""Parts of a glTF file: they decode to what the whole decodes to, and to the same bytes again."""

import numpy as np
import pytest

from encoders.kit.error import EncodeError
from encoders.kit.source.gltf.animation import decode_clip
from encoders.kit.source.gltf.geometry.mesh import decode_primitive
from encoders.kit.source.gltf.geometry.skin import decode_skin
from encoders.kit.source.gltf.source import decode_gltf
from encoders.kit.source.gltf.subset import write_subset
from tests.kit.glb_builder import Builder, quad
from tests.kit.test_gltf_mesh import draco


def opened(data: bytes):
    return decode_gltf(data, "a.glb")


def moving() -> Builder:
    builder = quad()
    builder.add("nodes", name="joint")
    matrices = builder.accessor(np.arange(16.0).reshape(1, 16), kind="MAT4")
    builder.add("skins", name="skin", joints=[1], inverseBindMatrices=matrices)
    for number in range(2):
        keys = builder.accessor([0.0, 1.0 + number])
        values = builder.accessor([(0, 0, 0), (number, 0, 0)])
        target = {"node": 1, "path": "translation"}
        builder.add(
            "animations",
            name=f"clip{number}",
            samplers=[{"input": keys, "output": values}],
            channels=[{"sampler": 0, "target": target}],
        )
    return builder


def test_a_mesh_in_a_part_has_the_arrays_of_the_whole() -> None:
    whole, part = opened(moving().glb()), opened(write_subset(opened(moving().glb()), [0]))
    mine, theirs = decode_primitive(part, 0, 0), decode_primitive(whole, 0, 0)
    assert (mine.position == theirs.position).all()
    assert (mine.uv[0] == theirs.uv[0]).all()
    assert (mine.triangles == theirs.triangles).all()
    assert [node.name for node in part.document.nodes] == ["place", "joint"]
    assert not part.document.animations


def test_a_clip_and_a_skin_in_a_part_are_those_of_the_whole() -> None:
    part = opened(write_subset(opened(moving().glb()), skin=0, clip=1))
    clip, skin = decode_clip(part, 0), decode_skin(part, 0)
    assert (clip.name, float(clip.duration)) == ("clip1", 2.0)
    assert skin.inverse_bind[0].T.reshape(-1).tolist() == list(range(16))
    assert len(part.document.accessors) == 3
    assert not part.document.meshes


def test_a_part_does_not_change_with_the_rest_of_the_file() -> None:
    before = write_subset(opened(moving().glb()), skin=0, clip=0)
    changed = moving()
    changed.accessor(np.ones((100, 3)))
    changed.add("materials", name="new")
    changed.json["animations"][1]["name"] = "renamed"
    assert write_subset(opened(changed.glb()), skin=0, clip=0) == before


def test_a_part_of_a_part_is_the_part() -> None:
    part = write_subset(opened(moving().glb()), [0], 0, 1)
    assert write_subset(opened(part), [0], 0, 0) == part


def test_sparse_and_strided_accessors_are_written_out() -> None:
    builder = quad()
    index = builder.view(np.array([1], "<u2").tobytes())
    value = builder.view(np.array([9, 9, 9], "<f4").tobytes())
    builder.json["accessors"][0]["sparse"] = {
        "count": 1,
        "indices": {"bufferView": index, "componentType": 5123},
        "values": {"bufferView": value},
    }
    part = opened(write_subset(opened(builder.glb()), [0]))
    assert decode_primitive(part, 0, 0).position[1].tolist() == [9, 9, 9]
    assert part.document.accessors[0].sparse is None


def test_compressed_geometry_stays_compressed() -> None:
    whole = draco()
    part = opened(write_subset(opened(whole.glb()), [0]))
    mine, theirs = decode_primitive(part, 0, 0), decode_primitive(opened(whole.glb()), 0, 0)
    assert (mine.position == theirs.position).all()
    assert (mine.joints == theirs.joints).all()


@pytest.mark.parametrize("what", [{"meshes": [4]}, {"skin": 4}, {"clip": 4}])
def test_what_is_not_there_is_refused(what) -> None:
    with pytest.raises(EncodeError, match="points at nothing"):
        write_subset(opened(moving().glb()), **what)
