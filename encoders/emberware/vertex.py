"""Vertices as the console takes them: interleaved, in an order that the format's flags give.

Arithmetic is single precision and numbers are cut off, not rounded, as the console's own exporter
does it. The exception are weights, which are shared out so that they always sum to 255: the
shader does not bring them to a sum of one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.emberware.octahedral import pack_directions
from encoders.kit.layout.table import Layout, Row
from encoders.kit.layout.type import F16, U8, U16, U32, Const

Floats = npt.NDArray[np.float32]

UV, COLOR, NORMAL, SKINNED = 1, 2, 4, 8
FORMATS = 16
FLAG_NAMES = {"UV": UV, "COLOR": COLOR, "NORMAL": NORMAL, "SKINNED": SKINNED}
FULL_WEIGHT = 255

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
    SKINNED: Layout("Skinning", 8,
        Row(0x00, "joints", U8[4]),
        Row(0x04, "weights", U8[4], "of 255 together")),
}
# fmt: on


@dataclass(frozen=True, eq=False)
class Vertices:
    """One row a vertex; what is None is not in the format. Joints and weights go together."""

    position: Floats
    uv: Floats | None = None
    color: Floats | None = None
    normal: Floats | None = None
    joints: npt.NDArray[np.uint16] | None = None
    weights: Floats | None = None

    @property
    def format(self) -> int:
        """The flags of what there is."""
        parts = {UV: self.uv, COLOR: self.color, NORMAL: self.normal, SKINNED: self.joints}
        return sum(flag for flag, part in parts.items() if part is not None)


def layouts_of(form: int) -> list[Layout]:
    """Return the tables of a format, in the order in which they stand in a vertex."""
    return [POSITION, *(layout for flag, layout in ATTRIBUTES.items() if form & flag)]


def stride_of(form: int) -> int:
    """Return the bytes of a vertex."""
    return sum(layout.size for layout in layouts_of(form))


def format_name(form: int) -> str:
    """Spell a format as the console's tools do: POS_UV_NORMAL."""
    return "_".join(["POS", *(name for name, flag in FLAG_NAMES.items() if form & flag)])


def pack_vertices(vertices: Vertices) -> bytes:
    """Return all vertices, interleaved."""
    count = len(vertices.position)
    parts = [POSITION.pack({"position": vertices.position}, count)]
    if vertices.uv is not None:
        parts.append(ATTRIBUTES[UV].pack({"uv": _unorm(vertices.uv, 65535)}, count))
    if vertices.color is not None:
        parts.append(ATTRIBUTES[COLOR].pack({"color": _unorm(vertices.color, 255)}, count))
    if vertices.normal is not None:
        parts.append(ATTRIBUTES[NORMAL].pack({"normal": pack_directions(vertices.normal)}, count))
    if vertices.joints is not None and vertices.weights is not None:
        skin = {"joints": vertices.joints, "weights": share_weights(vertices.weights)}
        parts.append(ATTRIBUTES[SKINNED].pack(skin, count))
    rows = [np.frombuffer(part, np.uint8).reshape(count, -1) for part in parts]
    return np.concatenate(rows, axis=1).tobytes()


def unpack_vertices(data: bytes, form: int, count: int, name: str) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of `count` vertices as they are stored."""
    rows = np.frombuffer(data, np.uint8).reshape(count, stride_of(form))
    columns: dict[str, npt.NDArray[Any]] = {}
    start = 0
    for layout in layouts_of(form):
        part = np.ascontiguousarray(rows[:, start : start + layout.size]).tobytes()
        columns |= layout.unpack(part, count, name=name)
        start += layout.size
    return columns


def _unorm(values: Floats, largest: int) -> npt.NDArray[np.int32]:
    return (np.clip(values, np.float32(0), np.float32(1)) * np.float32(largest)).astype(np.int32)


def share_weights(weights: Floats) -> npt.NDArray[np.int64]:
    """Share 255 out by the weights (n, 4); what cutting off leaves goes to the largest rests.

    A vertex of no weight at all goes to its first joint.
    """
    exact = weights.astype(np.float64)
    total = ((exact[:, 0] + exact[:, 1]) + exact[:, 2]) + exact[:, 3]
    exact[total == 0, 0] = 1.0
    scaled = exact * (FULL_WEIGHT / np.where(total == 0, 1.0, total))[:, None]
    whole = np.floor(scaled)
    missing = FULL_WEIGHT - whole.sum(axis=1).astype(np.int64)
    # A stable sort: of equal rests the first weight gets more.
    order = np.argsort(whole - scaled, axis=1, kind="stable")
    rank = np.argsort(order, axis=1, kind="stable")
    shared: npt.NDArray[np.int64] = whole.astype(np.int64) + (rank < missing[:, None])
    return shared
