"""What stands in a ROM, as tables: one for each layout that the console has had.

Field order is wire order. The header's version was 1 in all layouts, so a file does not say which
one it has; a reader tries those of its magic bytes in turn, the newest names first.
"""

from __future__ import annotations

from dataclasses import dataclass

from encoders.emberware.value import (
    Blob,
    Byte,
    Many,
    Maybe,
    Name,
    Numbers,
    Record,
    Single,
    Singles,
    Type,
    Variant,
    Whole,
)

U8, U16, U32, U64, F32 = Byte(), Whole("<u2"), Whole("<u4"), Whole("<u8"), Single()
TEXT, BYTES = Name(), Blob()

# fmt: off
METADATA: tuple[tuple[str, Type], ...] = (
    ("id", TEXT), ("title", TEXT), ("author", TEXT), ("version", TEXT), ("description", TEXT),
    ("tags", Many(TEXT)),
    ("platform_game_id", Maybe(TEXT)), ("platform_author_id", Maybe(TEXT)),
    ("created_at", TEXT), ("tool_version", TEXT),
    ("render_mode", Maybe(U32)), ("default_resolution", Maybe(TEXT)), ("target_fps", Maybe(U32)),
)
NETPLAY = Record((
    ("console_type", Variant(("ZX", "Chroma"))),
    ("tick_rate", Variant(("30", "60", "120"))),
    ("max_players", U8),
    ("rom_hash", U64),
))
MESH = Record((
    ("id", TEXT), ("format", U8), ("vertex_count", U32), ("index_count", U32),
    ("vertex_data", BYTES), ("index_data", Numbers("<u2")),
))
MATRIX = Record((("row0", Singles(4)), ("row1", Singles(4)), ("row2", Singles(4))))
SKELETON = Record((("id", TEXT), ("bone_count", U32), ("inverse_bind_matrices", Many(MATRIX))))
KEYFRAMES = Record((("id", TEXT), ("bone_count", U8), ("frame_count", U16), ("data", BYTES)))
GLYPH = Record((
    ("codepoint", U32), ("x", U16), ("y", U16), ("w", U16), ("h", U16),
    ("x_offset", F32), ("y_offset", F32), ("advance", F32),
))
FONT = Record((
    ("id", TEXT), ("atlas_width", U32), ("atlas_height", U32), ("atlas_data", BYTES),
    ("line_height", F32), ("baseline", F32), ("glyphs", Many(GLYPH)),
))
SOUND = Record((("id", TEXT), ("data", Numbers("<i2"))))
DATA = Record((("id", TEXT), ("data", BYTES)))
TRACKER_E = Record((("id", TEXT), ("pattern_data", BYTES), ("sample_ids", Many(TEXT))))
TRACKER_F = Record((
    ("id", TEXT), ("format", Variant(("Xm", "It"))), ("pattern_data", BYTES),
    ("sample_ids", Many(TEXT)),
))
# fmt: on


@dataclass(frozen=True)
class RomLayout:
    """One layout: the bytes it begins with, its texture formats, and the table of the rest.

    `lists` are the names of the data pack's lists, in their order.
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
            ("data_pack", Maybe(pack)),
            ("thumbnail", Maybe(BYTES)),
            ("screenshots", Many(BYTES)),
        )
    )
    lists = tuple(field for field, _ in pack.fields)
    return RomLayout(name, magic, formats, lists, has_netplay, rom)


def _data_pack(formats: tuple[str, ...], tracker: Record | None) -> Record:
    picture: tuple[tuple[str, Type], ...] = (("format", Variant(formats)), ("data", BYTES))
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
    return Record(tuple((name, Many(record)) for name, record in lists.items()))


RGBA_BC7 = ("Rgba8", "Bc7")
EWZ, EWZX, NCZX = b"EWZ\0", b"EWZX", b"NCZX"

# Of layouts with the same magic bytes, the first is what we write.
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
