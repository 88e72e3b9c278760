"""Apply a texture's transform (scale, rotation, offset) to UVs.

For targets whose files have no such transform.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.source.material import Material, Texture


def transform_uv(texture: Texture, uv: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the UVs (n, 2) at which `texture` is sampled; the same array without a transform.

    A positive rotation turns UVs counter-clockwise, seen with v pointing down: (1, 0) moves
    towards (0, -1).
    """
    if (texture.scale, texture.rotation, texture.offset) == ((1.0, 1.0), 0.0, (0.0, 0.0)):
        return uv
    sine, cosine = math.sin(texture.rotation), math.cos(texture.rotation)
    right, down = texture.offset
    # Scale, then rotation, then offset: the order of KHR_texture_transform.
    # What is no float32 becomes infinite; `place_uv` refuses it.
    with np.errstate(over="ignore", invalid="ignore"):
        u = uv[:, 0].astype(np.float64) * texture.scale[0]
        v = uv[:, 1].astype(np.float64) * texture.scale[1]
        moved = (cosine * u + sine * v + right, cosine * v - sine * u + down)
        return np.stack(moved, axis=1).astype(np.float32)


def place_uv(
    material: Material, texture: Texture, uv: npt.NDArray[np.float32]
) -> npt.NDArray[np.float32]:
    """Return the UVs at which a material's texture is sampled, or refuse those that overflow."""
    moved = transform_uv(texture, uv)
    if not np.isfinite(moved).all():
        facts = {"file": material.file, "material": material.name, "scale": texture.scale}
        raise EncodeError("texture coordinates are too large to be numbers", facts)
    return moved
