"""Vertices as they are stored: packed directions, half-float coordinates, colours in bytes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.mesh.normal import normalise
from encoders.untold.format import VERTEX
from encoders.untold.tile_mesh import Piece

TOP = 511
FORWARD, RIGHT = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)
# Two bits in two's complement.
PLUS, MINUS = 1, 3
HALF_LIMIT = 65504.0


def pack_vertices(piece: Piece, name: str) -> bytes:
    """Write the vertices of a piece that has tangents."""
    count = len(piece.position)
    normal = pack_direction(piece.normal, FORWARD)
    tangent = pack_direction(piece.tangent[:, :3], RIGHT)
    for field, values in (("uv0", piece.uv), ("uv1", piece.uv1)):
        reach = float(np.abs(values).max(initial=0.0))
        if reach > HALF_LIMIT:
            facts = {"file": name, "field": field, "found": reach, "allowed": HALF_LIMIT}
            raise EncodeError("a texture coordinate does not fit half floats", facts)
    columns = {
        "position": piece.position,
        **{f"normal_{axis}": normal[:, k] for k, axis in enumerate("xyz")},
        **{f"tangent_{axis}": tangent[:, k] for k, axis in enumerate("xyz")},
        "tangent_w": np.where(piece.tangent[:, 3] < 0, MINUS, PLUS),
        "uv0": piece.uv,
        "uv1": piece.uv1 if len(piece.uv1) else np.zeros(2),
        "color0": pack_color(piece.color) if len(piece.color) else np.full(4, 255),
    }
    return VERTEX.pack(columns, count)


def pack_direction(
    vectors: npt.NDArray[np.floating], fallback: tuple[float, float, float]
) -> npt.NDArray[np.int64]:
    """Give unit vectors as three fields of 10 bits; what has no length points at `fallback`."""
    unit = normalise(vectors)
    unit[~unit.any(axis=1)] = fallback
    return np.rint(np.clip(unit, -1.0, 1.0) * TOP).astype(np.int64) & 0x3FF


def unpack_direction(fields: npt.NDArray[np.integer]) -> npt.NDArray[np.float64]:
    """Give fields of 10 bits as numbers from -1 to 1."""
    signed = (fields.astype(np.int64) ^ 0x200) - 0x200
    return np.maximum(signed / TOP, -1.0)


def pack_color(color: npt.NDArray[np.float32]) -> npt.NDArray[np.uint8]:
    """Give colours as bytes; of a colour only 0 to 1 can be shown."""
    return np.rint(np.clip(color.astype(np.float64), 0.0, 1.0) * 255.0).astype(np.uint8)
