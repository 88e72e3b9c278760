"""QOA as the console has it: 16-bit mono sound in 3.2 bits a sample, without a file header.

Each slice of twenty samples takes the one of sixteen scales that errs least, the first of equal
ones; a predictor that learns from what the decoder will hear carries on from frame to frame. All
arithmetic is whole numbers, 32 bits wide, with shifts that keep the sign.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.layout.table import Layout, Row
from encoders.kit.layout.type import I16BE, U8, U16BE, U64BE, Const

Samples = npt.NDArray[np.int16]

SLICE_SAMPLES = 20
FRAME_SLICES = 256
FRAME_SAMPLES = SLICE_SAMPLES * FRAME_SLICES
START_WEIGHTS = (0, 0, -8192, 16384)
SCALES = (1, 7, 21, 45, 84, 138, 211, 304, 421, 562, 731, 928, 1157, 1419, 1715, 2048)
# Residuals in scales, -8 to 8, to codes; even codes are positive.
CODES = (7, 7, 7, 5, 5, 3, 3, 1, 0, 0, 2, 2, 4, 4, 6, 6, 6)
# What a code stands for, in quarters of a scale; halves are rounded away from zero.
QUARTERS = (3, 10, 18, 28)
STEPS = tuple(
    tuple(sign * ((scale * quarter + 2) // 4) for quarter in QUARTERS for sign in (1, -1))
    for scale in SCALES
)

# fmt: off
FRAME = Layout("QOA frame", 21,
    Row(0x00, "channels",   Const(U8, 1)),
    Row(0x01, "samples",    U16BE, "1 to 5120"),
    Row(0x03, "frame_size", U16BE, "these 21 bytes and 8 for each slice"),
    Row(0x05, "history",    I16BE[4]),
    Row(0x0D, "weights",    I16BE[4]),
)
SLICE = Layout("QOA slice", 8,
    Row(0x00, "word", U64BE, "scale in bits 60-63, then 20 codes of 3 bits from bit 57 down"),
)
# fmt: on


@dataclass
class Predictor:
    """Guesses a sample from the four before it, and learns from the difference."""

    history: tuple[int, ...] = (0, 0, 0, 0)
    weights: tuple[int, ...] = START_WEIGHTS


def wrap(value: int, bits: int) -> int:
    """Keep the low bits of a number, as a signed one."""
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def encode_slice(samples: list[int], predictor: Predictor, first: int) -> tuple[int, int]:
    """Return the slice's word and scale, moving the predictor on; `first` is tried first."""
    best: Trial | None = None
    for scale in (first, *(other for other in range(16) if other != first)):
        trial = try_scale(samples, predictor, scale, best)
        best = trial or best
    assert best is not None
    predictor.history, predictor.weights = best.history, best.weights
    word = best.scale
    for code in best.codes:
        word = word << 3 | code
    return word << 3 * (SLICE_SAMPLES - len(samples)), best.scale


@dataclass(frozen=True)
class Trial:
    """What a scale makes of a slice, and where it leaves the predictor."""

    scale: int
    error: int
    codes: list[int]
    history: tuple[int, ...]
    weights: tuple[int, ...]


def try_scale(
    samples: list[int], predictor: Predictor, scale: int, best: Trial | None
) -> Trial | None:
    """Encode a slice at a scale, or give up as soon as another one is sure to be better."""
    a, b, c, d = predictor.history
    u, v, w, x = predictor.weights
    size, steps, codes, error = SCALES[scale], STEPS[scale], [], 0
    # Of equal errors the smaller scale wins, whichever was tried first.
    limit = 1 << 62 if best is None else best.error + (scale < best.scale)
    for sample in samples:
        guess = wrap(a * u + b * v + c * w + d * x, 32) >> 13
        residual = sample - guess
        units = residual // size if residual >= 0 else -(-residual // size)
        code = CODES[max(-8, min(8, units)) + 8]
        step = steps[code]
        heard = max(-32768, min(32767, guess + step))
        error += (sample - heard) ** 2
        if error >= limit:
            return None
        codes.append(code)
        delta = step >> 4
        u, v = u + (-delta if a < 0 else delta), v + (-delta if b < 0 else delta)
        w, x = w + (-delta if c < 0 else delta), x + (-delta if d < 0 else delta)
        a, b, c, d = b, c, d, heard
    return Trial(scale, error, codes, (a, b, c, d), (u, v, w, x))


def pack_qoa(samples: Samples) -> bytes:
    """Return the frames of a sound."""
    predictor, scale, parts = Predictor(), 0, []
    values: list[int] = samples.tolist()
    for start in range(0, len(values), FRAME_SAMPLES):
        frame = values[start : start + FRAME_SAMPLES]
        header = {
            "samples": len(frame),
            "frame_size": FRAME.size + SLICE.size * -(-len(frame) // SLICE_SAMPLES),
            "history": [wrap(value, 16) for value in predictor.history],
            "weights": [wrap(value, 16) for value in predictor.weights],
        }
        words = []
        for place in range(0, len(frame), SLICE_SAMPLES):
            word, scale = encode_slice(frame[place : place + SLICE_SAMPLES], predictor, scale)
            words.append(word)
        parts += [FRAME.pack(header), SLICE.pack({"word": np.array(words, np.uint64)}, len(words))]
    return b"".join(parts)


def unpack_qoa(data: bytes, total: int, offset: int, name: str) -> Samples:
    """Return the `total` samples of the frames from `offset` to the end of the file."""
    heard: list[int] = []
    while len(heard) < total:
        frame = FRAME.unpack_one(data, offset, name)
        count = frame["samples"]
        slices = -(-count // SLICE_SAMPLES)
        expected = min(total - len(heard), FRAME_SAMPLES)
        if count != expected or frame["frame_size"] != FRAME.size + slices * SLICE.size:
            facts = {"file": name, "frame at": offset, "samples": count, "expected": expected}
            raise EncodeError("sound frame does not fit", facts | {"bytes": frame["frame_size"]})
        words = SLICE.unpack(data, slices, offset + FRAME.size, name)["word"].tolist()
        predictor = Predictor(tuple(frame["history"].tolist()), tuple(frame["weights"].tolist()))
        for number, word in enumerate(words):
            length = min(SLICE_SAMPLES, count - number * SLICE_SAMPLES)
            heard += decode_slice(word, predictor, length, name)
        offset += frame["frame_size"]
    if offset != len(data):
        facts = {"file": name, "bytes": len(data), "expected bytes": offset}
        raise EncodeError("sound has bytes behind its last frame", facts)
    return np.array(heard, np.int16)


def decode_slice(word: int, predictor: Predictor, length: int, name: str) -> list[int]:
    """Return the samples of a slice, moving the predictor on."""
    if word & ((1 << 3 * (SLICE_SAMPLES - length)) - 1):
        raise EncodeError("sound has codes behind its last sample", {"file": name})
    steps, heard = STEPS[word >> 60], []
    for number in range(length):
        step = steps[word >> (57 - 3 * number) & 7]
        products = zip(predictor.history, predictor.weights, strict=True)
        guess = wrap(sum(a * b for a, b in products), 32) >> 13
        heard.append(max(-32768, min(32767, guess + step)))
        signs = [-1 if value < 0 else 1 for value in predictor.history]
        predictor.weights = tuple(
            weight + sign * (step >> 4)
            for weight, sign in zip(predictor.weights, signs, strict=True)
        )
        predictor.history = (*predictor.history[1:], heard[-1])
    return heard
