"""One model through every target: the pictures agree, and the GLBs hold the source's triangles."""

from __future__ import annotations

import io
from functools import cache

import numpy as np
import pytest
import trimesh
from PIL import Image

from encoders.kit.error import EncodeError
from encoders.kit.source.registry import load
from encoders.kit.view.draw import render_png
from encoders.kit.view.glb import encode_glb
from encoders.kit.view.request import ViewRequest
from encoders.kit.view.scene import View, ViewScene, ViewSound
from pipeline.plan.target import load_target
from tests.fuzz.memory_build import MANIFESTS, build
from tests.fuzz.seeds import make_projects

# A square that faces +z, and a step behind its right edge that faces +x.
OBJ = b"""mtllib a.mtl
v 0 0 0
v 1 0 0
v 1 1 0
v 0 1 0
v 1 0 -0.5
v 1 1 -0.5
vt 0 0
vt 1 0
vt 1 1
vt 0 1
vn 0 0 1
vn 1 0 0
usemtl m
f 1/1/1 2/2/1 3/3/1 4/4/1
f 2/1/2 5/1/2 6/1/2 3/1/2
"""
MTL = b"newmtl m\nmap_Kd a.png\n"
RED, GREEN, BLUE, WHITE = (
    (True, False, False),
    (False, True, False),
    (False, False, True),
    (True, True, True),
)
# The one file of each target that shows the model, and what its manifest adds.
FILES = {
    "kac": ("a.kac", "mirror = true\n"),
    "untold": ("scene/tile_0_0_0.untold", "tile_size = [100, 100, 100]\n"),
    "splashpack": ("scene.splashpack", ""),
    "emberware": ("assets/a.ewzmesh", ""),
    "rp2350": ("a.rs", 'flip_v = true\nid = "a"\n'),
}
MANIFEST = {
    "kac": '[[asset]]\nsource = "assets/*.obj"\n',
    "untold": '[[scene]]\nname = "scene"\nsource = "assets/a.obj"\n',
    "splashpack": '[[scene]]\nname = "scene"\nsource = "assets/a.obj"\nscale = 1\n',
    "emberware": MANIFESTS["emberware"],
    "rp2350": '[[asset]]\nsource = "assets/*.obj"\n',
}


def png() -> bytes:
    quarters = np.zeros((16, 16, 4), np.uint8)
    quarters[:8, :8], quarters[:8, 8:] = (255, 0, 0, 255), (0, 255, 0, 255)
    quarters[8:, :8], quarters[8:, 8:] = (0, 0, 255, 255), (255, 255, 255, 255)
    stream = io.BytesIO()
    Image.fromarray(quarters).save(stream, "PNG")
    return stream.getvalue()


@cache
def built(target: str) -> dict[str, bytes]:
    sources = {"assets/a.obj": OBJ, "assets/a.mtl": MTL, "assets/a.png": png()}
    made = build(target, sources, MANIFEST[target] + FILES[target][1])
    assert made.errors == []
    return made.files


def view_of(target: str, path: str, files: dict[str, bytes]) -> View:
    readers = [
        one
        for one in load_target(target).readers
        if path.endswith(one.suffix) and files[path].startswith(one.magic)
    ]
    reader = max(readers, key=lambda one: len(one.suffix))
    folder = path.rpartition("/")[0]
    return load(reader.view)(
        files[path], path, lambda name: files.get(f"{folder}/{name}".lstrip("/"))
    )


def drawn(view: View, **asked: object) -> np.ndarray:
    picture = render_png(view, ViewRequest(**asked))
    return np.array(Image.open(io.BytesIO(picture)).convert("RGB"))


def quarters_of(pixels: np.ndarray, background: tuple[int, int, int]) -> list[tuple[bool, ...]]:
    """The lit channels in the middle of each quarter of what is drawn, row by row."""
    rows, columns = np.nonzero((pixels != background).any(axis=2))
    found = []
    for down in (0.25, 0.75):
        for across in (0.25, 0.75):
            pixel = pixels[
                round(rows.min() + np.ptp(rows) * down),
                round(columns.min() + np.ptp(columns) * across),
            ]
            found.append(tuple(bool(channel > pixel.max() * 0.6) for channel in pixel))
    return found


@pytest.mark.parametrize("target", ["kac", "untold", "splashpack", "emberware"])
def test_the_texture_is_upright_and_unmirrored_on_every_target(target):
    view = view_of(target, FILES[target][0], built(target))
    pixels = drawn(view, camera="front", size=(320, 240))
    background = tuple(pixels[0, 0].tolist())
    assert quarters_of(pixels, background) == [RED, GREEN, BLUE, WHITE]
    edge = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    assert (edge == background).all()
    assert (pixels != background).any(axis=2).mean() > 0.2


@pytest.mark.parametrize("target", sorted(FILES))
def test_the_step_is_seen_from_the_right_and_not_from_the_left(target):
    view = view_of(target, FILES[target][0], built(target))
    for camera, is_seen in (("right", True), ("left", False)):
        pixels = drawn(view, camera=camera)
        assert (pixels != pixels[0, 0]).any() == is_seen


@pytest.mark.parametrize("target", sorted(FILES))
def test_the_glb_holds_the_triangles_of_the_source(target):
    view = view_of(target, FILES[target][0], built(target))
    loaded = trimesh.load(io.BytesIO(encode_glb(view)), file_type="glb").to_geometry()
    source = trimesh.load(io.BytesIO(OBJ), file_type="obj", resolver=None, process=False)
    assert len(loaded.triangles) == 4
    # Targets may divide the square along either diagonal: area, direction and place stay.
    assert loaded.area == pytest.approx(source.area, rel=1e-3)
    assert loaded.bounds == pytest.approx(source.bounds, abs=1e-3)
    directions = np.round(loaded.face_normals).astype(int).tolist()
    assert sorted(map(tuple, directions)) == [(0, 0, 1), (0, 0, 1), (1, 0, 0), (1, 0, 0)]


def test_a_whole_scene_shows_what_its_tile_shows():
    files = built("untold")
    tile = drawn(view_of("untold", FILES["untold"][0], files), camera="front", size=(80, 60))
    scene = drawn(view_of("untold", "scene.json", files), camera="front", size=(80, 60))
    assert np.array_equal(tile, scene)


def test_a_tile_without_its_textures_is_drawn_in_plain_colours():
    files = {path: data for path, data in built("untold").items() if path.endswith(".untold")}
    pixels = drawn(view_of("untold", FILES["untold"][0], files), camera="front", size=(80, 60))
    quarters = quarters_of(pixels, tuple(pixels[0, 0].tolist()))
    assert quarters == [WHITE] * 4


def test_the_module_is_a_sheet_of_its_meshes_and_textures():
    files = built("rp2350")
    assert [title for title, _ in view_of("rp2350", "mod.rs", files).cells] == ["a"]
    patch = view_of("rp2350", "a_patch0.bin", files)
    assert len(encode_glb(patch)) > 100


@cache
def rigged() -> dict[str, bytes]:
    sources = {**make_projects()["rich.glb"][0], **make_projects()["mono.wav"][0]}
    return build("emberware", sources).files


def test_a_rom_is_a_sheet_of_everything_in_it():
    files = rigged()
    rom = next(path for path in files if path.endswith(".ewz"))
    sheet = view_of("emberware", rom, files)
    titles = [title for title, _ in sheet.cells]
    for kind in ("meshes", "skeletons", "keyframes", "sounds"):
        assert any(kind in title for title in titles), kind
    assert drawn(sheet).std() > 1


def test_a_clip_moves_the_mesh_that_it_is_named_after_or_bones_alone():
    files = rigged()
    path = next(path for path in sorted(files) if path.endswith(".ewzanim"))
    view = view_of("emberware", path, files)
    assert isinstance(view, ViewScene)
    assert view.clip is not None
    alone = view_of("emberware", path, {path: files[path]})
    assert alone.meshes[0].name == "bones"
    assert drawn(alone, frame=0).std() > 1
    with pytest.raises(EncodeError, match="no such frame"):
        drawn(view, frame=view.clip.frame_count)


def test_a_sound_is_its_samples():
    files = rigged()
    path = next(path for path in sorted(files) if path.endswith(".ewzsnd"))
    view = view_of("emberware", path, files)
    assert isinstance(view, ViewSound)
    assert drawn(view).shape == (200, 640, 3)
