import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from encoders.kit.error import EncodeError
from encoders.kit.image.palette import dither
from encoders.kit.native import kernel
from tests.kit.picture import gradient, photo, with_holes

needs_native = pytest.mark.skipif(
    not kernel.has_native("dither"), reason="the extension is not built"
)
BLACK_AND_WHITE = np.array([[0, 0, 0], [255, 255, 255]], np.uint8)


@pytest.fixture(params=["native", "reference"])
def route(request):
    if request.param == "native" and not kernel.has_native("dither"):
        pytest.skip("the extension is not built")
    before = kernel.use_native(request.param == "native")
    yield request.param
    kernel.use_native(before)


def grey(value, height=32, width=32):
    return np.full((height, width, 3), value, np.uint8)


def pure(*arguments):
    before = kernel.use_native(False)
    try:
        return dither.diffuse_to_palette(*arguments)
    finally:
        kernel.use_native(before)


@pytest.mark.usefixtures("route")
def test_first_row_follows_the_weights_by_hand():
    # 100: black, 7/16 of 100 (43.75) goes on; 143.75: white, 7/16 of -111 (48.5625) goes on;
    # 51.4375: black, 7/16 of 51 (22.3125) goes on; 122.3125: black.
    row = dither.diffuse_to_palette(grey(100, 1, 4), BLACK_AND_WHITE)
    assert row.tolist() == [[0, 1, 0, 0]]


@pytest.mark.usefixtures("route")
def test_second_row_runs_back_and_takes_the_errors_from_above():
    # Row 0: 96 is black, so 96 * 7 / 16 = 42 goes on, 96 * 5 / 16 = 30 down, 96 / 16 = 6 ahead.
    # Then 138 is white: error -117; -117 * 3 / 16 goes down and back, -117 * 5 / 16 down.
    # Row 1, right to left: 96 + 6 - 36.5625 = 65.4375 is black, 65 * 7 / 16 = 28.4375 goes on
    # to 96 + 30 - 21.9375 + 28.4375 = 132.5: white.
    rows = dither.diffuse_to_palette(grey(96, 2, 2), BLACK_AND_WHITE)
    assert rows.tolist() == [[0, 1], [1, 0]]


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("value", [0, 40, 128, 200, 255])
def test_mean_brightness_is_kept(value):
    chosen = dither.diffuse_to_palette(grey(value), BLACK_AND_WHITE)
    assert abs(chosen.mean() * 255 - value) < 4


@pytest.mark.usefixtures("route")
def test_colour_of_the_palette_is_left_alone():
    palette = np.array([[9, 9, 9], [10, 20, 30], [250, 1, 2]], np.uint8)
    chosen = np.arange(60).reshape(6, 10).astype(np.uint8) % 3
    assert np.array_equal(dither.diffuse_to_palette(palette[chosen], palette), chosen)


@pytest.mark.usefixtures("route")
def test_texels_outside_the_mask_have_entry_0_and_pass_no_error_on():
    picture = grey(120, 4, 9)
    mask = np.ones((4, 9), bool)
    mask[:, 4] = False
    chosen = dither.diffuse_to_palette(picture, BLACK_AND_WHITE, mask)
    assert (chosen[:, 4] == 0).all()
    alone = dither.diffuse_to_palette(picture[:, :4], BLACK_AND_WHITE)
    assert np.array_equal(chosen[:, :4], alone)


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("bits", [(5, 5, 5), (4, 4, 4, 4)])
def test_levels_are_near_and_their_mean_is_nearer(bits):
    picture = with_holes(gradient(32))[..., : len(bits)]
    levels = dither.diffuse_to_levels(picture, bits)
    shown = dither.expand_levels(bits[0])[:, 0][levels].astype(int)
    assert np.abs(shown - picture).max() <= 2 * (255 >> bits[0]) + 2
    assert np.abs((shown - picture).mean(axis=(0, 1))).max() < 1


@pytest.mark.usefixtures("route")
def test_half_of_the_errors_is_passed_on_by_hand():
    # 100: black, half of 43.75 goes on; 121.875 is 122: black, half of 53.375 goes on; 126.6875 is
    # 127: black, half of 55.5625 goes on; 127.78 is 128: white.
    row = dither.diffuse_to_palette(grey(100, 1, 4), BLACK_AND_WHITE, strength=0.5)
    assert row.tolist() == [[0, 0, 0, 1]]


@pytest.mark.usefixtures("route")
def test_without_strength_every_texel_has_its_nearest_entry():
    picture = photo(16)[..., :3]
    off = picture[:, :, None].astype(int) - BLACK_AND_WHITE
    nearest = (off * off).sum(axis=3).argmin(axis=2)
    chosen = dither.diffuse_to_palette(picture, BLACK_AND_WHITE, strength=0)
    assert np.array_equal(chosen, nearest)


@pytest.mark.usefixtures("route")
def test_less_strength_leaves_areas_near_an_entry_calm():
    assert dither.diffuse_to_palette(grey(20), BLACK_AND_WHITE).any()
    assert not dither.diffuse_to_palette(grey(20), BLACK_AND_WHITE, strength=0.75).any()


def test_expanded_levels_repeat_their_bits():
    assert dither.expand_levels(1)[:, 0].tolist() == [0, 255]
    assert dither.expand_levels(3)[5, 0] == 0b10110110
    assert dither.expand_levels(4)[:, 0].tolist() == [17 * level for level in range(16)]
    assert dither.expand_levels(5)[19, 0] == 0b10011100
    assert dither.expand_levels(8)[:, 0].tolist() == list(range(256))


@pytest.mark.parametrize(
    ("colors", "palette", "mask"),
    [
        ((4, 4, 3), (16, 4), (4, 4)),
        ((4, 4, 3), (0, 3), (4, 4)),
        ((4, 4, 3), (257, 3), (4, 4)),
        ((4, 4, 3), (16, 3), (4, 5)),
        ((0, 4, 3), (16, 3), (0, 4)),
    ],
)
def test_misfits_are_refused(colors, palette, mask):
    with pytest.raises(EncodeError):
        dither.diffuse_to_palette(
            np.zeros(colors, np.uint8), np.zeros(palette, np.uint8), np.ones(mask, bool)
        )


@needs_native
@given(
    arrays.arrays(np.uint8, st.tuples(st.integers(1, 6), st.integers(1, 6), st.just(3))),
    arrays.arrays(np.uint8, st.tuples(st.integers(1, 9), st.just(3))),
    st.integers(0, 2**36 - 1),
    st.integers(0, 256),
)
@settings(max_examples=50, deadline=None)
def test_native_and_reference_choose_the_same_entries(colors, palette, bits, share):
    mask = np.array([bits >> k & 1 for k in range(36)], bool).reshape(6, 6)
    mask = mask[: colors.shape[0], : colors.shape[1]]
    ours = dither.diffuse_to_palette(colors, palette, mask, share / 256)
    assert np.array_equal(ours, pure(colors, palette, mask, share / 256))


@needs_native
def test_native_and_reference_agree_on_a_whole_picture():
    picture = photo(64)[..., :3]
    palette = np.random.default_rng(2).integers(0, 256, (256, 3)).astype(np.uint8)
    assert np.array_equal(dither.diffuse_to_palette(picture, palette), pure(picture, palette))


@needs_native
@pytest.mark.parametrize(
    ("sizes", "shape"),
    [
        ((48, 16, 6, 15), (4, 3, 256)),
        ((47, 16, 6, 16), (4, 3, 256)),
        ((48, 15, 6, 16), (4, 3, 256)),
        ((48, 16, 5, 16), (4, 3, 256)),
        ((48, 16, 0, 16), (4, 3, 256)),
        ((48, 16, 771, 16), (4, 3, 256)),
        ((48, 16, 6, 16), (0, 3, 256)),
        ((48, 16, 6, 16), (4, 5, 256)),
        ((48, 16, 6, 16), (4, -3, 256)),
        ((48, 16, 6, 16), (4, 3, -1)),
        ((48, 16, 6, 16), (4, 3, 257)),
    ],
)
def test_native_kernel_refuses_buffers_that_do_not_fit(sizes, shape):
    native = kernel.choose("dither", dither.dither)
    colors, mask, palette, indices = (np.zeros(size, np.uint8) for size in sizes)
    with pytest.raises(ValueError, match="expected"):
        native(colors, mask, palette, shape, indices)
