"""The QOA codec as the console uses it: mono 16-bit samples, 3.2 bits each, no file header.

For each slice of 20 samples the encoder takes the scale factor with the least squared error, the
lowest on a tie. By default a residual is divided by the scale and rounded towards zero, which gives
the bytes of the console's own encoder; `best` takes the nearest code instead. The
predictor's state runs on from frame to frame. All arithmetic is 32-bit
integer with arithmetic shifts, so that encoder and decoder stay in step on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.layout.table import Layout, Row
from encoders.kit.layout.type import I16BE, U8, U16BE, U64BE, Const
from encoders.kit.native.kernel import choose

Samples = npt.NDArray[np.int16]

SLICE_SAMPLES = 20
FRAME_SLICES = 256
FRAME_SAMPLES = SLICE_SAMPLES * FRAME_SLICES
START_WEIGHTS = (0, 0, -8192, 16384)
SCALES = (1, 7, 21, 45, 84, 138, 211, 304, 421, 562, 731, 928, 1157, 1419, 1715, 2048)
# The 3-bit code of a residual of -8 to 8 scale factors; even codes are positive.
CODES = (7, 7, 7, 5, 5, 3, 3, 1, 0, 0, 2, 2, 4, 4, 6, 6, 6)
# The magnitudes of codes 0/1, 2/3, 4/5, 6/7 in quarters of a scale factor.
QUARTERS = (3, 10, 18, 28)
# Row s: the dequantised residual of each code at scale s, halves rounded away from zero.
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

# Weights beyond this size add a penalty, at most of the square of the limit.
LARGE_WEIGHTS = 0x8FF
PENALTY_LIMIT = 1 << 24


@dataclass
class Predictor:
    """State of the LMS predictor: the last four decoded samples and their weights."""

    history: tuple[int, ...] = (0, 0, 0, 0)
    weights: tuple[int, ...] = START_WEIGHTS


def wrap(value: int, bits: int) -> int:
    """Return the low `bits` of a number as a signed integer."""
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def encode_slice(
    samples: list[int], predictor: Predictor, first: int, nearest: bool = False
) -> tuple[int, int]:
    """Return the word and scale of a slice, and update the predictor.

    `first` is the scale to try first: neighbouring slices often share one, and a good early error
    lets the other trials stop early.
    """
    best: Trial | None = None
    for scale in (first, *(other for other in range(16) if other != first)):
        trial = try_scale(samples, predictor, scale, best, nearest)
        best = trial or best
    assert best is not None
    predictor.history, predictor.weights = best.history, best.weights
    word = best.scale
    for code in best.codes:
        word = word << 3 | code
    # The unused codes of a short last slice are 0.
    return word << 3 * (SLICE_SAMPLES - len(samples)), best.scale


@dataclass(frozen=True)
class Trial:
    """A slice encoded at one scale, with the predictor's state behind it."""

    scale: int
    error: int
    codes: list[int]
    history: tuple[int, ...]
    weights: tuple[int, ...]


def rounded_code(residual: int, scale: int) -> int:
    """Return the code of a residual as the console's encoder chooses it."""
    # Integer division rounds towards zero in the console's encoder; Python's rounds down.
    units = abs(residual) // SCALES[scale]
    return CODES[max(-8, min(8, units if residual >= 0 else -units)) + 8]


def nearest_code(residual: int, scale: int) -> int:
    """Return the code whose step is nearest to a residual, the lowest of equal ones."""
    return min(range(8), key=lambda code: abs(residual - STEPS[scale][code]))


def weight_penalty(weights: tuple[int, ...]) -> int:
    """Return what large weights add to the error: they let later guesses run away."""
    size = sum(wrap(weight, 32) ** 2 >> 18 for weight in weights) - LARGE_WEIGHTS
    return max(0, min(PENALTY_LIMIT, size)) ** 2


def try_scale(
    samples: list[int], predictor: Predictor, scale: int, best: Trial | None, nearest: bool
) -> Trial | None:
    """Encode a slice at a scale; return None once its error shows that it cannot win."""
    a, b, c, d = predictor.history
    u, v, w, x = predictor.weights
    steps, codes, error = STEPS[scale], [], 0
    choose_code = nearest_code if nearest else rounded_code
    # On equal errors the lower scale wins, whichever was tried first.
    limit = 1 << 62 if best is None else best.error + (scale < best.scale)
    for sample in samples:
        guess = wrap(a * u + b * v + c * w + d * x, 32) >> 13
        code = choose_code(sample - guess, scale)
        step = steps[code]
        decoded = max(-32768, min(32767, guess + step))
        error += (sample - decoded) ** 2 + (weight_penalty((u, v, w, x)) if nearest else 0)
        if error >= limit:
            return None
        codes.append(code)
        delta = step >> 4
        u, v = u + (-delta if a < 0 else delta), v + (-delta if b < 0 else delta)
        w, x = w + (-delta if c < 0 else delta), x + (-delta if d < 0 else delta)
        a, b, c, d = b, c, d, decoded
    return Trial(scale, error, codes, (a, b, c, d), (u, v, w, x))


def pack_qoa(samples: Samples, *, best: bool = False) -> bytes:
    """Encode samples as QOA frames, to the nearest codes if `best`."""
    count = len(samples)
    states = np.zeros((-(-count // FRAME_SAMPLES), 8), np.int32)
    words = np.zeros((-(-count // SLICE_SAMPLES), SLICE.size), np.uint8)
    choose("qoa_encode", encode_slices)(samples.astype(np.int32), best, states, words)
    # The header has 16 bits; the running state keeps 32, as in the console's encoder.
    short, parts = states.astype(np.int16), []
    for number, state in enumerate(short):
        slices = words[number * FRAME_SLICES : (number + 1) * FRAME_SLICES]
        header = {
            "samples": min(FRAME_SAMPLES, count - number * FRAME_SAMPLES),
            "frame_size": FRAME.size + slices.size,
            "history": state[:4],
            "weights": state[4:],
        }
        parts += [FRAME.pack(header), slices.tobytes()]
    return b"".join(parts)


def encode_slices(
    samples: npt.NDArray[np.int32],
    best: bool,
    states: npt.NDArray[np.int32],
    words: npt.NDArray[np.uint8],
) -> None:
    """Fill the slices, and the predictor's state before each frame: the kernel's reference."""
    predictor, scale = Predictor(), 0
    values: list[int] = samples.tolist()
    for number in range(len(words)):
        if number % FRAME_SLICES == 0:
            state = (*predictor.history, *predictor.weights)
            states[number // FRAME_SLICES] = [wrap(value, 32) for value in state]
        start = number * SLICE_SAMPLES
        part = values[start : start + SLICE_SAMPLES]
        word, scale = encode_slice(part, predictor, scale, best)
        words[number] = tuple(word.to_bytes(SLICE.size, "big"))


def unpack_qoa(data: bytes, total: int, offset: int, name: str) -> Samples:
    """Decode `total` samples from the frames between `offset` and the end of the file."""
    decoded: list[int] = []
    while len(decoded) < total:
        frame = FRAME.unpack_one(data, offset, name)
        count = frame["samples"]
        slices = -(-count // SLICE_SAMPLES)
        expected = min(total - len(decoded), FRAME_SAMPLES)
        if count != expected or frame["frame_size"] != FRAME.size + slices * SLICE.size:
            facts = {"file": name, "frame at": offset, "samples": count, "expected": expected}
            raise EncodeError("sound frame does not fit", facts | {"bytes": frame["frame_size"]})
        words = SLICE.unpack(data, slices, offset + FRAME.size, name)["word"].tolist()
        # Every frame has the predictor's state, so that playback can start at any frame.
        predictor = Predictor(tuple(frame["history"].tolist()), tuple(frame["weights"].tolist()))
        for number, word in enumerate(words):
            length = min(SLICE_SAMPLES, count - number * SLICE_SAMPLES)
            decoded += decode_slice(word, predictor, length, name)
        offset += frame["frame_size"]
    if offset != len(data):
        facts = {"file": name, "bytes": len(data), "expected bytes": offset}
        raise EncodeError("sound has bytes behind its last frame", facts)
    return np.array(decoded, np.int16)


def decode_slice(word: int, predictor: Predictor, length: int, name: str) -> list[int]:
    """Decode the samples of a slice and update the predictor."""
    # The writer leaves unused codes 0.
    if word & ((1 << 3 * (SLICE_SAMPLES - length)) - 1):
        raise EncodeError("sound has codes behind its last sample", {"file": name})
    steps, decoded = STEPS[word >> 60], []
    for number in range(length):
        step = steps[word >> (57 - 3 * number) & 7]
        products = zip(predictor.history, predictor.weights, strict=True)
        guess = wrap(sum(a * b for a, b in products), 32) >> 13
        decoded.append(max(-32768, min(32767, guess + step)))
        signs = [-1 if value < 0 else 1 for value in predictor.history]
        predictor.weights = tuple(
            weight + sign * (step >> 4)
            for weight, sign in zip(predictor.weights, signs, strict=True)
        )
        predictor.history = (*predictor.history[1:], decoded[-1])
    return decoded
