"""The readable reference of the native BC1 kernel: endpoints and indices of every block.

A line is fitted to each block (`bc1_fit.py`) and improved: blocks of few colours, and all in
`best`, by every way to cut their sorted colours into steps (`bc1_search.py`), other opaque ones by
the likely ways (`bc1_scan.py`). `best` then takes small steps (`bc1_polish.py`), and tries opaque
blocks in both modes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from encoders.kit.image.bc.bc1_fit import Bytes, Ints, Line, Texels, nearest_steps, refine
from encoders.kit.image.bc.bc1_polish import polish
from encoders.kit.image.bc.bc1_scan import scan
from encoders.kit.image.bc.bc1_search import count_colors, search

# Blocks of so many colours have few cuts: by default too, all of them are tried.
FEW_COLORS = 5
# Blocks encoded at a time, so that the arrays of one step stay in the processor's cache.
CHUNK = 2048
TRANSPARENT = np.array([0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF], np.uint8)

# D of a line in the mode of opaque blocks, and in that with holes, which opaque ones may use too.
OPAQUE_STEPS, CUT_OUT_STEPS = 3, 2

# The stored index of each step, by the sign of (word of a) - (word of b).
OPAQUE_INDEX = np.array([[0, 0, 0, 0], [0, 2, 3, 1], [1, 3, 2, 0]], np.uint32)
CUT_OUT_INDEX = np.array([[0, 0, 0, 0], [1, 2, 0, 0], [0, 2, 1, 0]], np.uint32)


def pack_blocks(texels: Texels, line: Line, steps: Ints) -> Bytes:
    """Pack lines and the texels' steps as 8-byte blocks of the texels' mode."""
    words = [(end[0] << 11) | (end[1] << 5) | end[2] for end in line]
    # The order of the two words chooses the mode of the block.
    low, high = np.minimum(*words), np.maximum(*words)
    order = np.sign(words[0] - words[1])
    opaque_mode = texels.steps == OPAQUE_STEPS
    index = (OPAQUE_INDEX if opaque_mode else CUT_OUT_INDEX)[order, steps]
    index = np.where(texels.opaque != 0, index, np.uint32(3))
    packed = np.bitwise_or.reduce(index << (2 * np.arange(16, dtype=np.uint32))[:, None], axis=0)
    blocks = np.empty((len(low), 8), np.uint8)
    blocks[:, 0:2] = (high if opaque_mode else low).astype("<u2")[:, None].view(np.uint8)
    blocks[:, 2:4] = (low if opaque_mode else high).astype("<u2")[:, None].view(np.uint8)
    blocks[:, 4:8] = packed.astype("<u4")[:, None].view(np.uint8)
    return blocks


def _improve(
    texels: Texels,
    some: NDArray[np.intp],
    found: tuple[Line, Ints],
    work: Callable[[Texels, tuple[Line, Ints]], Line],
) -> None:
    """Replace the lines of some blocks by those that a search makes of them."""
    line, least = found
    part = Texels(texels.color[..., some], texels.opaque[..., some], texels.steps)
    better = work(part, (Line(line.a[:, some], line.b[:, some]), least[some]))
    line.a[:, some], line.b[:, some] = better.a, better.b


def _encode_soon(texels: Texels, table: Bytes) -> Bytes:
    """Encode blocks by all cuts where they are few, else by the likely ones."""
    line, least = refine(texels, table)
    has_few = count_colors(texels) <= FEW_COLORS
    _improve(texels, np.flatnonzero(has_few), (line, least), search)
    if texels.steps == OPAQUE_STEPS:
        _improve(texels, np.flatnonzero(~has_few), (line, least), scan)
    return pack_blocks(texels, line, nearest_steps(texels, line))


def _encode_best(texels: Texels, table: Bytes) -> Bytes:
    """Encode blocks by all cuts and small steps, in both modes where no texel is transparent."""
    blocks, error = _encode_mode(texels, table)
    if texels.steps == OPAQUE_STEPS:
        others, less = _encode_mode(texels._replace(steps=CUT_OUT_STEPS), table)
        is_nearer = less < error
        blocks[is_nearer] = others[is_nearer]
    return blocks


def _encode_mode(texels: Texels, table: Bytes) -> tuple[Bytes, Ints]:
    """Return the best blocks of the texels' mode, and their squared error."""
    line, shown = polish(texels, search(texels, refine(texels, table)))
    return pack_blocks(texels, line, shown.steps), shown.error


def encode_blocks(texels: Bytes, table: Bytes, best: bool, blocks: Bytes) -> None:
    """Encode blocks (count, 64) of RGBA texels whose alpha is 0 or 255 into `blocks`."""
    opaque = np.count_nonzero(texels[:, 3::4], axis=1)
    blocks[opaque == 0] = TRANSPARENT
    holed = (opaque > 0) & (opaque < 16)
    for steps, chosen in ((OPAQUE_STEPS, opaque == 16), (CUT_OUT_STEPS, holed)):
        where = np.flatnonzero(chosen)
        for at in range(0, len(where), CHUNK):
            some = where[at : at + CHUNK]
            planes = texels[some].reshape(-1, 16, 4).transpose(2, 1, 0).astype(np.int32)
            counts = np.minimum(planes[3], 1)
            part = Texels(np.ascontiguousarray(planes[:3] * counts), counts, steps)
            blocks[some] = (_encode_best if best else _encode_soon)(part, table)
