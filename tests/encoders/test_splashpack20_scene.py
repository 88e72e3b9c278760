"""Scenes of version 20 from meshes, textures and sounds: what the link and sound nodes write."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from PIL import Image

from encoders.kit.audio.adpcm import decode_adpcm
from encoders.kit.audio.wav_writer import encode_wav
from encoders.kit.error import EncodeError
from encoders.kit.view.draw import render_png
from encoders.kit.view.request import ViewRequest
from encoders.splashpack.node_layout import encode_layout
from encoders.splashpack.node_link20 import encode_scene20, trim_atlas
from encoders.splashpack.node_sound import encode_sound
from encoders.splashpack.scene_view import view_scene20
from encoders.splashpack.v20.budget import SceneCost, warn_of_cost
from encoders.splashpack.v20.camera import write_script
from encoders.splashpack.v20.view import decode_scene, export_obj, extract_scene, extract_spu
from pipeline.build.purity import pure
from tests.encoders.splashpack20_reader import drawn, read20, read_spu20, read_vram20
from tests.encoders.splashpack_reader import Console, rgb
from tests.encoders.splashpack_scene import VRAM, link, noise, plain, square, texture, warnings_of

NO_CAMERA = {"position": None, "rotation": None, "walk": False, "height": 1.8}
KEY = "a.png||128"


def tone(count: int = 500) -> np.ndarray:
    return np.rint(9000 * np.sin(np.arange(count) / 5)).astype(np.int16)


def sound(samples: np.ndarray, rate: int = 22050, **params) -> dict[str, bytes]:
    every = {"source": "a.wav", "loop": False, "rate": None, **params}
    with pure():
        return encode_sound({"sound": encode_wav(samples, rate)}, every)


def link20(textures: dict, meshes: list, sounds: dict | None = None, **params) -> dict[str, bytes]:
    """Lay out and link a scene; gives the outputs of the link."""
    inputs: dict[str, bytes] = {}
    for key, one in textures.items():
        inputs |= {f"{role}/{key}": one[role] for role in ("size", "words", "palette")}
    for number, one in enumerate(meshes):
        inputs |= {f"{role}/{number:05}": one[role] for role in ("objects", "triangles", "uses")}
    for number, one in enumerate((sounds or {}).values()):
        inputs |= {f"{role}/{number:05}": one[role] for role in ("clip", "about")}
    usual = {"scale": 1, "clear_color": [0, 0, 0], "fog": 0, "collider": False}
    every = {"scene": "hall", **VRAM, **usual, "camera": NO_CAMERA, "sounds": [*(sounds or {})]}
    every["sources"] = [f"source{number}" for number in range(len(meshes))]
    chosen = {name: data for name, data in inputs.items() if name.startswith(("size", "uses"))}
    with pure():
        inputs["layout"] = encode_layout(dict(sorted(chosen.items())), every)["layout"]
        return encode_scene20(dict(sorted(inputs.items())), {**every, **params})


def textured(picture=None, **params) -> dict[str, bytes]:
    picture = noise(8, 8) // 64 * 64 if picture is None else picture
    return link20({KEY: texture(picture, threshold=128)}, [square()], **params)


def beside(outputs: dict[str, bytes]):
    return {"a.vram": outputs["vram"], "a.spu": outputs["spu"]}.get


def grid(side: int) -> str:
    """An OBJ of a flat grid, two objects, without a material."""
    places = [(x / 10, y / 10, x * y % 3 / 10) for y in range(side + 1) for x in range(side + 1)]
    lines = ["v {} {} {}".format(*place) for place in places]
    lines.append("o first")
    for at in range(side * side):
        corner = at // side * (side + 1) + at % side + 1
        lines += ["o second"] if at == side * side // 2 else []
        lines.append(f"f {corner} {corner + 1} {corner + side + 2} {corner + side + 1}")
    return "\n".join(lines)


def test_textures_are_those_of_version_1_and_only_their_words_are_uploaded():
    picture = noise(8, 8) // 64 * 64
    encoded = {KEY: texture(picture, threshold=128)}
    new = link20(encoded, [square()])
    vram = read_vram20(new["vram"])
    (atlas,) = vram["atlases"]
    assert (atlas["x"], atlas["y"], atlas["width"], atlas["height"]) == (320, 0, 4, 8)
    pack = read20(new["pack"])
    assert [one[1:] for one in pack["atlases"]] == [(4, 8, 320, 0)]
    old = link(encoded, [square()])["pack"]
    # Triangles are the same 52 bytes, and every texel shows the same colour.
    (one,) = pack["objects"]
    assert new["pack"][236 : 236 + 104] in old
    console = Console({"atlases": [], "cluts": vram["cluts"]})
    for row in range(8):
        console.upload(320, row, atlas["words"][4 * row : 4 * row + 4])
    triangle = one["triangles"][0]
    shown = [[rgb(console.texel(triangle, u, v)) for u in range(8)] for v in range(8)]
    levels = (picture.astype(int) * 31 + 127) // 255
    assert shown[3][5] == tuple(int(one) << 3 | int(one) >> 2 for one in levels[3, 5])


def test_untextured_triangles_need_no_texel_and_have_full_colours():
    found = link20({}, [square("Kd 1 0.5 0")])
    (one,) = read20(found["pack"])["objects"]
    for triangle in one["triangles"]:
        assert triangle["page"] == 0xFFFF
        assert triangle["uv"] == [(0, 0)] * 3
        assert triangle["colors"] == [(255, 128, 0)] * 3
    assert found["vram"] == bytes.fromhex("56 52 00 00 00 00 00 00")
    assert found["spu"] == b"SA\0\0"


def test_an_odd_number_of_words_is_made_even_inside_of_the_atlas():
    atlas = (320, 0, 384, 256)
    assert trim_atlas(atlas, [(320, 0, 323, 5)]) == (320, 0, 324, 5)
    assert trim_atlas(atlas, [(383, 9, 384, 10)]) == (382, 9, 384, 10)
    assert trim_atlas(atlas, [(320, 0, 322, 5), (340, 7, 341, 8)]) == (320, 0, 341, 8)
    # A texture may lie in two atlases side by side.
    assert trim_atlas(atlas, [(300, 0, 330, 10)]) == (320, 0, 330, 10)
    assert trim_atlas(atlas, [(400, 0, 410, 10)]) is None


def test_a_scene_of_500_triangles_has_a_tree_and_a_smaller_one_has_none():
    small, large = (link20({}, [square("Kd 1 1 1", grid(side))]) for side in (15, 16))
    assert read20(small["pack"])["nodes"] == []
    found = read20(large["pack"])
    assert [one["name"] for one in found["objects"]] == ["first", "second"]
    assert sorted(drawn(found)) == [(n, row) for n in range(2) for row in range(256)]


def test_names_fog_and_colliders_are_those_of_the_manifest():
    mesh = square("Kd 1 1 1", grid(4))
    found = read20(link20({}, [mesh], clear_color=[9, 8, 7], fog=3, collider=["sec*"])["pack"])
    assert found["fog"] == (1, 9, 8, 7, 3)
    assert [one[8] for one in found["colliders"]] == [1]
    assert found["colliders"][0][:6] == found["objects"][1]["bounds"]
    every = read20(link20({}, [mesh], collider=True)["pack"])
    assert (len(every["colliders"]), every["fog"]) == (2, (0, 0, 0, 0, 5))
    with pytest.raises(EncodeError, match="more colliders than the runtime keeps"):
        link20({}, [mesh] * 33, collider=True)


def test_a_collider_that_no_object_matches_is_a_warning():
    found = link20({}, [square("Kd 1 1 1", grid(1))], collider=["sec*", "wal*"])
    (text,) = warnings_of(found)
    assert 'no object of the scene is called "wal*"' in text


def test_a_name_that_is_too_long_is_cut_at_a_whole_character():
    long = "ä" * 130
    found = link20({}, [square("Kd 1 1 1", grid(1).replace("o second", f"o {long}"))])
    assert "cut off after 254 bytes" in warnings_of(found)[0]
    assert read20(found["pack"])["objects"][-1]["name"] == long[:127]


def test_a_camera_is_placed_by_a_script():
    camera = {**NO_CAMERA, "position": [1, 2, -3], "rotation": [-45, 90, 0]}
    found = read20(textured(camera=camera, scale=4)["pack"])
    assert found["start"][:2] == ((-1024, -2048, -3072), (-1024, 2048, 0))
    assert found["script"].decode() == (
        "function onSceneCreationEnd()\n"
        "  Camera.SetPosition(Vec3.new(FixedPoint.newFromRaw(-1024), "
        "FixedPoint.newFromRaw(-2048), FixedPoint.newFromRaw(-3072)))\n"
        "  Camera.SetRotation(Vec3.new(FixedPoint.newFromRaw(-1024), "
        "FixedPoint.newFromRaw(2048), 0))\n"
        "end\n"
    )
    assert found["nav"] is None
    with pytest.raises(EncodeError, match="further out than the console can count"):
        textured(camera={**camera, "position": [33, 0, 0]}, scale=4)


def test_the_script_has_no_number_with_a_point():
    """The console's Lua reads whole numbers only, and refuses a script with `0.5` in it."""
    script = write_script((1, -2049, 8192), (-4095, 0, 4096)).decode()
    assert not re.search(r"\.\d", script)
    assert "newFromRaw(-2049), 2))" in script
    assert "newFromRaw(-4095), 0, 1))" in script


def test_a_walking_camera_has_a_floor_as_large_as_the_scene():
    camera = {**NO_CAMERA, "position": [0, 2, 0], "walk": True, "height": 1.5}
    floor = [square("Kd 1 1 1", "v 0 0 0\nv 1 0 0\nv 0 0 1\nf 1 3 2\n")]
    found = read20(link20({}, floor, camera=camera, scale=100)["pack"])
    (one,) = found["objects"]
    (x0, _, z0), (x1, _, z1) = one["bounds"][:3], one["bounds"][3:]
    assert found["nav"]["corners"] == [(x0, z0), (x1, z0), (x1, z1), (x0, z1)]
    # The eye is at y -82, and 61 = 1.5 / 100 below it is the floor.
    assert found["nav"]["floor"] == (0, 0, -82 + 61)
    assert found["start"][2:] == (61, 4, 8, 200, 819, 20)
    assert found["script"] == b""
    with pytest.raises(EncodeError, match="does not stand on the floor") as refused:
        link20({}, floor, camera={**camera, "position": [-1, 2, 0]}, scale=100)
    assert refused.value.facts["x of the floor"] == "0 to 100 units"
    # The square with a texture stands upright.
    with pytest.raises(EncodeError, match="nothing to walk on"):
        textured(camera=camera, scale=100)
    with pytest.raises(EncodeError, match="the player does not fit 16 bits"):
        link20({}, floor, camera={**camera, "position": None}, scale=0.01)


def draw_start(outputs):
    scene = view_scene20(outputs["pack"], "a.splashpack", beside(outputs))
    return render_png(scene, ViewRequest(camera="start"))


def test_the_camera_sees_what_lies_before_it():
    # The square spans 0 to 1 in x and y at z = 0, and is seen from +z.
    camera = {**NO_CAMERA, "position": [0.5, 0.5, 2], "rotation": [0, 180, 0]}
    outputs = textured(plain(8, 8, (255, 0, 0)), camera=camera, clear_color=[0, 0, 255])
    picture = draw_start(outputs)
    pixels = np.asarray(Image.open(io.BytesIO(picture)).convert("RGB"))
    assert pixels[120, 160].tolist() == [255, 0, 0]
    assert pixels[5, 5].tolist() == [0, 0, 255]
    # 120 / 2 pixels for one unit.
    assert 55 <= (pixels[120] == [255, 0, 0]).all(axis=1).sum() <= 62


def test_a_triangle_through_the_camera_is_split_and_drawn():
    obj = "v -9 -1 -5\nv 9 -1 -5\nv 0 -1 10\nf 1 3 2\nf 1 2 3\n"
    outputs = link20({}, [square("Kd 1 1 1", obj, scale=20)], scale=20)
    picture = draw_start(outputs)
    pixels = np.asarray(Image.open(io.BytesIO(picture)).convert("RGB"))
    assert (pixels[200, 150:170] == 255).all()


def test_exports_have_names_pages_and_the_script():
    camera = {**NO_CAMERA, "rotation": [0, 10, 0]}
    outputs = textured(camera=camera)
    files = extract_scene(outputs["pack"], "a.splashpack", beside(outputs))
    assert sorted(files) == ["page_5_0_8bpp_clut_0_240.png", "scene.lua", "vram.png"]
    obj = export_obj(outputs["pack"], "a.splashpack", beside(outputs))["mesh.obj"].decode()
    assert obj.count("\nf ") == 2
    with pytest.raises(EncodeError, match="textures are missing"):
        view_scene20(outputs["pack"], "a.splashpack", {}.get)


def test_a_sound_is_heard_as_it_was_and_ends_on_silence():
    outputs = textured(sounds={"bell": sound(tone()), "hum": sound(tone(280), loop=True)})
    pack = read20(outputs["pack"])
    first, second = read_spu20(outputs["spu"])
    assert pack["sounds"] == [("bell", 20 * 16, 22050, 0), ("hum", 160, 22050, 1)]
    assert first[2][1::16] == bytes([*[0] * 19, 5])
    assert second[2][1::16] == bytes([4, *[0] * 8, 3])
    heard = decode_adpcm(first[2])[28:528].astype(float)
    loss = ((heard - tone()) ** 2).sum() / (tone().astype(float) ** 2).sum()
    assert 10 * np.log10(loss) < -25
    assert sorted(extract_spu(outputs["spu"], "a.spu")) == ["clip_0.wav", "clip_1.wav"]
    assert decode_scene(outputs["pack"], "a.splashpack", beside(outputs))["warnings"] == []


def test_a_loop_is_fitted_to_whole_blocks_at_a_rate_that_keeps_its_pitch():
    found = read_spu20(textured(sounds={"a": sound(tone(500), loop=True)})["spu"])[0]
    assert len(found[2]) == 18 * 16
    assert found[0] == round(22050 * 504 / 500)


def test_losses_of_a_sound_are_warnings_and_a_wanted_rate_is_none():
    assert warnings_of(sound(tone(), rate=11025)) == []
    (fast,) = warnings_of(sound(tone(), 48000))
    assert fast == "resampled from 48000 to 44100 Hz [sound]"
    with pytest.raises(EncodeError, match="the sound is missing"):
        encode_sound({}, {"source": "a.wav", "loop": False, "rate": None})


def test_the_budgets_are_in_the_report():
    report = textured(sounds={"bell": sound(tone())})["report"].decode().splitlines()
    assert report[0] == "objects 1, triangles 2, sounds 1"
    assert [line.split()[0] for line in report[1:]] == ["VRAM", "RAM", "SPU", "primitives", "sound"]
    assert "320 of   520,176 bytes" in report[3]
    assert report[2].endswith("%, the largest of 3 files")
    assert "80 of   194,296 bytes" in report[4]
    fog = textured(fog=1)["report"].decode().splitlines()
    assert "136 of   194,296 bytes" in fog[4]


def cost(**more) -> SceneCost:
    usual = {"textured": 0, "untextured": 0, "has_fog": False, "files": (1, 2, 3), "spu": 0}
    return SceneCost(**{**usual, "uploads": [], "taken": [], **more})


@pytest.mark.parametrize(
    ("most", "more"),
    [
        ({"textured": 4857}, {"textured": 4858}),
        ({"untextured": 6939}, {"untextured": 6940}),
        ({"textured": 2857, "has_fog": True}, {"textured": 2858, "has_fog": True}),
        ({"files": (1_090_000, 9, 9)}, {"files": (9, 1_090_001, 9)}),
    ],
)
def test_more_than_a_frame_or_the_memory_holds_is_a_warning(most, more):
    before, after = ([*warn_of_cost(cost(**one))] for one in (most, more))
    assert len(after) == len(before) + 1
    assert all(one.endswith("[budget]") for one in after)


def test_more_than_the_tree_gives_in_a_frame_is_a_warning():
    assert [*warn_of_cost(cost(untextured=4096))] == []
    (found,) = warn_of_cost(cost(untextured=4097))
    assert found.startswith("4,097 triangles: the runtime draws no more than 4,096")


def test_the_same_inputs_give_the_same_bytes():
    one, two = (link20({}, [square("Kd 1 1 1", grid(16))]) for _ in range(2))
    assert one == two
