"""Lights and cameras of FBX and USD files in models of untold, against the libraries' own view."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from encoders.kit.isolate import use_scratch
from encoders.kit.source.conversion import compose
from encoders.untold.view import decode_untold
from pipeline.process.isolate import call
from pipeline.process.scratch import install_scratch
from tests.encoders.untold_model import Built, build_model
from tests.kit.fbx_maker import Fbx, sign
from tests.kit.usd_maker import mesh, usda

UNITS = [(1.0, False), (0.01, True)]


def glb_json(glb: bytes) -> dict:
    (length,) = struct.unpack_from("<I", glb, 12)
    return json.loads(glb[20 : 20 + length])


def lit(built: Built) -> tuple[dict[str, dict], dict[str, dict]]:
    """The lights and the cameras of a model by name."""
    found = decode_untold(built.files["hero.untold"], "hero.untold")
    lights = {one["name"]: one for one in found.get("lights", ())}
    return lights, {one["name"]: one for one in found.get("cameras", ())}


def lit_fbx(metres: float, z_up: bool) -> Fbx:
    fbx = sign(texture="", unit=metres * 100, z_up=z_up)
    place = {"at": (1, 2, 3), "turn": (30, 40, 50)}
    fbx.attribute(700, "lamp", "Light", **place, LightType=[0], Intensity=[250], Color=(1, 0.5, 0))
    fbx.attribute(701, "sun", "Light", **place, LightType=[1], Intensity=[300])
    cone = {"InnerAngle": [20], "OuterAngle": [60]}
    far = {"EnableFarAttenuation": [1], "FarAttenuationEnd": [400]}
    fbx.attribute(702, "spot", "Light", **place, LightType=[2], Intensity=[100], **cone, **far)
    lens = {"FieldOfView": [40], "AspectWidth": [320], "AspectHeight": [200]}
    fbx.attribute(703, "eye", "Camera", **place, **lens, NearPlane=[10], FarPlane=[4000])
    return fbx


@pytest.mark.usefixtures("forked_decoders")
@pytest.mark.parametrize(("metres", "z_up"), UNITS)
def test_lights_and_cameras_of_fbx_are_those_that_ufbx_sees(metres, z_up):
    pytest.importorskip("ufbx")
    data = lit_fbx(metres, z_up).data()
    seen = call("tests.kit.fbx_view:view_lights", data, "a.fbx")
    glb = call("encoders.kit.source.conversion:encode_glb", {"source": data}, {"source": "a.fbx"})
    lights, cameras = lit(build_model({"a.glb": glb["glb"]}))
    kinds = {name: one["type"] for name, one in lights.items()}
    assert kinds == {"lamp": "point", "sun": "directional", "spot": "spot"}
    for name, light in lights.items():
        # In watts, as the library's number is taken.
        color = np.array(light["color"]) * light["intensity"]
        assert color == pytest.approx(np.array(seen[name]["color"]) * seen[name]["intensity"])
        assert light["position"] == pytest.approx(seen[name]["position"], rel=1e-5)
    for name in ("sun", "spot"):
        assert lights[name]["direction"] == pytest.approx(seen[name]["forward"], abs=1e-5)
    halves = [angle / 2 for angle in seen["spot"]["angles"]]
    assert lights["spot"]["cones"] == pytest.approx(halves, rel=1e-4)
    assert lights["spot"]["range"] == pytest.approx(400 * metres)
    assert_camera(cameras["eye"], seen["eye"])


def assert_camera(camera: dict, seen: dict) -> None:
    assert camera["fov_y_degrees"] == pytest.approx(seen["fov_y"], rel=1e-5)
    assert camera["clip"] == pytest.approx(seen["clip"], rel=1e-5)
    assert camera["aspect_ratio"] == pytest.approx(seen["aspect"], rel=1e-5)
    assert camera["position"] == pytest.approx(seen["position"], rel=1e-5)
    assert camera["forward"] == pytest.approx(seen["forward"], abs=1e-5)
    assert camera["up"] == pytest.approx(seen["up"], abs=1e-5)


@pytest.mark.usefixtures("forked_decoders")
def test_lights_of_fbx_that_gltf_has_no_word_for_are_a_warning_of_those_who_take_lights():
    pytest.importorskip("ufbx")
    fbx = sign(texture="")
    fbx.attribute(700, "panel", "Light", LightType=[3])
    fbx.attribute(701, "off", "Light", CastLight=[0])
    fbx.attribute(702, "plan", "Camera", CameraProjectionType=[1])
    fbx.attribute(703, "Producer Front", "Camera")
    fbx.attribute(704, "blind", "Camera", NearPlane=[5], FarPlane=[1])
    encode = "encoders.kit.source.conversion:encode_glb"
    made = call(encode, {"source": fbx.data()}, {"source": "a.fbx"})
    assert list(made) == ["glb"]
    built = build_model({"a.glb": made["glb"]})
    assert lit(built) == ({}, {})
    found = " ".join(built.warnings)
    for kind in ("area light", "orthographic camera", "camera that sees nothing"):
        assert f"1 of type {kind}, left out" in found
    assert not build_model({"a.glb": made["glb"]}, lights=False).warnings


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[None]:
    pytest.importorskip("pxr")
    install_scratch(str(tmp_path / "scratch"))
    yield
    use_scratch(None)


PLACE = """double3 xformOp:translate = (1, 2, 3)
float3 xformOp:rotateXYZ = (30, 40, 50)
uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateXYZ"]
"""
SHAPING = 'prepend apiSchemas = ["ShapingAPI"]'


def prim(kind: str, name: str, body: str = "", meta: str = "") -> str:
    return f'def {kind} "{name}" ({meta})\n{{\n{PLACE}{body}\n}}\n'


STAGE = (
    mesh()
    + prim("SphereLight", "bulb", "float inputs:intensity = 50\nfloat inputs:radius = 0.2")
    + prim("SphereLight", "even", "float inputs:intensity = 8\nbool inputs:normalize = 1")
    + prim(
        "SphereLight",
        "spot",
        "float inputs:intensity = 8\nfloat inputs:exposure = 2\nbool inputs:normalize = 1\n"
        "float inputs:shaping:cone:angle = 30\nfloat inputs:shaping:cone:softness = 0.25\n"
        "color3f inputs:color = (2, 1, 0)",
        SHAPING,
    )
    + prim("SphereLight", "round", "float inputs:shaping:cone:angle = 180", SHAPING)
    + prim("DistantLight", "sun", "float inputs:intensity = 700\nbool inputs:normalize = 1")
    + prim("DistantLight", "disk", "float inputs:intensity = 50000\nfloat inputs:angle = 2")
    + prim(
        "Camera",
        "eye",
        "float focalLength = 35\nfloat horizontalAperture = 32\nfloat verticalAperture = 20\n"
        "float2 clippingRange = (0.5, 80)",
    )
)


def seen_usd(data: bytes, name: str) -> dict:
    """Where usd-core puts a prim, in metres with y upwards, and what its frustum spans."""
    from pxr import Gf, Usd, UsdGeom

    stage = Usd.Stage.CreateInMemory()
    stage.GetRootLayer().ImportFromString(data.decode())
    found = stage.GetPrimAtPath(f"/{name}")
    metres = UsdGeom.GetStageMetersPerUnit(stage)
    world = UsdGeom.Xformable(found).ComputeLocalToWorldTransform(Usd.TimeCode.Default())
    forward, up = (world.TransformDir(Gf.Vec3d(*one)) for one in ((0, 0, -1), (0, 1, 0)))
    vectors = [forward, up, world.ExtractTranslation()]
    if UsdGeom.GetStageUpAxis(stage) == "Z":
        vectors = [(one[0], one[2], -one[1]) for one in vectors]
    seen = dict(zip(("forward", "up"), map(list, vectors), strict=False))
    seen["position"] = [one * metres for one in vectors[2]]
    if found.IsA(UsdGeom.Camera):
        window = UsdGeom.Camera(found).GetCamera(Usd.TimeCode.Default()).frustum
        (low, high), span = (window.window.min, window.window.max), window.nearFar
        seen["fov_y"] = np.degrees(2 * np.arctan(high[1]))
        seen["aspect"] = (high[0] - low[0]) / (high[1] - low[1])
        seen["clip"] = [span.min * metres, span.max * metres]
    return seen


@pytest.mark.parametrize(("metres", "z_up"), UNITS)
def test_lights_and_cameras_of_usd_are_those_that_the_library_sees(scratch, metres, z_up):
    data = usda(STAGE, unit=metres, axis="Z" if z_up else "Y")
    glb, warnings = compose({"a.usda": data}, "a.usda")
    assert warnings == ()
    lights, cameras = lit(build_model({"a.glb": glb}))
    for name, light in lights.items():
        assert light["position"] == pytest.approx(seen_usd(data, name)["position"], rel=1e-5)
        assert light["direction"] == pytest.approx(seen_usd(data, name)["forward"], abs=1e-5)
    assert_camera(cameras["eye"], seen_usd(data, "eye"))
    kinds = {name: one["type"] for name, one in lights.items()}
    points = dict.fromkeys(("bulb", "even", "round"), "point")
    assert kinds == {**points, "spot": "spot", "sun": "directional", "disk": "directional"}
    assert lights["spot"]["cones"] == pytest.approx([22.5, 30])
    assert lights["spot"]["color"] == pytest.approx([1, 0.5, 0])


def test_nits_of_usd_become_candela_by_the_disk_that_is_seen_and_lux_by_the_sky(scratch):
    glb, _ = compose({"a.usda": usda(STAGE)}, "a.usda")
    document = glb_json(glb)
    lights = {one["name"]: one for one in document["extensions"]["KHR_lights_punctual"]["lights"]}
    # 50 nits over a disk of 0.2 m; a fourth of the sphere's area; 2 stops and twice the colour.
    candela = {"bulb": 50 * np.pi * 0.04, "even": 2.0, "spot": 8 * 4 * 2 / 4}
    # A disk of two degrees is nearly pi * 0.01745 ** 2 steradians.
    lux = {"sun": 700.0, "disk": 50000 * 0.00095691}
    found = {name: lights[name]["intensity"] for name in {**candela, **lux}}
    assert found == pytest.approx({**candela, **lux}, rel=1e-4)


def test_a_scaled_sphere_light_of_usd_shines_by_its_size_in_the_world(scratch):
    big = 'def Xform "big"\n{\ndouble3 xformOp:scale = (3, 3, 3)\n'
    big += 'uniform token[] xformOpOrder = ["xformOp:scale"]\n'
    body = "float inputs:intensity = 1\nfloat inputs:radius = 0.5"
    glb, _ = compose({"a.usda": usda(big + prim("SphereLight", "l", body) + "}")}, "a.usda")
    (light,) = glb_json(glb)["extensions"]["KHR_lights_punctual"]["lights"]
    assert light["intensity"] == pytest.approx(np.pi * 1.5**2)


def test_a_light_of_usd_in_candlelight_has_the_colour_of_the_library(scratch):
    from pxr import UsdLux

    body = "bool inputs:enableColorTemperature = 1\nfloat inputs:colorTemperature = 1900"
    glb, _ = compose({"a.usda": usda(prim("DistantLight", "l", body))}, "a.usda")
    (light,) = glb_json(glb)["extensions"]["KHR_lights_punctual"]["lights"]
    seen = np.array(UsdLux.BlackbodyTemperatureAsRgb(1900))
    assert light["color"] == pytest.approx((seen / seen.max()).tolist(), rel=1e-5)


def test_lights_of_usd_that_gltf_has_no_word_for_are_a_warning_of_those_who_take_lights(scratch):
    kinds = ("DomeLight", "RectLight", "RectLight", "DiskLight", "CylinderLight")
    body = "".join(prim(kind, f"l{number}") for number, kind in enumerate(kinds))
    body += prim("Camera", "plan", 'token projection = "orthographic"')
    body += prim("SphereLight", "hidden", 'token visibility = "invisible"')
    body += prim("SphereLight", "inf", "float inputs:intensity = inf")
    glb, warnings = compose({"a.usda": usda(mesh() + body)}, "a.usda")
    assert warnings == ()
    built = build_model({"a.glb": glb})
    assert lit(built) == ({}, {})
    found = " ".join(built.warnings)
    assert "2 of type RectLight, left out" in found
    for kind in ("DomeLight", "DiskLight", "CylinderLight", "orthographic camera", "damaged light"):
        assert f"1 of type {kind}, left out" in found
    assert not build_model({"a.glb": glb}, lights=False).warnings


def test_a_stage_without_lights_is_converted_as_ever(scratch):
    glb, _ = compose({"a.usda": usda(mesh())}, "a.usda")
    assert {"cameras", "extras"}.isdisjoint({*glb_json(glb), *glb_json(glb)["asset"]})
