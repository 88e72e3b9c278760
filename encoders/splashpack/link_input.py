"""What the link nodes of both versions read: placed triangles, VRAM and palettes of a scene."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.plan import Inputs
from encoders.splashpack.format import PAGE_HEIGHT, PAGE_WIDTH, VRAM_HEIGHT, VRAM_WIDTH, Words
from encoders.splashpack.intermediate import MESH_TRIANGLE, UNTEXTURED, decode_json
from encoders.splashpack.node_layout import WHITE
from encoders.splashpack.vram.texture_size import TextureSize, decode_size

WHITE_WORD = 0x7FFF
PAGE_FIELDS = ("page_x", "page_y", "depth", "clut_x", "clut_y")

Ints = npt.NDArray[np.int64]


def read_triangles(inputs: Inputs, number: str, layout: Mapping[str, Any]) -> dict[str, Ints]:
    """Return the triangles of a mesh with the pages, palettes and texels of their textures."""
    triangles = _unpack(inputs, number)
    keys = decode_json(inputs[f"uses/{number}"])["textures"]
    table = _texture_table(inputs, keys, layout)
    # Version 1 has no untextured triangles: they show a white texel, tinted by their colours.
    texture = np.where(triangles["texture"] == UNTEXTURED, len(keys), triangles["texture"])
    row = {key: values[texture] for key, values in table.items()}
    texel = {}
    for axis, side, start in ((0, "width", "u"), (1, "height", "v")):
        share = triangles["uv"][..., axis].astype(np.float64)
        # 1.0 is the last texel: one more would be the first of what lies beside the texture.
        inside = np.floor(share * (row[side] - 1)[:, None] + 0.5).astype(np.int64)
        texel[axis] = inside + row[start][:, None]
    colors = {f"color_{corner}": triangles["color"][:, corner] for corner in range(3)}
    return {
        "vertices": triangles["vertices"],
        "normal": triangles["normal"],
        **colors,
        "uv": np.stack([texel[0], texel[1]], axis=2),
        # The console ignores this bit of a polygon; some emulators do not.
        "dither": np.ones(len(texture), np.int64),
        **{key: row[key] for key in PAGE_FIELDS},
    }


def find_untextured(inputs: Inputs, number: str) -> npt.NDArray[np.bool_]:
    """Tell which triangles of a mesh have no texture."""
    return np.asarray(_unpack(inputs, number)["texture"] == UNTEXTURED)


def _unpack(inputs: Inputs, number: str) -> dict[str, Any]:
    data = inputs[f"triangles/{number}"]
    return MESH_TRIANGLE.unpack(data, len(data) // MESH_TRIANGLE.size)


def _texture_table(inputs: Inputs, keys: list[str], layout: Mapping[str, Any]) -> dict[str, Ints]:
    """Return a row for each texture of a mesh, and a last one for the white texel."""
    rows = []
    for key in [*keys, WHITE]:
        place = layout["textures"].get(layout["same"].get(key, key))
        if place is None:  # no triangle shows it
            rows.append(dict.fromkeys(("u", "v", "width", "height", *PAGE_FIELDS), 0))
            continue
        size = _texture_size(inputs, key, place["depth"])
        left, top = PAGE_WIDTH * place["page_x"], PAGE_HEIGHT * place["page_y"]
        # UVs are in texels from the corner of the page; places are in words of VRAM.
        start = {"u": (place["x"] - left) * size.per_word, "v": place["y"] - top}
        rows.append({**place, **start, "width": size.width, "height": size.height})
    fields = ("u", "v", "width", "height", *PAGE_FIELDS)
    return {key: np.array([row[key] for row in rows], np.int64) for key in fields}


def _texture_size(inputs: Inputs, key: str, depth: int) -> TextureSize:
    if key == WHITE:
        return TextureSize(WHITE, 1, 1, 4 << depth, 0, "", "")
    return decode_size(inputs[f"size/{key}"])


def place_textures(inputs: Inputs, layout: Mapping[str, Any]) -> Words:
    """Return VRAM, of the shape (512, 1024), with every texture in its place and else zeros."""
    vram = np.zeros((VRAM_HEIGHT, VRAM_WIDTH), np.uint16)
    for key, place in layout["textures"].items():
        words = read_words(inputs, key, place["depth"])
        height, width = words.shape
        vram[place["y"] : place["y"] + height, place["x"] : place["x"] + width] = words
    return vram


def read_words(inputs: Inputs, key: str, depth: int) -> Words:
    """Return the words of a texture."""
    if key == WHITE:  # entry 0 of its palette, or the colour itself
        return np.full((1, 1), WHITE_WORD if depth == 2 else 0, np.uint16)
    size = decode_size(inputs[f"size/{key}"])
    words = np.frombuffer(inputs[f"words/{key}"], "<u2").astype(np.uint16)
    return words.reshape(size.height, size.width_words)


def read_palette(inputs: Inputs, key: str) -> Words:
    """Return the palette of a texture."""
    if key == WHITE:
        return np.array([WHITE_WORD, 0], np.uint16)
    return np.frombuffer(inputs[f"palette/{key}"], "<u2").astype(np.uint16)
