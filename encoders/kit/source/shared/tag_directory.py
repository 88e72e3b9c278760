"""Directories of tags, the structure that TIFF files and EXIF data share.

It needs the standard library only, because surveys use it where nothing heavy may be imported.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

ORIENTATION = 0x0112
UPRIGHT = 1
_MAX_ENTRIES = 4096
# Tags with more values than this are tables of offsets, which nobody here reads.
_MAX_VALUES = 16
# Codes of the whole-number types, as letters of `struct`; others are skipped. The tags read here
# are counts, which some cameras write as signed numbers.
_TYPES = {1: "B", 3: "H", 4: "I", 16: "Q", 6: "b", 8: "h", 9: "i", 17: "q"}


class Layout(NamedTuple):
    """How a file's directories are laid out: classic TIFF, or BigTIFF with 64-bit offsets."""

    order: str
    first: str  # where the header says the offset of the first directory is
    entries: str
    entry: str
    offset: str
    inline_bytes: int


class TagDirectory(NamedTuple):
    """The whole-number tags of a directory, and the offset of the next one, 0 for none."""

    tags: dict[int, tuple[int, ...]]
    next_offset: int

    def first(self, tag: int, default: int) -> int:
        """Return the first value of a tag."""
        return self.tags.get(tag, (default,))[0]


def decode_directory(data: bytes) -> TagDirectory:
    """Return the first directory; raise ValueError where the data is damaged."""
    try:
        layout = _layout(data)
        (place,) = struct.unpack_from(layout.order + layout.first, data)[-1:]
        (count,) = struct.unpack_from(layout.order + layout.entries, data, place)
        if count > _MAX_ENTRIES:
            raise ValueError(f"{count} tags")
        return _decode(data, layout, place + struct.calcsize(layout.order + layout.entries), count)
    except (struct.error, OverflowError) as error:
        raise ValueError(f"a tag lies outside of the data: {error}") from error


def _layout(data: bytes) -> Layout:
    order = {b"II": "<", b"MM": ">"}.get(data[:2])
    if order is None:
        raise ValueError("no byte order")
    (version,) = struct.unpack_from(order + "H", data, 2)
    if version == 42:
        return Layout(order, "4xI", "H", "HHI", "I", 4)
    if version == 43:
        return Layout(order, "8xQ", "Q", "HHQ", "Q", 8)
    raise ValueError(f"version {version}")


def _decode(data: bytes, layout: Layout, place: int, count: int) -> TagDirectory:
    tags: dict[int, tuple[int, ...]] = {}
    head = struct.calcsize(layout.order + layout.entry)
    for number in range(count):
        at = place + number * (head + layout.inline_bytes)
        tag, kind, values = struct.unpack_from(layout.order + layout.entry, data, at)
        if kind not in _TYPES or not 0 < values <= _MAX_VALUES:
            continue
        form = f"{layout.order}{values}{_TYPES[kind]}"
        where = at + head
        # Values that do not fit into the entry are somewhere else.
        if struct.calcsize(form) > layout.inline_bytes:
            (where,) = struct.unpack_from(layout.order + layout.offset, data, where)
        found = struct.unpack_from(form, data, where)
        if min(found) >= 0:
            tags.setdefault(tag, found)
    end = place + count * (head + layout.inline_bytes)
    # Writers leave the last offset out now and then.
    rest = data[end : end + layout.inline_bytes]
    is_little = layout.order == "<"
    following = int.from_bytes(rest, "little" if is_little else "big")
    return TagDirectory(tags, following if len(rest) == layout.inline_bytes else 0)


def exif_orientation(data: bytes) -> int:
    """Return the orientation in EXIF data, 1 to 8; damaged data or none means upright."""
    try:
        found = decode_directory(data.removeprefix(b"Exif\0\0")).first(ORIENTATION, UPRIGHT)
    except ValueError:
        return UPRIGHT
    return found if 1 <= found <= 8 else UPRIGHT
