"""Textures: an image to RGBA4444 or BC1 blocks, with its mip chain where one is asked for.

Texels keep their row order and their numbers; nothing is ever resized but for mip levels. The one
rule: every level is whole 4x4 blocks, so a level smaller than a block repeats its edge texels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from encoders.kit.error import EncodeError
from encoders.kit.image.bc1 import encode_bc1
from encoders.kit.image.block import to_blocks
from encoders.kit.image.mip import mips_from_previous, square_level_count
from encoders.kit.image.pixel import RGBA4444, Rgba8, encode_words, truncate_bits
from encoders.kit.image.resize import resize_colour
from encoders.kit.layout.table import Layout, Row
from encoders.kit.layout.type import U16, U32
from encoders.kit.plan import REPORT, WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.image import open_image
from encoders.rp2350.name import file_base
from encoders.rp2350.wrapper import TextureWrapper

# fmt: off
RGBA4444_BLOCK = Layout("RGBA4444 block", 32,
    Row(0x00, "texel",  U16[4, 4], "rows from the top; r in bits 12-15, then g, b, a"),
)
BC1_BLOCK = Layout("BC1 block", 8,
    Row(0x00, "color0", U16, "r in bits 11-15, g in 5-10, b in 0-4"),
    Row(0x02, "color1", U16, "color0 > color1: four colours; else three and a hole, index 3"),
    Row(0x04, "index",  U32, "two bits a texel, the first texel lowest"),
)
# fmt: on
LEAST, MOST = 8, 1024
# What the graphics processor has for textures.
TEXTURE_MEMORY_BYTES = 768 * 1024


def encode_texture(inputs: Inputs, params: Params) -> Outputs:
    """Encode an image as a wrapper and its data."""
    source = str(params["source"])
    image = open_image(inputs["source"], source)
    height, width = image.shape[:2]
    check_size(width, height, source)
    chosen = choose_format(image, str(params["format"]))
    levels = square_level_count(width, height) if params["mipmaps"] else 1
    chain = mips_from_previous(image, levels, resize_colour)
    data = pack_rgba4444(chain) if chosen == "RGBA4444" else _pack_bc1(chain, params)
    identifier = str(params["identifier"])
    wrapper = TextureWrapper(identifier, source, width, height, chosen, levels)
    return {
        "wrapper": wrapper.text().encode(),
        _data_role(chosen, str(params["format"])): data,
        "includes": f"{file_base(identifier)}.rs\n".encode(),
        WARNINGS: "\n".join(_warnings(image, chosen, len(data), params)).encode(),
        REPORT: f"format {chosen}\nlevels {levels}\nflash bytes {len(data)}".encode(),
    }


def _data_role(chosen: str, asked: str) -> str:
    if asked != "auto":
        return "data"
    return "bc/1" if chosen == "BC1" else "rgba/4444"


def choose_format(image: Rgba8, asked: str) -> str:
    """Name the format: the one asked for, or BC1 where it loses no alpha."""
    if asked == "auto":
        return "BC1" if (image[..., 3] == 255).all() else "RGBA4444"
    return asked.upper()


def check_size(width: int, height: int, name: str) -> None:
    """Refuse a size that the hardware has no address for."""
    sides = (width, height)
    if any(side & (side - 1) for side in sides):
        problem = "texture size is not a power of two"
    elif min(sides) < LEAST:
        problem = f"texture is smaller than {LEAST} texels"
    elif max(sides) > MOST:
        problem = f"texture is larger than {MOST} texels"
    else:
        return
    below, above = ((f(width), f(height)) for f in (_side_below, _side_above))
    nearest = " or ".join(dict.fromkeys(f"{w}x{h}" for w, h in (below, above)))
    facts = {"file": name, "size": f"{width}x{height}"}
    facts["allowed"] = f"powers of two from {LEAST} to {MOST}, each side by itself"
    raise EncodeError(problem, facts, f"Resize the image to {nearest}.")


def _side_below(side: int) -> int:
    return min(max(1 << side.bit_length() - 1, LEAST), MOST)


def _side_above(side: int) -> int:
    return min(max(1 << (side - 1).bit_length(), LEAST), MOST)


def pack_rgba4444(chain: Sequence[Rgba8]) -> bytes:
    """Pack levels one behind the other; low bits are dropped, not rounded."""
    blocks = [to_blocks(encode_words(level, RGBA4444, truncate_bits)) for level in chain]
    return b"".join(RGBA4444_BLOCK.pack({"texel": some}, len(some)) for some in blocks)


def _pack_bc1(chain: Sequence[Rgba8], params: Params) -> bytes:
    cutoff = int(str(params["alpha_cutoff"]))
    quality: Literal["default", "best"] = "best" if params["quality"] == "best" else "default"
    return b"".join(encode_bc1(level, cutoff=cutoff, quality=quality) for level in chain)


def _warnings(image: Rgba8, chosen: str, size_bytes: int, params: Params) -> list[str]:
    """Say what the user may not expect."""
    found = []
    if chosen == "BC1":
        alpha = image[..., 3]
        half = int(np.count_nonzero((alpha > 0) & (alpha < 255)))
        if half:
            found.append(
                f"half-transparent texels became opaque or holes, split at alpha "
                f"{params['alpha_cutoff']} ({half} texels); rgba4444 keeps 16 steps"
            )
    if size_bytes > TEXTURE_MEMORY_BYTES:
        found.append(
            f"{size_bytes} bytes are more than the {TEXTURE_MEMORY_BYTES} bytes of texture memory"
        )
    return found
