"""The shared rasteriser, its cameras, strips, waveforms and sheets."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from encoders.kit.error import EncodeError
from encoders.kit.view.camera import FILLED, SIDES, Camera, choose_camera, look
from encoders.kit.view.draw import BACKGROUND, draw_view, render_png, shrink
from encoders.kit.view.model_view import view_model
from encoders.kit.view.raster import NOTHING, find_visible, project
from encoders.kit.view.request import ViewRequest
from encoders.kit.view.scene import (
    ViewClip,
    ViewMaterial,
    ViewMesh,
    ViewPicture,
    ViewScene,
    ViewSheet,
    ViewSound,
)
from encoders.kit.view.soup import make_soup

RED, GREEN, BLUE, WHITE = (255, 0, 0, 255), (0, 255, 0, 255), (0, 0, 255, 255), (255,) * 4
CORNERS = np.array([[RED, GREEN], [BLUE, WHITE]], np.uint8)
SMALL = (40, 30)
SINE_OF_ISO = SIDES["iso"][1] / np.linalg.norm(SIDES["iso"])


def square(z=0.0, material=0, size=1.0) -> ViewMesh:
    """A square that faces +z; v = 0 is at its top."""
    position = np.array([(0, 0, z), (size, 0, z), (size, size, z), (0, size, z)], np.float32)
    uv = np.array([(0, 1), (1, 1), (1, 0), (0, 0)], np.float32)
    return ViewMesh(position, np.array([(0, 1, 2), (0, 2, 3)]), material, uv=uv)


def pixels_of(scene, **asked) -> np.ndarray:
    png = render_png(scene, ViewRequest(**{"size": SMALL, **asked}))
    return np.array(Image.open(io.BytesIO(png)))


def strongest(pixel) -> tuple[bool, ...]:
    """Which channels are lit, whatever the light."""
    return tuple(bool(channel > max(pixel) / 2) for channel in pixel[:3])


def random_scene(count: int, seed: int) -> ViewScene:
    chance = np.random.default_rng(seed)
    points = chance.uniform(-1, 1, (count * 3, 3))
    triangles = np.arange(count * 3).reshape(-1, 3)
    return ViewScene((ViewMesh(points, triangles),), (ViewMaterial(is_double_sided=True),))


def nearest_by_rays(points, camera: Camera, size) -> tuple[np.ndarray, np.ndarray]:
    """The nearest triangle for each pixel and its depth, by a ray for each pixel and triangle."""
    width, height = size
    found = np.full((height, width), NOTHING)
    depths = np.full((height, width), np.inf)
    right, up, back = camera.axes
    for y in range(height):
        for x in range(width):
            across = (x + 0.5 - width / 2) / height / camera.focal
            down = (y + 0.5 - height / 2) / height / camera.focal
            way = right * across - up * down - back
            for number, (a, b, c) in enumerate(points):
                columns = np.stack([b - a, c - a, -way], axis=1)
                if abs(np.linalg.det(columns)) < 1e-12:
                    continue
                u, v, depth = np.linalg.solve(columns, camera.eye - a)
                if u >= 0 and v >= 0 and u + v <= 1 and 1e-3 < depth < depths[y, x]:
                    found[y, x], depths[y, x] = number, depth
    return found, depths


@pytest.mark.parametrize("eye", [(0.2, 0.4, 3.0), (0.1, 0.05, 0.2)])
def test_rays_find_the_same_triangles_from_outside_and_from_amidst_them(eye):
    scene, size = random_scene(24, 3), (20, 14)
    soup = make_soup(scene)
    camera = Camera(np.array(eye), look(np.array(eye)))
    pieces = project(soup, scene.materials, camera, size)
    visible = find_visible(pieces, soup, scene.materials, size)
    owners = np.where(visible == NOTHING, NOTHING, pieces.owner[visible]).reshape(size[::-1])
    expected, _ = nearest_by_rays(soup.points, camera, size)
    assert (expected != NOTHING).sum() > 60
    assert (owners == expected).mean() > 0.99  # a ray may hit an edge


def test_texture_stands_upright_and_unmirrored():
    scene = ViewScene((square(),), (ViewMaterial(texture=CORNERS),))
    shown = pixels_of(scene, camera="front")
    assert strongest(shown[9, 13]) == (True, False, False)
    assert strongest(shown[9, 26]) == (False, True, False)
    assert strongest(shown[20, 13]) == (False, False, True)
    assert strongest(shown[20, 26]) == (True, True, True)


def test_texels_keep_their_places_in_perspective():
    # A floor of 64 rows of texels that runs away from the camera, halves of black and white.
    texture = np.zeros((64, 1, 4), np.uint8)
    texture[..., 3] = 255
    texture[:32] = 255
    floor = ViewMesh(
        np.array([(-9, 0, 0), (9, 0, 0), (9, 0, -30), (-9, 0, -30)], float),
        np.array([(0, 1, 2), (0, 2, 3)]),
        uv=np.array([(0, 1), (1, 1), (1, 0), (0, 0)], float),
    )
    scene = ViewScene((floor,), (ViewMaterial(texture=texture),))
    shown = pixels_of(scene, eye=(0, 2, 5), at=(0, 1, -30), size=(60, 120))
    column = shown[:, 30, :3].astype(int)
    drawn = np.flatnonzero((column != BACKGROUND).any(axis=1))
    black = np.flatnonzero(column.max(axis=1) == 0)
    # 15 units along the floor are 20 from the eye. Without perspective it would be the middle.
    camera = Camera(np.array([0.0, 2, 5]), look(np.array([0.0, 1, 35])))
    _, up, depth = camera.see(np.array([0.0, 0, -15]))
    assert abs(black.min() - (60 - 120 * camera.focal * up / depth)) <= 1
    assert black.min() - drawn.min() < (drawn.max() - drawn.min()) / 3


def test_the_nearer_square_hides_the_further_one_in_any_order():
    plain = (ViewMaterial(color=(1, 0, 0, 1)), ViewMaterial(color=(0, 1, 0, 1)))
    near, far = square(1.0, 0), square(0.0, 1)
    for meshes in ((near, far), (far, near)):
        assert strongest(pixels_of(ViewScene(meshes, plain), camera="front")[15, 20])[0]


def test_holes_show_what_is_behind_them_and_opaque_materials_have_none():
    texture = CORNERS.copy()
    texture[0, 0, 3] = 100
    behind = ViewMaterial(color=(0, 1, 0, 1))
    for cutoff, expected in ((0.5, (False, True, False)), (None, (True, False, False))):
        materials = (ViewMaterial(texture=texture, cutoff=cutoff), behind)
        scene = ViewScene((square(0.01), square(0.0, 1)), materials)
        shown = pixels_of(scene, camera="front")
        assert strongest(shown[9, 13]) == expected


def test_backs_are_drawn_for_double_sided_materials_only():
    for double, drawn in ((True, True), (False, False)):
        scene = ViewScene((square(),), (ViewMaterial(is_double_sided=double),))
        shown = pixels_of(scene, camera="back")
        assert (shown != BACKGROUND).any() == drawn


@pytest.mark.parametrize("camera", [None, *SIDES])
@pytest.mark.parametrize("stretch", [(1, 1, 1), (6, 1, 2), (0.3, 5, 1)])
def test_every_camera_has_the_whole_scene_in_view(camera, stretch):
    scene = random_scene(60, 5)
    mesh = scene.meshes[0]
    moved = ViewMesh(mesh.position * stretch + (100, -50, 7), mesh.triangles)
    shown = pixels_of(ViewScene((moved,), scene.materials), camera=camera, size=(80, 60))
    drawn = (shown != BACKGROUND).any(axis=2)
    edge = np.concatenate([drawn[0], drawn[-1], drawn[:, 0], drawn[:, -1]])
    assert not edge.any()
    rows, columns = np.nonzero(drawn)
    assert max(np.ptp(rows) / 60, np.ptp(columns) / 80) > 0.5


@pytest.mark.parametrize("focal", [0.5, 1.5])
@pytest.mark.parametrize("flat", [(1, 0.1, 1), (1, 1, 1), (0.2, 3, 0.1)])
def test_a_fitted_scene_fills_the_picture_and_stands_in_its_middle(focal, flat):
    corners = np.random.default_rng(7).uniform(-1, 1, (50, 3, 3)) * flat + (30, -5, 2)
    # A wide lens is turned, and reaches the middle only nearly.
    slack = 0.01 if focal > 1 else 0.03
    for name in SIDES:
        camera = choose_camera(ViewRequest(camera=name), corners, (320, 240), focal)
        right, up, depth = camera.see(corners.reshape(-1, 3)).T
        shown = np.array([right / depth * focal / (320 / 240), up / depth * focal])
        assert np.abs(shown).max() == pytest.approx(FILLED / 2, rel=1e-3)
        assert np.abs(shown.min(axis=1) + shown.max(axis=1)).max() < slack


def test_a_wide_lens_looks_down_on_a_plain_instead_of_along_it():
    plain = square(size=9.0).position[:, [0, 2, 1]][np.array([(0, 2, 1), (0, 3, 2)])]
    camera = choose_camera(ViewRequest(), plain, (320, 240), focal=0.5)
    # The sine of the angle at which the middle of the plain is seen.
    toward = camera.eye - plain.mean(axis=(0, 1))
    assert toward[1] / np.linalg.norm(toward) == pytest.approx(SINE_OF_ISO, abs=0.06)


@pytest.mark.parametrize("end", [(0, 0, 0), (0, 0, 5), (3, 0, 0)])
def test_a_point_and_a_line_along_the_view_have_a_camera_before_them(end):
    corners = np.linspace((1, 2, 3), np.array((1, 2, 3)) + end, 3)[None]
    for name in SIDES:
        camera = choose_camera(ViewRequest(camera=name), corners, SMALL)
        assert (camera.see(corners)[..., 2] > 0).all()


def test_the_default_camera_goes_where_fronts_are_seen():
    turned = square()
    away = ViewMesh(turned.position, turned.triangles[:, ::-1])
    for mesh in (turned, away):
        assert (pixels_of(ViewScene((mesh,))) != BACKGROUND).any()


def test_a_low_closed_thing_is_seen_from_above_and_a_ceiling_from_below():
    corners = [(-2, 0, -2), (2, 0, -2), (2, 0, 2), (-2, 0, 2), (0, 0.1, 0)]
    faces = [(0, 4, 1), (1, 4, 2), (2, 4, 3), (3, 4, 0), (0, 1, 2), (0, 2, 3)]
    pyramid = np.array(corners, float)[np.array(faces)]
    assert choose_camera(ViewRequest(), pyramid, SMALL).eye[1] > 1
    ceiling = pyramid[4:]
    assert choose_camera(ViewRequest(), ceiling, SMALL).eye[1] < -1


@pytest.mark.parametrize("scale", [1e-30, 1e-7, 1e30])
def test_a_scene_of_any_size_fills_the_picture(scale):
    usual = pixels_of(ViewScene((square(),)))
    scaled = pixels_of(ViewScene((square(size=scale),)))
    assert np.count_nonzero(usual != scaled) < usual.size / 50


def test_a_source_shows_the_colours_of_its_vertices():
    text = "v 0 0 0 1 0 0\nv 1 0 0 1 0 0\nv 0 1 0 1 0 0\nf 1 2 3\n"
    view = view_model({"a.obj": text.encode()}, "a.obj")
    assert strongest(pixels_of(view, camera="front")[18, 18]) == (True, False, False)


def test_sides_are_named_after_where_the_camera_stands():
    soup = make_soup(ViewScene((square(),)))
    for name, way in SIDES.items():
        camera = choose_camera(ViewRequest(camera=name), soup.points, SMALL)
        toward = camera.eye - np.array([0.5, 0.5, 0])
        assert toward @ np.array(way) > 0.5 * np.linalg.norm(toward)


def test_an_eye_on_its_aim_and_an_empty_scene_are_refused():
    with pytest.raises(EncodeError, match="one point"):
        pixels_of(ViewScene((square(),)), eye=(1, 1, 1), at=(1, 1, 1))
    empty = ViewMesh(np.zeros((3, 3)), np.zeros((0, 3), int))
    with pytest.raises(EncodeError, match="nothing to draw"):
        pixels_of(ViewScene((empty,)))
    with pytest.raises(EncodeError, match="no such camera"):
        pixels_of(ViewScene((square(),)), camera="start")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("far", [1e-200, 1e200, 1e300])
def test_an_eye_may_be_as_near_and_as_far_as_numbers_go(far):
    drawn = pixels_of(ViewScene((square(),)), eye=(far, far, far), at=(0, 0, 0))
    assert drawn.shape[:2] == SMALL[::-1]


def test_numbers_that_are_no_places_are_left_out():
    points = np.array([*square().position, (np.nan, 0, 0), (np.inf, 1, 1)])
    triangles = np.array([(0, 1, 2), (0, 1, 4), (1, 2, 5)])
    assert (pixels_of(ViewScene((ViewMesh(points, triangles),))) != BACKGROUND).any()


def moving_square(frames: int = 4) -> ViewScene:
    """A square on one bone that moves to the right by 3 in each frame."""
    mesh = square()
    weights = np.zeros((4, 4))
    weights[:, 0] = 1
    skinned = ViewMesh(
        mesh.position, mesh.triangles, joints=np.zeros((4, 4), np.uint8), weights=weights
    )
    translation = np.zeros((frames, 1, 3))
    translation[:, 0, 0] = np.arange(frames) * 3
    rotation = np.tile([0.0, 0, 0, 1], (frames, 1, 1))
    clip = ViewClip("move", translation, rotation, np.ones((frames, 1, 3)))
    return ViewScene((skinned,), inverse_binds=np.eye(4)[None], clip=clip)


def test_a_clip_is_a_strip_of_its_frames_through_one_camera():
    shown = pixels_of(moving_square(), camera="front", size=(160, 40))
    drawn = (shown != BACKGROUND).any(axis=(0, 2))
    middles = [np.flatnonzero(drawn[at : at + 40]).mean() for at in range(0, 160, 40)]
    assert np.all(np.diff(middles) > 5)


def test_a_frame_is_drawn_alone_and_others_are_refused():
    first = pixels_of(moving_square(), frame=0, eye=(0, 0, 20), at=(0, 0, 0))
    last = pixels_of(moving_square(), frame=1, eye=(0, 0, 20), at=(0, 0, 0))
    assert not np.array_equal(first, last)
    with pytest.raises(EncodeError, match="no such frame"):
        pixels_of(moving_square(), frame=4)
    with pytest.raises(EncodeError, match="no frames"):
        pixels_of(ViewPicture(CORNERS), frame=0)


def test_a_picture_is_kept_enlarged_by_whole_texels_or_reduced():
    assert np.array_equal(draw_view(ViewPicture(CORNERS), ViewRequest()), CORNERS)
    large = draw_view(ViewPicture(CORNERS), ViewRequest(size=(7, 9)))
    assert large.shape == (6, 6, 4)
    assert (large[:3, :3] == RED).all()
    assert (large[3:, 3:] == WHITE).all()
    wide = np.repeat(np.repeat(CORNERS, 8, axis=0), 8, axis=1)
    assert np.array_equal(draw_view(ViewPicture(wide), ViewRequest(size=(2, 2))), CORNERS)


def test_a_wave_is_high_where_the_sound_is_loud():
    samples = np.zeros(1000, np.int16)
    samples[500:] = np.tile([30000, -30000], 250)
    shown = draw_view(ViewSound(samples, 22050), ViewRequest(size=(100, 64)))
    is_wave = (shown[..., :3] == (110, 200, 160)).all(axis=2)
    assert is_wave[:, :49].sum(axis=0).max() == 1
    assert is_wave[:, 52:].sum(axis=0).min() > 55
    assert draw_view(ViewSound(samples[:3], 1), ViewRequest(size=(10, 8))).shape == (8, 10, 4)


def test_a_sheet_shows_its_cells_and_survives_one_that_cannot_be_drawn():
    empty = ViewScene((ViewMesh(np.zeros((3, 3)), np.zeros((0, 3), int)),))
    sheet = ViewSheet((("red", ViewPicture(CORNERS[:1, :1])), ("none", None), ("empty", empty)))
    shown = np.array(Image.open(io.BytesIO(render_png(sheet))))
    # A cell is 160 x 140 below its title, and the picture fills it by whole texels.
    assert shown[90, 86].tolist() == [255, 0, 0]
    assert shown[90, 252].tolist() == list(BACKGROUND)


def test_shrinking_mixes_colours_of_drawn_pixels_only():
    fine = np.zeros((2, 4, 4), np.uint8)
    fine[0, 0] = (200, 100, 0, 255)
    fine[:, 2:] = (10, 20, 30, 255)
    assert shrink(fine).tolist() == [[[200, 100, 0, 63], [10, 20, 30, 255]]]


def test_pictures_are_compressed():
    assert len(render_png(ViewPicture(np.full((256, 256, 4), 77, np.uint8)))) < 4000
