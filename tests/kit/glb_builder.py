"""A tiny glTF writer for tests: arrays in, .glb or .gltf out, every JSON key open to change."""

from __future__ import annotations

import base64
import json
import struct

import numpy as np

COMPONENTS = {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123, "u4": 5125, "f4": 5126}
TYPES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4"}


def glb(document: dict, binary: bytes = b"") -> bytes:
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text
    if binary:
        binary += bytes(-len(binary) % 4)
        chunks += struct.pack("<II", len(binary), 0x004E4942) + binary
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


class Builder:
    def __init__(self) -> None:
        self.binary = bytearray()
        self.json: dict = {"asset": {"version": "2.0"}}

    def add(self, key: str, **record) -> int:
        self.json.setdefault(key, []).append(record)
        return len(self.json[key]) - 1

    def view(self, data: bytes, **record) -> int:
        self.binary += bytes(-len(self.binary) % 4)
        offset = len(self.binary)
        self.binary += data
        return self.add("bufferViews", buffer=0, byteOffset=offset, byteLength=len(data), **record)

    def accessor(self, values, dtype="f4", kind=None, bounds=False, **record) -> int:
        array = np.asarray(values, np.dtype(f"<{dtype}"))
        if kind is None:
            kind = TYPES[1 if array.ndim == 1 else array.shape[1]]
        if bounds:
            rows = array.reshape(len(array), -1)
            record |= {"min": rows.min(axis=0).tolist(), "max": rows.max(axis=0).tolist()}
        return self.add(
            "accessors",
            bufferView=self.view(array.tobytes()),
            componentType=COMPONENTS[dtype],
            count=len(array),
            type=kind,
            **record,
        )

    def mesh(self, attributes: dict, name="mesh", **primitive) -> int:
        record = {"attributes": attributes, **primitive}
        return self.add("meshes", name=name, primitives=[record])

    def document(self) -> dict:
        if self.binary:
            self.json["buffers"] = [{"byteLength": len(self.binary)}]
        return self.json

    def glb(self) -> bytes:
        return glb(self.document(), bytes(self.binary))

    def gltf(self, uri: str | None = None) -> bytes:
        document = self.document()
        if self.binary:
            data = base64.b64encode(self.binary).decode()
            where = f"data:application/octet-stream;base64,{data}" if uri is None else uri
            document["buffers"][0]["uri"] = where
        return json.dumps(document).encode()


POSITIONS = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0))


def quad(**node) -> Builder:
    """A square of two triangles, facing +z, placed by one node."""
    builder = Builder()
    attributes = {
        "POSITION": builder.accessor(POSITIONS, bounds=True),
        "NORMAL": builder.accessor([(0, 0, 1)] * 4),
        "TANGENT": builder.accessor([(1, 0, 0, 1)] * 4),
        "TEXCOORD_0": builder.accessor([(0, 1), (1, 1), (0, 0), (1, 0)]),
    }
    indices = builder.accessor([0, 1, 2, 2, 1, 3], "u2")
    builder.mesh(attributes, "square", indices=indices)
    builder.add("nodes", name="place", mesh=0, **node)
    builder.add("scenes", nodes=[0])
    return builder
