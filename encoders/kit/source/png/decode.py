"""PNG of every kind to RGBA8: the chunks here, unfiltering by Pillow's zip decoder.

Pillow truncates 16-bit samples to their high byte and reads damaged files as far as it can,
so it gets data that is already inflated and measured, as bytes whose meaning stays with us.
The one rule: colours are the file's numbers - no colour management, no premultiplication,
16-bit samples rounded to the nearest of v / 257.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EXPORT_AGAIN, EncodeError
from encoders.kit.source.png.chunk import (
    CHANNELS,
    GREY,
    GREY_ALPHA,
    PALETTE,
    RGB,
    RGBA,
    PngHeader,
    decode_png_header,
    png_orientation,
    walk_chunks,
)
from encoders.kit.source.png.unfilter import unfilter_rows
from encoders.kit.source.shared.image_header import apply_orientation
from encoders.kit.source.shared.image_limit import check_image_size
from encoders.kit.warning import Warn, grouped, ignore

# Deflate cannot shrink more than this, so a header that promises more is a lie.
_MAX_DEFLATE_RATIO = 1032
_PALETTE_LIMIT = 256
_KEY_LENGTH = {GREY: 2, RGB: 6}
_Samples: TypeAlias = npt.NDArray[np.integer[Any]]


@dataclass
class _Parts:
    """The chunks that make pixels."""

    header: PngHeader
    palette: bytes = b""
    transparency: bytes | None = None
    data: list[memoryview] = field(default_factory=list)


def decode_png(data: bytes, name: str, warn: Warn = ignore) -> npt.NDArray[np.uint8]:
    """Return the picture as (height, width, 4) RGBA8, top row first, the way it is shown."""
    parts = _collect(data, name, warn)
    return apply_orientation(_pixels(parts, name, warn), png_orientation(data))


def _pixels(parts: _Parts, name: str, warn: Warn) -> npt.NDArray[np.uint8]:
    samples = _samples(parts.header, _inflate(parts, name, warn), name)
    if parts.header.colour_type == PALETTE:
        return _look_up(samples[:, :, 0], parts, name)
    image = np.full((*samples.shape[:2], 4), 255, np.uint8)
    eight = to_eight_bits(samples, parts.header.depth)
    is_grey = parts.header.colour_type in (GREY, GREY_ALPHA)
    # One channel at a time is several times faster than three interleaved ones at once.
    for channel in range(3):
        image[:, :, channel] = eight[:, :, 0 if is_grey else channel]
    if parts.header.colour_type in (GREY_ALPHA, RGBA):
        image[:, :, 3] = eight[:, :, -1]
    elif parts.transparency is not None:
        image[_is_key(samples, parts), 3] = 0
    return image


def to_eight_bits(samples: _Samples, depth: int) -> npt.NDArray[np.uint8]:
    """Return samples of 1 to 16 bits as 8 bits, to the nearest."""
    if depth == 16:
        return ((samples.astype(np.uint32) + 128) // 257).astype(np.uint8)
    eight = samples.astype(np.uint8, copy=False)
    return eight if depth == 8 else eight * np.uint8(255 // ((1 << depth) - 1))


def _collect(data: bytes, name: str, warn: Warn) -> _Parts:
    """Gather the chunks that make pixels, in the order that the specification demands."""
    chunks = walk_chunks(data, name, warn)
    header = decode_png_header(*next(chunks), name)
    check_image_size(header.width, header.height, name, len(data))
    parts = _Parts(header)
    previous = "IHDR"
    for kind, content in chunks:
        if kind == "IDAT":
            if parts.data and previous != "IDAT":
                raise _misplaced(kind, name)
            parts.data.append(content)
        elif kind == "PLTE":
            _take_palette(parts, content, name)
        elif kind == "tRNS":
            _take_transparency(parts, content, name)
        elif kind != "IEND" and kind[0].isupper():
            raise EncodeError(
                "the PNG has an unknown critical chunk", {"file": name, "chunk": kind}, EXPORT_AGAIN
            )
        previous = kind
    if not parts.data or (header.colour_type == PALETTE and not parts.palette):
        missing = "PLTE" if parts.data else "IDAT"
        raise EncodeError("the PNG lacks a chunk", {"file": name, "chunk": missing}, EXPORT_AGAIN)
    return parts


def _take_palette(parts: _Parts, content: memoryview, name: str) -> None:
    header = parts.header
    if parts.data or parts.palette or parts.transparency is not None:
        raise _misplaced("PLTE", name)
    limit = 1 << header.depth if header.colour_type == PALETTE else _PALETTE_LIMIT
    entries, rest = divmod(len(content), 3)
    if rest or not 1 <= entries <= limit or header.colour_type in (GREY, GREY_ALPHA):
        facts = {"file": name, "chunk": "PLTE", "bytes": len(content), "entries": f"1 to {limit}"}
        raise EncodeError("the PNG's palette does not fit its kind", facts, EXPORT_AGAIN)
    parts.palette = bytes(content)


def _take_transparency(parts: _Parts, content: memoryview, name: str) -> None:
    kind = parts.header.colour_type
    if parts.data or parts.transparency is not None or (kind == PALETTE and not parts.palette):
        raise _misplaced("tRNS", name)
    entries = len(parts.palette) // 3
    fits = (
        1 <= len(content) <= entries if kind == PALETTE else len(content) == _KEY_LENGTH.get(kind)
    )
    if not fits:
        facts = {"file": name, "chunk": "tRNS", "bytes": len(content), "colour type": kind}
        raise EncodeError("the PNG's transparency does not fit its kind", facts, EXPORT_AGAIN)
    parts.transparency = bytes(content)


def _misplaced(kind: str, name: str) -> EncodeError:
    return EncodeError("a PNG chunk is out of order", {"file": name, "chunk": kind}, EXPORT_AGAIN)


def _inflate(parts: _Parts, name: str, warn: Warn) -> bytes:
    """Return the filtered rows, exactly as many bytes as the header promises.

    Some exporters write more; what is behind the last row is no pixel and ignored.
    """
    expected = parts.header.data_size
    packed = b"".join(parts.data)
    facts = {"file": name, "needed": f"{expected} bytes", "compressed": len(packed)}
    if expected > _MAX_DEFLATE_RATIO * len(packed) + _MAX_DEFLATE_RATIO:
        raise EncodeError("the PNG has less image data than its size needs", facts, EXPORT_AGAIN)
    inflater = zlib.decompressobj()
    try:
        rows = inflater.decompress(packed, expected + 1)
    except zlib.error as error:
        facts["reason"] = str(error)
        raise EncodeError("the PNG's image data is damaged", facts, EXPORT_AGAIN) from error
    has_more = len(rows) > expected
    if len(rows) < expected or not (inflater.eof or has_more):
        raise EncodeError("the PNG has less image data than its size needs", facts, EXPORT_AGAIN)
    if has_more or inflater.unused_data:
        text = f"{name}: the PNG has more image data than its size needs; the rest was ignored"
        warn(grouped("damage", text))
    return rows[:expected]


def _samples(header: PngHeader, rows: bytes, name: str) -> _Samples:
    """Return (height, width, channels) samples in the file's own depth."""
    channels = CHANNELS[header.colour_type]
    if header.depth == 8 and not header.is_interlaced:
        return _whole_bytes(header, rows, name)
    # A stream of stored blocks: the zip decoder unfilters and deinterlaces, and inflates nothing.
    stored = _Stored(header, zlib.compress(rows, 0), name)
    if header.depth < 16:
        # Palette modes unpack 1, 2 and 4 bits to one byte each, without scaling.
        low = {1: "P;1", 2: "P;2", 4: "P;4"}.get(header.depth)
        mode = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}[channels]
        return stored.unfilter("P" if low else mode, low or mode)
    if channels <= 2:
        # Filters see bytes, and to them a 16-bit channel is two of 8 bits.
        mode = "LA" if channels == 1 else "RGBA"
        pairs = stored.unfilter(mode, mode).astype(np.uint16)
        return (pairs[:, :, 0::2] << 8) | pairs[:, :, 1::2]
    mode = "RGB" if channels == 3 else "RGBA"
    high = stored.unfilter(mode, f"{mode};16B").astype(np.uint16)
    # Read as little-endian, the byte that Pillow keeps of each sample is the low one.
    return (high << 8) | stored.unfilter(mode, f"{mode};16L")


def _whole_bytes(header: PngHeader, rows: bytes, name: str) -> _Samples:
    """Return the samples of the usual kind: a byte each, row after row."""
    channels = CHANNELS[header.colour_type]
    filtered = np.frombuffer(rows, np.uint8).reshape(header.height, -1)
    try:
        pixels = unfilter_rows(filtered, channels)
    except ValueError as error:
        raise _unknown_filter(name) from error
    return pixels.reshape(header.height, header.width, channels)


def _unknown_filter(name: str) -> EncodeError:
    problem = "the PNG uses a row filter that does not exist"
    return EncodeError(problem, {"file": name}, EXPORT_AGAIN)


@dataclass(frozen=True)
class _Stored:
    """Filtered rows in the form that Pillow's zip decoder takes."""

    header: PngHeader
    stream: bytes
    name: str

    def unfilter(self, mode: str, raw_mode: str) -> npt.NDArray[np.uint8]:
        """Return (height, width, channels) bytes, as `raw_mode` picks them from each pixel."""
        from PIL import Image

        size = (self.header.width, self.header.height)
        interlaced = int(self.header.is_interlaced)
        try:
            picture = Image.frombytes(mode, size, self.stream, "zip", raw_mode, interlaced)
        except ValueError as error:
            raise _unknown_filter(self.name) from error
        pixels = np.asarray(picture, np.uint8)
        return pixels.reshape(*pixels.shape[:2], -1)


def _look_up(indices: _Samples, parts: _Parts, name: str) -> npt.NDArray[np.uint8]:
    """Return the palette's colours, with alpha from tRNS as far as it goes."""
    entries = len(parts.palette) // 3
    highest = int(indices.max())
    if highest >= entries:
        facts = {"file": name, "index": highest, "palette": f"{entries} colours"}
        raise EncodeError(
            "the PNG uses a colour that its palette does not have", facts, EXPORT_AGAIN
        )
    palette = np.full((entries, 4), 255, np.uint8)
    palette[:, :3] = np.frombuffer(parts.palette, np.uint8).reshape(-1, 3)
    alpha = np.frombuffer(parts.transparency or b"", np.uint8)
    palette[: len(alpha), 3] = alpha
    # Four bytes are fetched at once as one number.
    return palette.view(np.uint32)[:, 0][indices].view(np.uint8).reshape(*indices.shape, 4)


def _is_key(samples: _Samples, parts: _Parts) -> npt.NDArray[np.bool_]:
    """Tell the pixels whose samples, before any scaling, equal the tRNS colour."""
    key = np.frombuffer(parts.transparency or b"", ">u2") & ((1 << parts.header.depth) - 1)
    return np.asarray((samples == key).all(axis=2))
