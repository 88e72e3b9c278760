"""The smallest scene that draws something, written by hand from the specification.

One object of two triangles, a 4-bit atlas at (320, 0) and a CLUT of 16 words at (0, 240).
"""

from __future__ import annotations

import struct

import numpy as np

from encoders.splashpack.format import Atlas, Clut, Splashpack

PALETTE = [0x0000, 0x8000, 0x7FFF, 0x001F, 0x03E0, 0x7C00, *range(1, 11)]
IDENTITY = (4096, 0, 0, 0, 4096, 0, 0, 0, 4096)
UV = ((0, 0), (7, 0), (0, 7)), ((7, 0), (7, 7), (0, 7))
CORNERS = (
    ((-512, -512, 0), (512, -512, 0), (-512, 512, 0)),
    ((512, -512, 0), (512, 512, 0), (-512, 512, 0)),
)
HEADER = "53 50 01 00 01 00 01 00 01 00 00 00"
OBJECT = (
    "00 00 00 00 00 00 00 00 00 04 00 00"  # position 0, 0, 1024
    "00 10 00 00 00 00 00 00 00 00 00 00"  # rotation, by rows
    "00 00 00 00 00 10 00 00 00 00 00 00"
    "00 00 00 00 00 00 00 00 00 10 00 00"
    "58 02 00 00 02 00 00 00"  # mesh data at 600, two triangles
)
ATLAS = "c0 02 00 00 40 00 00 01 40 01 00 00"  # at 704, 64 x 256 words, VRAM 320, 0
CLUT_END = "00 00 f0 00 10 00 00 00"  # x 0, y 240, 16 words, reserved
FIRST_TRIANGLE = (
    "00 fe 00 fe 00 00 00 02 00 fe 00 00 00 fe 00 02 00 00"  # top left, top right, bottom left
    "00 00 00 00 00 f0"  # normal 0, 0, -4096
    "80 80 80 00 80 80 80 00 80 80 80 00"  # colours, each with a byte of padding
    "00 00 07 00 00 07 00 00"  # UVs and padding
    "05 02 00 00 f0 00 00 00"  # page 5 of row 0, 4 bits, dithered; CLUT x, CLUT y; reserved
)


def atlas_words() -> np.ndarray:
    words = np.zeros((256, 64), np.uint16)
    words[:8, :2] = [[0x3210, 0x7654]] * 8
    return words


def minimum() -> Splashpack:
    """The value that has to become these bytes."""
    return Splashpack(
        position=np.array([[0, 0, 1024]]),
        rotation=np.array([IDENTITY]),
        triangle_count=np.array([2]),
        triangles={
            "vertices": np.array(CORNERS),
            "normal": np.array([[0, 0, -4096]] * 2),
            "color_0": np.full((2, 3), 128),
            "color_1": np.full((2, 3), 128),
            "color_2": np.full((2, 3), 128),
            "uv": np.array(UV),
            "page_x": np.full(2, 5),
            "page_y": np.zeros(2, int),
            "depth": np.zeros(2, int),
            "dither": np.ones(2, int),
            "clut_x": np.zeros(2, int),
            "clut_y": np.full(2, 240),
        },
        atlases=[Atlas(320, 0, atlas_words())],
        cluts=[Clut(0, 240, np.array(PALETTE, np.uint16))],
    )


def minimum_bytes() -> bytes:
    """The same, put together from the annotated bytes."""
    palette = struct.pack("<256H", *PALETTE, *[0] * 240)
    second = struct.pack(
        "<9h3h12B6BH4H",
        *np.ravel(CORNERS[1]),
        *(0, 0, -4096),
        *(128, 128, 128, 0) * 3,
        *np.ravel(UV[1]),
        *(0, 0x0205, 0, 240, 0),
    )
    return b"".join(
        [
            bytes.fromhex(HEADER),
            bytes.fromhex(OBJECT),
            bytes.fromhex(ATLAS),
            palette,
            bytes.fromhex(CLUT_END),
            bytes.fromhex(FIRST_TRIANGLE),
            second,
            atlas_words().astype("<u2").tobytes(),
        ]
    )
