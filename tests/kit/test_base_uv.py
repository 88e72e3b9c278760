"""UVs of base colour textures: sets and transforms applied, and moved by whole tiles."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np
import pytest

from encoders.kit.mesh.base_uv import base_uv, move_by_tiles
from encoders.kit.mesh.mesh import Attribute, Mesh
from encoders.kit.source.material import Material, Sampler, Texture
from tests.fuzz.memory_build import build
from tests.kit.glb_builder import quad

SIDE = np.array([(0, 0), (1, 0), (1, 1), (0, 1)], np.float32)
SQUARE = np.array([(0, 1, 2), (0, 2, 3)], np.int32)


def textured(**texture) -> Material:
    return Material(textures=MappingProxyType({"base_color": Texture(**texture)}))


def mesh(uv, corner, material=None, *sets, materials=None) -> Mesh:
    corner = np.asarray(corner, np.int32)
    flat = np.zeros(len(corner), np.int32)
    position = Attribute(np.zeros((3, 3), np.float32), np.zeros_like(corner))
    first = Attribute(np.asarray(uv, np.float32), corner)
    others = tuple(Attribute(np.asarray(one, np.float32), corner) for one in sets)
    numbers = flat if material is None else np.array(material, np.int32)
    return Mesh(
        position, flat, numbers, flat, materials=materials or (textured(),), uv=(first, *others)
    )


def moved(one: Mesh, low=0, high=1) -> np.ndarray:
    found = move_by_tiles(one.uv[0], one, low, high)
    return found.values[found.corner]


def test_uvs_inside_are_the_same_object():
    one = mesh(SIDE, SQUARE)
    assert base_uv(one) is one.uv[0]
    assert move_by_tiles(one.uv[0], one, 0, 1) is one.uv[0]


def test_sides_of_a_box_that_lie_in_other_tiles_come_back():
    far = np.concatenate((SIDE, np.add(SIDE, [5, 0]), np.add(SIDE, [-3, 100])))
    corner = np.concatenate((SQUARE, SQUARE + 4, SQUARE + 8))
    np.testing.assert_array_equal(moved(mesh(far, corner)), np.tile(SIDE[SQUARE], (3, 1, 1)))


def test_rounded_borders_are_borders():
    rough = SIDE + np.float32(2) + np.array([(-1e-5, 0), (1e-5, 0), (0, 1e-5), (0, 0)], np.float32)
    np.testing.assert_allclose(moved(mesh(rough, SQUARE)), SIDE[SQUARE], atol=2e-5)
    assert moved(mesh(rough, SQUARE)).min() >= 0


def test_island_that_fits_stays_connected():
    strip = np.array([(9.2, 0), (9.6, 0), (9.4, 1), (10.1, 0)], np.float32)
    corner = [(0, 1, 2), (1, 3, 2)]
    found = move_by_tiles(mesh(strip, corner).uv[0], mesh(strip, corner), -4, 4)
    assert len(found.values) == 4
    np.testing.assert_allclose(found.values, strip - (9, 0), atol=1e-5)


def test_triangles_of_an_island_that_is_too_large_are_moved_alone():
    wide = np.array([(0, 0), (1, 0), (0, 1), (2, 0), (2, 1)], np.float32)
    found = moved(mesh(wide, [(0, 1, 2), (1, 3, 4)]))
    np.testing.assert_array_equal(found[0], wide[[0, 1, 2]])
    np.testing.assert_array_equal(found[1], wide[[1, 3, 4]] - (1, 0))


def test_triangle_that_crosses_a_border_stays():
    across = np.array([(0.5, 0), (1.5, 0), (0.5, 1)], np.float32)
    np.testing.assert_array_equal(moved(mesh(across, [(0, 1, 2)]))[0], across)


@pytest.mark.parametrize(
    "material",
    [
        textured(sampler=Sampler(wrap_u="mirror")),
        textured(sampler=Sampler(wrap_u="clamp")),
        Material(),
    ],
    ids=["mirror", "clamp", "no texture"],
)
def test_tile_that_would_look_different_is_not_moved(material):
    far = np.add(SIDE, [3, 0])
    np.testing.assert_array_equal(moved(mesh(far, SQUARE, materials=(material,))), far[SQUARE])


def test_mirrored_texture_is_moved_by_two_tiles():
    one = mesh(
        np.add(SIDE, [4, 0]), SQUARE, materials=(textured(sampler=Sampler(wrap_u="mirror")),)
    )
    np.testing.assert_array_equal(moved(one), SIDE[SQUARE])


def test_each_material_has_its_own_set_and_transform():
    other = SIDE * np.float32(0.5)
    materials = (textured(uv_set=1), textured(scale=(2, 2), offset=(0.5, 0)))
    found = base_uv(mesh(SIDE, SQUARE, [0, 1], other, materials=materials))
    np.testing.assert_array_equal(found.values[found.corner[0]], other[SQUARE[0]])
    np.testing.assert_array_equal(found.values[found.corner[1]], SIDE[SQUARE[1]] * 2 + (0.5, 0))


def test_set_that_is_not_there_leaves_corners_without_a_uv():
    found = base_uv(mesh(SIDE, SQUARE, materials=(textured(uv_set=3),)))
    assert (found.corner == -1).all()


ASSET = '[[asset]]\nsource = "assets/*"\n'
MANIFESTS = {
    "emberware": f'[game]\nid = "g"\ntitle = "t"\nauthor = "a"\nversion = "1"\n{ASSET}',
    "rp2350": ASSET,
}


def model(uv, **info) -> bytes:
    builder = quad()
    primitive = builder.json["meshes"][0]["primitives"][0]
    primitive["attributes"] |= {"TEXCOORD_0": builder.accessor(uv)}
    primitive["material"] = 0
    builder.json["images"] = [{"uri": "a.png"}]
    builder.json["textures"] = [{"source": 0}]
    texture = {"index": 0, **info}
    builder.json["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": texture}}]
    return builder.glb()


@pytest.mark.parametrize("target", sorted(MANIFESTS))
@pytest.mark.parametrize(
    ("tiles", "extensions"),
    [(64, {}), (0, {"KHR_texture_transform": {"offset": [16, -7]}})],
    ids=["far away", "moved by the texture"],
)
def test_uvs_far_away_give_the_file_of_those_in_the_first_tile(target, tiles, extensions):
    near = np.array([(0.25, 0.75), (0.75, 0.75), (0.25, 0.25), (0.75, 0.25)], np.float32)
    plain = build(target, {"assets/a.glb": model(near)}, MANIFESTS[target])
    far = model(near + np.float32(tiles), extensions=extensions)
    found = build(target, {"assets/a.glb": far}, MANIFESTS[target])
    assert not found.errors
    # Vertices may be in another order where tiles were moved, but they are the same.
    assert {name: sorted(data) for name, data in found.files.items()} == {
        name: sorted(data) for name, data in plain.files.items()
    }
