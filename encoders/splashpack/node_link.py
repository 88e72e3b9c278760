"""Node encoder of a scene: link textures, meshes and layout to one file and a picture of VRAM."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.plan import REPORT, WARNINGS, Inputs, Outputs, Params
from encoders.kit.warning import grouped
from encoders.splashpack.format import (
    PAGE_HEIGHT,
    PAGE_WIDTH,
    VRAM_HEIGHT,
    VRAM_WIDTH,
    Atlas,
    Clut,
    Splashpack,
    Words,
)
from encoders.splashpack.intermediate import MESH_TRIANGLE, UNTEXTURED, decode_json
from encoders.splashpack.node_layout import WHITE, taken_areas
from encoders.splashpack.vram.image import draw_vram
from encoders.splashpack.vram.texture_size import TextureSize, decode_size
from encoders.splashpack.writer import pack_splashpack

# The runtime has memory for no more triangles than these in one frame.
FRAME_TRIANGLES = 3238
# The file lies in the console's 2 MB of memory, beside the runtime and its buffers.
COMFORTABLE_BYTES = 1_000_000
WHITE_WORD = 0x7FFF
PAGE_FIELDS = ("page_x", "page_y", "depth", "clut_x", "clut_y")

Ints = npt.NDArray[np.int64]


def encode_scene(inputs: Inputs, params: Params) -> Outputs:
    """Encode a scene as `pack`, and what VRAM holds when it is loaded as `picture`."""
    layout = decode_json(inputs["layout"])
    numbers = [name.partition("/")[2] for name in inputs if name.startswith("objects/")]
    objects = [one for n in numbers for one in decode_json(inputs[f"objects/{n}"])]
    columns = [_columns(inputs, number, layout) for number in numbers]
    atlases, cluts = _place_textures(inputs, layout)
    pack = Splashpack(
        position=np.array([one["position"] for one in objects], np.int64).reshape(-1, 3),
        rotation=np.array([one["rotation"] for one in objects], np.int64).reshape(-1, 9),
        triangle_count=np.array([one["triangles"] for one in objects], np.int64),
        triangles={key: np.concatenate([one[key] for one in columns]) for key in columns[0]},
        atlases=atlases,
        cluts=cluts,
    )
    data = pack_splashpack(pack, str(params["scene"]))
    outputs = {"pack": data, "picture": draw_vram(pack, taken_areas(params))}
    count = len(pack.triangles["depth"])
    outputs[REPORT] = "\n".join(_report(len(objects), count, len(data))).encode()
    warnings = "\n".join(_warnings(count, len(data)))
    return {**outputs, WARNINGS: warnings.encode()} if warnings else outputs


def _columns(inputs: Inputs, number: str, layout: Mapping[str, Any]) -> dict[str, Ints]:
    """Return the triangles of a mesh with the pages, palettes and texels of their textures."""
    data = inputs[f"triangles/{number}"]
    triangles = MESH_TRIANGLE.unpack(data, len(data) // MESH_TRIANGLE.size)
    keys = decode_json(inputs[f"uses/{number}"])["textures"]
    table = _texture_table(inputs, keys, layout)
    # The format has no untextured triangles: they show a white texel, tinted by their colours.
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


def _place_textures(inputs: Inputs, layout: Mapping[str, Any]) -> tuple[list[Atlas], list[Clut]]:
    """Copy every texture to its place, and return the atlases and CLUTs."""
    vram = np.zeros((VRAM_HEIGHT, VRAM_WIDTH), np.uint16)
    # Words that no texture covers stay 0.
    for key, place in layout["textures"].items():
        words = _words(inputs, key, place["depth"])
        height, width = words.shape
        vram[place["y"] : place["y"] + height, place["x"] : place["x"] + width] = words
    atlases = [
        Atlas(x, y, vram[y : y + PAGE_HEIGHT, x : x + width].copy())
        for x, y, width in layout["atlases"]
    ]
    return atlases, [Clut(x, y, _palette(inputs, key)) for x, y, key in layout["cluts"]]


def _words(inputs: Inputs, key: str, depth: int) -> Words:
    if key == WHITE:  # entry 0 of its palette, or the colour itself
        return np.full((1, 1), WHITE_WORD if depth == 2 else 0, np.uint16)
    size = decode_size(inputs[f"size/{key}"])
    words = np.frombuffer(inputs[f"words/{key}"], "<u2").astype(np.uint16)
    return words.reshape(size.height, size.width_words)


def _palette(inputs: Inputs, key: str) -> Words:
    if key == WHITE:
        return np.array([WHITE_WORD, 0], np.uint16)
    return np.frombuffer(inputs[f"palette/{key}"], "<u2").astype(np.uint16)


def _report(objects: int, triangles: int, size: int) -> Iterable[str]:
    yield f"objects {objects}, triangles {triangles:,}, {size:,} bytes"


def _warnings(triangles: int, size: int) -> Iterable[str]:
    if triangles > FRAME_TRIANGLES:
        yield grouped(
            "budget",
            f"{triangles:,} triangles: the runtime stops when more than {FRAME_TRIANGLES:,} of "
            "them are in view",
        )
    if size > COMFORTABLE_BYTES:
        yield grouped(
            "budget",
            f"{size:,} bytes: the file lies in the console's memory of 2 MB, with all the rest",
        )
