"""WAV files to samples.

Every PCM width fits a double exactly. The one rule: mono and stereo only, because a file
does not always say which loudspeaker a third channel belongs to.
"""

from __future__ import annotations

import numpy as np

from encoders.kit.audio.resample import MAX_AMPLITUDE, Samples
from encoders.kit.audio.sound import Sound
from encoders.kit.error import EncodeError
from encoders.kit.source.wav.chunk import FLOAT, WavFormat, decode_wav_chunks


def decode_wav(data: bytes, name: str) -> Sound:
    """Return the sound of a WAV file: PCM of 8 to 32 bits or float, mono or stereo."""
    form, content = decode_wav_chunks(data, name)
    samples = _samples(form, content)
    good = np.abs(samples) <= MAX_AMPLITUDE
    if not good.all():
        worst = int(np.argmin(good))
        raise EncodeError(
            "the WAV holds a sample that is no number or far too loud",
            {"file": name, "frame": worst // form.channels, "value": samples[worst]}
            | {"allowed": f"-{MAX_AMPLITUDE} to {MAX_AMPLITUDE}, where 1 is full scale"},
        )
    return Sound(form.rate, samples.reshape(-1, form.channels))


def _samples(form: WavFormat, content: memoryview) -> Samples:
    """Return all samples in a row, channels taking turns."""
    if form.coding == FLOAT:
        # A signalling NaN makes the cast complain; the caller refuses it by name.
        with np.errstate(invalid="ignore"):
            return np.frombuffer(content, f"<f{form.bits // 8}").astype(np.float64)
    if form.bits == 8:
        # The only unsigned width; silence is 128.
        return (np.frombuffer(content, np.uint8).astype(np.float64) - 128) / 128
    if form.bits == 24:
        # The low byte of a 32-bit sample stays empty.
        wide = np.zeros((len(content) // 3, 4), np.uint8)
        wide[:, 1:] = np.frombuffer(content, np.uint8).reshape(-1, 3)
        return wide.view("<i4")[:, 0] / np.float64(2**31)
    return np.frombuffer(content, f"<i{form.bits // 8}") / np.float64(2 ** (form.bits - 1))
