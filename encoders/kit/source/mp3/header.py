"""The first frame of an MP3: rate and channels.

How long it is shows only when all frames are walked, which the decoder does.
"""

from __future__ import annotations

from encoders.kit.source.shared.sound_header import no_sound, skip_tag, sound_survey

# Rates by version (2 bits of the header) and by index.
_RATES = {3: (44100, 48000, 32000), 2: (22050, 24000, 16000), 0: (11025, 12000, 8000)}
_MONO = 3
# Players look for the first frame behind padding of about this length.
_SEARCHED_BYTES = 1 << 16


def survey_mp3(data: bytes, name: str) -> dict[str, object]:
    """Return `rate` and `channels` of the first frame."""
    start = skip_tag(data)
    for place in range(start, min(len(data) - 3, start + _SEARCHED_BYTES)):
        found = _frame(data[place : place + 4])
        if found is not None:
            return sound_survey("MP3", name, *found, frames=0)
    raise no_sound("an MP3", name, data)


def _frame(head: bytes) -> tuple[int, int] | None:
    """Return rate and channels of a frame's header, None where it is none."""
    if head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return None
    version, layer, index = head[1] >> 3 & 3, head[1] >> 1 & 3, head[2] >> 2 & 3
    # Layer 0, version 1, index 3 and bit rate 15 are reserved.
    if version not in _RATES or layer == 0 or index == 3 or head[2] >> 4 == 15:
        return None
    return _RATES[version][index], 1 if head[3] >> 6 == _MONO else 2
