"""Apply a texture's transform (scale, rotation, offset) to UVs.

For targets whose files have no such transform.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from encoders.kit.source.material import Texture


def transform_uv(texture: Texture, uv: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the UVs (n, 2) at which `texture` is sampled; the same array without a transform.

    A positive rotation turns UVs counter-clockwise, seen with v pointing down: (1, 0) moves
    towards (0, -1).
    """
    if (texture.scale, texture.rotation, texture.offset) == ((1.0, 1.0), 0.0, (0.0, 0.0)):
        return uv
    sine, cosine = math.sin(texture.rotation), math.cos(texture.rotation)
    # Scale, then rotation, then offset: the order of KHR_texture_transform.
    u = uv[:, 0].astype(np.float64) * texture.scale[0]
    v = uv[:, 1].astype(np.float64) * texture.scale[1]
    right, down = texture.offset
    moved = (cosine * u + sine * v + right, cosine * v - sine * u + down)
    return np.stack(moved, axis=1).astype(np.float32)
