"""Resample sounds by a polyphase windowed-sinc filter.

The pass band is flat up to 0.9 of the lower of the two Nyquist frequencies; the stop band begins
at that frequency and is 100 dB down. Weights and samples are integers small enough that every sum
of products is exact in a double. So the order of adding does not matter, and neither does the
machine's sine, which is not used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import gcd, pi
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Samples: TypeAlias = npt.NDArray[np.float64]

# Full scale is 1; sums of louder samples would no longer be exact integers in a double.
MAX_AMPLITUDE = 16

# Zero crossings on either side of the centre and the shape of the Kaiser window: together they
# give 100 dB, and a transition from 0.9 to 1.0 of Nyquist around the cutoff.
_HALF_WIDTH = 64
_KAISER_BETA = 10.06
_CUTOFF = 0.95
# Samples up to 2^(21 + 4), weights up to 2^25, and a sum of all |weights| below 4 make 2^52.
_SAMPLE_SCALE = 2.0**21
_WEIGHT_SCALE = 2.0**25
# Outputs computed by one matrix of weights, and windows of inputs multiplied at a time.
_RUN = 64
_ROWS = 4096
# Runs whose weights are kept: those of a module's samples, which share one odd rate. 16 MB where
# the rate is raised.
_KEPT_RUNS = 512


def resample(samples: Samples, source_rate: int, target_rate: int) -> Samples:
    """Resample (frames, channels) samples; the first input and output coincide in time."""
    common = gcd(source_rate, target_rate)
    ratio = _Ratio(target_rate // common, source_rate // common)
    frames = max(1, len(samples) * ratio.up // ratio.down)
    whole = np.rint(samples * _SAMPLE_SCALE)
    channels = [_resample_channel(channel, ratio, frames) for channel in whole.T]
    return np.stack(channels, axis=1) / (_SAMPLE_SCALE * _WEIGHT_SCALE)


@dataclass(frozen=True)
class _Ratio:
    """The ratio of target rate to source rate in lowest terms."""

    up: int
    down: int

    @property
    def half(self) -> int:
        """The number of source samples on either side that an output depends on."""
        return -(-_HALF_WIDTH * max(self.up, self.down) // self.up)

    def runs(self, frames: int) -> Iterator[tuple[int, int]]:
        """Yield the runs of one period of outputs; the last may be shorter."""
        period = min(self.period, frames)
        for start in range(0, period, _RUN):
            yield start, min(start + _RUN, period)

    @property
    def period(self) -> int:
        """The number of outputs after which the phases repeat, at least one run."""
        return self.up * -(-_RUN // self.up)


def _resample_channel(channel: Samples, ratio: _Ratio, frames: int) -> Samples:
    """Resample one channel: for every run of the period, multiply all its windows at once."""
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
    whole = outputs * ratio.down // ratio.up
    matrix = np.zeros((int(whole[-1] - whole[0]) + 2 * ratio.half, stop - start))
    rows = (whole - whole[0])[:, None] + np.arange(2 * ratio.half)
    matrix[rows, (outputs - start)[:, None]] = _kernels(ratio, start)[: stop - start]
    return matrix


@lru_cache(_KEPT_RUNS)
def _kernels(ratio: _Ratio, start: int) -> npt.NDArray[np.int32]:
    """Return the weights of the source samples around each output of a run, (run, 2 * half)."""
    phase = np.arange(start, start + _RUN) * ratio.down % ratio.up
    taps = np.arange(1 - ratio.half, ratio.half + 1)
    # Distances in source samples; one division each keeps them correctly rounded.
    distance = (phase[:, None] - taps * ratio.up) / float(ratio.up)
    narrow = min(1.0, ratio.up / ratio.down)
    cutoff = _CUTOFF * narrow
    kernel = cutoff * _sinc(cutoff * distance) * _kaiser(distance * narrow / _HALF_WIDTH)
    whole_kernel = np.rint(kernel * _WEIGHT_SCALE)
    # Add what is missing to the centre weight, so that a constant input stays constant.
    whole_kernel[:, ratio.half - 1] += _WEIGHT_SCALE - whole_kernel.sum(axis=1)
    kept = whole_kernel.astype(np.int32)
    kept.setflags(write=False)
    return kept


def _sinc(x: Samples) -> Samples:
    """Return sin(pi x) / (pi x) by a power series, the same on every machine."""
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
    """Return the Kaiser window at -1 to 1, and zero outside, by a power series."""
    inside = np.maximum(1.0 - x * x, 0.0)
    window = _bessel(inside * (_KAISER_BETA**2 / 4)) / _bessel(np.array(_KAISER_BETA**2 / 4))
    return np.where(np.abs(x) < 1.0, window, 0.0)


def _bessel(quarter_square: Samples) -> Samples:
    """Return the modified Bessel function I0(z), given z squared over four."""
    series = np.ones_like(quarter_square)
    for term in range(26, 0, -1):
        series *= quarter_square * (1.0 / (term * term))
        series += 1.0
    return series
