"""The chunks of a PNG, checked: order, lengths, CRCs and the header's own rules.

It knows what a PNG says of itself, and no pixels. It needs the standard library only, because
surveys use it where nothing heavy may be imported. The one rule: a fault that can change pixels
is refused with the file's name; any other is a warning.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from encoders.kit.error import EXPORT_AGAIN, EncodeError
from encoders.kit.source.shared.tag_directory import UPRIGHT, exif_orientation
from encoders.kit.warning import grouped, ignore

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
GREY, RGB, PALETTE, GREY_ALPHA, RGBA = 0, 2, 3, 4, 6
CHANNELS = {GREY: 1, RGB: 3, PALETTE: 1, GREY_ALPHA: 2, RGBA: 4}
DEPTHS = {
    GREY: (1, 2, 4, 8, 16),
    RGB: (8, 16),
    PALETTE: (1, 2, 4, 8),
    GREY_ALPHA: (8, 16),
    RGBA: (8, 16),
}
# Pass by pass: first column, first row, column step, row step.
ADAM7 = (
    (0, 0, 8, 8),
    (4, 0, 8, 8),
    (0, 4, 4, 8),
    (2, 0, 4, 4),
    (0, 2, 2, 4),
    (1, 0, 2, 2),
    (0, 1, 1, 2),
)
_MAX_SIDE = 2**31 - 1
MAX_FILLING = 3  # zeros behind an image that are no damage


@dataclass(frozen=True)
class PngHeader:
    """What the IHDR chunk says."""

    width: int
    height: int
    depth: int
    colour_type: int
    is_interlaced: bool

    @property
    def bits_per_pixel(self) -> int:
        """Bits of one pixel in the unfiltered data."""
        return CHANNELS[self.colour_type] * self.depth

    @property
    def passes(self) -> list[tuple[int, int]]:
        """Width and height of every pass that has pixels."""
        if not self.is_interlaced:
            return [(self.width, self.height)]
        sizes = [
            ((self.width - x + dx - 1) // dx, (self.height - y + dy - 1) // dy)
            for x, y, dx, dy in ADAM7
        ]
        return [(width, height) for width, height in sizes if width and height]

    @property
    def data_size(self) -> int:
        """Bytes that the image data must inflate to, filter bytes included."""
        return sum(
            height * (1 + (width * self.bits_per_pixel + 7) // 8) for width, height in self.passes
        )


def walk_chunks(
    data: bytes, name: str, warn: Callable[[str], object] = ignore
) -> Iterator[tuple[str, memoryview]]:
    """Yield kind and content of every chunk up to IEND, each with a length and CRC that hold.

    A chunk with a wrong CRC that no pixel depends on is left out with a warning. Bytes behind IEND
    are no part of the image and are a warning too.
    """
    offset, view = len(PNG_SIGNATURE), memoryview(data)
    while offset + 12 <= len(data):
        size, tag = struct.unpack_from(">I4s", data, offset)
        kind = tag.decode("latin-1")
        end = offset + 8 + size
        if end + 4 > len(data):
            raise EncodeError(
                "a PNG chunk reaches past the end of the file",
                {"file": name, "chunk": kind, "offset": offset, "length": size},
                EXPORT_AGAIN,
            )
        if zlib.crc32(view[offset + 4 : end]) == int.from_bytes(view[end : end + 4], "big"):
            yield kind, view[offset + 8 : end]
        elif _makes_pixels(kind):
            raise EncodeError(
                "a PNG chunk has a wrong checksum",
                {"file": name, "chunk": kind, "offset": offset},
                "The file was damaged after it was written; export it again.",
            )
        else:
            text = f"{name}: the chunk {_shown(kind)} has a wrong checksum and was ignored"
            warn(grouped("damage", text))
        if kind == "IEND":
            rest = data[end + 4 :]
            # Exporters fill images inside of a GLB up to a multiple of four.
            if len(rest) > MAX_FILLING or any(rest):
                text = f"{name}: {len(rest)} bytes behind the end of the PNG were ignored"
                warn(grouped("damage", text))
            return
        offset = end + 4
    raise EncodeError(
        "the PNG ends before its IEND chunk", {"file": name, "bytes": len(data)}, EXPORT_AGAIN
    )


def _makes_pixels(kind: str) -> bool:
    """Tell whether pixels depend on a chunk: critical ones begin with a capital, tRNS is alpha."""
    return not kind[0].islower() or kind == "tRNS"


def _shown(kind: str) -> str:
    return kind if kind.isascii() and kind.isprintable() else kind.encode("latin-1").hex(" ")


def png_orientation(data: bytes) -> int:
    """Return the orientation in the chunk eXIf, wherever it stands; other chunks are skipped."""
    offset = len(PNG_SIGNATURE)
    while offset + 12 <= len(data):
        size, tag = struct.unpack_from(">I4s", data, offset)
        end = offset + 8 + size
        if tag == b"eXIf":
            is_sound = zlib.crc32(data[offset + 4 : end]).to_bytes(4, "big") == data[end : end + 4]
            return exif_orientation(data[offset + 8 : end]) if is_sound else UPRIGHT
        offset = end + 4
    return UPRIGHT


def decode_png_header(kind: str, content: memoryview, name: str) -> PngHeader:
    """Return the header from a PNG's first chunk, which must be a valid IHDR."""
    if kind != "IHDR" or len(content) != 13:
        raise EncodeError(
            "the PNG does not begin with its header", {"file": name, "chunk": kind}, EXPORT_AGAIN
        )
    width, height, depth, colour_type, method, filtering, interlace = struct.unpack(
        ">IIBBBBB", content
    )
    if not (0 < width <= _MAX_SIDE and 0 < height <= _MAX_SIDE):
        raise EncodeError(
            "the PNG has no area", {"file": name, "size": f"{width} x {height}"}, EXPORT_AGAIN
        )
    if depth not in DEPTHS.get(colour_type, ()):
        raise EncodeError(
            "the PNG has a pixel format that does not exist",
            {"file": name, "bit depth": depth, "colour type": colour_type},
            EXPORT_AGAIN,
        )
    if method or filtering or interlace > 1:
        raise EncodeError(
            "the PNG uses a method that does not exist",
            {"file": name, "compression": method, "filter": filtering, "interlace": interlace},
            EXPORT_AGAIN,
        )
    return PngHeader(width, height, depth, colour_type, bool(interlace))
