"""Generated files as files that other programs open: textures as PNG, meshes as OBJ.

What comes out is what the graphics processor would show, after all rounding.
"""

from __future__ import annotations

import io

import numpy as np

from encoders.kit.error import EncodeError
from encoders.kit.plan import Siblings
from encoders.rp2350.literal import vector_texts
from encoders.rp2350.reader import unpack_levels, unpack_mesh
from encoders.rp2350.wrapper import Descriptor, TextureWrapper
from encoders.rp2350.wrapper_text import parse_wrapper


def render_texture(data: bytes, name: str, siblings: Siblings) -> dict[str, bytes]:
    """Draw the base level, with smaller ones below each other at its right."""
    from PIL import Image

    wrapper = parse_wrapper(data, name)
    if not isinstance(wrapper, TextureWrapper):
        raise EncodeError("only textures can be drawn", {"file": name})
    levels = unpack_levels(wrapper, siblings(wrapper.data_file) or b"", name)
    side = levels[1].shape[1] if len(levels) > 1 else 0
    sheet = np.zeros((_sheet_height(levels), wrapper.width + side, 4), np.uint8)
    sheet[: wrapper.height, : wrapper.width] = levels[0]
    top = 0
    for level in levels[1:]:
        sheet[top : top + level.shape[0], wrapper.width : wrapper.width + level.shape[1]] = level
        top += level.shape[0]
    stream = io.BytesIO()
    Image.fromarray(sheet).save(stream, "PNG")
    return {"texture.png": stream.getvalue()}


def _sheet_height(levels: list[np.ndarray[tuple[int, ...], np.dtype[np.uint8]]]) -> int:
    return max(levels[0].shape[0], sum(level.shape[0] for level in levels[1:]))


def write_obj(data: bytes, name: str, siblings: Siblings) -> dict[str, bytes]:
    """Write a mesh with the positions, UVs and normals that the firmware decodes."""
    wrapper = parse_wrapper(data, name)
    if not isinstance(wrapper, Descriptor):
        raise EncodeError("only a mesh's descriptor can become an OBJ", {"file": name})
    low = np.array(wrapper.low)
    extent = np.array(wrapper.high) - low
    lines, first = [], 1
    for number, patch in enumerate(unpack_mesh(wrapper, name, siblings)):
        lines.append(f"g patch{number}")
        rows = {
            "v": low + patch.columns["pos"] * (extent / 65535),
            "vt": patch.columns["uv"] / 8192,
            "vn": patch.columns["norm"] / 32767,
        }
        for keyword, values in rows.items():
            lines += [f"{keyword} {' '.join(vector_texts(row))}" for row in values.tolist()]
        for corners in (patch.triangles.astype(int) + first).tolist():
            lines.append("f " + " ".join(f"{corner}/{corner}/{corner}" for corner in corners))
        first += len(patch.columns["pos"])
    return {"mesh.obj": ("\n".join(lines) + "\n").encode()}
