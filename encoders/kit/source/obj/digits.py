"""Whole numbers of up to eight digits in a text, all at once: most of a large OBJ file.

A byte below "0" is a separator, every other one a digit. No digits between two separators give 0,
which stands for no index; a written 0 is a mistake in the file and is refused with ValueError.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int32]

# Eight decimal digits in a 64-bit word: neighbours are joined to pairs, fours, then all eight.
DIGIT_STEPS = (
    (0x0F0F0F0F0F0F0F0F, 10 * 2**8 + 1, 8),
    (0x00FF00FF00FF00FF, 100 * 2**16 + 1, 16),
    (0x0000FFFF0000FFFF, 10000 * 2**32 + 1, 32),
)


def decode_digits(text: bytes) -> Indices:
    """Decode numbers with one separator between each two, or raise ValueError.

    Every number is the end of the eight bytes before its separator, so all are read as 64-bit
    words at odd addresses and turned into integers in three steps, without a Python object each.
    """
    padded = b" " * 8 + text + b" "
    # The first eight separators are the padding.
    ends = np.flatnonzero(np.frombuffer(padded, np.uint8) < ord("0"))[8:]
    lengths = np.diff(ends, prepend=7) - 1
    if lengths.max(initial=0) > 8:
        raise ValueError("a very long number")
    words = np.ndarray((len(padded) - 7,), "<u8", padded, strides=(1,))[ends - 8]
    # Blank out what stands before the number; a shift by all 64 bits leaves 0.
    others = ((8 - lengths) * 8).astype(np.uint64)
    words = (words >> others) << others
    for mask, factor, shift in DIGIT_STEPS:
        words = ((words & np.uint64(mask)) * np.uint64(factor)) >> np.uint64(shift)
    if ((words == 0) & (lengths > 0)).any():
        raise ValueError("an index of 0")
    return words.astype(np.int32)
