"""The tables, writer, reader and validator of KAC 1.0."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.kac import reader, writer
from encoders.kac.format import (
    HEADER,
    MATERIAL,
    NORMAL,
    SEGMENT,
    SIDES,
    TEXEL,
    TEXTURE,
    TRIANGLE,
    UV,
    VERTEX,
    KacFile,
    KacTexture,
    texture_size_bytes,
)
from encoders.kac.reader import unpack_kac
from encoders.kac.target import OPTIONS
from encoders.kac.view import decode_kac
from encoders.kac.writer import pack_kac
from encoders.kit.error import EncodeError
from tests.encoders.kac_reader import read
from tests.kit.layout_strategy import columns, fixed_bits
from tests.kit.mutation import mutated

DATA = Path(__file__).parent / "data" / "kac"
VECTORS = {path.name: path.read_bytes() for path in sorted(DATA.glob("*.kac"))}
GOOD = {name: data for name, data in VECTORS.items() if not name.startswith("q_")}
TABLES = (HEADER, SEGMENT, NORMAL, UV, VERTEX, TRIANGLE, MATERIAL, TEXTURE, TEXEL)
GOLDEN = bytes.fromhex("""
    4b414320 0000803f
    4e4f524d 01000000  00000000 00000000 0000803f
    55562020 03000000  00000000 00000000  0000803f 00000000  00000000 0000803f
    56455254 03000000  00000000 00000000 00000000
                       0000803f 00000000 00000000
                       00000000 0000803f 00000000
    334d5348 01000000  0000  0000 0000 0000  0100 0000 0100  0200 0000 0200
    4d415445 01000000  21f3 00000300
    54585452 01000000  02000300 d0c1553fcc1d4d062a8b91c7caaeddc5  1f80 e083 00fc 0000  28a9
""")


def example() -> KacFile:
    """One triangle with a texture of red, green, blue and a hole."""
    texels = bytes.fromhex("1f80 e083 00fc 0000 28a9")
    return KacFile(
        normals=np.array([[0, 0, 1]], np.float32),
        uvs=np.array([[0, 0], [1, 0], [0, 1]], np.float32),
        vertices=np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32),
        material_idx=np.array([0]),
        corners=np.array([[[0, 0, 0], [1, 0, 1], [2, 0, 2]]]),
        materials={
            "r": np.array([1]),
            "g": np.array([2]),
            "b": np.array([3]),
            "a": np.array([15]),
            "texture_idx": np.array([0]),
            "has_texture": np.array([1]),
            "has_smooth_shading": np.array([1]),
        },
        textures=(KacTexture(2, True, True, texels),),
    )


def refusal(data: bytes) -> EncodeError:
    with pytest.raises(EncodeError) as caught:
        unpack_kac(data, "x.kac")
    assert caught.value.facts["file"] == "x.kac"
    return caught.value


def test_worked_example_comes_out_byte_for_byte():
    data = pack_kac(example(), "x.kac")
    assert data == GOLDEN == VECTORS["golden.kac"]
    assert len(data) == 184
    assert hashlib.sha256(data).hexdigest().startswith("4e5861a27b6a6d42")


@pytest.mark.parametrize("name", sorted(GOOD))
def test_good_vector_is_read_without_a_warning_and_written_again_unchanged(name):
    kac = unpack_kac(GOOD[name], name)
    assert pack_kac(kac, name) == GOOD[name]
    expected = ["texture 0: Kelpo's Glide back end takes no textures of one texel"]
    assert decode_kac(GOOD[name], name)["warnings"] == expected * (name == "ok_tex1.kac")
    assert len(read(GOOD[name])["3MSH"]) == len(kac.material_idx)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("q_no_txtr.kac", "the file is too short"),
        ("q_tex_side0.kac", "a texture has a size that no loader takes"),
        ("q_tex_truncated.kac", "the file is too short"),
        ("q_trailing.kac", "there is something behind the last texture"),
        ("q_version11.kac", "a constant or padding field holds something else"),
        ("q_vidx_oob.kac", "a VERT index leads nowhere"),
        ("q_zero_norm.kac", "a segment is empty"),
    ],
)
def test_odd_vector_is_refused(name, problem):
    assert refusal(VECTORS[name]).problem == problem


def test_every_vector_is_accounted_for():
    assert len(GOOD) == 4
    assert len(VECTORS) == 11


# --- one record per table, worked out by hand


@pytest.mark.parametrize(
    ("layout", "values", "bytes_"),
    [
        (HEADER, {}, "4b 41 43 20  00 00 80 3f"),  # "KAC ", 1.0
        (SEGMENT, {"segment_identifier": b"UV  ", "n": 258}, "55 56 20 20  02 01 00 00"),
        (NORMAL, {"normal": [0, -1, 0.5]}, "00 00 00 00  00 00 80 bf  00 00 00 3f"),
        (UV, {"coordinates": [2, -0.25]}, "00 00 00 40  00 00 80 be"),
        (VERTEX, {"coordinates": [1, 10, 100]}, "00 00 80 3f  00 00 20 41  00 00 c8 42"),
        (
            TRIANGLE,
            {"material_idx": 1, "indexed_vertex": [[2, 3, 4], [5, 6, 7], [65535, 256, 0]]},
            "01 00  02 00 03 00 04 00  05 00 06 00 07 00  ff ff 00 01 00 00",
        ),
        (
            MATERIAL,  # r lowest: f321; texture 0102, bits 16 and 17
            {"r": 1, "g": 2, "b": 3, "a": 15, "texture_idx": 0x0102}
            | {"has_texture": 1, "has_smooth_shading": 1},
            "21 f3  02 01 03 00",
        ),
        (
            MATERIAL,
            {"r": 15, "g": 0, "b": 0, "a": 8, "texture_idx": 0}
            | {"has_texture": 0, "has_smooth_shading": 1},
            "0f 80  00 00 02 00",
        ),
        (
            TEXTURE,  # 256 = 0100 hexadecimal; bit 16 linear, bit 17 clamp
            {"side_length": 256, "sample_linearly": 0, "clamp_uv": 1}
            | {"pixel_data_hash": bytes(range(16))},
            "00 01 02 00  00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f",
        ),
        (TEXEL, {"r": 31, "g": 0, "b": 0, "a": 1}, "1f 80"),
        (TEXEL, {"r": 0, "g": 31, "b": 0, "a": 1}, "e0 83"),
        (TEXEL, {"r": 0, "g": 0, "b": 31, "a": 1}, "00 fc"),
        (TEXEL, {"r": 1, "g": 2, "b": 4, "a": 0}, "41 10"),
    ],
)
def test_record_has_the_bytes_that_the_specification_gives(layout, values, bytes_):
    assert layout.pack(values) == bytes.fromhex(bytes_)


@pytest.mark.parametrize(
    ("side", "size"),
    list(zip(SIDES, (22, 30, 62, 190, 702, 2750, 10942, 43710, 174782), strict=True)),
)
def test_texture_record_has_room_for_all_levels(side, size):
    assert texture_size_bytes(side) == size
    texture = KacTexture(side, True, False, bytes(size - 20))
    assert [len(level) for level in texture.levels()] == [
        2 * (side >> level) ** 2 for level in range(side.bit_length())
    ]


# --- laws


def test_every_truncation_is_refused():
    for end in range(len(GOLDEN)):
        refusal(GOLDEN[:end])


def test_trailing_bytes_are_refused():
    refusal(GOLDEN + b"\0")
    refusal(GOLDEN + b"ENDS")


def record_offsets() -> dict[int, object]:
    return {0: HEADER, 0x8C: MATERIAL, 0x9A: TEXTURE}


def test_every_flipped_constant_or_padding_bit_is_refused():
    flipped = 0
    for start, layout in record_offsets().items():
        for byte, bit in fixed_bits(layout):
            data = bytearray(GOLDEN)
            data[start + byte] ^= 1 << bit
            refusal(bytes(data))
            flipped += 1
    assert flipped == 64 + 14 + 14


@pytest.mark.parametrize("identifier", [b"NORM", b"UV  ", b"VERT", b"3MSH", b"MATE", b"TXTR"])
def test_every_flipped_bit_of_an_identifier_is_refused(identifier):
    start = GOLDEN.index(identifier)
    for bit in range(32):
        data = bytearray(GOLDEN)
        data[start + bit // 8] ^= 1 << bit % 8
        refusal(bytes(data))


def segments() -> dict[bytes, bytes]:
    """The golden file cut at its identifiers."""
    names = [b"KAC ", b"NORM", b"UV  ", b"VERT", b"3MSH", b"MATE", b"TXTR"]
    places = [GOLDEN.index(name) for name in names] + [len(GOLDEN)]
    return {
        name: GOLDEN[start:end]
        for name, start, end in zip(names, places[:-1], places[1:], strict=True)
    }


def test_segments_between_header_and_textures_may_have_any_order():
    cut = segments()
    names = [b"KAC ", b"MATE", b"VERT", b"NORM", b"UV  ", b"3MSH", b"TXTR"]
    data = b"".join(cut[name] for name in names)
    assert pack_kac(unpack_kac(data, "x.kac"), "x.kac") == GOLDEN
    assert read(data)["MATE"] == read(GOLDEN)["MATE"]


@pytest.mark.parametrize("missing", [b"KAC ", b"NORM", b"UV  ", b"VERT", b"3MSH", b"MATE", b"TXTR"])
def test_file_without_a_segment_is_refused(missing):
    refusal(b"".join(data for name, data in segments().items() if name != missing))


@pytest.mark.parametrize("twice", [b"KAC ", b"NORM", b"UV  ", b"VERT", b"3MSH", b"MATE", b"TXTR"])
def test_segment_that_is_there_twice_is_refused(twice):
    refusal(b"".join(data * (1 + (name == twice)) for name, data in segments().items()))


def test_header_that_is_not_first_and_textures_that_are_not_last_are_refused():
    cut = segments()
    header, textures = cut.pop(b"KAC "), cut.pop(b"TXTR")
    rest = list(cut.values())
    refusal(b"".join([rest[0], header, *rest[1:], textures]))
    refusal(b"".join([header, *rest[:-1], textures, rest[-1]]))


def test_end_marker_of_an_older_draft_is_refused():
    cut = segments()
    end = b"ENDS" + bytes(4)
    refusal(b"".join([end + data if name == b"TXTR" else data for name, data in cut.items()]))


@pytest.mark.parametrize("side", [0, 3, 100, 257, 512, 65535])
def test_side_that_no_loader_takes_is_refused(side):
    data = bytearray(GOLDEN)
    data[0x9A:0x9C] = struct.pack("<H", side)
    assert refusal(bytes(data)).facts["side"] == str(side)


@pytest.mark.parametrize(
    ("offset", "kind"),
    [
        (0x70, "material"),
        (0x72, "VERT"),
        (0x74, "NORM"),
        (0x76, "UV"),
        (0x82, "UV"),
        (0x8E, "texture"),
    ],
)
def test_index_that_leads_nowhere_is_refused(offset, kind):
    data = bytearray(GOLDEN)
    data[offset : offset + 2] = b"\xff\x7f"
    assert refusal(bytes(data)).problem == f"a {kind} index leads nowhere"


def test_texture_index_of_an_untextured_material_is_ignored():
    data = bytearray(VECTORS["ok_notex.kac"])
    data[0x8E:0x90] = b"\xcd\xcd"
    assert unpack_kac(bytes(data), "x.kac").materials["texture_idx"].tolist() == [0xCDCD]


@pytest.mark.parametrize("word", ["0000c07f", "0000807f", "000080ff"])
def test_numbers_that_are_not_finite_are_refused(word):
    for offset in (0x10, 0x24, 0x44):
        data = bytearray(GOLDEN)
        data[offset : offset + 4] = bytes.fromhex(word)
        refusal(bytes(data))


def test_wrong_hash_is_only_warned_of():
    data = bytearray(GOLDEN)
    data[0x9E] ^= 1
    found = decode_kac(bytes(data), "x.kac")
    assert found["warnings"] == ["texture 0: the hash is not that of its mip level 0"]
    assert pack_kac(unpack_kac(bytes(data), "x.kac"), "x.kac") == GOLDEN


def test_normal_without_a_length_is_warned_of():
    data = bytearray(GOLDEN)
    data[0x18:0x1C] = bytes(4)
    (warning,) = decode_kac(bytes(data), "x.kac")["warnings"]
    assert warning.endswith("their normal has no length: 1")


def large(vertices: int) -> KacFile:
    points = np.zeros((vertices, 3), np.float32)
    points[:, 0] = np.arange(vertices)
    return replace(example(), vertices=points)


def test_65536_vertices_are_read_and_one_more_is_refused():
    data = pack_kac(large(65536), "x.kac")
    assert len(unpack_kac(data, "x.kac").vertices) == 65536
    with pytest.raises(EncodeError) as caught:
        pack_kac(large(65537), "x.kac")
    assert caught.value.facts == {
        "file": "x.kac",
        "array": "vertices",
        "count": "65537",
        "limit": "65536",
    }
    start = data.index(b"VERT") + 4
    longer = data[:start] + struct.pack("<I", 65537) + bytes(12) + data[start + 4 :]
    assert refusal(longer).facts["count"] == "65537"


def test_more_than_65536_triangles_are_fine():
    one = example()
    many = replace(
        one, material_idx=np.zeros(70000, int), corners=np.repeat(one.corners, 70000, axis=0)
    )
    assert len(unpack_kac(pack_kac(many, "x.kac"), "x.kac").corners) == 70000


def test_file_of_two_gibibytes_is_refused(monkeypatch):
    for module in (reader, writer):
        monkeypatch.setattr(module, "SIZE_LIMIT_BYTES", 184)
    with pytest.raises(EncodeError, match="too large"):
        pack_kac(example(), "x.kac")
    assert refusal(GOLDEN).problem == "the file is too large"


def test_count_that_the_file_cannot_hold_is_refused_without_making_memory():
    for name in (b"NORM", b"UV  ", b"VERT", b"3MSH", b"MATE", b"TXTR"):
        start = GOLDEN.index(name) + 4
        refusal(GOLDEN[:start] + b"\xff\xff\xff\xff" + GOLDEN[start + 4 :])


@settings(max_examples=120, deadline=None)
@given(mutated(list(GOOD.values())))
def test_damaged_file_is_refused_or_is_one_that_can_be_written(data):
    try:
        kac = unpack_kac(data, "x.kac")
    except EncodeError:
        return
    again = unpack_kac(pack_kac(kac, "x.kac"), "x.kac")
    assert again.counts() == kac.counts()


@pytest.mark.parametrize("layout", TABLES, ids=lambda layout: layout.title)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_table_reads_what_it_wrote(layout, data):
    count, values = data.draw(columns(layout))
    packed = layout.pack(values, count)
    for name, column in layout.unpack(packed, count).items():
        assert np.array_equal(column, values[name])


def test_documentation_has_the_tables_as_they_are():
    text = (Path(__file__).parents[2] / "docs/formats/kac.md").read_text()
    for layout in TABLES:
        assert layout.table() in text


def test_documentation_has_every_option_as_it_is():
    text = (Path(__file__).parents[2] / "docs/formats/kac.md").read_text()
    for name, option in OPTIONS.items():
        assert f"| `{name}` | {option.rule.text} |" in text
        assert f"| {option.doc} |" in text
