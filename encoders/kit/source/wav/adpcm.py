"""ADPCM of WAV files, IMA's and Microsoft's: 4-bit differences with a step that adapts.

Samples of a block depend on one another, blocks do not: all blocks advance together, a sample at a
time. Everything is whole numbers, so the result is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from encoders.kit.source.wav.coding import IMA_ADPCM, WavFormat

Whole = npt.NDArray[np.int64]
_LOWEST, _HIGHEST = -32768, 32767
_MIN_DELTA = 16
# Deltas grow by at most three each sample; files that are no sound would make them overflow.
_MAX_DELTA = 1 << 24
_ADAPTATION = np.array(
    (230, 230, 230, 230, 307, 409, 512, 614, 768, 614, 512, 409, 307, 230, 230, 230), np.int64
)
_INDEX_STEPS = np.array((-1, -1, -1, -1, 2, 4, 6, 8) * 2, np.int64)
# IMA's 89 step sizes, a table of its specification.
_STEPS = np.array(
    (
        *(7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 19, 21, 23, 25, 28, 31, 34, 37, 41, 45, 50, 55),
        *(60, 66, 73, 80, 88, 97, 107, 118, 130, 143, 157, 173, 190, 209, 230, 253, 279, 307),
        *(337, 371, 408, 449, 494, 544, 598, 658, 724, 796, 876, 963, 1060, 1166, 1282, 1411),
        *(1552, 1707, 1878, 2066, 2272, 2499, 2749, 3024, 3327, 3660, 4026, 4428, 4871, 5358),
        *(5894, 6484, 7132, 7845, 8630, 9493, 10442, 11487, 12635, 13899, 15289, 16818, 18500),
        *(20350, 22385, 24623, 27086, 29794, 32767),
    ),
    np.int64,
)


def decode_adpcm(form: WavFormat, content: memoryview) -> Whole:
    """Return 16-bit samples as (frames, channels); the last block may be short."""
    decode = _decode_ima if form.coding == IMA_ADPCM else _decode_microsoft
    parts = [decode(form, blocks) for blocks in _split(form, content)]
    return np.concatenate(parts)


def _split(form: WavFormat, content: memoryview) -> Iterator[npt.NDArray[np.uint8]]:
    """Yield all whole blocks as rows, then the short one at the end."""
    data = np.frombuffer(content, np.uint8)
    whole = len(data) // form.block_bytes * form.block_bytes
    if whole:
        yield data[:whole].reshape(-1, form.block_bytes)
    if whole < len(data):
        yield data[None, whole:]


def _heads(blocks: npt.NDArray[np.uint8], start: int, count: int, order: str) -> Whole:
    """Return `count` 16-bit numbers of every block."""
    raw = np.ascontiguousarray(blocks[:, start : start + 2 * count])
    return raw.view(f"{order}i2").astype(np.int64)


def _decode_ima(form: WavFormat, blocks: npt.NDArray[np.uint8]) -> Whole:
    channels, count = form.channels, len(blocks)
    heads = blocks[:, : 4 * channels].reshape(count, channels, 4)
    sample = _heads(heads.reshape(-1, 4), 0, 1, form.order).reshape(count, channels)
    index = np.minimum(heads[:, :, 2].astype(np.int64), len(_STEPS) - 1)
    nibbles = _ima_nibbles(form, blocks)
    output = np.empty((1 + len(nibbles), count, channels), np.int64)
    output[0] = sample
    for number, nibble in enumerate(nibbles, 1):
        step = _STEPS[index]
        change = step >> 3
        for bit, shift in ((1, 2), (2, 1), (4, 0)):
            change = change + np.where(nibble & bit, step >> shift, 0)
        sample = np.clip(sample + np.where(nibble & 8, -change, change), _LOWEST, _HIGHEST)
        index = np.clip(index + _INDEX_STEPS[nibble], 0, len(_STEPS) - 1)
        output[number] = sample
    return output.swapaxes(0, 1).reshape(-1, channels)


def _ima_nibbles(form: WavFormat, blocks: npt.NDArray[np.uint8]) -> Whole:
    """Return the differences as (frame, block, channel); words of the channels take turns."""
    channels = form.channels
    body = blocks[:, 4 * channels :]
    words = body.shape[1] // (4 * channels)
    grouped = body[:, : words * 4 * channels].reshape(len(blocks), words, channels, 4)
    pairs = np.stack([grouped & 15, grouped >> 4], axis=-1)
    rows = pairs.transpose(1, 3, 4, 0, 2).reshape(words * 8, len(blocks), channels)
    return rows.astype(np.int64)


def _decode_microsoft(form: WavFormat, blocks: npt.NDArray[np.uint8]) -> Whole:
    channels, count = form.channels, len(blocks)
    weights = np.array(form.coefficients, np.int64)
    chosen = np.minimum(blocks[:, :channels], len(weights) - 1)
    first, second = weights[chosen, 0], weights[chosen, 1]
    delta, newer, older = (
        _heads(blocks, channels * (1 + 2 * number), channels, form.order) for number in range(3)
    )
    body = blocks[:, form.head_bytes :]
    nibbles = np.stack([body >> 4, body & 15], axis=-1).reshape(count, -1)
    frames = nibbles.shape[1] // channels
    turns = nibbles[:, : frames * channels].reshape(count, frames, channels).astype(np.int64)
    output = np.empty((2 + frames, count, channels), np.int64)
    output[0], output[1] = older, newer
    for number in range(frames):
        nibble = turns[:, number]
        signed = np.where(nibble & 8, nibble - 16, nibble)
        guess = (newer * first + older * second) >> 8
        older, newer = newer, np.clip(guess + signed * delta, _LOWEST, _HIGHEST)
        delta = np.clip((_ADAPTATION[nibble] * delta) >> 8, _MIN_DELTA, _MAX_DELTA)
        output[2 + number] = newer
    return output.swapaxes(0, 1).reshape(-1, channels)
