"""The bytes of version 20 files: hand-written ones, and every way to be wrong."""

from __future__ import annotations

import random
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from encoders.kit.error import EncodeError
from encoders.splashpack.format import Atlas, Clut
from encoders.splashpack.v20 import format as v20
from encoders.splashpack.v20.bounds import object_bounds, owners_of, triangle_bounds
from encoders.splashpack.v20.bvh import build_bvh
from encoders.splashpack.v20.reader import unpack_scene
from encoders.splashpack.v20.spu_file import (
    SPU_BYTES,
    SPU_CLIP,
    SPU_HEADER,
    Clip,
    finish_clip,
    pack_spu,
    unpack_spu,
)
from encoders.splashpack.v20.validate import check_uploads
from encoders.splashpack.v20.view import decode_scene, decode_spu, decode_vram
from encoders.splashpack.v20.vram_file import (
    VRAM_ATLAS,
    VRAM_CLUT,
    VRAM_HEADER,
    VramFile,
    pack_vram_file,
    unpack_vram_file,
)
from encoders.splashpack.v20.writer import pack_scene
from pipeline.build.purity import pure
from tests.encoders.splashpack20_minimum import PACK, SPU, VRAM, minimum, uploads
from tests.encoders.splashpack20_reader import drawn, read20, read_spu20, read_vram20
from tests.fuzz.damage import damage_bytes

DOCS = Path(__file__).parents[2] / "docs/formats/splashpack.md"
TABLES = [one for one in vars(v20).values() if isinstance(one, v20.Layout)]
TABLES += [VRAM_HEADER, VRAM_ATLAS, VRAM_CLUT, SPU_HEADER, SPU_CLIP]


def full(side: int = 20) -> v20.Scene20:
    """A scene with everything: a tree over two objects, colliders, nav, sounds, a script."""
    corner = np.arange(side * side)
    x, y = corner % side * 64 - 600, corner // side * 64 - 600
    z = corner * 7 % 300
    first = np.stack([x, y, z], axis=1)
    vertices = first[:, None] + np.array([[0, 0, 0], [64, 0, 0], [0, 64, 9]])
    count = len(vertices)
    columns = {key: np.repeat(column, count, axis=0) for key, column in minimum().triangles.items()}
    plain = corner % 3 == 0
    for key, value in v20.UNTEXTURED_PAGE.items():
        columns[key] = np.where(plain, value, columns[key])
    columns["uv"] = np.where(plain[:, None, None], 0, columns["uv"])
    columns["clut_y"] = np.where(plain, 0, columns["clut_y"])
    turned = [[2896, 0, 2896, 0, 4096, 0, -2896, 0, 2896]]
    scene = replace(
        minimum(),
        position=np.array([[0, 0, 1024], [-300, 20, 900], [1, 2, 3]]),
        rotation=np.concatenate([minimum().rotation, turned, minimum().rotation]),
        triangle_count=np.array([count - 70, 70, 0]),
        names=[b"a", "größe".encode(), b""],
        triangles={**columns, "vertices": vertices},
        player=v20.Player((1, -2, 3), (0, 2048, -512)),
        fog=v20.Fog((1, 2, 3), True, 10),
        colliders=[1, 0],
        nav=v20.NavRectangle((-700, 100), (800, 900), 74),
        clips=[v20.ClipRecord(b"bell", 48, 22050, False), v20.ClipRecord(b"hum", 16, 9000, True)],
        script=b"function onSceneCreationEnd()\nend\n",
    )
    boxes = triangle_bounds(scene)
    tree = build_bvh(boxes, owners_of(scene), scene.triangle_count)
    return replace(scene, bounds=object_bounds(scene, boxes), bvh=tree)


def clips() -> list[Clip]:
    one = np.zeros((1, 16), np.uint8)
    one[0, 0] = 0x2C
    return [finish_clip(one, 22050, loop=False), finish_clip(one, 9000, loop=True)]


def refuse(data: bytes, read=unpack_scene) -> EncodeError:
    with pytest.raises(EncodeError) as caught:
        read(bytes(data), "a")
    return caught.value


def changed(data: bytes, offset: int, form: str, value: int) -> bytes:
    copy = bytearray(data)
    struct.pack_into(form, copy, offset, value)
    return bytes(copy)


def test_smallest_scene_is_the_worked_example_byte_for_byte():
    with pure():
        pack, vram = pack_scene(minimum(), "a"), pack_vram_file(uploads(), "a")
        spu = pack_spu([], "a")
    assert len(pack) == 291
    assert pack == PACK
    assert vram == VRAM
    assert spu == SPU


def test_every_read_file_is_written_again_as_it_was():
    for data in (PACK, pack_scene(full(), "a")):
        assert pack_scene(unpack_scene(data, "a"), "a") == data
    assert pack_vram_file(unpack_vram_file(VRAM, "a"), "a") == VRAM
    spu = pack_spu(clips(), "a")
    assert pack_spu(unpack_spu(spu, "a"), "a") == spu


def test_second_reader_sees_the_smallest_scene():
    found = read20(PACK)
    (one,) = found["objects"]
    assert (one["name"], one["position"]) == ("T", (0, 0, 1024))
    assert one["triangles"][0]["page"] == 0x0205
    assert found["cluts"] == [(0, 0, 240, 4, 0)]
    vram = read_vram20(VRAM)
    assert vram["atlases"][0]["words"][:4] == (0x3333, 0x3333, 0x1122, 0x1122)
    assert vram["cluts"] == [{"x": 0, "y": 240, "words": (0, 0x1F, 0x3E0, 0x7C00)}]


def test_second_reader_sees_a_scene_with_everything():
    scene = full()
    found = read20(pack_scene(scene, "a"))
    assert [one["name"] for one in found["objects"]] == ["a", "größe", ""]
    assert [len(one["triangles"]) for one in found["objects"]] == [330, 70, 0]
    assert [one["page"] for one in found["objects"][0]["triangles"][:3]] == [0xFFFF, 0x205, 0x205]
    assert found["objects"][2]["bounds"] == (1, 2, 3, 1, 2, 3)
    assert [one[8] for one in found["colliders"]] == [1, 0]
    assert found["colliders"][0][:8] == (*found["objects"][1]["bounds"], 1, 255)
    assert found["nav"]["corners"] == [(-700, 100), (800, 100), (800, 900), (-700, 900)]
    assert (found["nav"]["floor"], found["nav"]["room"]) == ((0, 0, 74), 255)
    assert found["sounds"] == [("bell", 48, 22050, 0), ("hum", 16, 9000, 1)]
    assert found["script"] == scene.script
    assert found["fog"] == (1, 1, 2, 3, 10)
    assert found["start"][:2] == ((1, -2, 3), (0, 2048, -512))


def test_the_tree_shows_every_triangle_once_and_its_boxes_hold_them():
    found = read20(pack_scene(full(), "a"))
    refs = drawn(found)
    assert sorted(refs) == sorted(
        (number, row)
        for number, one in enumerate(found["objects"])
        for row in range(len(one["triangles"]))
    )
    leaves = [node for node in found["nodes"] if node[6] == 0xFFFF]
    assert max(node[9] for node in leaves) <= 64
    for node in leaves:
        names = [one for one, _ in found["refs"][node[8] : node[8] + node[9]]]
        assert names == sorted(names)


def test_equal_triangles_still_make_a_tree_of_small_leaves():
    boxes = np.tile(np.array([[0, 0, 0, 9, 9, 9]]), (1000, 1))
    tree = build_bvh(boxes, np.zeros(1000, np.int64), np.array([1000]))
    assert tree.nodes["ref_count"].max() <= 64
    assert sorted(tree.refs["triangle"].tolist()) == list(range(1000))


def test_bounds_are_rounded_outward():
    scene = replace(minimum(), rotation=np.array([[4095, 0, 0, 0, 4096, 0, 0, 0, 4096]]))
    low, high = triangle_bounds(scene)[0, [0, 3]]
    assert low < -512 * 4095 / 4096 <= -511
    assert high > 512 * 4095 / 4096
    assert (low, high) == (-512, 512)


def test_a_file_without_anything_is_its_header():
    none = {key: column[:0] for key, column in minimum().triangles.items()}
    scene = replace(
        minimum(),
        position=np.zeros((0, 3), int),
        rotation=np.zeros((0, 9), int),
        triangle_count=np.zeros(0, int),
        bounds=np.zeros((0, 6), int),
        names=[],
        triangles=none,
        atlases=[],
        cluts=[],
    )
    data = pack_scene(scene, "a")
    assert len(data) == 120
    assert pack_scene(unpack_scene(data, "a"), "a") == data


def test_inspection_counts_first_and_compares_the_files_beside_it():
    beside = {"a.vram": VRAM, "a.spu": SPU}
    found = decode_scene(PACK, "x/a.splashpack", beside.get)
    assert list(found)[:3] == ["format", "bytes", "objects"]
    assert found["warnings"] == []
    assert len(decode_scene(PACK, "a.splashpack", {}.get)["warnings"]) == 2
    with pytest.raises(EncodeError, match="sounds of this file"):
        decode_scene(PACK, "a.splashpack", {**beside, "a.spu": pack_spu(clips(), "a")}.get)
    other = pack_vram_file(replace(uploads(), cluts=[]), "a")
    with pytest.raises(EncodeError, match="uploads of this file"):
        decode_scene(PACK, "a.splashpack", {**beside, "a.vram": other}.get)
    assert decode_vram(VRAM, "a.vram")["atlases"] == [{"x": 320, "y": 0, "width": 2, "height": 8}]
    assert [one["loop"] for one in decode_spu(pack_spu(clips(), "a"), "a")["clips"]] == [
        False,
        True,
    ]


def test_every_truncation_and_every_longer_file_is_refused():
    everything = pack_scene(full(), "a")
    for data, read in (
        (PACK, unpack_scene),
        (VRAM, unpack_vram_file),
        (pack_spu(clips(), "a"), unpack_spu),
    ):
        for size in range(len(data)):
            refuse(data[:size], read)
        assert "not as long as its parts" in str(refuse(data + b"\0", read))
    for size in range(0, len(everything), 211):
        refuse(everything[:size])


# Where each table stands in the smallest files.
PLACES = (
    (PACK, unpack_scene, ((0, v20.HEADER_V20), (120, v20.OBJECT_V20), (212, v20.ATLAS_V20))),
    (PACK, unpack_scene, ((224, v20.CLUT_V20), (236, v20.TRIANGLE_V20))),
    (VRAM, unpack_vram_file, ((0, VRAM_HEADER), (8, VRAM_ATLAS), (48, VRAM_CLUT))),
    (SPU, unpack_spu, ((0, SPU_HEADER),)),
)


@pytest.mark.parametrize(("data", "read", "tables"), PLACES)
def test_every_flipped_bit_of_a_constant_or_padding_is_refused(data, read, tables):
    for start, table in tables:
        for byte, mask in enumerate(table.fixed_mask):
            for bit in (1 << n for n in range(8)):
                if bit & mask:
                    copy = bytearray(data)
                    copy[start + byte] ^= bit
                    refuse(bytes(copy), read)


@pytest.mark.parametrize(
    ("offset", "form", "value", "problem"),
    [
        (4, "<H", 2, "a field contradicts the rest of the file"),
        (8, "<H", 0, "a field contradicts the rest of the file"),
        (30, "<H", 0, "a field contradicts the rest of the file"),
        (44, "<H", 2, "a field contradicts the rest of the file"),
        (60, "<I", 0, "a field contradicts the rest of the file"),
        (68, "<I", 8, "a field contradicts the rest of the file"),
        (72, "B", 2, "a field contradicts the rest of the file"),
        (76, "B", 0, "the runtime divides by this density of fog"),
        (76, "B", 11, "the runtime divides by this density of fog"),
        (120, "<I", 240, "a field contradicts the rest of the file"),
        (124, "<i", 32768, "an object's position does not fit 16 bits"),
        (136, "<i", -32769, "an object's rotation does not fit 16 bits"),
        (188, "<i", -511, "the bounds of an object are not those of its triangles"),
        (208, "<i", 1023, "the bounds of an object are not those of its triangles"),
        (216, "<H", 1, "a triangle's texture is in no atlas"),
        (218, "<H", 0, "the runtime stops at an atlas of this size"),
        (220, "<H", 1023, "an atlas lies outside of VRAM"),
        (228, "<H", 64, "a CLUT lies outside of VRAM"),
        (232, "<H", 3, "the runtime stops at a palette of this size"),
        (280, "<H", 0x0206, "a triangle's texture is in no atlas"),
        (280, "<H", 0x0305, "a triangle's palette is no CLUT of the file"),
        (280, "<H", 0x0385, "a triangle's texture has a depth of 3"),
        (280, "<H", 0x0005, 'a triangle\'s texture page has other bits in "dither" than 1'),
        (280, "<H", 0x0225, 'a triangle\'s texture page has other bits in "blend" than 0'),
        (280, "<H", 0x0605, 'a triangle\'s texture page has other bits in "unused" than 0'),
        (280, "<H", 0xFFFF, "a triangle without a texture has texels of one"),
        (284, "<H", 241, "a triangle's palette is no CLUT of the file"),
        (288, "B", 2, "a name does not end where its length says"),
    ],
)
def test_what_the_runtime_would_misread_is_refused(offset, form, value, problem):
    assert refuse(changed(PACK, offset, form, value)).problem == problem


def test_a_tree_that_misses_doubles_or_hides_triangles_is_refused():
    scene = full()
    nodes, refs = ({**one} for one in (scene.bvh.nodes, scene.bvh.refs))
    boxes = nodes["bounds"].copy()
    boxes[1, 3] -= 1
    children = nodes["left"].copy()
    children[0] = 0
    wrong = [
        ({**nodes, "bounds": boxes}, refs),
        ({**nodes, "left": children}, refs),
        (nodes, {**refs, "triangle": np.where(refs["triangle"] == 5, 6, refs["triangle"])}),
        (nodes, {**refs, "object": np.full_like(refs["object"], 3)}),
        ({key: one[:-1] for key, one in nodes.items()}, refs),
        ({key: one[:0] for key, one in nodes.items()}, refs),
    ]
    for tree in wrong:
        with pytest.raises(EncodeError):
            pack_scene(replace(scene, bvh=v20.Bvh(*tree)), "a")


def test_more_than_the_runtime_keeps_is_refused():
    scene = full()
    clip = v20.ClipRecord(b"a", 16, 1, False)
    for more, problem in (
        ({"colliders": [0] * 65}, "too many colliders"),
        ({"clips": [clip._replace(name=b"%d" % n) for n in range(33)]}, "too many sounds"),
        ({"clips": [clip, clip]}, "two sounds have one name"),
        ({"names": [b"x" * 256, b"", b""]}, "a name is too long"),
        ({"names": [b"a\0b", b"", b""]}, "a name is too long"),
    ):
        with pytest.raises(EncodeError, match=problem):
            pack_scene(replace(scene, **more), "a")


def test_uploads_that_stop_the_runtime_are_not_written():
    odd = Atlas(320, 0, np.zeros((1, 3), np.uint16))
    short = Clut(0, 240, np.zeros(3, np.uint16))
    over = Atlas(0, 240, np.zeros((2, 2), np.uint16))
    for wrong in (
        VramFile([odd], []),
        VramFile([], [short]),
        VramFile([over], uploads().cluts),
    ):
        with pytest.raises(EncodeError):
            pack_vram_file(wrong, "a")
    assert "odd number" in str(refuse(changed(VRAM, 52, "<H", 3), unpack_vram_file))


def test_thousands_of_uploads_are_checked_without_comparing_all_pairs():
    tiny = [v20.AtlasRecord(x, y, 2, 1) for y in range(20) for x in range(0, 1024, 2)]
    check_uploads(tiny, [], "a")
    with pytest.raises(EncodeError, match="two areas of VRAM overlap") as caught:
        check_uploads([*tiny, v20.AtlasRecord(1, 19, 2, 1)], [], "a")
    assert caught.value.facts["other"] == f"atlas {len(tiny)}"


def test_sound_memory_holds_so_much_and_no_more():
    blocks = np.zeros((SPU_BYTES // 16 - 2, 16), np.uint8)
    data = pack_spu([finish_clip(blocks, 8000, loop=False)], "a")
    assert len(data) == 12 + SPU_BYTES
    with pytest.raises(EncodeError, match="do not fit sound memory"):
        pack_spu([finish_clip(blocks, 8000, loop=False), clips()[1]], "a")


def test_flags_end_a_sound_on_silence_and_repeat_a_loop_from_its_first_block():
    (rate, loop, once), (_, _, hum) = read_spu20(pack_spu(clips(), "a"))
    assert (rate, loop, len(once)) == (22050, 0, 48)
    assert once[1::16] == bytes([0, 0, 5])
    assert once[:16] == bytes(16)
    assert once[34:] == bytes(14)
    assert hum[1::16] == bytes([7])
    data = pack_spu(clips(), "a")
    for at in (13, 29, 45, 69):
        assert "flags" in str(refuse(changed(data, at, "B", 8), unpack_spu))


def test_damaged_files_are_refused_or_written_again_as_they_are():
    chance = random.Random(20)
    files = [
        (PACK, unpack_scene, pack_scene),
        (pack_scene(full(10), "a"), unpack_scene, pack_scene),
        (VRAM, unpack_vram_file, pack_vram_file),
        (pack_spu(clips(), "a"), unpack_spu, pack_spu),
    ]
    refused = 0
    for number in range(400):
        data, read, write = files[number % 4]
        spoilt = damage_bytes(data, [one for one, _, _ in files], chance)
        try:
            assert write(read(spoilt, "a"), "a") == spoilt
        except EncodeError:
            refused += 1
    assert refused > 200


def test_tables_of_the_manual_are_current():
    text = DOCS.read_text(encoding="utf-8")
    for table in TABLES:
        assert table.table() in text, table.title
