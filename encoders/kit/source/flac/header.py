"""The first block of a FLAC file: rate, channels and length."""

from __future__ import annotations

from encoders.kit.source.shared.sound_header import no_sound, skip_tag, sound_survey

# Magic, the head of the block STREAMINFO, then its body.
_BODY, _BODY_BYTES = 8, 34
_STREAM_INFO = 0


def survey_flac(data: bytes, name: str) -> dict[str, object]:
    """Return `rate`, `channels` and, where the file tells, `frames`."""
    data = data[skip_tag(data) :]
    body = data[_BODY : _BODY + _BODY_BYTES]
    if data[:4] != b"fLaC" or len(body) < _BODY_BYTES or data[4] & 0x7F != _STREAM_INFO:
        raise no_sound("a FLAC", name, data)
    # 20 bits of rate, 3 of channels less one, 5 of depth less one, 36 of frames.
    packed = int.from_bytes(body[10:18], "big")
    rate, channels, frames = packed >> 44, (packed >> 41 & 7) + 1, packed & (1 << 36) - 1
    return sound_survey("FLAC", name, rate, channels, frames)
