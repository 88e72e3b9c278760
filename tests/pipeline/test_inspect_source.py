"""`doit inspect` draws sources and outputs in common formats, not only a target's own."""

from __future__ import annotations

import io
import struct

import numpy as np
import pygltflib
import pytest
from PIL import Image

from encoders.kit.error import EncodeError
from encoders.kit.view.request import ViewRequest
from pipeline.doit_plugin.command.inspect import EXPORTS, inspect_file

RED, BLUE = (200, 30, 20, 255), (10, 20, 220, 255)
# A square that faces the viewer, with the texture that its library names.
SQUARE = """mtllib square.mtl
v -1 -1 0
v 1 -1 0
v 1 1 0
v -1 1 0
vt 0 0
vt 1 0
vt 1 1
vt 0 1
usemtl paint
f 1/1 2/2 3/3
f 1/1 3/3 4/4
"""


def export(path, option: str, place) -> list[str]:
    told: list[str] = []
    exports = {**dict.fromkeys(EXPORTS, ""), option: str(place)}
    inspect_file(str(path), exports, ViewRequest("front", size=(40, 40)), told.append)
    return told


def write_square(folder) -> str:
    (folder / "square.obj").write_text(SQUARE)
    (folder / "square.mtl").write_text("newmtl paint\nmap_Kd paint.png\n")
    Image.new("RGBA", (4, 4), BLUE).save(folder / "paint.png")
    return folder / "square.obj"


def test_a_picture_is_drawn_texel_by_texel(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texels = np.arange(48, dtype=np.uint8).reshape(4, 4, 3) * 5
    Image.fromarray(texels).save("a.png")
    assert export("a.png", "render", "seen.png")[0].startswith("seen.png")
    seen = np.asarray(Image.open("seen.png").convert("RGB"))
    rows = seen.reshape(-1, 3)
    assert {*map(tuple, texels.reshape(-1, 3).tolist())} <= {*map(tuple, rows.tolist())}


def test_a_model_is_drawn_with_the_textures_that_it_refers_to(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    export(write_square(tmp_path), "render", "seen.png")
    red, _, blue = Image.open("seen.png").convert("RGB").getpixel((20, 20))
    assert blue > 3 * red


def test_a_model_outside_of_the_project_is_drawn_with_what_lies_beside_it(tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    (tmp_path / "game").mkdir()
    monkeypatch.chdir(tmp_path / "game")
    path = write_square(tmp_path / "other")
    (tmp_path / "other/square.mtl").write_text("newmtl paint\nmap_Kd paint.png\nmap_Ks ../x.png\n")
    export(path, "render", "seen.png")
    red, _, blue = Image.open("seen.png").convert("RGB").getpixel((20, 20))
    assert blue > 3 * red


def test_a_model_becomes_a_glb_with_its_triangles(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    export(write_square(tmp_path), "glb", "square.glb")
    found = pygltflib.GLTF2().load("square.glb")
    indices = found.meshes[0].primitives[0].indices
    assert found.accessors[indices].count == 6
    assert len(found.images) == 1


def test_a_sound_is_drawn_as_a_waveform(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    body = (np.sin(np.arange(4000) / 9) * 30000).astype("<i2").tobytes()
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 8000, 16000, 2, 16)
    chunks = b"WAVE" + form + struct.pack("<4sI", b"data", len(body)) + body
    (tmp_path / "a.wav").write_bytes(struct.pack("<4sI", b"RIFF", len(chunks)) + chunks)
    export("a.wav", "render", "seen.png")
    seen = np.asarray(Image.open(io.BytesIO((tmp_path / "seen.png").read_bytes())).convert("L"))
    assert seen.std() > 10


@pytest.mark.parametrize("option", ["obj", "extract", "glb"])
def test_what_a_picture_cannot_be_written_as_is_refused_by_name(tmp_path, monkeypatch, option):
    monkeypatch.chdir(tmp_path)
    Image.new("RGBA", (4, 4), RED).save("a.png")
    with pytest.raises(EncodeError, match=f"no --{option}"):
        export("a.png", option, "seen")


def test_a_folder_is_called_one_by_inspect(game):
    game.write("assets/a.txt", "a")
    ran = game.doit("inspect", "assets")
    assert ran.code == 3
    assert "inspect: assets is a folder; name a file in it" in ran.err
