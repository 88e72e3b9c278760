"""Accessors against a naive reader that takes one component at a time."""

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.kit.error import EncodeError
from encoders.kit.source.gltf.data.accessor import decode_accessor, decode_floats
from encoders.kit.source.gltf.data.image import image_source
from encoders.kit.source.gltf.data.opened import decoded_limit
from encoders.kit.source.gltf.source import decode_gltf
from encoders.kit.source.gltf.world import decode_world
from tests.kit.glb_builder import Builder, glb, quad

FORMATS = {5120: "b", 5121: "B", 5122: "h", 5123: "H", 5125: "I", 5126: "f"}
LARGEST = {5120: 127, 5121: 255, 5122: 32767, 5123: 65535}
SHAPES = {
    "SCALAR": (1, 1),
    "VEC2": (1, 2),
    "VEC3": (1, 3),
    "VEC4": (1, 4),
    "MAT2": (2, 2),
    "MAT3": (3, 3),
    "MAT4": (4, 4),
}


def element_size(component, kind):
    columns, rows = SHAPES[kind]
    column = rows * struct.calcsize(FORMATS[component])
    return columns * ((column + 3) // 4 * 4 if columns > 1 else column)


def naive(data, component, kind, count, offset, stride):
    columns, rows = SHAPES[kind]
    size = struct.calcsize(FORMATS[component])
    column = element_size(component, kind) // columns
    return [
        [
            struct.unpack_from(
                "<" + FORMATS[component], data, offset + i * stride + c * column + r * size
            )[0]
            for c in range(columns)
            for r in range(rows)
        ]
        for i in range(count)
    ]


def flat(values):
    """Bring (count, row, column) back to stored order."""
    if values.ndim == 3:
        values = values.transpose(0, 2, 1)
    return values.reshape(len(values), -1).tolist()


@st.composite
def cases(draw):
    component = draw(st.sampled_from(sorted(FORMATS)))
    kind = draw(st.sampled_from(sorted(SHAPES)))
    count = draw(st.integers(1, 9))
    size = element_size(component, kind)
    stride = draw(st.none() | st.integers(0, 12).map(lambda extra: size + extra))
    offset = draw(st.integers(0, 3)) * 4
    length = offset + (stride or size) * count
    data = draw(st.binary(min_size=length, max_size=length))
    sparse = draw(st.none() | st.lists(st.integers(0, count - 1), min_size=1, unique=True))
    return (
        component,
        kind,
        count,
        stride,
        offset,
        data,
        sparse and sorted(sparse),
        draw(st.binary(min_size=size * count, max_size=size * count)),
        draw(st.sampled_from((5121, 5123, 5125))),
    )


@settings(max_examples=100, deadline=None)
@given(cases(), st.booleans(), st.booleans())
def test_every_accessor_reads_as_one_component_at_a_time_does(case, normalized, has_view):
    component, kind, count, stride, offset, data, sparse, values, index_type = case
    normalized = normalized and component in LARGEST
    builder = Builder()
    size = element_size(component, kind)
    record = {"componentType": component, "count": count, "type": kind, "normalized": normalized}
    expected = [[0] * len(naive(data, component, kind, 1, 0, size)[0])] * count
    if has_view or sparse is None:
        view = {} if stride is None else {"byteStride": stride}
        record |= {"bufferView": builder.view(data, **view), "byteOffset": offset}
        expected = naive(data, component, kind, count, offset, stride or size)
    if sparse:
        rows = struct.pack(f"<{len(sparse)}{FORMATS[index_type]}", *sparse)
        record["sparse"] = {
            "count": len(sparse),
            "indices": {"bufferView": builder.view(rows), "componentType": index_type},
            "values": {"bufferView": builder.view(values)},
        }
        expected = list(expected)
        for place, row in enumerate(sparse):
            expected[row] = naive(values, component, kind, place + 1, 0, size)[place]
    builder.add("accessors", **record)
    gltf = decode_gltf(builder.glb(), "a.glb")
    np.testing.assert_array_equal(flat(decode_accessor(gltf, 0)), expected)
    floats = np.array(expected, np.float32)
    if normalized:
        floats = np.maximum(floats / np.float32(LARGEST[component]), np.float32(-1))
    np.testing.assert_array_equal(np.array(flat(decode_floats(gltf, 0)), np.float32), floats)


def test_interleaved_floats_are_read_each_from_its_place():
    builder = Builder()
    rows = np.arange(15, dtype=np.float32).reshape(3, 5)
    view = builder.view(rows.tobytes(), byteStride=20)
    common = {"bufferView": view, "componentType": 5126, "count": 3}
    builder.add("accessors", **common, type="VEC3")
    builder.add("accessors", **common, type="VEC2", byteOffset=12)
    gltf = decode_gltf(builder.glb(), "a.glb")
    np.testing.assert_array_equal(decode_floats(gltf, 0), rows[:, :3])
    np.testing.assert_array_equal(decode_floats(gltf, 1), rows[:, 3:])


def test_matrix_of_bytes_keeps_columns_at_multiples_of_four():
    builder = Builder()
    data = bytes.fromhex(
        "01 02 00 00"  # column 0 and its padding
        "03 04"  # column 1; the last padding may be missing
    )
    builder.add(
        "accessors", bufferView=builder.view(data), componentType=5121, count=1, type="MAT2"
    )
    matrix = decode_accessor(decode_gltf(builder.glb(), "a"), 0)
    assert matrix.tolist() == [[[1, 3], [2, 4]]]


def test_aligned_float_accessor_is_a_view_of_the_file():
    builder = Builder()
    builder.accessor([(1, 2, 3)] * 5)
    gltf = decode_gltf(builder.glb(), "a")
    values = decode_floats(gltf, 0)
    assert not values.flags.owndata
    assert values is decode_floats(gltf, 0)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"count": 6}, "past its buffer view"),
        ({"byteOffset": 4}, "past its buffer view"),
        ({"count": 2**40}, "past its buffer view"),
        ({"byteOffset": 2**63}, "past its buffer view"),
        ({"bufferView": 7}, "points at nothing"),
        ({"bufferView": None, "count": 2**40}, "too much"),
        ({"componentType": 5124}, "not valid"),
        ({"type": "VEC5"}, "not valid"),
        ({"count": -1}, "not valid"),
    ],
)
def test_lying_accessor_is_refused_before_anything_is_made(change, problem):
    builder = Builder()
    builder.accessor([(1, 2, 3)] * 5)
    builder.json["accessors"][0] |= change
    with pytest.raises(EncodeError, match=problem):
        decode_accessor(decode_gltf(builder.glb(), "a"), 0)


def test_stride_below_the_element_is_refused():
    builder = Builder()
    builder.accessor([(1, 2, 3)] * 5)
    builder.json["bufferViews"][0]["byteStride"] = 8
    with pytest.raises(EncodeError, match="byteStride"):
        decode_accessor(decode_gltf(builder.glb(), "a"), 0)


def test_buffer_view_past_its_buffer_is_refused():
    builder = Builder()
    builder.accessor([(1, 2, 3)] * 5)
    builder.json["bufferViews"][0]["byteLength"] = 61
    with pytest.raises(EncodeError, match="past its buffer") as error:
        decode_accessor(decode_gltf(builder.glb(), "a.glb"), 0)
    assert error.value.facts["at"] == "bufferViews[0]"


@pytest.mark.parametrize("rows", [[1, 1], [2, 1], [0, 3]])
def test_sparse_indices_out_of_order_or_range_are_refused(rows):
    builder = Builder()
    builder.accessor([1.0, 2.0, 3.0])
    builder.json["accessors"][0]["sparse"] = {
        "count": 2,
        "indices": {"bufferView": builder.view(bytes(rows)), "componentType": 5121},
        "values": {"bufferView": builder.view(bytes(8))},
    }
    with pytest.raises(EncodeError, match="sparse"):
        decode_accessor(decode_gltf(builder.glb(), "a"), 0)


def test_normalised_32_bit_integers_are_refused():
    builder = Builder()
    builder.accessor([1, 2], "u4", normalized=True)
    with pytest.raises(EncodeError, match="normalised"):
        decode_floats(decode_gltf(builder.glb(), "a"), 0)


def test_many_accessors_over_the_same_bytes_stay_within_the_limit():
    builder = Builder()
    view = builder.view(bytes(3000))
    for _ in range(50):
        builder.add("accessors", bufferView=view, componentType=5121, count=1000, type="VEC3")
    gltf = decode_gltf(glb(builder.document(), bytes(builder.binary)), "bomb.glb")
    gltf.limit_bytes = 100_000
    decode_floats(gltf, 0)
    with pytest.raises(EncodeError, match="too much"):
        any(decode_floats(gltf, index).any() for index in range(50))


def test_what_a_file_may_decode_to_grows_with_its_size():
    assert decoded_limit(1000) < 50_000_000
    assert decoded_limit(1_000_000) == 1 << 30
    assert decoded_limit(1_000_000_000) == 8_000_000_000


def test_elements_without_bytes_are_few_in_a_small_file():
    builder = Builder()
    builder.add("accessors", componentType=5126, count=1000, type="VEC3")
    builder.add("accessors", componentType=5126, count=1_000_000, type="VEC3")
    gltf = decode_gltf(builder.glb(), "zeros.glb")
    assert not decode_floats(gltf, 0).any()
    with pytest.raises(EncodeError, match="too much"):
        decode_floats(gltf, 1)


def test_nodes_that_show_one_mesh_a_hundred_thousand_times_are_refused():
    builder = quad()
    builder.json["accessors"][4] |= {"count": 0}
    corners = np.resize([0, 1, 2], 30_000)
    builder.json["meshes"][0]["primitives"][0]["indices"] = builder.accessor(corners, "u1")
    builder.json["nodes"] *= 20_000
    builder.json["scenes"] = []
    with pytest.raises(EncodeError, match="too many triangles"):
        decode_world(decode_gltf(builder.glb(), "crowd.glb"))


def test_images_over_the_same_bytes_are_few():
    builder = Builder()
    view = builder.view(b"\x89PNG\r\n\x1a\n" + bytes(5000))
    for _ in range(40):
        builder.add("images", bufferView=view)
    gltf = decode_gltf(builder.glb(), "album.glb")
    assert len({image_source(gltf, index).data for index in (0, 1, 2, 2, 2, 2, 2, 2)}) == 1
    with pytest.raises(EncodeError, match="the same bytes too often"):
        any(not image_source(gltf, index).data for index in range(40))
