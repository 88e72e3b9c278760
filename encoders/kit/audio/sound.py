"""A sound as samples, and what targets do to it: mix, resample, quantise.

Samples are doubles in which full scale is 1, shaped (frames, channels), so a 16-bit sound at the
right rate comes through bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from encoders.kit.audio.resample import MAX_AMPLITUDE, Samples, resample
from encoders.kit.error import EncodeError

_FULL_SCALE = 32768


@dataclass(frozen=True)
class Sound:
    """Samples of one or more channels at a rate in Hz."""

    rate: int
    samples: Samples


@dataclass(frozen=True)
class Pcm16:
    """Samples as 16-bit integers, and how many values were too loud and are cut off."""

    samples: npt.NDArray[np.int16]
    clipped: int


def describe_clipped(values: int, sounds: int = 0) -> str:
    """Say that values were cut off; of how many sounds, where a source holds several."""
    # Not "samples": musicians call the sounds of a song so.
    many = f"{values} value{'s' if values > 1 else ''}"
    whose = f" of {sounds} sound{'s' if sounds > 1 else ''}" if sounds else ""
    return f"{many}{whose} {'were' if values > 1 else 'was'} louder than full scale and cut off"


def mix_to_mono(sound: Sound) -> Sound:
    """Return the mean of the channels."""
    if sound.samples.shape[1] == 1:
        return sound
    # One channel after the other: numpy's own sum may add in another order on another machine.
    total = sound.samples[:, :1].copy()
    for channel in range(1, sound.samples.shape[1]):
        total += sound.samples[:, channel : channel + 1]
    return Sound(sound.rate, total / sound.samples.shape[1])


def refuse_wild_samples(samples: Samples, form: str, name: str) -> None:
    """Refuse (frames, channels) samples of a file that are no numbers or far too loud."""
    good = (np.abs(samples) <= MAX_AMPLITUDE).all(axis=1)
    if not good.all():
        worst = int(np.argmin(good))
        raise EncodeError(
            f"the {form} holds a sample that is no number or far too loud",
            {"file": name, "frame": worst, "value": ", ".join(map(str, samples[worst]))}
            | {"allowed": f"-{MAX_AMPLITUDE} to {MAX_AMPLITUDE}, where 1 is full scale"},
        )


def convert_rate(sound: Sound, rate: int) -> Sound:
    """Return the sound at another rate; at its own rate it is returned as it is."""
    if rate == sound.rate:
        return sound
    return Sound(rate, resample(sound.samples, sound.rate, rate))


def quantise_pcm16(sound: Sound) -> Pcm16:
    """Return 16-bit samples, rounded half up; full scale is 32768, so 16-bit input is exact."""
    scaled = np.floor(sound.samples * _FULL_SCALE + 0.5)
    # +1.0 itself scales to 32768, one above the largest 16-bit sample, so it counts as clipped.
    limited = np.clip(scaled, -_FULL_SCALE, _FULL_SCALE - 1)
    return Pcm16(limited.astype(np.int16), int((scaled != limited).sum()))
