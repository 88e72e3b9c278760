"""Indices of 4 or 8 bits packed into 16-bit words, without loss; `quantise` makes palettes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.image.pixel import Words

Indices = npt.NDArray[np.uint8]


def pack_indices(indices: Indices, bits: int) -> Words:
    """Pack rows of 4- or 8-bit indices into 16-bit words, the leftmost in the lowest bits.

    A row that does not fill its last word repeats its last texel there, so that a filter that
    reads beyond the edge finds a colour of the picture.
    """
    per_word = 16 // bits
    highest = int(indices.max(initial=0))
    # Checked, because a larger index would spill into the neighbour's bits.
    if highest >> bits:
        raise EncodeError(
            "an index does not fit its bits", {"index": highest, "allowed": (1 << bits) - 1}
        )
    short = -indices.shape[1] % per_word
    padded = np.pad(indices, ((0, 0), (0, short)), "edge").astype(np.uint16)
    groups = padded.reshape(len(indices), padded.shape[1] // per_word, per_word)
    words = np.zeros(groups.shape[:2], np.uint16)
    for position in range(per_word):
        words |= groups[:, :, position] << np.uint16(position * bits)
    return words


def unpack_indices(words: Words, bits: int, width: int) -> Indices:
    """Unpack rows of words to `width` indices each; the padding is dropped."""
    shifts = np.arange(0, 16, bits, dtype=np.uint16)
    indices = (words[:, :, None] >> shifts) & np.uint16((1 << bits) - 1)
    texels = words.shape[1] * len(shifts)
    return indices.reshape(len(words), texels)[:, :width].astype(np.uint8)
