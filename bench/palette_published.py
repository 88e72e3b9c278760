"""The textures and figures that splashedit-ng publishes of its own converter, beside ours.

Its test textures are formulas, so they can be made again; its figures are PSNR and the mean OKLab
difference (x 100), of what its exporter writes, which is dithered. Ours are not, as by default.
Pictures of its table that are no formulas are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]


class Published(NamedTuple):
    """A texture, how many colours it gets, and the PSNR and OKLab difference published."""

    name: str
    picture: Bytes
    colors: int
    decibels: float
    look: float


def shown_by_exporter(levels: Bytes) -> Bytes:
    """Return the 8 bits that its figures take levels for: rounded, not their bits repeated."""
    return ((levels.astype(np.int64) * 255 + 15) // 31).astype(np.uint8)


def _grid(width: int, height: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    y, x = np.mgrid[0:height, 0:width]
    return x, y


def _texture(*channels: NDArray[np.int64]) -> Bytes:
    shape = np.broadcast_shapes(*(one.shape for one in channels))
    rgb = np.stack([np.broadcast_to(one, shape) for one in channels], axis=-1)
    return rgb.astype(np.uint8)


def textures() -> dict[str, Bytes]:
    """Return the textures that do not fit 16 colours and are opaque."""
    x, y = _grid(32, 32)
    index = (x * 7 + y * 13) % 100
    colors = (20 + index % 10 * 23, 20 + index // 10 * 23, index * 53 % 256)
    wide, high = _grid(64, 64)
    return {
        "100 colours": _texture(*colors),
        "gradient": _texture(wide * 4, high * 4, ((wide ^ high) & 63) * 4),
        "many": _texture(x * 8, y * 8, np.array([[64]])),
    }


# By texture: PSNR and OKLab difference with 16 colours, then with 256.
FIGURES = {
    "100 colours": ((18.51, 6.323), (40.58, 0.692)),
    "gradient": ((18.85, 6.522), (29.97, 1.681)),
    "many": ((21.15, 4.982), (31.59, 1.254)),
}


def published() -> Iterator[Published]:
    """Give each texture with 16 and with 256 colours."""
    for name, picture in textures().items():
        for colors, (decibels, look) in zip((16, 256), FIGURES[name], strict=True):
            yield Published(name, picture, colors, decibels, look)
