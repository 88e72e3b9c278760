"""RGBA8 to 16-bit pixel words, and back.

A PixelWord gives the position of each channel. How 8 bits become fewer is a function of its own,
because targets differ in it: some hardware truncates, other tools round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Rgba8: TypeAlias = npt.NDArray[np.uint8]
Words: TypeAlias = npt.NDArray[np.uint16]
Rounding: TypeAlias = Callable[[npt.NDArray[np.uint8], int], npt.NDArray[np.uint8]]


@dataclass(frozen=True)
class PixelWord:
    """The channels of a 16-bit word, as (shift, bits) for r, g, b, a; 0 bits mean no channel."""

    name: str
    channels: tuple[tuple[int, int], tuple[int, int], tuple[int, int], tuple[int, int]]


# Names run from the most significant bits to the least.
RGBA4444 = PixelWord("RGBA4444", ((12, 4), (8, 4), (4, 4), (0, 4)))
ABGR1555 = PixelWord("ABGR1555", ((0, 5), (5, 5), (10, 5), (15, 1)))


def truncate_bits(values: npt.NDArray[np.uint8], bits: int) -> npt.NDArray[np.uint8]:
    """Keep the highest `bits` of 8."""
    return values >> np.uint8(8 - bits)


def round_bits(values: npt.NDArray[np.uint8], bits: int) -> npt.NDArray[np.uint8]:
    """Round to the nearest of 2^bits codes: (v * top + 127) // 255."""
    top = (1 << bits) - 1
    return ((values.astype(np.uint16) * np.uint16(top) + np.uint16(127)) // 255).astype(np.uint8)


def round_share(shares: npt.NDArray[np.float64], bits: int) -> npt.NDArray[np.uint8]:
    """Clamp values to 0..1 and round them to the nearest of 2^bits codes, half up."""
    top = (1 << bits) - 1
    return np.floor(np.clip(shares, 0.0, 1.0) * top + 0.5).astype(np.uint8)


def expand_bits(codes: npt.NDArray[np.uint8], bits: int) -> npt.NDArray[np.uint8]:
    """Expand codes of 1 to 8 bits to 8 by repeating their bits, so that the maximum becomes 255."""
    wide = codes.astype(np.uint16)
    # Each round doubles the number of filled bits.
    repeated, filled = wide << np.uint16(8 - bits), bits
    while filled < 8:
        repeated |= repeated >> np.uint16(filled)
        filled *= 2
    return (repeated & np.uint16(255)).astype(np.uint8)


def encode_words(
    image: Rgba8, word: PixelWord, rounding: Rounding, alpha_threshold: int = 128
) -> Words:
    """Encode an RGBA8 picture; a 1-bit channel is set from `alpha_threshold` on."""
    words = np.zeros(image.shape[:-1], np.uint16)
    for index, (shift, bits) in enumerate(word.channels):
        values = image[..., index]
        # A cut-out, not a colour: rounding would put the threshold at 128 whatever was asked for.
        if bits == 1:
            codes = (values >= alpha_threshold).astype(np.uint8)
        elif bits:
            codes = rounding(values, bits)
        else:
            continue
        words |= codes.astype(np.uint16) << np.uint16(shift)
    return words


def decode_words(words: Words, word: PixelWord) -> Rgba8:
    """Decode words to RGBA8; without an alpha channel the picture is opaque."""
    image = np.full((*words.shape, 4), 255, np.uint8)
    for index, (shift, bits) in enumerate(word.channels):
        if bits:
            codes = (words >> np.uint16(shift)) & np.uint16((1 << bits) - 1)
            image[..., index] = expand_bits(codes.astype(np.uint8), bits)
    return image


def decode_playstation(words: Words) -> Rgba8:
    """Decode PlayStation colour words: word 0 is transparent, all others are opaque."""
    image = decode_words(words, ABGR1555)
    # The top bit is the console's semi-transparency flag, not alpha.
    image[..., 3] = np.where(words == 0, 0, 255)
    return image
