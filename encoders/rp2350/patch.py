"""The data of one patch: eight arrays of 16-bit numbers, then strip entries, nothing else.

All arithmetic is float32, and halves round away from zero, as the firmware's own tools do it. The
one rule: positions of all patches lie on one grid, the box of the whole mesh.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.layout.table import Layout, Row
from encoders.kit.layout.type import I16, U8, U16, Bits
from encoders.kit.mesh.strip import decode_strip

Floats = npt.NDArray[np.float32]
AnyArray = npt.NDArray[Any]

# fmt: off
POSITION = Layout("Patch position, one axis of one vertex", 2,
    Row(0x00, "pos",  U16, "0 is the mesh's least coordinate, 65535 its greatest"),
)
NORMAL = Layout("Patch normal, one axis of one vertex", 2,
    Row(0x00, "norm", I16, "1:15 fixed point, scale 32767"),
)
UV = Layout("Patch UV, one axis of one vertex", 2,
    Row(0x00, "uv",   I16, "1:2:13 fixed point, scale 8192"),
)
ENTRY = Layout("Strip entry", 1,
    Row(0x00, "entry", Bits(U8, (("_spare", 2), ("kick", 2), ("vertex", 4)))),
)
# fmt: on
VERTEX_BYTES = 16
SECTIONS = ((POSITION, "pos", 3), (NORMAL, "norm", 3), (UV, "uv", 2))


@dataclass(frozen=True, eq=False)
class Quantised:
    """Vertices as numbers of 16 bits, one row an axis: `pos` (3, n), `norm` (3, n), `uv` (2, n).

    The counts say how many vertices have a normal or a UV that did not fit.
    """

    pos: npt.NDArray[np.uint16]
    norm: npt.NDArray[np.int16]
    uv: npt.NDArray[np.int16]
    clamped_normals: int = 0
    clamped_uvs: int = 0


def quantise_positions(
    position: Floats, low: Sequence[float], high: Sequence[float]
) -> npt.NDArray[np.uint16]:
    """Put positions (n, 3) on the grid between two corners; an axis without an extent is 0."""
    least = np.array(low, np.float32)
    extent = np.array(high, np.float32) - least
    share = np.zeros_like(position)
    np.divide(position - least, extent, out=share, where=extent > 0)
    steps = round_half_away(share * np.float32(65535))
    return np.ascontiguousarray(np.clip(steps, 0, 65535).astype(np.uint16).T)


def quantise_signed(values: Floats, scale: int) -> tuple[npt.NDArray[np.int16], int]:
    """Scale values (n, axes) to 16 bits; also count the rows of which something was cut off."""
    with np.errstate(over="ignore"):  # what is past all numbers is cut off like the rest
        steps = round_half_away(values * np.float32(scale))
    kept = np.clip(steps, -32768, 32767)
    clamped = int((kept != steps).any(axis=1).sum())
    return np.ascontiguousarray(kept.astype(np.int16).T), clamped


def round_half_away(values: Floats) -> npt.NDArray[np.float64]:
    """Round to whole numbers; adding a half in float32 would turn 0.49999997 into 1."""
    wide = values.astype(np.float64)
    return np.copysign(np.floor(np.abs(wide) + 0.5), wide)


def quantise(
    position: Floats, normal: Floats, uv: Floats, low: Sequence[float], high: Sequence[float]
) -> Quantised:
    """Quantise the vertices of a mesh whose box is given."""
    norm, clamped_normals = quantise_signed(normal, 32767)
    texture, clamped_uvs = quantise_signed(uv, 8192)
    grid = quantise_positions(position, low, high)
    return Quantised(grid, norm, texture, clamped_normals, clamped_uvs)


def pack_patch(mesh: Quantised, vertices: npt.NDArray[np.int32], entries: bytes) -> bytes:
    """Return the data of a patch that has these vertices of the mesh."""
    columns = {"pos": mesh.pos, "norm": mesh.norm, "uv": mesh.uv}
    packed = [
        layout.pack({name: columns[name][:, vertices].reshape(-1)}, axes * len(vertices))
        for layout, name, axes in SECTIONS
    ]
    return b"".join((*packed, entries))


@dataclass(frozen=True, eq=False)
class PatchData:
    """A patch read back: `pos`, `norm` and `uv` with one row a vertex, and what is drawn."""

    columns: dict[str, AnyArray]
    entries: dict[str, AnyArray]
    triangles: npt.NDArray[np.uint8]


def unpack_patch(data: bytes, vertex_count: int, entry_count: int, name: str) -> PatchData:
    """Read the data of a patch, or refuse what the firmware could not draw."""
    facts = {"file": name, "bytes": len(data), "vertices": vertex_count, "entries": entry_count}
    if len(data) != VERTEX_BYTES * vertex_count + entry_count:
        raise EncodeError("the patch's data does not have the size that its wrapper says", facts)
    columns, offset = {}, 0
    for layout, field, axes in SECTIONS:
        found = layout.unpack(data, axes * vertex_count, offset, name)[field]
        columns[field] = np.ascontiguousarray(found.reshape(axes, vertex_count).T)
        offset += axes * vertex_count * layout.size
    entries = ENTRY.unpack(data, entry_count, offset, name)
    used = set(entries["vertex"].tolist())
    if used != set(range(vertex_count)):
        wrong = sorted(used ^ set(range(vertex_count)))
        raise EncodeError("entries and vertices do not fit each other", {**facts, "vertex": wrong})
    return PatchData(columns, entries, decode_strip(data[offset:], name))
