"""Materials and textures: slots, names, what is copied and what is made anew, and `.utex`."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest
from PIL import Image

from encoders.kit.error import EncodeError
from encoders.untold.format.layout import ASTC_4X4, ASTC_6X6
from encoders.untold.texture.utex import HEADER, MIP, Utex, decode_utex, pack_utex, unpack_utex
from tests.encoders.untold_scene import Scene, build, grid_arrays, plain, png

GLB = "assets/city.glb"
PACKED = png(np.dstack([np.full((4, 4), one, np.uint8) for one in (10, 20, 30)]))


def textured(image: bytes, material: dict | None = None, **texture) -> Scene:
    """A sheet whose material shows an image inside of the file."""
    scene = Scene()
    scene.image(image)
    scene.add("textures", source=0)
    record = {
        "name": "paint",
        "pbrMetallicRoughness": {"baseColorTexture": {"index": 0, **texture}},
    }
    number = scene.add("materials", **{**record, **(material or {})})
    scene.shape("sheet", grid_arrays(2, 8), number)
    scene.put("sheet", "sheet", translation=[1, 0, -1])
    return scene


def textures_of(built) -> dict[str, bytes]:
    return {name: data for name, data in built.files.items() if "/Textures/" in name}


def decoded(data: bytes) -> np.ndarray:
    return np.array(Image.open(io.BytesIO(data)))


def test_texture_is_named_by_its_content_and_copied():
    image = plain(8, 4, (10, 200, 30))
    built = build({GLB: textured(image).glb()})
    ((name, data),) = textures_of(built).items()
    assert data == image
    assert name.startswith("city/Textures/city_image0_")
    (texture,) = built.read("tile_0_0_0")["textures"]
    assert texture["uri"] == name.removeprefix("city/")
    assert (texture["format"], texture["flags"], texture["size"], texture["mips"]) == (
        0,
        1,
        (8, 4),
        1,
    )
    assert built.read("tile_0_0_0_hlod")["textures"] == [texture]


def test_equal_images_have_equal_names_and_others_have_not():
    names = [
        set(textures_of(build({GLB: textured(image).glb()})))
        for image in (plain(2, 2), plain(2, 2), plain(2, 2, (1, 2, 3)))
    ]
    assert names[0] == names[1] != names[2]


def test_metal_and_roughness_become_two_grey_images():
    material = {
        "name": "metal",
        "pbrMetallicRoughness": {"metallicRoughnessTexture": {"index": 0}, "metallicFactor": 0.5},
    }
    built = build({GLB: textured(PACKED, material).glb()})
    found = {name.split("_")[-2]: decoded(data) for name, data in textures_of(built).items()}
    assert {kind: int(one[0, 0]) for kind, one in found.items()} == {
        "metallic": 30,
        "roughness": 20,
    }
    assert all(one.ndim == 2 for one in found.values())
    tile = built.read("tile_0_0_0")
    (record,) = tile["materials"]
    assert (record["metallic"], record["roughness"]) == (0.5, 1.0)
    uris = {slot: tile["textures"][index]["uri"] for slot, index in record["textures"].items()}
    assert "metallic" in uris["metallic"]
    assert "roughness" in uris["roughness"]
    assert record["reserved"] == (0, 0)


def test_every_slot_of_a_material_is_written():
    scene = Scene()
    for color in ((1, 2, 3), (128, 128, 255), (0, 90, 80), (9, 9, 0), (70, 0, 0)):
        scene.image(plain(2, 2, color))
        scene.add("textures", source=len(scene.json["images"]) - 1)
    number = scene.add(
        "materials",
        name="all",
        pbrMetallicRoughness={
            "baseColorTexture": {"index": 0},
            "metallicRoughnessTexture": {"index": 2},
            "baseColorFactor": [0.5, 0.25, 1, 0.75],
            "roughnessFactor": 0.25,
        },
        normalTexture={"index": 1, "scale": 0.5},
        emissiveTexture={"index": 3},
        emissiveFactor=[1, 1, 1],
        occlusionTexture={"index": 4, "strength": 0.75},
        alphaMode="MASK",
        alphaCutoff=0.25,
    )
    scene.shape("sheet", grid_arrays(2, 8), number)
    scene.put("sheet", "sheet", translation=[1, 0, -1])
    tile = build({GLB: scene.glb()}, format_version=4).read("tile_0_0_0")
    (record,) = tile["materials"]
    slots = ("base_color", "normal", "metallic", "roughness", "emissive", "occlusion")
    assert record["textures"] == {slot: place for place, slot in enumerate(slots)}
    assert [one["flags"] for one in tile["textures"]] == [1, 2, 0, 0, 0x41, 0x80]
    assert record["color"] == (0.5, 0.25, 1, 0.75)
    assert (record["flags"], record["cutoff"]) == (1, 0.25)
    assert (record["normal_scale"], record["occlusion"]) == (0.5, 0.75)
    assert (record["metallic"], record["roughness"]) == (1, 0.25)


@pytest.mark.parametrize(("mode", "flags"), [("OPAQUE", 0), ("MASK", 1), ("BLEND", 2)])
def test_alpha_mode_is_in_the_flags(mode, flags):
    built = build({GLB: textured(plain(2, 2), {"alphaMode": mode}).glb()})
    assert built.read("tile_0_0_0")["materials"][0]["flags"] == flags


def test_black_is_as_dark_as_the_engine_shows_it():
    black = {"pbrMetallicRoughness": {"baseColorFactor": [0, 0, 0, 1]}}
    built = build({GLB: textured(plain(2, 2), black).glb()})
    color = built.read("tile_0_0_0")["materials"][0]["color"]
    assert color == (pytest.approx(0.0011),) * 3 + (1,)


def test_transform_of_a_texture_is_baked():
    move = {"KHR_texture_transform": {"offset": [0.25, 0.5], "scale": [0.5, 0.25]}}
    built = build({GLB: textured(plain(2, 2), extensions=move).glb()})
    mesh = built.read("tile_0_0_0")["meshes"][0]
    u = (mesh["position"][:, 0] - 1) / 8
    v = 1 + (mesh["position"][:, 2] + 1) / 8
    expected = np.stack([0.25 + 0.5 * u, 1 - (0.5 + 0.25 * v)], axis=1)
    assert np.abs(mesh["uv"] - expected).max() < 1e-3


def test_second_coordinates_are_taken_where_the_texture_asks():
    scene = textured(plain(2, 2), texCoord=1)
    uv = grid_arrays(2, 8)[2]
    primitive = scene.json["meshes"][0]["primitives"][0]
    primitive["attributes"]["TEXCOORD_1"] = scene.accessor(uv * 0.5)
    mesh = build({GLB: scene.glb()}).read("tile_0_0_0")["meshes"][0]
    assert np.allclose(mesh["uv"], mesh["uv1"])
    assert mesh["uv"][:, 0].max() == 0.5


def test_what_the_engine_does_not_show_is_a_warning():
    material = {
        "name": "odd",
        "doubleSided": True,
        "normalTexture": {"index": 0, "texCoord": 1},
        "extensions": {"KHR_materials_unlit": {}},
    }
    scene = textured(plain(2, 2), material)
    scene.add("samplers", wrapS=33071)
    scene.json["textures"][0]["sampler"] = 0
    warnings = "\n".join(build({GLB: scene.glb()}).warnings)
    for word in ("double-sided", "unlit", "coordinates of its own", "does not repeat"):
        assert 'material "odd" ' in warnings
        assert word in warnings


@pytest.mark.parametrize("kind", ["palette", "16 bits", "key"])
def test_png_that_the_engine_cannot_load_is_made_anew(kind):
    stream = io.BytesIO()
    if kind == "palette":
        Image.new("P", (2, 2), 0).save(stream, "PNG")
    elif kind == "16 bits":
        Image.new("I;16", (2, 2), 65535).save(stream, "PNG")
    else:
        Image.new("RGB", (2, 2), (1, 2, 3)).save(stream, "PNG", transparency=(1, 2, 3))
    built = build({GLB: textured(stream.getvalue()).glb()})
    ((_, data),) = textures_of(built).items()
    assert data != stream.getvalue()
    assert (kind == "16 bits") == any("16 bits" in one for one in built.warnings)
    assert Image.open(io.BytesIO(data)).mode in ("RGB", "RGBA")
    assert (kind == "key") == (Image.open(io.BytesIO(data)).mode == "RGBA")


def test_jpeg_stays_a_jpeg():
    stream = io.BytesIO()
    Image.new("RGB", (8, 8), (9, 9, 200)).save(stream, "JPEG")
    scene = textured(stream.getvalue())
    scene.json["images"][0]["mimeType"] = "image/jpeg"
    ((name, data),) = textures_of(build({GLB: scene.glb()})).items()
    assert name.endswith(".jpg")
    assert data == stream.getvalue()


@pytest.mark.parametrize("kind", ["turned", "CMYK"])
def test_jpeg_that_a_plain_reader_would_show_otherwise_becomes_a_png(kind: str):
    stream = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6 if kind == "turned" else 1
    mode = "CMYK" if kind == "CMYK" else "RGB"
    Image.new(mode, (16, 8)).save(stream, "JPEG", exif=exif.tobytes())
    ((name, data),) = textures_of(build({GLB: textured(stream.getvalue()).glb()})).items()
    assert name.endswith(".png")
    assert Image.open(io.BytesIO(data)).size == ((8, 16) if kind == "turned" else (16, 8))


OBJ = (
    "mtllib a.mtl\nusemtl m\nv 1 0 -1\nv 2 0 -1\nv 1 1 -1\nvt 0 0\nvt 1 0\nvt 0 1\nf 1/1 2/2 3/3\n"
)


def obj(mtl: str, **images: bytes) -> dict[str, bytes | str]:
    files = {f"assets/{name}.png": data for name, data in images.items()}
    return {"assets/a.obj": OBJ, "assets/a.mtl": f"newmtl m\n{mtl}\n", **files}


def test_alpha_map_becomes_the_alpha_of_the_base_colour():
    mask = png([[0, 255], [255, 0]])
    built = build(obj("map_Kd a.png\nmap_d d.png", a=plain(2, 2, (9, 8, 7)), d=mask))
    ((_, data),) = textures_of(built).items()
    assert decoded(data)[..., 3].tolist() == [[0, 255], [255, 0]]
    assert decoded(data)[0, 0, :3].tolist() == [9, 8, 7]
    assert built.read("tile_0_0_0")["materials"][0]["flags"] == 1


def test_alpha_map_alone_cuts_a_white_surface():
    built = build(obj("map_d d.png", d=png([[0, 255], [255, 0]])))
    ((_, data),) = textures_of(built).items()
    assert decoded(data)[0, 0].tolist() == [255, 255, 255, 0]


def test_material_of_mtl_is_cut_out_only_where_its_image_has_holes():
    full = build(obj("map_Kd a.png", a=plain(2, 2)))
    assert full.read("tile_0_0_0")["materials"][0]["flags"] == 0
    holes = build(obj("map_Kd a.png", a=plain(2, 2, (1, 2, 3, 0))))
    assert holes.read("tile_0_0_0")["materials"][0]["flags"] == 1


def test_maps_of_mtl_reach_their_slots():
    mtl = "map_Kd a.png\nmap_Pm m.png\nmap_Pr r.png\nmap_Ke e.png\nnorm n.png\nmap_Bump b.png"
    images = {key: plain(2, 2, (50 + n, 1, 2)) for n, key in enumerate("amrenb")}
    built = build(obj(mtl, **images))
    tile = built.read("tile_0_0_0")
    (record,) = tile["materials"]
    stems = {
        slot: tile["textures"][n]["name"].split("_")[0] for slot, n in record["textures"].items()
    }
    assert stems == {
        "base_color": "a",
        "normal": "n",
        "metallic": "m",
        "roughness": "r",
        "emissive": "e",
    }
    assert (record["metallic"], record["roughness"], record["emissive"]) == (1, 1, (1, 1, 1))
    assert any("bump map" in one for one in built.warnings)


def test_plain_material_of_mtl_has_the_engine_s_defaults():
    built = build(obj("Kd 0.5 0.5 0.5"))
    (record,) = built.read("tile_0_0_0")["materials"]
    assert (record["metallic"], record["roughness"], record["flags"]) == (0, 0.5, 0)


def test_images_of_one_name_have_textures_of_two():
    files = obj("map_Kd x/wood.png\nmap_Ke y/wood.png")
    files |= {"assets/x/wood.png": plain(2, 2), "assets/y/wood.png": plain(2, 2, (1, 2, 3))}
    names = sorted(name.rpartition("_")[0] for name in textures_of(build(files)))
    assert names == ["city/Textures/wood", "city/Textures/wood-2"]


def test_name_of_a_texture_needs_no_escape_in_an_address():
    files = obj("map_Kd my wood & \u00e4.png")
    files["assets/my wood & \u00e4.png"] = plain(2, 2)
    (name,) = textures_of(build(files))
    assert name.startswith("city/Textures/my_wood____")
    assert name.isascii()


def test_missing_image_is_told_as_the_user_knows_it():
    with pytest.raises(EncodeError) as caught:
        build(obj("Kd 1 1 1\nmap_Kd wood.png"))
    assert caught.value.problem == "texture not found"
    assert caught.value.facts == {
        "asset": 'assets/a.obj, material "m"',
        "file": "assets/wood.png",
        "named in": "assets/a.mtl, line 3",
    }
    assert caught.value.hint == "Add the image, or take `map_Kd` out of the material."


def test_missing_image_of_gltf_names_the_material():
    scene = textured(plain(2, 2))
    scene.json["images"][0] = {"uri": "wood.png"}
    with pytest.raises(EncodeError) as caught:
        build({GLB: scene.glb()})
    assert caught.value.facts["named in"] == f"{GLB}, materials[0], base_color texture"
    assert caught.value.hint == "Add the image, or take the texture out of the material."


def small_utex(width: int = 8, height: int = 4) -> Utex:
    sizes = [(8, 4), (4, 2), (2, 1), (1, 1)]
    levels = [bytes([n]) * (-(-w // 4) * -(-h // 4) * 16) for n, (w, h) in enumerate(sizes)]
    return Utex(width, height, 186, 1, tuple(levels))


def test_utex_by_hand():
    expected = """
    55 54 45 58 00 00 00 00  01 00 00 00  01 00 00 00  # magic, version, has alpha
    08 00 00 00  04 00 00 00  04 00 00 00  BA 00 00 00 # 8 x 4, 4 levels, ASTC 4x4 sRGB
    04 04 00 00  80 00 00 00  50 00 00 00              # blocks, payload at 128, 80 bytes
    00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
    00 00 00 00  20 00 00 00  08 00 00 00  04 00 00 00 # level 0: two blocks
    20 00 00 00  10 00 00 00  04 00 00 00  02 00 00 00
    30 00 00 00  10 00 00 00  02 00 00 00  01 00 00 00
    40 00 00 00  10 00 00 00  01 00 00 00  01 00 00 00
    """
    text = "".join(line.partition("#")[0] for line in expected.splitlines())
    payload = bytes(32) + b"\1" * 16 + b"\2" * 16 + b"\3" * 16
    data = pack_utex(small_utex(), "a")
    assert data == bytes.fromhex(text) + payload
    assert unpack_utex(data, "a") == small_utex()
    assert decode_utex(data, "a")["blocks"] == "ASTC 4x4"


@pytest.mark.parametrize(
    ("offset", "value"),
    [
        *((0, 1), (8, 2), (12, 8), (16, 9), (24, 0), (24, 5), (28, 80), (32, 5), (36, 64)),
        *((40, 0), (44, 1), (64, 16), (68, 16), (72, 9), (76, 5), (84, 32)),
    ],
)
def test_broken_utex_is_refused(offset, value):
    data = bytearray(pack_utex(small_utex(), "a"))
    struct.pack_into("<I", data, offset, value)
    with pytest.raises(EncodeError):
        unpack_utex(bytes(data), "a")


def test_every_cut_or_longer_utex_is_refused():
    data = pack_utex(small_utex(), "a")
    for broken in [data[:size] for size in range(len(data))] + [data + b"\0"]:
        with pytest.raises(EncodeError):
            unpack_utex(broken, "a")
    assert (HEADER.size, MIP.size) == (64, 16)


def test_astc_without_its_library_is_refused_with_a_hint(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "astc_encoder", None)
    with pytest.raises(EncodeError) as caught:
        build({GLB: textured(plain(4, 4)).glb()}, textures="astc")
    assert "library" in caught.value.facts
    assert "pip install" in caught.value.hint


def test_astc_blocks_decode_to_the_picture():
    pytest.importorskip("astc_encoder")
    import texture2ddecoder

    y, x = np.mgrid[0:37, 0:50]
    picture = np.dstack([x * 5, y * 6, 255 - x * 2]).astype(np.uint8)
    built = build({GLB: textured(png(picture)).glb()}, textures="astc")
    ((name, data),) = textures_of(built).items()
    assert name.endswith(".utex")
    utex = unpack_utex(data, name)
    assert (utex.width, utex.height, utex.pixel_format, len(utex.levels)) == (50, 37, 186, 6)
    shown = np.frombuffer(texture2ddecoder.decode_astc(utex.levels[0], 50, 37, 4, 4), np.uint8)
    bgr = shown.reshape(37, 50, 4)[..., 2::-1].astype(int)
    assert np.abs(bgr - picture).mean() < 2
    (texture,) = built.read("tile_0_0_0")["textures"]
    assert (texture["format"], texture["mips"], texture["size"]) == (ASTC_4X4, 6, (50, 37))


def test_grey_textures_have_larger_blocks_and_light_is_averaged_as_light():
    pytest.importorskip("astc_encoder")
    import texture2ddecoder

    material = {"pbrMetallicRoughness": {"metallicRoughnessTexture": {"index": 0}}}
    built = build({GLB: textured(PACKED, material).glb()}, textures="astc")
    assert {one["format"] for one in built.read("tile_0_0_0")["textures"]} == {ASTC_6X6}
    checks = np.indices((8, 8)).sum(axis=0) % 2 * 255
    built = build({GLB: textured(png(np.dstack([checks] * 3))).glb()}, textures="astc")
    ((name, data),) = textures_of(built).items()
    level = unpack_utex(data, name).levels[1]
    shown = np.frombuffer(texture2ddecoder.decode_astc(level, 4, 4, 4, 4), np.uint8)
    assert abs(int(shown[0]) - 188) <= 1
