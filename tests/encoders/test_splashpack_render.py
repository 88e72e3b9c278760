"""The console's rules: rounding, sorting, what is drawn and what is dropped."""

from __future__ import annotations

import numpy as np

from encoders.kit.view.request import ViewRequest
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
