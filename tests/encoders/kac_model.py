"""Small models for the tests of KAC: made here, so that every number in them is known."""

from __future__ import annotations

import io
import math

import numpy as np
from PIL import Image

from encoders.kac.node_mesh import encode_mesh
from encoders.kac.target import OPTIONS
from pipeline.build.purity import pure
from tests.encoders.kac_reader import read
from tests.kit.glb_builder import Builder, quad

DEFAULTS = {name: option.default for name, option in OPTIONS.items()}

# Positions, UVs and normals of a square in the xy plane, seen from +z.
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
s 1
f 1/1/1 2/2/1 3/3/1 4/4/1
"""


def encode(inputs: dict[str, bytes | str], source: str | None = None, **options) -> dict:
    """Encode as the pipeline does, but nothing may touch the disk."""
    data = {
        name: one if isinstance(one, bytes) else one.encode()
        for name, one in sorted(inputs.items())
    }
    source = source or next(n for n in inputs if n.endswith((".obj", ".gltf", ".glb")))
    with pure():
        return encode_mesh(data, {"source": source, **DEFAULTS, **options})


def encode_file(inputs: dict[str, bytes | str], **options) -> dict:
    """Encode and read the file with the second reader; warnings come along."""
    outputs = encode(inputs, **options)
    return read(outputs["kac"]) | {"warnings": warnings_of(outputs)}


def warnings_of(outputs: dict[str, bytes]) -> list[str]:
    return outputs.get("warnings", b"").decode().splitlines()


def png(picture: object) -> bytes:
    """Write (height, width, 3 or 4) bytes as PNG."""
    stream = io.BytesIO()
    Image.fromarray(np.asarray(picture, np.uint8)).save(stream, "PNG")
    return stream.getvalue()


def plain(width: int, height: int, color=(255, 255, 255, 255)) -> bytes:
    return png(np.full((height, width, len(color)), color, np.uint8))


def square(mtl: str, **files: bytes) -> dict[str, bytes | str]:
    """The square with a material `m` of these statements, and images by their names."""
    images = {name.replace("_png", ".png"): data for name, data in files.items()}
    return {"a.obj": SQUARE, "a.mtl": f"newmtl m\n{mtl}\n", **images}


def gltf_square(
    material: dict | None = None, image: bytes | None = None, sampler: dict | None = None, **node
) -> Builder:
    """The same square as glTF, with one material and perhaps a base colour image inside."""
    builder = quad(**node)
    record = {"name": "m", **(material or {})}
    if image is not None:
        builder.add("images", bufferView=builder.view(image), mimeType="image/png")
        texture = {"source": 0} | ({"sampler": 0} if sampler is not None else {})
        builder.add("textures", **texture)
        pbr = {"baseColorTexture": {"index": 0}, **record.get("pbrMetallicRoughness", {})}
        record["pbrMetallicRoughness"] = pbr
    if sampler is not None:
        builder.add("samplers", **sampler)
    builder.add("materials", **record)
    builder.json["meshes"][0]["primitives"][0]["material"] = 0
    return builder


def barrel(sides: int = 16, rings: int = 9) -> str:
    """A turned barrel with quads, smooth staves and flat lids of many corners."""
    lines = ["mtllib barrel.mtl", "o barrel"]
    for ring in range(rings):
        height = ring / (rings - 1)
        radius = 0.35 + 0.15 * math.sin(math.pi * height)
        for side in range(sides):
            angle = 2 * math.pi * side / sides
            x, z = radius * math.cos(angle), radius * math.sin(angle)
            lines.append(f"v {x:.6f} {height:.6f} {z:.6f}")
            lines.append(f"vt {side / sides:.6f} {height:.6f}")
            lines.append(f"vn {math.cos(angle):.6f} 0.000000 {math.sin(angle):.6f}")
    lines += ["vn 0 1 0", "vn 0 -1 0", "g staves", "usemtl staves", "s 1"]
    for ring in range(rings - 1):
        for side in range(sides):
            low, next_ = ring * sides + side, ring * sides + (side + 1) % sides
            corners = [low, low + sides, next_ + sides, next_]
            lines.append("f " + " ".join(f"{c + 1}/{c + 1}/{c + 1}" for c in corners))
    count = rings * sides
    top = [count - 1 - side for side in range(sides)]
    lines += ["g lids", "usemtl lid", "s off"]
    lines.append("f " + " ".join(f"{c + 1}/{c + 1}/{count + 1}" for c in top))
    lines.append("f " + " ".join(f"{c + 1}/{c + 1}/{count + 2}" for c in range(sides)))
    return "\n".join([*lines, ""])


BARREL_MTL = """newmtl staves
Kd 1 1 1
map_Kd wood.png
newmtl lid
Kd 0.5 0.25 0.125
"""
