"""WAV files to samples, of every common kind.

PCM of up to 53 bits fits a double exactly. Samples of fewer bits than their bytes have are
left-justified in them, so that the bytes alone tell the value.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from encoders.kit.audio.resample import Samples
from encoders.kit.audio.sound import Sound, refuse_wild_samples
from encoders.kit.source.wav.adpcm import decode_adpcm
from encoders.kit.source.wav.chunk import decode_wav_chunks
from encoders.kit.source.wav.coding import A_LAW, FLOAT, MU_LAW, WavFormat
from encoders.kit.warning import Warn, ignore

_FULL_SCALE = 32768


def decode_wav(data: bytes, name: str, warn: Warn = ignore) -> Sound:
    """Return the sound of a WAV file with all its channels."""
    form, content, frames = decode_wav_chunks(data, name, warn)
    samples = _samples(form, content).reshape(-1, form.channels)[:frames]
    refuse_wild_samples(samples, "WAV", name)
    return Sound(form.rate, samples)


def _samples(form: WavFormat, content: memoryview) -> Samples:
    """Return all samples in a row, channels taking turns."""
    if form.is_adpcm:
        return decode_adpcm(form, content) / np.float64(_FULL_SCALE)
    if form.coding in (A_LAW, MU_LAW):
        table = _a_law() if form.coding == A_LAW else _mu_law()
        return table[np.frombuffer(content, np.uint8)]
    if form.coding == FLOAT:
        # A signalling NaN makes the cast complain; the caller refuses it by name.
        with np.errstate(invalid="ignore"):
            return np.frombuffer(content, f"{form.order}f{form.bits // 8}").astype(np.float64)
    return _pcm(form, content)


def _pcm(form: WavFormat, content: memoryview) -> Samples:
    width = form.block_bytes // form.channels
    if width == 1:
        # The only unsigned width; silence is 128.
        return (np.frombuffer(content, np.uint8).astype(np.float64) - 128) / 128
    wide_bytes = next(one for one in (2, 4, 8) if one >= width)
    raw = np.frombuffer(content, np.uint8)
    if wide_bytes > width:
        # The low bytes of the wider number stay empty: the first ones, or the last of RIFX.
        wide = np.zeros((len(raw) // width, wide_bytes), np.uint8)
        start = wide_bytes - width if form.order == "<" else 0
        wide[:, start : start + width] = raw.reshape(-1, width)
        raw = wide.reshape(-1)
    whole = raw.view(f"{form.order}i{wide_bytes}")
    return np.asarray(whole / np.float64(2 ** (8 * wide_bytes - 1)))


def _mu_law() -> npt.NDArray[np.float64]:
    """Return the 256 values of mu-law (G.711), which stores samples inverted."""
    code = ~np.arange(256, dtype=np.uint8)
    exponent, mantissa = (code >> 4 & 7).astype(np.int64), (code & 15).astype(np.int64)
    level = ((mantissa << 3) + 0x84 << exponent) - 0x84
    return np.where(code & 0x80, -level, level) / np.float64(_FULL_SCALE)


def _a_law() -> npt.NDArray[np.float64]:
    """Return the 256 values of A-law (G.711), which stores every other bit inverted."""
    code = np.arange(256, dtype=np.uint8) ^ 0x55
    exponent, mantissa = (code >> 4 & 7).astype(np.int64), (code & 15).astype(np.int64)
    steep = (mantissa << 4) + 0x108 << np.maximum(exponent - 1, 0)
    level = np.where(exponent == 0, (mantissa << 4) + 8, steep)
    return np.where(code & 0x80, level, -level) / np.float64(_FULL_SCALE)
