"""Boxes of triangles and objects in the world, as the runtime's culling reads them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from encoders.splashpack.format import PlacedObjects

Ints = npt.NDArray[np.int64]


def owners_of(placed: PlacedObjects) -> Ints:
    """Return the number of the object that each triangle belongs to."""
    return np.repeat(np.arange(len(placed.triangle_count)), placed.triangle_count)


def triangle_bounds(placed: PlacedObjects) -> Ints:
    """Return the box of each triangle in the world, (triangles, 6), rounded outward."""
    owner = owners_of(placed)
    corners = np.asarray(placed.triangles["vertices"]).astype(np.int64)
    turn = placed.rotation.reshape(-1, 3, 3).astype(np.int64)[owner]
    # The product of two numbers with 12 fractional bits has 24.
    turned = (turn[:, None, :, :] * corners[:, :, None, :]).sum(axis=3)
    position = placed.position.astype(np.int64).reshape(-1, 3)[owner]
    low = (turned.min(axis=1) >> 12) + position
    high = -(-turned.max(axis=1) >> 12) + position
    return np.concatenate([low, high], axis=1)


def object_bounds(placed: PlacedObjects, boxes: Ints) -> Ints:
    """Return the box of each object, (objects, 6); without triangles it is its position."""
    found = np.tile(placed.position.astype(np.int64).reshape(-1, 3), (1, 2))
    end = np.cumsum(placed.triangle_count.astype(np.int64))
    for row, (stop, count) in enumerate(zip(end.tolist(), placed.triangle_count, strict=True)):
        if count:
            found[row] = join_boxes(boxes[stop - int(count) : stop])
    return found


def join_boxes(boxes: Ints) -> Ints:
    """Return the box around all boxes; there must be one at least."""
    return np.concatenate([boxes[:, :3].min(axis=0), boxes[:, 3:].max(axis=0)])
