"""Node encoder of a scene: link textures, meshes and layout to one file and a picture of VRAM."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from encoders.kit.plan import REPORT, WARNINGS, Inputs, Outputs, Params
from encoders.kit.warning import grouped
from encoders.splashpack.format import PAGE_HEIGHT, Atlas, Clut, Splashpack
from encoders.splashpack.intermediate import decode_json
from encoders.splashpack.link_input import place_textures, read_palette, read_triangles
from encoders.splashpack.node_layout import taken_areas
from encoders.splashpack.vram.image import draw_vram
from encoders.splashpack.writer import pack_splashpack

# The runtime has memory for no more triangles than these in one frame.
FRAME_TRIANGLES = 3238
# The file lies in the console's 2 MB of memory, beside the runtime and its buffers.
COMFORTABLE_BYTES = 1_000_000


def encode_scene(inputs: Inputs, params: Params) -> Outputs:
    """Encode a scene as `pack`, and what VRAM holds when it is loaded as `picture`."""
    layout = decode_json(inputs["layout"])
    numbers = [name.partition("/")[2] for name in inputs if name.startswith("objects/")]
    objects = [one for n in numbers for one in decode_json(inputs[f"objects/{n}"])]
    columns = [read_triangles(inputs, number, layout) for number in numbers]
    vram = place_textures(inputs, layout)
    pack = Splashpack(
        position=np.array([one["position"] for one in objects], np.int64).reshape(-1, 3),
        rotation=np.array([one["rotation"] for one in objects], np.int64).reshape(-1, 9),
        triangle_count=np.array([one["triangles"] for one in objects], np.int64),
        triangles={key: np.concatenate([one[key] for one in columns]) for key in columns[0]},
        atlases=[
            Atlas(x, y, vram[y : y + PAGE_HEIGHT, x : x + width].copy())
            for x, y, width in layout["atlases"]
        ],
        cluts=[Clut(x, y, read_palette(inputs, key)) for x, y, key in layout["cluts"]],
    )
    data = pack_splashpack(pack, str(params["scene"]))
    outputs = {"pack": data, "picture": draw_vram(pack, taken_areas(params))}
    count = len(pack.triangles["depth"])
    outputs[REPORT] = "\n".join(_report(len(objects), count, len(data))).encode()
    warnings = "\n".join(_warnings(count, len(data)))
    return {**outputs, WARNINGS: warnings.encode()} if warnings else outputs


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
