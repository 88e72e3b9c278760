"""The console's vertex formats: interleaved attributes, selected by five flags.

Tangents are known to the newer console only, and only in a ROM: it refuses loose files with them.

UVs, colours and normals are truncated in float32, not rounded, because the console's own exporter
does so. Weights are rounded so that they always sum to 255: the shader does not normalise them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.emberware.codec.octahedral import pack_directions
from encoders.kit.layout.table import Layout, Row
from encoders.kit.layout.type import F16, U8, U16, U32, Const

Floats = npt.NDArray[np.float32]

UV, COLOR, NORMAL, SKINNED, TANGENT = 1, 2, 4, 8, 16
# Formats of loose files, and of meshes in a ROM.
FORMATS, ROM_FORMATS = 16, 32
FLAG_NAMES = {
    "UV": UV, "COLOR": COLOR, "NORMAL": NORMAL, "TANGENT": TANGENT, "SKINNED": SKINNED,
}  # fmt: skip
FULL_WEIGHT = 255
HANDEDNESS = np.uint32(1 << 16)

# fmt: off
POSITION = Layout("Position", 8,
    Row(0x00, "position", F16[3]),
    Row(0x06, "w",        Const(F16, 1.0)),
)
ATTRIBUTES = {
    UV: Layout("UV", 4,
        Row(0x00, "uv", U16[2], "0 to 1 as 0 to 65535, cut off; v = 0 is the top")),
    COLOR: Layout("Colour", 4,
        Row(0x00, "color", U8[4], "RGBA, 0 to 1 as 0 to 255, cut off")),
    NORMAL: Layout("Normal", 4,
        Row(0x00, "normal", U32, "octahedral: u in bits 0-15, v in bits 16-31, signed, cut off")),
    TANGENT: Layout("Tangent", 4,
        Row(0x00, "tangent", U32, "as the normal; bit 16 is 1 where n x t is turned over")),
    SKINNED: Layout("Skinning", 8,
        Row(0x00, "joints", U8[4]),
        Row(0x04, "weights", U8[4], "of 255 together")),
}
# fmt: on


@dataclass(frozen=True, eq=False)
class Vertices:
    """Attributes, one row per vertex; those that are None are not in the format."""

    position: Floats
    uv: Floats | None = None
    color: Floats | None = None
    normal: Floats | None = None
    tangent: Floats | None = None
    joints: npt.NDArray[np.uint16] | None = None
    weights: Floats | None = None

    @property
    def format(self) -> int:
        """The flags of the attributes that are set."""
        parts = {UV: self.uv, COLOR: self.color, NORMAL: self.normal, SKINNED: self.joints}
        parts[TANGENT] = self.tangent
        return sum(flag for flag, part in parts.items() if part is not None)


def layouts_of(form: int) -> list[Layout]:
    """Return the tables of a format, in the order of the bytes of a vertex."""
    return [POSITION, *(layout for flag, layout in ATTRIBUTES.items() if form & flag)]


def stride_of(form: int) -> int:
    """Return the size of a vertex in bytes."""
    return sum(layout.size for layout in layouts_of(form))


def format_name(form: int) -> str:
    """Return a format's name in the console's tools, such as POS_UV_NORMAL."""
    return "_".join(["POS", *(name for name, flag in FLAG_NAMES.items() if form & flag)])


def pack_vertices(vertices: Vertices) -> bytes:
    """Encode vertices, interleaved."""
    count = len(vertices.position)
    parts = [POSITION.pack({"position": vertices.position}, count)]
    if vertices.uv is not None:
        parts.append(ATTRIBUTES[UV].pack({"uv": _unorm(vertices.uv, 65535)}, count))
    if vertices.color is not None:
        parts.append(ATTRIBUTES[COLOR].pack({"color": _unorm(vertices.color, 255)}, count))
    if vertices.normal is not None:
        parts.append(ATTRIBUTES[NORMAL].pack({"normal": pack_directions(vertices.normal)}, count))
    if vertices.tangent is not None:
        parts.append(ATTRIBUTES[TANGENT].pack({"tangent": pack_tangents(vertices.tangent)}, count))
    if vertices.joints is not None and vertices.weights is not None:
        skin = {"joints": vertices.joints, "weights": share_weights(vertices.weights)}
        parts.append(ATTRIBUTES[SKINNED].pack(skin, count))
    # Interleave by joining the bytes of each attribute row by row.
    rows = [np.frombuffer(part, np.uint8).reshape(count, -1) for part in parts]
    return np.concatenate(rows, axis=1).tobytes()


def pack_tangents(tangents: Floats) -> npt.NDArray[np.uint32]:
    """Encode tangents (n, 4) as directions; bit 16 tells whether the last number is negative."""
    words = pack_directions(tangents[:, :3]) & ~HANDEDNESS
    return words | np.where(tangents[:, 3] < 0, HANDEDNESS, np.uint32(0))


def drop_tangents(data: bytes, form: int, count: int) -> tuple[bytes, int]:
    """Return the vertices and their format without tangents, as loose files hold them."""
    if not form & TANGENT:
        return data, form
    rows = np.frombuffer(data, np.uint8).reshape(count, stride_of(form))
    start = stride_of(form & (UV | COLOR | NORMAL))
    kept = np.delete(rows, slice(start, start + ATTRIBUTES[TANGENT].size), axis=1)
    return kept.tobytes(), form & ~TANGENT


def unpack_vertices(data: bytes, form: int, count: int, name: str) -> dict[str, npt.NDArray[Any]]:
    """Decode the stored columns of `count` vertices."""
    rows = np.frombuffer(data, np.uint8).reshape(count, stride_of(form))
    columns: dict[str, npt.NDArray[Any]] = {}
    start = 0
    for layout in layouts_of(form):
        part = np.ascontiguousarray(rows[:, start : start + layout.size]).tobytes()
        columns |= layout.unpack(part, count, name=name)
        start += layout.size
    return columns


def _unorm(values: Floats, largest: int) -> npt.NDArray[np.int32]:
    """Clamp values to 0..1 and map them to 0..largest, truncated."""
    return (np.clip(values, np.float32(0), np.float32(1)) * np.float32(largest)).astype(np.int32)


def share_weights(weights: Floats) -> npt.NDArray[np.int64]:
    """Quantise weights (n, 4) so that each row sums to 255, by the largest remainder method.

    A vertex without any weight is bound to its first joint.
    """
    exact = weights.astype(np.float64)
    # In this order: a numpy sum may add in another and round differently.
    total = ((exact[:, 0] + exact[:, 1]) + exact[:, 2]) + exact[:, 3]
    # The console would draw a vertex without weights at the origin.
    exact[total == 0, 0] = 1.0
    scaled = exact * (FULL_WEIGHT / np.where(total == 0, 1.0, total))[:, None]
    whole = np.floor(scaled)
    missing = FULL_WEIGHT - whole.sum(axis=1).astype(np.int64)
    # Stable: on equal remainders the first weight is rounded up.
    order = np.argsort(whole - scaled, axis=1, kind="stable")
    rank = np.argsort(order, axis=1, kind="stable")
    shared: npt.NDArray[np.int64] = whole.astype(np.int64) + (rank < missing[:, None])
    return shared
