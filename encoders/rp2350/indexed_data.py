"""Data of indexed textures: a byte for each 2x2 texels, and palettes of 256 blocks of 2x2 texels.

Indices lie in blocks of 4x4; a grid narrower or lower than a block is filled up with zeros. Entries
of a palette are sorted and different, and zeros follow them, so that equal pictures give equal
files. The readers refuse what the writers cannot have written.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from encoders.kit.error import EncodeError
from encoders.kit.image.block import from_blocks, to_blocks
from encoders.kit.image.palette.codebook import from_quads
from encoders.kit.image.palette.codebook_search import BLOCK_BYTES
from encoders.kit.image.pixel import Rgba8
from encoders.rp2350.format import INDEX_BLOCK, PALETTE_BYTES, PALETTE_ENTRIES, PALETTE_ENTRY

Bytes = NDArray[np.uint8]
QUADRANTS = ("nw", "ne", "sw", "se")


def index_bytes(width: int, height: int) -> int:
    """Return the size of the index array of a texture."""
    columns, rows = -(-width // 8), -(-height // 8)
    return columns * rows * INDEX_BLOCK.size


def pack_indices(indices: Bytes, width: int, height: int) -> bytes:
    """Pack the indices of a texture of this size, given row by row."""
    grid = indices.reshape(height // 2, width // 2)
    rows, columns = grid.shape
    # Zeros and not repeated edges, unlike the texels of other formats.
    whole = np.pad(grid, ((0, -rows % 4), (0, -columns % 4)))
    blocks = to_blocks(whole)
    return INDEX_BLOCK.pack({"index": blocks}, len(blocks))


def unpack_indices(data: bytes, width: int, height: int, name: str) -> Bytes:
    """Return the indices of a texture row by row."""
    needed = index_bytes(width, height)
    if len(data) != needed:
        facts = {"file": name, "bytes": len(data), "needed": needed}
        raise EncodeError("the texture's data does not have the size that its wrapper says", facts)
    blocks = INDEX_BLOCK.unpack(data, needed // INDEX_BLOCK.size, name=name)["index"]
    found: Bytes = from_blocks(blocks, width // 2, height // 2).reshape(-1)
    if pack_indices(found, width, height) != data:
        raise EncodeError("indices beyond the edge are not 0", {"file": name})
    return found


def pack_palette(entries: Bytes) -> bytes:
    """Pack up to 256 sorted entries (count, 16), and zeros for the others."""
    whole = np.zeros((PALETTE_ENTRIES, BLOCK_BYTES), np.uint8)
    whole[: len(entries)] = entries
    texels = whole.reshape(-1, len(QUADRANTS), 4)
    columns = {name: texels[:, number] for number, name in enumerate(QUADRANTS)}
    return PALETTE_ENTRY.pack(columns, PALETTE_ENTRIES)


def unpack_palette(data: bytes, name: str) -> Bytes:
    """Return the entries (count, 16) of a palette without the zeros that follow them."""
    if len(data) != PALETTE_BYTES:
        facts = {"file": name, "bytes": len(data), "needed": PALETTE_BYTES}
        raise EncodeError("the file does not have the size of a palette", facts)
    columns = PALETTE_ENTRY.unpack(data, PALETTE_ENTRIES, name=name)
    whole = np.concatenate([columns[one] for one in QUADRANTS], axis=1)
    used = np.flatnonzero(whole.any(axis=1))
    # A palette of zeros has one entry: a block without colour.
    entries: Bytes = whole[: used[-1] + 1 if len(used) else 1]
    rows = [entry.tobytes() for entry in entries]
    if sorted(set(rows)) != rows:
        raise EncodeError("the palette's entries are not sorted", {"file": name})
    return entries


def decode_indexed(indices: Bytes, entries: Bytes, size: tuple[int, int], name: str) -> Rgba8:
    """Return the picture that the graphics processor samples; `size` is width and height."""
    if int(indices.max()) >= len(entries):
        facts = {"file": name, "index": int(indices.max()), "entries": len(entries)}
        raise EncodeError("an index is beyond the palette's last entry", facts)
    return from_quads(entries[indices], *size)
