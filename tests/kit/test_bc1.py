import hashlib
from itertools import product

import numpy as np
import pytest
import texture2ddecoder
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

from encoders.kit.error import EncodeError
from encoders.kit.image.bc import bc1, bc1_reference
from encoders.kit.native import kernel
from tests.kit.picture import decibels, formula, gradient, photo, pixel_art, with_holes

needs_native = pytest.mark.skipif(
    not kernel.has_native("bc1_encode"), reason="the extension is not built"
)
QUALITIES = ["default", "best"]
PICTURES = {
    "photo": photo(64),
    "gradient": gradient(64),
    "pixel art": pixel_art(64),
    "holes": with_holes(photo(64)),
    "noise": np.random.default_rng(7).integers(0, 256, (64, 64, 4)).astype(np.uint8),
    "flat": np.full((8, 8, 4), (200, 13, 77, 255), np.uint8),
    "two colours": np.where(np.indices((16, 16)).sum(0)[..., None] % 2, 255, 7)
    .astype(np.uint8)
    .repeat(4, axis=2),
}


@pytest.fixture(params=["native", "reference"])
def route(request):
    if request.param == "native" and not kernel.has_native("bc1_encode"):
        pytest.skip("the extension is not built")
    before = kernel.use_native(request.param == "native")
    yield request.param
    kernel.use_native(before)


def pure(*arguments, **options):
    before = kernel.use_native(False)
    try:
        return bc1.encode_bc1(*arguments, **options)
    finally:
        kernel.use_native(before)


def second_opinion(data, width, height):
    return np.asarray(Image.frombytes("RGBA", (width, height), data, "bcn", 1))


def third_opinion(data, width, height):
    bgra = np.frombuffer(texture2ddecoder.decode_bc1(data, width, height), np.uint8)
    return bgra.reshape(height, width, 4)[..., [2, 1, 0]]


def words(data):
    return np.frombuffer(data, "<u2").reshape(-1, 4)[:, :2]


def indices(data):
    packed = np.frombuffer(data, "<u4").reshape(-1, 2)[:, 1:]
    return packed >> (2 * np.arange(16, dtype=np.uint32)) & 3


def test_hand_written_block_decodes_as_the_table_says():
    data = bytes.fromhex(
        "00 F8"  # colour 0: red 31, green 0, blue 0
        "1F 00"  # colour 1: red 0, green 0, blue 31; less, so four opaque colours
        "E4 00 00 FF"  # row 0: 0 1 2 3; rows 1 and 2: 0; row 3: 3
    )
    picture = bc1.decode_bc1(data, "block", 4, 4)
    assert picture[0].tolist() == [
        [255, 0, 0, 255],
        [0, 0, 255, 255],
        [170, 0, 85, 255],
        [85, 0, 170, 255],
    ]
    assert picture[1:3].reshape(-1, 4).tolist() == [[255, 0, 0, 255]] * 8
    assert picture[3].tolist() == [[85, 0, 170, 255]] * 4


def test_hand_written_punch_through_block_has_a_hole():
    data = bytes.fromhex("1F 00 00 F8 E4 E4 E4 E4")  # colour 0 is less: three colours and a hole
    assert bc1.decode_bc1(data, "block", 4, 4)[2].tolist() == [
        [0, 0, 255, 255],
        [255, 0, 0, 255],
        [127, 0, 127, 255],
        [0, 0, 0, 0],
    ]


def test_packed_decoding_mixes_levels_before_it_widens_them():
    data = bytes.fromhex(
        "E3 20"  # colour 0: red 4, green 7, blue 3
        "41 08"  # colour 1: red 1, green 2, blue 1
        "E4 E4 E4 E4"
    )
    # (2*4 + 1 + 1) // 3 = 3, (2*7 + 2 + 1) // 3 = 5, (2*3 + 1 + 1) // 3 = 2, widened
    assert bc1.decode_bc1(data, "b", 4, 4, packed=True)[0, 2].tolist() == [24, 20, 16, 255]
    # (4 + 2*1 + 1) // 3 = 2, (7 + 2*2 + 1) // 3 = 4, (3 + 2*1 + 1) // 3 = 2
    assert bc1.decode_bc1(data, "b", 4, 4, packed=True)[0, 3].tolist() == [16, 16, 16, 255]


@given(st.binary(min_size=8 * 12, max_size=8 * 12))
@settings(max_examples=50, deadline=None)
def test_any_block_decodes_as_two_other_decoders_say(data):
    ours = bc1.decode_bc1(data, "blocks", 16, 12)
    assert np.array_equal(ours, second_opinion(data, 16, 12))
    # This one shows holes as opaque black.
    assert np.array_equal(ours[..., :3], third_opinion(data, 16, 12))


@pytest.mark.parametrize("length", [0, 7, 9, 16])
def test_data_of_the_wrong_length_is_refused_with_its_name(length):
    with pytest.raises(EncodeError) as refused:
        bc1.decode_bc1(bytes(length), "wall.bin", 4, 4)
    assert refused.value.facts["file"] == "wall.bin"


@pytest.mark.parametrize("width", [0, -4])
def test_picture_without_texels_is_refused(width):
    with pytest.raises(EncodeError):
        bc1.decode_bc1(b"", "wall.bin", width, 4)
    with pytest.raises(EncodeError):
        bc1.encode_bc1(np.zeros((4, 0, 4), np.uint8))


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("quality", QUALITIES)
@pytest.mark.parametrize("name", PICTURES)
def test_mask_of_holes_is_exact(name, quality):
    picture = PICTURES[name]
    height, width = picture.shape[:2]
    decoded = second_opinion(bc1.encode_bc1(picture, quality=quality), width, height)
    assert np.array_equal(decoded[..., 3] == 0, picture[..., 3] < 128)


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("cutoff", [0, 1, 255, 256])
def test_cutoff_decides_what_is_a_hole(cutoff):
    picture = PICTURES["noise"]
    decoded = bc1.decode_bc1(bc1.encode_bc1(picture, cutoff=cutoff), "noise", 64, 64)
    assert np.array_equal(decoded[..., 3] == 0, picture[..., 3] < cutoff)


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("name", PICTURES)
def test_modes_of_the_default_follow_from_the_holes_alone(name):
    data = bc1.encode_bc1(PICTURES[name])
    ends, index = words(data), indices(data)
    holed = (bc1.split_blocks(PICTURES[name])[:, 3::4] < 128).any(axis=1)
    assert (ends[holed, 0] <= ends[holed, 1]).all()
    solid = index[~holed].max(axis=1, initial=0) == 0
    assert ((ends[~holed, 0] > ends[~holed, 1]) | solid).all()


@pytest.mark.usefixtures("route")
def test_best_shows_a_colour_in_the_middle_of_two_exactly():
    """Four colours have thirds, but no middle."""
    picture = np.full((4, 4, 4), 255, np.uint8)
    picture[0, :, :3], picture[1:3, :, :3] = 0, 127
    default, best = (
        second_opinion(bc1.encode_bc1(picture, quality=quality), 4, 4) for quality in QUALITIES
    )
    assert np.array_equal(best, picture)
    assert not np.array_equal(default, picture)


@pytest.mark.parametrize("name", ["photo", "gradient", "noise"])
def test_no_end_of_a_best_block_is_better_a_level_away(name):
    """Judged by the decoder alone, for blocks that keep their mode."""
    picture = PICTURES[name].copy()
    picture[..., 3] = 255
    texels = bc1.split_blocks(picture).reshape(-1, 16, 4)
    blocks = np.frombuffer(bc1.encode_bc1(picture, quality="best"), np.uint8).reshape(-1, 8)

    def errors(of):
        palette = bc1.block_palette(of, packed=False).astype(int)
        off = ((texels[:, :, None, :3] - palette[:, None, :, :3]) ** 2).sum(axis=-1)
        # The hole of three colours is no colour.
        return np.where(palette[:, None, :, 3] > 0, off, 1 << 20).min(axis=-1).sum(axis=-1)

    ends, least = words(blocks.tobytes()), errors(blocks)
    for end, (shift, top), step in product((0, 1), ((11, 31), (5, 63), (0, 31)), (-1, 1)):
        level = (ends[:, end] >> shift & top).astype(int) + step
        moved = ends.copy()
        moved[:, end] = (ends[:, end].astype(int) + (step << shift)) & 0xFFFF
        same = (moved[:, 0] > moved[:, 1]) == (ends[:, 0] > ends[:, 1])
        tried = blocks.copy()
        tried[:, :4] = moved.view(np.uint8)
        allowed = same & (level >= 0) & (level <= top)
        assert (errors(tried) >= least)[allowed].all()
        assert allowed.any()


@pytest.mark.usefixtures("route")
def test_transparent_block_is_all_holes_over_black():
    picture = PICTURES["noise"][:4, :4].copy()
    picture[..., 3] = 127
    assert bc1.encode_bc1(picture) == bytes.fromhex("00 00 00 00 FF FF FF FF")


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("size", [(1, 1), (2, 2), (3, 5), (4, 1), (9, 6)])
def test_odd_sizes_repeat_their_edge_texels(size):
    picture = with_holes(photo(64))[: size[0], : size[1]]
    height, width = size
    pad = ((0, -height % 4), (0, -width % 4), (0, 0))
    assert bc1.encode_bc1(picture) == bc1.encode_bc1(np.pad(picture, pad, mode="edge"))
    shown = bc1.decode_bc1(bc1.encode_bc1(picture), "small", width, height)
    assert shown.shape == picture.shape


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("hole", [False, True])
def test_flat_block_is_as_near_as_blocks_can_be(hole):
    values = np.arange(0, 256, 5).repeat(4)  # a block of 4 x 4 texels for each
    picture = np.empty((4, len(values), 4), np.uint8)
    picture[:] = np.column_stack([values, values, 255 - values, np.full_like(values, 255)])
    picture[0, ::4, 3] = 0 if hole else 255
    decoded = bc1.decode_bc1(bc1.encode_bc1(picture), "flat", len(values), 4)
    error = decoded[..., :3].astype(int) - picture[..., :3]
    shown = picture[..., 3] > 0
    assert np.abs(error[shown]).max() <= 2
    for block in range(0, len(values), 4):
        here = np.s_[:, block : block + 4]
        assert (decoded[here][shown[here]] == decoded[3, block + 3]).all()


@pytest.mark.usefixtures("route")
def test_exact_colours_of_the_format_come_back_exactly():
    picture = np.zeros((4, 4, 4), np.uint8)
    picture[..., 3] = 255
    picture[:2, :, 0], picture[2:, :, 2] = 255, 255
    assert np.array_equal(bc1.decode_bc1(bc1.encode_bc1(picture), "two", 4, 4), picture)


@pytest.mark.parametrize(
    ("name", "default", "best"),
    [("photo", 40.2, 40.85), ("gradient", 37.0, 37.3), ("pixel art", 18.1, 18.2)],
)
def test_quality_stays_above_its_floor(name, default, best):
    picture = PICTURES[name]
    floors = {"default": default, "best": best}
    for quality, floor in floors.items():
        decoded = second_opinion(bc1.encode_bc1(picture, quality=quality), 64, 64)
        assert decibels(picture, decoded) >= floor


@pytest.mark.parametrize("name", PICTURES)
def test_best_is_no_worse_than_default(name):
    picture = PICTURES[name]
    height, width = picture.shape[:2]
    shown = [
        bc1.decode_bc1(bc1.encode_bc1(picture, quality=q), q, width, height) for q in QUALITIES
    ]
    solid = picture[..., 3] >= 128
    assert decibels(picture[solid], shown[1][solid]) >= decibels(picture[solid], shown[0][solid])


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize(
    ("quality", "digest"), [("default", "42b3cffdd1b6ce1b"), ("best", "fb84ce25999fe0f2")]
)
def test_blocks_are_the_same_on_every_machine(quality, digest):
    data = bc1.encode_bc1(formula(), quality=quality)
    assert hashlib.sha256(data).hexdigest()[:16] == digest


@needs_native
@pytest.mark.parametrize("quality", QUALITIES)
@pytest.mark.parametrize("name", PICTURES)
def test_native_and_reference_give_the_same_bytes(name, quality):
    picture = PICTURES[name] if quality == "default" else PICTURES[name][:32, :32]
    assert bc1.encode_bc1(picture, quality=quality) == pure(picture, quality=quality)


@needs_native
@given(arrays.arrays(np.uint8, (4, 12, 4)), st.sampled_from([0, 8, 250]), st.integers(1, 256))
@settings(max_examples=60, deadline=None)
def test_native_and_reference_agree_on_any_picture(texels, base, spread):
    color = np.minimum(texels[..., :3].astype(int) % spread + base, 255)
    picture = np.dstack([color.astype(np.uint8), texels[..., 3]])
    assert bc1.encode_bc1(picture) == pure(picture)


@needs_native
def test_native_and_reference_agree_on_many_random_blocks():
    random = np.random.default_rng(11)
    picture = random.integers(0, 256, (256, 256, 4)).astype(np.uint8)
    low = random.integers(0, 250, (64, 64, 1)) + random.integers(0, 6, (64, 64, 4))
    picture[:64, :64] = low.astype(np.uint8)
    picture[:128, :, 3] = 255
    assert bc1.encode_bc1(picture) == pure(picture)


@needs_native
@pytest.mark.parametrize(
    ("texels", "table", "blocks"), [(63, 3072, 8), (64, 3071, 8), (64, 3072, 16), (64, 3072, 7)]
)
def test_native_kernel_refuses_buffers_that_do_not_fit(texels, table, blocks):
    native = kernel.choose("bc1_encode", bc1.encode_blocks)
    buffers = [np.zeros(size, np.uint8) for size in (texels, table, blocks)]
    with pytest.raises(ValueError, match="bytes, expected"):
        native(buffers[0], buffers[1], False, buffers[2])


def test_repeated_blocks_are_encoded_once():
    texels = bc1.split_blocks(pixel_art(64))
    first, again = bc1.unique_blocks(texels)
    assert len(first) == len({block.tobytes() for block in texels})
    assert np.array_equal(texels[first[again]], texels)


def test_blocks_that_share_a_digest_are_not_mistaken(monkeypatch):
    expected = bc1.encode_bc1(formula())
    monkeypatch.setattr(bc1, "MIXERS", (0, 0, 0, 0))
    assert bc1.encode_bc1(formula()) == expected


def test_colour_under_a_hole_does_not_matter():
    one = with_holes(photo(64))
    two = one.copy()
    two[one[..., 3] < 128, :3] = 99
    assert bc1.encode_bc1(one) == bc1.encode_bc1(two)


def test_default_comes_near_the_best_search_on_photographs():
    """Alternating alone stays 0.4 dB behind."""
    picture = photo()
    found = [bc1.encode_bc1(picture, quality=quality) for quality in ("default", "best")]
    near, best = (decibels(picture, bc1.decode_bc1(data, "photo", 128, 128)) for data in found)
    assert best - 0.3 < near < best


def test_blocks_of_few_colours_are_searched_by_default(monkeypatch):
    """Pixel art has blocks of two to five colours: likely cuts alone are not enough there."""
    random = np.random.default_rng(4)
    colors = random.integers(0, 256, (256, 5, 3), np.uint8)
    blocks = np.take_along_axis(colors, random.integers(0, 5, (256, 16, 1)), 1)
    picture = np.full((64, 64, 4), 255, np.uint8)
    picture[..., :3] = blocks.reshape(16, 16, 4, 4, 3).swapaxes(1, 2).reshape(64, 64, 3)
    searched = pure(picture)
    monkeypatch.setattr(bc1_reference, "FEW_COLORS", 0)
    likely = pure(picture)
    one, other = (decibels(picture, second_opinion(data, 64, 64)) for data in (searched, likely))
    assert one > other
