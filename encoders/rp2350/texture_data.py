"""Texture data: mip levels one after another, each as whole 4x4 blocks of RGBA4444 or BC1.

A level smaller than a block repeats its edge texels. The reader refuses data of a wrong size and
blocks that the writer cannot have written.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.image.bc.bc1 import decode_bc1, encode_bc1
from encoders.kit.image.block import from_blocks, to_blocks
from encoders.kit.image.import_image import imported_size
from encoders.kit.image.import_option import POWER_OF_TWO
from encoders.kit.image.pixel import RGBA4444, Rgba8, decode_words, encode_words, truncate_bits
from encoders.kit.option import Value
from encoders.rp2350.format import BC1_BLOCK, RGBA4444_BLOCK
from encoders.rp2350.rust_writer import TextureWrapper
from encoders.rp2350.side import MAX_SIDE, MIN_SIDE


def check_size(
    width: int,
    height: int,
    name: str,
    least: int = MIN_SIDE,
    given: tuple[int, int] | None = None,
) -> None:
    """Refuse a size that the hardware cannot address; `least` is the smallest side.

    `given` is the size of a picture before options changed it.
    """
    sides = (width, height)
    if any(side & (side - 1) for side in sides):
        problem = "texture size is not a power of two"
    elif min(sides) < least:
        problem = f"texture is smaller than {least} texels"
    elif max(sides) > MAX_SIDE:
        problem = f"texture is larger than {MAX_SIDE} texels"
    else:
        return
    # Each side by itself: the hardware takes rectangles.
    below, above = ((f(width, least), f(height, least)) for f in (_side_below, _side_above))
    nearest = " or ".join(dict.fromkeys(f"{w}x{h}" for w, h in (below, above)))
    facts = {"file": name, "size": f"{width}x{height}"}
    if given is not None and given != sides:
        facts["size"] += f", scaled from {given[0]}x{given[1]} as the manifest asks"
    facts["allowed"] = f"powers of two from {least} to {MAX_SIDE}, each side by itself"
    raise EncodeError(
        problem, facts, f"Resize the image to {nearest}. {_import_hint(sides, least)}".rstrip()
    )


def _import_hint(sides: tuple[int, int], least: int) -> str:
    """Name the import options that would make the size valid; nothing where none would."""
    asked: dict[str, Value] = {"scale_to": POWER_OF_TWO, "max_size": MAX_SIDE}
    if min(imported_size(*sides, asked)) < least:
        return ""  # the shorter side would become too small
    wanted = ["`max_size = 1024`"] if max(sides) > MAX_SIDE else []
    wanted += ['`scale_to = "power_of_two"`'] if any(side & (side - 1) for side in sides) else []
    return f"Or set {' and '.join(wanted)}."


def _side_below(side: int, least: int) -> int:
    return min(max(1 << side.bit_length() - 1, least), MAX_SIDE)


def _side_above(side: int, least: int) -> int:
    return min(max(1 << (side - 1).bit_length(), least), MAX_SIDE)


def pack_rgba4444(levels: Sequence[Rgba8]) -> bytes:
    """Pack mip levels as RGBA4444; low bits are truncated, not rounded, as the firmware does."""
    blocks = [to_blocks(encode_words(level, RGBA4444, truncate_bits)) for level in levels]
    return b"".join(RGBA4444_BLOCK.pack({"texel": some}, len(some)) for some in blocks)


def pack_bc1(levels: Sequence[Rgba8], cutoff: int, quality: Literal["default", "best"]) -> bytes:
    """Pack mip levels as BC1; texels with an alpha below the cutoff become transparent."""
    return b"".join(encode_bc1(level, cutoff=cutoff, quality=quality) for level in levels)


def unpack_levels(wrapper: TextureWrapper, data: bytes, name: str) -> list[Rgba8]:
    """Decode every level to RGBA8, BC1 colours interpolated as the graphics processor does."""
    check_size(wrapper.width, wrapper.height, name)
    sizes = wrapper.level_bytes
    if len(data) != sum(sizes):
        facts = {"file": name, "bytes": len(data), "needed": sum(sizes)}
        raise EncodeError("the texture's data does not have the size that its wrapper says", facts)
    unpack = _unpack_rgba4444 if wrapper.format == "RGBA4444" else _unpack_bc1
    # Levels have no gaps and no alignment between them.
    offsets = [0, *accumulate(sizes)]
    parts = [data[start:end] for start, end in pairwise(offsets)]
    return [unpack(part, *size, name) for part, size in zip(parts, wrapper.sizes, strict=True)]


def _unpack_rgba4444(data: bytes, width: int, height: int, name: str) -> Rgba8:
    blocks = RGBA4444_BLOCK.unpack(data, len(data) // RGBA4444_BLOCK.size, name=name)["texel"]
    words = from_blocks(blocks, width, height)
    _check_edges(blocks, words, name)
    return decode_words(words, RGBA4444)


def _unpack_bc1(data: bytes, width: int, height: int, name: str) -> Rgba8:
    blocks = BC1_BLOCK.unpack(data, len(data) // BC1_BLOCK.size, name=name)
    index = blocks["index"][:, None] >> (2 * np.arange(16, dtype=np.uint32)) & 3
    # Equal colours are one colour: the writer calls it 0, beside holes.
    is_one_color = blocks["color0"] == blocks["color1"]
    wrong = np.flatnonzero(is_one_color & ((index == 1) | (index == 2)).any(axis=1))
    if len(wrong):
        facts = {"file": name, "block": wrong[0]}
        raise EncodeError("a block of one colour has more indices than 0", facts)
    grid = index.reshape(-1, 4, 4)
    _check_edges(grid, from_blocks(grid, width, height), name)
    return decode_bc1(data, name, width, height, packed=True)


def _check_edges(blocks: npt.NDArray[Any], picture: npt.NDArray[Any], name: str) -> None:
    """Refuse blocks whose texels outside the picture do not repeat its edge."""
    if not np.array_equal(to_blocks(picture), blocks):
        raise EncodeError("texels beyond the edge do not repeat it", {"file": name})
