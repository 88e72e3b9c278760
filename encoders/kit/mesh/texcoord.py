"""Texture coordinates as a material wants them: scaled, rotated and moved by its texture.

Targets whose files hold plain coordinates bake the texture's transform into them here.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from encoders.kit.source.material import Texture


def transform_uv(texture: Texture, uv: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the coordinates (n, 2) that `texture` is read at, untouched when it moves nothing.

    A positive rotation turns coordinates counter-clockwise as seen with v downwards, so that
    (1, 0) moves towards (0, -1).
    """
    if (texture.scale, texture.rotation, texture.offset) == ((1.0, 1.0), 0.0, (0.0, 0.0)):
        return uv
    sine, cosine = math.sin(texture.rotation), math.cos(texture.rotation)
    u = uv[:, 0].astype(np.float64) * texture.scale[0]
    v = uv[:, 1].astype(np.float64) * texture.scale[1]
    right, down = texture.offset
    moved = (cosine * u + sine * v + right, cosine * v - sine * u + down)
    return np.stack(moved, axis=1).astype(np.float32)
