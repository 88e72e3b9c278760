"""GLB export: three readers find the triangles, colours, skin and clip that went in."""

from __future__ import annotations

import io
import json

import numpy as np
import pygltflib
import pytest
import trimesh
from PIL import Image

from encoders.kit.error import EncodeError
from encoders.kit.source.gltf.animation import decode_clip
from encoders.kit.source.gltf.pose import sample_model
from encoders.kit.source.gltf.source import open_gltf
from encoders.kit.source.model import open_model
from encoders.kit.view.glb import encode_glb
from encoders.kit.view.scene import ViewClip, ViewMaterial, ViewMesh, ViewPicture, ViewScene
from encoders.kit.view.soup import bone_matrices, make_soup


def sphere(**columns) -> ViewMesh:
    made = trimesh.creation.icosphere(1)
    uv = np.column_stack([made.vertices[:, 0], made.vertices[:, 1]]) / 2 + 0.5
    return ViewMesh(
        made.vertices, made.faces, normal=np.asarray(made.vertex_normals), uv=uv, **columns
    )


def rigged(frames: int = 5) -> ViewScene:
    chance = np.random.default_rng(1)
    mesh = sphere()
    joints = chance.integers(0, 3, (len(mesh.position), 4)).astype(np.uint8)
    weights = chance.integers(0, 100, joints.shape) + 1.0
    weights /= weights.sum(axis=1, keepdims=True)
    rotation = chance.normal(size=(frames, 3, 4))
    rotation /= np.sqrt((rotation**2).sum(axis=2, keepdims=True))
    translation = chance.normal(size=(frames, 3, 3))
    clip = ViewClip("turn", translation, rotation, np.full((frames, 3, 3), 1.5), 15)
    binds = np.tile(np.eye(4), (3, 1, 1))
    binds[:, :3, 3] = chance.normal(size=(3, 3))
    skinned = ViewMesh(
        mesh.position, mesh.triangles, normal=mesh.normal, joints=joints, weights=weights
    )
    return ViewScene((skinned,), inverse_binds=binds, clip=clip)


def sorted_triangles(points) -> np.ndarray:
    """Triangles in an order that does not depend on the file's; corners keep theirs."""
    rows = np.round(np.asarray(points, float).reshape(-1, 9), 4) + 0.0
    return rows[np.lexsort(rows.T)]


def test_three_readers_find_the_same_triangles_in_their_places():
    matrix = np.eye(4)
    matrix[:3, :3] = [[0, 0, 2], [0, 2, 0], [-2, 0, 0]]
    matrix[:3, 3] = (5, 6, 7)
    scene = ViewScene((sphere(), sphere(matrix=matrix, material=1)), (ViewMaterial(),) * 2)
    data = encode_glb(scene)
    expected = sorted_triangles(make_soup(scene).points)
    loaded = trimesh.load(io.BytesIO(data), file_type="glb").to_geometry()
    assert np.array_equal(sorted_triangles(loaded.triangles), expected)
    ours = open_model({"a.glb": data}, "a.glb").mesh
    assert np.array_equal(sorted_triangles(ours.position.values[ours.position.corner]), expected)
    third = pygltflib.GLTF2().load_from_bytes(data)
    assert sum(third.accessors[one.primitives[0].indices].count for one in third.meshes) == (
        2 * 3 * len(sphere().triangles)
    )


def test_textures_colours_and_materials_come_back():
    texture = np.random.default_rng(2).integers(0, 256, (4, 8, 4)).astype(np.uint8)
    material = ViewMaterial("leaf", (1, 0.5, 0, 1), texture, cutoff=0.25, is_double_sided=True)
    colors = np.full((len(sphere().position), 4), 0.5)
    scene = ViewScene((sphere(color=colors, name="tree"),), (material,))
    document = pygltflib.GLTF2().load_from_bytes(encode_glb(scene))
    found = document.materials[0]
    assert (found.name, found.alphaMode, found.alphaCutoff) == ("leaf", "MASK", 0.25)
    assert found.doubleSided
    # sRGB 0.5 is 0.2159 of linear light.
    assert found.pbrMetallicRoughness.baseColorFactor == pytest.approx([1, 0.2159, 0, 1], abs=2e-3)
    view = document.bufferViews[document.images[0].bufferView]
    blob = document.binary_blob()[view.byteOffset :][: view.byteLength]
    assert np.array_equal(np.array(Image.open(io.BytesIO(blob))), texture)
    ours = open_model({"a.glb": encode_glb(scene)}, "a.glb").mesh
    assert ours.color.values.reshape(-1, 4)[:, :3] == pytest.approx(0.2159, abs=2e-3)
    uv = ours.uv[0].values[ours.uv[0].corner].reshape(-1, 2)
    assert np.allclose(np.unique(uv, axis=0), np.unique(scene.meshes[0].uv.astype("f4"), axis=0))


def test_a_texture_that_materials_share_is_stored_once():
    texture = np.zeros((2, 2, 4), np.uint8)
    materials = tuple(ViewMaterial(texture=texture) for _ in range(3))
    document = pygltflib.GLTF2().load_from_bytes(encode_glb(ViewScene((sphere(),), materials)))
    assert (len(document.images), len(document.textures)) == (1, 3)


def test_our_reader_finds_the_pose_of_every_frame():
    scene = rigged()
    assert scene.clip is not None
    gltf = open_gltf({"a.glb": encode_glb(scene)}, "a.glb")
    joints = list(gltf.document.skins[0].joints)
    clip = decode_clip(gltf, 0)
    times = np.arange(5, dtype=np.float32) / 15
    poses = np.asarray(sample_model(gltf, clip, joints, times))
    for frame in range(5):
        assert np.allclose(poses[frame], bone_matrices(scene.clip, frame), atol=1e-4)


def test_a_skin_follows_what_gltf_asks_for():
    document = pygltflib.GLTF2().load_from_bytes(encode_glb(rigged()))
    skin, primitive = document.skins[0], document.meshes[0].primitives[0]
    root = document.nodes[skin.skeleton]
    assert root.children == skin.joints
    assert all(document.nodes[joint].matrix is None for joint in skin.joints)
    accessor = document.accessors[primitive.attributes.WEIGHTS_0]
    view = document.bufferViews[accessor.bufferView]
    blob = document.binary_blob()[view.byteOffset :][: view.byteLength]
    weights = np.frombuffer(blob, "<f4").reshape(-1, 4)
    assert np.allclose(weights.sum(axis=1), 1, atol=1e-6)
    clock = document.accessors[document.animations[0].samplers[0].input]
    assert clock.max == pytest.approx([4 / 15])


def test_normals_without_a_length_become_unit_vectors():
    mesh = sphere()
    flat = ViewMesh(mesh.position, mesh.triangles, normal=np.zeros((len(mesh.position), 3)))
    ours = open_model({"a.glb": encode_glb(ViewScene((flat,)))}, "a.glb").mesh
    lengths = np.sqrt((ours.normal.values.astype(float) ** 2).sum(axis=-1))
    assert lengths == pytest.approx(1)


def test_accessors_are_aligned_and_inside_the_buffer():
    data = encode_glb(rigged())
    size = int.from_bytes(data[12:16], "little")
    document = json.loads(data[20 : 20 + size])
    length = document["buffers"][0]["byteLength"]
    for view in document["bufferViews"]:
        assert view.get("byteOffset", 0) % 4 == 0
        assert view.get("byteOffset", 0) + view["byteLength"] <= length


def test_what_has_no_triangles_is_refused():
    with pytest.raises(EncodeError, match="no --glb"):
        encode_glb(ViewPicture(np.zeros((1, 1, 4), np.uint8)))
    with pytest.raises(EncodeError, match="nothing to export"):
        encode_glb(ViewScene((ViewMesh(np.zeros((3, 3)), np.zeros((0, 3), int)),)))
    broken = ViewMesh(np.full((3, 3), np.nan), np.array([(0, 1, 2)]))
    with pytest.raises(EncodeError, match="no place"):
        encode_glb(ViewScene((broken,)))


@pytest.mark.parametrize("place", [np.nan, np.inf, 1e39])
def test_a_vertex_whose_place_a_glb_cannot_hold_is_refused(place):
    mesh = sphere()
    mesh.position[0, 1] = place
    with pytest.raises(EncodeError, match="a vertex has no place"):
        encode_glb(ViewScene((mesh,)))
