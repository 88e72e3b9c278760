"""Normal maps: what is painted bright stands out of a surface, in the way of glTF.

Red points to the right of the picture, green to its top, blue out of it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sample.colour import Field, Picture
from sample.sheet import Rect

# How many texels a surface rises from black to white.
HEIGHT = 2.5


def raise_sheet(sheet: Picture, surfaces: Mapping[str, Rect]) -> Picture:
    """Return the normal map of a sheet; surfaces do not lean on their neighbours."""
    normals = np.zeros((*sheet.shape[:2], 3))
    normals[..., 2] = 1.0
    # The integers of BT.601: a fixed order of sums, as everywhere in the sample.
    light = (sheet[..., :3].astype(np.int64) * (299, 587, 114)).sum(axis=2) / 255_000
    for x0, y0, x1, y1 in surfaces.values():
        normals[y0:y1, x0:x1] = _normals(light[y0:y1, x0:x1] * HEIGHT)
    return np.asarray(np.rint(normals * 127.5 + 127.5), np.uint8)


def _normals(height: Field) -> Field:
    """Return unit normals; at the border a surface goes on as high as it ends."""
    around = np.pad(height, 1, mode="edge")
    to_right = (around[1:-1, 2:] - around[1:-1, :-2]) / 2
    to_top = (around[:-2, 1:-1] - around[2:, 1:-1]) / 2
    leaning = np.stack([-to_right, -to_top, np.ones_like(height)], axis=2)
    squares = leaning * leaning
    length = np.sqrt(squares[..., 0] + squares[..., 1] + squares[..., 2])
    return np.asarray(leaning / length[..., None])
