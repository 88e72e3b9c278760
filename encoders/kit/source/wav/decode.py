"""WAV files to samples, and samples to what a target plays.

Samples are doubles in which full scale is 1, shaped (frames, channels): every PCM width fits
exactly, so a 16-bit sound at the right rate comes through bit for bit. The one rule: mono and
stereo only; which loudspeaker a third channel belongs to is not ours to guess.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from encoders.kit.audio.resample import MAX_AMPLITUDE, Samples, resample
from encoders.kit.error import EncodeError
from encoders.kit.source.wav.chunk import FLOAT, WavFormat, decode_wav_chunks

_FULL_SCALE = 32768


@dataclass(frozen=True)
class Sound:
    """Samples of one or two channels at a rate in Hz."""

    rate: int
    samples: Samples


@dataclass(frozen=True)
class Pcm16:
    """Samples as 16-bit integers, and how many of them were too loud and are cut off."""

    samples: npt.NDArray[np.int16]
    clipped: int


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


def mix_to_mono(sound: Sound) -> Sound:
    """Return the mean of the channels."""
    if sound.samples.shape[1] == 1:
        return sound
    mean = (sound.samples[:, :1] + sound.samples[:, 1:]) * 0.5
    return Sound(sound.rate, mean)


def convert_rate(sound: Sound, rate: int) -> Sound:
    """Return the sound at another rate; at its own rate it is returned as it is."""
    if rate == sound.rate:
        return sound
    return Sound(rate, resample(sound.samples, sound.rate, rate))


def quantise_pcm16(sound: Sound) -> Pcm16:
    """Return 16-bit samples, rounded half up; full scale is 32768, so 16-bit input is exact."""
    scaled = np.floor(sound.samples * _FULL_SCALE + 0.5)
    limited = np.clip(scaled, -_FULL_SCALE, _FULL_SCALE - 1)
    return Pcm16(limited.astype(np.int16), int((scaled != limited).sum()))


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
