"""The `.vram` file of version 20: uploads to VRAM, each with its place and its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from encoders.kit.error import EncodeError
from encoders.kit.layout.table import Layout, Row
from encoders.kit.layout.type import U8, U16, Const, magic
from encoders.splashpack.format import Atlas, Clut, Words
from encoders.splashpack.v20.format import AtlasRecord, ClutRecord
from encoders.splashpack.v20.validate import check_uploads

# fmt: off
VRAM_HEADER = Layout("SPLASHPACK version 20 `.vram` header", 8,
    Row(0x00, "magic",         magic(b"VR")),
    Row(0x02, "atlas_count",   U16),
    Row(0x04, "clut_count",    U16),
    Row(0x06, "font_count",    Const(U8, 0)),
    Row(0x07, "_padding",      U8),
)
VRAM_ATLAS = Layout("SPLASHPACK version 20 `.vram` atlas", 8,
    Row(0x00, "position_x",    U16, "in VRAM"),
    Row(0x02, "position_y",    U16, "in VRAM"),
    Row(0x04, "width",         U16, "in 16-bit words"),
    Row(0x06, "height",        U16, "width x height is even; as many words follow"),
)
VRAM_CLUT = Layout("SPLASHPACK version 20 `.vram` CLUT", 8,
    Row(0x00, "clut_x",        U16, "in VRAM, in steps of 16"),
    Row(0x02, "clut_y",        U16, "in VRAM"),
    Row(0x04, "palette_count", U16, "even, 2 to 256; as many words follow"),
    Row(0x06, "_padding",      U16),
)
# fmt: on


@dataclass(frozen=True, eq=False)
class VramFile:
    """All uploads of a scene."""

    atlases: Sequence[Atlas]
    cluts: Sequence[Clut]

    def atlas_records(self) -> list[AtlasRecord]:
        """Return what the `.splashpack` says of the atlases."""
        return [AtlasRecord(one.x, one.y, one.width, len(one.words)) for one in self.atlases]

    def clut_records(self) -> list[ClutRecord]:
        """Return what the `.splashpack` says of the palettes."""
        return [ClutRecord(one.x, one.y, len(one.words)) for one in self.cluts]


def pack_vram_file(file: VramFile, name: str) -> bytes:
    """Encode all uploads; refuse those at which the runtime stops."""
    check_uploads(file.atlas_records(), file.clut_records(), name)
    parts = [VRAM_HEADER.pack({"atlas_count": len(file.atlases), "clut_count": len(file.cluts)})]
    for atlas in file.atlases:
        size = {"width": atlas.width, "height": len(atlas.words)}
        parts.append(VRAM_ATLAS.pack({"position_x": atlas.x, "position_y": atlas.y, **size}))
        # An even number of words, so the next upload is aligned to 4 bytes without padding.
        parts.append(atlas.words.astype("<u2").tobytes())
    for clut in file.cluts:
        place = {"clut_x": clut.x, "clut_y": clut.y, "palette_count": len(clut.words)}
        parts += [VRAM_CLUT.pack(place), clut.words.astype("<u2").tobytes()]
    return b"".join(parts)


def unpack_vram_file(data: bytes, name: str) -> VramFile:
    """Decode a `.vram`; refuse one at which the runtime would stop."""
    header = VRAM_HEADER.unpack_one(data, 0, name)
    at = VRAM_HEADER.size
    atlases, cluts = [], []
    for _ in range(header["atlas_count"]):
        found = VRAM_ATLAS.unpack_one(data, at, name)
        words = _words(data, at + VRAM_ATLAS.size, found["width"] * found["height"], name)
        shape = (found["height"], found["width"])
        atlases.append(Atlas(found["position_x"], found["position_y"], words.reshape(shape)))
        at += VRAM_ATLAS.size + 2 * len(words)
    for _ in range(header["clut_count"]):
        found = VRAM_CLUT.unpack_one(data, at, name)
        words = _words(data, at + VRAM_CLUT.size, found["palette_count"], name)
        cluts.append(Clut(found["clut_x"], found["clut_y"], words))
        at += VRAM_CLUT.size + 2 * len(words)
    if at != len(data):
        facts = {"file": name, "bytes": len(data), "the parts together": at}
        raise EncodeError("the file is not as long as its parts", facts)
    file = VramFile(atlases, cluts)
    check_uploads(file.atlas_records(), file.clut_records(), name)
    return file


def _words(data: bytes, at: int, count: int, name: str) -> Words:
    # Odd counts would need padding; `check_uploads` says better why they are wrong, but only here
    # can it be told before the next record is misread.
    if count % 2:
        facts = {"file": name, "offset": at, "words": count}
        raise EncodeError("the runtime stops at an odd number of words", facts)
    if len(data) - at < 2 * count:
        facts = {"file": name, "bytes": len(data), "needed": at + 2 * count}
        raise EncodeError("the file is too short", facts)
    return np.frombuffer(data, "<u2", count, at).astype(np.uint16)
