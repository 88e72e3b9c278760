"""The smallest version 20 scene that draws something, written by hand from the specification.

One object "T" of one triangle, an atlas of 2 x 8 words at (320, 0), a CLUT of 4 words at (0, 240).
"""

from __future__ import annotations

import numpy as np

from encoders.splashpack.format import Atlas, Clut
from encoders.splashpack.v20.bvh import empty_bvh
from encoders.splashpack.v20.format import AtlasRecord, ClutRecord, Scene20
from encoders.splashpack.v20.vram_file import VramFile

HEADER = (
    "53 50 14 00 00 00 01 00 01 00 01 00 00 00 00 00"  # SP, 20, Lua, objects, atlases, CLUTs
    "00 00 00 00 00 00 00 00 00 00 00 00 4a 00 ff ff"  # start, rotation, height 74, no script
    "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"  # BVH, type, triggers, collision, nav
    "04 00 08 00 c8 00 33 03 14 00 00 00 20 01 00 00"  # 4, 8, 200, 819, 20, names at 0x120
    "00 00 00 00 00 00 00 00 00 00 00 00 05 00 00 00"  # no clips, no fog, black, density 5
    + "00"
    * 40
)
OBJECT = (
    "ec 00 00 00"  # triangles at 236
    "00 00 00 00 00 00 00 00 00 04 00 00"  # position 0, 0, 1024
    "00 10 00 00 00 00 00 00 00 00 00 00"  # rotation, by rows
    "00 00 00 00 00 10 00 00 00 00 00 00"
    "00 00 00 00 00 00 00 00 00 10 00 00"
    "01 00 ff ff 01 00 00 00 ff ff 00 00 00 00 00 00"  # 1 triangle, no Lua, active, none, 0, 0
    "00 fe ff ff 00 fe ff ff 00 04 00 00"  # least -512, -512, 1024
    "00 02 00 00 00 02 00 00 00 04 00 00"  # greatest 512, 512, 1024
)
RECORDS = (
    "00 00 00 00 02 00 08 00 40 01 00 00"  # atlas of 2 x 8 words at 320, 0
    "00 00 00 00 00 00 f0 00 04 00 00 00"  # CLUT at 0, 240 of 4 words
)
TRIANGLE = (
    "00 fe 00 fe 00 00 00 02 00 fe 00 00 00 fe 00 02 00 00"  # top left, top right, bottom left
    "00 00 00 00 00 f0"  # normal 0, 0, -4096
    "80 80 80 00 80 80 80 00 80 80 80 00"  # colours, each with a byte of padding
    "00 00 07 00 00 07 00 00"  # UVs and padding
    "05 02 00 00 f0 00 00 00"  # page 0x0205, CLUT 0, 240, flags
)
NAMES = "01 54 00"
PACK = bytes.fromhex(HEADER + OBJECT + RECORDS + TRIANGLE + NAMES)
VRAM = bytes.fromhex(
    "56 52 01 00 01 00 00 00"  # VR, 1 atlas, 1 CLUT, no font
    "40 01 00 00 02 00 08 00"  # at 320, 0: 2 x 8 words
    "33 33 33 33 22 11 22 11 11 22 11 22 11 22 11 22"
    "22 11 22 11 22 11 22 11 11 22 11 22 11 22 11 22"
    "00 00 f0 00 04 00 00 00"  # at 0, 240: 4 words
    "00 00 1f 00 e0 03 00 7c"
)
SPU = bytes.fromhex("53 41 00 00")
CORNERS = ((-512, -512, 0), (512, -512, 0), (-512, 512, 0))
IDENTITY = (4096, 0, 0, 0, 4096, 0, 0, 0, 4096)


def minimum() -> Scene20:
    """The value that has to become the bytes of PACK."""
    return Scene20(
        position=np.array([[0, 0, 1024]]),
        rotation=np.array([IDENTITY]),
        triangle_count=np.array([1]),
        bounds=np.array([[-512, -512, 1024, 512, 512, 1024]]),
        names=[b"T"],
        triangles={
            "vertices": np.array([CORNERS]),
            "normal": np.array([[0, 0, -4096]]),
            "color_0": np.full((1, 3), 128),
            "color_1": np.full((1, 3), 128),
            "color_2": np.full((1, 3), 128),
            "uv": np.array([[[0, 0], [7, 0], [0, 7]]]),
            "page_x": np.array([5]),
            "page_y": np.array([0]),
            "blend": np.array([0]),
            "depth": np.array([0]),
            "dither": np.array([1]),
            "unused": np.array([0]),
            "clut_x": np.array([0]),
            "clut_y": np.array([240]),
        },
        atlases=[AtlasRecord(320, 0, 2, 8)],
        cluts=[ClutRecord(0, 240, 4)],
        bvh=empty_bvh(),
    )


def uploads() -> VramFile:
    """The value that has to become the bytes of VRAM."""
    rows = [[0x3333, 0x3333], [0x1122] * 2, [0x2211] * 2, [0x2211] * 2]
    rows += [[0x1122] * 2, [0x1122] * 2, [0x2211] * 2, [0x2211] * 2]
    palette = np.array([0x0000, 0x001F, 0x03E0, 0x7C00], np.uint16)
    return VramFile([Atlas(320, 0, np.array(rows, np.uint16))], [Clut(0, 240, palette)])
