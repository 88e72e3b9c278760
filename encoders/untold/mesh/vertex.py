"""Vertices as they are stored: packed directions, half-float coordinates, colours in bytes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.mesh.normal import normalise
from encoders.untold.format.layout import VERTEX
from encoders.untold.mesh.tile_mesh import TileMesh

# 10 bits, signed and normalised: -511 to 511.
TOP = 511
FORWARD, RIGHT = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)
# The tangent's handedness: +1 and -1 in two bits, two's complement.
PLUS, MINUS = 1, 3
# The largest finite half float.
HALF_LIMIT = 65504.0


def pack_vertices(mesh: TileMesh, name: str) -> bytes:
    """Encode the vertices of a mesh, which must have tangents."""
    count = len(mesh.position)
    normal = pack_direction(mesh.normal, FORWARD)
    tangent = pack_direction(mesh.tangent[:, :3], RIGHT)
    for field, values in (("uv0", mesh.uv), ("uv1", mesh.uv1)):
        reach = float(np.abs(values).max(initial=0.0))
        if reach > HALF_LIMIT:
            facts = {"file": name, "field": field, "found": reach, "allowed": HALF_LIMIT}
            raise EncodeError("a texture coordinate does not fit half floats", facts)
    columns = {
        "position": mesh.position,
        **{f"normal_{axis}": normal[:, k] for k, axis in enumerate("xyz")},
        **{f"tangent_{axis}": tangent[:, k] for k, axis in enumerate("xyz")},
        "tangent_w": np.where(mesh.tangent[:, 3] < 0, MINUS, PLUS),
        "uv0": mesh.uv,
        # What the format says for unused attributes: zero and white.
        "uv1": mesh.uv1 if len(mesh.uv1) else np.zeros(2),
        "color0": pack_color(mesh.color) if len(mesh.color) else np.full(4, 255),
    }
    return VERTEX.pack(columns, count)


def pack_direction(
    vectors: npt.NDArray[np.floating], fallback: tuple[float, float, float]
) -> npt.NDArray[np.int64]:
    """Encode vectors as three fields of 10 bits; one without a length becomes `fallback`."""
    unit = normalise(vectors)
    unit[~unit.any(axis=1)] = fallback
    # Two's complement in ten bits.
    return np.rint(np.clip(unit, -1.0, 1.0) * TOP).astype(np.int64) & 0x3FF


def unpack_direction(fields: npt.NDArray[np.integer]) -> npt.NDArray[np.float64]:
    """Decode fields of 10 bits to numbers from -1 to 1."""
    # Sign extension of 10 bits.
    signed = (fields.astype(np.int64) ^ 0x200) - 0x200
    return np.maximum(signed / TOP, -1.0)


def pack_color(color: npt.NDArray[np.float32]) -> npt.NDArray[np.uint8]:
    """Encode colours as bytes; values outside of 0 to 1 are clamped, as nothing can show them."""
    return np.rint(np.clip(color.astype(np.float64), 0.0, 1.0) * 255.0).astype(np.uint8)
