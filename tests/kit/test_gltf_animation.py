"""Clips, sampling, poses, skins; data/chain.* is a three-joint rig and an exporter's output."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.kit.error import EncodeError
from encoders.kit.source.gltf.animation import FRAME_LIMIT, Track, decode_clip, frame_times
from encoders.kit.source.gltf.geometry.rotation import (
    LERP_COSINE,
    from_matrix,
    sine,
    slerp,
    to_matrix,
)
from encoders.kit.source.gltf.geometry.skin import decode_skin
from encoders.kit.source.gltf.pose import sample_local, sample_model, to_pose
from encoders.kit.source.gltf.source import decode_gltf
from tests.kit.glb_builder import Builder

DATA = Path(__file__).parent / "data"
CHAIN = (DATA / "chain.glb").read_bytes()
HALF = 0.5**0.5

quaternions = (
    st.lists(st.floats(-1, 1), min_size=4, max_size=4)
    .filter(lambda q: sum(x * x for x in q) > 0.1)
    .map(lambda q: np.array(q) / np.sqrt(sum(x * x for x in q)))
)


def chain():
    return decode_gltf(CHAIN, "chain.glb")


def clip_of(values, path="translation", times=(0, 1), interpolation="LINEAR", node=None):
    """A file of one node and one clip with one channel."""
    builder = Builder()
    keys = builder.accessor(times)
    output = builder.accessor(values)
    builder.add("nodes", **(node or {}))
    builder.add(
        "animations",
        name="move",
        samplers=[{"input": keys, "output": output, "interpolation": interpolation}],
        channels=[{"sampler": 0, "target": {"node": 0, "path": path}}],
    )
    return decode_gltf(builder.glb(), "clip.glb")


def at(gltf, *times):
    return sample_local(gltf, decode_clip(gltf, 0), [0], np.array(times, np.float32))


def angle_between(a, b):
    return 2 * np.degrees(np.arccos(np.clip(np.abs((a * b).sum(axis=-1)), 0, 1)))


def decode_upstream(data):
    """Rotation (smallest three), translation and scale of an exported clip."""
    bones, frames = data[0], int.from_bytes(data[2:4], "little")
    kind = np.dtype([("rotation", "<u4"), ("translation", "<f2", 3), ("scale", "<f2", 3)])
    entries = np.frombuffer(data[4:], kind).reshape(frames, bones)
    word = entries["rotation"]
    codes = np.stack([(word >> shift) & 1023 for shift in (22, 12, 2)], axis=-1)
    kept = (codes / 511.5 - 1) / np.sqrt(2)
    dropped = np.sqrt(np.maximum(0, 1 - (kept**2).sum(axis=-1)))
    rotation = np.zeros((frames, bones, 4))
    for place in np.ndindex(frames, bones):
        rotation[place] = np.insert(kept[place], word[place] & 3, dropped[place])
    return rotation, entries["translation"], entries["scale"]


def test_bend_agrees_with_the_exporter_where_the_exporter_is_right():
    gltf = chain()
    clip = decode_clip(gltf, 0)
    times = frame_times(clip.duration, 30, "chain.glb")
    pose = sample_local(gltf, clip, decode_skin(gltf, 0).joints, times)
    rotation, translation, scale = decode_upstream(
        (DATA / "chain.bend.30fps.nczxanim").read_bytes()
    )
    np.testing.assert_array_equal(pose.translation.astype(np.float16), translation)
    np.testing.assert_array_equal(pose.scale.astype(np.float16), scale)
    # Past the second key its slerp is wrong unless a key is the identity.
    assert angle_between(pose.rotation[:16], rotation[:16]).max() < 0.25


def test_skin_matrices_are_those_of_the_exporter():
    stored = (DATA / "chain.ewzskel").read_bytes()
    expected = np.frombuffer(stored[8:], "<f4").reshape(3, 4, 3).transpose(0, 2, 1)
    skin = decode_skin(chain(), 0)
    np.testing.assert_array_equal(skin.inverse_bind[:, :3], expected)
    assert skin.joint_names == ("root", "mid", "tip")


def test_step_holds_each_value_until_the_next_key():
    gltf = clip_of([(0, 0, 0), (1, 0, 0), (2, 0, 0)], times=(0, 1, 2), interpolation="STEP")
    assert at(gltf, 0, 0.99, 1, 1.5, 2, 9).translation[:, 0, 0].tolist() == [0, 0, 1, 1, 2, 2]


def test_linear_moves_evenly_and_holds_at_both_ends():
    gltf = clip_of([(1, 0, 0), (3, 0, 0)], times=(0.5, 1.5))
    assert at(gltf, 0, 0.5, 1, 1.25, 1.5, 7).translation[:, 0, 0].tolist() == [1, 1, 2, 2.5, 3, 3]


def test_cubic_spline_meets_its_keys_and_tangents():
    keys = [(0, 0, 0), (0, 0, 0), (3, 0, 0), (-2, 0, 0), (1, 0, 0), (0, 0, 0)]
    gltf = clip_of(keys, times=(0, 2), interpolation="CUBICSPLINE")
    pose = at(gltf, 0, 1, 2, 1e-3)
    # At the middle: (p0 + p1) / 2 + span (m0 - m1) / 8.
    np.testing.assert_allclose(pose.translation[:3, 0, 0], [0, 0.5 + 2 * (3 + 2) / 8, 1], rtol=1e-6)
    assert pose.translation[3, 0, 0] == pytest.approx(3e-3, rel=1e-2)


def test_cubic_rotation_has_unit_length_even_through_nothing():
    zero, start, end = (0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 0, -1)
    keys = [zero, start, zero, zero, end, zero]
    pose = at(clip_of(keys, "rotation", interpolation="CUBICSPLINE"), 0, 0.25, 0.5, 1)
    np.testing.assert_allclose(np.linalg.norm(pose.rotation, axis=-1), 1, rtol=1e-6)


def test_slerp_turns_at_an_even_speed():
    turn = np.radians(75)
    gltf = clip_of([(0, 0, 0, 1), (0, 0, np.sin(turn), np.cos(turn))], "rotation")
    rotation = at(gltf, 0, 0.25, 0.5, 0.75).rotation[:, 0]
    degrees = 2 * np.degrees(np.arctan2(rotation[:, 2], rotation[:, 3]))
    np.testing.assert_allclose(degrees, [0, 37.5, 75, 112.5], atol=1e-4)


@settings(max_examples=80, deadline=None)
@given(quaternions, quaternions, st.floats(0, 1))
def test_slerp_agrees_with_the_textbook_formula(a, b, factor):
    ours = slerp(a[None], b[None], np.array([factor]))[0]
    cosine = float(a @ b)
    b, cosine = (b, cosine) if cosine >= 0 else (-b, -cosine)
    if cosine > LERP_COSINE:
        expected = (1 - factor) * a + factor * b
        expected /= np.linalg.norm(expected)
    else:
        angle = np.arccos(cosine)
        expected = np.sin((1 - factor) * angle) * a + np.sin(factor * angle) * b
        expected /= np.sin(angle)
    np.testing.assert_allclose(ours, expected, atol=1e-13)


def test_sine_is_exact_to_the_last_bits():
    angles = np.linspace(0, np.pi / 2, 1001)
    assert np.abs(sine(angles) - np.sin(angles)).max() < 3e-16


@settings(max_examples=50, deadline=None)
@given(quaternions)
def test_matrix_and_quaternion_are_inverse(rotation):
    found = from_matrix(to_matrix(rotation[None]))[0]
    np.testing.assert_allclose(found * np.sign(found @ rotation), rotation, atol=1e-14)


def test_normalised_integer_rotations_are_read():
    builder = Builder()
    keys = builder.accessor((0, 1))
    output = builder.accessor([(0, 0, 0, 32767), (0, 0, 32767, 0)], "i2", normalized=True)
    builder.add("nodes")
    channel = {"sampler": 0, "target": {"node": 0, "path": "rotation"}}
    builder.add("animations", samplers=[{"input": keys, "output": output}], channels=[channel])
    gltf = decode_gltf(builder.glb(), "a.glb")
    np.testing.assert_allclose(at(gltf, 0.5).rotation[0, 0], [0, 0, HALF, HALF], atol=1e-7)


def test_parts_without_a_channel_keep_the_rest_pose():
    node = {"rotation": [0, 1, 0, 0], "scale": [2, 3, 4], "translation": [5, 6, 7]}
    pose = at(clip_of([(1, 0, 0), (2, 0, 0)], node=node), 0.5)
    assert pose.rotation[0, 0].tolist() == [0, 1, 0, 0]
    assert pose.scale[0, 0].tolist() == [2, 3, 4]
    assert pose.translation[0, 0].tolist() == [1.5, 0, 0]


def test_matrix_node_gives_its_parts_as_rest_pose():
    matrix = [0, 2, 0, 0, -2, 0, 0, 0, 0, 0, 2, 0, 1, 2, 3, 1]  # column by column
    pose = at(clip_of([(0, 0, 0), (2, 0, 0)], node={"matrix": matrix}), 1)
    np.testing.assert_allclose(pose.rotation[0, 0], [0, 0, HALF, HALF], rtol=1e-7)
    assert pose.scale[0, 0].tolist() == [2, 2, 2]


def test_model_space_composes_all_ancestors():
    gltf = chain()
    clip = decode_clip(gltf, 0)
    skin = decode_skin(gltf, 0)
    times = frame_times(clip.duration, 30, "chain.glb")
    local = sample_local(gltf, clip, skin.joints, times).matrices()
    model = sample_model(gltf, clip, skin.joints, times)
    np.testing.assert_allclose(model[:, 1], local[:, 0] @ local[:, 1], atol=1e-15)
    np.testing.assert_allclose(model[:, 2], local[:, 0] @ local[:, 1] @ local[:, 2], atol=1e-15)
    pose, difference = to_pose(model)
    assert difference < 1e-6
    np.testing.assert_allclose(pose.matrices(), model, atol=1e-6)


def test_bind_pose_times_inverse_bind_is_the_identity():
    gltf = chain()
    skin = decode_skin(gltf, 0)
    late = decode_clip(gltf, 3)
    still = type(late)("still", late.duration, ())
    model = sample_model(gltf, still, skin.joints, np.zeros(1, np.float32))
    np.testing.assert_allclose(
        model[0] @ skin.inverse_bind, np.tile(np.eye(4), (3, 1, 1)), atol=1e-7
    )


def test_shear_shows_as_a_difference():
    sheared = np.eye(4)
    sheared[0, 1] = 0.5
    assert to_pose(sheared[None, None])[1] > 0.1


def test_duration_is_the_last_key_of_any_channel():
    gltf = chain()
    assert [float(decode_clip(gltf, k).duration) for k in range(4)] == [1, 1, 1, 0.75]
    assert [decode_clip(gltf, k).name for k in range(4)] == ["Bend", "Step", "Cubic", "Late"]


@pytest.mark.parametrize(
    ("duration", "rate", "frames"),
    [(1, 30, 30), (1.01, 30, 31), (0, 30, 1), (0.5, 1, 1), (2, 60, 120)],
)
def test_frames_leave_out_the_last_key(duration, rate, frames):
    times = frame_times(np.float32(duration), rate, "a")
    assert len(times) == frames
    assert times.dtype == np.float32
    assert len(frame_times(np.float32(duration), rate, "a", include_last=True)) == frames + 1
    np.testing.assert_array_equal(times, np.arange(frames, dtype=np.float32) / np.float32(rate))


def test_endless_clip_is_refused():
    with pytest.raises(EncodeError, match="too many frames"):
        frame_times(np.float32(3e38), 30, "a")
    assert len(frame_times(np.float32(FRAME_LIMIT), 1, "a")) == FRAME_LIMIT


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"values": [(0, 0, 0)]}, "do not fit"),
        ({"values": [(0, 0), (1, 1)]}, "do not fit"),
        ({"values": [(0, 0, 0), (np.nan, 0, 0)]}, "not finite"),
        ({"values": [(0, 0, 0), (1, 1, 1)], "times": (1, 0)}, "do not rise"),
        ({"values": [(0, 0, 0), (1, 1, 1)], "times": (0, np.inf)}, "do not rise"),
        ({"values": [(0, 0, 0), (1, 1, 1)], "times": (np.nan, 1)}, "do not rise"),
        ({"values": [(0, 0, 0, 0), (0, 0, 0, 1)], "path": "rotation"}, "no direction"),
    ],
)
def test_broken_channel_is_refused(options, problem):
    with pytest.raises(EncodeError, match=problem):
        decode_clip(clip_of(**options), 0)


def test_huge_values_are_refused_not_written_as_infinity():
    gltf = clip_of([(3e38, 0, 0), (-3e38, 0, 0)])
    with pytest.raises(EncodeError, match="out of range"):
        at(gltf, 0.5)


def test_weights_are_left_out_with_a_warning():
    gltf = clip_of([0.0, 1.0], path="weights")
    clip = decode_clip(gltf, 0)
    assert clip.channels == ()
    assert clip.duration == 1
    assert gltf.warnings == ('clip "move": a channel for weights was ignored [ignored]',)


def test_channels_sampled_together_are_the_same_as_one_by_one():
    rng = np.random.default_rng(7)
    values = rng.normal(size=(5, 6, 4)).astype(np.float32)
    keys = np.array([0, 0.1, 0.4, 0.4, 1, 2], np.float32)
    times = np.linspace(0, 2.5, 40, dtype=np.float32)
    together = Track("rotation", "LINEAR", keys, values).at(times)
    for k in range(5):
        alone = Track("rotation", "LINEAR", keys, values[k : k + 1]).at(times)
        np.testing.assert_array_equal(together[k], alone[0])


def test_sampled_bytes_are_the_same_on_every_machine():
    gltf = chain()
    digest = hashlib.sha256()
    for index in range(4):
        clip = decode_clip(gltf, index)
        times = frame_times(clip.duration, 30, "chain.glb")
        model, _ = to_pose(sample_model(gltf, clip, (0, 1, 2), times))
        for pose in (sample_local(gltf, clip, (0, 1, 2), times), model):
            digest.update(
                pose.translation.tobytes() + pose.rotation.tobytes() + pose.scale.tobytes()
            )
    assert digest.hexdigest()[:16] == "58e2473647d496b3"


def test_skin_without_matrices_has_identities():
    builder = Builder()
    builder.add("nodes", name="hip")
    builder.add("skins", joints=[0])
    skin = decode_skin(decode_gltf(builder.glb(), "a"), 0)
    np.testing.assert_array_equal(skin.inverse_bind, np.eye(4)[None])


@pytest.mark.parametrize("joints", [[], [0, 0], [3]])
def test_skin_of_no_or_wrong_joints_is_refused(joints):
    builder = Builder()
    builder.add("nodes")
    builder.add("skins", joints=joints)
    with pytest.raises(EncodeError):
        decode_skin(decode_gltf(builder.glb(), "a"), 0)


def test_too_few_inverse_bind_matrices_are_refused():
    builder = Builder()
    matrices = builder.accessor([np.eye(4).reshape(-1)], kind="MAT4")
    builder.add("nodes")
    builder.add("nodes")
    builder.add("skins", joints=[0, 1], inverseBindMatrices=matrices)
    with pytest.raises(EncodeError, match="do not fit"):
        decode_skin(decode_gltf(builder.glb(), "a"), 0)
