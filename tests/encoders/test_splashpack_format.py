"""The bytes of SPLASHPACK files: a hand-written file, and every way to be wrong."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from encoders.kit.error import EncodeError
from encoders.splashpack.format import ATLAS, CLUT, EXPORTER, HEADER, TRIANGLE, Atlas, Clut
from encoders.splashpack.reader import unpack_splashpack
from encoders.splashpack.view import decode_splashpack
from encoders.splashpack.writer import pack_splashpack
from pipeline.build.purity import pure
from tests.encoders.splashpack_minimum import PALETTE, atlas_words, minimum, minimum_bytes
from tests.encoders.splashpack_reader import Console, read

# Where each table stands in the smallest file, and how often.
TABLES = ((0, HEADER, 1), (12, EXPORTER, 1), (68, ATLAS, 1), (80, CLUT, 1), (600, TRIANGLE, 2))
DOCS = Path(__file__).parents[2] / "docs/formats/splashpack.md"


def refuse(data: bytes) -> EncodeError:
    with pytest.raises(EncodeError) as caught:
        unpack_splashpack(bytes(data), "a.splashpack")
    return caught.value


def changed(offset: int, form: str, value: int) -> bytes:
    data = bytearray(minimum_bytes())
    struct.pack_into(form, data, offset, value)
    return bytes(data)


def test_smallest_scene_is_the_worked_example_byte_for_byte():
    with pure():
        data = pack_splashpack(minimum(), "a")
    assert len(data) == 33472
    assert data == minimum_bytes()


def test_read_file_is_written_again_as_it_was():
    assert pack_splashpack(unpack_splashpack(minimum_bytes(), "a"), "a") == minimum_bytes()


def test_second_reader_sees_the_same():
    found = read(minimum_bytes())
    (one,) = found["objects"]
    assert one["position"] == (0, 0, 1024)
    assert [triangle["uv"][1] for triangle in one["triangles"]] == [(7, 0), (7, 7)]
    console = Console(found)
    texels = [console.texel(one["triangles"][0], u, 0) for u in range(8)]
    assert texels == PALETTE[:8]


def test_inspection_counts_first():
    found = decode_splashpack(minimum_bytes(), "a")
    assert list(found)[:3] == ["format", "bytes", "objects"]
    assert found["atlases"] == [{"x": 320, "y": 0, "width": 64, "height": 256}]
    assert found["warnings"] == []


@pytest.mark.parametrize("size", [*range(0, 704, 3), *range(704, 33472, 997), 33471])
def test_every_truncation_is_refused(size):
    refuse(minimum_bytes()[:size])


def test_bytes_behind_the_end_are_refused():
    assert "not as long as its parts" in str(refuse(minimum_bytes() + b"\0"))


def test_every_flipped_bit_of_a_constant_or_padding_is_refused():
    for start, table, count in TABLES:
        for row in range(count):
            for byte, mask in enumerate(table.fixed_mask):
                for bit in (1 << n for n in range(8)):
                    data = bytearray(minimum_bytes())
                    data[start + row * table.size + byte] ^= bit & mask
                    if bit & mask:
                        refuse(bytes(data))


@pytest.mark.parametrize(
    ("offset", "form", "value", "problem"),
    [
        (12, "<i", 32768, "an object's position does not fit 16 bits"),
        (24, "<i", -32769, "an object's rotation does not fit 16 bits"),
        (60, "<i", 604, "the mesh data does not begin where it should"),
        (64, "<i", -1, "a triangle count is negative"),
        (64, "<i", 3, "the atlas data does not begin where it should"),
        (68, "<i", 708, "the atlas data does not begin where it should"),
        (72, "<H", 65, "an atlas has a width that no depth has"),
        (76, "<H", 321, "an atlas stands where no texture page begins"),
        (76, "<H", 1024, "an atlas stands where no texture page begins"),
        (78, "<H", 128, "an atlas stands where no texture page begins"),
        (592, "<H", 64, "a CLUT lies outside of VRAM"),
        (592, "<H", 19, "a triangle's palette is no CLUT of the file"),
        (594, "<H", 512, "a CLUT lies outside of VRAM"),
        (596, "<H", 15, "a palette count is not an even number from 2 to 256"),
        (596, "<H", 0, "a palette count is not an even number from 2 to 256"),
        (596, "<H", 14, "a palette has words behind its count"),
        (644, "<H", 0x0206, "a triangle's texture is in no atlas"),
        (644, "<H", 0x0215, "a triangle's texture is in no atlas"),
        (644, "<H", 0x0385, "a triangle's texture has a depth of 3"),
        (644, "<H", 0x0305, "a triangle's palette is no CLUT of the file"),
        (644, "<H", 0x0005, "a triangle's texture page does not ask for dithering"),
        (648, "<H", 241, "a triangle's palette is no CLUT of the file"),
    ],
)
def test_what_the_console_would_misread_is_refused(offset, form, value, problem):
    assert refuse(changed(offset, form, value)).problem == problem


def test_areas_that_overlap_are_refused():
    pack = minimum()
    twice = replace(pack, atlases=[*pack.atlases, Atlas(256, 0, np.zeros((256, 128), np.uint16))])
    clash = replace(pack, cluts=[*pack.cluts, Clut(20, 10, np.zeros(16, np.uint16))])
    cluts = replace(pack, cluts=[*pack.cluts, Clut(0, 240, np.zeros(2, np.uint16))])
    for wrong in (twice, clash, cluts):
        with pytest.raises(EncodeError, match="two areas of VRAM overlap"):
            pack_splashpack(wrong, "a")


def test_palette_of_odd_size_is_not_written():
    clut = Clut(0, 240, np.array(PALETTE[:15], np.uint16))
    with pytest.raises(EncodeError, match="the runtime stops at a palette of this size"):
        pack_splashpack(replace(minimum(), cluts=[clut]), "a")


def test_file_without_anything_is_twelve_bytes():
    empty = {key: np.asarray(column)[:0] for key, column in minimum().triangles.items()}
    none = np.zeros((0, 3), int)
    pack = replace(
        minimum(),
        position=none,
        rotation=np.zeros((0, 9), int),
        triangle_count=np.zeros(0, int),
        triangles=empty,
        atlases=[],
        cluts=[],
    )
    data = pack_splashpack(pack, "a")
    assert data == b"SP\1\0" + bytes(8)
    assert pack_splashpack(unpack_splashpack(data, "a"), "a") == data


def test_atlas_over_a_framebuffer_or_the_font_is_a_warning():
    pack = minimum()
    over = Clut(0, 0, np.zeros(2, np.uint16))
    font = Atlas(960, 256, atlas_words())
    data = pack_splashpack(
        replace(pack, atlases=[*pack.atlases, font], cluts=[*pack.cluts, over]), "a"
    )
    first, second = decode_splashpack(data, "a")["warnings"]
    assert first == "atlas 1 overwrites the runtime's font"
    assert second == "CLUT 1 lies in a framebuffer, where the runtime draws over it"


def test_tables_of_the_manual_are_current():
    text = DOCS.read_text()
    for table in (HEADER, EXPORTER, ATLAS, CLUT, TRIANGLE):
        assert table.table() in text
