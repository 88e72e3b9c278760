"""SPU-ADPCM, the sample format of the first PlayStation: 28 samples in a block of 16 bytes.

A block has a filter, which predicts a sample from the two before it, and a shift, which scales the
4-bit codes of what is left. The encoder tries all filters and shifts of every block and follows
the decoder's own state, so that errors do not add up.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from encoders.kit.error import EncodeError
from encoders.kit.native.kernel import choose

BLOCK_SAMPLES, BLOCK_BYTES = 28, 16
# What a filter adds of the last sample and of the one before it, in 64ths.
LAST = (0, 60, 115, 98, 122)
BEFORE = (0, 0, -52, -55, -60)
SHIFTS = 13
# Bits of a block's second byte. A block with END and without REPEAT mutes the voice.
END, REPEAT, LOOP_START = 1, 2, 4

Ints = NDArray[np.int32]
Bytes = NDArray[np.uint8]
Pcm = NDArray[np.int16]


def encode_adpcm(samples: Pcm, *, is_restart: bool = False) -> Bytes:
    """Return blocks (count, 16) without flags; the last one is filled with silence.

    With `is_restart` the first block uses no earlier samples, so that a loop may begin there.
    """
    count = -(-len(samples) // BLOCK_SAMPLES)
    padded = np.zeros((count, BLOCK_SAMPLES), np.int32)
    padded.reshape(-1)[: len(samples)] = samples
    blocks = np.zeros((count, BLOCK_BYTES), np.uint8)
    choose("adpcm_encode", adpcm_encode)(padded, 1 if is_restart else len(LAST), blocks)
    return blocks


def adpcm_encode(samples: Ints, first_filters: int, blocks: Bytes) -> None:
    """Fill `blocks` from samples (count, 28): the reference of the native kernel."""
    last = before = 0
    for row, block in enumerate(samples):
        filters = first_filters if row == 0 else len(LAST)
        codes, decoded = _try_all(block, filters, last, before)
        off = decoded - block[:, None].astype(np.int64)
        # The first of equal errors, as in the kernel.
        best = int(np.argmin((off * off).sum(axis=0)))
        chosen = codes[:, best] & 15
        blocks[row, 0] = best % SHIFTS | best // SHIFTS << 4
        blocks[row, 1] = 0
        blocks[row, 2:] = chosen[::2] | chosen[1::2] << 4
        before, last = decoded[-2:, best].tolist()


def _try_all(
    block: Ints, filters: int, last: int, before: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return codes and decoded samples (28, attempts) of all filters and shifts."""
    of_last = np.repeat(np.array(LAST[:filters]), SHIFTS)
    of_before = np.repeat(np.array(BEFORE[:filters]), SHIFTS)
    bits = np.tile(12 - np.arange(SHIFTS), filters)
    half = (1 << bits) >> 1
    codes = np.zeros((BLOCK_SAMPLES, len(bits)), np.int64)
    decoded = np.zeros_like(codes)
    one, two = np.full(len(bits), last), np.full(len(bits), before)
    for number, sample in enumerate(block.tolist()):
        predicted = (one * of_last + two * of_before + 32) >> 6
        codes[number] = np.clip((sample - predicted + half) >> bits, -8, 7)
        decoded[number] = np.clip((codes[number] << bits) + predicted, -32768, 32767)
        one, two = decoded[number], one
    return codes, decoded


def open_blocks(data: bytes, name: str = "") -> Bytes:
    """Return the blocks (count, 16) of a sound; refuse what no decoder defines."""
    if len(data) % BLOCK_BYTES:
        raise EncodeError("the samples are no whole blocks", {"file": name, "bytes": len(data)})
    blocks = np.frombuffer(data, np.uint8).reshape(-1, BLOCK_BYTES)
    is_wrong = (blocks[:, 0] & 15 >= SHIFTS) | (blocks[:, 0] >> 4 >= len(LAST))
    if is_wrong.any():
        row = int(np.argmax(is_wrong))
        facts = {"file": name, "block": row, "found": f"{blocks[row, 0]:#04x}"}
        raise EncodeError("a block has a filter or a shift that does not exist", facts)
    return blocks


def decode_adpcm(data: bytes, name: str = "") -> Pcm:
    """Return the samples of all blocks; flags are ignored."""
    samples = []
    one = two = 0
    # Plain integers: each sample depends on the one before it.
    for block in open_blocks(data, name).tolist():
        bits, kind = 12 - (block[0] & 15), block[0] >> 4
        for byte in block[2:]:
            for code in (byte & 15, byte >> 4):
                predicted = (one * LAST[kind] + two * BEFORE[kind] + 32) >> 6
                found = ((code ^ 8) - 8 << bits) + predicted
                one, two = max(-32768, min(32767, found)), one
                samples.append(one)
    return np.array(samples, np.int16)
