"""glTF files, written by hand: a JSON document beside (or in front of) one buffer.

Numbers are rounded to a tenth of a millimetre before they become float32, so the last bits of a
sine never reach the file.
"""

from __future__ import annotations

import itertools
import json
import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sample.shape import Model, Polygon

Record = dict[str, Any]
FLOAT, BYTE, SHORT = 5126, 5121, 5123
TYPES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}


class Document:
    """A glTF document under construction."""

    def __init__(self, names: Sequence[str], folder: str) -> None:
        self.buffer = bytearray()
        self.root: Record = {
            "asset": {"version": "2.0", "generator": "tools/make_sample.py"},
            "scene": 0,
            "scenes": [{"nodes": []}],
            "nodes": [],
            "meshes": [],
            "materials": [_material(name, index) for index, name in enumerate(names)],
            "textures": [{"source": index} for index in range(len(names))],
            "images": [{"name": name, "uri": f"{folder}{name}.png"} for name in names],
            "accessors": [],
            "bufferViews": [],
        }
        self.materials = {name: index for index, name in enumerate(names)}

    def add_normal_map(self, name: str, uri: str) -> None:
        """Give a material a normal map."""
        self.root["images"].append({"name": uri.rpartition(".")[0], "uri": uri})
        self.root["textures"].append({"source": len(self.root["images"]) - 1})
        texture = {"index": len(self.root["textures"]) - 1}
        self.root["materials"][self.materials[name]]["normalTexture"] = texture

    def accessor(self, values: npt.NDArray[Any], kind: int = FLOAT, limits: bool = False) -> int:
        """Append an array to the buffer and describe it."""
        rows = values.reshape(len(values), -1)
        stored = rows.astype({FLOAT: "<f4", BYTE: "u1", SHORT: "<u2"}[kind])
        self.buffer += b"\0" * (-len(self.buffer) % 4)
        view = {"buffer": 0, "byteOffset": len(self.buffer), "byteLength": stored.nbytes}
        self.buffer += stored.tobytes()
        self.root["bufferViews"].append(view)
        record = {
            "bufferView": len(self.root["bufferViews"]) - 1,
            "componentType": kind,
            "count": len(rows),
            "type": TYPES[rows.shape[1]],
        }
        if limits:
            record |= {"min": stored.min(axis=0).tolist(), "max": stored.max(axis=0).tolist()}
        self.root["accessors"].append(record)
        return len(self.root["accessors"]) - 1

    def mesh(self, model: Model) -> int:
        """Add a model as a mesh with a primitive for each of its materials."""
        names = dict.fromkeys(one.material for one in model.polygons)
        primitives = [self._primitive(name, model) for name in names]
        self.root["meshes"].append({"name": model.name, "primitives": primitives})
        return len(self.root["meshes"]) - 1

    def _primitive(self, material: str, model: Model) -> Record:
        polygons = [one for one in model.polygons if one.material == material]
        columns, indices = index_corners(polygons)
        attributes = {
            "POSITION": self.accessor(columns[:, 0:3], limits=True),
            "NORMAL": self.accessor(columns[:, 3:6]),
            "TEXCOORD_0": self.accessor(columns[:, 6:8]),
        }
        if columns.shape[1] > 8:
            attributes["JOINTS_0"] = self.accessor(columns[:, 8:12], BYTE)
            attributes["WEIGHTS_0"] = self.accessor(columns[:, 12:16])
        return {
            "attributes": attributes,
            "indices": self.accessor(indices, SHORT),
            "material": self.materials[material],
        }

    def node(self, **record: Any) -> int:
        """Add a node."""
        self.root["nodes"].append(record)
        return len(self.root["nodes"]) - 1

    def text(self, uri: str | None) -> bytes:
        """Return the document; without a URI the buffer is that of a GLB file."""
        buffer = {"byteLength": len(self.buffer)} | ({"uri": uri} if uri else {})
        filled = {key: value for key, value in self.root.items() if value != []}
        return json.dumps(
            filled | {"buffers": [buffer]}, indent=None if uri is None else 1
        ).encode()

    def glb(self) -> bytes:
        """Return the document and the buffer in one file."""
        text = self.text(None)
        text += b" " * (-len(text) % 4)
        data = bytes(self.buffer) + b"\0" * (-len(self.buffer) % 4)
        chunks = struct.pack("<II", len(text), 0x4E4F534A) + text
        chunks += struct.pack("<II", len(data), 0x004E4942) + data
        return struct.pack("<III", 0x46546C67, 2, 12 + len(chunks)) + chunks


def _material(name: str, texture: int) -> Record:
    look = {"baseColorTexture": {"index": texture}, "metallicFactor": 0, "roughnessFactor": 1}
    cut = {"alphaMode": "MASK", "alphaCutoff": 0.5} if name == "flora" else {}
    return {"name": name, "pbrMetallicRoughness": look} | cut


def corner_rows(polygon: Polygon) -> npt.NDArray[np.float64]:
    """Return a row for each corner: position, unit normal, uv, and joints with weights if any."""
    lengths = np.sqrt((polygon.normals * polygon.normals).sum(axis=1, keepdims=True))
    rows = [polygon.points.round(4), (polygon.normals / lengths).round(4), polygon.uvs.round(5)]
    if polygon.joints:
        hung = [sorted(one.items(), key=lambda pair: -pair[1])[:4] for one in polygon.joints]
        padded = [one + [(0, 0.0)] * (4 - len(one)) for one in hung]
        rows.append(np.array([[bone for bone, _ in one] for one in padded], float))
        rows.append(np.array([[weight for _, weight in one] for one in padded]).round(4))
    return np.concatenate(rows, axis=1) + 0.0  # turns -0.0 into 0.0, so that equal rows are one


def index_corners(polygons: Sequence[Polygon]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return distinct corners in order of first use, and triangles as indices."""
    seen: dict[tuple[float, ...], int] = {}
    indices: list[int] = []
    for polygon in polygons:
        found = [seen.setdefault(tuple(row), len(seen)) for row in corner_rows(polygon).tolist()]
        for second, third in itertools.pairwise(found[1:]):
            indices += [found[0], second, third]
    return np.array(list(seen)), np.array(indices)


def turn_about_y(degrees: float) -> list[float]:
    """Return a rotation as a quaternion."""
    half = math.radians(degrees) / 2
    return [0.0, round(math.sin(half), 6), 0.0, round(math.cos(half), 6)]
