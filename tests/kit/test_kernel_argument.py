"""Native kernels trust no argument: what does not fit is refused before anything is written."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from encoders.kit.native import kernel
from tests.kit.kernel_call import CALLS, MAX_INT, Array, Call
from tests.pipeline.game import ROOT

pytestmark = pytest.mark.skipif(
    not kernel.has_native("bc1_encode"), reason="the extension is not built"
)

# Lengths that no other argument decides.
FREE_AXES = {
    ("dither", "palette", 0),
    ("add_columns", "owners", 1),
    ("add_columns", "sums", 0),
    ("decode_vectors", "table", 1),  # numbers past the last column are left out
    ("chain_matrices", "matrices", 0),
    ("nearest_blocks", "centers", 0),
    ("color_points", "roots", 0),
    ("color_label", "centers", 0),
    ("color_search", "centers", 0),
    ("color_split", "totals", 0),
    ("qoa_encode", "samples", 0),  # the last slice may be short
    ("simplify", "triangles", 0),
    ("simplify", "places", 0),
    ("simplify", "losses", 0),
    ("weld_rows", "rows", 1),
}
OTHER_TYPE = {
    np.uint8: np.int16,
    np.int32: np.int64,
    np.float32: np.float64,
    np.float64: np.float32,
}
SAME_SIZE = {
    np.uint8: np.int8,
    np.int32: np.float32,
    np.float32: np.int32,
    np.float64: np.int64,
}


def a_call(name: str, seed: int = 3) -> Call:
    """Give a call in which no array is empty."""
    return CALLS[name](np.random.default_rng(seed))


def assert_refused(call: Call, argument: str, value: Any, error: type[Exception]) -> str:
    """Call with a spoilt argument; what is refused must be named, and nothing be written."""
    call.arguments[argument] = value
    before = {name: one.tobytes() for name, one in call.arrays().items()}
    with pytest.raises(error) as refusal:
        call.run()
    assert {name: one.tobytes() for name, one in call.arrays().items()} == before
    return str(refusal.value)


def with_offset(array: Array) -> Array:
    data = np.zeros(array.nbytes + 1, np.uint8)
    data[1:] = array.reshape(-1).view(np.uint8)
    return np.frombuffer(data, array.dtype, offset=1, count=array.size).reshape(array.shape)


def longer(array: Array, axis: int) -> Array:
    return np.concatenate([array, array.take([0], axis)], axis)


def shorter(array: Array, axis: int) -> Array:
    return np.ascontiguousarray(array.take(range(array.shape[axis] - 1), axis))


SPOILERS: dict[str, Callable[[Array], Array]] = {
    "of larger items": lambda array: array.astype(OTHER_TYPE[array.dtype.type]),
    "of truths": lambda array: array.astype(bool),
    "of other items": lambda array: array.view(SAME_SIZE[array.dtype.type]),
    "of swapped bytes": lambda array: array.astype(array.dtype.newbyteorder()),
    "of strings": lambda array: np.full(array.shape, b"a" * array.itemsize),
    "strided": lambda array: np.repeat(array, 2, axis=-1)[..., ::2],
    "reversed": lambda array: array[::-1],
    "in Fortran's order": np.asfortranarray,
    "not aligned": with_offset,
    "with one more axis": lambda array: array[None],
    "flat": lambda array: array.reshape(-1),
    "without axes": lambda array: array.reshape(-1)[:1].reshape(()),
    "empty": lambda array: array[:0],
}


HARMLESS = {
    ("empty", "simplify", "triangles"),
    ("empty", "chain_matrices", "matrices"),
    ("of truths", "dither", "mask"),
}


def is_spoilt(name: str, argument: str, spoiler: str) -> bool:
    """Tell whether a spoiler does anything to an array, and it is something that matters."""
    array = a_call(name).arguments[argument]
    spoilt = SPOILERS[spoiler](array)
    if (spoiler, name, argument) in HARMLESS:
        return False
    if spoiler == "empty":
        return True
    is_same = (array.dtype, array.shape) == (spoilt.dtype, spoilt.shape)
    return not (is_same and spoilt.flags.c_contiguous and spoilt.flags.aligned)


ARRAYS = [(name, one) for name in CALLS for one in a_call(name).arrays()]


def test_every_kernel_is_called_here():
    header = (ROOT / "encoders/kit/native/kernel.h").read_text()
    assert set(re.findall(r"^ +KERNEL\((\w+), ", header, re.MULTILINE)) == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_the_calls_that_tests_spoil_are_sound(name):
    call, reference = a_call(name), a_call(name)
    assert all(one.size for one in call.arrays().values())
    assert call.run() == reference.run_reference()
    assert call.filled() == reference.filled()


@pytest.mark.parametrize(
    ("name", "argument", "spoiler"),
    [(name, one, how) for name, one in ARRAYS for how in SPOILERS if is_spoilt(name, one, how)],
)
def test_an_array_of_another_kind_is_refused(name, argument, spoiler):
    call = a_call(name)
    spoilt = SPOILERS[spoiler](call.arguments[argument])
    message = assert_refused(call, argument, spoilt, ValueError)
    assert "expected" in message
    if spoiler != "empty":  # then the others are too long
        assert message.startswith(f"{argument}: ")


@pytest.mark.parametrize("change", [longer, shorter])
@pytest.mark.parametrize(
    ("name", "argument", "axis"),
    [
        (name, one, axis)
        for name, one in ARRAYS
        for axis in range(a_call(name).arguments[one].ndim)
        if (name, one, axis) not in FREE_AXES
    ],
)
def test_an_array_of_another_length_is_refused(name, argument, axis, change):
    call = a_call(name)
    spoilt = change(call.arguments[argument], axis)
    assert "expected" in assert_refused(call, argument, spoilt, ValueError)


@pytest.mark.parametrize(
    ("name", "argument"),
    [(name, one) for name in CALLS for one in a_call(name).outputs],
)
def test_an_output_that_is_read_only_is_refused(name, argument):
    call = a_call(name)
    call.arguments[argument].flags.writeable = False
    message = assert_refused(call, argument, call.arguments[argument], ValueError)
    assert message.startswith(f"{argument}: read-only")


@pytest.mark.parametrize(
    ("name", "output", "other"),
    [
        (name, output, other)
        for name in CALLS
        for output in a_call(name).outputs
        for other in a_call(name).arrays()
        if other != output
    ],
)
def test_an_output_that_shares_memory_is_refused(name, output, other):
    call = a_call(name)
    one, two = call.arguments[output], call.arguments[other]
    data = np.zeros(max(one.nbytes, two.nbytes), np.uint8)
    call.arguments[other] = data[: two.nbytes].view(two.dtype).reshape(two.shape)
    shared = data[: one.nbytes].view(one.dtype).reshape(one.shape)
    assert "shares memory with" in assert_refused(call, output, shared, ValueError)


def test_an_output_without_items_shares_no_memory_wherever_it_lies():
    call = a_call("add_columns")
    sums = np.zeros((4, 4))
    columns, nothing = np.zeros((4, 0)), np.zeros((0, 2), np.int32)
    inside = sums.reshape(-1)[3:3].reshape(4, 0)
    assert not inside.size
    call.arguments = {"columns": inside, "owners": nothing, "sums": sums}
    assert call.run() is None
    call.arguments["columns"] = columns
    assert call.run() is None


@pytest.mark.parametrize("value", [None, [1, 2, 3], 7])
@pytest.mark.parametrize(("name", "argument"), ARRAYS)
def test_what_is_no_array_is_refused(name, argument, value):
    message = assert_refused(a_call(name), argument, value, TypeError)
    assert message.startswith(f"{argument}: <class ")


RANGES = {
    ("adpcm_encode", "first_filters"): (1, 5),
    ("cluster_patches", "vertex_count"): (0, MAX_INT),
    ("cluster_patches", "max_vertices"): (3, 256),
    ("cluster_patches", "max_triangles"): (1, 64),
    ("strip_patches", "max_entries"): (3, MAX_INT),
    ("simplify", "target"): (0, MAX_INT),
}


@pytest.mark.parametrize(
    ("name", "argument", "value"),
    [
        (name, argument, value)
        for (name, argument), (low, high) in RANGES.items()
        for value in (low - 1, high + 1, -(2**31), 2**32 + low, 2**63, -(2**63) - 1, 2**200)
    ],
)
def test_a_number_out_of_range_is_refused(name, argument, value):
    low, high = RANGES[name, argument]
    message = assert_refused(a_call(name), argument, value, ValueError)
    assert message == f"{argument}: {value}, expected {low} to {high}"


@pytest.mark.parametrize("value", [1.5, "3", None, np.zeros(2)])
@pytest.mark.parametrize(("name", "argument"), RANGES)
def test_what_is_no_whole_number_is_refused(name, argument, value):
    assert_refused(a_call(name), argument, value, TypeError)


NO_SIZES = (-1, -(2**31), 2**31, 2**62, 2**63, -(2**80))


@pytest.mark.parametrize(
    ("at", "value"),
    [(at, value) for at in (0, 1) for value in (0, *NO_SIZES)] + [(2, n) for n in (257, *NO_SIZES)],
)
def test_a_shape_of_a_picture_out_of_range_is_refused(at, value):
    call = a_call("dither")
    shape = list(call.arguments["shape"])
    shape[at] = value
    message = assert_refused(call, "shape", tuple(shape), ValueError)
    assert message.startswith(f"shape[{at}]: {value}, expected")


@pytest.mark.parametrize("shape", [(4, 2, 256), (3, 3, 256), (5, 3, 256)])
def test_a_shape_that_is_not_the_picture_s_is_refused(shape):
    call = a_call("dither")
    call.arguments |= {
        "colors": np.zeros((2, 4, 3), np.uint8),
        "mask": np.ones((2, 4), np.uint8),
        "palette": np.zeros((2, 3), np.uint8),
        "indices": np.zeros((2, 4), np.uint8),
    }
    assert_refused(call, "shape", shape, ValueError)


@pytest.mark.parametrize(("rows", "channels"), [(0, 3), (257, 3), (2, 5), (2, 0)])
def test_a_palette_of_no_known_size_is_refused(rows, channels):
    call = a_call("dither")
    call.arguments |= {
        "colors": np.zeros((2, 4, channels), np.uint8),
        "mask": np.ones((2, 4), np.uint8),
        "shape": (4, channels, 256),
        "indices": np.zeros((2, 4), np.uint8),
    }
    assert_refused(call, "palette", np.zeros((rows, channels), np.uint8), ValueError)


@pytest.mark.parametrize("rows", [0, 257])
@pytest.mark.parametrize("name", ["nearest_blocks", "color_label", "color_search"])
def test_a_codebook_of_no_entry_or_too_many_is_refused(name, rows):
    call = a_call(name)
    wanted = call.arguments["centers"]
    centers = np.zeros((rows, wanted.shape[1]), wanted.dtype)
    message = assert_refused(call, "centers", centers, ValueError)
    assert message == f"centers: length {rows}, expected 1 to 256"


@pytest.mark.parametrize("weights", [[-1, 1], [2**31 - 1, 0], [2**30, 2**30 - 1]])
def test_blocks_whose_weights_cannot_be_summed_are_refused(weights):
    call = a_call("search_codebook")
    call.arguments |= {"blocks": np.zeros((2, 16), np.uint8), "labels": np.zeros(2, np.int32)}
    message = assert_refused(call, "weights", np.array(weights, np.int32), ValueError)
    assert message.startswith("weights: ")


def limit_of(call: Call, argument: str) -> int:
    """Say how many rows the indices of an argument may name."""
    rows = {"triangles": "place", "place": "places", "owners": "sums", "labels": "centers"}
    if call.kernel in ("cluster_patches", "order_triangles"):
        return int(call.arguments["vertex_count"])
    if call.kernel.startswith("color_") and argument != "labels":
        return 1 << 24 if argument == "weights" else 4096
    return len(call.arguments[rows[argument]])


@pytest.mark.parametrize("at", [0, 7, -1])
@pytest.mark.parametrize("value", ["the limit", -1, -(2**31), MAX_INT, 500_000_000])
@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("cluster_patches", "triangles"),
        ("order_triangles", "triangles"),
        ("simplify", "triangles"),
        ("simplify", "place"),
        ("add_columns", "owners"),
        ("nearest_blocks", "labels"),
        ("search_codebook", "labels"),
        ("color_label", "labels"),
        ("color_label", "points"),
        ("color_label", "centers"),
        ("color_search", "labels"),
        ("color_search", "points"),
        ("color_search", "weights"),
        ("color_split", "points"),
        ("color_split", "weights"),
    ],
)
def test_an_index_out_of_range_is_refused(name, argument, value, at):
    call = a_call(name)
    indices, limit = call.arguments[argument].copy(), limit_of(call, argument)
    at %= indices.size
    indices.reshape(-1)[at] = limit if value == "the limit" else value
    message = assert_refused(call, argument, indices, ValueError)
    found = indices.reshape(-1)[at]
    assert message == f"{argument}: item {at} is {found}, expected 0 to {limit - 1}"


@pytest.mark.parametrize("kernel", ["adpcm_encode", "qoa_encode"])
@pytest.mark.parametrize("at", [0, 7, -1])
@pytest.mark.parametrize("value", [32768, -32769, MAX_INT, -(2**31)])
def test_a_sample_of_more_than_16_bits_is_refused(kernel, value, at):
    call = a_call(kernel)
    samples = call.arguments["samples"].copy()
    at %= samples.size
    samples.reshape(-1)[at] = value
    message = assert_refused(call, "samples", samples, ValueError)
    assert message == f"samples: item {at} is {value}, expected -32768 to 32767"


@pytest.mark.parametrize("corners", [(4, 4, 9), (4, 9, 4), (9, 4, 4), (4, 4, 4)])
@pytest.mark.parametrize("name", ["cluster_patches", "strip_patches", "simplify"])
def test_a_triangle_that_has_a_corner_twice_is_refused(name, corners):
    call = a_call(name)
    triangles = call.arguments["triangles"].copy()
    triangles[-1] = corners
    message = assert_refused(call, "triangles", triangles, ValueError)
    assert message.startswith(f"triangles: row {len(triangles) - 1} has ")


def test_a_triangle_with_two_corners_at_one_place_is_refused():
    call = a_call("simplify")
    place = call.arguments["place"].copy()
    place[1] = place[0]
    assert_refused(call, "place", place, ValueError)


@pytest.mark.parametrize("row", [0, 1, 2, 10, 12, 15, 17])
def test_rows_of_wedges_that_no_number_of_attributes_has_are_refused(row):
    call = a_call("simplify")
    wedges = np.zeros((len(call.arguments["wedges"]), row))
    message = assert_refused(call, "wedges", wedges, ValueError)
    assert message.startswith(f"wedges: rows of {row}, expected 11")


@pytest.mark.parametrize(
    "starts",
    [
        [],
        [0],
        [0, 0, 2],
        [0, 2, 2],
        [1, 2],
        [-1, 2],
        [0, 1],
        [0, 3],
        [0, 2, 1, 2],
        [0, -(2**31), 2],
        [0, MAX_INT, 2],
        [0, MAX_INT],
        [0, 1, 2, 2],
        [0, 1, 2, 3],
    ],
)
def test_clusters_that_do_not_follow_one_another_are_refused(starts):
    call = a_call("strip_patches")
    call.arguments |= {
        "triangles": np.array([[0, 1, 2], [1, 2, 3]], np.int32),
        "vertices": np.zeros(6, np.int32),
        "entries": np.zeros(6, np.uint8),
        "starts": np.zeros((3, 2), np.int32),
    }
    message = assert_refused(call, "cluster_starts", np.array(starts, np.int32), ValueError)
    assert message.startswith("cluster_starts: ")


def test_a_cluster_of_more_triangles_than_a_word_has_bits_is_refused():
    call = a_call("strip_patches")
    call.arguments |= {
        "triangles": np.tile(np.array([[0, 1, 2]], np.int32), (65, 1)),
        "vertices": np.zeros(195, np.int32),
        "entries": np.zeros(195, np.uint8),
        "starts": np.zeros((66, 2), np.int32),
    }
    message = assert_refused(call, "cluster_starts", np.array([0, 65], np.int32), ValueError)
    assert message == "cluster_starts: cluster 0 from 0 to 65, expected 1 to 64 triangles"


@pytest.mark.parametrize(
    ("place", "level", "top"),
    [((0, 0, 0, 0), 32, 31), ((1, 1, 255, 1), 64, 63), ((1, 2, 7, 0), 255, 31)],
)
def test_a_level_that_its_channel_does_not_have_is_refused(place, level, top):
    call = a_call("bc1_encode")
    table = call.arguments["table"].copy()
    table[place] = level
    message = assert_refused(call, "table", table, ValueError)
    assert message == f"table: {list(place)} is {level}, expected 0 to {top}"


@pytest.mark.parametrize("name", ["cluster_patches", "strip_patches", "simplify"])
def test_more_triangles_than_32_bits_can_number_are_refused(name):
    call = a_call(name)
    count = MAX_INT // 6 + 1
    lengths = {"order": count, "vertices": 3 * count, "entries": 3 * count, "group": count}
    try:  # memory that is never touched
        arrays = {
            one: np.zeros(n, call.arguments[one].dtype)
            for one, n in lengths.items()
            if one in call.arguments
        }
        triangles = np.zeros((count, 3), np.int32)
    except MemoryError:
        pytest.skip("the machine does not promise so much memory")
    call.arguments |= {**arrays, "triangles": triangles}
    with pytest.raises(ValueError, match=f"^triangles: length {count}, expected 0 to {count - 1}$"):
        call.run()


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_number_of_arguments_is_refused(name):
    call = a_call(name)
    with pytest.raises(TypeError, match=name):
        call_native(call, list(call.arguments.values())[:-1])
    with pytest.raises(TypeError, match=name):
        call_native(call, [*call.arguments.values(), 0])


def call_native(call: Call, arguments: list[Any]) -> Any:
    return Call(call.kernel, call.reference, dict(enumerate(arguments)), ()).run()  # type: ignore[arg-type]


@pytest.mark.parametrize("name", CALLS)
def test_buffers_are_let_go_whether_the_call_is_refused_or_not(name):
    for is_spoilt in (False, True):
        call = a_call(name)
        data = {one: bytearray(array.tobytes()) for one, array in call.arrays().items()}
        for one, array in call.arrays().items():
            view = np.frombuffer(data[one], array.dtype).reshape(array.shape)
            call.arguments[one] = view
        if is_spoilt:
            last = list(call.arrays())[-1]
            call.arguments[last] = call.arguments[last].reshape(-1)[:-1]
            with pytest.raises(ValueError, match="expected"):
                call.run()
        else:
            call.run()
        call.arguments.clear()
        del view
        for one in data.values():
            one.append(0)  # a buffer that is still exported can't be resized


def test_columns_without_items_are_added_at_once_however_long_they_are():
    call = a_call("add_columns")
    long = 2**50
    columns, owners = np.zeros((0, long)), np.zeros((long, 0), np.int32)
    call.arguments = {"columns": columns, "owners": owners, "sums": np.zeros((3, 0))}
    assert call.run() is None
