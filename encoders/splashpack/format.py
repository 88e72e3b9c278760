"""SPLASHPACK version 1: the tables of the specification, and a whole file as a value.

Everything is little-endian and naturally aligned. The tables restrict values only where the
specification does; what the console allows is checked by `validate`, on the whole file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from encoders.kit.layout.table import Layout, Row
from encoders.kit.layout.type import I16, I32, U8, U16, Bits, Const, magic

# fmt: off
HEADER = Layout("SPLASHPACK file header", 12,
    Row(0x00, "magic",            magic(b"SP")),
    Row(0x02, "version",          Const(U16, 1)),
    Row(0x04, "exporter_count",   U16, "objects, also those without triangles"),
    Row(0x06, "atlas_count",      U16),
    Row(0x08, "clut_count",       U16),
    Row(0x0A, "_reserved",        U16),
)
EXPORTER = Layout("SPLASHPACK exporter descriptor", 56,
    Row(0x00, "position",         I32[3], "x right, y down, z forward; 4096 = 1.0, within 16 bits"),
    Row(0x0C, "rotation",         I32[9], "by rows, for column vectors; 4096 = 1.0"),
    Row(0x30, "mesh_data_offset", I32, "from the start of the file"),
    Row(0x34, "triangle_count",   I32),
)
ATLAS = Layout("SPLASHPACK texture atlas descriptor", 12,
    Row(0x00, "atlas_data_offset", I32, "from the start of the file, a multiple of 4"),
    Row(0x04, "width",             U16, "in 16-bit words: 64, 128 or 256"),
    Row(0x06, "height",            Const(U16, 256)),
    Row(0x08, "position_x",        U16, "in VRAM, a multiple of 64"),
    Row(0x0A, "position_y",        U16, "in VRAM, 0 or 256"),
)
CLUT = Layout("SPLASHPACK CLUT descriptor", 520,
    Row(0x000, "palette",       U16[256], "colour words, those not used are 0"),
    Row(0x200, "clut_x",        U16, "in VRAM, in steps of 16"),
    Row(0x202, "clut_y",        U16, "in VRAM"),
    Row(0x204, "palette_count", U16, "words that are uploaded: even, 2 to 256"),
    Row(0x206, "_reserved",     U16),
)
TRIANGLE = Layout("SPLASHPACK triangle", 52,
    Row(0x00, "vertices",    I16[3, 3], "x, y, z of v0, v1, v2; 4096 = 1.0"),
    Row(0x12, "normal",      I16[3], "of v0; 4096 = 1.0"),
    Row(0x18, "color_0",     U8[3], "red, green, blue; 128 leaves the texture as it is"),
    Row(0x1B, "_padding_0",  U8),
    Row(0x1C, "color_1",     U8[3]),
    Row(0x1F, "_padding_1",  U8),
    Row(0x20, "color_2",     U8[3]),
    Row(0x23, "_padding_2",  U8),
    Row(0x24, "uv",          U8[3, 2], "u, v of v0, v1, v2: texels within the texture page"),
    Row(0x2A, "_uv_padding", U16),
    Row(0x2C, "texture_page", Bits(U16, (
        ("page_x", 4), ("page_y", 1), ("_blend", 2), ("depth", 2), ("dither", 1), ("_unused", 6),
    ))),
    Row(0x2E, "clut_x",      U16, "in VRAM, in steps of 16; 0 without a palette"),
    Row(0x30, "clut_y",      U16, "in VRAM; 0 without a palette"),
    Row(0x32, "_reserved",   U16),
)
# fmt: on

COLORS = ("color_0", "color_1", "color_2")
# Sizes in VRAM are in words of 16 bits. A page of 4-bit textures is 64 words wide.
PAGE_WIDTH, PAGE_HEIGHT = 64, 256
# 256 texels of 4, 8 and 16 bits.
ATLAS_WIDTHS = (64, 128, 256)
# The graphics processor's palette word has 6 bits for x: a palette begins at a multiple of 16.
CLUT_STEP = 16
VRAM_WIDTH, VRAM_HEIGHT = 1024, 512
# Counts in the header have 16 bits.
COUNT_LIMIT = 65535
DIRECT = 2  # the depth of 16-bit textures, which have no palette

Columns = Mapping[str, npt.NDArray[Any]]
Words = npt.NDArray[np.uint16]
# A rectangle in VRAM: left, top, right, bottom.
Area = tuple[int, int, int, int]


@dataclass(frozen=True, eq=False)
class Atlas:
    """Words of the shape (height, width) that are uploaded to a place in VRAM."""

    x: int
    y: int
    words: Words

    @property
    def width(self) -> int:
        """The number of words in a row."""
        return int(self.words.shape[1])

    @property
    def area(self) -> Area:
        """The rectangle in VRAM."""
        return self.x, self.y, self.x + self.width, self.y + len(self.words)


@dataclass(frozen=True, eq=False)
class Clut:
    """A palette in one row of VRAM; `x` counts steps of 16 words."""

    x: int
    y: int
    words: Words

    @property
    def area(self) -> Area:
        """The rectangle in VRAM."""
        left = self.x * CLUT_STEP
        return left, self.y, left + len(self.words), self.y + 1


@dataclass(frozen=True, eq=False)
class Splashpack:
    """A whole file: columns of the objects, of all triangles in order, atlases and CLUTs."""

    position: npt.NDArray[np.integer]
    rotation: npt.NDArray[np.integer]
    triangle_count: npt.NDArray[np.integer]
    triangles: Columns
    atlases: Sequence[Atlas]
    cluts: Sequence[Clut]


class PlacedObjects(Protocol):
    """Columns of objects, and of their triangles in order."""

    @property
    def position(self) -> npt.NDArray[np.integer]:
        """x, y, z of each object."""
        ...

    @property
    def rotation(self) -> npt.NDArray[np.integer]:
        """The matrix of each object, by rows."""
        ...

    @property
    def triangle_count(self) -> npt.NDArray[np.integer]:
        """How many triangles each object has."""
        ...

    @property
    def triangles(self) -> Columns:
        """The columns of all triangles."""
        ...


def metadata_size(objects: int, atlases: int, cluts: int) -> int:
    """Return the number of bytes before the first triangle."""
    return HEADER.size + EXPORTER.size * objects + ATLAS.size * atlases + CLUT.size * cluts
