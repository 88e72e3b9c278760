"""BC1 with one-bit alpha: pictures as 8-byte blocks of 4x4 texels, and back.

A block is colour 0 and colour 1 as 5-6-5 words, then sixteen 2-bit indices, the first texel in the
lowest bits. A texel is transparent exactly where its alpha is below the cutoff. Blocks with
transparent texels use the three-colour mode, in which index 3 is transparent. Others have
colour 0 > colour 1 (four colours), or index 0 only; in `best` they may use the three-colour mode
too, without its index 3.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from encoders.kit.error import EncodeError
from encoders.kit.image.bc.bc1_reference import encode_blocks
from encoders.kit.native.kernel import choose

Bytes = NDArray[np.uint8]

BLOCK_BYTES = 8
# Odd multipliers of the hash that finds equal blocks.
MIXERS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xFF51AFD7ED558CCD)


def encode_bc1(
    rgba: Bytes, *, cutoff: int = 128, quality: Literal["default", "best"] = "default"
) -> bytes:
    """Encode a picture (height, width, 4); blocks that reach beyond it repeat its edge texels."""
    if rgba.ndim != 3 or rgba.shape[2] != 4 or 0 in rgba.shape or rgba.dtype != np.uint8:
        raise EncodeError("not an RGBA picture", {"shape": rgba.shape, "type": rgba.dtype})
    # Flat areas and tiles repeat blocks, so each distinct block is encoded once.
    texels = split_blocks(cut_out(rgba, cutoff))
    first, again = unique_blocks(texels)
    blocks = np.empty((len(first), BLOCK_BYTES), np.uint8)
    encode = choose("bc1_encode", encode_blocks)
    encode(np.ascontiguousarray(texels[first]), flat_table(), quality == "best", blocks)
    return blocks[again].tobytes()


def cut_out(rgba: Bytes, cutoff: int) -> Bytes:
    """Make texels with an alpha below the cutoff all zero, and all others opaque."""
    # One 32-bit word per texel: alpha is the top byte.
    words = np.ascontiguousarray(rgba).view("<u4")
    kept = np.where(rgba[..., 3:] >= cutoff, words | np.uint32(0xFF000000), np.uint32(0))
    return kept.astype("<u4", copy=False).view(np.uint8)


def split_blocks(rgba: Bytes) -> Bytes:
    """Split a picture into blocks (blocks, 64 bytes) in raster order, its edges repeated."""
    height, width = rgba.shape[:2]
    if height % 4 or width % 4:
        rgba = np.pad(rgba, ((0, -height % 4), (0, -width % 4), (0, 0)), mode="edge")
    rows, columns = rgba.shape[0] // 4, rgba.shape[1] // 4
    words = np.ascontiguousarray(rgba).view(np.uint32).reshape(rows, 4, columns, 4)
    return np.ascontiguousarray(words.swapaxes(1, 2)).view(np.uint8).reshape(-1, 64)


def unique_blocks(texels: Bytes) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return one index of each distinct block, and for every block the number of its equal."""
    parts = texels.view("<u8")
    mixed = np.zeros(len(parts), np.uint64)
    for k in range(8):
        mixed = (mixed ^ parts[:, k]) * np.uint64(MIXERS[k % 4])
        mixed ^= mixed >> np.uint64(29)
    # Sorting 64-bit hashes is much faster than sorting blocks of 64 bytes.
    order = np.argsort(mixed)
    mixed = mixed[order]
    is_new = np.append(True, mixed[1:] != mixed[:-1])
    first, again = order[is_new], np.empty_like(order)
    again[order] = np.cumsum(is_new) - 1
    # A hash can collide, so equality is checked.
    if np.array_equal(parts[first[again]], parts):
        return first, again
    every = np.arange(len(parts))  # two different blocks have the same hash: encode all
    return every, every


@cache
def flat_table() -> Bytes:
    """Tabulate, by mode, channel and 8-bit value, the endpoints whose first step is nearest to it.

    On a tie the pair whose step is nearest in 5-6-5 arithmetic wins, then the pair with the closest
    endpoints: decoders differ in how they interpolate.
    """
    table = np.zeros((2, 3, 256, 2), np.uint8)
    value = np.arange(256)[:, None]
    for steps in (3, 2):
        for channel, bits in enumerate((5, 6, 5)):
            level = np.arange(1 << bits)
            a, b = (ends.ravel() for ends in np.meshgrid(level, level, indexing="ij"))
            wide_a, wide_b = expand_level(a, bits), expand_level(b, bits)
            usual = between(wide_a, wide_b, steps) - value
            packed = expand_level(between_packed(a, b, steps), bits) - value
            # One integer orders the candidates by three criteria at once.
            cost = (usual**2 << 32) + (packed**2 << 12) + np.abs(wide_a - wide_b)
            best = np.argmin(cost, axis=1)
            table[3 - steps, channel] = np.stack([a[best], b[best]], axis=1)
    return table


def expand_level(level: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """Expand levels of 5 or 6 bits to 8 by repeating their high bits."""
    return (level << (8 - bits)) | (level >> (2 * bits - 8))


def between(a: NDArray[np.int64], b: NDArray[np.int64], steps: int) -> NDArray[np.int64]:
    """Interpolate 8-bit colours one step from a, as most decoders do."""
    return ((steps - 1) * a + b) // steps


def between_packed(a: NDArray[np.int64], b: NDArray[np.int64], steps: int) -> NDArray[np.int64]:
    """Interpolate 5-6-5 levels one step from a, as the RP2350's graphics processor does."""
    return (2 * a + b + 1) // 3 if steps == 3 else (a + b) // 2


def decode_bc1(data: bytes, name: str, width: int, height: int, *, packed: bool = False) -> Bytes:
    """Decode to a picture (height, width, 4); `packed` interpolates in 5-6-5 arithmetic."""
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
    """Return the four RGBA colours of each block."""
    words = blocks[:, :4].copy().view("<u2").astype(np.int64)
    opaque = words[:, 0] > words[:, 1]
    palette = np.zeros((len(blocks), 4, 4), np.uint8)
    palette[:, :, 3] = 255
    # Index 3 of the three-colour mode is transparent black.
    palette[~opaque, 3, 3] = 0
    for channel, (shift, bits) in enumerate(((11, 5), (5, 6), (0, 5))):
        levels = words >> shift & ((1 << bits) - 1)
        a, b = (levels if packed else expand_level(levels, bits)).T
        mix = between_packed if packed else between
        third = [np.where(opaque, mix(a, b, 3), mix(a, b, 2)), np.where(opaque, mix(b, a, 3), 0)]
        colors = np.stack([a, b, *third], axis=1)
        palette[:, :, channel] = expand_level(colors, bits) if packed else colors
    return palette
