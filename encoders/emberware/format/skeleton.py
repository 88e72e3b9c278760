"""`.ewzskel`: the inverse bind matrices of a skin, in the order of its joints.

A matrix is twelve floats in column order, without the bottom row; a ROM stores the same matrices
in row order. Joint names and the hierarchy are not stored.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.layout.table import Layout, Row
from encoders.kit.layout.type import F32, U32, Const

Floats = npt.NDArray[np.float32]

# The console loads 256 bones, one more than a clip can count.
SKELETON_LIMIT = 256

# fmt: off
SKELETON_HEADER = Layout("Skeleton header", 8,
    Row(0x00, "bone_count", U32, "1 to 256"),
    Row(0x04, "reserved",   Const(U32, 0)),
)
MATRIX = Layout("Inverse bind matrix", 48,
    Row(0x00, "column0",     F32[3]),
    Row(0x0C, "column1",     F32[3]),
    Row(0x18, "column2",     F32[3]),
    Row(0x24, "translation", F32[3]),
)
# fmt: on


def pack_skeleton(matrices: Floats) -> bytes:
    """Encode matrices (bones, rows, columns) without their bottom rows."""
    names = ("column0", "column1", "column2", "translation")
    columns = {name: matrices[:, :3, column] for column, name in enumerate(names)}
    return SKELETON_HEADER.pack({"bone_count": len(matrices)}) + MATRIX.pack(columns, len(matrices))


def unpack_skeleton(data: bytes, name: str) -> Floats:
    """Decode the matrices (bones, 3 rows, 4 columns) of a file."""
    count = SKELETON_HEADER.unpack_one(data, name=name)["bone_count"]
    expected = SKELETON_HEADER.size + count * MATRIX.size
    if not 1 <= count <= SKELETON_LIMIT or len(data) != expected:
        facts = {"file": name, "bones": count, "bytes": len(data), "expected bytes": expected}
        raise EncodeError("not a skeleton", facts | {"allowed": f"1 to {SKELETON_LIMIT} bones"})
    columns = MATRIX.unpack(data, count, SKELETON_HEADER.size, name)
    # Stored by columns, returned by rows.
    return np.stack(list(columns.values()), axis=2)
