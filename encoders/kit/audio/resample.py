"""Sounds at another rate, by a windowed-sinc filter with weights of its own for every phase.

The pass band is flat to 0.9 of the lower of the two Nyquist frequencies; the stop band begins
at that frequency and lies 100 dB down. The one rule: weights and samples are integers small
enough that every sum of products is exact in a double, so no machine's order of adding, and
none's sine, decides about a sample.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd, pi
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Samples: TypeAlias = npt.NDArray[np.float64]

# Full scale is 1; louder samples than this would leave the doubles' exact integers.
MAX_AMPLITUDE = 16

# Zero crossings on either side of the centre, and the Kaiser window, that together give 100 dB
# and a transition from 0.9 to 1.0 of Nyquist around the cutoff.
_HALF_WIDTH = 64
_KAISER_BETA = 10.06
_CUTOFF = 0.95
# Samples up to 2^(21 + 4), weights up to 2^25, and a sum of all |weights| below 4 make 2^52.
_SAMPLE_SCALE = 2.0**21
_WEIGHT_SCALE = 2.0**25
# Outputs that share one matrix of weights, and rows of inputs that are multiplied at once.
_RUN = 64
_ROWS = 4096


def resample(samples: Samples, source_rate: int, target_rate: int) -> Samples:
    """Return (frames x target / source, channels) samples; the first ones coincide in time."""
    common = gcd(source_rate, target_rate)
    ratio = _Ratio(target_rate // common, source_rate // common)
    frames = max(1, len(samples) * ratio.up // ratio.down)
    whole = np.rint(samples * _SAMPLE_SCALE)
    channels = [_resample_channel(channel, ratio, frames) for channel in whole.T]
    return np.stack(channels, axis=1) / (_SAMPLE_SCALE * _WEIGHT_SCALE)


@dataclass(frozen=True)
class _Ratio:
    """Target to source rate in lowest terms."""

    up: int
    down: int

    @property
    def half(self) -> int:
        """Source samples on either side that an output is made from."""
        return -(-_HALF_WIDTH * max(self.up, self.down) // self.up)

    def runs(self, frames: int) -> Iterator[tuple[int, int]]:
        """Cut one period of outputs into runs, of which the last may be shorter."""
        period = min(self.period, frames)
        for start in range(0, period, _RUN):
            yield start, min(start + _RUN, period)

    @property
    def period(self) -> int:
        """Outputs after which the phases repeat, at least as many as fill a run."""
        return self.up * -(-_RUN // self.up)


def _resample_channel(channel: Samples, ratio: _Ratio, frames: int) -> Samples:
    """Multiply, for every run of outputs in the period, all its windows by the run's weights."""
    periods = -(-frames // ratio.period)
    stride = ratio.period // ratio.up * ratio.down
    tail = max(0, periods * stride + 2 * ratio.half - len(channel))
    padded = np.pad(channel, (ratio.half - 1, tail))
    output = np.zeros((periods, min(ratio.period, frames)))
    for start, stop in ratio.runs(frames):
        first = start * ratio.down // ratio.up
        weights = _weights(ratio, start, stop)
        windows = np.lib.stride_tricks.sliding_window_view(padded[first:], len(weights))[::stride]
        for row in range(0, periods, _ROWS):
            rows = slice(row, min(row + _ROWS, periods))
            output[rows, start:stop] = np.ascontiguousarray(windows[rows]) @ weights
    return output.reshape(-1)[:frames]


def _weights(ratio: _Ratio, start: int, stop: int) -> Samples:
    """Return the matrix from a window of source samples to the outputs `start` to `stop`."""
    outputs = np.arange(start, stop)
    whole, phase = np.divmod(outputs * ratio.down, ratio.up)
    taps = np.arange(1 - ratio.half, ratio.half + 1)
    # Distances in source samples, as exact as a double can be: one division each.
    distance = (phase[:, None] - taps * ratio.up) / float(ratio.up)
    narrow = min(1.0, ratio.up / ratio.down)
    cutoff = _CUTOFF * narrow
    kernel = cutoff * _sinc(cutoff * distance) * _kaiser(distance * narrow / _HALF_WIDTH)
    whole_kernel = np.rint(kernel * _WEIGHT_SCALE)
    # What rounding and the window leave goes to the middle, so that a constant stays constant.
    whole_kernel[:, ratio.half - 1] += _WEIGHT_SCALE - whole_kernel.sum(axis=1)
    matrix = np.zeros((int(whole[-1] - whole[0]) + 2 * ratio.half, stop - start))
    rows = (whole - whole[0])[:, None] + np.arange(2 * ratio.half)
    matrix[rows, (outputs - start)[:, None]] = whole_kernel
    return matrix


def _sinc(x: Samples) -> Samples:
    """Return sin(pi x) / (pi x) from sums and products alone, the same on every machine."""
    nearest = np.rint(x)
    angle = (x - nearest) * pi
    square = angle * angle
    series = np.ones_like(x)
    for term in range(11, 0, -1):
        series *= square * (-1.0 / (2 * term * (2 * term + 1)))
        series += 1.0
    sine = np.where(nearest % 2 == 0, 1.0, -1.0) * angle * series
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(x == 0, 1.0, sine / (x * pi))


def _kaiser(x: Samples) -> Samples:
    """Return the Kaiser window at -1 to 1, and zero outside, from its power series."""
    inside = np.maximum(1.0 - x * x, 0.0)
    window = _bessel(inside * (_KAISER_BETA**2 / 4)) / _bessel(np.array(_KAISER_BETA**2 / 4))
    return np.where(np.abs(x) < 1.0, window, 0.0)


def _bessel(quarter_square: Samples) -> Samples:
    """Return the modified Bessel function I0(z) for z squared over four."""
    series = np.ones_like(quarter_square)
    for term in range(26, 0, -1):
        series *= quarter_square * (1.0 / (term * term))
        series += 1.0
    return series
