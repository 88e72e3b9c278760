"""Meshopt decoding against what the C library encodes (data/meshopt.json holds its output)."""

import base64
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.kit.error import EncodeError
from encoders.kit.source.gltf.data.accessor import decode_accessor
from encoders.kit.source.gltf.data.meshopt import MeshoptView, decode_meshopt
from encoders.kit.source.gltf.source import decode_gltf
from tests.kit.glb_builder import Builder

CASES = json.loads((Path(__file__).parent / "data" / "meshopt.json").read_text())
MODES = {"triangles": "TRIANGLES", "indices": "INDICES"}


def case(key):
    record = CASES[key]
    filtering = "".join(letter for letter in key if letter.isalpha()).upper()
    view = MeshoptView(
        buffer=0,
        byte_length=0,
        byte_stride=record.get("stride", 4),
        count=record["count"],
        mode=MODES.get(key, "ATTRIBUTES"),
        filter=filtering if filtering in ("OCTAHEDRAL", "QUATERNION", "EXPONENTIAL") else "NONE",
    )
    return view, *(base64.b64decode(record[side]) for side in ("encoded", "decoded"))


@pytest.mark.parametrize("key", ["attributes", "triangles", "indices", "exponential"])
def test_data_of_the_c_library_decodes_exactly(key):
    view, encoded, decoded = case(key)
    assert decode_meshopt(memoryview(encoded), view, "a", "w") == decoded


@pytest.mark.parametrize(
    ("key", "dtype"), [("octahedral8", "i1"), ("octahedral16", "<i2"), ("quaternion", "<i2")]
)
def test_filtered_data_of_the_c_library_decodes_within_one_unit(key, dtype):
    view, encoded, decoded = case(key)
    ours = np.frombuffer(decode_meshopt(memoryview(encoded), view, "a", "w"), dtype).astype(int)
    assert np.abs(ours - np.frombuffer(decoded, dtype)).max() <= 1


def test_the_specification_s_own_group_of_deltas_decodes():
    header = bytes((0xA0,))
    groups = b"\2" + bytes.fromhex("175ff0bc77a9210034b5") + b"\0\0\0"  # byte 0, then 1 to 3
    tail = bytes(28) + bytes((100, 1, 2, 3))  # the element before the first
    view = MeshoptView(buffer=0, byte_length=0, byte_stride=4, count=16, mode="ATTRIBUTES")
    data = decode_meshopt(memoryview(header + groups + tail), view, "a", "w")
    elements = np.frombuffer(data, np.uint8).reshape(16, 4)
    deltas = [-1, -4, -3, 26, -91, 0, -6, 6, -4, -4, 5, -5, 1, -1, 0, 0]
    assert elements[:, 0].tolist() == [(100 + sum(deltas[: k + 1])) % 256 for k in range(16)]
    assert (elements[:, 1:] == (1, 2, 3)).all()


def test_compressed_view_is_read_through_its_accessor():
    view, encoded, decoded = case("triangles")
    builder = Builder()
    place = builder.view(encoded)
    packed = builder.json["bufferViews"][place]
    builder.json["bufferViews"][place] = {
        "buffer": 1,
        "byteLength": len(decoded),
        "extensions": {
            "EXT_meshopt_compression": packed
            | {"byteStride": 4, "count": view.count, "mode": "TRIANGLES"}
        },
    }
    builder.add("accessors", bufferView=place, componentType=5125, count=view.count, type="SCALAR")
    document = builder.document()
    document["buffers"].append({"byteLength": len(decoded)})
    document["extensionsRequired"] = document["extensionsUsed"] = ["EXT_meshopt_compression"]
    values = decode_accessor(decode_gltf(builder.glb(), "a.glb"), 0)
    assert values.tobytes() == decoded


@pytest.mark.parametrize("key", sorted(CASES))
def test_every_truncation_is_refused(key):
    view, encoded, _ = case(key)
    for length in range(0, len(encoded), 7):
        # The baseline is found from the end, so a cut shows only where the walk ends.
        with pytest.raises(EncodeError, match="damaged"):
            decode_meshopt(memoryview(encoded[:length]), view, "a", "w")


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(sorted(CASES)), st.data())
def test_damaged_data_decodes_to_its_size_or_is_refused(key, data):
    view, encoded, decoded = case(key)
    damaged = bytearray(encoded)
    for _ in range(data.draw(st.integers(1, 6))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        assert len(decode_meshopt(memoryview(damaged), view, "a", "w")) == len(decoded)
    except EncodeError:
        return


@pytest.mark.parametrize(
    "change",
    [
        {"byte_stride": 6},
        {"byte_stride": 260},
        {"byte_stride": 0},
        {"filter": "QUATERNION", "byte_stride": 12},
        {"mode": "TRIANGLES", "byte_stride": 4, "count": 4},
        {"mode": "INDICES", "byte_stride": 3},
        {"mode": "INDICES", "byte_stride": 4, "filter": "OCTAHEDRAL"},
        {"count": 10**9},
    ],
)
def test_view_outside_the_extension_s_limits_is_refused(change):
    fields = {"buffer": 0, "byte_length": 0, "byte_stride": 12, "count": 3, "mode": "ATTRIBUTES"}
    with pytest.raises(EncodeError, match="meshopt"):
        decode_meshopt(memoryview(b"\xa0" + bytes(60)), MeshoptView(**(fields | change)), "a", "w")


def version_1(control: int, columns: bytes, baseline: bytes, channel: int) -> bytes:
    """A stream of one block of four-byte elements: control, columns, padding, tail."""
    tail = bytes(24 - 5) + baseline + bytes((channel,))
    return bytes((0xA1, control)) + columns + tail


def decode_version_1(data: bytes, count: int) -> np.ndarray:
    view = MeshoptView(buffer=0, byte_length=0, byte_stride=4, count=count, mode="ATTRIBUTES")
    return np.frombuffer(decode_meshopt(memoryview(data), view, "a", "w"), np.uint8).reshape(-1, 4)


def test_columns_of_version_1_are_groups_zeros_or_literals():
    # Column 0: single bits, least significant first, where a one stands for a byte further on;
    # column 1: raw groups; column 2: nothing; column 3: a byte for each element, not padded.
    single = b"\x01" + bytes((0b00000101, 0)) + b"\x02\x04"
    raw = b"\x03" + bytes(range(0, 20, 2)) + bytes(6)
    literal = bytes((2, 0, 0, 0, 0, 0, 0, 0, 0, 1))
    data = version_1(0b11_10_01_00, single + raw + literal, bytes((10, 20, 30, 40)), 0)
    found = decode_version_1(data, 10)
    assert found[:, 0].tolist() == [11, 11, *[13] * 8]
    assert found[:, 1].tolist() == (20 + np.cumsum(np.arange(10))).tolist()
    assert found[:, 2].tolist() == [30] * 10
    assert found[:, 3].tolist() == [*[41] * 9, 40]


def test_channel_of_version_1_adds_numbers_of_16_bits():
    zigzag = np.array([(0, 0), (600, 3), (1, 0)], "<u2").view(np.uint8)
    baseline = np.array((1000, 7), "<u2").tobytes()
    found = decode_version_1(version_1(0xFF, zigzag.T.tobytes(), baseline, 1), 3).copy()
    assert found.view("<u2").tolist() == [[1000, 7], [1300, 5], [1299, 5]]


def test_channel_of_version_1_mixes_rotated_numbers_of_32_bits():
    codes = np.array([0, 0x1234, 0xF000000F], "<u4")
    baseline = np.array([0xAAAA0000], "<u4").tobytes()
    columns = codes.view(np.uint8).reshape(-1, 4).T.tobytes()
    found = decode_version_1(version_1(0xFF, columns, baseline, 4 << 4 | 2), 3).copy()
    first = 0xAAAA0000 ^ 0x40000123
    assert found.view("<u4").reshape(-1).tolist() == [0xAAAA0000, first, first ^ 0xFF000000]


def test_every_truncated_stream_of_version_1_is_refused():
    data = version_1(0xFF, bytes(range(16)), bytes(4), 0)
    decode_version_1(data, 4)
    for length in range(len(data)):
        with pytest.raises(EncodeError, match="damaged"):
            decode_version_1(data[:length], 4)


@pytest.mark.parametrize(
    ("stored", "colour"),
    [((255, 0, 0, 128), (255, 255, 255, 0)), ((127, 0, 0, 127), (255, 255, 255, 255))],
)
def test_colour_filter_takes_its_scale_from_alpha(stored, colour):
    view = MeshoptView(
        buffer=0, byte_length=0, byte_stride=4, count=1, mode="ATTRIBUTES", filter="COLOR"
    )
    data = version_1(0b10101010, b"", bytes(stored), 0)
    found = decode_meshopt(memoryview(data), view, "a", "w")
    assert tuple(found) == colour


def test_the_khronos_extension_has_the_same_fields():
    view, encoded, decoded = case("attributes")
    builder = Builder()
    place = builder.view(encoded)
    packed = builder.json["bufferViews"][place]
    extension = packed | {"byteStride": view.byte_stride, "count": view.count, "mode": view.mode}
    builder.json["bufferViews"][place] = {
        "buffer": 0,
        "byteLength": len(decoded),
        "extensions": {"KHR_meshopt_compression": extension},
    }
    builder.add(
        "accessors", bufferView=place, componentType=5121, count=len(decoded), type="SCALAR"
    )
    gltf = decode_gltf(builder.glb(), "a")
    assert decode_accessor(gltf, 0).tobytes() == decoded
