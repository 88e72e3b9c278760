"""Options that change meshes and pictures on import: what they ask for is what comes out."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from encoders.kit.error import EncodeError
from encoders.kit.image.import_image import import_image, imported_size
from encoders.kit.image.import_option import IMAGE_IMPORT
from encoders.kit.image.lanczos import resize_lanczos
from encoders.kit.image.srgb import LINEAR_WHITE, from_linear, to_linear
from encoders.kit.mesh.import_mesh import flip_v, import_mesh
from encoders.kit.mesh.import_option import MESH_IMPORT
from encoders.kit.mesh.mesh import Attribute, Mesh
from encoders.kit.option import chosen


def sheet(side: int, is_split: bool = False, **parts) -> Mesh:
    """A square of side x side cells in the plane y = 0, facing up, u along x and v along -z."""
    at = np.arange(side + 1, dtype=np.float32)
    z, x = (one.reshape(-1) for one in np.meshgrid(at, at, indexing="ij"))
    position = np.stack((x, np.zeros_like(x), -z), axis=1)
    cell = (np.arange(side)[:, None] * (side + 1) + np.arange(side)).reshape(-1)
    right, up = cell + 1, cell + side + 1
    corner = np.stack((cell, right, up, up, right, up + 1), axis=1).reshape(-1, 3)
    corner = corner.astype(np.int32)
    if is_split:  # every triangle has vertices of its own
        position = position[corner.reshape(-1)]
        corner = np.arange(corner.size, dtype=np.int32).reshape(-1, 3)
    uv = position[:, [0, 2]] * np.array((1, -1), np.float32) / np.float32(side)
    count = len(corner)
    flat = np.zeros(count, np.int32)
    normal = np.tile(np.array((0, 1, 0), np.float32), (len(position), 1))
    return Mesh(
        Attribute(position, corner),
        flat,
        parts.pop("material", flat),
        flat + 1,
        normal=Attribute(normal, corner),
        uv=(Attribute(uv, corner),),
        **parts,
    )


def imported(mesh: Mesh, **params) -> Mesh:
    warnings: list[str] = []
    found = import_mesh(mesh, params, "a.obj", warnings.append)
    assert not warnings
    return found


def corners(attribute: Attribute) -> np.ndarray:
    return attribute.values[attribute.corner]


def test_only_options_that_are_set_become_params() -> None:
    unset = {key: option.default for key, option in MESH_IMPORT.items()}
    assert chosen(unset, MESH_IMPORT) == {}
    assert chosen(unset | {"up": "z"}, MESH_IMPORT) == {"up": "z"}
    for option in (*MESH_IMPORT.values(), *IMAGE_IMPORT.values()):
        assert option.default is None or option.rule.allows(option.default)


def test_without_params_a_mesh_and_a_picture_stay_the_same_objects() -> None:
    mesh, picture = sheet(1), np.zeros((3, 5, 4), np.uint8)
    assert imported(mesh) is mesh
    assert import_image(picture, {}) is picture


def test_z_up_becomes_y_up_without_a_mirror() -> None:
    mesh = imported(sheet(2), up="z")
    # What pointed along y, such as the normals, points along -z.
    assert (mesh.normal.values == (0, 0, -1)).all()
    a, b, c = corners(mesh.position)[0]
    assert np.cross(b - a, c - a) @ (0, 0, -1) > 0


@pytest.mark.parametrize(
    ("pivot", "low", "high"),
    [("center", (-2, 0, -2), (2, 0, 2)), ([1, 2, 3], (-1, -2, -7), (3, -2, -3))],
)
def test_the_pivot_becomes_the_origin(pivot, low, high) -> None:
    points = imported(sheet(4), pivot=pivot).position.values
    assert tuple(points.min(axis=0)) == low
    assert tuple(points.max(axis=0)) == high


def test_the_bottom_of_a_mesh_stands_on_the_ground() -> None:
    upright = imported(sheet(4), up="z")
    points = imported(upright, pivot="bottom").position.values
    assert points[:, 1].min() == 0
    assert points[:, 0].min() == -points[:, 0].max()


def test_unused_vertices_do_not_move_the_pivot() -> None:
    mesh = sheet(4)
    values = np.concatenate((mesh.position.values, [[99, 99, 99]])).astype(np.float32)
    lonely = Mesh(Attribute(values, mesh.position.corner), mesh.part, mesh.material, mesh.smoothing)
    used = corners(imported(lonely, pivot="center").position).reshape(-1, 3)
    assert tuple(used.max(axis=0)) == (2, 0, 2)


def test_a_skinned_mesh_is_not_moved_away_from_its_joints() -> None:
    mesh = sheet(1)
    joints = Attribute(np.zeros((4, 4), np.uint16), mesh.position.corner)
    with pytest.raises(EncodeError, match="skinned"):
        imported(sheet(1, joints=joints), pivot="center")


def test_v_is_turned_over_in_every_set() -> None:
    mesh = flip_v(sheet(1))
    assert np.array_equal(mesh.uv[0].values[:, 1], 1 - sheet(1).uv[0].values[:, 1])


@pytest.mark.parametrize("is_split", [False, True])
def test_a_flat_sheet_comes_down_to_the_triangles_asked_for(is_split) -> None:
    mesh = imported(sheet(8, is_split), triangles=10)
    assert 2 <= mesh.triangle_count <= 10
    points, uv = corners(mesh.position), corners(mesh.uv[0])
    area = np.linalg.norm(
        np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0]), axis=1
    )
    assert area.sum() / 2 == pytest.approx(64)
    # The texture lies on the sheet as before.
    assert np.allclose(uv, points[..., [0, 2]] * (1, -1) / 8, atol=1e-6)
    assert (corners(mesh.normal) == (0, 1, 0)).all()


def test_a_share_of_the_triangles_is_kept() -> None:
    assert imported(sheet(8), simplify=0.25).triangle_count <= 32
    assert imported(sheet(8), simplify=1.0).triangle_count == 128


def test_a_border_between_materials_stays_where_it_was() -> None:
    material = (np.arange(128) // 64).astype(np.int32)
    mesh = imported(sheet(8, material=material), triangles=12)
    depth = corners(mesh.position)[..., 2]
    assert mesh.triangle_count <= 12
    assert (depth[mesh.material == 0] >= -4).all()
    assert (depth[mesh.material == 1] <= -4).all()


def hard_box(side: int) -> Mesh:
    """A cube of six sheets, each with normals, and an own sixth of the texture along u."""
    one = sheet(side)
    flat = np.eye(3, dtype=np.float32)
    turns = [np.roll(flat, k, axis=0) * sign for k in range(3) for sign in (1, -1)]
    points, normals, uvs, rows = [], [], [], []
    middle = one.position.values - np.array((side / 2, -side / 2, -side / 2), np.float32)
    for number, turn in enumerate(turns):
        is_mirror = np.linalg.det(turn) < 0
        points.append(middle @ turn.T)
        normals.append(one.normal.values @ turn.T)
        uvs.append((one.uv[0].values * 0.9 + (number, 0)) / (6, 1))
        face = one.position.corner[:, [0, 2, 1]] if is_mirror else one.position.corner
        rows.append(face + number * len(middle))
    corner = np.concatenate(rows).astype(np.int32)
    flags = np.zeros(len(corner), np.int32)

    def joined(values) -> Attribute:
        return Attribute(np.concatenate(values).astype(np.float32), corner)

    return Mesh(joined(points), flags, flags, flags, normal=joined(normals), uv=(joined(uvs),))


def test_a_hard_edged_box_comes_down_to_its_twelve_triangles() -> None:
    mesh = imported(hard_box(4), triangles=12)
    assert mesh.triangle_count == 12
    assert np.abs(corners(mesh.position)).max() == 2
    assert len(np.unique(corners(mesh.position).reshape(-1, 3), axis=0)) == 8


def test_a_shape_below_its_hard_edges_keeps_textures_inside_their_islands() -> None:
    mesh = imported(hard_box(4), triangles=6)
    assert mesh.triangle_count <= 6
    u = corners(mesh.uv[0])[..., 0] * 6
    assert (np.floor(u.max(axis=1) - 1e-4) <= np.floor(u.min(axis=1) + 1e-4)).all()
    assert np.allclose(np.linalg.norm(corners(mesh.normal), axis=2), 1, atol=1e-5)


def test_vertices_keep_the_joints_of_their_place() -> None:
    plain = sheet(8)
    joints = np.zeros((81, 4), np.uint16)
    joints[:, 0] = plain.position.values[:, 0]
    weights = np.tile(np.array((1, 0, 0, 0), np.float32), (81, 1))
    skin = {"joints": joints, "weights": weights}
    mesh = imported(
        sheet(8, **{key: Attribute(one, plain.position.corner) for key, one in skin.items()}),
        simplify=0.3,
    )
    assert np.array_equal(corners(mesh.joints)[..., 0], corners(mesh.position)[..., 0])
    assert (corners(mesh.weights)[..., 0] == 1).all()


def test_two_ways_to_ask_for_triangles_are_refused() -> None:
    with pytest.raises(EncodeError, match="both"):
        imported(sheet(2), triangles=2, simplify=0.5)


def test_a_shape_that_cannot_be_reduced_is_told() -> None:
    warnings: list[str] = []
    box = import_mesh(hard_box(1), {"triangles": 1}, "a.obj", warnings.append)
    assert box.triangle_count > 1
    assert "1 triangles were asked for" in warnings[0]


@pytest.mark.parametrize(
    ("size", "params", "expected"),
    [
        ((300, 200), {}, (300, 200)),
        ((300, 200), {"max_size": 150}, (150, 100)),
        ((300, 200), {"max_size": 300}, (300, 200)),
        ((1000, 1), {"max_size": 10}, (10, 1)),
        ((300, 200), {"scale_to": "power_of_two"}, (256, 256)),
        ((300, 180), {"scale_to": "power_of_two"}, (256, 128)),
        ((363, 362), {"scale_to": "power_of_two"}, (512, 256)),
        ((300, 200), {"max_size": 200, "scale_to": "power_of_two"}, (128, 128)),
        ((64, 1), {"scale_to": "power_of_two", "max_size": 64}, (64, 1)),
    ],
)
def test_sizes_follow_the_options(size, params, expected) -> None:
    assert imported_size(*size, params) == expected


def test_a_scaled_picture_is_pillows_lanczos_in_linear_light() -> None:
    noise = np.random.default_rng(7).integers(0, 256, (37, 53, 4)).astype(np.uint8)
    noise[..., 3] = 255
    found = resize_lanczos(noise, 20, 11)
    for channel in range(3):
        light = to_linear(noise[..., channel]).astype(np.float32)
        scaled = np.asarray(Image.fromarray(light).resize((20, 11), Image.Resampling.LANCZOS))
        codes = from_linear(np.clip(np.rint(scaled), 0, LINEAR_WHITE).astype(np.int64))
        # In the dark a code is some 20 of 65535; weights are whole parts of 16384.
        light_found = to_linear(found[..., channel]).astype(int)
        assert np.abs(light_found - to_linear(codes).astype(int)).max() < 800
        assert np.abs(found[..., channel].astype(int) - codes).mean() < 0.1


def test_a_flat_colour_stays_and_invisible_colours_do_not_bleed() -> None:
    picture = np.full((16, 16, 4), (200, 30, 90, 255), np.uint8)
    assert (resize_lanczos(picture, 5, 7) == picture[:7, :5]).all()
    picture = np.concatenate((picture, np.full((16, 48, 4), (0, 255, 0, 0), np.uint8)), axis=1)
    found = resize_lanczos(picture, 20, 5)
    visible = found[found[..., 3] > 0][:, :3].astype(int)
    assert np.abs(visible - (200, 30, 90)).max() <= 1
    assert tuple(found[0, -1]) == (0, 255, 0, 0)
