"""`.untold` files by the specification: vectors, hex by hand, every rejection, and laws."""

from __future__ import annotations

import hashlib
import struct
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from encoders.kit.error import EncodeError
from encoders.untold.format.chunk import LZ4_COMPRESSOR
from encoders.untold.format.layout import (
    CHUNK,
    ENTITY,
    HEADER,
    MATERIAL_V1,
    MATERIAL_V3,
    MATERIAL_V4,
    MESH,
    NONE,
    TEXTURE,
    VERTEX,
)
from encoders.untold.format.reader import unpack_untold
from encoders.untold.format.untold_file import (
    EntityRecord,
    MaterialRecord,
    MeshRecord,
    TextureReference,
    UntoldFile,
)
from encoders.untold.format.writer import pack_untold
from encoders.untold.format.zstd import ZSTD_COMPRESSOR
from encoders.untold.mesh.tile_mesh import ATTRIBUTE_WIDTHS, TileMesh
from encoders.untold.mesh.vertex import pack_direction, pack_vertices, unpack_direction
from encoders.untold.target import OPTIONS
from encoders.untold.texture.utex import HEADER as UTEX
from encoders.untold.texture.utex import MIP
from pipeline.build.purity import pure
from tests.encoders.untold_reader import read
from tests.kit.mutation import mutated

DATA = Path(__file__).parent / "data/untold"
VECTORS = sorted(DATA.glob("*.untold"))
DOCUMENT = (Path(__file__).parents[2] / "docs/formats/untold.md").read_text()
TABLES = (HEADER, CHUNK, ENTITY, MESH, MATERIAL_V1, MATERIAL_V4, TEXTURE, VERTEX, UTEX, MIP)
TRIANGLE = (DATA / "golden_tri_v1.untold").read_bytes()
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))

# The triangle by hand: x, y plane, one texture, one material, one mesh, one entity.
BY_HAND = """
55 4E 54 4F 4C 44 00 00  01 00 00 00  01 00 00 00  # magic, formatVersion, fileType tile
00 00 00 00  CC 00 00 00  07 00 00 00              # flags, headerSize 204, chunkCount
01 00 00 00  01 00 00 00  01 00 00 00  01 00 00 00 # meshes, materials, textures, entities
01 00 00 00  00 00 00 00                           # vertexLayout, reserved0
00 00 00 00  00 00 00 00  00 00 00 00              # worldBounds.min
00 00 80 3F  00 00 80 3F  00 00 00 00              # worldBounds.max
00 00 80 3F  00 00 00 00  00 00 00 00  00 00 00 00 # rootTransform, column by column
00 00 00 00  00 00 80 3F  00 00 00 00  00 00 00 00
00 00 00 00  00 00 00 00  00 00 80 3F  00 00 00 00
00 00 00 00  00 00 00 00  00 00 00 00  00 00 80 3F
{hash}                                             # contentHash
{zero32}                                           # reserved1
01 00 00 00  00 00 00 00  F0 01 00 00 00 00 00 00  # STRING_TABLE, none, at 496
38 00 00 00 00 00 00 00  38 00 00 00 00 00 00 00  00 00 00 00  00 00 00 00
02 00 00 00  00 00 00 00  30 02 00 00 00 00 00 00  # ENTITY_TABLE at 560, one record
88 00 00 00 00 00 00 00  88 00 00 00 00 00 00 00  01 00 00 00  00 00 00 00
03 00 00 00  00 00 00 00  C0 02 00 00 00 00 00 00  # MESH_TABLE at 704
68 00 00 00 00 00 00 00  68 00 00 00 00 00 00 00  01 00 00 00  00 00 00 00
04 00 00 00  00 00 00 00  30 03 00 00 00 00 00 00  # MATERIAL_TABLE at 816
58 00 00 00 00 00 00 00  58 00 00 00 00 00 00 00  01 00 00 00  00 00 00 00
05 00 00 00  00 00 00 00  90 03 00 00 00 00 00 00  # TEXTURE_TABLE at 912
20 00 00 00 00 00 00 00  20 00 00 00 00 00 00 00  01 00 00 00  00 00 00 00
06 00 00 00  00 00 00 00  B0 03 00 00 00 00 00 00  # VERTEX_DATA at 944
60 00 00 00 00 00 00 00  60 00 00 00 00 00 00 00  00 00 00 00  00 00 00 00
07 00 00 00  00 00 00 00  10 04 00 00 00 00 00 00  # INDEX_DATA at 1040
06 00 00 00 00 00 00 00  06 00 00 00 00 00 00 00  00 00 00 00  00 00 00 00
{zero12}                                           # to 496
61 6C 62 65 64 6F 2E 70 6E 67 00                   # albedo.png
54 65 78 74 75 72 65 73 2F 61 6C 62 65 64 6F 2E 70 6E 67 00  # Textures/albedo.png
6D 61 74 5F 30 00  6D 65 73 68 5F 30 00            # mat_0, mesh_0
72 6F 6F 74 5F 65 6E 74 69 74 79 00                # root_entity
00 00 00 00 00 00 00 00                            # to 560
00 00 00 00  FF FF FF FF  2C 00 00 00              # entity 0, no parent, name at 44
00 00 00 00  01 00 00 00  00 00 00 00              # first mesh, mesh count, flags
00 00 00 00 00 00 00 00 00 00 00 00  00 00 80 3F 00 00 80 3F 00 00 00 00  # localBounds
00 00 00 00 00 00 00 00 00 00 00 00  00 00 80 3F 00 00 80 3F 00 00 00 00  # worldBounds
00 00 80 3F  00 00 00 00  00 00 00 00  00 00 00 00 # localTransform
00 00 00 00  00 00 80 3F  00 00 00 00  00 00 00 00
00 00 00 00  00 00 00 00  00 00 80 3F  00 00 00 00
00 00 00 00  00 00 00 00  00 00 00 00  00 00 80 3F
00 00 00 00 00 00 00 00                            # to 704
00 00 00 00  25 00 00 00  00 00 00 00  01 00 00 00 # entity, name at 37, material, uint16
03 00 00 00  03 00 00 00  20 00 00 00  00 00 00 00 # vertices, indices, stride, flags
00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00   # vertexDataOffset, indexDataOffset
60 00 00 00 00 00 00 00  06 00 00 00 00 00 00 00   # sizes
66 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00   # estimatedGPUBytes 102, reserved0
00 00 00 00 00 00 00 00 00 00 00 00  00 00 80 3F 00 00 80 3F 00 00 00 00  # localBounds
00 00 00 00 00 00 00 00                            # to 816
1F 00 00 00  00 00 00 00                           # name at 31, opaque
00 00 80 3F  00 00 80 3F  00 00 80 3F  00 00 80 3F # baseColorFactor
00 00 00 00  00 00 00 00  00 00 00 00              # emissiveFactor
00 00 80 3F  00 00 00 00  00 00 00 3F              # normalScale, metallic 0, roughness 0.5
00 00 80 3F  00 00 00 3F                           # occlusionStrength, alphaCutoff 0.5
00 00 00 00  FF FF FF FF  FF FF FF FF              # base colour texture 0, no others
FF FF FF FF  FF FF FF FF  FF FF FF FF
00 00 00 00  00 00 00 00                           # reserved0
00 00 00 00 00 00 00 00                            # to 912
00 00 00 00  0B 00 00 00  00 00 00 00  01 00 00 00 # name at 0, URI at 11, image file, sRGB
40 00 00 00  40 00 00 00  01 00 00 00  00 00 00 00 # 64 x 64, one level
00 00 00 00 00 00 00 00 00 00 00 00  00 00 F0 1F  FF 01 00 40  # 0 0 0, n +z, t +x sign +
00 00 00 00  00 00 00 00  FF FF FF FF              # uv 0 0, uv1, white
00 00 80 3F 00 00 00 00 00 00 00 00  00 00 F0 1F  FF 01 00 40  # 1 0 0
00 3C 00 00  00 00 00 00  FF FF FF FF              # uv 1 0
00 00 00 00 00 00 80 3F 00 00 00 00  00 00 F0 1F  FF 01 00 40  # 0 1 0
00 00 00 3C  00 00 00 00  FF FF FF FF              # uv 0 1: v upwards
00 00  01 00  02 00                                # indices
"""


def hand_made() -> bytes:
    text = BY_HAND.format(hash="00 " * 32, zero32="00 " * 32, zero12="00 " * 12)
    data = bytearray(bytes.fromhex("".join(line.partition("#")[0] for line in text.splitlines())))
    payloads = [(496, 56), (560, 136), (704, 104), (816, 88), (912, 32), (944, 96), (1040, 6)]
    joined = b"".join(data[start : start + size] for start, size in payloads)
    data[140:172] = hashlib.sha256(joined).digest()
    return bytes(data)


def rehashed(data: bytes | bytearray) -> bytes:
    """The same file with the hash that its payloads have."""
    data = bytearray(data)
    entries = [struct.unpack_from("<IIQQ", data, 204 + 40 * number) for number in range(7)]
    digest = hashlib.sha256()
    for _, _, start, size in sorted(entries):
        digest.update(data[start : start + size])
    data[140:172] = digest.digest()
    return bytes(data)


def patched(offset: int, form: str, *values, data: bytes = TRIANGLE) -> bytes:
    changed = bytearray(data)
    struct.pack_into(f"<{form}", changed, offset, *values)
    return rehashed(changed)


def problem_of(data: bytes) -> str:
    with pytest.raises(EncodeError) as caught:
        unpack_untold(data, "a.untold")
    if "file" in caught.value.facts:
        assert caught.value.facts["file"] == "a.untold"
    return caught.value.problem


def test_file_written_by_hand_is_the_vector():
    assert hand_made() == TRIANGLE


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_vector_is_read_alike_by_both_readers(path):
    data = path.read_bytes()
    content, other = unpack_untold(data, path.name), read(data)
    assert content.file_type == other["type"]
    assert content.world_bounds.tolist() == [list(other["bounds"][0]), list(other["bounds"][1])]
    for mesh, expected in zip(content.meshes, other["meshes"], strict=True):
        columns = VERTEX.unpack(mesh.vertices, mesh.vertex_count)
        assert np.array_equal(columns["position"], expected["position"])
        assert np.array_equal(columns["uv0"], expected["uv"])
        assert np.array_equal(mesh.indices.reshape(-1, 3), expected["triangles"])
        assert mesh.name == expected["name"]
    assert [one.name for one in content.materials] == [one["name"] for one in other["materials"]]


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_vector_is_written_again_byte_for_byte(path):
    data = path.read_bytes()
    content = unpack_untold(data, path.name)
    plain = DATA / path.name.replace("_lz4", "")
    assert pack_untold(content, path.name) == plain.read_bytes()


def test_compressed_geometry_is_smaller_and_reads_the_same():
    plain = (DATA / "golden_grid_v1.untold").read_bytes()
    packed = pack_untold(unpack_untold(plain, "a"), "a", compressor=LZ4_COMPRESSOR)
    assert len(packed) <= (DATA / "golden_grid_v1_lz4.untold").stat().st_size
    assert set(read(packed)["compressed"]) <= {6, 7}
    assert 6 in read(packed)["compressed"]
    assert pack_untold(unpack_untold(packed, "a"), "a") == plain


def test_geometry_that_does_not_shrink_stays_raw():
    packed = pack_untold(unpack_untold(TRIANGLE, "a"), "a", compressor=LZ4_COMPRESSOR)
    found = read(packed)["compressed"]
    assert 7 not in found


def test_tables_have_the_sizes_of_the_specification():
    layouts = (HEADER, CHUNK, ENTITY, MESH, MATERIAL_V1, MATERIAL_V3, MATERIAL_V4, TEXTURE, VERTEX)
    assert [one.size for one in layouts] == [204, 40, 136, 104, 88, 100, 108, 32, 32]


@pytest.mark.parametrize(
    ("vector", "word"),
    [
        ((0, 0, 1), 0x1FF00000),
        ((0, 1, 0), 0x0007FC00),
        ((1, 0, 0), 0x000001FF),
        ((-1, 0, 0), 0x00000201),
        ((0, -1, 0), 0x00080400),
        ((0, 0, -1), 0x20100000),
        ((1, 1, 1), 0x12749D27),
        ((5, 0, 0), 0x000001FF),
        ((0, 0, 0), 0x1FF00000),
    ],
)
def test_normal_is_packed_as_the_sheet_says(vector, word):
    x, y, z = pack_direction(np.array([vector], np.float32), (0, 0, 1))[0].tolist()
    assert x | y << 10 | z << 20 == word


@pytest.mark.parametrize(
    ("tangent", "word"),
    [
        ((1, 0, 0, 1), 0x400001FF),
        ((1, 0, 0, -1), 0xC00001FF),
        ((0, 0, -1, -1), 0xE0100000),
        ((0, 0, 0, 1), 0x400001FF),
    ],
)
def test_tangent_is_packed_as_the_sheet_says(tangent, word):
    data = pack_vertices(tile_mesh(tangent=[tangent]), "a")
    assert struct.unpack_from("<I", data, 16)[0] == word


def tile_mesh(**columns) -> TileMesh:
    values = {"position": [[0, 0, 0]], "normal": [[0, 0, 1]], "uv": [[0, 0]], "uv1": []}
    values |= {"color": [], "tangent": [[1, 0, 0, 1]], "component": [[0, 1, 1, 0, 0, 1]], **columns}
    arrays = {
        name: np.array(one, np.float32).reshape(-1, ATTRIBUTE_WIDTHS[name])
        for name, one in values.items()
    }
    flags = np.zeros(len(arrays["position"]), np.bool_)
    return TileMesh("a", -1, **arrays, is_border=flags, triangles=np.zeros((1, 3), np.int32))


def test_vertex_by_hand():
    one = tile_mesh(
        position=[[1, -2, 0.5]],
        normal=[[0, 1, 0]],
        uv=[[0.25, -1]],
        uv1=[[2, 0.5]],
        color=[[1, 0.5, 0, 2]],
    )
    expected = """
    00 00 80 3F  00 00 00 C0  00 00 00 3F  # position
    00 FC 07 00  FF 01 00 40               # normal +y, tangent +x with sign +
    00 34  00 BC  00 40  00 38             # uv0, uv1 as half floats
    FF 80 00 FF                            # color0: 0.5 is 128, 2 is cut off
    """
    text = "".join(line.partition("#")[0] for line in expected.splitlines())
    assert pack_vertices(one, "a") == bytes.fromhex(text)


def test_coordinate_past_half_floats_is_refused():
    with pytest.raises(EncodeError, match="half floats"):
        pack_vertices(tile_mesh(uv=[[70000, 0]]), "a")


@QUICK
@given(st.lists(st.floats(-1, 1, width=32), min_size=3, max_size=3))
def test_direction_comes_back_within_a_step(vector):
    if np.linalg.norm(vector) < 1e-3:
        return
    packed = pack_direction(np.array([vector]), (0, 0, 1))
    unit = np.array(vector) / np.linalg.norm(vector)
    assert np.abs(unpack_direction(packed)[0] - unit).max() <= 0.5 / 511 + 1e-9


def content(**changes) -> UntoldFile:
    """A small whole file: two meshes of one entity, a child with one, a texture, two materials."""

    def mesh(name, entity, material, shift=0.0):
        points = [[shift, 0, 0], [shift + 1, 0, 0], [shift, 1, 0]]
        one = tile_mesh(
            position=points, normal=[[0, 0, 1]] * 3, uv=[[0, 0]] * 3, tangent=[[1, 0, 0, 1]] * 3
        )
        box = np.array([[shift, 0, 0], [shift + 1, 1, 0]], np.float32)
        corners = np.array([0, 1, 2], np.uint32)
        return MeshRecord(name, entity, material, pack_vertices(one, "a"), corners, box)

    box = np.array([[0, 0, 0], [3, 1, 0]], np.float32)
    values = {
        "file_type": 1,
        "entities": (
            EntityRecord(7, "root", 0, 2, box, box),
            EntityRecord(3, None, 2, 1, box, box, parent=7),
        ),
        "meshes": (mesh("a", 7, 0), mesh("b", 7, NONE, 1.0), mesh("a", 3, 1, 2.0)),
        "materials": (
            MaterialRecord(
                "paint", 2, (0.5, 0.25, 0.125, 1.0), textures=(0, NONE, NONE, NONE, 0, NONE)
            ),
            MaterialRecord(None),
        ),
        "textures": (TextureReference("t.png", "Textures/t.png", 0, 1, 4, 8),),
    }
    return UntoldFile(**{**values, **changes})


def test_strings_are_stored_once():
    data = pack_untold(content(), "a")
    start, size = struct.unpack_from("<QQ", data, 212)
    assert data[start : start + size] == b"t.png\0Textures/t.png\0paint\0a\0root\0b\0"


@pytest.mark.parametrize("version", [1, 4])
@pytest.mark.parametrize("compressor", [None, LZ4_COMPRESSOR, ZSTD_COMPRESSOR])
def test_what_is_written_is_read_back(version, compressor):
    if compressor is ZSTD_COMPRESSOR:
        pytest.importorskip("zstandard")
    data = pack_untold(content(version=version), "a", compressor)
    assert pack_untold(unpack_untold(data, "a"), "a", compressor) == data
    found = read(data)
    assert [one["meshes"] for one in found["entities"]] == [(0, 2), (2, 1)]
    assert found["materials"][0]["textures"] == {"base_color": 0, "emissive": 0}
    assert found["materials"][0]["flags"] == 2
    if version == 4:
        height = (NONE, pytest.approx(0.05), 0.5, 0.0, 1.0)
        assert found["materials"][0]["height"] == height


def test_material_of_version_4_by_hand():
    data = pack_untold(content(version=4), "a")
    start = struct.unpack_from("<Q", data, 204 + 3 * 40 + 8)[0]
    expected = """
    15 00 00 00  02 00 00 00                            # name at 21, blend
    00 00 00 3F  00 00 80 3E  00 00 00 3E  00 00 80 3F  # baseColorFactor
    00 00 00 00  00 00 00 00  00 00 00 00               # emissiveFactor
    00 00 80 3F  00 00 00 00  00 00 00 3F               # normalScale, metallic, roughness
    00 00 80 3F  00 00 00 3F                            # occlusionStrength, alphaCutoff
    00 00 00 00  FF FF FF FF  FF FF FF FF               # textures
    FF FF FF FF  00 00 00 00  FF FF FF FF
    FF FF FF FF  CD CC 4C 3D  00 00 00 3F               # no height map, 0.05, 0.5
    00 00 00 00  00 00 80 3F                            # remap 0 to 1
    00 00 00 00  00 00 00 00                            # reserved0
    """
    text = "".join(line.partition("#")[0] for line in expected.splitlines())
    assert data[start : start + 108] == bytes.fromhex(text)


def test_many_vertices_have_wide_indices():
    count = 65536
    position = np.zeros((count, 3))
    position[:, 0] = np.arange(count)
    one = tile_mesh(
        position=position,
        normal=np.tile([0, 0, 1], (count, 1)),
        uv=np.zeros((count, 2)),
        tangent=np.tile([1, 0, 0, 1], (count, 1)),
    )
    box = np.array([[0, 0, 0], [count - 1, 0, 0]], np.float32)
    corners = np.array([0, 1, count - 1], np.uint32)
    mesh = MeshRecord("a", 0, NONE, pack_vertices(one, "a"), corners, box)
    whole = UntoldFile(1, (EntityRecord(0, "a", 0, 1, box, box),), (mesh,))
    found = read(pack_untold(whole, "a"))
    assert found["meshes"][0]["index_type"] == 2
    assert found["meshes"][0]["triangles"].tolist() == [[0, 1, count - 1]]


ENTRY = 204
REJECTED = {
    "invalid magic": (patched(0, "8s", b"UNTOLD\0\1"), "no .untold file"),
    "version 0": (patched(8, "I", 0), "format version"),
    "version 5": (patched(8, "I", 5), "format version"),
    "file type 0": (patched(12, "I", 0), "file type"),
    "file type": (patched(12, "I", 6), "file type"),
    "animation file": (patched(12, "I", 5), "required chunk"),
    "flags": (patched(16, "I", 1), "constant or padding"),
    "header size": (patched(20, "I", 208), "constant or padding"),
    "vertex layout": (patched(44, "I", 2), "constant or padding"),
    "reserved": (patched(48, "I", 1), "constant or padding"),
    "mesh count": (patched(28, "I", 2), "header and chunk table"),
    "material count": (patched(32, "I", 0), "header and chunk table"),
    "texture count": (patched(36, "I", 2), "header and chunk table"),
    "entity count": (patched(40, "I", 2), "header and chunk table"),
    "world bounds": (patched(52, "f", -1.0), "bounds are not those of the entities"),
    "world bounds nan": (patched(52, "f", float("nan")), "does not fit its field"),
    "root transform": (patched(76, "f", 2.0), "root transform"),
    "chunk type": (patched(ENTRY, "I", 18), "unknown chunk type"),
    "compression 3": (patched(ENTRY + 4, "I", 3), "unknown compression"),
    "zstd that saves nothing": (
        patched(ENTRY + 5 * 40 + 4, "I", 2),
        "a size that compression does not give",
    ),
    "zstd metadata": (patched(ENTRY + 4, "I", 2), "no loader takes this compression"),
    "lz4 metadata": (patched(ENTRY + 4, "I", 1), "no loader takes this compression"),
    "unaligned": (patched(ENTRY + 8, "Q", 497), "not aligned"),
    "past the end": (patched(ENTRY + 6 * 40 + 8, "Q", 1056), "past the end"),
    "sizes differ": (patched(ENTRY + 24, "Q", 55), "two sizes"),
    "string count": (patched(ENTRY + 32, "I", 1), "count of them"),
    "entry reserved": (patched(ENTRY + 36, "I", 1), "constant or padding"),
    "element count": (
        patched(40, "I", 0, data=patched(ENTRY + 40 + 32, "I", 0)),
        "records that it says",
    ),
    "parent": (patched(564, "I", 5), "parent of an entity"),
    "name outside": (patched(568, "I", 56), "outside of the string table"),
    "mesh range": (patched(576, "I", 2), "out of range"),
    "entity flags": (patched(580, "I", 1), "constant or padding"),
    "entity bounds": (patched(584, "f", 2.0), "not in order"),
    "infinite bounds": (patched(608, "f", float("inf")), "does not fit its field"),
    "mirrored": (patched(632, "f", -1.0), "mirrored or sheared"),
    "sheared": (patched(636, "f", 0.5), "mirrored or sheared"),
    "flat": (patched(632, "f", 0.0), "no size in one direction"),
    "projective": (patched(644, "f", 1.0), "not affine"),
    "entity of mesh": (patched(704, "I", 4), "mesh is not in the range of its entity"),
    "mesh name": (patched(708, "I", 99), "outside of the string table"),
    "material index": (patched(712, "I", 1), "index is out of range"),
    "index type 0": (patched(716, "I", 0), "unknown index type"),
    "index type 3": (patched(716, "I", 3), "unknown index type"),
    "index type 2": (patched(716, "I", 2), "size does not fit"),
    "vertex count": (patched(720, "I", 2), "size does not fit"),
    "index count": (patched(724, "I", 2), "size does not fit"),
    "stride": (patched(728, "I", 36), "stride"),
    "mesh flags": (patched(732, "I", 1), "constant or padding"),
    "vertex range": (patched(736, "Q", 32), "vertex data reach past"),
    "index range": (patched(744, "Q", 2), "index data reach past"),
    "vertex size": (patched(752, "Q", 95), "size does not fit"),
    "index size": (patched(760, "Q", 4), "size does not fit"),
    "gpu bytes": (patched(768, "Q", 0), "size does not fit"),
    "mesh reserved": (patched(776, "Q", 1), "constant or padding"),
    "mesh bounds": (patched(796, "f", 3.0), "not those of the vertices"),
    "alpha mode": (patched(820, "I", 3), "alpha mode"),
    "material flags": (patched(820, "I", 4), "constant or padding"),
    "material nan": (patched(824, "f", float("nan")), "does not fit its field"),
    "base colour texture": (patched(872, "I", 1), "index is out of range"),
    "occlusion texture": (patched(892, "I", 1), "index is out of range"),
    "texture name": (patched(912, "I", 500), "outside of the string table"),
    "no uri": (patched(916, "I", NONE), "no URI"),
    "texture format": (patched(920, "I", 10), "texture format"),
    "no width": (patched(928, "I", 0), "no size"),
    "no mips": (patched(936, "I", 0), "no size"),
    "texture reserved": (patched(940, "I", 1), "constant or padding"),
    "position nan": (patched(944, "f", float("nan")), "does not fit its field"),
    "normal w": (patched(956, "I", 0x5FF00000), "constant or padding"),
    "tangent w": (patched(960, "I", 0x1FF), "no handedness"),
    "index value": (patched(1044, "H", 3), "leads to no vertex"),
    "utf-8": (patched(496, "B", 0xFF), "not UTF-8"),
    "unterminated": (patched(551, "B", 0x41), "no end"),
    "uri elsewhere": (patched(507, "8s", b"http://a"), "leads elsewhere"),
    "uri climbs": (patched(507, "9s", b"../ures/a"), "leads elsewhere"),
}


@pytest.mark.parametrize("name", REJECTED)
def test_broken_file_is_refused_for_what_is_wrong(name):
    data, problem = REJECTED[name]
    assert problem in problem_of(data)


def test_changed_payload_does_not_have_the_hash():
    data = bytearray(TRIANGLE)
    data[1000] ^= 1
    assert "hash" in problem_of(bytes(data))


def test_hash_of_zeros_switches_the_check_off():
    data = bytearray(TRIANGLE)
    data[140:172] = bytes(32)
    assert unpack_untold(bytes(data), "a").triangle_count == 1


def test_missing_and_repeated_chunks_are_refused():
    data = bytearray(TRIANGLE)
    data[ENTRY + 4 * 40 : ENTRY + 5 * 40] = data[ENTRY + 3 * 40 : ENTRY + 4 * 40]
    assert "twice" in problem_of(rehashed(data))
    data = bytearray(TRIANGLE)
    struct.pack_into("<I", data, 24, 6)
    assert "missing" in problem_of(bytes(data))


def test_duplicate_entity_id_is_refused():
    two = content().entities
    broken = content(entities=(two[0], replace(two[1], entity_id=7, parent=NONE)))
    with pytest.raises(EncodeError, match="one id"):
        pack_untold(broken, "a")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"entities": ()}, "no entity"),
        ({"entities": content().entities[::-1]}, "does not come before"),
        ({"entities": (replace(content().entities[0], mesh_count=3),)}, "not in the range"),
        (
            {"entities": (replace(content().entities[0], mesh_count=3), content().entities[1])},
            "two entities have one mesh",
        ),
        ({"entities": content().entities[:1]}, "belongs to no entity|not in the range"),
        ({"materials": content().materials[:1]}, "out of range"),
        ({"textures": ()}, "out of range"),
    ],
)
def test_writer_refuses_what_the_reader_refuses(changes, problem):
    with pytest.raises(EncodeError, match=problem):
        pack_untold(content(**changes), "a")


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_every_truncation_is_refused(path):
    data = path.read_bytes()
    step = max(1, len(data) // 400)
    for size in [*range(min(len(data), 1100)), *range(1100, len(data), step)]:
        with pytest.raises(EncodeError):
            unpack_untold(data[:size], "a")


@pytest.mark.parametrize("more", [b"\0", b"x", bytes(16)])
def test_anything_behind_the_last_chunk_is_refused(more):
    assert "behind the last chunk" in problem_of(TRIANGLE + more)


@pytest.mark.parametrize("layout", [HEADER, CHUNK, ENTITY, MESH, MATERIAL_V1, TEXTURE, VERTEX])
def test_every_flipped_constant_or_padding_bit_is_refused(layout):
    places = {HEADER: 0, CHUNK: 204, ENTITY: 560, MESH: 704, MATERIAL_V1: 816}
    start = {**places, TEXTURE: 912, VERTEX: 944}[layout]
    for byte, mask in enumerate(layout.fixed_mask):
        for bit in range(8):
            if mask >> bit & 1:
                data = bytearray(TRIANGLE)
                data[start + byte] ^= 1 << bit
                problem_of(rehashed(data))


def test_every_bit_of_the_padding_between_chunks_is_refused():
    for offset in [*range(484, 496), *range(552, 560), *range(696, 704), *range(904, 912)]:
        data = bytearray(TRIANGLE)
        data[offset] ^= 0x10
        assert "between the chunks" in problem_of(bytes(data))


@QUICK
@given(mutated([TRIANGLE, pack_untold(content(), "a", compressor=LZ4_COMPRESSOR)]))
def test_damaged_file_is_read_or_refused_by_name(data):
    with suppress(EncodeError):
        assert unpack_untold(data, "a.untold").entities


@QUICK
@given(st.data())
def test_damaged_file_with_its_hash_is_read_or_refused(data):
    changed = bytearray(TRIANGLE)
    for _ in range(data.draw(st.integers(1, 3))):
        changed[data.draw(st.integers(172, len(changed) - 1))] = data.draw(st.integers(0, 255))
    changed[140:172] = bytes(32)
    try:
        found = unpack_untold(bytes(changed), "a.untold")
    except EncodeError:
        return
    again = pack_untold(found, "a.untold")
    assert unpack_untold(again, "a").triangle_count == found.triangle_count


def test_lz4_block_that_lies_about_its_size_is_refused():
    data = bytearray((DATA / "golden_grid_v1_lz4.untold").read_bytes())
    entry = ENTRY + 5 * 40
    for size in (14111, 14113, 1 << 40, 4684):
        struct.pack_into("<Q", data, entry + 24, size)
        problem_of(bytes(data))


@pytest.mark.parametrize("size", [14111, 14113, 1 << 40])
def test_zstd_frame_that_lies_about_its_size_is_refused(size):
    data = bytearray(zstd_grid())
    struct.pack_into("<Q", data, ENTRY + 5 * 40 + 24, size)
    data[140:172] = bytes(32)
    assert "size" in problem_of(bytes(data))


def test_damaged_zstd_frame_is_refused():
    data = bytearray(zstd_grid())
    (start,) = struct.unpack_from("<Q", data, ENTRY + 5 * 40 + 8)
    data[140:172] = bytes(32)
    for offset in (0, 6, 40):
        broken = bytearray(data)
        broken[start + offset] ^= 0xFF
        problem_of(bytes(broken))


def test_zstd_geometry_is_one_frame_of_the_same_bytes():
    zstandard = pytest.importorskip("zstandard")
    data, plain = zstd_grid(), (DATA / "golden_grid_v1.untold").read_bytes()
    found = read(data)
    assert found["compressed"] == [6, 7]
    assert pack_untold(unpack_untold(data, "a"), "a") == plain
    assert len(data) < len(plain)
    assert data.count(zstandard.FRAME_HEADER) == 2
    _, kind, start, size, full, _, _ = struct.unpack_from("<IIQQQII", data, ENTRY + 5 * 40)
    assert kind == 2
    frame = zstandard.get_frame_parameters(data[start : start + size])
    assert frame.content_size == full


def test_zstd_without_its_library_is_refused_with_a_hint(monkeypatch):
    data = zstd_grid()
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    file = unpack_untold(TRIANGLE, "a")
    for act in (
        lambda: unpack_untold(data, "a.untold"),
        lambda: pack_untold(file, "a", ZSTD_COMPRESSOR),
    ):
        with pytest.raises(EncodeError) as caught:
            act()
        assert caught.value.facts["library"] == "zstandard"
        assert "pip install zstandard" in caught.value.hint


def zstd_grid() -> bytes:
    pytest.importorskip("zstandard")
    plain = (DATA / "golden_grid_v1.untold").read_bytes()
    return pack_untold(unpack_untold(plain, "a"), "a", ZSTD_COMPRESSOR)


def test_documentation_has_the_tables_as_they_are():
    for layout in TABLES:
        assert layout.table() in DOCUMENT


def test_documentation_has_every_option_as_it_is():
    for name, option in OPTIONS.items():
        assert f"| `{name}` | {option.rule.text} |" in DOCUMENT
        assert f"| {option.doc} |" in DOCUMENT


def test_nothing_is_opened_while_packing_and_reading():
    with pure():
        data = pack_untold(content(), "a", compressor=LZ4_COMPRESSOR)
        found = unpack_untold(data, "a")
    assert found.triangle_count == 3
