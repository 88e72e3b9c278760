"""KAC 1.0: the tables, the limits, and the value of a whole file.

A file is a header, five segments of records, and the textures with their texels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.layout.table import Layout, Row
from encoders.kit.layout.type import F32, U16, U32, Bits, Const, magic, raw

# fmt: off
HEADER = Layout("KAC 1.0 file format header", 8,
    Row(0x00, "segment_identifier",  magic(b"KAC ")),
    Row(0x04, "file_format_version", Const(F32, 1.0)),
)
SEGMENT = Layout("KAC 1.0 segment", 8,
    Row(0x00, "segment_identifier", raw(4), "four letters, padded with blanks"),
    Row(0x04, "n",                  U32,    "number of entries that follow"),
)
NORMAL = Layout("KAC 1.0 NORM normal", 12,
    Row(0x00, "normal", F32[3], "x, y, z"),
)
UV = Layout("KAC 1.0 UV coordinates", 8,
    Row(0x00, "coordinates", F32[2], "u, v; v = 0 is the first row of the texture"),
)
VERTEX = Layout("KAC 1.0 VERT coordinates", 12,
    Row(0x00, "coordinates", F32[3], "x, y, z"),
)
TRIANGLE = Layout("KAC 1.0 3MSH triangle", 20,
    Row(0x00, "material_idx",   U16),
    Row(0x02, "indexed_vertex", U16[3, 3], "for each corner: vertex, normal, uv"),
)
MATERIAL = Layout("KAC 1.0 MATE material", 6,
    Row(0x00, "color",    Bits(U16, (("r", 4), ("g", 4), ("b", 4), ("a", 4)))),
    Row(0x02, "metadata", Bits(U32, (
        ("texture_idx", 16), ("has_texture", 1), ("has_smooth_shading", 1), ("_padding", 14),
    ))),
)
TEXTURE = Layout("KAC 1.0 TXTR texture metadata", 20,
    Row(0x00, "parameters",      Bits(U32, (
        ("side_length", 16), ("sample_linearly", 1), ("clamp_uv", 1), ("_padding", 14),
    ))),
    Row(0x04, "pixel_data_hash", raw(16), "first half of the SHA-256 of mip level 0"),
)
TEXEL = Layout("KAC 1.0 TXTR pixel", 2,
    Row(0x00, "pixel", Bits(U16, (("r", 5), ("g", 5), ("b", 5), ("a", 1)))),
)
# fmt: on

TEXTURES = b"TXTR"
# Segments in the order in which they are written; a reader accepts any order before TXTR.
ENTRIES = {b"NORM": NORMAL, b"UV  ": UV, b"VERT": VERTEX, b"3MSH": TRIANGLE, b"MATE": MATERIAL}
# Segments of arrays that have an entry limit, and their names in messages.
ARRAYS = {b"NORM": "normals", b"UV  ": "UV coordinates", b"VERT": "vertices", b"MATE": "materials"}
# The arrays that the three numbers of a triangle's corner index, in file order.
CORNER_INDICES = (b"VERT", b"NORM", b"UV  ")
# Indices are 16 bits wide.
COUNT_LIMIT = 65536
SIDES = tuple(1 << level for level in range(9))
# Kelpo's loader keeps offsets in signed 32-bit integers.
SIZE_LIMIT_BYTES = 1 << 31

Columns = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class KacTexture:
    """One texture: its flags and the stored texels of all its mip levels."""

    side_length: int
    sample_linearly: bool
    clamp_uv: bool
    texels: bytes
    pixel_data_hash: bytes = b""

    @property
    def true_hash(self) -> bytes:
        """The hash that the specification asks for: half of the SHA-256 of level 0."""
        return hashlib.sha256(self.texels[: 2 * self.side_length**2]).digest()[:16]

    def levels(self) -> list[bytes]:
        """Return the texels of each mip level, the largest first."""
        # The file stores no level count: there is always a level for every power of two.
        sides = [side for side in reversed(SIDES) if side <= self.side_length]
        ends = np.cumsum([2 * side * side for side in sides]).tolist()
        return [self.texels[e - 2 * s * s : e] for s, e in zip(sides, ends, strict=True)]


@dataclass(frozen=True, eq=False)
class KacFile:
    """A whole file. Arrays have one row per entry; `materials` has the columns of MATERIAL.

    `corners` (triangles, 3, 3) holds the indices of vertex, normal and uv for each corner.
    """

    normals: npt.NDArray[np.float32]
    uvs: npt.NDArray[np.float32]
    vertices: npt.NDArray[np.float32]
    material_idx: npt.NDArray[np.integer]
    corners: npt.NDArray[np.integer]
    materials: Columns
    textures: tuple[KacTexture, ...] = field(default=())

    def counts(self) -> dict[bytes, int]:
        """Return the number of entries of each segment."""
        return {
            b"NORM": len(self.normals),
            b"UV  ": len(self.uvs),
            b"VERT": len(self.vertices),
            b"3MSH": len(self.material_idx),
            b"MATE": len(self.materials["r"]),
            TEXTURES: len(self.textures),
        }


def texture_size_bytes(side: int) -> int:
    """Return the size of a texture's record: metadata and all mip levels."""
    # The sum of side^2 + (side / 2)^2 + ... + 1 is (4 side^2 - 1) / 3; a texel has two bytes.
    return TEXTURE.size + 2 * (4 * side * side - 1) // 3
