"""What `doit inspect` shows of a KAC file, and the exports: geometry as OBJ, textures as PNG.

A texture's first row is v = 0. Exported pictures have it at the bottom, as OBJ does, so that the
exported geometry and pictures match.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kac.format import TEXEL, Columns, KacFile, KacTexture
from encoders.kac.reader import unpack_kac
from encoders.kit.image.pixel import Rgba8, expand_bits


def decode_kac(data: bytes, name: str) -> dict[str, Any]:
    """Decode a file: counts, materials, textures and warnings, then every segment's entries."""
    kac = unpack_kac(data, name)
    return {
        "format": "KAC 1.0",
        "bytes": len(data),
        "triangles": len(kac.material_idx),
        "vertices": len(kac.vertices),
        "normals": len(kac.normals),
        "uvs": len(kac.uvs),
        "bounds": {
            "min": kac.vertices.min(axis=0).tolist(),
            "max": kac.vertices.max(axis=0).tolist(),
        },
        "materials": [
            _describe_material(kac.materials, row) for row in range(len(kac.materials["r"]))
        ],
        "textures": [_describe_texture(texture) for texture in kac.textures],
        "warnings": _warnings(kac),
        "NORM": kac.normals.tolist(),
        "UV": kac.uvs.tolist(),
        "VERT": kac.vertices.tolist(),
        "3MSH": [
            [material, *corners]
            for material, corners in zip(
                kac.material_idx.tolist(), kac.corners.tolist(), strict=True
            )
        ],
        "TXTR": [
            [np.frombuffer(level, "<u2").tolist() for level in texture.levels()]
            for texture in kac.textures
        ],
    }


def _describe_material(materials: Columns, row: int) -> dict[str, Any]:
    return {
        "color": [int(materials[channel][row]) for channel in "rgba"],
        "has_texture": int(materials["has_texture"][row]),
        "texture_idx": int(materials["texture_idx"][row]),
        "has_smooth_shading": int(materials["has_smooth_shading"][row]),
    }


def _describe_texture(texture: KacTexture) -> dict[str, Any]:
    return {
        "side_length": texture.side_length,
        "levels": len(texture.levels()),
        "sample_linearly": int(texture.sample_linearly),
        "clamp_uv": int(texture.clamp_uv),
        "pixel_data_hash": texture.pixel_data_hash.hex(),
    }


def _warnings(kac: KacFile) -> list[str]:
    """Return warnings about a file that loads, but will not look as intended."""
    found = [
        f"texture {number}: the hash is not that of its mip level 0"
        for number, texture in enumerate(kac.textures)
        # A warning only: the original converter hashes just the first texel.
        if texture.pixel_data_hash != texture.true_hash
    ]
    found += [
        f"texture {number}: Kelpo's Glide back end takes no textures of one texel"
        for number, texture in enumerate(kac.textures)
        if texture.side_length == 1
    ]
    # Kelpo culls by the normal of the first corner.
    zeros = int((kac.normals[kac.corners[:, 0, 1]] == 0).all(axis=1).sum())
    if zeros:
        found.append(f"triangles that are never drawn, as their normal has no length: {zeros}")
    return found


def export_obj(data: bytes, name: str) -> dict[str, bytes]:
    """Export the geometry as an OBJ file."""
    kac = unpack_kac(data, name)
    lines = [
        *_rows("v", kac.vertices),
        *_rows("vt", kac.uvs),
        *_rows("vn", kac.normals),
    ]
    # `usemtl` only where the material changes, as OBJ means it.
    current = -1
    faces = zip(kac.material_idx.tolist(), (kac.corners.astype(np.int64) + 1).tolist(), strict=True)
    for material, corners in faces:
        if material != current:
            lines.append(f"usemtl material_{material}")
            current = material
        # KAC stores vertex, normal, uv; OBJ writes vertex, uv, normal.
        lines.append(" ".join(["f", *(f"{v}/{vt}/{vn}" for v, vn, vt in corners)]))
    return {"mesh.obj": "\n".join([*lines, ""]).encode()}


def _rows(keyword: str, values: npt.NDArray[np.float32]) -> Iterable[str]:
    return (" ".join([keyword, *(f"{one:.9g}" for one in row)]) for row in values.tolist())


def extract_textures(data: bytes, name: str) -> dict[str, bytes]:
    """Export every mip level of every texture as a PNG file."""
    kac = unpack_kac(data, name)
    return {
        f"texture_{number}_level_{level}.png": _png(decode_level(texels))
        for number, texture in enumerate(kac.textures)
        for level, texels in enumerate(texture.levels())
    }


def decode_level(texels: bytes) -> Rgba8:
    """Decode a mip level to an RGBA8 picture, v = 0 at the bottom."""
    count = len(texels) // TEXEL.size
    side = round(count**0.5)
    codes = TEXEL.unpack(texels, count)
    channels = [
        expand_bits(codes[channel].astype(np.uint8), 1 if channel == "a" else 5)
        for channel in "rgba"
    ]
    return np.ascontiguousarray(np.stack(channels, axis=1).reshape(side, side, 4)[::-1])


def _png(picture: Rgba8) -> bytes:
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(picture).save(stream, "PNG")
    return stream.getvalue()
