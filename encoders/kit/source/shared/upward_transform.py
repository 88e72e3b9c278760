"""Texture transforms of formats whose v points upwards, as glTF writes them."""

from __future__ import annotations

import math

import numpy as np

from encoders.kit.source.gltf.material import TextureTransform


def texture_transform(affine: np.ndarray) -> TextureTransform:
    """Turn a transform of coordinates with v upwards into one of glTF's, with v downwards."""
    # The flip is its own inverse, so this is a change of coordinates on both sides.
    flip = np.array([[1.0, 0.0, 0.0], [0.0, -1.0, 1.0], [0.0, 0.0, 1.0]])
    plane = np.array([[*row[:2], row[3]] for row in affine[:2]] + [[0.0, 0.0, 1.0]])
    found = flip @ plane @ flip
    # Rotation after scale: the columns are the scaled axes.
    scale = (math.hypot(found[0, 0], found[1, 0]), math.hypot(found[0, 1], found[1, 1]))
    # KHR_texture_transform turns counter-clockwise with v downwards, hence the minus.
    rotation = math.atan2(-found[1, 0], found[0, 0])
    offset = (float(found[0, 2]), float(found[1, 2]))
    return TextureTransform(offset=offset, rotation=rotation, scale=scale)
