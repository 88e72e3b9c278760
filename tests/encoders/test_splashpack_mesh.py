"""Triangles: the console's grid and axes, winding, tints, repeats, and what is refused."""

from __future__ import annotations

import contextlib
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.kit.error import EncodeError
from encoders.kit.source.gltf.survey import survey_gltf
from encoders.splashpack.reader import unpack_splashpack
from encoders.splashpack.render import draw
from encoders.splashpack.scene.material import tint_of
from encoders.splashpack.view import place_vertices
from tests.encoders.splashpack_scene import (
    SQUARE,
    link,
    mesh,
    noise,
    objects,
    plain,
    square,
    texture,
    triangles,
    warnings_of,
)
from tests.kit.glb_builder import Builder, quad
from tests.kit.mutation import mutated


def glb(material: dict | None = None, **node) -> bytes:
    builder = quad(**node)
    if material is not None:
        builder.add("materials", name="m", **material)
        builder.json["meshes"][0]["primitives"][0]["material"] = 0
    return builder.glb()


def outward(triangles: np.ndarray) -> np.ndarray:
    """The plain cross product of the edges, which points away from who sees the triangle."""
    points = triangles.astype(np.int64)
    return np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])


def test_obj_and_gltf_give_the_same_triangles():
    one, other = triangles(square()), triangles(mesh({"a.glb": glb()}))
    for found in (one, other):
        assert set(map(tuple, found["vertices"].reshape(-1, 3))) == {
            (0, 0, 0),
            (-4096, 0, 0),
            (0, -4096, 0),
            (-4096, -4096, 0),
        }
        assert (outward(found["vertices"])[:, 2] < 0).all()
        assert (found["normal"] == (0, 0, 4096)).all()


def test_corner_of_the_picture_stays_with_its_corner_of_the_surface():
    found = triangles(square())
    for vertices, uv in zip(found["vertices"], found["uv"], strict=True):
        for (x, y, _), (u, v) in zip(vertices.tolist(), uv.tolist(), strict=True):
            assert (u, v) == (x / -4096, 1 + y / 4096)


def test_vertices_are_rounded_to_the_nearest():
    obj = SQUARE.replace("v 1 0 0", "v 1.00013 0 0")  # 4096.53
    assert triangles(square(obj=obj))["vertices"].min() == -4097


@pytest.mark.parametrize(("scale", "reach"), [(1, 4096), (100, 41), (0.5, 8192)])
def test_scale_says_how_many_units_are_one(scale, reach):
    assert triangles(square(scale=scale))["vertices"].min() == -reach


@settings(max_examples=30, deadline=None)
@given(
    st.tuples(*[st.floats(-1, 1)] * 4).filter(lambda q: sum(x * x for x in q) > 0.1),
    st.tuples(*[st.floats(-3, 3)] * 3),
    st.tuples(*[st.floats(0.2, 2)] * 3),
)
def test_rotated_and_scaled_node_stands_where_gltf_has_it(turn, move, scale):
    length = math.sqrt(sum(x * x for x in turn))
    rotation = [x / length for x in turn]
    data = glb(rotation=rotation, translation=list(move), scale=list(scale))
    encoded = mesh({"a.glb": data})
    (found,) = objects(encoded)
    matrix = np.array(found["rotation"]).reshape(3, 3) / 4096
    assert np.allclose(matrix @ matrix.T, np.eye(3), atol=1e-3)
    assert np.linalg.det(matrix) == pytest.approx(1, abs=1e-3)
    placed = triangles(encoded)["vertices"] @ matrix.T + np.array(found["position"])
    x, y, z, w = rotation
    right = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    corners = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]) * scale @ right.T + move
    expected = corners * (-4096, -4096, 4096)
    for corner in expected:
        assert np.abs(placed.reshape(-1, 3) - corner).max(axis=1).min() < 6


def test_mirrored_node_is_baked_and_still_seen_from_its_front():
    encoded = mesh({"a.glb": glb(scale=[-1, 1, 1], translation=[0, 0, 2])})
    (found,) = objects(encoded)
    assert found["rotation"] == [4096, 0, 0, 0, 4096, 0, 0, 0, 4096]
    assert found["position"] == [0, 0, 8192]
    columns = triangles(encoded)
    assert columns["vertices"][..., 0].max() == 4096
    assert (outward(columns["vertices"])[:, 2] < 0).all()


def test_sheared_node_is_baked():
    matrix = [1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
    encoded = mesh({"a.glb": glb(matrix=matrix)})
    assert objects(encoded)[0]["rotation"] == [4096, 0, 0, 0, 4096, 0, 0, 0, 4096]
    assert triangles(encoded)["vertices"][..., 0].min() == -8192


def test_every_mesh_node_and_every_object_is_one_object():
    builder = quad()
    builder.add("nodes", name="again", mesh=0, translation=[0, 0, 1])
    builder.json["scenes"][0]["nodes"] = [0, 1]
    names = [one["name"] for one in objects(mesh({"a.glb": builder.glb()}))]
    assert names == ["place", "again"]
    obj = "v 0 0 0\nv 1 0 0\nv 0 1 0\no a\nf 1 2 3\no b\nf 1 2 3\nf 1 2 3\no a\nf 1 2 3\n"
    found = objects(mesh({"a.obj": obj}))
    assert [(one["name"], one["triangles"]) for one in found] == [("a", 2), ("b", 2)]


def test_position_that_16_bits_do_not_hold_is_refused():
    with pytest.raises(EncodeError, match="an object lies further out") as caught:
        mesh({"a.glb": glb(translation=[-8, 0, 0])})
    assert caught.value.facts["asset"] == 'a.glb, object "place"'
    with pytest.raises(EncodeError, match="a vertex lies further out"):
        square(obj=SQUARE.replace("v 1 0 0", "v 8.1 0 0"))
    assert square(obj=SQUARE.replace("v 1 0 0", "v 8.1 0 0"), scale=2)


def test_second_side_is_a_triangle_of_its_own():
    columns = triangles(mesh({"a.glb": glb({"doubleSided": True})}))
    assert len(columns["vertices"]) == 4
    assert outward(columns["vertices"])[:, 2].tolist() == [-(4096**2), 4096**2] * 2
    assert columns["normal"][:, 2].tolist() == [4096, -4096] * 2


@pytest.mark.parametrize(
    ("choice", "is_double", "count"),
    [(None, True, 4), ("source", False, 2), (True, False, 4), (False, True, 2)],
)
def test_the_manifest_can_decide_about_second_sides(choice, is_double, count):
    params = {} if choice is None else {"double_sided": choice}
    encoded = mesh({"a.glb": glb({"doubleSided": is_double})}, **params)
    assert len(triangles(encoded)["vertices"]) == count
    assert warnings_of(encoded) == []


def world_points(encoded: dict[str, bytes]) -> set[tuple[int, ...]]:
    """All vertices in world space, in the console's axes."""
    (one,) = objects(encoded)
    rotation = np.array(one["rotation"]).reshape(3, 3) / 4096
    points = triangles(encoded)["vertices"].reshape(-1, 3) @ rotation.T + one["position"]
    return {tuple(np.rint(point).astype(int).tolist()) for point in points}


def source_points(encoded: dict[str, bytes]) -> set[tuple[int, ...]]:
    """The same in the axes of sources."""
    return {(-x, -y, z) for x, y, z in world_points(encoded)}


def test_z_up_turns_positions_rotations_and_vertices_alike():
    placed = {"translation": [1, 2, 3], "rotation": [0.5, 0.5, 0.5, 0.5]}
    plainly, turned = (mesh({"a.glb": glb(**placed)}, up=one) for one in ("y", "z"))
    assert source_points(turned) == {(x, z, -y) for x, y, z in source_points(plainly)}
    # Still a pure rotation, and triangles still face where their normals do.
    columns = triangles(turned)
    assert ((outward(columns["vertices"]) * columns["normal"]).sum(axis=1) < 0).all()


@pytest.mark.parametrize("pivot", ["center", "bottom", [1, 2, 3]])
@pytest.mark.parametrize("translation", [[0, 0, 0], [1, 2, 3]])
def test_a_pivot_becomes_the_origin(pivot, translation):
    data = glb(translation=translation)
    plainly, moved = (mesh({"a.glb": data}, pivot=one) for one in ("keep", pivot))
    before, after = (np.array(sorted(source_points(one))) for one in (plainly, moved))
    low, high = before.min(axis=0), before.max(axis=0)
    origin = (low + high) // 2 if isinstance(pivot, str) else np.array(pivot) * 4096
    if pivot == "bottom":
        origin[1] = low[1]
    assert np.array_equal(after, before - origin)


def test_a_pivot_brings_a_distant_obj_within_reach():
    distant = SQUARE.replace("v 0", "v 100").replace("v 1 ", "v 101 ")
    with pytest.raises(EncodeError, match="further out"):
        square(obj=distant)
    assert max(abs(one) for point in source_points(square(obj=distant, pivot="center"))
               for one in point) <= 4096  # fmt: skip


def test_objects_are_simplified_by_themselves():
    lines, first = ["mtllib a.mtl", "vn 0 0 1"], 1
    for name, size in (("a", 1.0), ("b", 2.0)):
        lines.append(f"o {name}")
        lines += [f"v {x * size / 8} {y * size / 8} 0" for y in range(9) for x in range(9)]
        cells = [first + x + 9 * y for y in range(8) for x in range(8)]
        lines += [f"f {at}//1 {at + 1}//1 {at + 10}//1 {at + 9}//1" for at in cells]
        first += 81
    encoded = square(obj="\n".join(lines), triangles=20)
    counts = [one["triangles"] for one in objects(encoded)]
    assert all(2 <= count <= 10 for count in counts)
    areas = np.abs(outward(triangles(encoded)["vertices"])[:, 2]) / 2 / 4096**2
    assert areas[: counts[0]].sum() == pytest.approx(1)
    assert areas[counts[0] :].sum() == pytest.approx(4)
    assert warnings_of(encoded) == []


def test_v_is_turned_over_as_asked():
    plainly, flipped = (triangles(square(flip_v=one))["uv"] for one in (False, True))
    assert np.array_equal(plainly[..., 0], flipped[..., 0])
    assert np.array_equal(1 - plainly[..., 1], flipped[..., 1])


def test_normals_of_cut_triangles_have_unit_length():
    normals = "vn 0.9 0 0.4359\nvn -0.9 0 0.4359\nvn 0 0.9 0.4359\nvn 0 -0.9 0.4359\n"
    obj = SQUARE.replace("vn 0 0 1\n", normals).replace("vt 1 1", "vt 3 3")
    obj = obj.replace("vt 1 0", "vt 3 0").replace("vt 0 1", "vt 0 3")
    obj = obj.replace("f 1/1/1 2/2/1 3/3/1 4/4/1", "f 1/1/1 2/2/2 3/3/3 4/4/4")
    columns = triangles(square(obj=obj))
    assert len(columns["normal"]) > 9
    lengths = np.linalg.norm(columns["normal"].astype(float), axis=1) / 4096
    assert lengths == pytest.approx(np.ones(len(lengths)), abs=0.001)


def test_triangles_too_small_for_the_grid_are_left_out_and_told():
    obj = SQUARE + "f 1/1/1 2/2/1 3/3/1 4/4/1\n" * 9 + "v 0.00001 0 0\nf 1/1/1 5/2/1 4/4/1\n"
    encoded = square(obj=obj)
    assert len(triangles(encoded)["vertices"]) == 20
    assert warnings_of(encoded) == [
        "a.obj: triangles without an area on the console's grid left out (1) [degenerate]"
    ]


def test_many_triangles_too_small_for_the_grid_ask_for_a_smaller_scale():
    (warning,) = warnings_of(square(obj=SQUARE + "v 0.00001 0 0\nf 1/1/1 5/2/1 4/4/1\n"))
    assert "left out (1); a smaller `scale` than 1 keeps more of the 3" in warning


def test_triangle_longer_than_the_runtime_sees_is_told():
    (warning,) = warnings_of(square(obj=SQUARE.replace("v 1 0 0", "v 1.6 0 0")))
    assert warning.startswith("a.obj: triangles longer than the runtime can see (1)")


# Tints.


def test_colour_of_an_obj_material_is_taken_as_it_is():
    assert (triangles(square("Kd 1 0.5 0"))["color"] == (128, 64, 0)).all()


def test_colour_of_a_gltf_material_becomes_srgb():
    material = {"pbrMetallicRoughness": {"baseColorFactor": [1, 0.5, 0.2140411, 1]}}
    assert (triangles(mesh({"a.glb": glb(material)}))["color"] == (128, 94, 64)).all()


def test_vertex_colours_multiply():
    builder = quad()
    colors = [(1, 1, 1), (0, 1, 1), (1, 1, 0), (5, 1, 1)]
    attributes = builder.json["meshes"][0]["primitives"][0]["attributes"]
    attributes["COLOR_0"] = builder.accessor(colors)
    encoded = mesh({"a.glb": builder.glb()})
    found = {tuple(color) for color in triangles(encoded)["color"].reshape(-1, 3).tolist()}
    assert found == {(128, 128, 128), (0, 128, 128), (128, 128, 0), (255, 128, 128)}
    assert warnings_of(encoded) == [
        "a.glb: colours below black or brighter than twice a texture were cut off [color]"
    ]


def test_blended_material_is_a_warning():
    (warning,) = warnings_of(mesh({"a.glb": glb({"alphaMode": "BLEND"})}))
    assert warning.startswith('a.glb: material "m" is blended')


# Texture coordinates.


def tiled(u: float, v: float, shift: float = 0.0) -> str:
    obj = SQUARE
    for old, new in (("0 0", (0, 0)), ("1 0", (u, 0)), ("1 1", (u, v)), ("0 1", (0, v))):
        obj = obj.replace(f"vt {old}\n", f"vt {new[0] + shift} {new[1] + shift}\n")
    return obj


def area(triangles: np.ndarray) -> float:
    return np.abs(outward(triangles)).sum() / 2


@pytest.mark.parametrize("shift", [0, 3, -7, 0.25])
def test_repeats_are_cut_and_cover_the_surface(shift):
    whole, columns = triangles(square()), triangles(square(obj=tiled(3, 2, shift)))
    assert len(columns["uv"]) > 6
    assert columns["uv"].min() >= 0
    assert columns["uv"].max() <= 1
    assert area(columns["vertices"]) == pytest.approx(area(whole["vertices"]), rel=1e-3)
    assert (outward(columns["vertices"])[:, 2] < 0).all()


def test_each_piece_shows_what_the_repeat_would():
    columns = triangles(square(obj=tiled(3, 2, 0.25)))
    for vertices, uv in zip(columns["vertices"], columns["uv"], strict=True):
        middle = vertices.mean(axis=0) / -4096
        right = np.array([0.25 + 3 * middle[0], 1 - (0.25 + 2 * middle[1])]) % 1
        assert np.abs(uv.mean(axis=0) - right).max() < 0.01


def test_tile_that_is_merely_moved_is_not_cut():
    assert len(triangles(square(obj=tiled(1, 1, 5)))["uv"]) == 2
    assert len(triangles(square(obj=tiled(1.0001, 1, 0)))["uv"]) == 2


def test_clamped_texture_ends_in_its_last_texels():
    columns = triangles(square("map_Kd -clamp on a.png", obj=tiled(2, 1)))
    assert columns["uv"].max() == 1
    beyond = columns["vertices"][..., 0].mean(axis=1) < -2048
    assert (columns["uv"][beyond][..., 0] == 1).all()


def test_mirrored_repeat_turns_around():
    builder = quad()
    primitive = builder.json["meshes"][0]["primitives"][0]
    uv = builder.accessor([(0, 1), (2, 1), (0, 0), (2, 0)])
    primitive["attributes"]["TEXCOORD_0"] = uv
    primitive["material"] = 0
    builder.add("samplers", wrapS=33648)
    builder.add("images", uri="a.png")
    builder.add("textures", source=0, sampler=0)
    builder.add("materials", pbrMetallicRoughness={"baseColorTexture": {"index": 0}})
    columns = triangles(mesh({"a.glb": builder.glb()}))
    for vertices, one in zip(columns["vertices"], columns["uv"], strict=True):
        for (x, _, _), (u, _) in zip(vertices.tolist(), one.tolist(), strict=True):
            assert u == pytest.approx(1 - abs(1 - 2 * x / -4096), abs=1e-3)


def test_too_many_repeats_are_refused_with_the_material():
    with pytest.raises(EncodeError, match="repeats its texture too often") as caught:
        square(obj=tiled(9, 9))
    assert caught.value.facts["asset"] == 'a.obj, material "m"'
    assert caught.value.facts["repeats"] == "9 x 9 in one triangle"
    assert len(triangles(square(obj=tiled(9, 9), tile_limit=81))["uv"]) > 81


def test_missing_uvs_are_a_warning():
    (warning,) = warnings_of(square(obj=SQUARE.replace("1/1/1", "1//1")))
    assert "not all of its triangles have UVs" in warning


def test_missing_image_is_named_with_its_material_and_line():
    with pytest.raises(EncodeError, match="texture not found") as caught:
        square(missing=["a.png"])
    assert caught.value.facts == {
        "asset": 'a.obj, material "m"',
        "file": "a.png",
        "named in": "a.mtl, line 2",
    }


def test_scene_without_triangles_is_refused():
    builder = Builder()
    builder.add("nodes", name="empty")
    with pytest.raises(EncodeError, match="no triangles"):
        mesh({"a.glb": builder.glb()})


def check_encoded_or_refused(inputs: dict[str, bytes | str], source: str) -> None:
    """Check that the encoder names the source in its error, or counts its triangles rightly."""
    refusal = None
    try:
        outputs = mesh(inputs)
    except EncodeError as error:
        refusal = error
    if refusal is not None:
        assert any(source in fact for fact in refusal.facts.values()), refusal
        return
    counts = [one["triangles"] for one in objects(outputs)]
    assert sum(counts) == len(triangles(outputs)["vertices"])
    # A mesh may vanish on the console's grid, but not in silence.
    assert sum(counts) > 0 or b"[degenerate]" in outputs["warnings"]


@settings(max_examples=60, deadline=None)
@given(mutated([glb({"doubleSided": True}, scale=[1, 2, 3]), glb(rotation=[0.5, 0.5, 0.5, 0.5])]))
def test_damaged_model_is_encoded_or_refused_by_its_name(data):
    check_encoded_or_refused({"a.glb": data}, "a.glb")
    with contextlib.suppress(EncodeError):
        survey = survey_gltf(data, "a.glb")
        assert json.loads(json.dumps(survey)) == survey


@settings(max_examples=50, deadline=None)
@given(mutated([SQUARE.encode(), tiled(3, 2).encode()]))
def test_damaged_obj_is_encoded_or_refused_by_its_name(data):
    check_encoded_or_refused({"a.obj": data, "a.mtl": "newmtl m\nmap_Kd a.png\n"}, "a.obj")


def test_position_past_all_numbers_is_refused():
    with pytest.raises(EncodeError):
        mesh({"a.glb": glb(scale=[1e30, 1e30, 1e30])})
    with pytest.raises(EncodeError):
        mesh({"a.glb": glb(translation=[1e308, 0, 0])})


def test_primitive_without_triangles_is_refused():
    builder = quad()
    builder.json["meshes"][0]["primitives"][0]["indices"] = builder.accessor([0, 1], "u2")
    with pytest.raises(EncodeError, match="no triangles"):
        mesh({"a.glb": builder.glb()})


# The whole scene, drawn.


def test_square_before_the_camera_shows_its_picture_unmirrored():
    picture = noise(64, 64, 5) // 128 * 255
    obj = SQUARE
    # Facing the camera, x runs to the left of who looks along +z. At a depth of 120 a unit of
    # 1/4096 is a pixel, and 63 of them take 63 steps through 64 texels.
    for old, new in (("0 0", "30 -30"), ("1 0", "-33 -30"), ("1 1", "-33 33"), ("0 1", "30 33")):
        obj = obj.replace(f"v {old} 0\n", f"v {new} 120\n")
    encoded = texture(picture, threshold=128, bpp=8)
    columns = square(obj=obj, scale=4096)
    pack = unpack_splashpack(link({"a.png||128": encoded}, [columns])["pack"], "a")
    drawn = draw(pack, place_vertices(pack))
    assert np.array_equal(drawn[87:150, 130:193], picture[:63, :63])
    drawn[87:150, 130:193] = (63, 63, 100)
    assert (drawn == (63, 63, 100)).all()


def test_untextured_surface_shows_its_colour():
    obj = SQUARE.replace("v 0 0 0", "v 60 -60 120").replace("v 1 0 0", "v -60 -60 120")
    obj = obj.replace("v 1 1 0", "v -60 60 120").replace("v 0 1 0", "v 60 60 120")
    columns = square("Kd 1 0 0.5", obj=obj, scale=4096)
    pack = unpack_splashpack(link({}, [columns])["pack"], "a")
    drawn = draw(pack, place_vertices(pack))
    assert drawn[120, 160].tolist() == [255, 0, 123]
    assert [len(clut.words) for clut in pack.cluts] == [2]


def test_white_texel_takes_no_page_where_another_has_room():
    for bpp, width in ((4, 64), (8, 128), (16, 256)):
        encoded = texture(plain(8, 8), threshold=128, bpp=bpp)
        plain_square = square("Kd 1 1 1")
        pack = unpack_splashpack(
            link({"a.png||128": encoded}, [square(), plain_square])["pack"], "a"
        )
        assert [atlas.width for atlas in pack.atlases] == [width]


@pytest.mark.parametrize("share", [1e308, 2.0, 1.995])
def test_tint_of_any_brightness_is_the_largest(share: float) -> None:
    assert tint_of(np.array([share]), is_linear=False).tolist() == [255]


def test_many_triangles_that_repeat_their_texture_are_refused_together(monkeypatch) -> None:
    monkeypatch.setattr("encoders.splashpack.scene.geometry.MAX_PIECES", 100)
    obj = tiled(7, 7) + "f 1/1/1 2/2/1 3/3/1\n" * 10
    with pytest.raises(EncodeError, match="repeat their textures too often") as caught:
        square(obj=obj)
    facts = caught.value.facts
    assert int(facts["pieces"]) > int(facts["allowed"]) > 100
    assert facts["most of them"] == f'{facts["pieces"]} of material "m"'
