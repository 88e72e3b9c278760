"""The chunks of a WAV file, checked: what its `fmt ` says and where its samples lie.

It needs the standard library only, because surveys use it where nothing heavy may be imported.
The one rule: sizes that the file states must fit the bytes that are there.
"""

from __future__ import annotations

import posixpath
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from encoders.kit.error import EncodeError
from encoders.kit.source.signature import describe_beginning

PCM, FLOAT, EXTENSIBLE = 0x0001, 0x0003, 0xFFFE
# Lower rates than any recording has would make a small file grow a thousandfold when resampled.
MIN_RATE, MAX_RATE = 1_000, 384_000
# Longer than any console holds.
MAX_SECONDS = 600
# The last 14 bytes of every sub-format that stands for a plain format code.
_SUBFORMAT_TAIL = bytes.fromhex("0000 0000 1000 8000 00AA 0038 9B71")
_WIDTHS = {PCM: (8, 16, 24, 32), FLOAT: (32, 64)}
_OTHER_CODINGS = {
    0x0002: "Microsoft ADPCM",
    0x0006: "A-law",
    0x0007: "mu-law",
    0x0011: "IMA ADPCM",
    0x0031: "GSM 6.10",
    0x0050: "MPEG",
    0x0055: "MP3",
}


@dataclass(frozen=True)
class WavFormat:
    """What the `fmt ` chunk says of the samples."""

    coding: int
    channels: int
    rate: int
    bits: int

    @property
    def frame_bytes(self) -> int:
        """Bytes of one sample of every channel."""
        return self.channels * self.bits // 8


def decode_wav_chunks(data: bytes, name: str) -> tuple[WavFormat, memoryview]:
    """Return the format and the bytes of the samples, a whole number of frames, at least one."""
    form: WavFormat | None = None
    for kind, content in _walk(data, name):
        if kind == b"fmt " and form is None:
            form = _decode_format(bytes(content), name)
        elif kind == b"data" and form is not None:
            _check_length(form, len(content), name)
            return form, content
        elif kind in (b"fmt ", b"data"):
            raise EncodeError("a WAV chunk is out of order", {"file": name, "chunk": kind.decode()})
    missing = "fmt" if form is None else "data"
    raise EncodeError("the WAV lacks a chunk", {"file": name, "chunk": missing})


def _check_length(form: WavFormat, size: int, name: str) -> None:
    frames, rest = divmod(size, form.frame_bytes)
    if rest or not frames:
        raise EncodeError(
            "the WAV does not hold a whole number of frames",
            {"file": name, "bytes": size, "frame": f"{form.frame_bytes} bytes"},
        )
    if frames > MAX_SECONDS * form.rate:
        raise EncodeError(
            "the WAV is too long",
            {"file": name, "seconds": frames // form.rate, "allowed": MAX_SECONDS},
        )


def _walk(data: bytes, name: str) -> Iterator[tuple[bytes, memoryview]]:
    """Yield tag and content of every chunk; bytes behind the RIFF are not looked at."""
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        problem = f"{posixpath.basename(name)} is not a WAV: {describe_beginning(data)}"
        raise EncodeError(problem, {"file": name}, "Export the sound as PCM WAV.")
    end = 8 + int.from_bytes(data[4:8], "little")
    if end > len(data):
        raise _cut_short(name, "RIFF", 0, end - 8)
    offset, view = 12, memoryview(data)
    while offset + 8 <= end:
        tag, size = struct.unpack_from("<4sI", data, offset)
        if offset + 8 + size > end:
            raise _cut_short(name, tag.decode("latin-1"), offset, size)
        yield tag, view[offset + 8 : offset + 8 + size]
        # Chunks begin at even offsets. The pad byte of the last one is often left out.
        offset += 8 + size + size % 2
    if offset < end:
        raise _cut_short(name, "(header)", offset, end - offset)


def _cut_short(name: str, chunk: str, offset: int, size: int) -> EncodeError:
    return EncodeError(
        "a WAV chunk reaches past its end",
        {"file": name, "chunk": chunk, "offset": offset, "length": size},
        "The file was cut short, or was streamed by a program that never wrote its length.",
    )


def _decode_format(content: bytes, name: str) -> WavFormat:
    if len(content) < 16:
        raise EncodeError(
            "the WAV's format chunk is too short", {"file": name, "bytes": len(content)}
        )
    coding, channels, rate, _, frame, bits = struct.unpack_from("<HHIIHH", content)
    if coding == EXTENSIBLE:
        coding = _extensible_coding(content, bits, name)
    if coding not in _WIDTHS or bits not in _WIDTHS[coding]:
        raise EncodeError(
            "the WAV is of a kind that is not supported",
            {"file": name, "coding": _OTHER_CODINGS.get(coding, f"{coding:#06x}"), "bits": bits}
            | {"allowed": "PCM of 8, 16, 24 or 32 bits, float of 32 or 64"},
            "Export the sound as PCM WAV.",
        )
    form = WavFormat(coding, channels, rate, bits)
    if channels not in (1, 2):
        raise EncodeError(
            "the WAV has too many channels" if channels else "the WAV has no channels",
            {"file": name, "channels": channels, "allowed": "1 or 2"},
            "Mix it down to mono or stereo.",
        )
    if not MIN_RATE <= rate <= MAX_RATE:
        raise EncodeError(
            "the WAV has a sample rate that is not supported",
            {"file": name, "rate": rate, "allowed": f"{MIN_RATE} to {MAX_RATE}"},
        )
    if frame != form.frame_bytes:
        raise EncodeError(
            "the WAV's format contradicts itself",
            {"file": name, "rate": rate, "frame": frame, "expected frame": form.frame_bytes},
        )
    return form


def _extensible_coding(content: bytes, bits: int, name: str) -> int:
    """Return the format code inside an extensible format; samples are left-justified in `bits`."""
    if len(content) < 40 or content[26:40] != _SUBFORMAT_TAIL:
        raise EncodeError(
            "the WAV's extensible format is unknown",
            {"file": name, "sub-format": content[24:40].hex(" ")},
        )
    valid = int.from_bytes(content[18:20], "little")
    if valid > bits:
        raise EncodeError(
            "the WAV's format contradicts itself",
            {"file": name, "valid bits": valid, "bits": bits},
        )
    return int.from_bytes(content[24:26], "little")
