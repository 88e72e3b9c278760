"""The Rust files read back: the values that a text says, taken out by its fixed words.

The one rule: the text is what the value would be written as, byte for byte; anything else is
refused, whatever a Rust compiler might make of it.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable

from encoders.kit.error import EncodeError
from encoders.rp2350.wrapper import (
    MAX_ENTRIES,
    MAX_VERTICES,
    Descriptor,
    Patch,
    PatchWrapper,
    TextureWrapper,
    Vector,
)

SOURCE = re.compile("// Generated from: (.*)\n")
PLACE = re.compile(r"// Generated from: (.*) \(patch ([0-9]+) of ([0-9]+)\)\n")
TEXTURE = re.compile(
    r"\npub const ([0-9A-Z_]+)_WIDTH: u32 = ([0-9]+);"
    r"\npub const \1_HEIGHT: u32 = ([0-9]+);"
    r"\npub const \1_FORMAT: TextureFormat = TextureFormat::(RGBA4444|BC1);"
    r"\npub const \1_MIP_LEVELS: u8 = ([0-9]+);"
)
PATCH = re.compile(r"\npub const ([0-9A-Z_]+)_PATCH([0-9]+)_VERTEX_COUNT: usize = ([0-9]+);")
ENTRIES = re.compile("_ENTRY_COUNT: usize = ([0-9]+);")
MESH = re.compile(r"\npub const ([0-9A-Z_]+)_PATCH_COUNT: usize = ([0-9]+);")
CORNERS = re.compile(r"(?:_AABB_M(?:IN|AX): \[f32; 3\] =|aabb_m(?:in|ax):) \[(.*)\]")
COUNTS = re.compile(r"vertex_count: ([0-9]+),\s+entry_count: ([0-9]+),")
# No count that makes sense is longer; a longer one must not become a huge list.
DIGITS = 9

AnyWrapper = TextureWrapper | PatchWrapper | Descriptor


def parse_wrapper(data: bytes, name: str) -> AnyWrapper:
    """Read any of the three kinds of wrapper, by the constants that it has."""
    text = decode_text(data, name)
    take: Callable[[str], AnyWrapper] = _texture
    if MESH.search(text):
        take = _descriptor
    elif PATCH.search(text):
        take = _patch
    try:
        found = take(text)
    except (ValueError, TypeError, OverflowError) as error:
        raise _refusal(name) from error
    if found.text() != text:
        raise _refusal(name)
    return found


def decode_text(data: bytes, name: str) -> str:
    """Decode a Rust file."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise EncodeError("not a text", {"file": name, "offset": error.start}) from error


def _refusal(name: str) -> EncodeError:
    hint = "Build it again; what is written there must not be edited."
    return EncodeError("not a wrapper of this build", {"file": name}, hint)


def _texture(text: str) -> TextureWrapper:
    source, found = _first(SOURCE, text), _first(TEXTURE, text)
    width, height, levels = _count(found[2]), _count(found[3]), _count(found[5])
    if not 1 <= levels <= min(width, height).bit_length():
        raise ValueError("more levels than sizes")
    return TextureWrapper(found[1], source[1], width, height, found[4], levels)


def _patch(text: str) -> PatchWrapper:
    place, found, entries = _first(PLACE, text), _first(PATCH, text), _first(ENTRIES, text)
    low, high = map(_vector, CORNERS.findall(text))
    patch = _limited(Patch(_count(found[3]), _count(entries[1]), low, high))
    number, total = _count(found[2]), _count(place[3])
    if number >= total:
        raise ValueError("a patch too many")
    return PatchWrapper(found[1], place[1], number, total, patch)


def _descriptor(text: str) -> Descriptor:
    source, found = _first(SOURCE, text), _first(MESH, text)
    corners = [_vector(one) for one in CORNERS.findall(text)]
    low, high = corners[:2]
    patches = [
        _limited(Patch(_count(vertices), _count(entries), *box))
        for (vertices, entries), *box in zip(
            COUNTS.findall(text), corners[2::2], corners[3::2], strict=True
        )
    ]
    return Descriptor(found[1], source[1], low, high, patches)


def _limited(patch: Patch) -> Patch:
    """Refuse a patch that the firmware has no room for."""
    if not (3 <= patch.vertices <= MAX_VERTICES and 3 <= patch.entries <= MAX_ENTRIES):
        raise ValueError("a patch too small or too large")
    return patch


def _first(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    found = pattern.search(text)
    if found is None:
        raise ValueError(f"no {pattern.pattern}")
    return found


def _count(text: str) -> int:
    if len(text) > DIGITS:
        raise ValueError("a count too long")
    return int(text)


def _vector(text: str) -> Vector:
    """Read three literals as float32 values."""
    x, y, z = (struct.unpack("<f", struct.pack("<f", float(one)))[0] for one in text.split(", "))
    if not all(map(math.isfinite, (x, y, z))):
        raise ValueError("not a place")
    return x, y, z
