"""Textures of the RP2350 target."""

import base64
import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image

from encoders.kit.error import EncodeError
from encoders.kit.image.bc.bc1 import decode_bc1
from encoders.rp2350.node_texture import choose_format, encode_texture
from encoders.rp2350.rust_reader import parse_wrapper
from encoders.rp2350.texture_data import pack_rgba4444, unpack_levels
from encoders.rp2350.view import decode_rust, decode_texture
from pipeline.build.purity import pure
from tests.encoders.rp2350_second_reader import bc1_texel, constants, level_bytes, rgba4444_texel
from tests.kit.png_maker import make_png

GOLDEN = json.loads((Path(__file__).parent / "data/rp2350/golden.json").read_text())
PARAMS = {
    "identifier": "TEXTURES_X",
    "source": "assets/textures/x.png",
    "format": "rgba4444",
    "mipmaps": False,
    "alpha_cutoff": 128,
    "quality": "default",
}


def png_of(image) -> bytes:
    return make_png(np.asarray(image).tolist(), 8, 6)


def gradient(width: int, height: int, alpha: int = 255):
    y, x = np.mgrid[0:height, 0:width]
    planes = [x * 255 // width, y * 255 // height, (x ^ y) % 256, np.full_like(x, alpha)]
    return np.stack(planes, axis=-1).astype(np.uint8)


def encode(image, **params):
    with pure():
        return encode_texture({"source": png_of(image)}, {**PARAMS, **params})


def data_of(outputs) -> bytes:
    (role,) = set(outputs) - {"wrapper", "includes", "warnings", "report"}
    return outputs[role]


def siblings_of(outputs):
    wrapper = parse_wrapper(outputs["wrapper"], "x.rs")
    return {"textures_x.rs": outputs["wrapper"], wrapper.data_file: data_of(outputs)}.get


@pytest.mark.parametrize("case", GOLDEN["png"], ids=lambda case: case["file"])
def test_png_gives_the_blocks_of_the_golden_file(case):
    outputs = encode_texture({"source": base64.b64decode(case["png_base64"])}, PARAMS)
    assert outputs["data"].hex() == case["rgba4444_block_hex"]
    rgba = bytes.fromhex(case["rgba8_hex"])
    for number in range(64):
        texel = rgba[4 * number : 4 * number + 4]
        found = rgba4444_texel(outputs["data"], 8, number % 8, number // 8)
        assert found == tuple((channel >> 4) * 17 for channel in texel)


def test_first_byte_of_a_texel_holds_blue_and_alpha():
    # Red 0x1_, green 0x2_, blue 0x3_, alpha 0x4_: the word is 0x1234, stored 34 12.
    image = np.tile(np.array([0x1F, 0x20, 0x3A, 0x4B], np.uint8), (8, 8, 1))
    assert encode(image)["data"] == bytes.fromhex("3412") * 64


def test_block_order_is_left_to_right_then_down():
    image = np.zeros((8, 8, 4), np.uint8)
    image[0, 4] = image[3, 7] = image[4, 0] = 255
    data = encode(image)["data"]
    white = [i // 2 for i in range(0, len(data), 2) if data[i : i + 2] == b"\xff\xff"]
    # Texels 0 and 15 of block 1, then texel 0 of block 2.
    assert white == [16, 31, 32]


def test_levels_smaller_than_a_block_repeat_their_edges():
    level = np.array([[[16, 0, 0, 0], [32, 0, 0, 0]], [[48, 0, 0, 0], [64, 0, 0, 0]]], np.uint8)
    words = np.frombuffer(pack_rgba4444([level]), "<u2").reshape(4, 4) >> 12
    assert words.tolist() == [[1, 2, 2, 2], [3, 4, 4, 4], [3, 4, 4, 4], [3, 4, 4, 4]]


@pytest.mark.parametrize(
    ("width", "height", "levels", "bc1", "rgba4444"),
    [
        (8, 8, 4, 56, 224),
        (16, 16, 5, 184, 736),
        (64, 64, 7, 2744, 10976),
        (256, 256, 9, 43704, 174816),
        (256, 64, 7, 10936, 43744),
        (1024, 8, 4, 5888, 23552),
    ],
)
def test_chains_have_the_sizes_of_the_table(width, height, levels, bc1, rgba4444):
    for form, size in (("bc1", bc1), ("rgba4444", rgba4444)):
        outputs = encode_texture(
            {"source": flat_png(width, height)}, {**PARAMS, "format": form, "mipmaps": True}
        )
        assert len(outputs["data"]) == size
        assert constants(outputs["wrapper"].decode())["TEXTURES_X_MIP_LEVELS"] == str(levels)


def flat_png(width: int, height: int) -> bytes:
    stream = io.BytesIO()
    Image.new("L", (width, height), 90).save(stream, "PNG")
    return stream.getvalue()


def test_offsets_of_a_256_texel_chain_are_those_of_the_specification():
    outputs = encode_texture(
        {"source": flat_png(256, 256)}, {**PARAMS, "format": "bc1", "mipmaps": True}
    )
    text = constants(outputs["wrapper"].decode())["TEXTURES_X_MIP_OFFSETS"]
    offsets = [int(part) for part in text.strip("[]\n ,").split(",")]
    assert offsets == [0, 0x8000, 0xA000, 0xA800, 0xAA00, 0xAA80, 0xAAA0, 0xAAA8, 0xAAB0]


def test_each_level_is_the_rounded_mean_of_four_texels_above():
    image = gradient(16, 8)
    outputs = encode(image, mipmaps=True)
    level, start, width, height = image.astype(int), 0, 16, 8
    for _ in range(4):
        size = level_bytes("RGBA4444", width, height)
        part = outputs["data"][start : start + size]
        for y in range(height):
            for x in range(width):
                expected = tuple(int(v) // 16 * 17 for v in level[y, x])
                assert rgba4444_texel(part, width, x, y) == expected
        start, width, height = start + size, width // 2, height // 2
        level = (level[::2, ::2] + level[1::2, ::2] + level[::2, 1::2] + level[1::2, 1::2] + 2) // 4
    assert start == len(outputs["data"])


def test_invisible_texels_do_not_bleed_into_levels():
    image = np.zeros((8, 8, 4), np.uint8)
    image[::2] = [255, 0, 0, 255]  # opaque red rows between rows that are invisible and black
    data = encode(image, mipmaps=True)["data"][128:]
    assert rgba4444_texel(data, 4, 1, 1) == (255, 0, 0, 0x88)


def test_both_formats_agree_with_a_reader_written_from_the_specification():
    image = gradient(16, 16)
    image[4:9, 4:9, 3] = 0
    for form, texel in (("rgba4444", rgba4444_texel), ("bc1", bc1_texel)):
        outputs = encode(image, format=form, mipmaps=True)
        wrapper = parse_wrapper(outputs["wrapper"], "x.rs")
        levels, start = unpack_levels(wrapper, outputs["data"], "x.bin"), 0
        for level in levels:
            height, width = level.shape[:2]
            size = level_bytes(form.upper(), width, height)
            part = outputs["data"][start : start + size]
            start += size
            for y in range(height):
                for x in range(width):
                    assert texel(part, width, x, y) == tuple(level[y, x])


def test_holes_of_bc1_are_exactly_the_texels_below_the_cutoff():
    rng = np.random.default_rng(5)
    image = rng.integers(0, 256, (32, 32, 4), np.uint8)
    for cutoff in (1, 128, 255):
        outputs = encode(image, format="bc1", alpha_cutoff=cutoff)
        (level,) = unpack_levels(parse_wrapper(outputs["wrapper"], "x"), outputs["data"], "x")
        assert np.array_equal(level[..., 3] == 0, image[..., 3] < cutoff)


def test_a_transparent_block_is_zero_colours_and_index_three():
    image = np.zeros((8, 8, 4), np.uint8)
    assert encode(image, format="bc1")["data"] == bytes.fromhex("00000000ffffffff") * 4


def test_best_quality_errs_less_in_the_8_bit_arithmetic_that_it_searches_in():
    """The chip interpolates 5-6-5 levels; there `best` can be 0.2 dB behind on smooth gradients."""
    image = gradient(64, 64)
    errors = []
    for quality in ("default", "best"):
        data = encode(image, format="bc1", quality=quality)["data"]
        level = decode_bc1(data, "x", 64, 64)
        errors.append(int(((level.astype(int) - image) ** 2).sum()))
    assert errors[1] < errors[0]


def test_auto_takes_bc1_only_where_every_texel_is_opaque():
    opaque = gradient(8, 8)
    assert set(encode(opaque, format="auto")) >= {"wrapper", "bc/1"}
    assert choose_format(opaque, "auto") == "BC1"
    opaque[0, 0, 3] = 254
    outputs = encode(opaque, format="auto")
    assert "rgba/4444" in outputs
    assert "bc/1" not in outputs
    assert b"textures_x_rgba4444.bin" in outputs["wrapper"]


@pytest.mark.parametrize(
    ("width", "height", "problem", "sizes", "options"),
    [
        (12, 8, "not a power of two", "8x8 or 16x8", {"scale_to": "power_of_two"}),
        (100, 200, "not a power of two", "64x128 or 128x256", {"scale_to": "power_of_two"}),
        (3, 2048, "not a power of two", "8x1024", {}),
        (4, 8, "smaller than 8", "8x8", {}),
        (8, 2048, "larger than 1024", "8x1024", {}),
        (2048, 2048, "larger than 1024", "1024x1024", {"max_size": 1024}),
        (2000, 1000, "power of two", "1024x512 or 1024x1024",
         {"max_size": 1024, "scale_to": "power_of_two"}),
    ],
)  # fmt: skip
def test_wrong_sizes_are_refused_with_the_nearest_ones(width, height, problem, sizes, options):
    with pytest.raises(EncodeError, match=problem) as error:
        encode_texture({"source": flat_png(width, height)}, PARAMS)
    hint = f"Resize the image to {sizes}."
    if options:
        wanted = [f"`{key} = {json.dumps(value)}`" for key, value in options.items()]
        hint += f" Or set {' and '.join(wanted)}."
        # The hint holds.
        assert encode_texture({"source": flat_png(width, height)}, {**PARAMS, **options})["data"]
    assert error.value.hint == hint
    assert error.value.facts["size"] == f"{width}x{height}"
    assert error.value.facts["file"] == "assets/textures/x.png"


def test_a_picture_is_scaled_as_asked_without_a_warning():
    outputs = encode(gradient(100, 60), scale_to="power_of_two", max_size=64)
    assert constants(outputs["wrapper"].decode())["TEXTURES_X_WIDTH"] == "64"
    assert len(data_of(outputs)) == 64 * 32 * 2
    assert not outputs["warnings"]


def test_a_name_that_loses_letters_is_told():
    outputs = encode(gradient(8, 8), identifier="TEXTURES_GR__E", lost_name="textures/größe")
    text = outputs["warnings"].decode()
    assert "textures/größe" in text
    assert "TEXTURES_GR__E" in text


@pytest.mark.parametrize("side", [8, 1024])
def test_least_and_greatest_sizes_are_accepted(side):
    outputs = encode_texture({"source": flat_png(side, 8)}, PARAMS)
    assert len(outputs["data"]) == side * 8 * 2
    assert not outputs["warnings"]


def test_a_refused_size_is_told_with_that_of_the_file():
    options = {"max_size": 1024, "scale_to": "power_of_two"}
    with pytest.raises(EncodeError, match="smaller than 8") as caught:
        encode_texture({"source": flat_png(5000, 3)}, {**PARAMS, **options})
    assert caught.value.facts["size"] == "1024x1, scaled from 5000x3 as the manifest asks"
    with pytest.raises(EncodeError) as caught:
        encode_texture({"source": flat_png(50, 3)}, PARAMS)
    assert caught.value.facts["size"] == "50x3"


def test_what_exceeds_texture_memory_is_warned_of():
    outputs = encode_texture({"source": flat_png(1024, 1024)}, PARAMS)
    assert b"2,097,152 bytes are more than the 786,432" in outputs["warnings"]


def test_half_transparent_texels_in_bc1_are_warned_of():
    assert b"(64 texels)" in encode(gradient(8, 8, 100), format="bc1")["warnings"]
    assert not encode(gradient(8, 8, 255), format="bc1")["warnings"]
    assert not encode(gradient(8, 8, 100))["warnings"]


def test_a_file_that_is_no_png_is_refused():
    with pytest.raises(EncodeError):
        encode_texture({"source": b"\xff\xd8\xff\xe0 not a png"}, PARAMS)


@pytest.mark.parametrize("form", ["rgba4444", "bc1"])
def test_inspection_shows_sizes_and_refuses_every_wrong_length(form):
    outputs = encode(gradient(8, 8), format=form, mipmaps=True)
    data, beside = outputs["data"], siblings_of(outputs)
    name = f"build/rp2350/textures_x_{form}.bin"
    found = decode_texture(data, name, beside)
    assert (found["width"], found["height"], found["levels"]) == (8, 8, 4)
    assert json.loads(json.dumps(found)) == found
    assert decode_rust(outputs["wrapper"], "textures_x.rs", beside) == found
    for size in [*range(len(data)), len(data) + 1]:
        with pytest.raises(EncodeError):
            decode_texture((data + b"\0")[:size], name, beside)
    with pytest.raises(EncodeError, match="missing"):
        decode_texture(data, name, {}.get)


def test_changed_texels_beyond_the_edge_are_refused():
    outputs = encode(gradient(8, 8), mipmaps=True)
    data = bytearray(outputs["data"])
    data[-1] ^= 0x10  # the last texel of the 1x1 level
    with pytest.raises(EncodeError, match="beyond the edge"):
        decode_texture(bytes(data), "textures_x_rgba4444.bin", siblings_of(outputs))


def test_blocks_of_one_colour_with_two_indices_are_refused():
    outputs = encode(gradient(8, 8), format="bc1")
    data = bytes.fromhex("3412341200000001") + outputs["data"][8:]
    with pytest.raises(EncodeError, match="one colour"):
        decode_texture(data, "textures_x_bc1.bin", siblings_of(outputs))


@settings(max_examples=25)
@given(
    hnp.arrays(np.uint8, st.tuples(st.sampled_from([8, 16]), st.sampled_from([8, 32]), st.just(4))),
    st.sampled_from(["rgba4444", "bc1", "auto"]),
    st.booleans(),
)
def test_any_picture_encodes_the_same_twice_and_reads_back(image, form, mipmaps):
    outputs = encode(image, format=form, mipmaps=mipmaps)
    assert encode(image, format=form, mipmaps=mipmaps) == outputs
    wrapper = parse_wrapper(outputs["wrapper"], "x.rs")
    levels = unpack_levels(wrapper, data_of(outputs), "x.bin")
    assert levels[0].shape == image.shape
    if wrapper.format == "RGBA4444":
        assert np.array_equal(levels[0], image // 16 * 17)
