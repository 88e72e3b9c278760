"""BC7: pictures as 16-byte blocks of 4x4 texels.

All channels count alike, because textures hold more than colours. A block whose texels are all
opaque is opaque again, and a block of one colour comes back exactly.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from encoders.kit.image.bc.bc1 import split_blocks, unique_blocks
from encoders.kit.image.bc.bc7_palette import WEIGHTS, WHOLE, expand
from encoders.kit.image.bc.bc7_reference import BLOCK_BYTES, encode_blocks, field_bits, index_bits
from encoders.kit.native.kernel import choose

Bytes = NDArray[np.uint8]


def encode_bc7(rgba: Bytes) -> bytes:
    """Encode a picture (height, width, 4); blocks that reach beyond it repeat its edge texels."""
    # Flat areas and tiles repeat blocks, so each distinct block is encoded once.
    every = split_blocks(rgba)
    first, again = unique_blocks(every)
    texels = every[first]
    words = texels.view("<u4")
    is_flat = (words == words[:, :1]).all(1)
    blocks = np.empty((len(texels), BLOCK_BYTES), np.uint8)
    blocks[is_flat] = encode_flat(texels[is_flat, :4])
    mixed = np.empty((int((~is_flat).sum()), BLOCK_BYTES), np.uint8)
    choose("bc7_encode", encode_blocks)(np.ascontiguousarray(texels[~is_flat]), mixed)
    blocks[~is_flat] = mixed
    return blocks[again].tobytes()


def encode_flat(colors: Bytes) -> Bytes:
    """Encode blocks of one colour each, exactly, in mode 5: every colour has index 1."""
    count, first = len(colors), np.zeros((len(colors), 1), np.int64)
    ends = flat_levels()[colors[:, :3]]
    alpha = colors[:, 3].astype(np.int64)
    fields = [
        (np.full(count, 1 << 5), 6),
        (np.zeros(count, np.int64), 2),
        *((ends[:, channel, end], 7) for channel in range(3) for end in (0, 1)),
        (alpha, 8),
        (alpha, 8),
    ]
    ones = index_bits(np.ones((count, 16), np.int64), first, 2)
    zeros = index_bits(np.zeros((count, 16), np.int64), first, 2)
    bits = np.concatenate([field_bits(fields), ones, zeros], axis=1)
    return np.packbits(bits, axis=1, bitorder="little")


@cache
def flat_levels() -> NDArray[np.int64]:
    """Tabulate, by 8-bit value, the 7-bit levels whose entry 1 of four is that value."""
    a, b = (ends.ravel() for ends in np.meshgrid(np.arange(128), np.arange(128), indexing="ij"))
    weight = int(WEIGHTS[2][1])
    mixed = ((WHOLE - weight) * expand(a, 7) + weight * expand(b, 7) + WHOLE // 2) // WHOLE
    # Of all pairs the one with the closest ends.
    order = np.lexsort((np.abs(a - b), mixed))
    first = order[np.searchsorted(mixed[order], np.arange(256))]
    return np.stack([a[first], b[first]], axis=1)
