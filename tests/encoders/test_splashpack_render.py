"""The console's rules: rounding, sorting, what is drawn and what is dropped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from encoders.kit.view.request import ViewRequest
from encoders.splashpack.format import COLORS, Splashpack
from encoders.splashpack.reader import unpack_splashpack
from encoders.splashpack.render import (
    BACKGROUND,
    ScreenTriangle,
    draw,
    find_visible,
    paint,
    project,
    render_scene,
    sort_depths,
)
from encoders.splashpack.view import place_vertices
from encoders.splashpack.vram.image import build_vram
from tests.encoders import splashpack_gpu
from tests.encoders.splashpack_minimum import minimum_bytes


def painted(uv, color=((128,) * 3,) * 3, page=None) -> np.ndarray:
    """A right triangle of 100 pixels, whose page has the number of each column as its red."""
    page = np.tile(np.arange(256, dtype=np.uint16) % 31 + 1, (256, 1)) if page is None else page
    pixels = np.zeros((240, 320, 3), np.uint8)
    screen = np.array([(0, 0), (100, 0), (0, 100)])
    paint(pixels, ScreenTriangle(screen, np.array(uv), np.array(color), page))
    return pixels


def test_texels_are_rounded_to_the_nearest():
    # 10 texels in 100 pixels: from pixel 5 on the nearest is texel 1, from 15 on texel 2.
    reds = painted([(0, 0), (10, 0), (0, 0)])[0, :, 0]
    for pixel in (0, 4, 5, 14, 15, 94):
        level = int(pixel / 10 + 0.5) + 1
        assert reds[pixel] == (level << 3 | level >> 2), pixel


def test_tints_are_rounded_to_the_nearest():
    white = np.full((256, 256), 0x7FFF, np.uint16)
    colors = [(0, 0, 0), (128, 0, 0), (0, 0, 0)]
    reds = painted([(0, 0)] * 3, colors, white)[0, :, 0]
    # At pixel 84 the tint is 107.52. Rounded it is 108 and gives level 26; cut off it would be 25.
    assert reds[84] == (26 << 3 | 26 >> 2)


def test_triangles_are_sorted_by_the_last_corner_before_and_two_of_their_own():
    depth = np.array([(10, 20, 900), (30, 5, 6), (1, 2, 3)])
    # The first comes behind the last one of the frame before, whose last depth is 3.
    assert sort_depths(depth).tolist() == [20, 900, 6]


def test_a_corner_behind_the_camera_does_not_hide_a_triangle():
    view = np.array([[(-50, 50, -20), (-50, -100, 200), (100, 50, 200)]])
    screen, depth = project(view)
    assert depth.tolist() == [[0, 200, 200]]
    assert find_visible(screen, depth).tolist() == [True]


def test_triangles_that_are_too_far_are_dropped_unless_all_has_to_be_in_view():
    view = np.array([[(-900, -900, 6144), (900, -900, 6144), (-900, 900, 6144)]])
    screen, depth = project(view)
    assert not find_visible(screen, depth).any()
    assert find_visible(screen, depth, far=None).all()
    assert find_visible(*project(view - (0, 0, 1))).all()


def test_the_screen_is_cleared_to_the_colour_of_the_runtime():
    pack = unpack_splashpack(minimum_bytes(), "a")
    away = place_vertices(pack) - np.array([0, 0, 30000])
    assert (draw(pack, away)[0, 0] == (63, 63, 100)).all()
    assert BACKGROUND == (63, 63, 100)


def test_the_start_camera_and_an_eye_at_the_origin_see_the_same():
    pack = unpack_splashpack(minimum_bytes(), "a")
    start = render_scene(pack, ViewRequest(camera="start"))
    placed = render_scene(pack, ViewRequest(eye=(0.0, 0.0, 0.0), at=(0.0, 0.0, 1.0)))
    assert (start != BACKGROUND).any()
    assert np.array_equal(start, placed)


def test_a_larger_picture_has_whole_pixels_of_the_console():
    pack = unpack_splashpack(minimum_bytes(), "a")
    small = render_scene(pack, ViewRequest())
    large = render_scene(pack, ViewRequest(size=(700, 500)))
    assert large.shape == (480, 640, 3)
    assert np.array_equal(large[::2, ::2], small)


def repeated(count: int, seed: int) -> Splashpack:
    """Many triangles with random texels and tints, over the texture of the smallest file."""
    pack, chance = unpack_splashpack(minimum_bytes(), "a"), np.random.default_rng(seed)
    columns = {key: np.repeat(one[:1], count, axis=0) for key, one in pack.triangles.items()}
    columns["uv"] = chance.integers(0, 8, (count, 3, 2))
    columns |= {key: chance.integers(0, 256, (count, 3)) for key in COLORS}
    return replace(pack, triangles=columns)


@pytest.mark.parametrize("seed", range(3))
def test_a_second_renderer_by_the_rules_of_the_console_draws_the_same(seed):
    count, chance = 60, np.random.default_rng(seed)
    middle = chance.integers(-1500, 1500, (count, 1, 3)) + np.array([0, 0, 1400])
    view = middle + chance.integers(-300, 300, (count, 3, 3))
    # Some at the limits: behind, beyond the far plane, outside of 16 bits, of one depth.
    view[0, 0], view[1, 1], view[2, 2] = (0, 0, -500), (9, 9, 6144), (40000, -40000, 700)
    view[3:9, :, 2] = 900
    pack = repeated(count, seed)
    expected = splashpack_gpu.draw(pack.triangles, build_vram(pack), view)
    found = draw(pack, view)
    assert (found == np.array(expected)).all()
    assert (found != BACKGROUND).any(axis=2).mean() > 0.02


def test_places_beyond_16_bits_are_cut_off_before_they_are_projected():
    screen, _ = project(np.array([[(40000, -40000, 6000), (0, 0, 6000), (9, 9, 6000)]]))
    assert screen[0, 0].tolist() == [32767 * 120 // 6000 + 160, -32768 * 120 // 6000 + 120]
