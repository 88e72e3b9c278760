"""Clips and skeletons: sampled right, in the right space, and read back by a second reader."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from encoders.emberware.format.clip import CLIP_HEADER, Transforms, pack_clip, unpack_clip
from encoders.emberware.format.skeleton import pack_skeleton, unpack_skeleton
from encoders.emberware.node_animation import encode_animation
from encoders.emberware.node_parts import encode_parts
from encoders.emberware.node_skeleton import encode_skeleton
from encoders.emberware.view import decode_clip_file
from encoders.kit.error import EncodeError
from pipeline.build.purity import pure
from tests.encoders.emberware_reader import angle_between, matrix_of, read_clip, read_skeleton
from tests.kit.glb_builder import Builder

DATA = Path(__file__).parent / "data/emberware/export"
CHAIN = (DATA / "chain.glb").read_bytes()
BEND, STEP, CUBIC, LATE = range(4)
IDENTITY = (0.0, 0.0, 0.0, 1.0)
HALF_TURN_Z = (0.0, 0.0, 1.0, 0.0)
QUARTER_TURN_Z = (0.0, 0.0, 0.5**0.5, 0.5**0.5)

# One bone, one frame, the identity: the specification's smallest file, with the right rotation.
SMALLEST = bytes.fromhex("01 00 01 00  03 08 20 80  0000 0000 0000  003C 003C 003C")


def part(model: bytes, **subset) -> bytes:
    return encode_parts({"model": model}, {"source": "a.glb", "parts": {"x": subset}})["x"]


def animate(model: bytes, clip: int = 0, **options) -> dict[str, bytes]:
    defaults = {"frame_rate": 30, "space": "model", "include_last_frame": False}
    params = {"source": "a.glb", **defaults, **options}
    with pure():
        return encode_animation({"model": part(model, skin=0, clip=clip)}, params)


def rig(joints: int = 1, above: dict | None = None, **channels) -> Builder:
    """A chain of joints; each channel is `path=(keys, values, interpolation)` of joint 0."""
    builder = Builder()
    for number in range(joints):
        children = {"children": [number + 1]} if number + 1 < joints else {}
        builder.add("nodes", name=f"bone{number}", **children)
    if above is not None:
        builder.add("nodes", name="armature", children=[0], **above)
    builder.add("skins", joints=list(range(joints)))
    samplers, targets = [], []
    for path, (keys, values, interpolation) in channels.items():
        sampler = {"input": builder.accessor(keys), "output": builder.accessor(values)}
        targets.append({"sampler": len(samplers), "target": {"node": 0, "path": path}})
        samplers.append({**sampler, "interpolation": interpolation})
    builder.add("animations", name="move", samplers=samplers, channels=targets)
    return builder


def test_the_smallest_file_has_twenty_known_bytes() -> None:
    one = np.array([[IDENTITY]], np.float32), np.zeros((1, 1, 3)), np.ones((1, 1, 3))
    assert pack_clip(Transforms(*(part.astype(np.float32) for part in one))) == SMALLEST


def test_a_bone_of_known_bytes_is_read_as_the_specification_says() -> None:
    """Test vector 4 of the specification, with the identity's right bytes."""
    bone = bytes.fromhex("03082080 003C 0040 00C0 003C 003C 003C")
    ((found,),) = read_clip(b"\x01\x00\x01\x00" + bone)
    ours = unpack_clip(b"\x01\x00\x01\x00" + bone, "a")
    assert abs(found[0][3] - 1) < 0.002
    assert found[1:] == ((1.0, 2.0, -2.0), (1.0, 1.0, 1.0))
    assert ours.position.tolist() == [[[1.0, 2.0, -2.0]]]


@pytest.mark.parametrize(
    ("rotation", "position", "scale", "tolerance"),
    [
        ((0.270598, 0.0, 0.0, 0.962728), (1.5, 2.25, -0.75), (1.0, 1.0, 1.0), 0.01),
        ((0.707107, 0.0, 0.707107, 0.0), (1000.0, -500.0, 0.001), (0.5, 1.0, 2.5), 1.0),
    ],
)
def test_transforms_of_the_specification_come_back(rotation, position, scale, tolerance) -> None:
    parts = [np.array([[part]], np.float32) for part in (rotation, position, scale)]
    ((found,),) = read_clip(pack_clip(Transforms(*parts)))
    assert angle_between(found[0], rotation) <= 0.25
    assert found[1] == pytest.approx(position, abs=tolerance)
    assert found[2] == pytest.approx(scale, abs=0.01)


def test_local_frames_are_those_of_the_consoles_exporter_where_that_is_right() -> None:
    """Its slerp is wrong from frame 16 on, where the first key is not the identity any more."""
    theirs = (DATA / "chain.anim0.30fps.upstream-head-local-restpose.nczxanim").read_bytes()
    ours = animate(CHAIN, BEND, space="local")["file"]
    assert len(ours) == len(theirs)
    assert ours[: 4 + 16 * 48] == theirs[: 4 + 16 * 48]
    assert ours[4 + 16 * 48 :] != theirs[4 + 16 * 48 :]


def test_a_linear_rotation_turns_at_a_steady_rate() -> None:
    turn = rig(rotation=([0.0, 1.0], [IDENTITY, QUARTER_TURN_Z], "LINEAR")).glb()
    angles = [angle_between(row[0][0], IDENTITY) for row in read_clip(animate(turn)["file"])]
    assert angles == pytest.approx([3.0 * frame for frame in range(30)], abs=0.3)


def test_a_step_holds_its_value_until_the_next_key() -> None:
    keys = ([0.0, 0.5, 1.0], [(0, 0, 0), (4, 0, 0), (8, 0, 0)], "STEP")
    frames = read_clip(animate(rig(translation=keys).glb(), frame_rate=8)["file"])
    assert [row[0][1][0] for row in frames] == [0, 0, 0, 0, 4, 4, 4, 4]


def test_a_cubic_spline_follows_its_tangents_and_not_them_as_values() -> None:
    keys = [(0, 0, 0), (0, 0, 0), (3, 0, 0)], [(-3, 0, 0), (0, 0, 0), (0, 0, 0)]
    values = np.array(keys, np.float32).reshape(6, 3)
    spline = rig(translation=([0.0, 1.0], values, "CUBICSPLINE")).glb()
    frames = read_clip(animate(spline, frame_rate=4)["file"])
    t = np.arange(4) / 4
    expected = 3 * (t**3 - 2 * t**2 + t) - 3 * (t**3 - t**2)
    assert [row[0][1][0] for row in frames] == pytest.approx(expected.tolist(), abs=1e-3)


def test_before_the_first_key_the_first_value_holds() -> None:
    keys = ([0.5, 0.75], [(1, 2, 3), (2, 2, 3)], "LINEAR")
    frames = read_clip(animate(rig(translation=keys).glb(), frame_rate=4)["file"])
    assert [row[0][1] for row in frames] == [(1, 2, 3), (1, 2, 3), (1, 2, 3)]


def test_the_last_key_is_a_frame_only_on_request() -> None:
    keys = ([0.0, 1.0], [(0, 0, 0), (4, 0, 0)], "LINEAR")
    model = rig(translation=keys).glb()
    looped = read_clip(animate(model, frame_rate=4)["file"])
    whole = read_clip(animate(model, frame_rate=4, include_last_frame=True)["file"])
    assert [row[0][1][0] for row in looped] == [0, 1, 2, 3]
    assert [row[0][1][0] for row in whole] == [0, 1, 2, 3, 4]


def test_unmoved_parts_stay_at_rest() -> None:
    builder = rig(joints=2, translation=([0.0, 1.0], [(0, 0, 0), (1, 0, 0)], "LINEAR"))
    builder.json["nodes"][1] |= {"translation": [0, 5, 0], "scale": [2, 2, 2]}
    frames = read_clip(animate(builder.glb(), space="local")["file"])
    assert frames[3][1][1:] == ((0, 5, 0), (2, 2, 2))


def test_model_space_composes_parents_and_local_space_does_not() -> None:
    builder = rig(joints=2, rotation=([0.0, 1.0], [QUARTER_TURN_Z, QUARTER_TURN_Z], "LINEAR"))
    builder.json["nodes"][1] |= {"translation": [0, 1, 0]}
    model = read_clip(animate(builder.glb())["file"])[0][1]
    local = read_clip(animate(builder.glb(), space="local")["file"])[0][1]
    assert model[1] == pytest.approx((-1, 0, 0), abs=1e-3)
    assert angle_between(model[0], QUARTER_TURN_Z) < 0.25
    assert local[1] == (0, 1, 0)
    assert angle_between(local[0], IDENTITY) < 0.25


def test_an_armature_above_the_joints_takes_part_in_model_space() -> None:
    keys = ([0.0, 1.0], [(1, 0, 0), (1, 0, 0)], "LINEAR")
    builder = rig(above={"translation": [0, 0, 7], "scale": [2, 2, 2]}, translation=keys)
    assert read_clip(animate(builder.glb())["file"])[0][0][1:] == ((2, 0, 7), (2, 2, 2))
    assert read_clip(animate(builder.glb(), space="local")["file"])[0][0][1] == (1, 0, 0)


def test_joints_come_in_the_order_of_the_skin() -> None:
    keys = ([0.0, 1.0], [(9, 0, 0), (9, 0, 0)], "LINEAR")
    builder = rig(joints=3, translation=keys)
    builder.json["skins"][0]["joints"] = [2, 0, 1]
    row = read_clip(animate(builder.glb(), space="local")["file"])[0]
    assert [bone[1][0] for bone in row] == [0, 9, 0]


def test_the_bind_pose_times_the_inverse_bind_matrix_is_the_identity() -> None:
    """What the shader multiplies: bone matrix by inverse bind matrix, for every bone."""
    builder = rig(joints=3, scale=([0.0, 1.0], [(1, 1, 1), (1, 1, 1)], "LINEAR"))
    places = [(0.5, 1, 0), (0, 1.5, 0.25), (0, 1.5, 0)]
    turns = [QUARTER_TURN_Z, (0.5, 0.5, 0.5, 0.5), IDENTITY]
    world = np.eye(4)
    inverses = []
    for node, place, turn in zip(builder.json["nodes"], places, turns, strict=True):
        node |= {"translation": list(place), "rotation": list(turn)}
        world = world @ np.array([*matrix_of(turn, place, (1, 1, 1)), [0, 0, 0, 1]])
        inverses.append(np.linalg.inv(world).T.reshape(-1))
    matrices = builder.accessor(np.array(inverses, np.float32), kind="MAT4")
    builder.json["skins"][0]["inverseBindMatrices"] = matrices
    model = builder.glb()
    bones = read_clip(animate(model)["file"])[0]
    skeleton = encode_skeleton({"model": part(model, skin=0)}, {"source": "a.glb"})["file"]
    for bone, inverse in zip(bones, read_skeleton(skeleton), strict=True):
        product = np.array([*matrix_of(*bone), [0, 0, 0, 1]]) @ np.array([*inverse, [0, 0, 0, 1]])
        assert product == pytest.approx(np.eye(4), abs=0.02)


def test_shear_is_warned_of() -> None:
    keys = ([0.0, 1.0], [(3, 1, 1), (3, 1, 1)], "LINEAR")
    builder = rig(joints=2, scale=keys)
    builder.json["nodes"][1]["rotation"] = [0, 0, 0.382683432, 0.923879533]
    assert b'clip "move": uneven scales' in animate(builder.glb())["warnings"]
    assert not animate(builder.glb(), space="local")["warnings"]


def test_a_position_past_half_floats_names_clip_and_bone() -> None:
    keys = ([0.0, 1.0], [(0, 0, 0), (70000 * 30 / 29, 0, 0)], "LINEAR")
    with pytest.raises(EncodeError, match="position is too large") as caught:
        animate(rig(translation=keys).glb())
    assert caught.value.facts["clip"] == "move"
    assert caught.value.facts["bone"] == "bone0"
    assert caught.value.facts["file"] == "a.glb"


def test_the_largest_half_float_is_no_error() -> None:
    keys = ([0.0, 1.0], [(65504, 0, 0), (65504, 0, 0)], "LINEAR")
    assert read_clip(animate(rig(translation=keys).glb())["file"])[0][0][1][0] == 65504


def test_255_bones_fit_and_256_are_refused_by_name() -> None:
    keys = ([0.0, 0.1], [(0, 0, 0), (0, 0, 0)], "LINEAR")
    assert animate(rig(joints=255, translation=keys).glb())["file"][0] == 255
    with pytest.raises(EncodeError, match="too many bones") as caught:
        animate(rig(joints=256, translation=keys).glb())
    assert caught.value.facts["first too many"] == "bone255"
    assert caught.value.facts["clip"] == "move"


def test_65535_frames_fit_and_one_more_is_refused() -> None:
    keys = ([0.0, 65535.0], [(0, 0, 0), (0, 0, 0)], "LINEAR")
    model = rig(translation=keys).glb()
    assert len(animate(model, frame_rate=1)["file"]) == 1048564
    with pytest.raises(EncodeError, match="too many frames") as caught:
        animate(model, frame_rate=1, include_last_frame=True)
    assert caught.value.facts["clip"] == "move"
    with pytest.raises(EncodeError, match="too many frames"):
        animate(model, frame_rate=2)


def test_a_part_holds_the_same_bytes_when_another_clip_changes() -> None:
    changed = bytearray(CHAIN)
    at = CHAIN.rindex(np.array([1, 1, 1], "<f4").tobytes())
    changed[at + 2] ^= 0x40
    before = [part(CHAIN, skin=0, clip=number) for number in range(4)]
    after = [part(bytes(changed), skin=0, clip=number) for number in range(4)]
    assert [a == b for a, b in zip(before, after, strict=True)].count(False) == 1


def test_the_skeleton_is_that_of_the_consoles_exporter() -> None:
    with pure():
        made = encode_skeleton({"model": part(CHAIN, skin=0)}, {"source": "a.glb"})
    assert made["file"] == (DATA / "chain.ewzskel").read_bytes()


def test_a_skin_without_matrices_gets_identities() -> None:
    model = rig(joints=2, scale=([0.0], [(1, 1, 1)], "STEP")).glb()
    made = encode_skeleton({"model": part(model, skin=0)}, {"source": "a.glb"})["file"]
    assert read_skeleton(made) == [np.eye(4)[:3].tolist()] * 2


def test_a_skeleton_of_256_bones_is_read_and_257_are_not() -> None:
    made = pack_skeleton(np.tile(np.eye(4, dtype=np.float32), (256, 1, 1)))
    assert len(unpack_skeleton(made, "a")) == 256
    with pytest.raises(EncodeError, match="not a skeleton"):
        unpack_skeleton(pack_skeleton(np.tile(np.eye(4, dtype=np.float32), (257, 1, 1))), "a")


@pytest.mark.parametrize("name", sorted(p.name for p in DATA.glob("*anim")))
def test_files_of_the_consoles_exporter_are_read(name: str) -> None:
    data = (DATA / name).read_bytes()
    found = decode_clip_file(data, name)
    theirs = read_clip(data)
    assert (found["frame_count"], found["bone_count"]) == (len(theirs), len(theirs[0]))
    assert found["position"][-1][-1] == list(theirs[-1][-1][1])


def test_every_truncation_and_every_tail_is_refused() -> None:
    skeleton = (DATA / "chain.ewzskel").read_bytes()
    for data, read in ((SMALLEST, unpack_clip), (skeleton, unpack_skeleton)):
        for size in range(len(data)):
            with pytest.raises(EncodeError):
                read(data[:size], "a")
        with pytest.raises(EncodeError):
            read(data + b"\0", "a")


def test_every_flag_bit_and_reserved_bit_is_refused() -> None:
    for bit in range(8):
        flagged = bytearray(SMALLEST)
        flagged[1] = 1 << bit
        with pytest.raises(EncodeError):
            unpack_clip(bytes(flagged), "a")
    for bit in range(32):
        skeleton = bytearray((DATA / "chain.ewzskel").read_bytes())
        skeleton[4 + bit // 8] ^= 1 << bit % 8
        with pytest.raises(EncodeError):
            unpack_skeleton(bytes(skeleton), "a")


def test_counts_of_zero_are_refused() -> None:
    for header in (b"\0\0\1\0", b"\1\0\0\0", b"\0\0\0\0"):
        with pytest.raises(EncodeError, match="not an animation"):
            unpack_clip(header, "a")
    assert CLIP_HEADER.size == 4
