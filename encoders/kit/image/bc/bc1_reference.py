"""The readable reference of the native BC1 kernel: endpoints and indices of every block.

A line is fitted to each block (`bc1_fit.py`) and improved: blocks of few colours, and all in
`best`, by every way to cut their sorted colours into steps (`bc1_search.py`), other opaque ones by
the likely ways (`bc1_scan.py`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from encoders.kit.image.bc.bc1_fit import Bytes, Ints, Line, Texels, nearest_steps, refine
from encoders.kit.image.bc.bc1_scan import scan
from encoders.kit.image.bc.bc1_search import count_colors, search

# Blocks of so many colours have few cuts: by default too, all of them are tried.
FEW_COLORS = 5
# Blocks encoded at a time, so that the arrays of one step stay in the processor's cache.
CHUNK = 2048
TRANSPARENT = np.array([0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF], np.uint8)

# The stored index of each step, by the sign of (word of a) - (word of b).
OPAQUE_INDEX = np.array([[0, 0, 0, 0], [0, 2, 3, 1], [1, 3, 2, 0]], np.uint32)
CUT_OUT_INDEX = np.array([[0, 0, 0, 0], [1, 2, 0, 0], [0, 2, 1, 0]], np.uint32)


def pack_blocks(texels: Texels, line: Line) -> Bytes:
    """Pack lines and their nearest steps as 8-byte blocks of the texels' mode."""
    steps = nearest_steps(texels, line)
    words = [(end[0] << 11) | (end[1] << 5) | end[2] for end in line]
    # The order of the two words chooses the mode of the block.
    low, high = np.minimum(*words), np.maximum(*words)
    order = np.sign(words[0] - words[1])
    opaque_mode = texels.steps == 3
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


def encode_blocks(texels: Bytes, table: Bytes, best: bool, blocks: Bytes) -> None:
    """Encode blocks (count, 64) of RGBA texels whose alpha is 0 or 255 into `blocks`."""
    opaque = np.count_nonzero(texels[:, 3::4], axis=1)
    blocks[opaque == 0] = TRANSPARENT
    for steps, chosen in ((3, opaque == 16), (2, (opaque > 0) & (opaque < 16))):
        where = np.flatnonzero(chosen)
        for at in range(0, len(where), CHUNK):
            some = where[at : at + CHUNK]
            planes = texels[some].reshape(-1, 16, 4).transpose(2, 1, 0).astype(np.int32)
            counts = np.minimum(planes[3], 1)
            part = Texels(np.ascontiguousarray(planes[:3] * counts), counts, steps)
            line, least = refine(part, table)
            is_searched = best | (count_colors(part) <= FEW_COLORS)
            _improve(part, np.flatnonzero(is_searched), (line, least), search)
            if steps == 3:
                _improve(part, np.flatnonzero(~is_searched), (line, least), scan)
            blocks[some] = pack_blocks(part, line)
