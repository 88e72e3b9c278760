"""What exporters write: parts hung on joints, several skins, nodes as bones, clips elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from encoders.emberware.format.clip import unpack_clip
from encoders.emberware.format.skeleton import unpack_skeleton
from encoders.kit.error import EncodeError
from encoders.kit.plan import Source
from tests.encoders.emberware_build import (
    clip_matrices,
    document_of,
    encode,
    local,
    plan,
    skin_positions,
    worlds,
)
from tests.encoders.emberware_reader import read_mesh
from tests.kit.glb_builder import Builder

HALF = 0.7071067811865476
TRIANGLE = np.array([(0, 0, 0), (1, 0, 0), (0, 2, 0)], float)
# Half floats of values up to 8 are off by 1/256; weights and rotations add as much again.
TOLERANCE = 1 / 64


def triangle(builder: Builder, name: str, **attributes) -> int:
    parts = {
        "POSITION": builder.accessor(TRIANGLE, bounds=True),
        "NORMAL": builder.accessor([(0, 0, 1)] * 3),
        **attributes,
    }
    return builder.mesh(parts, name)


def skin(builder: Builder, joints: list[int], name: str = "rig", bind=None) -> int:
    """A skin that is bound away from its rest pose: by twice its size, and turned."""
    found = worlds(builder.json)
    turned = local({"rotation": (0, HALF, 0, HALF), "scale": (2, 2, 2), "translation": (3, 0, 1)})
    matrices = [np.linalg.inv(found[joint]) @ np.linalg.inv(turned) for joint in joints]
    stored = builder.accessor([one.T.reshape(16) for one in bind or matrices], "f4", "MAT4")
    return builder.add("skins", name=name, joints=joints, inverseBindMatrices=stored)


def bound(builder: Builder, joint: int = 0, count: int = 3) -> dict:
    return {
        "JOINTS_0": builder.accessor([(joint, 0, 0, 0)] * count, "u1"),
        "WEIGHTS_0": builder.accessor([(1, 0, 0, 0)] * count),
    }


def animate(builder: Builder, name: str, node: int, path: str, values) -> None:
    times = builder.accessor(np.arange(len(values)) / 30, bounds=True)
    sampler = {"input": times, "output": builder.accessor(values)}
    channel = {"sampler": 0, "target": {"node": node, "path": path}}
    builder.add("animations", name=name, samplers=[sampler], channels=[channel])


def hero(**hat) -> Builder:
    """An armature of two joints with a skinned body, and a hat that hangs below the second."""
    builder = Builder()
    builder.add(
        "nodes", name="Armature", children=[1, 3], scale=[0.5] * 3, rotation=[0, 0, HALF, HALF]
    )
    builder.add("nodes", name="hips", children=[2], translation=[0, 1, 0])
    builder.add(
        "nodes", name="head", children=[4], translation=[0, 2, 1], rotation=[HALF, 0, 0, HALF]
    )
    body, cap = triangle(builder, "body", **bound(builder, 1)), triangle(builder, "cap")
    builder.add("nodes", name="body", mesh=body, skin=0)
    builder.add("nodes", name="socket", children=[5], translation=[0, 0, 1])
    builder.add("nodes", name="hat", mesh=cap, **{"translation": [1, 0, 0], **hat})
    builder.add("scenes", nodes=[0])
    skin(builder, [1, 2])
    animate(builder, "nod", 2, "rotation", [(0, 0, 0, 1), (0, HALF, 0, HALF), (0, 0, 0, 1)])
    return builder


def moved(matrix: np.ndarray) -> np.ndarray:
    return TRIANGLE @ matrix[:3, :3].T + matrix[:3, 3]


def hero_points(document: dict, **changed) -> np.ndarray:
    """The vertices of body and hat as the scene shows them, by plain numpy."""
    found = worlds(document, **changed)
    turned = local({"rotation": (0, HALF, 0, HALF), "scale": (2, 2, 2), "translation": (3, 0, 1)})
    rest = np.linalg.inv(worlds(document)[2])
    # The hat comes first: the scene is walked depth first.
    return np.concatenate((moved(found[5]), moved(found[2] @ rest @ np.linalg.inv(turned))))


@pytest.mark.parametrize("hat", [{}, {"scale": [1, -2, 1]}, {"rotation": [0, HALF, 0, HALF]}])
def test_a_part_on_a_joint_is_drawn_where_the_scene_shows_it(hat) -> None:
    model = hero(**hat).glb()
    made, document = encode({"a.glb": model}, "a.glb"), document_of(model)
    mesh, skeleton = made["a.mesh"]["file"], made["a.skeleton"]["file"]
    rest = np.stack(worlds(document)[1:3])
    expected = hero_points(document)
    assert np.abs(skin_positions(mesh, skeleton, rest) - expected).max() < TOLERANCE
    assert {vertex["skin"] for vertex in read_mesh(mesh)["vertices"]} == {
        (1, 0, 0, 0, 255, 0, 0, 0)
    }


def test_a_part_on_a_joint_moves_with_the_clip() -> None:
    model = hero().glb()
    made, document = encode({"a.glb": model}, "a.glb"), document_of(model)
    bones = clip_matrices(made["a.clip.nod"]["file"], 1)
    found = skin_positions(made["a.mesh"]["file"], made["a.skeleton"]["file"], bones)
    expected = hero_points(document, head={"rotation": (0, HALF, 0, HALF)})
    assert np.abs(found - expected).max() < TOLERANCE
    assert np.abs(found - hero_points(document)).max() > 0.5


def test_a_mirrored_part_keeps_its_front_outside_when_it_is_skinned() -> None:
    model = hero(scale=[1, -2, 1]).glb()
    made, document = encode({"a.glb": model}, "a.glb"), document_of(model)
    rest = np.stack(worlds(document)[1:3])
    points = skin_positions(made["a.mesh"]["file"], made["a.skeleton"]["file"], rest)
    a, b, c = (points[index] for index in read_mesh(made["a.mesh"]["file"])["indices"][:3])
    # The hat's +z, from its node; a mirror along y leaves it.
    assert np.cross(b - a, c - a) @ worlds(document)[5][:3, 2] > 0


def test_a_part_that_hangs_on_no_joint_becomes_a_mesh_of_its_own() -> None:
    builder = hero()
    floor = triangle(builder, "floor")
    builder.json["scenes"][0]["nodes"].append(builder.add("nodes", name="floor", mesh=floor))
    made = encode({"a.glb": builder.glb()}, "a.glb")
    assert len(read_mesh(made["a.mesh"]["file"])["vertices"]) == 6
    static = read_mesh(made["a.mesh.static"]["file"])
    assert [vertex["position"][:3] for vertex in static["vertices"]] == [tuple(p) for p in TRIANGLE]
    assert static["format"] == 4  # normals, no joints
    nodes = {node.name: node for node in plan({"a.glb": builder.glb()}, "a.glb")}
    assert nodes["a.mesh.static"].outputs["file"] == "assets/a_static.ewzmesh"
    assert nodes["a.mesh"].outputs["file"] == "assets/a.ewzmesh"


def test_a_skin_that_is_asked_for_leaves_other_parts_out() -> None:
    builder = hero()
    floor = triangle(builder, "floor")
    builder.json["scenes"][0]["nodes"].append(builder.add("nodes", name="floor", mesh=floor))
    made = encode({"a.glb": builder.glb()}, "a.glb", skin="rig")
    assert "a.mesh.static" not in made
    assert len(read_mesh(made["a.mesh"]["file"])["vertices"]) == 6


def test_a_primitive_of_a_skinned_node_without_joints_hangs_on_the_joint_above() -> None:
    builder = hero(skin=0)  # the hat's node claims a skin that its vertices do not use
    made = encode({"a.glb": builder.glb()}, "a.glb")
    rest = np.stack(worlds(builder.json)[1:3])
    found = skin_positions(made["a.mesh"]["file"], made["a.skeleton"]["file"], rest)
    assert np.abs(found - hero_points(builder.json)).max() < TOLERANCE


@pytest.mark.parametrize("options", [{}, {"mesh": "body"}])
def test_joints_without_weights_are_refused(options) -> None:
    builder = hero()
    del builder.json["meshes"][0]["primitives"][0]["attributes"]["WEIGHTS_0"]
    with pytest.raises(EncodeError, match="not both"):
        encode({"a.glb": builder.glb()}, "a.glb", **options)


def two_heroes(first: str = "knight", second: str = "horse") -> Builder:
    builder = Builder()
    for number, name in enumerate((first, second)):
        joint = builder.add("nodes", name=f"bone{number}", translation=[number * 4, 0, 0])
        mesh = triangle(builder, f"mesh{number}", **bound(builder))
        builder.add("nodes", name=f"body{number}", mesh=mesh, skin=number)
        skin(builder, [joint], name)
    builder.add("scenes", nodes=[0, 1, 2, 3])
    animate(builder, "walk", 2, "translation", [(4, 0, 0), (5, 0, 0)])
    return builder


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (("knight", "horse"), ("knight", "horse")),
        (("", ""), ("0", "1")),
        (("Rig", "rig"), ("Rig_0", "rig_1")),
        (("static", "x"), ("static_0", "x")),
        (("a_1", "a"), ("a_1", "a")),
    ],
)
def test_several_skins_become_meshes_that_are_called_after_them(names, labels) -> None:
    model = {"a.glb": two_heroes(*names).glb()}
    files = [node.outputs.get("file") for node in plan(model, "a.glb")]
    for label in labels:
        assert f"assets/a_{label}.ewzmesh" in files
        assert f"assets/a_{label}.ewzskel" in files
        assert f"assets/a_{label}_walk.ewzanim" in files


def test_each_skin_has_its_own_vertices_bones_and_clips() -> None:
    builder = two_heroes()
    made = encode({"a.glb": builder.glb()}, "a.glb")
    bones = clip_matrices(made["a.clip.horse.walk"]["file"], 0)
    found = skin_positions(made["a.mesh.horse"]["file"], made["a.skeleton.horse"]["file"], bones)
    rest = np.stack([worlds(builder.json)[2]])
    mesh, skeleton = made["a.mesh.horse"]["file"], made["a.skeleton.horse"]["file"]
    assert np.abs(found - skin_positions(mesh, skeleton, rest)).max() < TOLERANCE
    assert len(read_mesh(made["a.mesh.knight"]["file"])["vertices"]) == 3


def door() -> Builder:
    """Two parts without a skin; one turns on a hinge and is flat at rest in one variant."""
    builder = Builder()
    builder.add("nodes", name="frame", mesh=triangle(builder, "frame"), translation=[2, 0, 0])
    builder.add("nodes", name="hinge", children=[2], translation=[0, 1, 0])
    builder.add("nodes", name="wing", mesh=triangle(builder, "wing"), scale=[1, 3, 1])
    builder.add("scenes", nodes=[0, 1])
    animate(builder, "open", 1, "rotation", [(0, 0, 0, 1), (0, HALF, 0, HALF), (0, 0, 0, 1)])
    return builder


def test_a_model_whose_clips_move_no_joint_still_gives_its_mesh() -> None:
    made = encode({"a.glb": door().glb()}, "a.glb")
    assert set(made) == {"a.parts", "a.mesh"}
    assert b'left out: 1; with `bones = "nodes"`' in made["a.mesh"]["warnings"]
    with pytest.raises(EncodeError, match="no skin that they move"):
        plan({"a.glb": door().glb()}, "a.glb", kinds=("animation",))


@pytest.mark.parametrize("scale", [(1, 3, 1), (1, 0, 1)])
def test_nodes_can_be_the_bones(scale) -> None:
    builder = door()
    builder.json["nodes"][2]["scale"] = list(scale)
    made = encode({"a.glb": builder.glb()}, "a.glb", bones="nodes")
    assert not made["a.mesh"]["warnings"]
    for frame, turn in ((0, (0, 0, 0, 1)), (1, (0, HALF, 0, HALF))):
        bones = clip_matrices(made["a.clip.open"]["file"], frame)
        found = skin_positions(made["a.mesh"]["file"], made["a.skeleton"]["file"], bones)
        shown = worlds(builder.json, hinge={"rotation": turn})
        expected = np.concatenate((moved(shown[0]), moved(shown[2])))
        assert np.abs(found - expected).max() < TOLERANCE


def test_nodes_are_no_bones_of_a_skinned_model() -> None:
    with pytest.raises(EncodeError, match="has a skin"):
        plan({"a.glb": hero().glb()}, "a.glb", bones="nodes")


def pack(prefix: str = "", **names) -> Builder:
    """A file with clips alone: the hero's nodes in another order, with other numbers."""
    builder = Builder()
    head, hips = names.get("head", "head"), names.get("hips", "hips")
    builder.add("nodes", name=f"{prefix}{head}", translation=[0, 2, 1], rotation=[HALF, 0, 0, HALF])
    builder.add("nodes", name=f"{prefix}{hips}", children=[0], translation=[0, 1, 0])
    builder.add(
        "nodes", name="Armature", children=[1], scale=[0.5] * 3, rotation=[0, 0, HALF, HALF]
    )
    builder.add("scenes", nodes=[2])
    animate(builder, "nod", 0, "rotation", [(0, 0, 0, 1), (0, HALF, 0, HALF), (0, 0, 0, 1)])
    return builder


def encode_pack(builder: Builder, **options) -> dict[str, bytes]:
    files = {"pack.glb": builder.glb(), "hero.glb": hero().glb()}
    made = encode(files, "pack.glb", skeleton="hero.glb", **options)
    return made["a.clip.nod"]


def test_a_clip_of_another_file_is_the_clip_of_the_skeletons_own_file() -> None:
    own = encode({"a.glb": hero().glb()}, "a.glb")["a.clip.nod"]["file"]
    made = encode_pack(pack())
    assert made["file"] == own
    assert not made["warnings"]


def test_a_prefix_of_names_can_be_left_out() -> None:
    own = encode({"a.glb": hero().glb()}, "a.glb")["a.clip.nod"]["file"]
    assert encode_pack(pack("mixamorig:"), bone_prefix="mixamorig:")["file"] == own
    with pytest.raises(EncodeError, match="no joint of the skeleton") as caught:
        encode_pack(pack("mixamorig:"))
    assert '"mixamorig:head"' in str(caught.value)
    assert "bone_prefix" in caught.value.hint


def test_names_without_a_match_are_listed_with_the_nearest() -> None:
    builder = pack(hips="Hips")
    animation = builder.json["animations"][0]
    animation["channels"].append({"sampler": 0, "target": {"node": 1, "path": "rotation"}})
    warnings = encode_pack(builder)["warnings"].decode()
    assert '1 nodes are not in hero.glb: "Hips" (nearest "hips")' in warnings


def test_rest_poses_that_differ_are_told_with_the_worst_joint() -> None:
    builder = pack()
    builder.json["nodes"][0] |= {"rotation": [0, 0, 0, 1], "translation": [0, 2, 1.5]}
    warnings = encode_pack(builder)["warnings"].decode()
    assert '"head" by 90.0 degrees and "head" by 0.5 units' in warnings


def test_joints_that_a_pack_does_not_move_rest_as_in_the_skeleton() -> None:
    frame = clip_matrices(encode_pack(pack())["file"], 1)
    assert np.abs(frame[0] - worlds(hero().json)[1]).max() < 0.01


def test_the_skeleton_file_is_an_input_of_the_clip() -> None:
    files = {"pack.glb": pack().glb(), "hero.glb": hero().glb()}
    nodes = {node.name: node for node in plan(files, "pack.glb", skeleton="hero.glb")}
    assert nodes["a.bones"].inputs["model"] == Source("hero.glb")
    assert nodes["a.clip.nod"].inputs["skeleton"].node == "a.bones"


def test_a_skeleton_that_is_missing_or_has_no_skin_is_refused_by_name() -> None:
    files = {"pack.glb": pack().glb()}
    with pytest.raises(EncodeError, match="skeleton not found"):
        encode(files, "pack.glb", skeleton="hero.glb")
    with pytest.raises(EncodeError, match="no such skin"):
        encode(files | {"hero.glb": door().glb()}, "pack.glb", skeleton="hero.glb")
    with pytest.raises(EncodeError, match="no file that has a skin"):
        plan(files, "pack.glb", skeleton="hero.obj")


def crowd(joints: int, used: int) -> Builder:
    """A skin of many joints, of which vertices use the last ones; unused slots hold the last."""
    builder = Builder()
    for number in range(joints):
        builder.add("nodes", name=f"j{number}", translation=[number / 64, 0, 0])
    first = joints - used
    rows = [(first + number % used, joints - 1, 0, 0) for number in range(max(used, 3) // 3 * 3)]
    attributes = {
        "POSITION": builder.accessor(np.tile(TRIANGLE, (len(rows) // 3, 1)), bounds=True),
        "JOINTS_0": builder.accessor(rows, "u2"),
        "WEIGHTS_0": builder.accessor([(1, 0, 0, 0)] * len(rows)),
    }
    mesh = builder.mesh(attributes)
    builder.add("nodes", name="body", mesh=mesh, skin=0)
    builder.add("scenes", nodes=list(range(joints + 1)))
    builder.add("skins", name="crowd", joints=list(range(joints)))
    animate(builder, "wave", joints - 1, "translation", [(0, 1, 0), (0, 2, 0)])
    return builder


def test_of_more_joints_than_a_clip_can_count_those_that_vertices_use_are_kept() -> None:
    made = encode({"a.glb": crowd(300, 6).glb()}, "a.glb")
    mesh = read_mesh(made["a.mesh"]["file"])
    assert [vertex["skin"][0] for vertex in mesh["vertices"]] == [0, 1, 2, 3, 4, 5]
    assert len(unpack_skeleton(made["a.skeleton"]["file"], "")) == 6
    clip = unpack_clip(made["a.clip.wave"]["file"], "")
    assert clip.position[0, 5].tolist() == [0, 1, 0]
    assert clip.position[0, 4, 0] == pytest.approx(298 / 64, abs=0.01)
    assert b"the 6 that vertices use were kept" in made["a.parts"]["warnings"]


def test_a_slot_of_no_weight_does_not_count_as_a_use() -> None:
    builder = crowd(257, 3)
    accessor = builder.json["meshes"][0]["primitives"][0]["attributes"]["JOINTS_0"]
    assert builder.json["accessors"][accessor]["componentType"] == 5123
    made = encode({"a.glb": builder.glb()}, "a.glb", kinds=("mesh",))
    assert read_mesh(made["a.mesh"]["file"])["vertices"][0]["skin"][0] == 0


def test_vertices_that_use_more_joints_than_a_clip_can_count_are_refused() -> None:
    with pytest.raises(EncodeError, match="too many bones"):
        encode({"a.glb": crowd(300, 258).glb()}, "a.glb", kinds=("skeleton",))
    with pytest.raises(EncodeError, match="more joints than a byte can number") as refused:
        encode({"a.glb": crowd(300, 258).glb()}, "a.glb", kinds=("mesh",))
    assert refused.value.facts["joints"] == "258"


def test_more_nodes_than_a_clip_can_count_are_no_bones() -> None:
    builder = Builder()
    mesh = triangle(builder, "one")
    nodes = [builder.add("nodes", name=f"n{number}", mesh=mesh) for number in range(256)]
    builder.add("scenes", nodes=nodes)
    with pytest.raises(EncodeError, match="too many"):
        encode({"a.glb": builder.glb()}, "a.glb", bones="nodes")


def test_import_options_reach_the_mesh() -> None:
    files = {"a.glb": door().glb()}
    made = encode(files, "a.glb", kinds=("mesh",), pivot="bottom", up="z")
    mesh = read_mesh(made["a.mesh"]["file"])
    points = np.array([vertex["position"] for vertex in mesh["vertices"]])
    # Triangles lie in z = 0, which is y = 0 after the turn, and z is -y.
    assert (points[:, 1] == 0).all()
    assert np.ptp(points[:, 2]) > 0


def test_a_skinned_mesh_can_be_simplified_and_keeps_its_bones() -> None:
    builder = Builder()
    builder.add("nodes", name="bone")
    side = np.arange(9.0)
    grid = np.stack(np.meshgrid(side, side, [0.0], indexing="ij"), -1).reshape(-1, 3)
    cell = (np.arange(8)[:, None] * 9 + np.arange(8)).reshape(-1)
    faces = np.stack((cell, cell + 9, cell + 1, cell + 1, cell + 9, cell + 10), axis=1)
    parts = {"POSITION": builder.accessor(grid, bounds=True), **bound(builder, 0, len(grid))}
    mesh = builder.mesh(parts, indices=builder.accessor(faces.reshape(-1), "u2"))
    builder.add("nodes", name="body", mesh=mesh, skin=0)
    builder.add("skins", joints=[0])
    builder.add("scenes", nodes=[0, 1])
    made = encode({"a.glb": builder.glb()}, "a.glb", simplify=0.1)["a.mesh"]
    found = read_mesh(made["file"])
    assert 2 <= len(found["indices"]) / 3 <= 12
    assert {vertex["skin"] for vertex in found["vertices"]} == {(0, 0, 0, 0, 255, 0, 0, 0)}
    assert not made["warnings"]


def test_a_node_whose_skin_is_not_there_is_refused_by_name() -> None:
    builder = hero()
    builder.json["nodes"][3]["skin"] = 7
    with pytest.raises(EncodeError, match="skin that is not there") as caught:
        plan({"a.glb": builder.glb()}, "a.glb")
    assert caught.value.facts["node"] == "body"


@pytest.mark.parametrize(("node", "is_told"), [(5, True), (0, False), (1, False)])
def test_a_clip_that_moves_no_bone_is_told(node, is_told) -> None:
    builder = hero()
    animate(builder, "idle", node, "translation", [(0, 0, 0), (0, 0, 0)])
    made = encode({"a.glb": builder.glb()}, "a.glb")["a.clip.idle"]
    assert (b'clip "idle" moves no bone' in made["warnings"]) == is_told
