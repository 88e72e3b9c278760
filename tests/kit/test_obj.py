from __future__ import annotations

import io
from fractions import Fraction

import numpy as np
import pytest
import trimesh
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from encoders.kit.error import EncodeError
from encoders.kit.mesh.mesh import NOT_TOLD, Attribute, Part
from encoders.kit.native.kernel import has_native, use_native
from encoders.kit.source.material import Material
from encoders.kit.source.obj import block as obj_block
from encoders.kit.source.obj.block import sort_lines
from encoders.kit.source.obj.decode import Obj, decode_obj, resolve_materials
from encoders.kit.source.obj.survey import survey_obj
from encoders.kit.source.shared.wavefront import normalise
from tests.kit.kernel_call import native
from tests.kit.obj_maker import damaged, make_grid, obj_files

SQUARE = b"v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n"
QUICK = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


def at_corners(attribute: Attribute[np.float32] | None) -> list[list[list[float]]]:
    assert attribute is not None
    flat = attribute.at(np.arange(attribute.corner.size), -9)
    return flat.reshape(len(attribute.corner), 3, -1).tolist()


def corners_of(text: bytes) -> list[list[int]]:
    return decode_obj(SQUARE + text, "square.obj").mesh.position.corner.tolist()


def refusal(data: bytes) -> EncodeError:
    with pytest.raises(EncodeError) as caught:
        decode_obj(data, "barrel.obj")
    assert caught.value.facts["file"] == "barrel.obj"
    return caught.value


def test_corner_attributes_stay_with_their_corner() -> None:
    mesh = decode_obj(
        SQUARE + b"vt 0 0\nvt 1 .5\nvn 0 0 1\nvn 0 1 0\nf 1/2/1 2/1/2 3/2/2\n", "a.obj"
    ).mesh
    assert at_corners(mesh.position) == [[[0, 0, 0], [1, 0, 0], [1, 1, 0]]]
    assert at_corners(mesh.uv[0]) == [[[1, 0.5], [0, 0], [1, 0.5]]]
    assert at_corners(mesh.normal) == [[[0, 0, 1], [0, 1, 0], [0, 1, 0]]]
    assert mesh.has_v_up
    assert not mesh.has_linear_color


def test_corner_that_names_no_uv_has_none_though_others_do() -> None:
    mesh = decode_obj(SQUARE + b"vt 1 1\nvn 0 0 1\nf 1 2/1 3//1\nf 1/1/1 2/ 3//\n", "a.obj").mesh
    assert mesh.uv[0].corner.tolist() == [[-1, 0, -1], [0, -1, -1]]
    assert mesh.normal is not None
    assert mesh.normal.corner.tolist() == [[-1, -1, 0], [0, -1, -1]]


@pytest.mark.parametrize("is_native", [True, False])
def test_negative_indices_may_leave_out_what_is_behind_a_slash(is_native: bool) -> None:
    before = use_native(is_native)
    try:
        mesh = decode_obj(SQUARE + b"vt 1 1\nf -4/ -3/-1/ -2//\n", "a.obj").mesh
    finally:
        use_native(before)
    assert mesh.position.corner.tolist() == [[0, 1, 2]]
    assert mesh.uv[0].corner.tolist() == [[-1, 0, -1]]


def test_file_without_uvs_and_normals_has_no_such_attribute() -> None:
    mesh = decode_obj(SQUARE + b"vn 0 0 1\nf 1 2 3\n", "a.obj").mesh
    assert mesh.uv == ()
    assert mesh.normal is None
    assert mesh.color is None


def test_negative_indices_count_back_from_their_line() -> None:
    text = SQUARE + b"f -4 -3 -2\nv 2 2 0\nf -1 -2 -3\nvt 0 0\nvt 1 1\nf 1/-1 2/-2 3/1\n"
    mesh = decode_obj(text, "a.obj").mesh
    assert mesh.position.corner.tolist() == [[0, 1, 2], [4, 3, 2], [0, 1, 2]]
    assert mesh.uv[0].corner.tolist()[2] == [1, 0, 0]


def test_indices_may_name_vectors_that_come_later() -> None:
    mesh = decode_obj(b"f 1 2 3\n" + SQUARE, "a.obj").mesh
    assert mesh.position.corner.tolist() == [[0, 1, 2]]


def test_convex_quad_is_cut_from_its_first_corner() -> None:
    assert corners_of(b"f 1 2 3 4\n") == [[0, 1, 2], [0, 2, 3]]


def test_vertex_colours_and_weights_are_told_apart_by_their_count() -> None:
    text = b"v 0 0 0 1\nv 1 0 0 .5 .25 0\nv 0 1 0 1 1 1 .5\nv 0 0 1\nf 1 2 3\nf 4 3 2\n"
    color = decode_obj(text, "a.obj").mesh.color
    assert color is not None
    assert color.corner.tolist() == [[-1, 1, 2], [-1, 2, 1]]
    assert at_corners(color)[0][1:] == [[0.5, 0.25, 0, 1], [1, 1, 1, 0.5]]


def test_uv_of_one_number_has_v_zero_and_a_third_is_ignored() -> None:
    mesh = decode_obj(SQUARE + b"vt .5\nvt 1 2 3\nf 1/1 2/2 3/2\n", "a.obj").mesh
    assert at_corners(mesh.uv[0]) == [[[0.5, 0], [1, 2], [1, 2]]]


@pytest.mark.parametrize("word", ["1e-3", ".5", "+1", "-.5", "5.", "1E2", "-0", "00.5", "1e+2"])
def test_every_spelling_of_a_number_is_read(word: str) -> None:
    mesh = decode_obj(f"v {word} 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n".encode(), "a.obj").mesh
    assert mesh.position.values[0, 0] == np.float32(float(word))


@pytest.mark.parametrize(
    "text", [b"f 1 2 3", b"\tf\t1  2   3 ", b"f 1 2 3#x", b"f 1 \\\n2 \\\r\n 3"]
)
def test_blanks_comments_and_continuations_change_nothing(text: bytes) -> None:
    assert corners_of(text) == [[0, 1, 2]]


def test_crlf_and_byte_order_mark_change_nothing() -> None:
    text = b"\xef\xbb\xbf" + (SQUARE + b"f 1 2 3\n").replace(b"\n", b"\r\n")
    assert decode_obj(text, "a.obj").mesh.triangle_count == 1


def test_comment_that_ends_in_a_backslash_does_not_swallow_the_next_line() -> None:
    assert corners_of(b"# C:\\models\\\nf 1 2 3\n") == [[0, 1, 2]]


def test_parts_materials_and_smoothing_hold_until_changed() -> None:
    text = b"""f 1 2 3
o left door
usemtl dark oak
s 1
f 1 2 3
g handle
s off
usemtl iron
f 1 2 3
f 1 3 4
o right
usemtl dark oak
s 7
g empty
o last
f 1 2 4
"""
    mesh = decode_obj(SQUARE + text, "a.obj").mesh
    names = [mesh.parts[number] for number in mesh.part]
    assert names == [
        Part(),
        Part("left door"),
        Part("left door", "handle"),
        Part("left door", "handle"),
        Part("last"),
    ]
    assert [material.name for material in mesh.materials] == ["dark oak", "iron"]
    assert mesh.material.tolist() == [-1, 0, 1, 1, 0]
    assert mesh.smoothing.tolist() == [NOT_TOLD, 1, 0, 0, 7]
    assert (mesh.materials[1].file, mesh.materials[1].place) == ("a.obj", "line 12")


def test_a_section_of_the_same_name_is_a_part_of_its_own() -> None:
    mesh = decode_obj(SQUARE + b"g a\nf 1 2 3\ng b\nf 1 2 3\ng a\nf 1 2 3\n", "a.obj").mesh
    assert [part.group for part in mesh.parts] == ["a", "b", "a"]
    assert mesh.part.tolist() == [0, 1, 2]


def test_libraries_are_several_in_a_line_or_have_blanks_in_their_name() -> None:
    text = b"mtllib a.mtl b.MTL\nmtllib my barrel.mtl a.mtl\nmtllib other\n"
    obj = decode_obj(text + SQUARE + b"f 1 2 3\n", "a.obj")
    assert obj.libraries == ("a.mtl", "b.MTL", "my barrel.mtl", "other")


def test_a_library_of_another_machine_lies_beside_the_file() -> None:
    text = rb"mtllib D:\art\my barrel.mtl" + b"\n" + SQUARE + b"f 1 2 3\n"
    assert decode_obj(text, "a.obj").libraries == ("my barrel.mtl",)
    assert survey_obj(text, "a.obj")["libraries"] == ["my barrel.mtl"]


def test_names_that_are_not_utf8_survive() -> None:
    mesh = decode_obj(SQUARE + b"o caf\xe9\nusemtl caf\xc3\xa9\nf 1 2 3\n", "a.obj").mesh
    assert mesh.parts[0].object == "café"
    assert mesh.materials[0].name == "café"


def test_lines_points_and_small_faces_are_ignored_with_a_warning() -> None:
    obj = decode_obj(SQUARE + b"l 1 2 3\np 1\nl 1 2\nf 1 2\nf 1 2 3\nf\n", "a.obj")
    assert obj.mesh.triangle_count == 1
    assert obj.warnings == (
        "a.obj: lines ignored (2) [ignored]",
        "a.obj: points ignored (1) [ignored]",
        "a.obj, line 8: faces with less than 3 corners ignored (2) [ignored]",
    )


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        (b"f 1 2 5\n", "5", "5"),
        (b"f 1 2 3\nf 1 2 -5\n", "6", "-5"),
        (b"vt 0 0\nf 1/1 2/2 3/1\n", "6", "2"),
        (b"f 1//1 2 3\n", "5", "1"),
        (b"f 1 2 99999999999999999999\n", "5", "99999999999999999999"),
        (b"f 1 2 3/4/5/6\n", "5", "3/4/5/6"),
        (b"f 1 2 3.5\n", "5", "3.5"),
        (b"f 1 2 x\n", "5", "x"),
        (b"f 1 2 /1\n", "5", "/1"),
        (b"f 1 2 1_0\n", "5", "1_0"),
    ],
)
def test_wrong_corner_is_refused_with_its_line(text: bytes, line: str, found: str) -> None:
    facts = refusal(SQUARE + text).facts
    assert (facts["line"], facts["found"]) == (line, found)


@pytest.mark.parametrize("word", [b"0", b"1/0", b"1//0", b"-0", b"1/-0", b"1/00/1", b"0/1"])
def test_index_zero_is_refused_with_its_line(word: bytes) -> None:
    error = refusal(SQUARE + b"vt 0 0\nvn 0 0 1\n# x\nf 1 2 3\nf 1 2 " + word + b"\n")
    assert error.problem == "index 0 in a face"
    assert error.facts["line"] == "9"


@pytest.mark.parametrize("word", [b"nan", b"inf", b"-Infinity", b"1e999", b"3.5e38"])
@pytest.mark.parametrize("keyword", [b"v", b"vt", b"vn"])
def test_number_that_is_not_finite_is_refused_with_its_line(keyword: bytes, word: bytes) -> None:
    error = refusal(SQUARE + keyword + b" 1 2 3\n" + keyword + b" 0 " + word + b" 0\nf 1 2 3\n")
    assert error.problem == "not a finite number"
    assert (error.facts["line"], error.facts["found"]) == ("6", word.decode())


@pytest.mark.parametrize("line", [b"v 1 2", b"v", b"vt", b"vn 1 2", b"v # 1 2 3"])
def test_vector_with_too_few_numbers_is_refused_with_its_line(line: bytes) -> None:
    error = refusal(SQUARE + line + b"\nf 1 2 3\n")
    assert error.problem == "too few numbers"
    assert error.facts["line"] == "5"


def test_very_long_word_is_shortened_in_its_error() -> None:
    assert refusal(SQUARE + b"f 1 2 " + b"x" * 1000).facts["found"] == "x" * 60 + "..."


def test_line_numbers_survive_continuations_and_lone_returns() -> None:
    assert refusal(b"v 0 0 \\\n 0\n\rv 1 1 \\\n x\n").facts["line"] == "4"


def test_file_without_faces_is_refused_by_name() -> None:
    assert refusal(SQUARE).problem == "no faces"
    assert refusal(b"").problem == "no faces"


def test_binary_file_is_refused_by_name() -> None:
    assert refusal(b"glTF\0\0").problem == "not a text file"


def test_materials_are_found_by_name_and_missing_ones_are_told() -> None:
    obj = decode_obj(SQUARE + b"usemtl a\nf 1 2 3\nusemtl b\nf 1 2 3\n", "x.obj")
    oak, other = Material("a", base_color=(1, 0, 0, 1)), Material("a")
    resolved = resolve_materials(obj, [oak, other])
    assert resolved.mesh.materials == (oak, obj.mesh.materials[1])
    assert resolved.warnings == (
        "x.obj, line 7: material `b` is in no MTL file of this OBJ [missing]",
    )


def test_hundreds_of_materials_without_a_library_are_told_in_a_few_warnings() -> None:
    uses = b"".join(b"usemtl m%d\nf 1 2 3\n" % number for number in range(300))
    warnings = resolve_materials(decode_obj(SQUARE + uses, "x.obj"), []).warnings
    assert len(warnings) == 9
    assert warnings[-1] == "x.obj: 292 more materials are in no MTL file of this OBJ [missing]"


def test_numbers_are_rounded_once_straight_from_their_text() -> None:
    # A little above the middle of 1 and the next float32; as a double it is the very middle.
    text = "1.00000005960464477539062500001"
    assert np.float32(float(text)) == 1
    mesh = decode_obj(f"v {text} -{text} 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n".encode(), "a.obj").mesh
    above = np.nextafter(np.float32(1), np.float32(2))
    assert mesh.position.values[0].tolist() == [above, -above, 0]


@QUICK
@given(st.floats(width=32, allow_nan=False, allow_infinity=False), st.integers(-3, 3))
@example(float(np.finfo(np.float32).max), 0)
def test_number_next_to_a_middle_is_the_nearest_float32(value: float, step: int) -> None:
    single = np.float32(value)
    with np.errstate(over="ignore"):
        above = np.nextafter(single, np.float32(np.inf))
    if not np.isfinite(above):
        return
    middle = (Fraction(float(single)) + Fraction(float(above))) / 2
    exact = middle + step * Fraction(1, 10**60)
    text = f"{exact.numerator * 10**250 // exact.denominator}e-250"
    mesh = decode_obj(f"v {text} 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n".encode(), "a.obj").mesh
    got = Fraction(float(mesh.position.values[0, 0]))
    assert abs(got - exact) <= abs(Fraction(float(single)) - exact)
    assert abs(got - exact) <= abs(Fraction(float(above)) - exact)


@QUICK
@given(st.integers(0, 2**53), st.integers(-22, 22), st.sampled_from(["", "-", "+"]))
@example(2**53, -22, "")
@example(2**53, 22, "-")
@example(0, 0, "-")
def test_plain_number_is_the_float32_that_decimal_arithmetic_finds(
    whole: int, power: int, sign: str
) -> None:
    block = obj_block.Block("a.obj", b"v", f"v {sign}{whole}e{power}\n".encode(), np.array([1]))
    table, _ = obj_block.decode_vectors(block, 1, 1)
    found, exact = table[0, 0], Fraction(whole) * Fraction(10) ** power
    assert np.signbit(found) == (sign == "-")
    for other in (np.nextafter(abs(found), np.float32(0)), np.nextafter(found, np.float32(np.inf))):
        distance = abs(Fraction(float(abs(found))) - exact)
        assert distance <= abs(Fraction(float(abs(other))) - exact)


@pytest.mark.skipif(not has_native("decode_vectors"), reason="the extension is not built")
@pytest.mark.parametrize(
    "word", ["9007199254740993", "16777217", "1e23", "1e-23", "0.00000000000000000001", "1e39", "."]
)
def test_number_that_one_exact_operation_does_not_give_is_left_to_other_decoders(word: str) -> None:
    block = obj_block.Block("a.obj", b"v", f"v {word}\n".encode(), np.array([1]))
    text, keyword = np.frombuffer(block.text, np.uint8), np.frombuffer(b"v", np.uint8)
    table, counts = np.zeros((1, 1), np.float32), np.zeros(1, np.int32)
    with pytest.raises(ValueError, match="expected 1 plain lines"):
        native("decode_vectors")(text, keyword, table, counts)
    if word in ("1e39", "."):
        with pytest.raises(EncodeError):
            obj_block.decode_vectors(block, 1, 1)
    else:
        assert obj_block.decode_vectors(block, 1, 1)[0][0, 0] == np.float32(word)


@QUICK
@given(obj_files())
def test_bulk_and_careful_paths_give_the_same_arrays(data: bytes) -> None:
    blocks, _ = sort_lines(normalise(data, "a.obj"), "a.obj")
    for keyword in (b"v", b"vt", b"vn"):
        for one, two in zip(
            obj_block.decode_numbers(blocks[keyword]),
            obj_block.decode_numbers_careful(blocks[keyword]),
            strict=True,
        ):
            assert np.array_equal(one, two)
    bulk = obj_block.decode_faces(blocks[b"f"])
    careful = obj_block.decode_faces_careful(blocks[b"f"])
    assert np.array_equal(bulk.sizes, careful.sizes)
    assert np.array_equal(bulk.indices, careful.indices)


@pytest.mark.parametrize("blank", [b" ", b"  ", b"\t"])
def test_regular_file_is_decoded_in_bulk(blank: bytes) -> None:
    text = make_grid(4).replace(b" ", blank)
    blocks, _ = sort_lines(normalise(text, "a.obj"), "a.obj")
    for keyword, width in ((b"v", 3), (b"vt", 2), (b"vn", 3)):
        values, counts = obj_block.decode_numbers_bulk(blocks[keyword].tidy())
        assert counts.tolist() == [width] * 25
        assert np.array_equal(values, obj_block.decode_numbers_careful(blocks[keyword])[0])
        table, _ = obj_block.decode_plain_vectors(blocks[keyword], width)
        assert np.array_equal(table.reshape(-1), values.astype(np.float32))
    plain = obj_block.decode_plain_faces(blocks[b"f"].tidy())
    faces = obj_block.decode_faces_bulk(blocks[b"f"].tidy())
    assert faces.sizes.tolist() == [3] * 32
    assert np.array_equal(faces.indices, obj_block.decode_faces_careful(blocks[b"f"]).indices)
    assert np.array_equal(faces.indices, plain.indices)


@QUICK
@given(damaged(obj_files()))
def test_damaged_file_is_decoded_or_refused_by_name(data: bytes) -> None:
    try:
        outcome: Obj | EncodeError = decode_obj(data, "a.obj")
    except EncodeError as error:
        outcome = error
    if isinstance(outcome, EncodeError):
        assert outcome.facts["file"] == "a.obj"
    else:
        check_soundness(outcome)


def check_soundness(obj: Obj) -> None:
    mesh = obj.mesh
    for attribute in mesh.attributes():
        assert np.isfinite(attribute.values).all()
        assert attribute.corner.shape == (mesh.triangle_count, 3)
        assert attribute.corner.min() >= -1
        assert attribute.corner.max() < len(attribute.values)
    assert mesh.position.is_complete
    assert mesh.part.max() < len(mesh.parts)
    assert mesh.material.max() < len(mesh.materials)


def test_grid_agrees_with_trimesh() -> None:
    data = make_grid(12)
    mesh = decode_obj(data, "grid.obj").mesh
    other = trimesh.load(io.BytesIO(data), file_type="obj", process=False)
    assert np.array_equal(
        np.float32(other.vertices[other.faces]), mesh.position.values[mesh.position.corner]
    )
    assert np.array_equal(
        np.float32(other.visual.uv[other.faces]), mesh.uv[0].values[mesh.uv[0].corner]
    )


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.lists(st.integers(1, 9), min_size=3, max_size=3), min_size=1, max_size=8))
def test_triangles_agree_with_trimesh(faces: list[list[int]]) -> None:
    vertices = "".join(f"v {n} {n * n % 7} {n * 3 % 5}\n" for n in range(9))
    data = (vertices + "".join(f"f {a} {b} {c}\n" for a, b, c in faces)).encode()
    mesh = decode_obj(data, "a.obj").mesh
    other = trimesh.load(io.BytesIO(data), file_type="obj", process=False)
    assert np.array_equal(
        np.float32(other.vertices[other.faces]), mesh.position.values[mesh.position.corner]
    )


def test_concave_faces_beyond_the_limit_are_refused_with_their_line() -> None:
    corners = 5000
    zigzag = b"".join(b"v %d %d 0\n" % (n, n % 2) for n in range(corners)) + b"v 9 -99 0\n"
    face = b"f " + b" ".join(b"%d" % n for n in range(1, corners + 2))
    error = refusal(zigzag + face)
    assert error.problem == "too many corners in concave faces"
    assert error.facts["line"] == str(corners + 2)
