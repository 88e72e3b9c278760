from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from encoders.kit.error import EncodeError
from encoders.kit.layout.table import Layout, Row
from encoders.kit.layout.type import (
    F16,
    F32,
    I16,
    U8,
    U16,
    U16BE,
    U32,
    U64,
    Bits,
    Const,
    LayoutError,
    Scalar,
    magic,
    raw,
)
from tests.kit.layout_strategy import columns, fixed_bits, misfits

# Widths and byte orders that no format here has, so that the laws cover every kind of number.
I8 = Scalar("i8", "i1")
I32BE = Scalar("i32 big-endian", ">i4")
F64 = Scalar("f64", "<f8")

# fmt: off
HEADER = Layout("KAC 1.0 header", 8,
    Row(0x00, "identifier", magic(b"KAC "), "one trailing space"),
    Row(0x04, "version",    Const(F32, 1.0)),
)
TRIANGLE = Layout("KAC 1.0 3MSH triangle", 20,
    Row(0x00, "material", U16),
    Row(0x02, "corner",   U16[3, 3], "vertex, normal, uv"),
)
MATERIAL = Layout("KAC 1.0 MATE material", 6,
    Row(0x00, "color",    Bits(U16, (("r", 4), ("g", 4), ("b", 4), ("a", 4)))),
    Row(0x02, "metadata", Bits(U32, (("texture_index", 16), ("has_texture", 1),
                                     ("has_smooth_shading", 1), ("_padding", 14)))),
)
TEXTURE = Layout("KAC 1.0 TXTR texture", 20,
    Row(0x00, "parameters", Bits(U32, (("side", 16), ("sample_linearly", 1), ("clamp_uv", 1),
                                       ("_padding", 14)))),
    Row(0x04, "hash",       raw(16), "SHA-256 of level 0, first half"),
)
MIXED = Layout("every kind of row", 58,
    Row(0x00, "magic",   magic(b"MX")),
    Row(0x02, "small",   I8),
    Row(0x03, "_gap",    U8),
    Row(0x04, "wide",    U64),
    Row(0x0C, "big",     U16BE),
    Row(0x0E, "signed",  I32BE),
    Row(0x12, "half",    F16.nonfinite()),
    Row(0x14, "vector",  F32[3]),
    Row(0x20, "double",  F64),
    Row(0x28, "tag",     raw(3)),
    Row(0x2B, "_gap",    U8[5]),
    Row(0x30, "version", Const(U32, 7)),
    Row(0x34, "word",    Bits(U16BE, (("low", 3), ("_hole", 2), ("top", 11)))),
    Row(0x36, "last",    I16[2]),
)
# fmt: on
TABLES = [HEADER, TRIANGLE, MATERIAL, TEXTURE, MIXED]
# A busy machine makes drawing and running examples slow; neither is what these tests are about.
QUICK = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def test_material_of_the_worked_example_has_its_bytes() -> None:
    data = MATERIAL.pack(
        {"r": 1, "g": 2, "b": 3, "a": 15, "texture_index": 0, "has_texture": True}
        | {"has_smooth_shading": 1}
    )
    assert data == bytes.fromhex("21F3 00000300")


def test_header_of_the_worked_example_has_its_bytes_and_no_columns() -> None:
    assert HEADER.pack({}) == bytes.fromhex("4B414320 0000803F")
    assert HEADER.unpack(bytes.fromhex("4B414320 0000803F"), 1) == {}


def test_triangle_of_the_worked_example_is_read() -> None:
    data = bytes.fromhex("0000 000000000000 010000000100 020000000200")
    found = TRIANGLE.unpack_one(data, 0, "golden.kac")
    assert found["material"] == 0
    assert found["corner"].tolist() == [[0, 0, 0], [1, 0, 1], [2, 0, 2]]


def test_texture_of_the_worked_example_is_read_at_its_offset() -> None:
    data = bytes.fromhex("54585452 01000000 02000300 d0c1553fcc1d4d062a8b91c7caaeddc5 1f80")
    found = TEXTURE.unpack_one(data, 8, "golden.kac")
    assert (found["side"], found["sample_linearly"], found["clamp_uv"]) == (2, 1, 1)
    assert bytes(found["hash"]).hex() == "d0c1553fcc1d4d062a8b91c7caaeddc5"


@pytest.mark.parametrize("count", [0, 1, 3])
def test_rows_packed_together_are_the_records_packed_one_by_one(count: int) -> None:
    rows = [{"material": n, "corner": np.full((3, 3), 7 - n)} for n in range(count)]
    assert TRIANGLE.pack_rows(rows) == b"".join(TRIANGLE.pack(row) for row in rows)


def test_mixed_record_has_the_bytes_written_by_hand() -> None:
    data = MIXED.pack(
        {"small": -2, "wide": 2**64 - 1, "big": 0x1234, "signed": -2, "half": float("inf")}
        | {"vector": [1, 2, -0.5], "double": 0.5, "tag": b"abc", "low": 5, "top": 0x401}
        | {"last": [1, -1]}
    )
    assert data == bytes.fromhex(
        "4D58 FE 00 FFFFFFFFFFFFFFFF"  # magic, -2, gap, all bits
        "1234 FFFFFFFE 007C"  # big-endian, big-endian -2, half infinity
        "0000803F 00000040 000000BF"  # 1, 2, -0.5
        "000000000000E03F 616263 0000000000"  # 0.5, abc, gap
        "07000000 8025 0100 FFFF"  # version; 0x401 << 5 | 5 big-endian; 1, -1
    )


def test_scalars_fill_every_record() -> None:
    data = TRIANGLE.pack({"material": [7, 8], "corner": np.zeros((3, 3), int)}, count=2)
    assert data[0::20] == b"\x07\x08"


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.title)
def test_unpack_of_pack_gives_the_columns_back(table: Layout) -> None:
    @QUICK
    @given(columns(table))
    def law(case: tuple[int, dict[str, np.ndarray]]) -> None:
        count, given_columns = case
        data = table.pack(given_columns, count)
        assert len(data) == count * table.size
        found = table.unpack(data, count)
        assert found.keys() == given_columns.keys()
        for name, values in given_columns.items():
            np.testing.assert_array_equal(found[name], values)
        assert table.pack(found, count) == data

    law()


@pytest.mark.parametrize("table", TABLES[1:], ids=lambda table: table.title)
def test_every_misfit_is_refused_with_its_field(table: Layout) -> None:
    @QUICK
    @given(misfits(table))
    def law(case: tuple[int, dict[str, np.ndarray], str]) -> None:
        count, bad_columns, name = case
        with pytest.raises(EncodeError) as caught:
            table.pack(bad_columns, count)
        assert caught.value.facts["field"].startswith(name)
        assert caught.value.facts["table"] == table.title

    law()


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.title)
def test_every_flipped_bit_of_constants_and_padding_is_refused(table: Layout) -> None:
    zeros = {name: np.zeros((2, *column.type.shape), int) for name, column in table.columns.items()}
    good = table.pack(zeros, 2)
    for byte, bit in fixed_bits(table):
        bad = bytearray(good)
        bad[table.size + byte] ^= 1 << bit
        with pytest.raises(EncodeError) as caught:
            table.unpack(bytes(bad), 2, name="x.bin")
        assert caught.value.facts["file"] == "x.bin"
        assert caught.value.facts["row"] == "1"


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.title)
def test_every_truncation_is_refused_with_the_file(table: Layout) -> None:
    good = bytes(table.size * 2)
    for length in range(table.size * 2):
        with pytest.raises(EncodeError, match="too short") as caught:
            table.unpack(good[:length], 2, name="x.bin")
        assert caught.value.facts["file"] == "x.bin"


def test_a_count_from_a_hostile_file_costs_no_memory() -> None:
    with pytest.raises(EncodeError, match="too short"):
        TRIANGLE.unpack(b"KAC ", 2**32 - 1)
    with pytest.raises(EncodeError, match="too short"):
        TRIANGLE.unpack(bytes(40), 1, offset=2**63)
    with pytest.raises(EncodeError, match="too short"):
        TRIANGLE.unpack(bytes(40), 1, offset=-20)


@settings(QUICK, max_examples=50)
@given(st.binary(max_size=120), st.integers(-1, 3), st.integers(-1, 20))
def test_any_bytes_are_read_or_refused(data: bytes, count: int, offset: int) -> None:
    for table in TABLES:
        try:
            found = table.unpack(data, count, offset, "fuzz.bin")
        except EncodeError:
            continue
        end = offset + count * table.size
        assert table.pack(found, count) == data[offset:end]


def test_misfit_names_table_field_row_value_and_range() -> None:
    with pytest.raises(EncodeError) as caught:
        MATERIAL.pack(
            {"r": [1, 16, 99], "g": 0, "b": 0, "a": 0, "texture_index": 0}
            | {"has_texture": 0, "has_smooth_shading": 0},
            count=3,
        )
    assert caught.value.facts == {
        "table": "KAC 1.0 MATE material",
        "field": "r",
        "row": "1",
        "value": "16",
        "allowed": "0 to 15",
    }


def test_element_of_an_array_row_is_named_by_its_index() -> None:
    with pytest.raises(EncodeError) as caught:
        TRIANGLE.pack({"material": 0, "corner": [[0, 0, 0], [0, 0, -1], [0, 0, 0]]})
    assert caught.value.facts["field"] == "corner[1][2]"


def test_not_a_number_is_refused_on_reading_too() -> None:
    table = Layout("floats", 4, Row(0, "x", F32))
    for stored in ("0000C07F", "0100807F"):  # quiet and signalling
        with pytest.raises(EncodeError, match="does not fit"):
            table.unpack(bytes.fromhex(stored), 1)
        value = np.frombuffer(bytes.fromhex(stored), "<f4")
        half = Layout("halves", 2, Row(0, "x", F16))
        with pytest.raises(EncodeError, match="does not fit"):
            half.pack({"x": value})


@pytest.mark.parametrize(
    "given_columns",
    [
        {"material": 1},
        {"material": 1, "corner": np.zeros((3, 3), int), "extra": 1},
        {"material": 1.5, "corner": np.zeros((3, 3), int)},
        {"material": [1, 2], "corner": np.zeros((3, 3), int)},
        {"material": "7", "corner": np.zeros((3, 3), int)},
        {"material": 1, "corner": np.zeros(9, int)},
    ],
)
def test_wrong_names_kinds_and_shapes_are_mistakes_of_the_caller(given_columns: dict) -> None:
    with pytest.raises(LayoutError):
        TRIANGLE.pack(given_columns)


@pytest.mark.parametrize(
    "rows",
    [
        (4, Row(0, "a", U16), Row(3, "b", U16)),
        (5, Row(0, "a", U16), Row(2, "b", U16)),
        (4, Row(0, "a", U16), Row(2, "a", U16)),
        (4, Row(0, "a", Bits(U16, (("b", 16),))), Row(2, "b", U16)),
        (2, Row(0, "_a", Bits(U16, (("b", 16),)))),
    ],
)
def test_a_wrong_table_cannot_be_made(rows: tuple) -> None:
    with pytest.raises(LayoutError):
        Layout("wrong", *rows)


def test_wrong_types_cannot_be_made() -> None:
    for fields in [(("a", 15),), (("a", 17),), (("a", 16), ("b", 0))]:
        with pytest.raises(LayoutError):
            Bits(U16, fields)
    with pytest.raises(LayoutError):
        Bits(I16, (("a", 16),))
    with pytest.raises(LayoutError):
        Const(U16, b"ab")
    with pytest.raises(LayoutError):
        Const(raw(3), b"ab")
    with pytest.raises(LayoutError):
        U16[3][3]


def test_table_is_the_markdown_of_the_specification() -> None:
    assert MATERIAL.table().splitlines() == [
        "**KAC 1.0 MATE material**, 6 bytes",
        "",
        "| offset | name | type | note |",
        "| --- | --- | --- | --- |",
        "| 0x00 | color | u16 | |",
        "| bits 0-3 | r | 4 bits | |",
        "| bits 4-7 | g | 4 bits | |",
        "| bits 8-11 | b | 4 bits | |",
        "| bits 12-15 | a | 4 bits | |",
        "| 0x02 | metadata | u32 | |",
        "| bits 0-15 | texture_index | 16 bits | |",
        "| bit 16 | has_texture | 1 bit | |",
        "| bit 17 | has_smooth_shading | 1 bit | |",
        "| bits 18-31 | _padding | 14 bits | |",
    ]
    assert "| 0x00 | identifier | 4 x u8 = 4b 41 43 20 | one trailing space |" in HEADER.table()
