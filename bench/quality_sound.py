"""SPU-ADPCM beside psxavenc's method, and QOA beside the reference encoder's.

Both peers are rebuilt from their descriptions. psxavenc finds, for each filter, the shift that
holds the residuals of the sound itself, and tries it and its two neighbours with the decoder's
state. QOA's reference rounds residuals to the nearest code and adds a penalty for large predictor
weights to the error of each scale; ours gives by default the bytes of the console's own encoder,
which rounds towards zero, and with `quality = "best"` takes the nearest codes.
All rows are signal to noise in dB; more is better.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from kit_adpcm import Pcm, sounds
from numpy.typing import NDArray

from encoders.emberware.codec.qoa import (
    CODES,
    SCALES,
    SLICE_SAMPLES,
    START_WEIGHTS,
    STEPS,
    pack_qoa,
    unpack_qoa,
)
from encoders.kit.audio.adpcm import BEFORE, BLOCK_SAMPLES, LAST, decode_adpcm, encode_adpcm

LENGTH = BLOCK_SAMPLES * SLICE_SAMPLES * 16
Ints = NDArray[np.int64]


def psxavenc(samples: Pcm) -> Ints:
    """Return what is heard of a sound encoded by psxavenc's choice of filter and shift."""
    padded = np.pad(samples.astype(np.int64), (2, -len(samples) % BLOCK_SAMPLES))
    heard = [0, 0]
    for start in range(2, len(padded), BLOCK_SAMPLES):
        block = padded[start : start + BLOCK_SAMPLES]
        before = padded[start - 2 : start + BLOCK_SAMPLES]
        trials = []
        for last, other in zip(LAST, BEFORE, strict=True):
            residual = block - ((before[1:-1] * last + before[:-2] * other + 32) >> 6)
            peak = max(int(residual.max()), -int(residual.min()) - 1)
            bits = next(n for n in range(13) if peak <= 7 << n or n == 12)
            trials += [(last, other, n) for n in (bits - 1, bits, bits + 1) if 0 <= n <= 12]
        decoded = [_decode(block.tolist(), heard[-1], heard[-2], trial) for trial in trials]
        errors = [int(((np.array(one) - block) ** 2).sum()) for one in decoded]
        heard += decoded[int(np.argmin(errors))]
    return np.array(heard[2 : 2 + len(samples)])


def _decode(block: list[int], one: int, two: int, trial: tuple[int, int, int]) -> list[int]:
    """Return the samples that the decoder makes of a block at a filter and shift."""
    last, other, bits = trial
    found = []
    for sample in block:
        predicted = (one * last + two * other + 32) >> 6
        code = min(max((sample - predicted + (1 << bits >> 1)) >> bits, -8), 7)
        one, two = min(max((code << bits) + predicted, -32768), 32767), one
        found.append(one)
    return found


def reference_qoa(samples: Pcm) -> Ints:
    """Return what is heard of a sound encoded as QOA's reference does."""
    heard: list[int] = []
    history, weights = [0, 0, 0, 0], list(START_WEIGHTS)
    for start in range(0, len(samples), SLICE_SAMPLES):
        part = samples[start : start + SLICE_SAMPLES].tolist()
        trials = [_try_scale(part, history, weights, scale) for scale in range(16)]
        _, decoded, history, weights = min(trials, key=lambda trial: trial[0])
        heard += decoded
    return np.array(heard)


def _try_scale(
    part: list[int], history: list[int], weights: list[int], scale: int
) -> tuple[int, list[int], list[int], list[int]]:
    """Return the rank of a scale, the decoded samples and the predictor afterwards."""
    rank, decoded, history, weights = 0, [], [*history], [*weights]
    for sample in part:
        guess = sum(a * b for a, b in zip(history, weights, strict=True)) >> 13
        residual = sample - guess
        near = (abs(residual) + SCALES[scale] // 2) // SCALES[scale]
        step = STEPS[scale][CODES[max(-8, min(8, near if residual >= 0 else -near)) + 8]]
        found = max(-32768, min(32767, guess + step))
        penalty = max(0, (sum(weight * weight for weight in weights) >> 18) - 0x8FF)
        rank += (sample - found) ** 2 + penalty * penalty
        delta = step >> 4
        pairs = zip(weights, history, strict=True)
        weights = [weight + (-delta if value < 0 else delta) for weight, value in pairs]
        history = [*history[1:], found]
        decoded.append(found)
    return rank, decoded, history, weights


def ratio(samples: Pcm, heard: NDArray[np.integer]) -> float:
    """Return signal to noise in dB."""
    whole = samples.astype(np.float64)
    off = whole - heard[: len(samples)]
    return float(10 * np.log10((whole**2).sum() / max((off**2).sum(), 1)))


def rows() -> Iterator[tuple[str, ...]]:
    """Return the table: both codecs beside their peers."""
    yield ("sound", "SPU-ADPCM", "psxavenc's", "gain", "QOA", "QOA best", "reference", "gain")
    for name, whole in sounds().items():
        samples = whole[:LENGTH]
        plain, best = (
            unpack_qoa(pack_qoa(samples, best=choice), len(samples), 0, name)
            for choice in (False, True)
        )
        found = [
            ratio(samples, decode_adpcm(encode_adpcm(samples).tobytes())),
            ratio(samples, psxavenc(samples)),
            ratio(samples, plain),
            ratio(samples, best),
            ratio(samples, reference_qoa(samples)),
        ]
        adpcm, peer, own, better, reference = found
        yield (
            name,
            *(f"{one:.2f}" for one in (adpcm, peer)),
            f"{adpcm - peer:+.2f}",
            *(f"{one:.2f}" for one in (own, better, reference)),
            f"{better - reference:+.2f}",
        )


if __name__ == "__main__":
    from quality import show

    show(rows())
