"""Skeletons, skins and clips of `.untold` files: hex by hand, refusals, laws, and positions."""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from encoders.kit.error import EncodeError
from encoders.kit.isolate import use_scratch
from encoders.kit.source.conversion import compose
from encoders.untold.format import layout
from encoders.untold.format.layout import ANIMATION, NONE, TILE
from encoders.untold.format.light_record import CameraRecord, LightRecord, Placement
from encoders.untold.format.reader import unpack_untold
from encoders.untold.format.rig_record import (
    ChannelRecord,
    ClipRecord,
    JointRecord,
    SkeletonRecord,
    SkinRecord,
)
from encoders.untold.format.untold_file import (
    IDENTITY,
    EntityRecord,
    MeshRecord,
    UntoldFile,
)
from encoders.untold.format.writer import pack_untold
from encoders.untold.picture.pack_view import decode_pack
from encoders.untold.target import MODEL_OPTIONS
from encoders.untold.view import decode_untold
from pipeline.process.scratch import install_scratch
from tests.encoders.test_untold_format import DOCUMENT
from tests.encoders.untold_model import HALF, Puppet, build_model
from tests.encoders.untold_rig_reader import chunks_of, read_rig, shown
from tests.kit.fbx_maker import Fbx
from tests.kit.glb_builder import quad
from tests.kit.mutation import mutated
from tests.kit.refusal import attempt
from tests.kit.usd_maker import rig as usd_rig

QUICK = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
TURN_Z = (0, 0, HALF, HALF)


@pytest.fixture
def scratch(tmp_path):
    pytest.importorskip("pxr")
    install_scratch(str(tmp_path / "scratch"))
    yield
    use_scratch(None)


def floats(*rows) -> np.ndarray:
    return np.array(rows, np.float32)


def moved(x: float, y: float, z: float) -> np.ndarray:
    """A translation, column by column."""
    flat = IDENTITY.copy()
    flat[12:15] = x, y, z
    return flat


WAVE = ClipRecord(
    "wave",
    1.0,
    (
        ChannelRecord(
            "/base",
            floats(0, 1),
            floats((0, 0, 0), (0, 1, 0)),
            floats(0, 1),
            floats((0, 0, 0, 1), (0, HALF, 0, HALF)),
        ),
    ),
)
CLIP_FILE = UntoldFile(ANIMATION, (), (), clips=(WAVE,))
BOX = floats((0, 0, 0), (1, 2, 0))
CORNERS = b"".join(
    struct.pack("<3fII4e4B", *point, 0x1FF00000, 0x400001FF, 0, 0, 0, 0, 255, 255, 255, 255)
    for point in ((0, 0, 0), (1, 0, 0), (0, 1, 0))
)
MESH = MeshRecord("strip", 1, NONE, CORNERS, np.arange(3, dtype=np.uint32), BOX)
SKELETON = SkeletonRecord(
    0,
    "rig",
    (
        JointRecord("/base", IDENTITY, IDENTITY),
        JointRecord("/base/tip", moved(0, 1, 0), moved(0, 1, 0), 0),
    ),
)
SKIN = SkinRecord(
    1,
    0,
    0,
    (0, 1),
    np.array([(0, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0)], np.uint16),
    floats((1, 0, 0, 0), (1, 0, 0, 0), (0.25, 0.75, 0, 0)),
)
RIG_FILE = UntoldFile(
    TILE,
    (EntityRecord(0, "rig", 0, 0, BOX, BOX), EntityRecord(1, "strip", 0, 1, BOX, BOX, parent=0)),
    (MESH,),
    skeletons=(SKELETON,),
    skins=(SKIN,),
)


def by_hand(text: str) -> bytes:
    return bytes.fromhex("".join(line.partition("#")[0] for line in text.splitlines()))


# The clip file of the specification: 584 bytes, but for the hash.
CLIP_HEAD = """
55 4E 54 4F 4C 44 00 00  01 00 00 00  05 00 00 00  # magic, formatVersion 1, fileType animation
00 00 00 00  CC 00 00 00  05 00 00 00              # flags, headerSize 204, five chunks
00 00 00 00  00 00 00 00  00 00 00 00  00 00 00 00 # no meshes, materials, textures, entities
01 00 00 00  00 00 00 00                           # vertexLayout, reserved0
00 00 00 00 00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00 00 00 00 00  # worldBounds
00 00 80 3F  00 00 00 00  00 00 00 00  00 00 00 00 # rootTransform
00 00 00 00  00 00 80 3F  00 00 00 00  00 00 00 00
00 00 00 00  00 00 00 00  00 00 80 3F  00 00 00 00
00 00 00 00  00 00 00 00  00 00 00 00  00 00 80 3F
"""
CLIP_BODY = """
01 00 00 00  00 00 00 00  A0 01 00 00 00 00 00 00  # STRING_TABLE at 416, 11 bytes
0B 00 00 00 00 00 00 00  0B 00 00 00 00 00 00 00  00 00 00 00  00 00 00 00
0C 00 00 00  00 00 00 00  B0 01 00 00 00 00 00 00  # ANIMATION_CLIP_TABLE at 432, one record
1C 00 00 00 00 00 00 00  1C 00 00 00 00 00 00 00  01 00 00 00  00 00 00 00
0D 00 00 00  00 00 00 00  D0 01 00 00 00 00 00 00  # ANIMATION_CHANNEL_TABLE at 464
1C 00 00 00 00 00 00 00  1C 00 00 00 00 00 00 00  01 00 00 00  00 00 00 00
0E 00 00 00  00 00 00 00  F0 01 00 00 00 00 00 00  # TRANSLATION_KEYFRAME_TABLE at 496, two
28 00 00 00 00 00 00 00  28 00 00 00 00 00 00 00  02 00 00 00  00 00 00 00
0F 00 00 00  00 00 00 00  20 02 00 00 00 00 00 00  # ROTATION_KEYFRAME_TABLE at 544, two
28 00 00 00 00 00 00 00  28 00 00 00 00 00 00 00  02 00 00 00  00 00 00 00
00 00 00 00 00 00 00 00 00 00 00 00                # to 416
2F 62 61 73 65 00  77 61 76 65 00                  # /base, wave
00 00 00 00 00                                     # to 432
06 00 00 00  00 00 80 3F  00 00 00 00  01 00 00 00 # name at 6, 1 s, first channel 0, one
00 00 00 00  00 00 00 00  00 00 00 00              # flags, reserved
00 00 00 00                                        # to 464
00 00 00 00  00 00 00 00  02 00 00 00              # path at 0, translations from 0, two
00 00 00 00  02 00 00 00  00 00 00 00  00 00 00 00 # rotations from 0, two, flags, reserved
00 00 00 00                                        # to 496
00 00 00 00  00 00 00 00 00 00 00 00 00 00 00 00  00 00 00 00  # 0 s: 0 0 0
00 00 80 3F  00 00 00 00 00 00 80 3F 00 00 00 00  00 00 00 00  # 1 s: 0 1 0
00 00 00 00 00 00 00 00                            # to 544
00 00 00 00  00 00 00 00 00 00 00 00 00 00 00 00 00 00 80 3F   # 0 s: 0 0 0 1
00 00 80 3F  00 00 00 00 F3 04 35 3F 00 00 00 00 F3 04 35 3F   # 1 s: 0 .7071 0 .7071
"""
# The rig's own chunks of a strip of one triangle on two joints; names begin at 0 of the table.
RIG_CHUNKS = {
    8: """
    00 00 00 00  06 00 00 00  00 00 00 00  02 00 00 00 # entity 0, name at 6, joints 0 and 1
    00 00 00 00  00 00 00 00                           # reserved
    """,
    9: """
    FF FF FF FF  0A 00 00 00  00 00 00 00  00 00 00 00 # a root, /base at 10, flags, reserved
    00 00 80 3F 00 00 00 00 00 00 00 00 00 00 00 00    # bind: the identity
    00 00 00 00 00 00 80 3F 00 00 00 00 00 00 00 00
    00 00 00 00 00 00 00 00 00 00 80 3F 00 00 00 00
    00 00 00 00 00 00 00 00 00 00 00 00 00 00 80 3F
    00 00 80 3F 00 00 00 00 00 00 00 00 00 00 00 00    # rest: the identity
    00 00 00 00 00 00 80 3F 00 00 00 00 00 00 00 00
    00 00 00 00 00 00 00 00 00 00 80 3F 00 00 00 00
    00 00 00 00 00 00 00 00 00 00 00 00 00 00 80 3F
    00 00 00 00  10 00 00 00  00 00 00 00  00 00 00 00 # child of joint 0, /base/tip at 16
    00 00 80 3F 00 00 00 00 00 00 00 00 00 00 00 00    # bind: one up in the skeleton's space
    00 00 00 00 00 00 80 3F 00 00 00 00 00 00 00 00
    00 00 00 00 00 00 00 00 00 00 80 3F 00 00 00 00
    00 00 00 00 00 00 80 3F 00 00 00 00 00 00 80 3F
    00 00 80 3F 00 00 00 00 00 00 00 00 00 00 00 00    # rest: one up from the parent
    00 00 00 00 00 00 80 3F 00 00 00 00 00 00 00 00
    00 00 00 00 00 00 00 00 00 00 80 3F 00 00 00 00
    00 00 00 00 00 00 80 3F 00 00 00 00 00 00 80 3F
    """,
    10: """
    01 00 00 00  00 00 00 00  00 00 00 00  02 00 00 00 # entity 1, mesh 0, skeleton 0, two joints
    00 00 00 00  03 00 00 00                           # first mapping, three vertices
    00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00   # offsets
    00 00 00 00  00 00 00 00                           # reserved
    """,
    11: "00 00 00 00  01 00 00 00  # slot 0 is joint 0, slot 1 is joint 1",
    16: """
    00 00 00 00 00 00 00 00                            # four slots of 16 bits a vertex
    01 00 00 00 00 00 00 00
    00 00 01 00 00 00 00 00
    """,
    17: """
    00 00 80 3F 00 00 00 00 00 00 00 00 00 00 00 00    # four weights a vertex
    00 00 80 3F 00 00 00 00 00 00 00 00 00 00 00 00
    00 00 80 3E 00 00 40 3F 00 00 00 00 00 00 00 00    # 0.25 and 0.75
    """,
}


def test_the_clip_file_of_the_specification_is_written_byte_for_byte():
    body = by_hand(CLIP_BODY)
    payloads = [(416, 11), (432, 28), (464, 28), (496, 40), (544, 40)]
    start = 204
    digest = hashlib.sha256(b"".join(body[a - start : a - start + n] for a, n in payloads)).digest()
    expected = by_hand(CLIP_HEAD) + digest + bytes(32) + body
    assert len(expected) == 584
    assert pack_untold(CLIP_FILE, "wave.untoldanim") == expected


def test_the_chunks_of_a_rig_are_as_by_hand():
    data = pack_untold(RIG_FILE, "rig.untold")
    found = chunks_of(data)
    assert list(found) == [1, 2, 3, 4, 5, 8, 9, 10, 11, 6, 7, 16, 17]
    assert found[1][0] == b"strip\0rig\0/base\0/base/tip\0"
    for kind, text in RIG_CHUNKS.items():
        assert found[kind][0] == by_hand(text), kind
    assert [found[kind][1] for kind in (8, 9, 10, 11, 16, 17)] == [1, 2, 1, 2, 0, 0]


def test_the_tables_have_the_sizes_of_the_loader():
    sizes = {
        "SKELETON": 24,
        "JOINT": 144,
        "SKIN": 48,
        "JOINT_MAPPING": 4,
        "JOINT_INDICES": 8,
        "JOINT_WEIGHTS": 16,
        "CLIP": 28,
        "CHANNEL": 28,
        "TRANSLATION_KEYFRAME": 20,
        "ROTATION_KEYFRAME": 20,
        "LIGHT": 176,
        "CAMERA": 144,
    }
    for name, size in sizes.items():
        table = getattr(layout, name)
        assert table.size == size
        assert table.table() in DOCUMENT


def test_documentation_has_every_option_of_a_model():
    for name, option in MODEL_OPTIONS.items():
        assert f"| `{name}` | {option.rule.text} |" in DOCUMENT
        assert f"| {option.doc} |" in DOCUMENT


PLACE = Placement(
    floats(1, 2, 3), floats(0, 0, -1), floats(1, 0, 0), floats(0, 1, 0), moved(1, 2, 3)
)
LAMP = LightRecord(2, "lamp", 3, 6, floats(1, 0.5, 0.25), 2.0, PLACE, 0.5, 8.0, (10.0, 30.0))
EYE = CameraRecord(3, "eye", PLACE, 60.0, (0.5, 100.0), 1.5)
LIT_FILE = replace(RIG_FILE, lights=(LAMP,), cameras=(EYE,))
AXES = """
00 00 80 3F 00 00 00 00 00 00 00 00 00 00 00 00
00 00 00 00 00 00 80 3F 00 00 00 00 00 00 00 00
00 00 00 00 00 00 00 00 00 00 80 3F 00 00 00 00
00 00 80 3F 00 00 00 40 00 00 40 40 00 00 80 3F
"""
LAMP_BY_HAND = f"""
02 00 00 00  1A 00 00 00  03 00 00 00  06 00 00 00 # entity 2, name at 26, spot, W and range
00 00 80 3F 00 00 00 3F 00 00 80 3E  00 00 00 40   # colour, 2 W
00 00 80 3F 00 00 00 40 00 00 40 40  00 00 00 3F   # position, radius 0.5
00 00 00 00 00 00 00 00 00 00 80 BF  00 00 00 41   # direction -z, range 8
00 00 80 3F 00 00 00 00 00 00 00 00  00 00 20 41   # right, inner cone 10
00 00 00 00 00 00 80 3F 00 00 00 00  00 00 F0 41   # up, outer cone 30
00 00 80 3F 00 00 80 3F  00 00 00 40  00 00 00 00  # area size, power, exposure
{AXES}
"""
EYE_BY_HAND = f"""
03 00 00 00  1F 00 00 00  00 00 00 00  00 00 00 00 # entity 3, name at 31, flags, reserved
00 00 80 3F 00 00 00 40 00 00 40 40  00 00 70 42   # position, 60 degrees
00 00 00 00 00 00 00 00 00 00 80 BF  00 00 00 3F   # forward -z, near 0.5
00 00 00 00 00 00 80 3F 00 00 00 00  00 00 C8 42   # up, far 100
00 00 80 3F 00 00 00 00 00 00 00 00  00 00 C0 3F   # right, 3 to 2
{AXES}
"""


def test_lights_and_cameras_are_as_by_hand():
    found = chunks_of(pack_untold(LIT_FILE, "a"))
    assert list(found) == [1, 2, 3, 4, 5, 8, 9, 10, 11, 19, 20, 6, 7, 16, 17]
    assert found[1][0] == b"strip\0rig\0/base\0/base/tip\0lamp\0eye\0"
    assert found[19] == (by_hand(LAMP_BY_HAND), 1)
    assert found[20] == (by_hand(EYE_BY_HAND), 1)


SEEDS = {
    "lit": LIT_FILE,
    "rig": RIG_FILE,
    "clip": CLIP_FILE,
    "both": replace(RIG_FILE, clips=(WAVE,)),
}


@pytest.mark.parametrize("name", SEEDS)
def test_what_is_written_is_read_again(name):
    data = pack_untold(SEEDS[name], "a")
    assert pack_untold(unpack_untold(data, "a"), "a") == data
    assert json.dumps(decode_untold(data, "a"))


@pytest.mark.parametrize("name", SEEDS)
def test_every_truncated_file_is_refused(name):
    data = pack_untold(SEEDS[name], "a")
    for end in range(0, len(data), 7):
        with pytest.raises(EncodeError):
            unpack_untold(data[:end], "a")


def rehashed(data: bytes) -> bytes:
    """The file with a hash of zeros, which switches the check off."""
    return data[:140] + bytes(32) + data[172:]


@QUICK
@given(mutated([rehashed(pack_untold(one, "a")) for one in SEEDS.values()]))
def test_a_damaged_file_is_refused_or_read_and_never_a_crash(data):
    file, refusal = attempt(unpack_untold, data, "a")
    written, why_not = attempt(pack_untold, file, "a") if refusal is None else (None, refusal)
    # What can be written again is a file that can be read.
    assert why_not is not None or attempt(unpack_untold, written, "a")[1] is None


def with_joint(number: int, **changes) -> UntoldFile:
    joints = list(SKELETON.joints)
    joints[number] = replace(joints[number], **changes)
    return replace(RIG_FILE, skeletons=(replace(SKELETON, joints=tuple(joints)),))


def with_skin(**changes) -> UntoldFile:
    return replace(RIG_FILE, skins=(replace(SKIN, **changes),))


def with_clip(**changes) -> UntoldFile:
    return replace(CLIP_FILE, clips=(replace(WAVE, **changes),))


def with_channel(**changes) -> UntoldFile:
    return with_clip(channels=(replace(WAVE.channels[0], **changes),))


MIRROR = IDENTITY * floats(-1, *[1] * 15).reshape(-1)
REFUSED = {
    "a parent after its child": (with_joint(0, parent=1), "does not come before"),
    "a joint that is its own parent": (with_joint(1, parent=1), "does not come before"),
    "a joint without a path": (with_joint(1, path=None), "no path"),
    "two joints of one path": (with_joint(1, path="/base"), "path of another"),
    "a mirrored rest": (with_joint(0, rest=MIRROR), "mirrored"),
    "a flat bind": (with_joint(0, bind=IDENTITY * 0 + moved(0, 0, 0) * 0), "not affine"),
    "no joints": (replace(RIG_FILE, skeletons=(replace(SKELETON, joints=()),)), "no joints"),
    "two skeletons on an entity": (replace(RIG_FILE, skeletons=(SKELETON,) * 2), "another"),
    "a skeleton on no entity": (
        replace(RIG_FILE, skeletons=(replace(SKELETON, entity_id=7),)),
        "no entity",
    ),
    "a skin without a skeleton": (with_skin(skeleton=1), "names no skeleton"),
    "a skin of no mesh": (with_skin(mesh=1), "no mesh"),
    "a skin on another entity": (with_skin(entity_id=0), "not on the entity"),
    "a mapped joint that is not there": (with_skin(mapping=(0, 2)), "not in its skeleton"),
    "a mapping out of order": (with_skin(mapping=(1, 0)), "not sorted"),
    "a slot that is not there": (with_skin(mapping=(0,)), "does not have"),
    "too few vertices": (with_skin(slots=SKIN.slots[:2], weights=SKIN.weights[:2]), "vertices"),
    "weights of no sum": (with_skin(weights=SKIN.weights / 2), "sum"),
    "negative weights": (with_skin(weights=floats(*[(2, -1, 0, 0)] * 3)), "negative"),
    "no duration": (with_clip(duration=0.0), "no duration"),
    "a track of one key": (
        with_channel(translation_times=floats(0)[0:1], translations=floats((0, 0, 0))),
        "span",
    ),
    "a track that starts late": (with_channel(translation_times=floats(0.5, 1)), "span"),
    "a track that ends early": (with_channel(rotation_times=floats(0, 0.5)), "span"),
    "times that fall": (with_channel(rotation_times=floats(1, 0)), "do not rise"),
    "a rotation of no length": (with_channel(rotations=floats(*[(0, 0, 0, 0)] * 2)), "unit"),
    "two channels of one path": (with_clip(channels=WAVE.channels * 2), "path of another"),
    "two lights of one id": (replace(LIT_FILE, lights=(LAMP, LAMP)), "twice"),
    "a light with the id of an entity": (
        replace(LIT_FILE, lights=(replace(LAMP, entity_id=1),)),
        "twice",
    ),
    "a light of no type": (replace(LIT_FILE, lights=(replace(LAMP, light_type=5),)), "type"),
    "a light of less than nothing": (
        replace(LIT_FILE, lights=(replace(LAMP, intensity=-1.0),)),
        "away",
    ),
    "a camera without depth": (
        replace(LIT_FILE, cameras=(replace(EYE, clip=(1.0, 1.0)),)),
        "sees nothing",
    ),
    "an axis of no length": (
        replace(LIT_FILE, cameras=(replace(EYE, place=replace(PLACE, up=PLACE.up * 0)),)),
        "unit length",
    ),
    "a clip file with an entity": (replace(CLIP_FILE, entities=RIG_FILE.entities), "more than"),
    "a clip file without clips": (replace(CLIP_FILE, clips=()), "no clip"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_engine_would_show_wrongly_is_not_written(name):
    file, problem = REFUSED[name]
    with pytest.raises(EncodeError, match=problem):
        pack_untold(file, "a")


# Where the first record of each table begins in its chunk, and a field that is wrong there.
RANGES = {
    "joints of a skeleton": (8, 12, 3, RIG_FILE),
    "mappings of a skin": (10, 12, 3, RIG_FILE),
    "first mapping of a skin": (10, 16, 1, RIG_FILE),
    "vertices of a skin": (10, 20, 4, RIG_FILE),
    "joint data of a skin": (10, 24, 8, RIG_FILE),
    "channels of a clip": (12, 12, 2, CLIP_FILE),
    "translation keys of a channel": (13, 8, 3, CLIP_FILE),
    "unused rotation keys": (13, 16, 1, CLIP_FILE),
}


@pytest.mark.parametrize("name", RANGES)
def test_a_range_that_would_crash_the_loader_is_refused(name):
    kind, offset, value, file = RANGES[name]
    data = bytearray(pack_untold(file, "a"))
    count = struct.unpack_from("<I", data, 24)[0]
    starts = dict(struct.unpack_from("<I4xQ", data, 204 + 40 * n) for n in range(count))
    struct.pack_into("<I", data, starts[kind] + offset, value)
    with pytest.raises(EncodeError):
        unpack_untold(rehashed(bytes(data)), "a")


ARMATURES = {
    "plain": ({}, None),
    "scaled and turned": (
        {"scale": [0.01] * 3, "rotation": [-HALF, 0, 0, HALF]},
        # The vertices are in centimetres, with z up.
        np.array([[0.01, 0, 0, 0], [0, 0, 0.01, 0], [0, -0.01, 0, 0], [0, 0, 0, 1]]),
    ),
    "moved": ({"translation": [1, 2, 3]}, None),
}


def bent(**armature) -> Puppet:
    puppet = Puppet(**armature)
    times = [0, 0.5, 1]
    turns = [(0, 0, 0, 1), TURN_Z, (0, 0, 0, 1)]
    hops = [(0, 0, 0), (0, 0.5, 0), (0, 0, 0)]
    puppet.clip("bend", (2, "rotation", times, turns), (1, "translation", times, hops))
    return puppet


def assert_same_points(found: np.ndarray, expected: np.ndarray, tolerance: float = 1e-4) -> None:
    """Vertices may be in any order."""
    for point in expected:
        assert np.abs(found - point).max(axis=1).min() < tolerance
    for point in found:
        assert np.abs(expected - point).max(axis=1).min() < tolerance


@pytest.mark.parametrize("name", ARMATURES)
def test_vertices_are_shown_where_gltf_puts_them(name):
    armature, bound = ARMATURES[name]
    puppet = bent(armature=armature, bound=bound)
    built = build_model({"a.glb": puppet.glb()})
    rig = read_rig(built.files["hero.untold"])
    clip = read_rig(built.files["hero_bend.untoldanim"])["clips"][0]
    assert (clip["name"], clip["duration"]) == ("bend", 1.0)
    assert_same_points(shown(rig)[0], puppet.expected())
    for time in (0.0, 0.25, 0.5, 0.8, 1.0):
        part = 1 - abs(time - 0.5) * 2
        angle = part * np.pi / 4
        changed = {
            "knee": {"rotation": [0, 0, np.sin(angle), np.cos(angle)]},
            "hip": {"translation": [0, part * 0.5, 0]},
        }
        found = shown(rig, clip, time)[0]
        assert_same_points(found, puppet.expected(**changed), 1e-3)
        low, high = np.reshape(rig["meshes"][0]["box"], (2, 3))
        assert (found >= low - 1e-4).all()
        assert (found <= high + 1e-4).all()
    assert built.warnings == []


def test_vertices_lie_where_they_rest_when_one_matrix_takes_them_there():
    armature, bound = ARMATURES["scaled and turned"]
    rig = read_rig(
        build_model({"a.glb": bent(armature=armature, bound=bound).glb()}).files["hero.untold"]
    )
    assert_same_points(rig["meshes"][0]["position"], shown(rig)[0])


def test_a_rest_pose_that_is_not_the_bind_pose_is_kept():
    puppet = Puppet()
    puppet.json["nodes"][2]["rotation"] = list(TURN_Z)
    rig = read_rig(build_model({"a.glb": puppet.glb()}).files["hero.untold"])
    expected = puppet.expected()
    assert np.abs(expected[:, 0]).max() > 1
    assert_same_points(shown(rig)[0], expected)


def test_entities_of_a_rig_are_a_skeleton_and_its_children():
    rig = read_rig(build_model({"a.glb": bent().glb()}).files["hero.untold"])
    assert rig["kinds"] == [1, 2, 3, 4, 5, 8, 9, 10, 11, 6, 7, 16, 17]
    assert [(one["name"], one["parent"]) for one in rig["entities"]] == [
        ("puppet", NONE),
        ("skin", 0),
    ]
    assert all(np.array_equal(one["transform"], np.eye(4)) for one in rig["entities"])
    paths = [one["path"] for one in rig["skeletons"][0]["joints"]]
    assert paths == ["/hip", "/hip/knee", "/hip/knee/foot"]
    assert rig["skins"][0]["joints"] == [0, 1, 2]


def test_a_model_without_joints_has_the_seven_chunks_of_every_loader():
    built = build_model({"a.glb": quad().glb()})
    assert read_rig(built.files["hero.untold"])["kinds"] == [1, 2, 3, 4, 5, 6, 7]
    assert list(built.files) == ["hero.untold"]


def test_parts_that_hang_on_a_joint_follow_it():
    puppet = bent()
    puppet.json["nodes"][3]["children"] = [5]
    puppet.json["nodes"].append({"name": "sword", "mesh": 1, "translation": [2, 0, 0]})
    puppet.mesh({"POSITION": puppet.accessor([(0, 0, 0), (1, 0, 0), (0, 1, 0)], bounds=True)})
    built = build_model({"a.glb": puppet.glb()})
    rig = read_rig(built.files["hero.untold"])
    clip = read_rig(built.files["hero_bend.untoldanim"])["clips"][0]
    names = [rig["entities"][mesh["entity"]]["name"] for mesh in rig["meshes"]]
    sword = names.index("sword")
    assert_same_points(shown(rig)[sword], np.array([(2, 2, 0), (3, 2, 0), (2, 3, 0)]))
    world = puppet.worlds(knee={"rotation": TURN_Z}, hip={"translation": [0, 0.5, 0]})[5]
    corners = np.array([(0, 0, 0, 1), (1, 0, 0, 1), (0, 1, 0, 1.0)])
    assert_same_points(shown(rig, clip, 0.5)[sword], (corners @ world.T)[:, :3])


def test_nodes_that_a_clip_moves_are_joints_where_there_is_no_skin():
    builder = quad(translation=[0, 1, 0])
    Puppet.clip(builder, "open", (0, "rotation", [0, 1], [(0, 0, 0, 1), TURN_Z]))
    built = build_model({"door.glb": builder.glb()})
    rig = read_rig(built.files["hero.untold"])
    clip = read_rig(built.files["hero_open.untoldanim"])["clips"][0]
    assert [one["path"] for one in rig["skeletons"][0]["joints"]] == ["/place"]
    corners = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0.0)])
    assert_same_points(shown(rig)[0], corners + np.array([0, 1, 0]))
    turned = np.stack([-corners[:, 1], corners[:, 0] + 1, corners[:, 2]], axis=1)
    assert_same_points(shown(rig, clip, 1.0)[0], turned)


def test_every_track_reaches_from_zero_to_the_end():
    puppet = Puppet()
    late = ([1.5, 2.0], [(0, 0, 0, 1), TURN_Z])
    puppet.clip("late", (2, "rotation", *late), (1, "translation", [1.0], [(0, 1, 0)]))
    puppet.clip("pose", (2, "rotation", [0.0], [TURN_Z]))
    built = build_model({"a.glb": puppet.glb()})
    clip = read_rig(built.files["hero_late.untoldanim"])["clips"][0]
    assert clip["duration"] == 1.0
    for channel in clip["channels"]:
        for keys in (channel["moves"], channel["turns"]):
            assert not keys or (keys[0][0], keys[-1][0]) == (0.0, 1.0)
    pose = read_rig(built.files["hero_pose.untoldanim"])["clips"][0]
    assert pose["duration"] == pytest.approx(1 / 30)
    assert [key[0] for key in pose["channels"][0]["turns"]] == [0.0, pytest.approx(1 / 30)]


def test_keys_that_their_neighbours_give_are_left_out():
    puppet = Puppet()
    times = np.linspace(0, 2, 61)
    angles = times * np.pi / 8
    turns = np.stack([0 * angles, 0 * angles, np.sin(angles), np.cos(angles)], axis=1)
    puppet.clip("even", (2, "rotation", times, turns))
    puppet.clip("step", (2, "rotation", [0, 1, 2], turns[[0, 30, 60]]), mode="STEP")
    built = build_model({"a.glb": puppet.glb()})
    even, step = (
        read_rig(built.files[f"hero_{name}.untoldanim"])["clips"][0]["channels"][0]["turns"]
        for name in ("even", "step")
    )
    assert len(even) == 2
    assert len(step) > 4


def test_quaternions_of_neighbours_are_near():
    puppet = Puppet()
    flipped = [(0, 0, 0, 1), tuple(-one for one in TURN_Z), (0, 0, 1, 0)]
    puppet.clip("flip", (2, "rotation", [0, 1, 2], flipped))
    built = build_model({"a.glb": puppet.glb()})
    keys = read_rig(built.files["hero_flip.untoldanim"])["clips"][0]["channels"][0]["turns"]
    for before, after in pairwise(keys):
        assert np.dot(before[1:], after[1:]) > 0.4


def test_the_frame_rate_is_how_often_splines_are_sampled():
    puppet = Puppet()
    values = [(0, 0, 0), (0, 0, 0), (5, 0, 0), (0, 0, 0), (1, 0, 0), (-9, 0, 0)]
    puppet.clip("jump", (1, "translation", [0, 1], values), mode="CUBICSPLINE")
    data = {"a.glb": puppet.glb()}
    counts = []
    for rate in (4, 8, 60):
        file = build_model(data, frame_rate=rate).files["hero_jump.untoldanim"]
        keys = read_rig(file)["clips"][0]["channels"][0]["moves"]
        counts.append(len(keys))
        assert all(key[0] * rate == pytest.approx(round(key[0] * rate), abs=1e-4) for key in keys)
    assert counts[0] == 5
    assert counts == sorted(counts)


def test_an_animated_scale_is_a_warning():
    puppet = Puppet()
    puppet.clip("grow", (2, "scale", [0, 1], [(1, 1, 1), (2, 2, 2)]))
    warnings = build_model({"a.glb": puppet.glb()}).warnings
    assert any("scales joints (/hip/knee)" in text and "[feature]" in text for text in warnings)


def test_a_clip_of_nodes_that_are_no_joints_is_a_warning():
    puppet = Puppet()
    puppet.clip("drift", (4, "translation", [0, 1], [(0, 0, 0), (1, 0, 0)]))
    warnings = build_model({"a.glb": puppet.glb()}).warnings
    assert any("stand still: skin" in text for text in warnings)
    assert any("moves no joint [animation]" in text for text in warnings)


def test_a_mirrored_joint_is_refused():
    puppet = Puppet()
    puppet.json["nodes"][2]["scale"] = [-1, 1, 1]
    with pytest.raises(EncodeError, match="mirrored") as caught:
        build_model({"a.glb": puppet.glb()})
    assert caught.value.facts["joint"] == "/hip/knee"


def test_a_joint_that_no_vertex_follows_is_in_the_skeleton():
    """A game hangs weapons on such joints, and clips move them."""
    puppet = bent()
    puppet.json["nodes"][3]["children"] = [5]
    puppet.json["nodes"].append({"name": "socket", "translation": [0, 0.5, 0]})
    puppet.json["skins"][0]["joints"].append(5)
    bound = [*puppet.inverse, np.linalg.inv(puppet.worlds()[5])]
    stored = np.array([one.T for one in bound]).reshape(4, 16)
    puppet.json["skins"][0]["inverseBindMatrices"] = puppet.accessor(stored, kind="MAT4")
    built = build_model({"a.glb": puppet.glb()})
    rig = read_rig(built.files["hero.untold"])
    joints = rig["skeletons"][0]["joints"]
    assert [one["path"] for one in joints][3:] == ["/hip/knee/foot/socket"]
    assert np.allclose(joints[3]["bind"], puppet.worlds()[5])
    assert rig["skins"][0]["joints"] == [0, 1, 2]
    assert_same_points(shown(rig)[0], puppet.expected())
    assert built.warnings == []


@pytest.mark.parametrize("scale", [[-1, 1, 1], [1, 0, 1]])
def test_a_joint_that_the_engine_cannot_turn_is_left_out_where_no_vertex_follows_it(scale):
    puppet = bent()
    puppet.json["nodes"][3]["children"] = [5]
    puppet.json["nodes"].append({"name": "pole", "scale": scale, "children": [6]})
    puppet.json["nodes"].append({"name": "tip"})
    puppet.json["skins"][0]["joints"] += [5, 6]
    stored = np.array([one.T for one in [*puppet.inverse, np.zeros((4, 4)), np.eye(4)]])
    matrices = puppet.accessor(stored.reshape(5, 16), kind="MAT4")
    puppet.json["skins"][0]["inverseBindMatrices"] = matrices
    rig = read_rig(build_model({"a.glb": puppet.glb()}).files["hero.untold"])
    assert len(rig["skeletons"][0]["joints"]) == 3
    assert_same_points(shown(rig)[0], puppet.expected())


def test_the_four_largest_weights_are_kept():
    rows = [(0, 1, 2, 0, 1, 2, 0, 0)] * 8
    weights = [(0.1, 0.3, 0.2, 0, 0.15, 0.25, 0, 0)] * 8
    built = build_model({"a.glb": Puppet(joints=rows, weights=weights).glb()})
    skin = read_rig(built.files["hero.untold"])["skins"][0]
    assert np.allclose(skin["weights"][0], np.array([0.3, 0.25, 0.2, 0.15]) / 0.9)
    assert [skin["joints"][slot] for slot in skin["slots"][0]] == [1, 2, 2, 1]
    assert any("more than 4 joints; 10% of a vertex's weight" in text for text in built.warnings)


def test_a_vertex_without_weights_follows_the_first_joint():
    weights = [(0, 0, 0, 0), *[(1, 0, 0, 0)] * 7]
    built = build_model({"a.glb": Puppet(weights=weights).glb()})
    skin = read_rig(built.files["hero.untold"])["skins"][0]
    assert (skin["weights"].sum(axis=1) == 1).all()
    assert any("1 vertices have no weights" in text for text in built.warnings)


def test_joints_of_one_name_get_paths_of_their_own():
    puppet = Puppet()
    puppet.json["nodes"][1]["children"] = [2, 3]
    puppet.json["nodes"][2].pop("children")
    puppet.json["nodes"][2]["name"] = puppet.json["nodes"][3]["name"] = "le/g"
    rig = read_rig(build_model({"a.glb": puppet.glb()}).files["hero.untold"])
    paths = [one["path"] for one in rig["skeletons"][0]["joints"]]
    assert paths == ["/hip", "/hip/le_g", "/hip/le_g_2"]


def test_skins_of_one_armature_share_a_skeleton():
    puppet = bent()
    puppet.json["skins"].append({**puppet.json["skins"][0], "name": "coat"})
    puppet.json["nodes"].append({"name": "coat", "mesh": 0, "skin": 1})
    puppet.json["scenes"][0]["nodes"].append(5)
    rig = read_rig(build_model({"a.glb": puppet.glb()}).files["hero.untold"])
    assert list(rig["skeletons"]) == [0]
    assert [skin["skeleton"] for skin in rig["skins"]] == [0, 0]


def test_skins_that_disagree_on_the_bind_pose_have_skeletons_of_their_own():
    puppet = bent()
    puppet.json["nodes"][2]["rotation"] = list(TURN_Z)
    other = np.array([one.T @ np.diag([2, 2, 2, 1.0]) for one in puppet.inverse]).reshape(3, 16)
    matrices = puppet.accessor(other, kind="MAT4")
    puppet.json["skins"].append({**puppet.json["skins"][0], "inverseBindMatrices": matrices})
    puppet.json["nodes"].append({"name": "coat", "mesh": 0, "skin": 1})
    puppet.json["scenes"][0]["nodes"].append(5)
    built = build_model({"a.glb": puppet.glb()})
    rig = read_rig(built.files["hero.untold"])
    assert [skin["skeleton"] for skin in rig["skins"]] == [0, 1]
    found = shown(rig)
    assert_same_points(found[0], puppet.expected())
    puppet.inverse = [one.reshape(4, 4).T for one in other]
    assert_same_points(found[1], puppet.expected())


def test_a_source_without_triangles_gives_clips_for_joints_of_the_same_names():
    moves = bent()
    moves.json["nodes"].pop()
    moves.json["scenes"] = [{"nodes": [0]}]
    del moves.json["meshes"], moves.json["skins"]
    # Without a skin the nodes that it moves are the joints.
    puppet = Puppet()
    built = build_model({"a.glb": puppet.glb(), "moves.glb": moves.glb()})
    assert sorted(built.files) == ["hero.untold", "hero_bend.untoldanim"]
    rig = read_rig(built.files["hero.untold"])
    clip = read_rig(built.files["hero_bend.untoldanim"])["clips"][0]
    assert [one["path"] for one in clip["channels"]] == ["/hip", "/hip/knee"]
    changed = {"knee": {"rotation": TURN_Z}, "hip": {"translation": [0, 0.5, 0]}}
    assert_same_points(shown(rig, clip, 0.5)[0], puppet.expected(**changed), 1e-3)


def test_a_models_file_can_hold_its_clips():
    puppet = bent()
    data = {"a.glb": puppet.glb()}
    apart = build_model(data).files
    built = build_model(data, clip_files=False)
    assert sorted(built.files) == ["hero.untold"]
    rig = read_rig(built.files["hero.untold"])
    assert set(rig["kinds"]) == set(read_rig(apart["hero.untold"])["kinds"]) | {12, 13, 14, 15}
    assert rig["clips"] == read_rig(apart["hero_bend.untoldanim"])["clips"]
    still = Puppet().glb()
    pack = build_model({**data, "b.glb": still}, ["a.glb", "b.glb"], clip_files=False).files
    held = {name: len(read_rig(pack[f"hero/{name}.untold"])["clips"]) for name in "ab"}
    assert held == {"a": 1, "b": 0}


def test_clips_without_a_model_are_files():
    moves = bent()
    moves.json["nodes"].pop()
    moves.json["scenes"] = [{"nodes": [0]}]
    del moves.json["meshes"], moves.json["skins"]
    with pytest.raises(EncodeError, match="no model that could hold the clips"):
        build_model({"moves.glb": moves.glb()}, clip_files=False)


def test_clips_are_chosen_by_name_or_number():
    puppet = bent()
    puppet.clip("other|x", (2, "rotation", [0, 1], [(0, 0, 0, 1), TURN_Z]))
    data = {"a.glb": puppet.glb()}
    every = {"hero.untold", "hero_bend.untoldanim", "hero_other_x.untoldanim"}
    assert set(build_model(data).files) == every
    assert set(build_model(data, clips="bend").files) == every - {"hero_other_x.untoldanim"}
    assert set(build_model(data, clips=[1]).files) == every - {"hero_bend.untoldanim"}
    with pytest.raises(EncodeError, match="no such clip") as caught:
        build_model(data, clips=["run"])
    assert caught.value.facts["there are"] == "bend, other|x"
    with pytest.raises(EncodeError, match="no such clip") as caught:
        build_model(data, clips=["Bent"])
    assert caught.value.hint.startswith('Did you mean "bend"? ')


def test_clips_of_one_name_are_refused():
    puppet = bent()
    puppet.clip("BEND", (2, "rotation", [0, 1], [(0, 0, 0, 1), TURN_Z]))
    with pytest.raises(EncodeError, match="same name"):
        build_model({"a.glb": puppet.glb()})


def test_several_sources_become_a_pack():
    files = {"a/strip.glb": bent().glb(), "b/door.glb": quad().glb(), "c/door.glb": quad().glb()}
    built = build_model(files)
    assert set(built.files) == {
        "hero.untoldpack",
        "hero/strip.untold",
        "hero/strip_bend.untoldanim",
        "hero/door.untold",
        "hero/door-2.untold",
    }
    pack = json.loads(built.files["hero.untoldpack"])
    assert pack["formatVersion"] == 1
    assert [one["path"] for one in pack["models"]] == [
        "hero/strip.untold",
        "hero/door.untold",
        "hero/door-2.untold",
    ]
    assert pack["models"][0]["transform"] == np.eye(4).tolist()
    found = decode_pack(built.files["hero.untoldpack"], "hero.untoldpack", built.files.get)
    assert [one["joints"] for one in found["models"]] == [3, 0, 0]


BROKEN_PACKS = {
    "no JSON": b"{",
    "no models": b'{"formatVersion": 1, "sourceAsset": "a"}',
    "another version": b'{"formatVersion": 2, "sourceAsset": "a", "models": []}',
    "a model without a path": b'{"formatVersion": 1, "sourceAsset": "a", "models": [{}]}',
    "a missing file": json.dumps(
        {
            "formatVersion": 1,
            "sourceAsset": "a",
            "models": [{"displayName": "a", "path": "a", "transform": np.eye(4).tolist()}],
        }
    ).encode(),
    "a short matrix": json.dumps(
        {
            "formatVersion": 1,
            "sourceAsset": "a",
            "models": [{"displayName": "a", "path": "a", "transform": [[1.0]]}],
        }
    ).encode(),
}


@pytest.mark.parametrize("name", BROKEN_PACKS)
def test_a_broken_pack_is_refused(name):
    with pytest.raises(EncodeError):
        decode_pack(BROKEN_PACKS[name], "a.untoldpack", {}.get)


def test_a_stage_of_usd_gives_a_rig_and_its_clip(scratch):
    # The conversion writes scratch files, which an encoder may not; it is a node of its own.
    glb, _ = compose({"sign.usda": usd_rig()}, "sign.usda")
    built = build_model({"sign.glb": glb})
    rig = read_rig(built.files["hero.untold"])
    assert rig["skins"]
    clips = [name for name in built.files if name.endswith(".untoldanim")]
    assert len(clips) == 1
    paths = {one["path"] for one in rig["skeletons"][0]["joints"]}
    moved_paths = {one["path"] for one in read_rig(built.files[clips[0]])["clips"][0]["channels"]}
    assert moved_paths
    assert moved_paths <= paths


def test_a_skinned_fbx_file_gives_a_rig():
    fbx = Fbx()
    fbx.mesh()
    fbx.node(200, "sign")
    fbx.connect(100, 200)
    fbx.bone(400, "base")
    fbx.bone(401, "tip", 400, (0, 1, 0))
    fbx.skin(100, {400: [(0, 1), (1, 1)], 401: [(2, 1), (3, 1)]})
    built = build_model({"sign.fbx": fbx.data()})
    rig = read_rig(built.files["hero.untold"])
    assert [one["path"] for one in rig["skeletons"][0]["joints"]] == ["/base", "/base/tip"]
    # The file binds both bones at the origin, and the upper one rests one above it.
    corners = np.array([(0, 0, 0), (1, 0, 0), (1, 3, 0), (0, 3, 0.0)])
    assert_same_points(shown(rig)[0], corners)


def test_lz4_compresses_the_geometry_of_a_rig_alone():
    data = {"a.glb": bent().glb()}
    plain, packed = (
        unpack_untold(build_model(data, compression=one).files["hero.untold"], "a")
        for one in ("none", "lz4")
    )
    assert pack_untold(plain, "a") == pack_untold(packed, "a")


def test_back_faces_follow_the_joints_of_their_fronts():
    rig = read_rig(build_model({"a.glb": bent().glb()}, double_sided=True).files["hero.untold"])
    assert len(rig["meshes"][0]["triangles"]) == 12
    assert_same_points(shown(rig)[0], bent().expected())


def lit_scene() -> bytes:
    builder = quad()
    lights = [
        {"type": "directional", "intensity": 683.0, "name": "sun"},
        {"type": "spot", "intensity": 68.3, "range": 5.0, "color": [1, 0.5, 0]},
        {"type": "point", "intensity": 1.0},
    ]
    lights[1]["spot"] = {"innerConeAngle": np.pi / 18, "outerConeAngle": np.pi / 6}
    builder.json["extensions"] = {"KHR_lights_punctual": {"lights": lights}}
    builder.json["extensionsUsed"] = ["KHR_lights_punctual"]
    builder.json["cameras"] = [
        {"type": "perspective", "perspective": {"yfov": np.pi / 3, "znear": 0.1}},
        {"type": "orthographic", "orthographic": {"xmag": 1, "ymag": 1, "znear": 0, "zfar": 1}},
    ]
    for number, turn in enumerate(((0, 0, 0, 1), (-HALF, 0, 0, HALF))):
        light = {"KHR_lights_punctual": {"light": number}}
        node = {"rotation": list(turn), "translation": [0, 4, 0], "scale": [2, 2, 2]}
        builder.add("nodes", name=f"light {number}", extensions=light, **node)
    builder.add("nodes", name="eye", camera=0, translation=[0, 1, 5])
    builder.add("nodes", name="plan", camera=1)
    builder.json["scenes"] = [{"nodes": [0, 1, 2, 3, 4]}]
    return builder.glb()


def test_lights_and_cameras_of_a_scene_come_along():
    built = build_model({"a.glb": lit_scene()})
    found = decode_untold(built.files["hero.untold"], "hero.untold")
    sun, spot = found["lights"]
    assert (sun["type"], sun["intensity"], sun["flags"]) == ("directional", 1.0, 3)
    assert sun["direction"] == pytest.approx([0, 0, -1])
    assert (spot["type"], spot["flags"], spot["range"]) == ("spot", 6, 5.0)
    assert spot["intensity"] == pytest.approx(0.1 * 4 * np.pi)
    assert spot["direction"] == pytest.approx([0, -1, 0], abs=1e-6)
    assert spot["cones"] == pytest.approx([10, 30])
    assert spot["position"] == [0, 4, 0]
    (eye,) = found["cameras"]
    assert eye["fov_y_degrees"] == pytest.approx(60)
    assert eye["clip"] == pytest.approx([0.1, 10000])
    assert [text for text in built.warnings if "punctual" in text] == []
    assert any('camera "plan" is orthographic' in text for text in built.warnings)


def test_lights_can_be_left_out():
    built = build_model({"a.glb": lit_scene()}, lights=False)
    assert read_rig(built.files["hero.untold"])["kinds"] == [1, 2, 3, 4, 5, 6, 7]
