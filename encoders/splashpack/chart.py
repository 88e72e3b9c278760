"""Charts of a scene: the map of VRAM with the names of textures, and palettes."""

from __future__ import annotations

from typing import cast

import numpy as np

from encoders.kit.chart import Chart, NamedArea, area_chart, palette_chart
from encoders.kit.image.pixel import decode_playstation
from encoders.kit.plan import Inputs, Params
from encoders.splashpack.format import CLUT_STEP
from encoders.splashpack.intermediate import decode_json
from encoders.splashpack.node_layout import WHITE
from encoders.splashpack.vram.texture_size import TextureSize, decode_size

VRAM_SIZE = (1024, 512)
# Textures are many, so they are drawn over the areas that the manifest keeps free.
KEPT = {"framebuffers": "framebuffer", "reserved": "reserved"}


def chart_layout(inputs: Inputs, params: Params, outputs: Inputs) -> Chart:
    """Return the map of VRAM: framebuffers, reserved areas, textures and palettes."""
    layout = decode_json(outputs["layout"])
    sizes = {
        name.removeprefix("size/"): decode_size(data)
        for name, data in inputs.items()
        if name.startswith("size/")
    }
    areas = [
        NamedArea(kind, kind, x, y, width, height)
        for key, kind in KEPT.items()
        for x, y, width, height in cast(list[list[int]], params[key])
    ]
    for key, place in layout["textures"].items():
        areas.append(_texture_area(sizes.get(key), place))
    for x, y, key in layout["cluts"]:
        colors = sizes[key].colors if key in sizes else 2
        areas.append(NamedArea("palette", _name(sizes.get(key)), x * CLUT_STEP, y, colors, 1))
    return area_chart(f"VRAM of {params['scene']}", VRAM_SIZE, areas)


def _texture_area(size: TextureSize | None, place: dict[str, int]) -> NamedArea:
    if size is None:
        return NamedArea("texture", WHITE, place["x"], place["y"], 1, 1)
    name = f"{size.name}, {size.width} x {size.height}, {size.bits} bits"
    return NamedArea("texture", name, place["x"], place["y"], size.width_words, size.height)


def _name(size: TextureSize | None) -> str:
    return WHITE if size is None else f"{size.name}, {size.colors} colours"


def chart_palette(inputs: Inputs, params: Params, outputs: Inputs) -> Chart:
    """Return the palette of a texture; it is empty for direct colours."""
    del inputs, params
    words = np.frombuffer(outputs["palette"], "<u2")
    return palette_chart(map(tuple, decode_playstation(words).tolist()))
