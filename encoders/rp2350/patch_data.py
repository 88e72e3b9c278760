"""Patch data: eight arrays of 16-bit numbers (positions, normals, UVs), then the strip entries.

Positions of all patches are quantised over the bounding box of the whole mesh, so that patches
meet without cracks. Arithmetic is float32 and halves round away from zero, as in the firmware's
own tools.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.mesh.strip import decode_strip
from encoders.rp2350.format import ENTRY, PATCH_ARRAYS, VERTEX_BYTES

Floats = npt.NDArray[np.float32]
AnyArray = npt.NDArray[Any]

UV_SCALE = 8192
UV_LOW, UV_HIGH = -32768 / UV_SCALE, 32767 / UV_SCALE


@dataclass(frozen=True, eq=False)
class Quantised:
    """Vertices in 16 bits, one row per axis: `pos` (3, n), `norm` (3, n), `uv` (2, n).

    The counts say how many vertices have a normal or a UV that was clamped.
    """

    pos: npt.NDArray[np.uint16]
    norm: npt.NDArray[np.int16]
    uv: npt.NDArray[np.int16]
    clamped_normals: int = 0
    clamped_uvs: int = 0


def quantise_positions(
    position: Floats, low: Sequence[float], high: Sequence[float]
) -> npt.NDArray[np.uint16]:
    """Quantise positions (n, 3) over a box; an axis without extent becomes 0."""
    least = np.array(low, np.float32)
    extent = np.array(high, np.float32) - least
    share = np.zeros_like(position)
    # A flat mesh has an axis without extent.
    np.divide(position - least, extent, out=share, where=extent > 0)
    # Rounding can put the greatest coordinate a little above 1.
    steps = round_half_away(share * np.float32(65535))
    return np.ascontiguousarray(np.clip(steps, 0, 65535).astype(np.uint16).T)


def quantise_signed(values: Floats, scale: int) -> tuple[npt.NDArray[np.int16], int]:
    """Scale values (n, axes) to 16 bits; also return the number of rows that were clamped."""
    with np.errstate(over="ignore"):  # infinities are clamped like other values
        steps = round_half_away(values * np.float32(scale))
    kept = np.clip(steps, -32768, 32767)
    clamped = int((kept != steps).any(axis=1).sum())
    return np.ascontiguousarray(kept.astype(np.int16).T), clamped


def round_half_away(values: Floats) -> npt.NDArray[np.float64]:
    """Round halves away from zero, in float64: in float32, 0.49999997 + 0.5 is 1."""
    wide = values.astype(np.float64)
    return np.copysign(np.floor(np.abs(wide) + 0.5), wide)


def quantise(
    position: Floats, normal: Floats, uv: Floats, low: Sequence[float], high: Sequence[float]
) -> Quantised:
    """Quantise the vertices of a mesh with this bounding box."""
    norm, clamped_normals = quantise_signed(normal, 32767)
    texture, clamped_uvs = quantise_signed(uv, UV_SCALE)
    grid = quantise_positions(position, low, high)
    return Quantised(grid, norm, texture, clamped_normals, clamped_uvs)


def pack_patch(mesh: Quantised, vertices: npt.NDArray[np.int32], entries: bytes) -> bytes:
    """Encode the patch that has these vertices of the mesh and these strip entries."""
    columns = {"pos": mesh.pos, "norm": mesh.norm, "uv": mesh.uv}
    packed = [
        layout.pack({name: columns[name][:, vertices].reshape(-1)}, axes * len(vertices))
        for layout, name, axes in PATCH_ARRAYS
    ]
    return b"".join((*packed, entries))


@dataclass(frozen=True, eq=False)
class PatchData:
    """A decoded patch: `pos`, `norm` and `uv` with a row per vertex, entries and triangles."""

    columns: dict[str, AnyArray]
    entries: dict[str, AnyArray]
    triangles: npt.NDArray[np.uint8]


def unpack_patch(data: bytes, vertex_count: int, entry_count: int, name: str) -> PatchData:
    """Decode a patch, or refuse data that the firmware could not draw."""
    facts = {"file": name, "bytes": len(data), "vertices": vertex_count, "entries": entry_count}
    if len(data) != VERTEX_BYTES * vertex_count + entry_count:
        raise EncodeError("the patch's data does not have the size that its wrapper says", facts)
    columns, offset = {}, 0
    for layout, field, axes in PATCH_ARRAYS:
        found = layout.unpack(data, axes * vertex_count, offset, name)[field]
        # Stored as structures of arrays: all x, then all y, then all z.
        columns[field] = np.ascontiguousarray(found.reshape(axes, vertex_count).T)
        offset += axes * vertex_count * layout.size
    entries = ENTRY.unpack(data, entry_count, offset, name)
    used = set(entries["vertex"].tolist())
    # An entry without a vertex reads foreign memory; a vertex without an entry wastes flash.
    if used != set(range(vertex_count)):
        wrong = sorted(used ^ set(range(vertex_count)))
        raise EncodeError("entries and vertices do not fit each other", {**facts, "vertex": wrong})
    return PatchData(columns, entries, decode_strip(data[offset:], name))
