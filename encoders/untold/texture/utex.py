"""`.utex` version 1: a texture of ASTC blocks with all mip levels.

Tables, writer, reader and validation of the container. The blocks come from an ASTC library, which
is an optional dependency. Mip levels of colours are averaged in linear light, and normals are made
unit vectors again on every level.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from encoders.kit.error import EncodeError
from encoders.kit.image.mip import full_level_count, level_size, mips_from_base
from encoders.kit.image.pixel import Rgba8
from encoders.kit.image.resize import resize_colour, resize_linear, resize_normals
from encoders.kit.layout.table import Layout, Row
from encoders.kit.layout.type import U8, U32, Const, magic, raw
from encoders.untold.scene.texture_request import GREY
from encoders.untold.texture.astc_block import BLOCK_BYTES, distinct_blocks

# fmt: off
HEADER = Layout(".utex header", 64,
    Row(0x00, "magic",              magic(b"UTEX\0\0\0\0")),
    Row(0x08, "version",            Const(U32, 1)),
    Row(0x0C, "flags",              U32,     "has alpha 1"),
    Row(0x10, "width",              U32),
    Row(0x14, "height",             U32),
    Row(0x18, "mip_count",          U32),
    Row(0x1C, "pixel_format",       U32,     "MTLPixelFormat"),
    Row(0x20, "block_width",        U8),
    Row(0x21, "block_height",       U8),
    Row(0x22, "_padding",           raw(2)),
    Row(0x24, "payload_offset",     U32,     "64 + 16 x mip_count"),
    Row(0x28, "total_payload_size", U32),
    Row(0x2C, "_reserved",          U32[5]),
)
MIP = Layout(".utex mip entry", 16,
    Row(0x00, "byte_offset", U32, "from payload_offset; a multiple of 16"),
    Row(0x04, "byte_size",   U32),
    Row(0x08, "width",       U32),
    Row(0x0C, "height",      U32),
)
# fmt: on

HAS_ALPHA = 1
# MTLPixelFormat of ASTC by block size: for sRGB colours, and for data.
SRGB_FORMATS = {(4, 4): 186, (5, 5): 188, (6, 6): 190, (8, 8): 194}
LINEAR_FORMATS = {(4, 4): 204, (5, 5): 206, (6, 6): 208, (8, 8): 212}
FORMATS = {
    **{number: block for block, number in SRGB_FORMATS.items()},
    **{number: block for block, number in LINEAR_FORMATS.items()},
}
# All flags that the engine defines.
KNOWN_FLAGS = 7
# The library's scale ends at 100; this is its `thorough`.
QUALITY = 98.0
# The slots whose images are sRGB; the engine picks the colour space by slot as well.
COLOR = ("base_color", "emissive")


@dataclass(frozen=True)
class Utex:
    """A texture file; `levels` are the blocks of each mip level, the largest first."""

    width: int
    height: int
    pixel_format: int
    flags: int
    levels: tuple[bytes, ...]


def encode_utex(pixels: Rgba8, kind: str, name: str) -> tuple[bytes, int]:
    """Compress pixels for a slot of a material; return the file and its number of levels."""
    height, width = pixels.shape[:2]
    # The block sizes that the engine's own exporter takes for these slots.
    block = (6, 6) if kind in GREY else (4, 4)
    resize = {**dict.fromkeys(COLOR, resize_linear), "normal": resize_normals}.get(
        kind, resize_colour
    )
    chain = mips_from_base(pixels, full_level_count(width, height), resize)
    formats = SRGB_FORMATS if kind in COLOR else LINEAR_FORMATS
    levels = _compress(chain, block, name, is_srgb=kind in COLOR)
    # Only the base colour's alpha has a meaning.
    flags = HAS_ALPHA if kind == "base_color" and bool((pixels[..., 3] < 255).any()) else 0
    utex = Utex(width, height, formats[block], flags, tuple(levels))
    return pack_utex(utex, name), len(levels)


def _compress(
    chain: Sequence[Rgba8], block: tuple[int, int], name: str, *, is_srgb: bool
) -> list[bytes]:
    """Compress every level; the library fills blocks beyond an edge by repeating it."""
    try:
        import astc_encoder  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise EncodeError(
            "ASTC textures need a library that is not installed",
            {"file": name, "library": "astc-encoder-py"},
            'Install it with `pip install "cartwright-build[astc]"`, or set `textures = "png"`.',
        ) from error
    profile = astc_encoder.ASTCProfile.LDR_SRGB if is_srgb else astc_encoder.ASTCProfile.LDR
    config = astc_encoder.ASTCConfig(profile, *block, quality=QUALITY)
    context = astc_encoder.ASTCContext(config)
    swizzle = astc_encoder.ASTCSwizzle.from_str("RGBA")

    def compress(level: Rgba8) -> bytes:
        height, width = level.shape[:2]
        image = astc_encoder.ASTCImage(astc_encoder.ASTCType.U8, width, height, 1, level.tobytes())
        return bytes(context.compress(image, swizzle))

    levels = []
    for level in chain:
        distinct = distinct_blocks(level, block)
        levels.append(distinct.spread(compress(distinct.picture)) if distinct else compress(level))
    return levels


def pack_utex(utex: Utex, name: str) -> bytes:
    """Encode a texture file."""
    validate_utex(utex, name)
    payload = b"".join(utex.levels)
    block_width, block_height = FORMATS[utex.pixel_format]
    header = HEADER.pack(
        {
            "flags": utex.flags,
            "width": utex.width,
            "height": utex.height,
            "mip_count": len(utex.levels),
            "pixel_format": utex.pixel_format,
            "block_width": block_width,
            "block_height": block_height,
            "payload_offset": HEADER.size + MIP.size * len(utex.levels),
            "total_payload_size": len(payload),
        }
    )
    return b"".join([header, *_pack_entries(utex), payload])


def _pack_entries(utex: Utex) -> Iterable[bytes]:
    """Encode an entry for each level; blocks have 16 bytes, so every offset is aligned."""
    offset = 0
    for number, level in enumerate(utex.levels):
        width, height = level_size(utex.width, utex.height, number)
        place = {"byte_offset": offset, "byte_size": len(level)}
        yield MIP.pack({**place, "width": width, "height": height})
        offset += len(level)


def unpack_utex(data: bytes, name: str) -> Utex:
    """Decode a texture file; refuse one that the engine would refuse or misread."""
    head = HEADER.unpack_one(data, 0, name)
    facts: dict[str, object] = {"file": name}
    if head["pixel_format"] not in FORMATS:
        raise EncodeError("unsupported pixel format", {**facts, "found": head["pixel_format"]})
    if (head["block_width"], head["block_height"]) != FORMATS[head["pixel_format"]]:
        raise EncodeError("the block size is not that of the pixel format", facts)
    count, start = head["mip_count"], head["payload_offset"]
    if not count or count > full_level_count(head["width"], head["height"]):
        raise EncodeError("no such number of mip levels", {**facts, "found": count})
    end = start + head["total_payload_size"]
    if start != HEADER.size + MIP.size * count or end != len(data):
        sizes = {"bytes": len(data), "payload": f"{start} + {head['total_payload_size']}"}
        raise EncodeError("the payload is not where it should be", {**facts, **sizes})
    entries = MIP.unpack(data, count, HEADER.size, name)
    # Levels must follow one another without a gap, so each offset is known beforehand.
    levels, offset = [], 0
    for number in range(count):
        row = {key: int(values[number]) for key, values in entries.items()}
        size = level_size(head["width"], head["height"], number)
        if row["byte_offset"] != offset or (row["width"], row["height"]) != size:
            raise EncodeError("a mip entry does not fit its level", {**facts, "level": number})
        offset += row["byte_size"]
        levels.append(data[start + row["byte_offset"] : start + offset])
    if offset != head["total_payload_size"]:
        raise EncodeError("mip levels do not fill the payload", facts)
    utex = Utex(head["width"], head["height"], head["pixel_format"], head["flags"], tuple(levels))
    validate_utex(utex, name)
    return utex


def validate_utex(utex: Utex, name: str) -> None:
    """Refuse levels whose sizes do not fit their blocks, and undefined flags."""
    across, down = FORMATS[utex.pixel_format]
    if utex.flags > KNOWN_FLAGS:
        raise EncodeError("unknown flags", {"file": name, "found": utex.flags})
    for number, level in enumerate(utex.levels):
        width, height = level_size(utex.width, utex.height, number)
        expected = math.ceil(width / across) * math.ceil(height / down) * BLOCK_BYTES
        if len(level) != expected:
            facts = {"file": name, "level": number, "bytes": len(level), "needed": expected}
            raise EncodeError("a mip level has a wrong size", facts)


def decode_utex(data: bytes, name: str) -> dict[str, Any]:
    """Describe a texture file for `doit inspect`."""
    utex = unpack_utex(data, name)
    across, down = FORMATS[utex.pixel_format]
    return {
        "format": "utex 1",
        "bytes": len(data),
        "width": utex.width,
        "height": utex.height,
        "blocks": f"ASTC {across}x{down}",
        "pixel_format": utex.pixel_format,
        "is_srgb": int(utex.pixel_format in SRGB_FORMATS.values()),
        "has_alpha": int(bool(utex.flags & HAS_ALPHA)),
        "levels": [
            {"level": number, "bytes": len(level)} for number, level in enumerate(utex.levels)
        ],
    }
