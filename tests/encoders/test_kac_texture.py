"""Images on their way into KAC textures."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from encoders.kac.texture import choose_side, pack_levels
from encoders.kac.view import extract_textures
from encoders.kit.error import EncodeError
from tests.encoders.kac_model import SQUARE, encode, encode_file, gltf_square, plain, png, square
from tests.kit.picture import formula

RED, GREEN, BLUE, WHITE = (31, 0, 0, 1), (0, 31, 0, 1), (0, 0, 31, 1), (31, 31, 31, 1)
# Red and green above, blue and white below.
QUARTERS = png(
    [[(255, 0, 0, 255), (0, 255, 0, 255)], [(0, 0, 255, 255), (255, 255, 255, 255)]]
)  # fmt: skip


def texture(mtl: str, image: bytes, **options) -> dict:
    (found,) = encode_file(square(mtl, a_png=image), **options)["TXTR"]
    return found


def gltf_texture(image: bytes, material=None, sampler=None, **options) -> dict:
    data = gltf_square(material, image, sampler).glb()
    (found,) = encode_file({"a.glb": data}, **options)["TXTR"]
    return found


def column(values: list[int], channel: int) -> bytes:
    """A picture 16 texels wide whose channel takes these values, the others 255."""
    picture = np.full((16, 16, 4), 255, np.uint8)
    picture[:, : len(values), channel] = values
    return png(picture)


def test_rows_of_an_obj_s_image_are_stored_from_the_bottom():
    levels = texture("map_Kd a.png", QUARTERS)["levels"]
    assert levels[0] == [[BLUE, WHITE], [RED, GREEN]]


def test_rows_of_a_gltf_s_image_are_stored_from_the_top():
    assert gltf_texture(QUARTERS)["levels"][0] == [[RED, GREEN], [BLUE, WHITE]]


def sampled(found: dict, u: float, v: float) -> tuple:
    level = found["TXTR"][0]["levels"][0]
    side = len(level)
    return level[int(v * side)][int(u * side)]


def at_corner(found: dict, point: tuple) -> tuple:
    """The texel that is shown at a corner of the square, a little inside."""
    for triangle in found["3MSH"]:
        for corner in triangle["corners"]:
            if found["VERT"][corner["VERT"]] == point:
                u, v = found["UV"][corner["UV"]]
                return sampled(found, 0.25 + u / 2, 0.25 + v / 2)
    raise AssertionError(point)


@pytest.mark.parametrize("kind", ["obj", "glb"])
def test_image_stands_upright_on_the_model(kind):
    glb = gltf_square(None, QUARTERS).glb()
    files = square("map_Kd a.png", a_png=QUARTERS) if kind == "obj" else {"a.glb": glb}
    found = encode_file(files)
    shown = [at_corner(found, point) for point in ((0, 1, 0), (1, 1, 0), (0, 0, 0), (1, 0, 0))]
    assert shown == [RED, GREEN, BLUE, WHITE]


@pytest.mark.parametrize("channel", range(3))
def test_eight_bits_are_rounded_to_five(channel):
    values = [0, 4, 5, 127, 128, 250, 251, 255]
    row = texture("map_Kd a.png", column(values, channel))["levels"][0][0]
    assert [texel[channel] for texel in row[: len(values)]] == [0, 0, 1, 15, 16, 30, 31, 31]


def test_alpha_is_cut_at_a_half():
    row = texture("map_Kd a.png", column([0, 1, 127, 128, 255], 3))["levels"][0][0]
    assert [texel[3] for texel in row[:5]] == [0, 0, 0, 1, 1]


@pytest.mark.parametrize(
    ("material", "shown"),
    [
        ({}, [1, 1, 1, 1, 1]),
        ({"alphaMode": "MASK"}, [0, 0, 0, 1, 1]),
        ({"alphaMode": "MASK", "alphaCutoff": 0.25}, [0, 0, 1, 1, 1]),
        ({"alphaMode": "MASK", "alphaCutoff": 0}, [1, 1, 1, 1, 1]),
        ({"alphaMode": "MASK", "alphaCutoff": 1.1}, [0, 0, 0, 0, 0]),
        ({"alphaMode": "BLEND"}, [0, 0, 0, 1, 1]),
    ],
)
def test_alpha_mode_of_a_gltf_decides_what_is_shown(material, shown):
    row = gltf_texture(column([0, 63, 64, 128, 255], 3), material)["levels"][0][0]
    assert [texel[3] for texel in row[:5]] == shown


def test_alpha_of_a_masked_material_counts_with_its_texels():
    record = {"alphaMode": "MASK", "pbrMetallicRoughness": {"baseColorFactor": [1, 1, 1, 0.6]}}
    found = encode_file({"a.glb": gltf_square(record, column([127, 212, 213], 3)).glb()})
    row = found["TXTR"][0]["levels"][0][0]
    assert [texel[3] for texel in row[:3]] == [0, 0, 1]
    assert found["MATE"][0]["color"][3] == 15


def test_masked_material_without_alpha_shows_nothing():
    record = {"alphaMode": "MASK", "pbrMetallicRoughness": {"baseColorFactor": [1, 1, 1, 0]}}
    levels = gltf_texture(plain(4, 4), record)["levels"]
    assert not any(texel[3] for level in levels for row in level for texel in row)


def test_alpha_map_is_multiplied_in():
    mask = png([[(255, 255, 255), (0, 0, 0)], [(100, 100, 100), (200, 200, 200)]])
    files = square("map_Kd a.png\nmap_d d.png", a_png=plain(4, 4, (255, 0, 0)), d_png=mask)
    (found,) = encode_file(files)["TXTR"]
    level = found["levels"][0]
    assert [[level[row][place][3] for place in (0, 3)] for row in (3, 0)] == [[1, 0], [0, 1]]
    assert level[3][0][:3] == (31, 0, 0)


def test_alpha_map_with_alpha_of_its_own_is_taken_by_that():
    mask = png([[(0, 0, 0, 255), (255, 255, 255, 0)], [(0, 0, 0, 0), (0, 0, 0, 255)]])
    files = {"a.obj": SQUARE, "a.mtl": "newmtl m\nmap_d d.png\n", "d.png": mask}
    (found,) = encode_file(files)["TXTR"]
    shown = [[texel[3] for texel in row] for row in found["levels"][0]]
    assert shown == [[0, 1], [1, 0]]
    assert found["levels"][0][0][1][:3] == (31, 31, 31)


def test_alpha_map_that_is_the_image_itself_changes_nothing():
    image = column([0, 255], 3)
    both = encode(square("map_Kd a.png\nmap_d a.png", a_png=image))["kac"]
    assert both == encode(square("map_Kd a.png", a_png=image))["kac"]


@pytest.mark.parametrize(
    ("width", "height", "limit", "side"),
    [
        (300, 100, 256, 256),
        (200, 100, 256, 128),
        (512, 128, 256, 256),
        (100, 100, 256, 64),
        (64, 128, 256, 128),
        (256, 256, 256, 256),
        (256, 256, 64, 64),
        (1024, 1024, 100, 64),
        (1, 1, 256, 2),
        (1, 64, 256, 64),
        (3, 3, 2, 2),
    ],
)
def test_side_is_the_power_of_two_that_the_longer_side_holds(width, height, limit, side):
    assert choose_side(width, height, limit) == side


def test_resizing_is_warned_of_with_both_sizes():
    found = encode_file(square("map_Kd a.png", a_png=plain(30, 10)))
    assert found["warnings"] == ["a.png: resized from 30 x 10 to 16 x 16 [resize]"]
    assert [len(level) for level in found["TXTR"][0]["levels"]] == [16, 8, 4, 2, 1]


def test_texture_of_the_right_size_is_not_warned_of():
    assert encode_file(square("map_Kd a.png", a_png=plain(16, 16)))["warnings"] == []


def test_texture_size_limits_the_side():
    found = encode_file(square("map_Kd a.png", a_png=plain(16, 16)), texture_size=4)
    assert found["TXTR"][0]["side"] == 4
    assert found["warnings"] == []  # it was asked for
    found = encode_file(square("map_Kd a.png", a_png=plain(16, 8)), texture_size=4)
    assert found["warnings"] == ["a.png: resized from 16 x 8 to 4 x 4 [resize]"]


def test_single_texel_is_repeated():
    assert texture("map_Kd a.png", plain(1, 1, (0, 255, 0)))["levels"] == [
        [[GREEN, GREEN], [GREEN, GREEN]],
        [[GREEN]],
    ]


def averaged(picture: np.ndarray, level: int) -> np.ndarray:
    """A level by the book: blocks of the base, colour weighted by alpha, rounded half up."""
    step = 1 << level
    side = len(picture) // step
    result = np.zeros((side, side, 4), int)
    for y in range(side):
        for x in range(side):
            block = picture[y * step : (y + 1) * step, x * step : (x + 1) * step].reshape(-1, 4)
            block = block.astype(int)
            weight = block[:, 3] if block[:, 3].any() else np.ones(len(block), int)
            total = (block[:, :3] * weight[:, None]).sum(axis=0)
            result[y, x, :3] = (2 * total + weight.sum()) // (2 * weight.sum())
            result[y, x, 3] = (2 * block[:, 3].sum() + len(block)) // (2 * len(block))
    return result


def test_every_level_is_averaged_from_the_base():
    picture = formula(32)
    found = gltf_texture(png(picture), {"alphaMode": "MASK"})
    for number, level in enumerate(found["levels"]):
        mean = averaged(picture, number)
        assert np.array_equal(np.array(level)[..., :3], (mean[..., :3] * 31 + 127) // 255)


def fence(side: int, spacing: int) -> np.ndarray:
    """White bars of one texel, `spacing` apart, in both directions; the rest is clear."""
    picture = np.full((side, side, 4), 255, np.uint8)
    y, x = np.mgrid[0:side, 0:side]
    picture[(x % spacing > 0) & (y % spacing > 0), 3] = 0
    return picture


@pytest.mark.parametrize("spacing", [3, 4, 8])
def test_a_cut_out_keeps_its_coverage_in_every_level(spacing):
    picture = fence(64, spacing)
    share = (picture[..., 3] == 255).mean()
    for level in gltf_texture(png(picture), {"alphaMode": "MASK"})["levels"]:
        shown = np.array(level)[..., 3]
        assert abs(shown.mean() - share) <= 0.5 / shown.size


def test_what_is_most_opaque_is_shown_first():
    picture = np.full((4, 4, 4), 255, np.uint8)
    picture[..., 3] = [[255, 0, 0, 0], [255, 0, 0, 0], [0, 0, 0, 0], [255, 0, 0, 255]]
    levels = gltf_texture(png(picture), {"alphaMode": "MASK"})["levels"]
    assert [[texel[3] for texel in row] for row in levels[1]] == [[1, 0], [0, 0]]


@pytest.mark.parametrize("alpha", [100, 200])
def test_textures_without_cut_outs_are_cut_by_each_level_s_own_alpha(alpha):
    picture = np.full((4, 4, 4), alpha, np.uint8)
    levels = gltf_texture(png(picture), {"alphaMode": "MASK"})["levels"]
    assert {texel[3] for level in levels for row in level for texel in row} == {int(alpha > 128)}


def test_a_picture_is_scaled_as_asked_without_a_warning():
    picture = png(formula(64)[:, :48])
    glb = gltf_square(None, picture).glb()
    for options, side in (
        ({"max_size": 32, "scale_to": "power_of_two"}, 32),
        ({"scale_to": "power_of_two"}, 64),
    ):
        found = encode_file({"a.glb": glb}, **options)
        assert (len(found["TXTR"][0]["levels"][0]), found["warnings"]) == (side, [])
    assert encode_file({"a.glb": glb})["warnings"]


def test_a_size_that_is_no_power_of_two_is_not_taken_without_a_warning():
    glb = gltf_square(None, png(formula(128))).glb()
    assert encode_file({"a.glb": glb}, texture_size=64)["warnings"] == []
    (warning,) = encode_file({"a.glb": glb}, texture_size=100)["warnings"]
    assert "resized from 128 x 128 to 64 x 64, the largest power of two within" in warning
    assert "`texture_size = 100` [resize]" in warning


def test_colour_of_what_is_cut_out_does_not_bleed():
    picture = np.zeros((2, 2, 4), np.uint8)
    picture[0, 0] = picture[0, 1] = (255, 0, 0, 255)
    picture[1, :] = (0, 255, 0, 0)
    assert texture("map_Kd a.png", png(picture))["levels"][1] == [[RED]]


@pytest.mark.parametrize(
    ("sampler", "linear", "clamp"),
    [
        (None, True, False),
        ({"magFilter": 9728}, False, False),
        ({"magFilter": 9729, "minFilter": 9728}, True, False),
        ({"wrapS": 33071, "wrapT": 33071}, True, True),
    ],
)
def test_sampler_of_a_gltf_gives_the_flags(sampler, linear, clamp):
    found = gltf_texture(plain(2, 2), sampler=sampler)
    assert (found["linear"], found["clamp"]) == (linear, clamp)


@pytest.mark.parametrize(("s", "t"), [(33071, 10497), (33648, 33648), (33648, 33071)])
def test_wrapping_that_kac_cannot_say_repeats_with_a_warning(s, t):
    builder = gltf_square(None, plain(2, 2), {"wrapS": s, "wrapT": t})
    found = encode_file({"a.glb": builder.glb()})
    assert found["TXTR"][0]["clamp"] is False
    (warning,) = found["warnings"]
    assert warning.startswith("a.glb, images[0]: wraps by ")
    assert encode_file({"a.glb": builder.glb()}, wrap="clamp")["warnings"] == []


def test_clamp_of_an_mtl_gives_the_flag():
    assert texture("map_Kd -clamp on a.png", plain(2, 2))["clamp"] is True
    assert texture("map_Kd -clamp off a.png", plain(2, 2))["clamp"] is False


def test_options_win_over_the_source():
    sampler = {"magFilter": 9728, "wrapS": 33071, "wrapT": 33071}
    found = gltf_texture(plain(2, 2), sampler=sampler, filter="linear", wrap="repeat")
    assert (found["linear"], found["clamp"]) == (True, False)
    found = texture("map_Kd a.png", plain(2, 2), filter="nearest", wrap="clamp")
    assert (found["linear"], found["clamp"]) == (False, True)


TWO = SQUARE.replace("f 1/1/1", "f 1/1/1 2/2/1 3/3/1\nusemtl n\nf 1/1/1")


def two(mtl: str, **files: bytes) -> dict:
    images = {name.replace("_png", ".png"): data for name, data in files.items()}
    return encode_file({"a.obj": TWO, "a.mtl": mtl, **images})


def test_equal_images_are_stored_once():
    mtl = "newmtl m\nKd 1 0 0\nmap_Kd b.png\nnewmtl n\nKd 0 1 0\nmap_Kd a.png\n"
    found = two(mtl, a_png=QUARTERS, b_png=QUARTERS)
    assert len(found["TXTR"]) == 1
    assert [material["texture"] for material in found["MATE"]] == [0, 0]


def test_textures_stand_in_the_order_of_their_paths():
    mtl = "newmtl m\nmap_Kd b.png\nnewmtl n\nmap_Kd a.png\n"
    found = two(mtl, a_png=plain(2, 2, (255, 0, 0)), b_png=plain(2, 2, (0, 0, 255)))
    assert [t["levels"][1] for t in found["TXTR"]] == [[[RED]], [[BLUE]]]
    assert [material["texture"] for material in found["MATE"]] == [1, 0]


def test_image_that_is_read_in_two_ways_is_stored_twice():
    found = two("newmtl m\nmap_Kd a.png\nnewmtl n\nmap_Kd -clamp on a.png\n", a_png=QUARTERS)
    assert [texture["clamp"] for texture in found["TXTR"]] == [False, True]


def test_jpeg_is_taken_and_other_formats_are_refused_by_name():
    stream = io.BytesIO()
    Image.new("RGB", (8, 8), (255, 0, 0)).save(stream, "JPEG", quality=100)
    levels = texture("map_Kd a.png", stream.getvalue())["levels"]
    assert levels[0][0][0][0] >= 30
    with pytest.raises(EncodeError) as caught:
        texture("map_Kd a.png", b"not a picture")
    assert caught.value.facts["file"] == "a.png"


def test_extracted_pictures_show_what_went_in():
    data = encode(square("map_Kd a.png", a_png=QUARTERS))["kac"]
    files = extract_textures(data, "a.kac")
    assert sorted(files) == ["texture_0_level_0.png", "texture_0_level_1.png"]
    picture = np.array(Image.open(io.BytesIO(files["texture_0_level_0.png"])))
    assert np.array_equal(picture, np.array(Image.open(io.BytesIO(QUARTERS))))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from([2, 4, 8]), st.integers(0, 256), st.data())
def test_stored_texel_is_within_half_a_step_of_the_image(side, threshold, data):
    size = side * side * 4
    flat = data.draw(st.binary(min_size=size, max_size=size))
    picture = np.frombuffer(flat, np.uint8).reshape(side, side, 4)
    words = np.frombuffer(pack_levels(picture, threshold), "<u2")[: side * side]
    codes = np.stack([words >> shift & 31 for shift in (0, 5, 10)], axis=1)
    error = np.abs(codes * 255 / 31 - picture.reshape(-1, 4)[:, :3])
    assert error.max() <= 255 / 62 + 1e-9
    assert np.array_equal(words >> 15 == 1, picture.reshape(-1, 4)[:, 3] >= threshold)
