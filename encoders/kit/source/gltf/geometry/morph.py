"""Morph targets at their default weights: the shape that a model has before anything moves it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from encoders.kit.source.gltf.data.accessor import decode_floats
from encoders.kit.source.gltf.data.opened import Gltf
from encoders.kit.source.gltf.document import spec
from encoders.kit.source.gltf.document.fault import fault
from encoders.kit.source.gltf.geometry.primitive import Floats, Primitive
from encoders.kit.warning import grouped

Weights = tuple[float, ...]


def apply_morph(
    gltf: Gltf, primitive: Primitive, record: spec.Primitive, weights: Weights, where: str
) -> Primitive:
    """Move positions, normals and tangents by the weighted targets; say that none can move later.

    Sums run in float64 in the order of the targets and are rounded once.
    """
    shares = list(zip(weights, record.targets, strict=False))
    moving = [(weight, target) for weight, target in shares if weight]
    has = f"{where} has {len(record.targets)} morph targets"
    if not moving:
        gltf.warn(grouped("ignored", f"{has}, which were ignored"))
        return primitive
    gltf.warn(grouped("ignored", f"{has}; the shape of their default weights was taken"))
    moved = {
        key: _moved(gltf, values, [(weight, target.get(key)) for weight, target in moving], where)
        for key, values in (
            ("POSITION", primitive.position),
            ("NORMAL", primitive.normal),
            ("TANGENT", None if primitive.tangent is None else primitive.tangent[:, :3]),
        )
    }
    position, tangent = moved["POSITION"], moved["TANGENT"]
    assert position is not None
    if not np.isfinite(position).all():
        raise fault("morphed position is not finite", gltf.name, where)
    normal = None if moved["NORMAL"] is None else _unit(moved["NORMAL"])
    if tangent is not None and primitive.tangent is not None:
        tangent = np.column_stack((_unit(tangent), primitive.tangent[:, 3]))
    return replace(primitive, position=position, normal=normal, tangent=tangent)


def _moved(
    gltf: Gltf, values: Floats | None, shares: list[tuple[float, int | None]], where: str
) -> Floats | None:
    """Add the weighted differences of the targets that have this attribute."""
    if values is None:
        return None
    total = values.astype(np.float64)
    for weight, accessor in shares:
        if accessor is None:
            continue
        gltf.charge(total.nbytes, where)
        delta = decode_floats(gltf, accessor)
        if delta.shape != values.shape:
            found, allowed = delta.shape, values.shape
            raise fault("morph target does not fit its mesh", gltf.name, where, found, allowed)
        with np.errstate(all="ignore"):  # the caller refuses what overflows
            total = total + delta.astype(np.float64) * weight
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(total.astype(np.float32))


def _unit(vectors: Floats) -> Floats:
    """Give directions unit length; one without a length stays zero."""
    exact = np.where(np.isfinite(vectors), vectors, 0).astype(np.float64)
    x, y, z = exact.T
    length = np.sqrt(x * x + y * y + z * z)
    unit = exact / np.where(length > 0, length, 1.0)[:, None]
    return np.ascontiguousarray(unit.astype(np.float32))
