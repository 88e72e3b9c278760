"""BC5 blocks for normal maps: red and green, each as a BC4 block of 4 x 4 texels.

A block has two ends and for each texel three bits, which choose one of eight values from end to
end. All arithmetic is in integers, so that every machine makes the same bytes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from encoders.emberware.codec.bc7 import check_sides, decode_bc7
from encoders.kit.error import EncodeError

Image = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]

BLOCK, TEXELS, CHANNEL_BYTES = 4, 16, 8
# How far the ends are moved into the range of a block's values, in search of the least error.
INSETS = range(4)
# The place from the first end to the second, in sevenths, of each code: ends first.
SEVENTHS = np.array([0, 7, 1, 2, 3, 4, 5, 6])
# What a picture may be off from a map of unit vectors, on the average, before it is none.
MAX_ERROR = 0.25


def compress_bc5(image: Image, name: str) -> bytes:
    """Compress the red and green channel of a normal map whose sides are multiples of four."""
    check_sides(image, name, "BC5")
    check_normals(image, name)
    height, width = image.shape[:2]
    tiles = image[..., :2].reshape(height // BLOCK, BLOCK, width // BLOCK, BLOCK, 2)
    channels = tiles.transpose(0, 2, 4, 1, 3).reshape(-1, TEXELS).astype(np.int64)
    return _pack_channels(channels)


def check_normals(image: Image, name: str) -> None:
    """Refuse a picture whose blue or alpha holds what a normal map does not have."""
    facts: dict[str, object] = {"file": name}
    hint = 'The console computes z from x and y; write `format = "bc7"` or "rgba8" for others.'
    if image[..., 3].min() < 255:
        raise EncodeError("a BC5 texture has no alpha, and the picture has one", facts, hint)
    blue = image[..., 2]
    if blue.min() == blue.max():  # a map of two channels
        return
    x, y, z = (image[..., c] / 127.5 - 1 for c in range(3))
    error = float(np.abs(np.sqrt(np.maximum(0, 1 - x * x - y * y)) - z).mean())
    if error > MAX_ERROR:
        facts |= {"off by": f"{error:.2f}", "allowed": MAX_ERROR}
        raise EncodeError(
            "the picture is no normal map: blue is not the z of a normal", facts, hint
        )


def _palette(first: Integers, second: Integers) -> Integers:
    """Return the eight values of blocks whose first end is the larger, rounded to the nearest."""
    mixed: Integers = first[:, None] * (7 - SEVENTHS) + second[:, None] * SEVENTHS
    rounded: Integers = (mixed + 3) // 7
    return rounded


def _pack_channels(values: Integers) -> bytes:
    high, low = values.max(axis=1), values.min(axis=1)
    best = np.full(len(values), np.iinfo(np.int64).max)
    ends, codes = np.stack([high, low], axis=1), np.zeros_like(values)
    for inset in ((a, b) for a in INSETS for b in INSETS):
        first, second = high - inset[0], low + inset[1]
        # Ends that meet would choose another set of values; a flat block keeps its own two.
        usable = (first > second) | (np.array(inset).max() == 0)
        off = np.abs(values[:, :, None] - _palette(first, second)[:, None, :])
        chosen = off.argmin(axis=2)
        error = (np.take_along_axis(off, chosen[:, :, None], 2)[..., 0] ** 2).sum(axis=1)
        better = usable & (error < best)
        best = np.where(better, error, best)
        ends[better] = np.stack([first, second], axis=1)[better]
        codes[better] = chosen[better]
    bits = (codes.astype(np.uint64) << (3 * np.arange(TEXELS)).astype(np.uint64)).sum(axis=1)
    words = bits.astype(np.uint64) << np.uint64(16)
    words |= (ends[:, 1].astype(np.uint64) << np.uint64(8)) | ends[:, 0].astype(np.uint64)
    packed: bytes = words.astype("<u8").tobytes()
    return packed


def decode_bc5(blocks: bytes, width: int, height: int, name: str) -> Image:
    """Decode a normal map to RGBA, with the z that the console computes in blue."""
    columns, rows = -(-width // BLOCK), -(-height // BLOCK)
    if len(blocks) != columns * rows * 2 * CHANNEL_BYTES:
        raise EncodeError("not the blocks of a picture", {"file": name, "bytes": len(blocks)})
    words = np.frombuffer(blocks, "<u8")
    first, second = ((words >> np.uint64(8 * n) & np.uint64(255)).astype(np.int64) for n in (0, 1))
    fifths = (first[:, None] * (5 - np.arange(6)) + second[:, None] * np.arange(6) + 2) // 5
    # Where the first end is not the larger, four values lie between the ends, then come 0 and 255.
    few = np.concatenate([fifths[:, [0, 5, 1, 2, 3, 4]], fifths[:, :2] * 0 + [0, 255]], axis=1)
    palette = np.where((first > second)[:, None], _palette(first, second), few)
    shifts = (16 + 3 * np.arange(TEXELS)).astype(np.uint64)
    codes = (words[:, None] >> shifts & np.uint64(7)).astype(np.int64)
    values = np.take_along_axis(palette, codes, 1).reshape(rows, columns, 2, BLOCK, BLOCK)
    plane = values.transpose(0, 3, 1, 4, 2).reshape(rows * BLOCK, columns * BLOCK, 2)
    plane = plane[:height, :width]
    x, y = plane[..., 0] / 127.5 - 1, plane[..., 1] / 127.5 - 1
    z = np.sqrt(np.maximum(0, 1 - x * x - y * y))
    blue = np.floor((z + 1) * 127.5 + 0.5).astype(np.int64)
    alpha = np.full_like(blue, 255)
    return np.stack([plane[..., 0], plane[..., 1], blue, alpha], axis=-1).astype(np.uint8)


def decode_either(blocks: bytes, width: int, height: int, name: str) -> Image:
    """Decode blocks that are BC7 or BC5: as the one that makes the smoother picture.

    Blocks that are read as the other form look like noise.
    """
    shown = (decode(blocks, width, height, name) for decode in (decode_bc7, decode_bc5))
    return min(shown, key=_roughness)


def _roughness(image: Image) -> float:
    values = image.astype(np.int64)
    return float(sum(np.abs(np.diff(values, axis=axis)).mean() for axis in (0, 1)))
