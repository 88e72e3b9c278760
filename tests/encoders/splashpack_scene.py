"""Small scenes for the tests, and their encoders called as the pipeline calls them."""

from __future__ import annotations

import io
import json

import numpy as np
from PIL import Image

from encoders.splashpack.intermediate import MESH_TRIANGLE
from encoders.splashpack.node_layout import encode_layout
from encoders.splashpack.node_link import encode_scene
from encoders.splashpack.node_mesh import encode_mesh
from encoders.splashpack.node_texture import encode_texture
from pipeline.build.purity import pure
from tests.encoders.splashpack_reader import read

VRAM = {
    "framebuffers": [[0, 0, 320, 240], [0, 256, 320, 240]],
    "reserved": [[960, 464, 64, 48]],
}
# A square in the xy plane, seen from +z, in quarters of the texture.
SQUARE = """mtllib a.mtl
v 0 0 0
v 1 0 0
v 1 1 0
v 0 1 0
vt 0 0
vt 1 0
vt 1 1
vt 0 1
vn 0 0 1
usemtl m
f 1/1/1 2/2/1 3/3/1 4/4/1
"""


def png(picture: object) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(np.asarray(picture, np.uint8)).save(stream, "PNG")
    return stream.getvalue()


def plain(width: int, height: int, color=(255, 255, 255)) -> bytes:
    return png(np.full((height, width, len(color)), color, np.uint8))


def noise(width: int, height: int, seed: int = 0, channels: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, channels), np.uint8)


def texture(picture: object, **params) -> dict[str, bytes]:
    """Encode a picture as a texture called `a.png`."""
    data = picture if isinstance(picture, bytes) else png(picture)
    every = {"color": "a.png", "alpha": "", "threshold": 0, "bpp": 8, "dither": False, **params}
    with pure():
        return encode_texture({"color": data}, every)


def mesh(inputs: dict[str, bytes | str], **params) -> dict[str, bytes]:
    data = {
        name: one if isinstance(one, bytes) else one.encode()
        for name, one in sorted(inputs.items())
    }
    source = next(name for name in inputs if name.endswith((".obj", ".gltf", ".glb")))
    every = {"source": source, "missing": [], "scale": 1, "tile_limit": 64, **params}
    with pure():
        return encode_mesh(data, every)


def triangles(outputs: dict[str, bytes]) -> dict[str, np.ndarray]:
    data = outputs["triangles"]
    return MESH_TRIANGLE.unpack(data, len(data) // MESH_TRIANGLE.size)


def objects(outputs: dict[str, bytes]) -> list[dict]:
    return json.loads(outputs["objects"])


def warnings_of(outputs: dict[str, bytes]) -> list[str]:
    return outputs.get("warnings", b"").decode().splitlines()


def layout(sizes: dict[str, bytes], untextured: bool = False, **vram) -> dict[str, bytes]:
    uses = json.dumps({"textures": sorted(sizes), "untextured": untextured}).encode()
    inputs = {f"size/{key}": size for key, size in sorted(sizes.items())}
    with pure():
        return encode_layout({**inputs, "uses/00000": uses}, {"scene": "hall", **VRAM, **vram})


def link(textures: dict[str, dict[str, bytes]], meshes: list[dict[str, bytes]], **vram):
    """Lay out and link a scene; gives the outputs of the link."""
    inputs: dict[str, bytes] = {}
    for key, one in textures.items():
        inputs |= {f"{role}/{key}": one[role] for role in ("size", "words", "palette")}
    for number, one in enumerate(meshes):
        roles = ("objects", "triangles", "uses")
        inputs |= {f"{role}/{number:05}": one[role] for role in roles}
    params = {"scene": "hall", **VRAM, **vram}
    chosen = {name: data for name, data in inputs.items() if name.startswith(("size", "uses"))}
    with pure():
        inputs["layout"] = encode_layout(dict(sorted(chosen.items())), params)["layout"]
        return encode_scene(dict(sorted(inputs.items())), params)


def square(mtl: str = "map_Kd a.png", obj: str = SQUARE, **params) -> dict[str, bytes]:
    return mesh({"a.obj": obj, "a.mtl": f"newmtl m\n{mtl}\n"}, **params)


def scene(picture: object, mtl: str = "map_Kd a.png", threshold: int = 128, **params) -> dict:
    """The square with a picture on it, read by the second reader."""
    encoded = texture(picture, threshold=threshold, **params)
    return read(link({f"a.png||{threshold}": encoded}, [square(mtl)])["pack"])
