"""Draw a sound as its waveform."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from encoders.kit.view.scene import ViewSound

PAPER, LINE, WAVE = (24, 30, 40, 255), (70, 82, 100, 255), (110, 200, 160, 255)
FULL = 32768


def draw_wave(sound: ViewSound, size: tuple[int, int]) -> npt.NDArray[np.uint8]:
    """Draw, for each column, the range from the least to the greatest sample of its time."""
    width, height = size
    pixels = np.empty((height, width, 4), np.uint8)
    pixels[:] = PAPER
    pixels[_row(np.zeros(1), height)] = LINE
    count = len(sound.samples)
    if not count:
        return pixels
    starts = np.arange(width) * count // width
    # Where there are fewer samples than columns, a column shows the sample that is played then.
    least = np.minimum.reduceat(sound.samples, starts)
    most = np.maximum.reduceat(sound.samples, starts)
    top, bottom = _row(most, height), _row(least, height)
    rows = np.arange(height)[:, None]
    pixels[(rows >= top) & (rows <= bottom)] = WAVE
    return pixels


def _row(samples: npt.NDArray[np.generic], height: int) -> npt.NDArray[np.int64]:
    """Return the row in which each sample lies, silence in the middle."""
    share = (1 - samples.astype(float) / FULL) / 2
    rows: npt.NDArray[np.int64] = np.minimum(share * height, height - 1).astype(np.int64)
    return rows
