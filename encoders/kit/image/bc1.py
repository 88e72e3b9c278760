"""BC1 with punch-through alpha: pictures to 8-byte blocks of 4x4 texels, and back.

A block is colour 0 and colour 1 as 5-6-5 words, then sixteen 2-bit indices, the first texel
lowest. The one rule: a texel is transparent in the block exactly where its alpha is below the
cutoff. Opaque blocks have colour 0 > colour 1, or index 0 only; others use the mode of three
colours, where index 3 is a hole.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from encoders.kit.error import EncodeError
from encoders.kit.image.bc1_fit import CHUNK, Texels, pack_blocks, refine
from encoders.kit.image.bc1_search import search
from encoders.kit.native.kernel import choose

Bytes = NDArray[np.uint8]

BLOCK_BYTES = 8
TRANSPARENT = np.array([0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF], np.uint8)
MIXERS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xFF51AFD7ED558CCD)


def encode_bc1(
    rgba: Bytes, *, cutoff: int = 128, quality: Literal["default", "best"] = "default"
) -> bytes:
    """Encode a picture (height, width, 4); edge texels fill the blocks that it does not."""
    if rgba.ndim != 3 or rgba.shape[2] != 4 or 0 in rgba.shape or rgba.dtype != np.uint8:
        raise EncodeError("not an RGBA picture", {"shape": rgba.shape, "type": rgba.dtype})
    texels = split_blocks(cut_out(rgba, cutoff))
    first, again = unique_blocks(texels)
    blocks = np.empty((len(first), BLOCK_BYTES), np.uint8)
    encode = choose("bc1_encode", encode_blocks)
    encode(np.ascontiguousarray(texels[first]), flat_table(), quality == "best", blocks)
    return blocks[again].tobytes()


def cut_out(rgba: Bytes, cutoff: int) -> Bytes:
    """Make texels below the cutoff all zero and the others opaque."""
    words = np.ascontiguousarray(rgba).view("<u4")
    kept = np.where(rgba[..., 3:] >= cutoff, words | np.uint32(0xFF000000), np.uint32(0))
    return kept.astype("<u4", copy=False).view(np.uint8)


def split_blocks(rgba: Bytes) -> Bytes:
    """Cut a picture into blocks (blocks, 64) in raster order, its edges repeated."""
    height, width = rgba.shape[:2]
    if height % 4 or width % 4:
        rgba = np.pad(rgba, ((0, -height % 4), (0, -width % 4), (0, 0)), mode="edge")
    rows, columns = rgba.shape[0] // 4, rgba.shape[1] // 4
    words = np.ascontiguousarray(rgba).view(np.uint32).reshape(rows, 4, columns, 4)
    return np.ascontiguousarray(words.swapaxes(1, 2)).view(np.uint8).reshape(-1, 64)


def unique_blocks(texels: Bytes) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Give the places of the blocks that differ, and for every block which of them it is."""
    parts = texels.view("<u8")
    mixed = np.zeros(len(parts), np.uint64)
    for k in range(8):
        mixed = (mixed ^ parts[:, k]) * np.uint64(MIXERS[k % 4])
        mixed ^= mixed >> np.uint64(29)
    order = np.argsort(mixed)
    mixed = mixed[order]
    is_new = np.append(True, mixed[1:] != mixed[:-1])
    first, again = order[is_new], np.empty_like(order)
    again[order] = np.cumsum(is_new) - 1
    if np.array_equal(parts[first[again]], parts):
        return first, again
    every = np.arange(len(parts))  # two blocks share a digest: encode them all
    return every, every


@cache
def flat_table() -> Bytes:
    """Tabulate, by mode, channel and 8-bit value, the ends whose first step is nearest to it.

    Where several are equally near, the one that is nearest in 5-6-5 arithmetic, then the one
    with the nearest ends.
    """
    table = np.zeros((2, 3, 256, 2), np.uint8)
    value = np.arange(256)[:, None]
    for steps in (3, 2):
        for channel, bits in enumerate((5, 6, 5)):
            level = np.arange(1 << bits)
            a, b = (ends.ravel() for ends in np.meshgrid(level, level, indexing="ij"))
            wide_a, wide_b = widen(a, bits), widen(b, bits)
            usual = between(wide_a, wide_b, steps) - value
            packed = widen(between_packed(a, b, steps), bits) - value
            cost = (usual**2 << 32) + (packed**2 << 12) + np.abs(wide_a - wide_b)
            best = np.argmin(cost, axis=1)
            table[3 - steps, channel] = np.stack([a[best], b[best]], axis=1)
    return table


def widen(level: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """Widen levels of 5 or 6 bits to 8 by repeating their high bits."""
    return (level << (8 - bits)) | (level >> (2 * bits - 8))


def between(a: NDArray[np.int64], b: NDArray[np.int64], steps: int) -> NDArray[np.int64]:
    """Mix 8-bit colours one step from a, as most decoders do."""
    return ((steps - 1) * a + b) // steps


def between_packed(a: NDArray[np.int64], b: NDArray[np.int64], steps: int) -> NDArray[np.int64]:
    """Mix 5-6-5 levels one step from a, as the RP2350's graphics processor does."""
    return (2 * a + b + 1) // 3 if steps == 3 else (a + b) // 2


def encode_blocks(texels: Bytes, table: Bytes, best: bool, blocks: Bytes) -> None:
    """Encode blocks (count, 64) of RGBA texels whose alpha is 0 or 255: the reference."""
    opaque = np.count_nonzero(texels[:, 3::4], axis=1)
    blocks[opaque == 0] = TRANSPARENT
    for steps, chosen in ((3, opaque == 16), (2, (opaque > 0) & (opaque < 16))):
        where = np.flatnonzero(chosen)
        for start in range(0, len(where), CHUNK):
            some = where[start : start + CHUNK]
            planes = texels[some].reshape(-1, 16, 4).transpose(2, 1, 0).astype(np.int32)
            counts = np.minimum(planes[3], 1)
            part = Texels(np.ascontiguousarray(planes[:3] * counts), counts, steps)
            line, least = refine(part, table)
            if best:
                line = search(part, (line, least))
            blocks[some] = pack_blocks(part, line)


def decode_bc1(data: bytes, name: str, width: int, height: int, *, packed: bool = False) -> Bytes:
    """Decode to a picture (height, width, 4); `packed` mixes colours in 5-6-5 arithmetic."""
    columns, rows = -(-width // 4), -(-height // 4)
    if width < 1 or height < 1 or len(data) != columns * rows * BLOCK_BYTES:
        size = max(columns, 0) * max(rows, 0) * BLOCK_BYTES
        facts = {"file": name, "size": f"{width}x{height}", "bytes": len(data), "expected": size}
        raise EncodeError("BC1 data does not fit its picture", facts)
    blocks = np.frombuffer(data, np.uint8).reshape(-1, BLOCK_BYTES)
    palette = block_palette(blocks, packed=packed)
    index = blocks[:, 4:].copy().view("<u4") >> (2 * np.arange(16, dtype=np.uint32)) & 3
    texels = np.take_along_axis(palette, index[..., None].astype(np.intp), 1)
    picture = texels.reshape(rows, columns, 4, 4, 4).swapaxes(1, 2)
    return np.ascontiguousarray(picture.reshape(rows * 4, columns * 4, 4)[:height, :width])


def block_palette(blocks: Bytes, *, packed: bool) -> Bytes:
    """Give the four RGBA colours of each block."""
    words = blocks[:, :4].copy().view("<u2").astype(np.int64)
    opaque = words[:, 0] > words[:, 1]
    palette = np.zeros((len(blocks), 4, 4), np.uint8)
    palette[:, :, 3] = 255
    palette[~opaque, 3, 3] = 0
    for channel, (shift, bits) in enumerate(((11, 5), (5, 6), (0, 5))):
        levels = words >> shift & ((1 << bits) - 1)
        a, b = (levels if packed else widen(levels, bits)).T
        mix = between_packed if packed else between
        third = [np.where(opaque, mix(a, b, 3), mix(a, b, 2)), np.where(opaque, mix(b, a, 3), 0)]
        colors = np.stack([a, b, *third], axis=1)
        palette[:, :, channel] = widen(colors, bits) if packed else colors
    return palette
