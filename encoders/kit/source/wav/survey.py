"""What must be known of a sound before it is decoded.

Only chunk headers are read, and only the standard library is imported.
"""

from __future__ import annotations

from encoders.kit.source.wav.chunk import decode_wav_chunks


def survey_wav(data: bytes, name: str) -> dict[str, object]:
    """Return `rate`, `channels` and `frames` of a WAV."""
    # Chunk sizes only; the samples are a view of the file and are not read.
    form, _, frames = decode_wav_chunks(data, name)
    return {"rate": form.rate, "channels": form.channels, "frames": frames}
