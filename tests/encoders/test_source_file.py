"""Files that are not what a source says: links out of the project, pointers, other formats."""

from __future__ import annotations

import io
import os
import zlib
from pathlib import Path

import pytest
from PIL import Image

from tests.kit.fbx_maker import sign
from tests.kit.glb_builder import quad
from tests.kit.png_maker import chunk, header
from tests.pipeline.game import Game

GAME = '[game]\nid = "t"\ntitle = "T"\nauthor = "A"\nversion = "1"\n'
ASSET = '[[asset]]\nsource = "assets/sign.*"\n'
SCENE = '[[scene]]\nname = "s"\nsource = "assets/sign.*"\n'
# What a manifest says beside its target to make something from a model.
MODELS = {
    "emberware": f"{GAME}{ASSET}",
    "kac": ASSET,
    "rp2350": ASSET,
    "splashpack": SCENE,
    "untold": f"{SCENE}lods = []\nhlod = 0\n",
}
SHOWING = ("kac", "splashpack", "untold")  # targets that read the images of a model
OBJ = (
    "mtllib {library}\nusemtl m\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nf 1/1 2/2 3/3\n"
)
MTL = "newmtl m\nmap_Kd {image}\n"


def png(color=(200, 100, 50)) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (8, 8), color).save(stream, "PNG")
    return stream.getvalue()


def gltf(image: str | None = None, buffer: str | None = None) -> tuple[bytes, bytes]:
    """A square that shows an image, and its buffer."""
    builder = quad()
    if image is not None:
        builder.add("images", uri=image)
        builder.add("textures", source=0)
        builder.add("materials", pbrMetallicRoughness={"baseColorTexture": {"index": 0}})
        builder.json["meshes"][0]["primitives"][0]["material"] = 0
    return builder.gltf(buffer), bytes(builder.binary)


@pytest.fixture
def game(tmp_path: Path) -> Game:
    made = Game(tmp_path / "game")
    made.remove("manifests/toy.toml")
    made.remove("encoders/toy.py")
    return made


def built(game: Game, target: str):
    game.write(f"manifests/{target}.toml", f'target = "{target}"\n{MODELS[target]}')
    return game.doit()


# A model by name, the file that it refers to, the bytes of that file, and where it is named.
def references() -> dict[str, tuple[dict[str, bytes | str], str, bytes, str]]:
    scene, binary = gltf(buffer="far/a.bin")
    shown, _ = gltf(image="far/a.png")
    library = {"assets/sign.obj": OBJ.format(library="a.mtl")}
    named = {"assets/sign.obj": OBJ.format(library="far/a.mtl")}
    texture = library | {"assets/a.mtl": MTL.format(image="far/a.png")}
    return {
        "buffer": (
            {"assets/sign.gltf": scene},
            "assets/far/a.bin",
            binary,
            "assets/sign.gltf, buffers[].uri = far/a.bin",
        ),
        "image": (
            {"assets/sign.gltf": shown},
            "assets/far/a.png",
            png(),
            "assets/sign.gltf, images[0].uri = far/a.png",
        ),
        "library": (
            named,
            "assets/far/a.mtl",
            b"newmtl m\nKd 0.2 0.4 0.6\n",
            "assets/sign.obj, mtllib far/a.mtl",
        ),
        "texture": (
            texture,
            "assets/far/a.png",
            png(),
            "assets/a.mtl, line 2, map_Kd far/a.png",
        ),
    }


CASES = [("buffer", target) for target in MODELS]
CASES += [(kind, target) for kind in ("image", "library", "texture") for target in SHOWING]


@pytest.mark.parametrize(
    ("kind", "target", "linked"),
    [(*case, "folder") for case in CASES]
    + [("buffer", "rp2350", "file"), ("image", "kac", "file")],
)
def test_a_file_behind_a_link_out_of_the_project_is_refused(game, tmp_path, kind, target, linked):
    sources, path, data, named = references()[kind]
    outside = tmp_path / "outside" / os.path.basename(path)
    outside.parent.mkdir()
    outside.write_bytes(data)
    for name, text in sources.items():
        game.write(name, text)
    if linked == "folder":
        game.path("assets/far").symlink_to(outside.parent)
    else:
        game.path("assets/far").mkdir()
        game.path(path).symlink_to(outside)
    ran = built(game, target)
    assert ran.code == 1, ran.out + ran.err
    assert "link leads out of the project" in ran.out
    assert path in ran.out
    assert f"leads to  {outside}" in ran.out
    assert f"named in  {named}" in ran.out
    if linked == "file":  # the same file inside of the project is read
        game.path(path).unlink()
        game.write(path, data)
        assert built(game, target).code == 0


def test_a_texture_of_an_fbx_behind_a_link_out_of_the_project_is_refused(game, tmp_path):
    pytest.importorskip("ufbx")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/wood grain.png").write_bytes(png())
    game.write("assets/sign.fbx", sign().data())
    game.path("assets/textures").symlink_to(tmp_path / "outside")
    ran = built(game, "kac")
    assert ran.code == 1, ran.out + ran.err
    assert "link leads out of the project" in ran.out
    assert f"leads to  {tmp_path}/outside/wood grain.png" in ran.out


POINTER = (
    b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"4d" * 32 + b"\nsize 12345\n"
)
SAID = "this is a Git LFS pointer; run `git lfs pull`"


@pytest.mark.parametrize(("kind", "target"), CASES)
def test_a_git_lfs_pointer_that_a_model_refers_to_is_named(game, kind, target):
    sources, path, _, _ = references()[kind]
    for name, text in sources.items():
        game.write(name, text)
    game.write(path, POINTER)
    ran = built(game, target)
    assert ran.code == 1, ran.out + ran.err
    assert SAID in ran.out
    assert path in ran.out


FILES = {
    "emberware": ("a.glb", "b.gltf", "c.obj", "d.png", "e.jpg", "f.wav"),
    "kac": ("a.glb", "c.obj"),
    "rp2350": ("a.glb", "c.obj", "d.png"),
    "splashpack": ("b.gltf",),
    "untold": ("c.obj",),
}


@pytest.mark.parametrize("target", sorted(FILES))
def test_a_source_that_is_a_git_lfs_pointer_is_named(game, target):
    for name in FILES[target]:
        # Git may have changed the line ends of a pointer as it does with those of any text.
        game.write(f"assets/{name}", POINTER.replace(b"\n", b"\r\n") if ".obj" in name else POINTER)
    text = MODELS[target].replace("assets/sign.*", "assets/*")
    game.write(f"manifests/{target}.toml", f'target = "{target}"\n{text}')
    ran = game.doit("-v")  # without it, many that fail alike share one message
    assert ran.out.count(SAID) == len(FILES[target]), ran.out
    for name in FILES[target]:
        assert f"{SAID}\n  file  assets/{name}\n" in ran.out


def test_a_data_file_that_is_a_git_lfs_pointer_is_named(game):
    game.write("assets/sign.bin", POINTER)
    game.write(
        "assets/about.txt", b"version https://git-lfs.github.com/spec/v1 is what pointers say"
    )
    data = GAME + '[[asset]]\nsource = ["assets/*"]\nkinds = ["data"]\n'
    game.write("manifests/emberware.toml", f'target = "emberware"\n{data}')
    ran = game.doit()
    assert ran.out.count(SAID) == 1, ran.out + ran.err
    assert "assets/sign.bin" in ran.out


def jpeg() -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (8, 8), (200, 100, 50)).save(stream, "JPEG")
    return stream.getvalue()


def padded_png() -> bytes:
    """A PNG with more image data than it needs, and a text whose checksum is wrong."""
    rows = bytes(8 * (1 + 8) + 5)
    text = chunk(b"tEXt", b"a\0b")[:-1] + b"\0"
    return (
        b"\x89PNG\r\n\x1a\n"
        + header(8, 8, 8, 0)
        + text
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


# What a manifest says beside its target to show an image: as a source, or as a texture of a model.
TEXTURES = {
    "emberware": (f'{GAME}[[asset]]\nsource = "assets/a.png"\n', "assets/a.png"),
    "kac": (ASSET, "assets/far/a.png"),
    "rp2350": ('[[asset]]\nsource = "assets/a.png"\n', "assets/a.png"),
    "splashpack": (SCENE, "assets/far/a.png"),
    "untold": (MODELS["untold"], "assets/far/a.png"),
}


def shown(game: Game, target: str, data: bytes):
    """Build something that shows an image, and return the run and the image's path."""
    text, path = TEXTURES[target]
    game.write("assets/sign.gltf", gltf(image="far/a.png")[0])
    game.write("assets/far/a.png", png())
    game.write(path, data)
    game.write(f"manifests/{target}.toml", f'target = "{target}"\n{text}')
    return game.doit(), path


@pytest.mark.parametrize("target", sorted(TEXTURES))
def test_a_jpeg_that_is_called_png_is_read_with_a_warning(game, target):
    ran, path = shown(game, target, jpeg())
    assert ran.code == 0, ran.out + ran.err
    assert f"{path} is a JPEG" in ran.out


@pytest.mark.parametrize("target", sorted(TEXTURES))
def test_a_png_with_faults_that_no_pixel_shows_is_read_with_warnings(game, target):
    ran, path = shown(game, target, padded_png())
    assert ran.code == 0, ran.out + ran.err
    assert f"{path}: the PNG has more image data than its size needs" in ran.out
    assert f"{path}: the chunk tEXt has a wrong checksum" in ran.out
    for name, data in game.outputs().items():
        if name.endswith(".png"):
            assert b"tEXt" not in data, "untold must not hand on a file with faults"


@pytest.mark.parametrize("target", sorted(TEXTURES))
def test_a_text_that_is_called_png_is_told_what_it_is(game, target):
    ran, path = shown(game, target, b"not found\n")
    assert ran.code == 1, ran.out + ran.err
    assert "a.png is not a PNG: it begins with" in ran.out
    assert "which looks like text" in ran.out
    assert path in ran.out


@pytest.mark.parametrize("target", SHOWING)
def test_an_image_inside_of_a_model_is_read_by_its_content(game, target):
    builder = quad()
    builder.add("images", bufferView=builder.view(jpeg()), mimeType="image/png")
    builder.add("textures", source=0)
    builder.add("materials", pbrMetallicRoughness={"baseColorTexture": {"index": 0}})
    builder.json["meshes"][0]["primitives"][0]["material"] = 0
    game.write("assets/sign.glb", builder.glb())
    ran = built(game, target)
    assert ran.code == 0, ran.out + ran.err
    assert "assets/sign.glb: images[0] is a JPEG, though its mimeType says image/png" in ran.out


def test_a_picture_of_a_rom_that_is_called_otherwise_is_taken_with_a_warning(game):
    game.write("assets/a.png", jpeg())
    text = GAME + 'thumbnail = "assets/a.png"\n'
    game.write("manifests/emberware.toml", f'target = "emberware"\n{text}')
    ran = game.doit()
    assert ran.code == 0, ran.out + ran.err
    assert "assets/a.png is a JPEG" in ran.out
