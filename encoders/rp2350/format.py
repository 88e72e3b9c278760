"""The tables of the binary files: patches of meshes, blocks of textures, and the hardware's limits.

The files have no headers: the Rust wrapper beside each says how many records it holds.
"""

from __future__ import annotations

from encoders.kit.layout.table import Layout, Row
from encoders.kit.layout.type import I16, U8, U16, U32, Bits

# fmt: off
POSITION = Layout("Patch position, one axis of one vertex", 2,
    Row(0x00, "pos",  U16, "0 is the mesh's least coordinate, 65535 its greatest"),
)
NORMAL = Layout("Patch normal, one axis of one vertex", 2,
    Row(0x00, "norm", I16, "1:15 fixed point, scale 32767"),
)
UV = Layout("Patch UV, one axis of one vertex", 2,
    Row(0x00, "uv",   I16, "1:2:13 fixed point, scale 8192"),
)
ENTRY = Layout("Strip entry", 1,
    Row(0x00, "entry", Bits(U8, (("_spare", 2), ("kick", 2), ("vertex", 4)))),
)
RGBA4444_BLOCK = Layout("RGBA4444 block", 32,
    Row(0x00, "texel",  U16[4, 4], "rows from the top; r in bits 12-15, then g, b, a"),
)
BC1_BLOCK = Layout("BC1 block", 8,
    Row(0x00, "color0", U16, "r in bits 11-15, g in 5-10, b in 0-4"),
    Row(0x02, "color1", U16, "color0 > color1: four colours; else three and a hole, index 3"),
    Row(0x04, "index",  U32, "two bits a texel, the first texel lowest"),
)
INDEX_BLOCK = Layout("Index block", 16,
    Row(0x00, "index", U8[4, 4], "rows from the top, an index for each 2x2 texels"),
)
PALETTE_ENTRY = Layout("Palette entry", 16,
    Row(0x00, "nw", U8[4], "r, g, b, a of the texel with even x and even y"),
    Row(0x04, "ne", U8[4], "odd x, even y"),
    Row(0x08, "sw", U8[4], "even x, odd y"),
    Row(0x0C, "se", U8[4], "odd x, odd y"),
)
# fmt: on

# The arrays of a patch in file order, before the entries: table, column, number of axes.
PATCH_ARRAYS = ((POSITION, "pos", 3), (NORMAL, "norm", 3), (UV, "uv", 2))
VERTEX_BYTES = 16
# The firmware's buffers hold this much of one patch.
MAX_VERTICES = 16
MAX_ENTRIES = 48
BLOCK_BYTES = {"RGBA4444": RGBA4444_BLOCK.size, "BC1": BC1_BLOCK.size}
# Indexed textures may be smaller than others.
MIN_INDEXED_SIDE = 2
# A palette always has all entries; unused ones are zeros.
PALETTE_ENTRIES = 256
PALETTE_BYTES = PALETTE_ENTRIES * PALETTE_ENTRY.size
# The chip holds this many palettes at once; another one has to be loaded over one of them.
PALETTE_SLOTS = 2
# The graphics processor's memory for textures.
TEXTURE_MEMORY_BYTES = 768 * 1024
