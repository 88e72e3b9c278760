"""The outer shape of a glTF file: either GLB with its chunks, or plain JSON text.

Nothing here looks into the JSON. A GLB must be what its header says: the length, the chunk
order and every chunk's end are checked against the bytes before anything is taken out.
"""

from __future__ import annotations

import posixpath
import struct
from dataclasses import dataclass

from encoders.kit.error import EXPORT_AGAIN, OTHER_FORMAT, EncodeError
from encoders.kit.source.gltf.document.fault import fault
from encoders.kit.source.signature import describe_beginning

GLB_MAGIC = b"glTF"
GLB_VERSION = 2
JSON_CHUNK = 0x4E4F534A
BIN_CHUNK = 0x004E4942
_HEADER = struct.Struct("<4sII")
_CHUNK = struct.Struct("<II")
_UTF8_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Container:
    """The JSON text of a file and, for GLB, its binary chunk."""

    json: memoryview
    binary: memoryview | None


def decode_container(data: bytes, name: str) -> Container:
    """Split a .glb or .gltf file into JSON text and binary chunk."""
    if data[:4] == GLB_MAGIC:
        return _decode_glb(memoryview(data), name)
    start = len(_UTF8_BOM) if data.startswith(_UTF8_BOM) else 0
    if data[start : start + 64].lstrip()[:1] != b"{":
        problem = f"{posixpath.basename(name)} is not a glTF file: {describe_beginning(data)}"
        raise EncodeError(problem, {"file": name, "allowed": "GLB or JSON"}, OTHER_FORMAT)
    return Container(memoryview(data)[start:], None)


def _decode_glb(data: memoryview, name: str) -> Container:
    end = _check_header(data, name)
    kind, text, offset = _chunk(data, _HEADER.size, end, name)
    if kind != JSON_CHUNK:
        raise fault("GLB does not begin with its JSON chunk", name, "chunk 0", f"type 0x{kind:08X}")
    if end - offset < _CHUNK.size:
        return Container(text, None)
    kind, body, _ = _chunk(data, offset, end, name)
    # Chunks of other types are extensions that a reader must skip.
    return Container(text, body if kind == BIN_CHUNK else None)


def _check_header(data: memoryview, name: str) -> int:
    """Check the 12-byte header and return where the file ends by its own word."""
    if len(data) < _HEADER.size:
        raise fault("GLB is cut off", name, "header", f"{len(data)} bytes", "12 bytes")
    _, version, length = _HEADER.unpack_from(data)
    if version != GLB_VERSION:
        hint = "Export the model again as glTF 2.0."
        raise fault("GLB version is not supported", name, "header", version, GLB_VERSION, hint)
    if length > len(data):
        found = {"found": f"{len(data)} bytes", "the header says": f"{length} bytes"}
        facts = {"file": name, "at": "header", **found}
        raise EncodeError("GLB is cut off", facts, EXPORT_AGAIN)
    return int(length)


def _chunk(data: memoryview, offset: int, end: int, name: str) -> tuple[int, memoryview, int]:
    """Take the chunk at `offset`: its type, its bytes and where the next one begins."""
    start = offset + _CHUNK.size
    if start > end:
        raise fault("GLB is cut off", name, f"chunk at byte {offset}", f"{end - offset} bytes")
    length, kind = _CHUNK.unpack_from(data, offset)
    if start + length > end:
        place = f"chunk at byte {offset}"
        raise fault("GLB chunk reaches past the file", name, place, length, f"{end - start} bytes")
    return int(kind), data[start : start + length], start + length
