"""USD as glTF: what comes through the conversion, and what is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from encoders.kit.error import EncodeError
from encoders.kit.isolate import use_scratch
from encoders.kit.source.conversion import compose, encode_composed_glb, list_layers
from encoders.kit.source.gltf.animation import decode_clip
from encoders.kit.source.gltf.geometry.skin import decode_skin
from encoders.kit.source.gltf.source import decode_gltf
from encoders.kit.source.gltf.survey import survey_gltf
from encoders.kit.source.model import Model, open_model
from pipeline.process.isolate import call
from pipeline.process.scratch import install_scratch
from tests.kit.mutation import mutated
from tests.kit.refusal import attempt, names
from tests.kit.usd_maker import (
    BIND,
    IDENTITY,
    UVS,
    at,
    material,
    mesh,
    package,
    rig,
    sign,
    texture,
    usda,
)

pxr = pytest.importorskip("pxr")
NAME = "m/a.usda"
TWO = "[(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (2, 0, 0), (2, 1, 0)]"
TWO_QUADS = {"points": TWO, "sizes": "[4, 4]", "corners": "[0, 1, 2, 3, 1, 4, 5, 2]"}


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "scratch"
    install_scratch(str(folder))
    yield folder
    use_scratch(None)
    assert not list(folder.glob("*/*"))


def converted(data: bytes, **layers: bytes) -> tuple[bytes, tuple[str, ...]]:
    return compose({NAME: data, **layers}, NAME)


def opened(data: bytes, **layers: bytes) -> Model:
    return open_model({NAME: converted(data, **layers)[0]}, NAME)


def triangles(model: Model) -> np.ndarray:
    return model.mesh.position.values[model.mesh.position.corner]


def as_set(found: np.ndarray) -> list:
    """Triangles in any order, each from its smallest corner on."""
    rows = []
    for triangle in np.round(found.astype(float), 4) + 0.0:
        corners = [tuple(corner) for corner in triangle.tolist()]
        first = corners.index(min(corners))
        rows.append(tuple(corners[first:] + corners[:first]))
    return sorted(rows)


def stage_triangles(data: bytes) -> np.ndarray:
    """The triangles of a stage in metres with y upwards, by the library's own queries."""
    from pxr import Usd, UsdGeom

    stage = Usd.Stage.CreateInMemory()
    stage.GetRootLayer().ImportFromString(data.decode())
    cache, found = UsdGeom.XformCache(), []
    for prim in Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies()):
        shown = UsdGeom.Imageable(prim)
        if not prim.IsA(UsdGeom.Mesh) or shown.ComputeVisibility() == "invisible":
            continue
        if shown.ComputePurpose() not in ("default", "render"):
            continue
        world = cache.GetLocalToWorldTransform(prim)
        points = [world.Transform(point) for point in UsdGeom.Mesh(prim).GetPointsAttr().Get()]
        corners, at = list(UsdGeom.Mesh(prim).GetFaceVertexIndicesAttr().Get()), 0
        is_left = UsdGeom.Mesh(prim).GetOrientationAttr().Get() == "leftHanded"
        for size in UsdGeom.Mesh(prim).GetFaceVertexCountsAttr().Get():
            for step in range(1, size - 1):
                triangle = [points[corners[at + k]] for k in (0, step, step + 1)]
                mirrored = world.GetDeterminant3() < 0
                found.append(triangle[::-1] if is_left != mirrored else triangle)
            at += size
    values = np.array(found) * UsdGeom.GetStageMetersPerUnit(stage)
    if UsdGeom.GetStageUpAxis(stage) == "Z":
        values = np.stack([values[..., 0], values[..., 2], -values[..., 1]], axis=-1)
    return values


SCENES = {
    "plain": usda(mesh(body=at(3, 0, 0))),
    "centimetres and z upwards": usda(mesh(body=at(3, 0, 50)), unit=0.01, axis="Z"),
    "left-handed": usda(mesh(body='uniform token orientation = "leftHanded"')),
    "mirrored": usda(
        mesh(
            body="float3 xformOp:scale = (-1, 1, 2)\n"
            'uniform token[] xformOpOrder = ["xformOp:scale"]'
        )
    ),
    "reset stack": usda(
        'def Xform "up" {{\n{}\n{}}}'.format(
            at(0, 9, 0),
            mesh(
                body="double3 xformOp:translate = (1, 2, 3)\nfloat xformOp:rotateZ = 30\n"
                'uniform token[] xformOpOrder = ["!resetXformStack!", "xformOp:translate", '
                '"xformOp:rotateZ"]'
            ),
        )
    ),
    "pivot and orientation": usda(
        mesh(
            body="float3 xformOp:translate:pivot = (1, 1, 0)\n"
            "quatf xformOp:orient = (0.8, 0, 0.6, 0)\nfloat3 xformOp:rotateXYZ = (10, 20, 30)\n"
            'uniform token[] xformOpOrder = ["xformOp:translate:pivot", "xformOp:orient", '
            '"xformOp:rotateXYZ", "!invert!xformOp:translate:pivot"]'
        ),
        axis="Z",
    ),
    "hidden and helpers": usda(
        mesh("a")
        + mesh("b", 'token visibility = "invisible"')
        + mesh("c", 'uniform token purpose = "guide"')
        + mesh("d", 'uniform token purpose = "proxy"')
        + mesh("e", 'uniform token purpose = "render"' + "\n" + at(0, 5, 0))
        + 'def Xform "f" {{\ntoken visibility = "invisible"\n{}}}\n'.format(mesh("g"))
        + 'def Xform "h" {{\nuniform token purpose = "guide"\n{}}}'.format(
            mesh("i", 'uniform token purpose = "render"' + "\n" + at(0, 9, 0))
        )
    ),
    "variants": usda(
        'def Xform "x" (\nvariants = { string size = "big" }\nprepend variantSets = "size"\n)\n{\n'
        f'variantSet "size" = {{\n"big" {{\n{mesh(body=at(7, 0, 0))}}}\n'
        f'"small" {{\n{mesh()}}}\n}}\n}}'
    ),
    "instances": usda(
        f'class Xform "proto" {{\n{mesh()}}}\n'
        + "".join(
            f'def Xform "i{n}" (\ninstanceable = true\ninherits = </proto>\n)\n'
            f"{{\n{at(n, 0, n)}}}\n"
            for n in range(3)
        )
    ),
    "time samples": usda(
        mesh(
            body="double3 xformOp:translate.timeSamples = { 1: (5, 0, 0), 2: (6, 0, 0) }\n"
            'uniform token[] xformOpOrder = ["xformOp:translate"]'
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in SCENES if name != "time samples"])
def test_triangles_are_where_the_stage_says(name: str) -> None:
    assert as_set(triangles(opened(SCENES[name]))) == as_set(stage_triangles(SCENES[name]))


def test_moving_mesh_stands_where_it_starts_with_a_warning() -> None:
    glb, warnings = converted(SCENES["time samples"])
    assert triangles(open_model({NAME: glb}, NAME)).min(axis=(0, 1)).tolist() == [5, 0, 0]
    assert any("moving prims" in one and one.endswith("[animation]") for one in warnings)


@pytest.mark.parametrize("name", SCENES)
def test_survey_without_data_says_what_the_whole_says(name: str) -> None:
    whole = survey_gltf(compose({NAME: SCENES[name]}, NAME)[0], NAME)
    light = survey_gltf(compose({NAME: SCENES[name]}, NAME, with_data=False)[0], NAME)
    # How large the file is says the caller, because the GLB without data is smaller.
    assert light | {"stored_bytes": 0} == whole | {"stored_bytes": 0}


def test_instances_share_their_mesh() -> None:
    survey = survey_gltf(converted(SCENES["instances"])[0], NAME)
    assert len(survey["meshes"]) == 1
    assert len(survey["parts"]) == 3


def test_meshes_are_the_same_however_many_are_cut_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    normal = 'normal3f[] normals = [(0, 0, 2), (0, 3, 0)] (interpolation = "uniform")\n'
    corner = "[(0, 0), (1, 0), (1, 1), (0, 1), (%d, 0), (2, 0), (2, 1), (1, 1)]"
    same, other = (
        f'texCoord2f[] primvars:st = {corner % x} (interpolation = "faceVarying")\n' for x in (1, 7)
    )
    left = 'uniform token orientation = "leftHanded"\nint[] holeIndices = [1]\n'
    color = 'color3f[] primvars:displayColor = [(1, 0, 0)] (interpolation = "constant")\n'
    bodies = ["", same, normal + same, normal + other, left + same, color + normal]
    data = usda("".join(mesh(f"m{n}", body, **TWO_QUADS) for n, body in enumerate(bodies)))
    together = converted(data)
    monkeypatch.setattr("encoders.kit.source.usd.batch.BATCH_CORNERS", 0)
    assert converted(data) == together
    accessors = decode_gltf(together[0], NAME).document.accessors
    primitives = [one.primitives[0] for one in decode_gltf(together[0], NAME).document.meshes]
    # Corners of a point that have one value share a vertex; the others do not.
    counts = [accessors[one.attributes["POSITION"]].count for one in primitives]
    assert counts == [6, 6, 8, 8, 4, 8]
    assert len(triangles(opened(data))) == 22


def test_only_the_default_prim_is_shown_and_the_rest_is_named() -> None:
    data = usda(mesh("a") + mesh("b"), more='    defaultPrim = "a"\n')
    glb, warnings = converted(data)
    assert [one.name for one in open_model({NAME: glb}, NAME).objects] == ["a"]
    assert any('"b" beside the default prim "a"' in one for one in warnings)


@pytest.mark.parametrize(
    ("kind", "values", "indices"),
    [
        ("constant", [[1, 0]], None),
        ("uniform", [[0, 0], [1, 0]], None),
        ("vertex", [[0, 0], [1, 0], [2, 0], [3, 0], [4, 0], [5, 0]], None),
        ("varying", [[0, 0], [1, 0], [2, 0], [3, 0], [4, 0], [5, 0]], None),
        ("faceVarying", [[n, n] for n in range(8)], None),
        ("faceVarying", [[0, 0], [1, 1]], [0, 1, 0, 1, 1, 0, 1, 0]),
        ("vertex", [[0, 0], [1, 1]], [0, 1, 0, 1, 1, 0]),
        ("uniform", [[0, 0], [1, 1]], [1, 0]),
    ],
)
def test_primvars_of_any_interpolation_are_flattened_as_the_library_does(
    kind: str, values: list, indices: list | None
) -> None:
    from pxr import Usd, UsdGeom

    text = ", ".join(f"({u}, {v})" for u, v in values)
    body = f'texCoord2f[] primvars:st = [{text}] (interpolation = "{kind}")\n'
    body += "" if indices is None else f"int[] primvars:st:indices = {indices}\n"
    data = usda(mesh(body=body, **TWO_QUADS))
    stage = Usd.Stage.CreateInMemory()
    stage.GetRootLayer().ImportFromString(data.decode())
    prim = stage.GetPrimAtPath("/quad")
    flat = np.array(UsdGeom.PrimvarsAPI(prim).GetPrimvar("st").ComputeFlattened())
    points = [0, 1, 2, 3, 1, 4, 5, 2]
    rows = {"constant": [0] * 8, "uniform": [0] * 4 + [1] * 4, "faceVarying": range(8)}
    by_corner = flat[list(rows.get(kind, points))]
    expected = by_corner[[0, 1, 2, 0, 2, 3, 4, 5, 6, 4, 6, 7]].reshape(-1, 3, 2)
    (uv,) = opened(data).mesh.uv
    assert (uv.values[uv.corner] * [1, -1] + [0, 1]).tolist() == expected.tolist()


def test_primvars_that_do_not_fit_are_left_out_with_a_warning() -> None:
    body = f'texCoord2f[] primvars:st = {UVS} (interpolation = "faceVarying")\n'
    glb, warnings = converted(usda(mesh(body=body, **TWO_QUADS)))
    assert not open_model({NAME: glb}, NAME).mesh.uv
    assert any("coordinates of /quad do not fit" in one for one in warnings)


def test_corners_share_a_vertex_where_all_their_values_are_equal() -> None:
    smooth = 'normal3f[] normals = [{}] (interpolation = "faceVarying")'.format(
        ", ".join(["(0, 0, 1)"] * 8)
    )
    edge = smooth.replace("(0, 0, 1)", "(0, 1, 0)", 4)
    counts = [
        len(opened(usda(mesh(body=body, **TWO_QUADS))).mesh.position.values)
        for body in (smooth, edge)
    ]
    assert counts == [6, 8]


def test_display_colour_and_opacity_are_vertex_colours_where_no_material_is() -> None:
    body = (
        'color3f[] primvars:displayColor = [(1, 0, 0), (0, 1, 0)] (interpolation = "uniform")\n'
        'float[] primvars:displayOpacity = [0.5] (interpolation = "constant")\n'
    )
    model = opened(usda(mesh(body=body, **TWO_QUADS)))
    assert model.mesh.color is not None
    found = model.mesh.color.values[model.mesh.color.corner]
    assert found[0].tolist() == [[1, 0, 0, 0.5]] * 3
    assert found[-1].tolist() == [[0, 1, 0, 0.5]] * 3
    assert model.mesh.materials[0].alpha_mode == "blend"


def test_subsets_give_their_faces_their_materials() -> None:
    subset = (
        'def GeomSubset "half" {\nuniform token elementType = "face"\n'
        f'uniform token familyName = "materialBind"\nint[] indices = [1]\n{BIND}}}\n'
    )
    data = usda(
        mesh(body=subset, **TWO_QUADS) + material("color3f inputs:diffuseColor = (1, 0.5, 0)")
    )
    mesh_ = opened(data).mesh
    shown = mesh_.materials[-1]
    assert shown.name == "m"
    assert shown.base_color == pytest.approx((1, 0.5, 0, 1))
    assert sorted(mesh_.position.values[mesh_.position.corner][:, :, 0].max(axis=1)) == [1, 1, 2, 2]
    assert survey_gltf(converted(data)[0], NAME)["parts"][0]["materials"] == [-1, 0]


def textured(surface: str, nodes: str) -> tuple[Model, tuple[str, ...]]:
    body = BIND + f'texCoord2f[] primvars:st = {UVS} (interpolation = "vertex")\n'
    glb, warnings = converted(usda(mesh(body=body) + material(surface, nodes)))
    return open_model({NAME: glb}, NAME), warnings


def test_preview_surface_comes_through_with_its_textures() -> None:
    surface = """
        color3f inputs:diffuseColor.connect = </materials/m/image.outputs:rgb>
        float inputs:opacity.connect = </materials/m/image.outputs:a>
        float inputs:opacityThreshold = 0.25
        float inputs:metallic.connect = </materials/m/orm.outputs:b>
        float inputs:roughness.connect = </materials/m/orm.outputs:g>
        float inputs:occlusion.connect = </materials/m/orm.outputs:r>
        normal3f inputs:normal.connect = </materials/m/bumps.outputs:rgb>
        color3f inputs:emissiveColor = (0, 0.5, 1)
    """
    nodes = texture("image", "../t/c.png", "float4 inputs:scale = (0.5, 1, 1, 1)")
    nodes += texture("orm", "./orm.png") + texture("bumps", "bumps%20.png")
    model, warnings = textured(surface, nodes)
    assert not warnings
    (found,) = model.mesh.materials
    assert model.image_name(found, "base_color") == "t/c.png"
    assert model.image_name(found, "metallic_roughness") == "m/orm.png"
    assert model.image_name(found, "occlusion") == "m/orm.png"
    assert model.image_name(found, "normal") == "m/bumps%20.png"
    assert found.base_color == pytest.approx((0.5, 1, 1, 1))
    assert found.emissive == pytest.approx((0, 0.5, 1))
    assert (found.alpha_mode, found.alpha_cutoff) == ("mask", 0.25)
    sampler = found.textures["base_color"].sampler
    assert (sampler.wrap_u, sampler.wrap_v) == ("repeat", "mirror")


def test_texture_transform_moves_coordinates_as_the_specification_says() -> None:
    from encoders.kit.mesh.texcoord import transform_uv

    nodes = texture("image", "c.png").replace("m/reader.outputs:result", "m/move.outputs:result")
    nodes += """def Shader "move"
    {
        uniform token info:id = "UsdTransform2d"
        float2 inputs:in.connect = </materials/m/reader.outputs:result>
        float inputs:rotation = 90
        float2 inputs:scale = (2, 3)
        float2 inputs:translation = (0.25, 0.5)
        float2 outputs:result
    }
"""
    surface = "color3f inputs:diffuseColor.connect = </materials/m/image.outputs:rgb>"
    model, _ = textured(surface, nodes)
    (uv,) = model.mesh.uv
    moved = transform_uv(model.mesh.materials[0].textures["base_color"], uv.values)
    points = np.array([[0, 0], [1, 0], [1, 2], [0, 2]], float)
    # Scale, then 90 degrees counter-clockwise, then translation; v from the top.
    expected = np.column_stack([-3 * points[:, 1] + 0.25, 1 - (2 * points[:, 0] + 0.5)])
    assert np.allclose(sorted(moved.tolist()), sorted(expected.tolist()), atol=1e-5)


def test_what_gltf_has_no_place_for_is_told() -> None:
    surface = """
        color3f inputs:diffuseColor = (1, 1, 1)
        float inputs:opacity.connect = </materials/m/image.outputs:r>
        float inputs:metallic.connect = </materials/m/image.outputs:r>
    """
    _, warnings = textured(surface, texture("image", "c.png"))
    assert any("opacity in another image" in one for one in warnings)
    assert any("images of their own" in one for one in warnings)
    assert all(one.startswith(f'{NAME}: material "m"') for one in warnings)


def test_texture_outside_of_the_project_is_refused() -> None:
    for file in ("/etc/c.png", "../../c.png"):
        with pytest.raises(EncodeError, match="leads out of the project"):
            textured(
                "color3f inputs:diffuseColor.connect = </materials/m/image.outputs:rgb>",
                texture("image", file),
            )


def test_point_instancer_places_its_prototypes() -> None:
    data = usda(
        'def PointInstancer "trees" {{\n{}'
        "rel prototypes = [</trees/kinds/a>, </trees/kinds/b>]\nint[] protoIndices = [0, 1, 0]\n"
        "point3f[] positions = [(0, 0, 0), (10, 0, 0), (20, 0, 0)]\n"
        "quath[] orientations = [(1, 0, 0, 0), (0, 0, 1, 0), (1, 0, 0, 0)]\n"
        "float3[] scales = [(1, 1, 1), (2, 2, 2), (1, 1, 1)]\nint64[] ids = [7, 8, 9]\n"
        'int64[] invisibleIds = [9]\nover "kinds" {{\n{}{}}}\n}}\n'.format(
            at(0, 0, 5), mesh("a", at(1, 0, 0)), mesh("b")
        )
    )
    model = opened(data)
    box = [triangles(model)[k : k + 2].reshape(-1, 3) for k in (0, 2)]
    assert [one.min(axis=0).tolist() for one in box] == [[1, 0, 5], [8, 0, 5]]
    assert [one.max(axis=0).tolist() for one in box] == [[2, 2, 5], [10, 4, 5]]
    assert len(triangles(model)) == 4


def test_point_instancer_that_contains_itself_is_refused() -> None:
    data = usda(
        'def Xform "x" {\ndef PointInstancer "p" {\nrel prototypes = [</x>]\n'
        "int[] protoIndices = [0]\npoint3f[] positions = [(0, 0, 0)]\n}\n}"
    )
    with pytest.raises(EncodeError, match="contains itself"):
        converted(data)


@pytest.mark.parametrize(
    ("kind", "volume", "box"),
    [
        ("Cube", 8, 2),
        ("Sphere", 4.19, 2),
        ("Cylinder", 6.28, 2),
        ("Cone", 2.09, 2),
        ("Capsule", 1.31, 2),
    ],
)
@pytest.mark.parametrize("axis", ["X", "Y", "Z"])
def test_shapes_are_closed_and_look_outwards(
    kind: str, volume: float, box: float, axis: str
) -> None:
    word = f'uniform token axis = "{axis}"' if kind not in ("Cube", "Sphere") else ""
    model = opened(usda(f'def {kind} "s" {{\n{word}\n}}'))
    a, b, c = (triangles(model).astype(float)[:, k] for k in range(3))
    assert (a * np.cross(b, c)).sum() / 6 == pytest.approx(volume, rel=0.03)
    assert np.ptp(triangles(model).reshape(-1, 3), axis=0).max() == pytest.approx(box, rel=0.01)
    assert model.mesh.normal is not None
    normals = model.mesh.normal.values[model.mesh.normal.corner].mean(axis=1)
    assert ((np.cross(b - a, c - a) * normals).sum(axis=1) > 0).all()
    edges = Counter(
        tuple(sorted(map(tuple, np.round(one, 6).tolist())))
        for triangle in triangles(model)
        for one in (triangle[:2], triangle[1:], triangle[::2])
    )
    assert set(edges.values()) == {2}


def test_subdivision_surface_is_its_cage_with_a_warning() -> None:
    _, warnings = converted(usda(mesh(scheme="catmullClark")))
    assert warnings == (f"{NAME}: 1 subdivision surfaces are shown by their cages [feature]",)


def test_holes_are_left_open() -> None:
    assert len(triangles(opened(usda(mesh(body="int[] holeIndices = [0]", **TWO_QUADS))))) == 2


@pytest.mark.parametrize("axis", ["Y", "Z"])
def test_skin_and_clip_move_points_as_the_library_does(axis: str) -> None:
    from pxr import Usd, UsdSkel

    data = rig(axis=axis, unit=0.5)
    glb = compose({NAME: data}, NAME)[0]
    gltf = decode_gltf(glb, NAME)
    skin = decode_skin(gltf, 0)
    assert [gltf.document.nodes[joint].name for joint in gltf.document.skins[0].joints] == [
        "hip",
        "knee",
    ]
    assert len(skin.joints) == 2
    model = open_model({NAME: glb}, NAME)
    stage = Usd.Stage.CreateInMemory()
    stage.GetRootLayer().ImportFromString(data.decode())
    cache = UsdSkel.Cache()
    cache.Populate(UsdSkel.Root(stage.GetPrimAtPath("/root")), Usd.PrimDefaultPredicate)
    query = cache.GetSkinningQuery(stage.GetPrimAtPath("/root/quad"))
    skeleton = cache.GetSkelQuery(UsdSkel.Skeleton(stage.GetPrimAtPath("/root/skel")))
    points = stage.GetPrimAtPath("/root/quad").GetAttribute("points").Get()
    matrices = skeleton.ComputeSkinningTransforms(24)
    assert query.ComputeSkinnedPoints(query.GetJointMapper().Remap(matrices), points, 24)
    expected = np.array(points) * 0.5
    if axis == "Z":
        expected = np.column_stack([expected[:, 0], expected[:, 2], -expected[:, 1]])
    assert np.allclose(sorted(model.mesh.position.values.tolist()), sorted(expected.tolist()))
    clip = decode_clip(gltf, 0)
    assert clip.name == "walk"
    survey = survey_gltf(glb, NAME)
    assert survey["clips"] == [{"name": "walk", "duration": 1.0, "channels": 3}]


def test_stage_is_composed_of_its_layers() -> None:
    data = usda(
        'def "x" (\nprepend references = @./parts/b.usda@</quad>\n)\n{\n}\n'
        f'def "y" (\nprepend payload = @parts/b.usda@</quad>\n)\n{{\n{at(5, 0, 0)}}}\n',
        more="    subLayers = [@../c.usda@]\n",
    )
    layers = {"m/parts/b.usda": usda(mesh()), "c.usda": usda(mesh("z", at(0, 7, 0)))}
    assert list_layers(data, NAME) == ["../c.usda", "./parts/b.usda", "parts/b.usda"]
    found = triangles(opened(data, **layers))
    assert len(found) == 6
    assert found.reshape(-1, 3).max(axis=0).tolist() == [6, 9, 0]


def test_texture_is_found_from_the_layer_that_names_it() -> None:
    inner = material(
        "color3f inputs:diffuseColor.connect = </materials/m/image.outputs:rgb>",
        texture("image", "./c.png"),
    )
    data = usda(mesh(body=BIND), more="    subLayers = [@../looks/all.usda@]\n")
    model = opened(data, **{"looks/all.usda": usda(inner)})
    assert model.image_name(model.mesh.materials[0], "base_color") == "looks/c.png"


@pytest.mark.parametrize(
    "written", ["/etc/x.usda", "../../x.usda", "file:///x.usda", '`"/etc/x.usda"`']
)
def test_layer_outside_of_the_project_is_refused(written: str) -> None:
    data = usda(f'def "x" (\nprepend references = @{written}@\n)\n{{\n}}\n')
    with pytest.raises(EncodeError, match="leads out of the project"):
        list_layers(data, NAME)
    with pytest.raises(EncodeError, match="leads out of the project"):
        converted(data)
    inside = package({"a.usda": data.replace(b"../../x", b"../x")})
    with pytest.raises(EncodeError, match="leads out of the project"):
        list_layers(inside, "m/a.usdz")


def test_value_clips_are_refused_because_they_open_files_later() -> None:
    clips = "clips = {\ndictionary default = {\nasset[] assetPaths = [@/etc/x.usda@]\n}\n}"
    with pytest.raises(EncodeError, match="value clips"):
        converted(usda(f'def "x" (\n{clips}\n)\n{{\n}}\n'))


def test_missing_layer_is_named() -> None:
    params = {"source": NAME, "layers": ["m/b.usda"]}
    with pytest.raises(EncodeError, match="a layer of the file is missing") as caught:
        encode_composed_glb({NAME: usda("")}, params)
    assert caught.value.facts == {"file": NAME, "layer": "m/b.usda"}


def test_package_gives_its_textures() -> None:
    data = package({"a.usda": sign("t/c.png"), "t/c.png": b"\x89PNG\r\n\x1a\nimage"})
    glb, warnings = compose({"m/a.usdz": data}, "m/a.usdz")
    assert not warnings
    model = open_model({"m/a.usdz": glb}, "m/a.usdz")
    found = model.mesh.materials[0]
    assert model.image_data(found, "base_color") == b"\x89PNG\r\n\x1a\nimage"
    light = compose({"m/a.usdz": data}, "m/a.usdz", with_data=False)[0]
    assert survey_gltf(light, "a")["images"][0]["buffer_view"] is not None


def test_crate_and_text_of_one_stage_give_the_same_bytes(tmp_path: Path) -> None:
    from pxr import Sdf

    layer = Sdf.Layer.CreateAnonymous(".usda")
    layer.ImportFromString(sign().decode())
    assert layer.Export(str(tmp_path / "a.usdc"))
    crate = (tmp_path / "a.usdc").read_bytes()
    assert crate.startswith(b"PXR-USDC")
    text, _ = compose({"a.usda": sign()}, "a.usda")
    assert compose({"a.usdc": crate}, "a.usdc")[0] == text
    assert compose({"a.usd": crate}, "a.usd")[0] == text
    assert compose({"a.usd": sign()}, "a.usd")[0] == text


def test_decoder_process_gives_the_same_bytes_and_leaves_no_files() -> None:
    dotted = "encoders.kit.source.conversion:encode_composed_glb"
    params = {"source": NAME, "layers": []}
    found = [call(dotted, {NAME: sign()}, params)["glb"] for _ in range(2)]
    assert found == [converted(sign())[0]] * 2


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"corners": "[0, 1, 2, 9]"}, "refers to a point that does not exist"),
        ({"corners": "[0, 1, 2, -1]"}, "refers to a point that does not exist"),
        ({"sizes": "[5]"}, "do not fit its indices"),
        ({"sizes": "[-1, 5]"}, "do not fit its indices"),
        ({"points": "[(0, 0, 0), (inf, 0, 0), (1, 2, 0), (0, 2, 0)]"}, "not finite"),
    ],
)
def test_damaged_mesh_is_refused_by_name(fields: dict[str, str], problem: str) -> None:
    for with_data in (True, False):
        with pytest.raises(EncodeError, match=problem) as caught:
            compose({NAME: usda(mesh("bad", **fields))}, NAME, with_data=with_data)
        assert str(caught.value.facts["mesh"]) == "/bad"


@pytest.mark.parametrize("data", [b"", b"#usda 9.0\n", b"PXR-USDC", b"PK\x03\x04", b"{}"])
@pytest.mark.parametrize("suffix", [".usd", ".usda", ".usdc", ".usdz"])
def test_file_of_another_kind_is_refused(data: bytes, suffix: str) -> None:
    with pytest.raises(EncodeError, match="damaged or of an unknown kind"):
        list_layers(data, f"a{suffix}")


SEEDS = [sign(), rig(), SCENES["instances"], SCENES["pivot and orientation"]]


@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(data=mutated(SEEDS))
def test_damaged_text_is_read_or_refused(data: bytes) -> None:
    found, refusal = attempt(compose, {NAME: data}, NAME)
    assert survey_gltf(found[0], NAME) if refusal is None else names(refusal, NAME)


def test_every_damaged_crate_is_read_or_refused(tmp_path: Path) -> None:
    from pxr import Sdf

    layer = Sdf.Layer.CreateAnonymous(".usda")
    layer.ImportFromString(rig().decode())
    layer.Export(str(tmp_path / "a.usdc"))
    crate = (tmp_path / "a.usdc").read_bytes()
    dotted = "encoders.kit.source.conversion:encode_composed_glb"
    # In a process of its own: the library is native code, and a crash is an error there.
    # Each failure costs an interpreter's start; tests/fuzz damages crates by the thousand.
    for cut in (60, len(crate) // 2):
        flipped = bytearray(crate)
        flipped[-cut] ^= 0xFF
        for data in (crate[:cut], bytes(flipped)):
            params = {"source": "a.usdc", "layers": []}
            found, refusal = attempt(call, dotted, {"a.usdc": data}, params)
            assert found["glb"] if refusal is None else names(refusal, "a.usdc")


def test_identity_is_no_transform() -> None:
    matrix = f"matrix4d xformOp:transform = {IDENTITY}\n"
    body = matrix + 'uniform token[] xformOpOrder = ["xformOp:transform"]'
    assert converted(usda(mesh(body=body)))[0] == converted(usda(mesh()))[0]


@pytest.mark.parametrize("name", ["normals", "primvars:st"])
def test_attribute_of_an_unknown_type_is_refused_by_its_name(name: str) -> None:
    text = usda(mesh("m", f"nosuch[] {name} = [(0, 0, 1)]"))
    _, error = attempt(converted, text)
    assert error is not None
    assert error.problem == "an attribute has a type that is not known"
    assert str(error.facts["attribute"]) == f"/m.{name}"
    assert error.facts["file"] == NAME


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"(0, 0, 5, 1)", b"(0, 0, inf, 1)"),  # of the mesh where it was bound
        (b"(0, 2, 0, 1)", b"(0, 1e300, 0, 1)"),  # of a joint
        (b"(9, 9, 9)", b"(9, 1e39, 9)"),  # of a prim
        (b"48: [(0, 2, 4)]", b"48: [(0, nan, 4)]"),
        (b"48: [(0.70710678, 0", b"48: [(inf, 0"),
    ],
)
def test_number_that_gltf_cannot_store_is_refused_with_the_file(before, after) -> None:
    assert before in rig()
    with np.errstate(all="raise"):
        _, error = attempt(converted, rig().replace(before, after))
    assert error is not None
    assert "out of range" in error.problem
    assert names(error, NAME)
