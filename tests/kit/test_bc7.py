import hashlib

import numpy as np
import pytest
import texture2ddecoder
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from encoders.kit.image.bc import bc7, bc7_partition
from encoders.kit.native import kernel
from tests.kit.picture import decibels, formula, gradient, photo, pixel_art, with_holes

needs_native = pytest.mark.skipif(
    not kernel.has_native("bc7_encode"), reason="the extension is not built"
)
PICTURES = {
    "photo": photo(32),
    "gradient": gradient(32),
    "pixel art": pixel_art(32),
    "holes": with_holes(photo(32)),
    "noise": np.random.default_rng(7).integers(0, 256, (32, 32, 4)).astype(np.uint8),
    "grey": np.dstack([photo(32)[..., :1]] * 3 + [np.full((32, 32), 255, np.uint8)]),
}


@pytest.fixture(params=["native", "reference"])
def route(request):
    if request.param == "native" and not kernel.has_native("bc7_encode"):
        pytest.skip("the extension is not built")
    before = kernel.use_native(request.param == "native")
    yield request.param
    kernel.use_native(before)


def pure(picture):
    before = kernel.use_native(False)
    try:
        return bc7.encode_bc7(picture)
    finally:
        kernel.use_native(before)


def decoded(data, picture):
    height, width = picture.shape[:2]
    bgra = np.frombuffer(texture2ddecoder.decode_bc7(data, width, height), np.uint8)
    return bgra.reshape(height, width, 4)[..., [2, 1, 0, 3]]


def test_a_flat_block_has_known_bytes():
    # Mode 5 is five zeros and a one; black has levels of 0; alpha 255 twice at bits 50 and 58;
    # fifteen indices of 01 after one of 1 bit, from bit 66 on; alpha's indices are 0.
    indices = 1 | sum(1 << (1 + 2 * k) for k in range(15))
    expected = 1 << 5 | 0xFFFF << 50 | indices << 66
    made = bc7.encode_bc7(np.full((4, 4, 4), (0, 0, 0, 255), np.uint8))
    assert int.from_bytes(made, "little") == expected


def test_every_flat_block_comes_back_exactly():
    values = np.arange(256, dtype=np.uint8)
    row = np.stack([values, 255 - values, values // 2, values ^ 0x55], 1)[None]
    picture = np.ascontiguousarray(row.repeat(4, 0).repeat(4, 1))
    assert np.array_equal(decoded(bc7.encode_bc7(picture), picture), picture)


@pytest.mark.usefixtures("route")
def test_two_colours_on_the_sides_of_a_partition_come_back_exactly():
    # One low bit serves three channels, so levels alone meet one colour in four.
    second = bc7_partition.SUBSETS[2].reshape(-1, 4, 4)
    colors = np.random.default_rng(3).integers(8, 248, (len(second), 2, 4)).astype(np.uint8)
    colors[..., 3] = 255
    picture = np.concatenate([pair[side] for pair, side in zip(colors, second, strict=True)])
    assert np.array_equal(decoded(bc7.encode_bc7(picture), picture), picture)


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("name", PICTURES)
def test_opaque_blocks_are_opaque(name):
    picture = PICTURES[name].copy()
    picture[:16, :, 3] = 255
    assert (decoded(bc7.encode_bc7(picture), picture)[:16, :, 3] == 255).all()


@pytest.mark.parametrize(
    ("name", "floor"),
    [("photo", 46.0), ("gradient", 38.4), ("pixel art", 50.6), ("holes", 41.7), ("grey", 55.7)],
)
def test_quality_stays_above_its_floor(name, floor):
    picture = PICTURES[name]
    assert decibels(picture, decoded(bc7.encode_bc7(picture), picture)) >= floor


@pytest.mark.usefixtures("route")
def test_blocks_of_neighbouring_greys_come_back_exactly():
    # Mode 6 has odd levels only where alpha is 255: its ends have to enclose even values.
    steps = np.arange(16).reshape(4, 4) % 6
    values = np.arange(2, 250, 4)[:, None, None] + steps
    grey = np.hstack(list(values)).astype(np.uint8)
    picture = np.dstack([grey, grey, grey, np.full_like(grey, 255)])
    assert np.array_equal(decoded(bc7.encode_bc7(picture), picture), picture)


@pytest.mark.usefixtures("route")
def test_odd_sizes_repeat_their_edge_texels():
    picture = photo(32)[:5, :6]
    padded = np.pad(picture, ((0, 3), (0, 2), (0, 0)), mode="edge")
    assert bc7.encode_bc7(picture) == bc7.encode_bc7(padded)


@pytest.mark.usefixtures("route")
def test_blocks_are_the_same_on_every_machine():
    data = bc7.encode_bc7(formula())
    assert hashlib.sha256(data).hexdigest()[:16] == "201038681654a352"


@needs_native
@pytest.mark.parametrize("name", PICTURES)
def test_native_and_reference_give_the_same_bytes(name):
    assert bc7.encode_bc7(PICTURES[name]) == pure(PICTURES[name])


@needs_native
@given(arrays.arrays(np.uint8, (4, 8, 4)), st.integers(1, 256), st.booleans())
@settings(max_examples=20, deadline=None)
def test_native_and_reference_agree_on_any_picture(texels, spread, is_opaque):
    picture = (texels.astype(int) % spread).astype(np.uint8)
    if is_opaque:
        picture[..., 3] = 255
    assert bc7.encode_bc7(picture) == pure(picture)


@pytest.mark.parametrize("subsets", [2, 3])
def test_anchors_belong_to_their_subsets(subsets):
    parts, anchors = bc7_partition.SUBSETS[subsets], bc7_partition.ANCHOR[subsets]
    for subset in range(subsets):
        assert (parts[np.arange(64), anchors[:, subset]] == subset).all()
