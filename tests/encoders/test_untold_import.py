"""Options on import: axes, origin, fewer triangles, sizes of textures, sides of triangles."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from encoders.kit.error import EncodeError
from tests.encoders.untold_reader import area, corners_of
from tests.encoders.untold_scene import Scene, build, cube_arrays, grid_arrays, houses, png

GLB = "assets/city.glb"
PLAIN = {"lods": [], "hlod": 0}
LEVELS = ("", "_lod1", "_lod2", "_hlod")


def test_z_of_the_source_becomes_up_in_tiles_and_vertices():
    scene = Scene()
    scene.shape("cube", cube_arrays())
    scene.put("tower", "cube", translation=[5, 30, 4], scale=[2, 2, 8])
    (found,) = build({GLB: scene.glb()}, up="z", **PLAIN).tiles().items()
    assert found[0] == "tile_0_0_1"
    assert found[1]["bounds"] == ((4, 0, -31), (6, 8, -29))


@pytest.mark.parametrize(
    ("pivot", "low"),
    [("center", (-11, -2, -3)), ("bottom", (-11, 0, -3)), ([1000, 1, -2000], (0, -1, -2))],
)
def test_pivot_is_one_point_for_all_sources_of_a_scene(pivot, low):
    files = {
        "assets/a.glb": houses([(1002, -2000)], 4.0).glb(),
        "assets/b.glb": houses([(1020, -1998)], 4.0).glb(),
    }
    built = build(files, pivot=pivot, **PLAIN)
    points = np.concatenate([corners_of(one).reshape(-1, 3) for one in built.tiles().values()])
    assert tuple(points.min(axis=0)) == low
    assert tuple(np.ptp(points, axis=0)) == (22, 4, 6)


def test_pivot_brings_far_sources_back_although_their_positions_are_coarse_there():
    # A float32 has steps of 0.5 m so far out.
    scene = houses([(4_999_998.35, -5)], 4.0)
    (found,) = build({GLB: scene.glb()}, pivot=[5_000_000.4, 0, 0], **PLAIN).tiles().items()
    assert found[0] == "tile_-1_0_0"
    # It reaches out of its tile by what the source was rounded.
    assert found[1]["bounds"][1][0] == pytest.approx(0.1, abs=1e-3)


def test_pivot_of_a_scene_without_bounds_is_refused():
    scene = houses([(5, -5)])
    for accessor in scene.json["accessors"]:
        accessor.pop("min", None)
    with pytest.raises(EncodeError, match="bounds of the scene are not known") as caught:
        build({GLB: scene.glb()}, pivot="center")
    assert caught.value.facts == {"scene": "city", "pivot": "center"}
    assert build({GLB: scene.glb()}, pivot=[1, 2, 3], **PLAIN).manifest["shared_bucket"]


def skinned() -> bytes:
    scene = houses([(5, -5)])
    attributes = scene.json["meshes"][0]["primitives"][0]["attributes"]
    attributes["JOINTS_0"] = scene.accessor(np.zeros((24, 4)), "u1")
    attributes["WEIGHTS_0"] = scene.accessor(np.tile([1.0, 0, 0, 0], (24, 1)))
    joint = scene.add("nodes", name="joint", translation=[0, 0, 7])
    scene.json["scenes"][0]["nodes"].append(joint)
    scene.json["nodes"][0]["skin"] = scene.add("skins", joints=[joint])
    return scene.glb()


def test_skin_in_its_rest_pose_is_turned_like_all_else():
    built = build({GLB: skinned()}, up="z", **PLAIN)
    low, high = built.read("city_shared")["bounds"]
    assert (low[1], high[1]) == (6.5, 7.5)


@pytest.mark.parametrize("option", [{"triangles": 200}, {"simplify": 0.25}])
def test_every_source_is_simplified_by_itself(option):
    scene = Scene()
    scene.shape("sheet", grid_arrays(20, 20, 1.0))
    scene.put("ground", "sheet", translation=[2, 0, -2])
    files = {"assets/a.glb": scene.glb(), "assets/b.glb": houses([(5, -5)]).glb()}
    built = build(files, **option, **PLAIN)
    found = built.read("tile_0_0_0")
    # Of 800 triangles and of 12; a box can hardly be simpler.
    assert 150 <= len(corners_of(found)) <= 215
    assert area(corners_of(found)) == pytest.approx(400 + 96, rel=0.15)


def test_both_ways_to_ask_for_fewer_triangles_are_one_too_many():
    with pytest.raises(EncodeError, match="both `triangles` and `simplify`"):
        build({GLB: houses([(5, -5)]).glb()}, triangles=4, simplify=0.5)


def test_v_is_turned_over_on_request():
    scene = Scene()
    scene.shape("sheet", grid_arrays(1, 20))
    scene.put("ground", "sheet")
    one, other = (
        build({GLB: scene.glb()}, flip_v=flag, **PLAIN).read("tile_0_0_0")["meshes"][0]
        for flag in (False, True)
    )
    by_place = {tuple(p): tuple(uv) for p, uv in zip(one["position"], one["uv"], strict=True)}
    for place, (u, v) in zip(other["position"], other["uv"], strict=True):
        assert by_place[tuple(place)] == (u, 1 - v)


def double_sided() -> Scene:
    scene = Scene()
    leaf = scene.add("materials", name="leaf", doubleSided=True)
    scene.shape("leaf", grid_arrays(12, 20, 1.0), leaf)
    scene.put("leaf", "leaf", translation=[2, 0, -2])
    return scene


def test_backs_are_added_to_all_levels_after_simplification():
    once, twice = (build({GLB: double_sided().glb()}, double_sided=one) for one in (False, True))
    for level in LEVELS:
        (front,) = once.read(f"tile_0_0_0{level}")["meshes"]
        (both,) = twice.read(f"tile_0_0_0{level}")["meshes"]
        assert len(both["triangles"]) == 2 * len(front["triangles"])
        assert len(both["position"]) == 2 * len(front["position"])
        corners = both["position"][both["triangles"]]
        face = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normal = both["normal"][both["triangles"]]
        assert (np.einsum("nk,nvk->nv", face, normal) > 0).all()
        assert (face[:, 1] > 0).sum() == (face[:, 1] < 0).sum() == len(front["triangles"])


def test_bitangents_of_backs_are_those_of_the_front():
    (mesh,) = build({GLB: double_sided().glb()}, double_sided=True, **PLAIN).read("tile_0_0_0")[
        "meshes"
    ]
    tangent = mesh["tangent"]
    bitangent = np.cross(mesh["normal"], tangent[:, :3]) * tangent[:, 3:]
    # v grows along -z in this sheet, on both sides.
    assert (bitangent[:, 2] < -0.5).all()


@pytest.mark.parametrize(("option", "count"), [("source", 1), (True, 0), (False, 0)])
def test_double_sided_material_is_a_warning_unless_the_manifest_says_what_to_do(option, count):
    built = build({GLB: double_sided().glb()}, double_sided=option, **PLAIN)
    assert len([one for one in built.warnings if "double-sided" in one]) == count


def pictured(**slots: object) -> bytes:
    """A box with pictures by the name of their slot."""
    scene = Scene()
    values: dict = {"pbrMetallicRoughness": {}}
    for key, picture in slots.items():
        image = scene.add("textures", source=scene.image(png(picture)))
        holder = values if key == "normalTexture" else values["pbrMetallicRoughness"]
        holder[key] = {"index": image}
    scene.shape("cube", cube_arrays(), scene.add("materials", name="paint", **values))
    scene.put("box", "cube", translation=[5, 0, -5])
    return scene.glb()


def image_of(built, suffix: str) -> np.ndarray:
    (name,) = (one for one in built.files if one.rpartition("_")[0].endswith(suffix))
    return np.asarray(Image.open(io.BytesIO(built.files[name])))


@pytest.mark.parametrize(
    ("options", "size"),
    [
        ({}, (20, 12)),
        ({"max_size": 10}, (10, 6)),
        ({"scale_to": "power_of_two"}, (16, 16)),
        ({"max_size": 64}, (20, 12)),
    ],
)
def test_textures_have_the_size_asked_for(options, size):
    data = pictured(baseColorTexture=np.full((12, 20, 3), 90, np.uint8))
    built = build({GLB: data}, **options, **PLAIN)
    assert built.read("tile_0_0_0")["textures"][0]["size"] == size
    assert image_of(built, "image0").shape[:2] == size[::-1]
    assert built.warnings == []


def test_scaled_normals_stay_unit_length_and_metal_is_averaged_as_it_is():
    normal = np.full((4, 4, 3), 128, np.uint8)
    normal[:, ::2], normal[:, 1::2] = (255, 128, 128), (128, 128, 255)
    metal = np.zeros((4, 4, 3), np.uint8)
    metal[:, ::2] = (0, 100, 200)
    data = pictured(normalTexture=normal, metallicRoughnessTexture=metal)
    built = build({GLB: data}, max_size=2, **PLAIN)
    assert (image_of(built, "_metallic") == 100).all()
    assert (image_of(built, "_roughness") == 50).all()
    vectors = image_of(built, "image0")[..., :3].astype(float) / 127.5 - 1
    assert np.linalg.norm(vectors, axis=-1) == pytest.approx(1, abs=0.02)


def test_picture_of_colours_and_normals_is_two_textures_where_it_is_scaled():
    picture = np.full((4, 4, 3), 128, np.uint8)
    data = pictured(baseColorTexture=picture, normalTexture=picture)
    counts = [
        len([name for name in build({GLB: data}, **options, **PLAIN).files if "Textures" in name])
        for options in ({}, {"max_size": 2})
    ]
    assert counts == [1, 2]
