"""`.ewzskel`: the inverse bind matrices of a skin, in the order of its joints.

A matrix is twelve floats, column by column, without the bottom row. Names and hierarchy are not
stored. In a ROM the same matrices stand row by row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.emberware.clip import BONE_LIMIT
from encoders.emberware.model import open_part
from encoders.kit.error import EncodeError
from encoders.kit.layout.table import Layout, Row
from encoders.kit.layout.type import F32, U32, Const
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.gltf.skin import decode_skin

Floats = npt.NDArray[np.float32]

# What the console can load; a clip can move one bone less.
SKELETON_LIMIT = 256

# fmt: off
HEADER = Layout("Skeleton header", 8,
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


def encode_skeleton(inputs: Inputs, params: Params) -> Outputs:
    """Encode the one skin that the model has."""
    gltf = open_part(inputs, params)
    skin = decode_skin(gltf, 0)
    if len(skin.joints) > BONE_LIMIT:
        extra = skin.joint_names[BONE_LIMIT] or f"joint {BONE_LIMIT}"
        raise EncodeError(
            "skeleton has too many bones",
            {"file": gltf.name, "skin": skin.name, "bones": len(skin.joints)}
            | {"allowed": BONE_LIMIT, "first too many": extra},
            "Take joints out of the skin that no vertex needs.",
        )
    return {
        "file": pack_skeleton(skin.inverse_bind),
        WARNINGS: "\n".join(gltf.warnings).encode(),
    }


def pack_skeleton(matrices: Floats) -> bytes:
    """Return the file of matrices (bones, row, column); their bottom rows are dropped."""
    names = ("column0", "column1", "column2", "translation")
    columns = {name: matrices[:, :3, column] for column, name in enumerate(names)}
    return HEADER.pack({"bone_count": len(matrices)}) + MATRIX.pack(columns, len(matrices))


def unpack_skeleton(data: bytes, name: str) -> Floats:
    """Return the matrices (bones, 3 rows, 4 columns) of a file."""
    count = HEADER.unpack_one(data, name=name)["bone_count"]
    expected = HEADER.size + count * MATRIX.size
    if not 1 <= count <= SKELETON_LIMIT or len(data) != expected:
        facts = {"file": name, "bones": count, "bytes": len(data), "expected bytes": expected}
        raise EncodeError("not a skeleton", facts | {"allowed": f"1 to {SKELETON_LIMIT} bones"})
    columns = MATRIX.unpack(data, count, HEADER.size, name)
    return np.stack(list(columns.values()), axis=2)


def decode_skeleton_file(data: bytes, name: str) -> dict[str, Any]:
    """Show a file: the count, then each matrix by rows."""
    matrices = unpack_skeleton(data, name)
    return {"bone_count": len(matrices), "inverse_bind_matrices": matrices.tolist()}
