"""Mip chains: the base picture and its smaller levels, made by any of the resize functions.

Levels are averaged either from the base, which avoids accumulated rounding, or from the level
before, as hardware does. Level i is max(1, width >> i) by max(1, height >> i).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from encoders.kit.image.palette.bayer import tile_bayer
from encoders.kit.image.pixel import Rgba8

Resize: TypeAlias = Callable[[Rgba8, int, int], Rgba8]


def full_level_count(width: int, height: int) -> int:
    """Return the number of levels down to 1 x 1."""
    return max(width, height).bit_length()


def square_level_count(width: int, height: int) -> int:
    """Return the number of levels until the shorter side is 1."""
    return min(width, height).bit_length()


def level_size(width: int, height: int, level: int) -> tuple[int, int]:
    """Return the width and height of a level."""
    return max(1, width >> level), max(1, height >> level)


def mips_from_base(image: Rgba8, levels: int, resize: Resize) -> list[Rgba8]:
    """Return a chain whose levels are all averaged from the base picture."""
    height, width = image.shape[:2]
    sizes = [level_size(width, height, level) for level in range(1, levels)]
    return [image, *(resize(image, *size) for size in sizes)]


def mips_from_previous(image: Rgba8, levels: int, resize: Resize) -> list[Rgba8]:
    """Return a chain whose levels are each averaged from the 8-bit level before."""
    height, width = image.shape[:2]
    chain = [image]
    for level in range(1, levels):
        chain.append(resize(chain[-1], *level_size(width, height, level)))
    return chain


def keep_coverage(chain: list[Rgba8], cutoff: int) -> list[Rgba8]:
    """Scale the alpha of each level so that as large a share of texels passes as in the base.

    Averaging lets fewer texels pass an alpha test at `cutoff`, so that leaves and fences would
    vanish in the distance.
    """
    shown = int((chain[0][..., 3] >= cutoff).sum())
    total = chain[0][..., 3].size
    return [chain[0], *(_with_coverage(level, cutoff, shown, total) for level in chain[1:])]


def _with_coverage(level: Rgba8, cutoff: int, shown: int, total: int) -> Rgba8:
    alpha = level[..., 3].astype(np.int64)
    # The base's share of this level's texels, rounded.
    wanted = (2 * shown * alpha.size + total) // (2 * total)
    # passing[a]: texels with an alpha of a or more; passing[256] is 0.
    passing = np.cumsum(np.bincount(alpha.ravel(), minlength=257)[::-1])[::-1]
    candidates = np.arange(1, 257)
    # On a tie the candidate nearest to the cutoff wins: it changes alpha least, or not at all.
    cost = np.abs(passing[1:] - wanted) * 512 + np.abs(candidates - cutoff)
    least = int(candidates[np.argmin(cost)])
    scaled = level.copy()
    scaled[..., 3] = np.minimum(255, alpha * cutoff // least)
    return scaled


def shown_texels(chain: list[Rgba8], cutoff: int) -> list[npt.NDArray[np.bool_]]:
    """Choose for each level the texels that are shown, for formats with one bit of alpha.

    In the base these are the texels with an alpha of `cutoff` or more. Each smaller level shows the
    same share of its texels, rounded: those with the highest alpha and, among equal ones, as an
    ordered pattern spreads them.
    """
    base = chain[0][..., 3] >= cutoff
    shown = int(base.sum())
    if shown in (0, base.size):
        return [level[..., 3] >= cutoff for level in chain]
    return [base, *(_most_opaque(level, shown, base.size) for level in chain[1:])]


def _most_opaque(level: Rgba8, shown: int, total: int) -> npt.NDArray[np.bool_]:
    alpha = level[..., 3].astype(np.int64)
    # The base's share of this level's texels, rounded.
    wanted = (2 * shown * alpha.size + total) // (2 * total)
    # Scaling alpha cannot do this: in small levels many texels have the same one.
    order = np.argsort((tile_bayer(*alpha.shape) - 16 * alpha).reshape(-1), kind="stable")
    chosen = np.zeros(alpha.size, np.bool_)
    chosen[order[:wanted]] = True
    return chosen.reshape(alpha.shape)
