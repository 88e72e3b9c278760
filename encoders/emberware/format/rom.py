"""The ROM's layouts as tables, one for each that the console has had, and the ROM's writer.

Field order is wire order. All layouts have version 1 in their header, so a file does not say which
layout it has: a reader tries those with the file's magic bytes in the order of `LAYOUTS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from encoders.emberware.codec.bitcode_type import (
    Byte,
    ByteString,
    Enumeration,
    Float,
    FloatArray,
    Integer,
    IntegerList,
    List,
    Optional,
    Record,
    String,
    Type,
)

U8, U16, U32, U64, F32 = Byte(), Integer("<u2"), Integer("<u4"), Integer("<u8"), Float()
TEXT, BYTES = String(), ByteString()

ROM_VERSION = 1

# fmt: off
METADATA: tuple[tuple[str, Type], ...] = (
    ("id", TEXT), ("title", TEXT), ("author", TEXT), ("version", TEXT), ("description", TEXT),
    ("tags", List(TEXT)),
    ("platform_game_id", Optional(TEXT)), ("platform_author_id", Optional(TEXT)),
    ("created_at", TEXT), ("tool_version", TEXT),
    ("render_mode", Optional(U32)), ("default_resolution", Optional(TEXT)),
    ("target_fps", Optional(U32)),
)
NETPLAY = Record((
    ("console_type", Enumeration(("ZX", "Chroma"))),
    ("tick_rate", Enumeration(("30", "60", "120"))),
    ("max_players", U8),
    ("rom_hash", U64),
))
MESH = Record((
    ("id", TEXT), ("format", U8), ("vertex_count", U32), ("index_count", U32),
    ("vertex_data", BYTES), ("index_data", IntegerList("<u2")),
))
MATRIX = Record((("row0", FloatArray(4)), ("row1", FloatArray(4)), ("row2", FloatArray(4))))
SKELETON = Record((("id", TEXT), ("bone_count", U32), ("inverse_bind_matrices", List(MATRIX))))
KEYFRAMES = Record((("id", TEXT), ("bone_count", U8), ("frame_count", U16), ("data", BYTES)))
GLYPH = Record((
    ("codepoint", U32), ("x", U16), ("y", U16), ("w", U16), ("h", U16),
    ("x_offset", F32), ("y_offset", F32), ("advance", F32),
))
FONT = Record((
    ("id", TEXT), ("atlas_width", U32), ("atlas_height", U32), ("atlas_data", BYTES),
    ("line_height", F32), ("baseline", F32), ("glyphs", List(GLYPH)),
))
SOUND = Record((("id", TEXT), ("data", IntegerList("<i2"))))
DATA = Record((("id", TEXT), ("data", BYTES)))
TRACKER_E = Record((("id", TEXT), ("pattern_data", BYTES), ("sample_ids", List(TEXT))))
TRACKER_F = Record((
    ("id", TEXT), ("format", Enumeration(("Xm", "It"))), ("pattern_data", BYTES),
    ("sample_ids", List(TEXT)),
))
# fmt: on


@dataclass(frozen=True)
class RomLayout:
    """One layout: its magic bytes, its texture formats and the type of everything behind them.

    `lists` are the names of the data pack's lists in wire order.
    """

    name: str
    magic: bytes
    texture_formats: tuple[str, ...]
    lists: tuple[str, ...]
    has_netplay: bool
    rom: Record


def _layout(
    name: str,
    magic: bytes,
    formats: tuple[str, ...],
    tracker: Record | None = None,
    has_netplay: bool = False,
) -> RomLayout:
    pack = _data_pack(formats, tracker)
    netplay: tuple[tuple[str, Type], ...] = (("netplay", NETPLAY),) if has_netplay else ()
    rom = Record(
        (
            ("version", U32),
            ("metadata", Record((*METADATA, *netplay))),
            ("code", BYTES),
            ("data_pack", Optional(pack)),
            ("thumbnail", Optional(BYTES)),
            ("screenshots", List(BYTES)),
        )
    )
    lists = tuple(field for field, _ in pack.fields)
    return RomLayout(name, magic, formats, lists, has_netplay, rom)


def _data_pack(formats: tuple[str, ...], tracker: Record | None) -> Record:
    # The number of formats decides how many bits each takes, so it differs between layouts.
    picture: tuple[tuple[str, Type], ...] = (("format", Enumeration(formats)), ("data", BYTES))
    texture = Record((("id", TEXT), ("width", U16), ("height", U16), *picture))
    lists = {
        "textures": texture,
        "meshes": MESH,
        "skeletons": SKELETON,
        "keyframes": KEYFRAMES,
        "fonts": FONT,
        "sounds": SOUND,
        "data": DATA,
    }
    if tracker is not None:
        lists["trackers"] = tracker
    return Record(tuple((name, List(record)) for name, record in lists.items()))


RGBA_BC7 = ("Rgba8", "Bc7")
EWZ, EWZX, NCZX = b"EWZ\0", b"EWZX", b"NCZX"

# Of layouts with the same magic bytes, only the first is written.
LAYOUTS = {
    layout.name: layout
    for layout in (
        _layout("C", EWZ, RGBA_BC7),
        _layout("B", EWZ, (*RGBA_BC7, "Bc7Linear")),
        _layout("D", EWZX, RGBA_BC7),
        _layout("F", NCZX, (*RGBA_BC7, "Bc5"), TRACKER_F, has_netplay=True),
        _layout("E", NCZX, RGBA_BC7, TRACKER_E),
        _layout("E without trackers", NCZX, RGBA_BC7),
    )
}


def pack_rom(layout: RomLayout, value: Mapping[str, Any]) -> bytes:
    """Encode a ROM's value as a file."""
    return b"".join([layout.magic, *layout.rom.write([value])])
