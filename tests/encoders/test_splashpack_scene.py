"""Layout and link: sharing, keeping places, the error when VRAM is full, the picture of VRAM."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from PIL import Image

from encoders.kit.error import EncodeError
from encoders.kit.view.draw import render_png
from encoders.kit.view.request import ViewRequest
from encoders.splashpack.scene_view import view_splashpack
from encoders.splashpack.target import CAMERA, SCENE, SOUND, TEXTURE
from encoders.splashpack.target import VRAM as VRAM_TABLE
from encoders.splashpack.view import export_obj, extract_pictures
from tests.encoders.splashpack_minimum import minimum_bytes
from tests.encoders.splashpack_reader import Console, read
from tests.encoders.splashpack_scene import (
    SQUARE,
    layout,
    link,
    mesh,
    noise,
    objects,
    plain,
    square,
    texture,
    warnings_of,
)
from tests.encoders.test_splashpack_format import DOCS


def textures(count: int, side: int = 64, **params) -> dict[str, bytes]:
    return {
        f"{number:02}.png||0": texture(
            noise(side, side, number), color=f"{number:02}.png", **params
        )["size"]
        for number in range(count)
    }


def places(encoded: dict[str, bytes]) -> dict:
    return json.loads(encoded["layout"])


def test_new_pixels_move_nothing():
    before = textures(9)
    after = {**before, "04.png||0": texture(noise(64, 64, 99), color="04.png")["size"]}
    assert before["04.png||0"] != after["04.png||0"]
    assert layout(before)["layout"] == layout(after)["layout"]


def test_equal_textures_are_placed_once():
    picture = noise(16, 16)
    sizes = {f"{name}||0": texture(picture, color=name)["size"] for name in ("a", "b", "c")}
    found = places(layout(sizes))
    assert list(found["textures"]) == ["a||0"]
    assert found["same"] == {"a||0": "a||0", "b||0": "a||0", "c||0": "a||0"}


def test_equal_palettes_are_placed_once():
    picture = noise(16, 16) // 128 * 255
    sizes = {"a||0": texture(picture)["size"], "b||0": texture(picture[::-1])["size"]}
    found = places(layout(sizes))
    assert len(found["textures"]) == 2
    assert len(found["cluts"]) == 1


def test_texture_that_no_triangle_shows_takes_no_room():
    sizes = textures(2)
    used = json.dumps({"textures": ["00.png||0", ""], "untextured": False}).encode()
    from encoders.splashpack.node_layout import encode_layout
    from tests.encoders.splashpack_scene import VRAM

    inputs = {f"size/{key}": size for key, size in sizes.items()} | {"uses/00000": used}
    found = json.loads(encode_layout(inputs, {"scene": "hall", **VRAM})["layout"])
    assert list(found["textures"]) == ["00.png||0"]


def test_crowd_is_told_by_size_and_by_what_would_help():
    sizes = textures(6, 256, bpp=16)
    with pytest.raises(EncodeError, match="the textures do not fit VRAM") as caught:
        layout(sizes)
    error = caught.value
    assert error.facts["free"] == "21 columns of 64 x 256 words"
    assert error.facts["16 bpp"] == "6 textures, 393,216 words = 24.0 columns"
    assert error.facts["03.png"] == "256 x 256 at 16 bpp, 65,536 words"
    assert error.hint == "It would fit with `bpp = 8` for 00.png, 01.png."
    lower = {"00.png": 8, "01.png": 8}
    helped = {
        key: texture(noise(256, 256, 1), color=key[:6], bpp=lower.get(key[:6], 16))["size"]
        for key in sizes
    }
    assert layout(helped)


def test_hint_names_all_of_several_equal_textures():
    sizes = textures(6, 256, bpp=16)
    same = json.loads(sizes["00.png||0"])
    sizes["twin.png||0"] = json.dumps({**same, "name": "twin.png"}).encode()
    with pytest.raises(EncodeError) as caught:
        layout(sizes)
    assert caught.value.hint == "It would fit with `bpp = 8` for 00.png, 01.png, twin.png."
    assert "00.png, twin.png" in caught.value.facts


def test_hint_leaves_room_for_the_white_texel():
    # At 4 bits two textures fill the free columns to the last word; palettes have room above.
    areas = {
        "framebuffers": [[0, 0, 832, 512], [960, 0, 64, 512]],
        "reserved": [[832, 0, 128, 248]],
    }
    for untextured in (False, True):
        with pytest.raises(EncodeError) as caught:
            layout(textures(2, 256, bpp=16), untextured=untextured, **areas)
        assert ("at 4 bpp" in caught.value.hint) is untextured, caught.value.hint


def test_hopeless_crowd_is_told_so():
    shape = json.loads(textures(1, 256, bpp=4)["00.png||0"])
    sizes = {
        f"{n}||0": json.dumps({**shape, "name": f"{n}", "words": f"{n}"}).encode()
        for n in range(30)
    }
    with pytest.raises(EncodeError) as caught:
        layout(sizes)
    assert caught.value.hint.startswith("Even with every texture at 4 bpp")


def test_reserved_areas_stay_free():
    found = places(layout(textures(3), reserved=[[320, 0, 512, 256]]))
    assert found["atlases"] == [[832, 0, 128]]


def linked(**params) -> dict[str, bytes]:
    encoded = texture(noise(32, 16, 2) // 64 * 80, threshold=128, **params)
    return link({"a.png||128": encoded}, [square(), square("Kd 0.5 1 1")])


def test_link_is_deterministic_and_reads_back():
    assert linked() == linked()
    found = read(linked()["pack"])
    Console(found)
    assert [len(one["triangles"]) for one in found["objects"]] == [2, 2]
    assert found["objects"][1]["triangles"][0]["colors"][0] == (64, 128, 128)


def test_picture_holds_every_word_of_vram():
    outputs = linked(bpp=8)
    picture = np.array(Image.open(io.BytesIO(outputs["picture"])))
    assert picture.shape == (512, 1024, 3)
    assert (picture[:240, :320] == (0, 0, 96)).all()
    assert (picture[464:, 960:] == (0, 0, 96)).all()
    found = read(outputs["pack"])
    console = Console(found)
    for x, y in console.taken:
        level = [console.vram[y][x] >> shift & 31 for shift in (0, 5, 10)]
        assert picture[y, x].tolist() == [one << 3 | one >> 2 for one in level]
    free = np.ones((512, 1024), bool)
    rows, columns = zip(*((y, x) for x, y in console.taken), strict=True)
    free[rows, columns] = False
    free[:240, :320] = free[256:496, :320] = free[464:, 960:] = False
    assert (picture[free] == (24, 24, 24)).all()


def test_more_triangles_than_a_frame_holds_are_a_warning():
    obj = SQUARE.replace("f 1/1/1", "f 1/1/1") + "f 1/1/1 2/2/1 3/3/1\n" * 3237
    outputs = link({}, [mesh({"a.obj": obj, "a.mtl": "newmtl m\n"})])
    assert warnings_of(outputs) == [
        "3,239 triangles: the runtime stops when more than 3,238 of them are in view [budget]"
    ]


def drawn(data, camera=None):
    png = render_png(view_splashpack(data, "a", {}.get), ViewRequest(camera=camera))
    return np.array(Image.open(io.BytesIO(png)))


def test_drawn_scene_shows_fronts_unless_the_start_camera_is_asked_for():
    picture = drawn(minimum_bytes())
    assert picture.shape == (240, 320, 3)
    assert picture[119, 159].tolist() != [63, 63, 100]
    assert (drawn(linked()["pack"]) != [63, 63, 100]).any()
    # Both squares turn their backs on who looks along +z.
    assert (drawn(linked()["pack"], "start") == [63, 63, 100]).all()


def test_extracted_pages_show_the_textures():
    files = extract_pictures(minimum_bytes(), "a")
    assert sorted(files) == ["page_5_0_4bpp_clut_0_240.png", "vram.png"]
    page = np.array(Image.open(io.BytesIO(files["page_5_0_4bpp_clut_0_240.png"])))
    assert page.shape == (256, 256, 4)
    assert page[0, :4].tolist() == [
        [0, 0, 0, 0],
        [0, 0, 0, 255],
        [255, 255, 255, 255],
        [255, 0, 0, 255],
    ]


def test_exported_obj_is_a_source_again():
    data = link({}, [square("Kd 1 1 1")])["pack"]
    again = mesh({"a.obj": export_obj(data, "a")["mesh.obj"]})
    assert objects(again)[0]["triangles"] == 2
    assert read(link({}, [again])["pack"])["objects"][0]["triangles"][0]["vertices"] == [
        (0, 0, 0),
        (-4096, -4096, 0),
        (-4096, 0, 0),
    ]


def test_options_of_the_manual_are_current():
    text = DOCS.read_text()
    for table in (SCENE, VRAM_TABLE, TEXTURE, CAMERA, SOUND):
        for name, option in table.options.items():
            default = "" if option.default is None or option.required else option.default
            assert f"| `{name}` | {option.rule.text} | {default} | {option.doc} |" in text


def test_picture_of_one_colour_is_a_shared_white_where_it_is_white():
    encoded = texture(plain(4, 4), threshold=128, bpp=4)
    found = read(link({"a.png||128": encoded}, [square()])["pack"])
    assert found["cluts"][0]["words"] == (0x7FFF, 0)
