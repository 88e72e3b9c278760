"""The first and the last page of an Ogg file: rate, channels and length."""

from __future__ import annotations

import struct

from encoders.kit.source.shared.sound_header import no_sound, sound_survey

_PAGE = struct.Struct("<4sBBqIIIB")
_MAGIC = b"OggS"
# Opus has one clock, whatever rate was recorded.
_OPUS_RATE = 48_000


def survey_ogg(data: bytes, name: str) -> dict[str, object]:
    """Return `rate`, `channels` and, where the last page tells, `frames`."""
    packet = _first_packet(data)
    if packet[:7] == b"\x01vorbis" and len(packet) >= 16:
        channels, rate, skipped = packet[11], int.from_bytes(packet[12:16], "little"), 0
    elif packet[:8] == b"OpusHead" and len(packet) >= 12:
        channels, rate = packet[9], _OPUS_RATE
        skipped = int.from_bytes(packet[10:12], "little")
    elif packet[:5] == b"\x7fFLAC" and len(packet) >= 35:
        packed = int.from_bytes(packet[27:35], "big")
        channels, rate, skipped = (packed >> 41 & 7) + 1, packed >> 44, 0
    else:
        raise no_sound("Ogg with Vorbis, Opus or FLAC", name, data)
    return sound_survey("OGG", name, rate, channels, max(0, _last_position(data) - skipped))


def _first_packet(data: bytes) -> bytes:
    if len(data) < _PAGE.size or data[:4] != _MAGIC:
        return b""
    segments = data[26]
    start = _PAGE.size + segments
    return data[start : start + sum(data[_PAGE.size : start])]


def _last_position(data: bytes) -> int:
    """Return the number of frames up to the last page, 0 where it does not say."""
    place = data.rfind(_MAGIC)
    if place < 0 or place + _PAGE.size > len(data):
        return 0
    return int(max(0, _PAGE.unpack_from(data, place)[3]))
