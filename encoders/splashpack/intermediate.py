"""What nodes pass to each other: triangles whose texture has no place in VRAM yet, and JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from encoders.kit.layout.table import Layout, Row
from encoders.kit.layout.type import F32, I16, U8, U16

# The texture number of triangles that have none.
UNTEXTURED = 0xFFFF

# fmt: off
MESH_TRIANGLE = Layout("triangle of a mesh node", 59,
    Row(0x00, "vertices", I16[3, 3], "as in the file"),
    Row(0x12, "normal",   I16[3],    "as in the file"),
    Row(0x18, "texture",  U16,       "number among the textures that the mesh uses; 65535: none"),
    Row(0x1A, "uv",       F32[3, 2], "0 to 1, v downwards"),
    Row(0x32, "color",    U8[3, 3],  "as in the file"),
)
# fmt: on


def encode_json(value: Sequence[Any] | dict[str, Any]) -> bytes:
    """Encode a small value for another node; equal values give equal bytes."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False).encode()


def decode_json(data: bytes) -> Any:
    """Decode the result of `encode_json`."""
    return json.loads(data)
