"""Loops whose length must be a multiple of a block: resampled around their seam, pitch kept."""

from __future__ import annotations

import numpy as np

from encoders.kit.audio.resample import resample
from encoders.kit.audio.sound import Sound

# Samples on either side that the resampler's filter reaches, where the rate is not lowered.
_REACH = 66


def fit_loop(sound: Sound, rate: int, block: int) -> Sound:
    """Return a loop of whole blocks, at the rate nearest to `rate` that keeps its pitch.

    The resampler reads past the ends as a player of the loop does: from the other end. A loop of
    less than three quarters of a block is repeated, so that the rate is at most a third higher.
    """
    times = -(-3 * block * sound.rate // (4 * len(sound.samples) * rate))
    if times > 1:
        sound = Sound(sound.rate, np.tile(sound.samples, (times, 1)))
    count = len(sound.samples)
    wanted = round(count * rate / sound.rate / block) * block
    if wanted == count and rate == sound.rate:
        return sound
    reach = -(-_REACH * max(count, wanted) // wanted)
    wraps = -(-reach // count)
    around = np.tile(sound.samples, (2 * wraps + 1, 1))
    samples = resample(around, count, wanted)[wraps * wanted : (wraps + 1) * wanted]
    return Sound(round(sound.rate * wanted / count), samples)
