"""Good files to damage: a few of every source format, small, made here."""

from __future__ import annotations

import io
import tempfile
import wave
from pathlib import Path

import DracoPy
import numpy as np
from PIL import Image

from encoders.kit.source.registry import SUFFIXES, suffix_of
from tests.kit import usd_maker
from tests.kit.fbx_maker import sign
from tests.kit.glb_builder import Builder, quad
from tests.kit.png_maker import make_png
from tests.kit.raster import make_psd, saved
from tests.kit.test_compressed_sound import FILES
from tests.kit.test_gltf_fuzz import CHAIN, packed, rich
from tests.kit.test_ktx2 import sample, textured
from tests.kit.test_tracker import an_it, an_xm
from tests.kit.test_trimesh_format import QUADS
from tests.kit.test_wav_kind import ADPCM_FILES

Project = dict[str, bytes]

OBJ = b"""mtllib a.mtl
o box
v 0 0 0
v 2 0 0 0.5 0.5 0.5
v 2 3 0
v 0 3 -1.5e0
vt 0 0
vt 1.5 0
vt 1 1
vn 0 0 1
s 1
usemtl wood
f 1/1/1 2/2/1 3/3/1 4/1/1
g top
usemtl stone
f -4//1 -3//1 -2//1
"""
MTL = b"""newmtl wood
Kd 0.8 0.5 0.25
d 0.9
map_Kd -s 2 2 1 -o 0.5 0 0 p.png
map_Bump -bm 0.5 p.png
newmtl stone
Ks 1 1 1
Ns 40
"""


def _picture(form: str, **options: object) -> bytes:
    y, x = np.mgrid[0:16, 0:16]
    pixels = np.stack([x * 15, y * 15, (x + y) * 8], axis=-1).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, form, **options)
    return stream.getvalue()


def _wav(channels: int, width: int) -> bytes:
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(8000)
        file.writeframes(bytes(range(240)))
    return stream.getvalue()


def _draco() -> bytes:
    builder = Builder()
    x, y = np.meshgrid(np.arange(6.0), np.arange(6.0))
    points = np.stack([x, y, np.sin(x) * y], axis=-1).reshape(-1, 3).astype(np.float32)
    low = (np.arange(5)[:, None] * 6 + np.arange(5)).reshape(-1)
    faces = np.concatenate(
        [np.stack(c, 1) for c in ((low, low + 1, low + 7), (low, low + 7, low + 6))]
    )
    data = DracoPy.encode(points, faces.astype(np.uint32), quantization_bits=11)
    record = {"bufferView": builder.view(data), "attributes": {"POSITION": 0}}
    low_corner, high_corner = points.min(axis=0).tolist(), points.max(axis=0).tolist()
    builder.add(
        "accessors", componentType=5126, count=36, type="VEC3", min=low_corner, max=high_corner
    )
    builder.add("accessors", componentType=5125, count=150, type="SCALAR")
    builder.mesh({"POSITION": 0}, indices=1, extensions={"KHR_draco_mesh_compression": record})
    builder.add("nodes", mesh=0)
    builder.add("scenes", nodes=[0])
    builder.json["extensionsRequired"] = ["KHR_draco_mesh_compression"]
    return builder.glb()


def _textured() -> bytes:
    builder = quad()
    builder.add("images", uri="p.png")
    builder.add("textures", source=0)
    builder.add("materials", pbrMetallicRoughness={"baseColorTexture": {"index": 0}})
    builder.json["meshes"][0]["primitives"][0]["material"] = 0
    return builder.gltf()


def _usd() -> Project:
    """Make USD files of every kind; the binary one can only be written to the disk."""
    files = {"sign.usda": usd_maker.sign("p.png"), "rig.usda": usd_maker.rig()}
    files["sign.usdz"] = usd_maker.package({"a.usda": files["sign.usda"], "p.png": _picture("PNG")})
    try:
        from pxr import Sdf
    except ImportError:
        return files
    with tempfile.TemporaryDirectory() as folder:
        for name in ("sign", "rig"):
            layer = Sdf.Layer.CreateAnonymous(".usda")
            layer.ImportFromString(files[f"{name}.usda"].decode())
            layer.Export(f"{folder}/{name}.usdc")
            files[f"{name}.usdc"] = Path(f"{folder}/{name}.usdc").read_bytes()
    return files


def make_projects() -> dict[str, tuple[Project, str]]:
    """Return projects by name, each with the path of the file to damage."""
    png = _picture("PNG")
    pixels = [[[(x + y) % 4] for x in range(9)] for y in range(7)]
    palette = make_png(pixels, 2, 3, 1, (0, 1, 2, 3, 4), _palette())
    obj = {"assets/a.obj": OBJ, "assets/a.mtl": MTL, "assets/p.png": png}
    models = {
        "quad.glb": quad().glb(),
        "textured.gltf": _textured(),
        "rich.glb": rich(),
        "chain.glb": CHAIN,
        "meshopt.glb": packed(),
        "draco.glb": _draco(),
        **{f"quad-{name}": data for name, data in QUADS.items()},
        "sign.fbx": sign("p.png").data(),
        "basis.glb": textured(None),
        **_usd(),
    }
    alone = {
        "rgb.png": png,
        "palette.png": palette,
        "baseline.jpg": _picture("JPEG"),
        "progressive.jpg": _picture("JPEG", progressive=True),
        "cmyk.jpg": saved("JPEG", "CMYK"),
        "lossy.webp": _picture("WEBP"),
        "lossless.webp": _picture("WEBP", lossless=True),
        "still.avif": _picture("AVIF"),
        "rgb.bmp": _picture("BMP"),
        "run-length.tga": saved("TGA", "RGBA", compression="tga_rle"),
        "first.gif": _picture("GIF"),
        "lzw.tif": saved("TIFF", "RGBA", compression="tiff_lzw"),
        "plain.tif": _picture("TIFF"),
        "merged.psd": make_psd(np.zeros((3, 8, 8), np.uint8)),
        "bc3.dds": saved("DDS", "RGBA", pixel_format="DXT5"),
        **{f"{name}.ktx2": sample(name) for name in ("etc1s_alpha", "uastc", "uastc_alpha_zstd")},
        "song.xm": an_xm(),
        "song.it": an_it(),
        "mono.wav": _wav(1, 2),
        "stereo.wav": _wav(2, 3),
        "ima.wav": ADPCM_FILES[0],
        "microsoft.wav": ADPCM_FILES[1],
        **{f"sound-{name}": data for name, data in FILES.items()},
    }
    found = {"a.obj": (obj, "assets/a.obj"), "a.mtl": (obj, "assets/a.mtl")}
    for name, data in models.items():
        found[name] = ({f"assets/{name}": data, "assets/p.png": png}, f"assets/{name}")
    found["p.png"] = (obj, "assets/p.png")
    return found | {
        name: ({f"assets/{name}": data}, f"assets/{name}") for name, data in alone.items()
    }


def _palette() -> bytes:
    from tests.kit.png_maker import chunk

    return chunk(b"PLTE", bytes(range(12)))


def given_projects(paths: list[Path]) -> dict[str, tuple[Project, str]]:
    """Return a project for each file that a user gives."""
    return {
        path.name: ({f"assets/{path.name}": path.read_bytes()}, f"assets/{path.name}")
        for path in paths
    }


def missing_formats(projects: dict[str, tuple[Project, str]]) -> list[str]:
    """Name the formats of the registry of which there is no file to damage."""
    have = {SUFFIXES[suffix_of(path)].name for _, path in projects.values()}
    return sorted({one.name for one in SUFFIXES.values()} - have)
