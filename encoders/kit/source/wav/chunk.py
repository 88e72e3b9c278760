"""The chunks of a WAV file: what its `fmt ` says and where its samples lie.

It needs the standard library only, because surveys use it where nothing heavy may be imported.
The one rule: sizes that are wrong are a warning as long as samples can be found; programs that
stream, and recorders that lose power, write such files.
"""

from __future__ import annotations

import posixpath
import struct
from collections.abc import Iterator
from typing import Literal, NamedTuple

from encoders.kit.error import EncodeError
from encoders.kit.source.shared.sound_limit import check_length
from encoders.kit.source.signature import describe_beginning, describe_content
from encoders.kit.source.wav.coding import WavFormat, decode_format
from encoders.kit.warning import Warn, grouped, ignore

# RIFF with little-endian numbers, RIFX with big-endian ones, and two names for 64-bit sizes.
_ORDERS = {b"RIFF": "<", b"RIFX": ">", b"RF64": "<", b"BW64": "<"}
# What sounds of other formats, as signatures call them, should be named.
_OTHER_SUFFIXES = {"Ogg": ".ogg", "FLAC": ".flac", "MP3": ".mp3"}
_LARGE = (b"RF64", b"BW64")
_HEADER_BYTES = 12
# What programs write that do not know the length: the largest number, or nothing.
_UNKNOWN = 0xFFFFFFFF


class WavData(NamedTuple):
    """The format of a WAV, the bytes of its samples, and how many frames they are."""

    form: WavFormat
    content: memoryview
    frames: int


class _Chunk(NamedTuple):
    tag: bytes
    size: int
    offset: int  # of the content


def _other_format_hint(data: bytes, name: str) -> str:
    suffix = _OTHER_SUFFIXES.get(describe_content(data))
    stem = posixpath.splitext(posixpath.basename(name))[0]
    return f"Name it {stem}{suffix}, or export it as WAV." if suffix else "Export the sound as WAV."


def decode_wav_chunks(data: bytes, name: str, warn: Warn = ignore) -> WavData:
    """Return the format and the samples, whole frames, at least one."""
    order = _ORDERS.get(data[:4])
    if order is None or data[8:12] != b"WAVE":
        problem = f"{posixpath.basename(name)} is not a WAV: {describe_beginning(data)}"
        raise EncodeError(problem, {"file": name}, _other_format_hint(data, name))
    form: WavFormat | None = None
    large_size, fact = None, 0
    for chunk in _walk(data, order, name):
        content = data[chunk.offset : chunk.offset + chunk.size] if chunk.tag != b"data" else b""
        if chunk.tag == b"ds64" and data[:4] in _LARGE:
            large_size = _large_data_size(content, name)
        elif chunk.tag == b"fact" and len(content) >= 4:
            (fact,) = struct.unpack_from(f"{order}I", content)
        elif chunk.tag == b"fmt " and form is None:
            form = decode_format(content, order, name, warn)
        elif chunk.tag == b"data" and form is not None:
            found = _samples(data, chunk, large_size, name, warn)
            return _whole_frames(form, found, fact, name, warn)
        elif chunk.tag in (b"fmt ", b"data"):
            raise EncodeError(
                "a WAV chunk is out of order", {"file": name, "chunk": chunk.tag.decode()}
            )
    missing = "fmt" if form is None else "data"
    raise EncodeError("the WAV lacks a chunk", {"file": name, "chunk": missing})


def _walk(data: bytes, order: str, name: str) -> Iterator[_Chunk]:
    """Yield every chunk up to `data`, which may be the last that can be found."""
    offset = _HEADER_BYTES
    while offset + 8 <= len(data):
        tag, size = struct.unpack_from(f"{order}4sI", data, offset)
        if tag != b"data" and offset + 8 + size > len(data):
            raise EncodeError(
                "a WAV chunk reaches past the end of the file",
                {"file": name, "chunk": tag.decode("latin-1"), "offset": offset, "length": size},
                "The file was cut short before its samples; export it again.",
            )
        yield _Chunk(tag, size, offset + 8)
        # Chunks begin at even offsets.
        offset += 8 + size + size % 2


def _large_data_size(content: bytes, name: str) -> int:
    if len(content) < 16:
        raise EncodeError("the WAV's ds64 chunk is too short", {"file": name})
    (size,) = struct.unpack_from("<Q", content, 8)
    return int(size)


def _samples(
    data: bytes, chunk: _Chunk, large_size: int | None, name: str, warn: Warn
) -> memoryview:
    """Return the bytes of the samples, as many as there are where the size is wrong."""
    size = chunk.size
    if large_size is not None and size == _UNKNOWN:
        size = large_size
    there = len(data) - chunk.offset
    if size > there or (size == 0 and there and not _is_chunk(data, chunk)):
        text = f"{name}: the size of the WAV's samples is wrong ({size} bytes, there are {there})"
        warn(grouped("damage", f"{text}; all bytes to the end were read"))
        size = there
    else:
        _warn_of_outer_size(data, chunk.offset + size, name, warn)
    return memoryview(data)[chunk.offset : chunk.offset + size]


def _is_chunk(data: bytes, chunk: _Chunk) -> bool:
    """Tell whether a chunk follows an empty one, so that it is really empty."""
    head = data[chunk.offset : chunk.offset + 8]
    tag, size = head[:4], int.from_bytes(head[4:], _byteorder(data))
    is_name = tag.isascii() and tag.decode("ascii").isprintable()
    return len(head) == 8 and is_name and chunk.offset + 8 + size <= len(data)


def _warn_of_outer_size(data: bytes, end: int, name: str, warn: Warn) -> None:
    """Warn where the size in the file's first line does not reach over the samples, or too far."""
    size = int.from_bytes(data[4:8], _byteorder(data))
    if data[:4] in _LARGE and size == _UNKNOWN:
        return
    # Some programs count the header, or the pad byte that they leave out.
    if not end <= size + 8 <= len(data) + 8:
        text = f"{name}: the size of the WAV is wrong ({size} bytes, there are {len(data) - 8})"
        warn(grouped("damage", f"{text}; its chunks were read all the same"))


def _byteorder(data: bytes) -> Literal["little", "big"]:
    return "big" if data[:4] == b"RIFX" else "little"


def _whole_frames(
    form: WavFormat, content: memoryview, fact: int, name: str, warn: Warn
) -> WavData:
    frames, used = form.count_frames(len(content))
    if not frames:
        raise EncodeError(
            "the WAV holds no samples",
            {"file": name, "bytes": len(content), "frame": f"{form.block_bytes} bytes"},
        )
    if used < len(content):
        text = f"{name}: the last {len(content) - used} bytes of the WAV are no whole frame"
        warn(grouped("damage", f"{text} and were ignored"))
    # The last block is filled up with samples that do not count. Some encoders write a number that
    # would leave whole blocks out, and are not believed.
    if form.is_adpcm and 0 < frames - fact < form.frames_of_block(form.block_bytes):
        frames = fact
    check_length(frames, form.rate, "WAV", name)
    return WavData(form, content[:used], frames)
