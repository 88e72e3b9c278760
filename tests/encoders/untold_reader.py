"""A second reader of `.untold` files, written from the specification with `struct` alone."""

from __future__ import annotations

import hashlib
import struct

import lz4.block
import numpy as np

NONE = 0xFFFFFFFF
MATERIAL = {1: "<II12f6I2I", 4: "<II12f7I4f2I"}
SLOTS = ("base_color", "normal", "metallic", "roughness", "emissive", "occlusion")


def decompressed(compression: int, payload: bytes, size: int) -> bytes:
    if compression == 1:
        return lz4.block.decompress(payload, uncompressed_size=size)
    assert compression == 2
    import zstandard

    return zstandard.ZstdDecompressor().decompressobj().decompress(payload)


def read(data: bytes) -> dict:
    """Read a file by the letter; whatever is wrong fails an assertion."""
    head = struct.unpack_from("<8s11I6f16f32s32s", data)
    magic, version, kind, flags, size, chunk_count = head[:6]
    assert (magic, flags, size, chunk_count) == (b"UNTOLD\0\0", 0, 204, 7)
    assert head[10:12] == (1, 0)
    assert head[18:34] == (1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1)
    chunks = {}
    hashed = hashlib.sha256()
    entries = [struct.unpack_from("<IIQQQII", data, 204 + 40 * n) for n in range(7)]
    assert [entry[0] for entry in entries] == [1, 2, 3, 4, 5, 6, 7]
    for chunk, compression, offset, stored, full, count, reserved in entries:
        assert (offset % 16, reserved) == (0, 0)
        payload = data[offset : offset + stored]
        assert len(payload) == stored
        hashed.update(payload)
        if compression:
            payload = decompressed(compression, payload, full)
        assert len(payload) == full
        chunks[chunk] = (payload, count)
    assert head[34] == hashed.digest()

    def text(offset: int) -> str | None:
        strings = chunks[1][0]
        return None if offset == NONE else strings[offset : strings.index(b"\0", offset)].decode()

    def rows(chunk: int, form: str) -> list[tuple]:
        payload, count = chunks[chunk]
        assert len(payload) == count * struct.calcsize(form)
        return [struct.unpack_from(form, payload, n * struct.calcsize(form)) for n in range(count)]

    found = {
        "version": version,
        "type": kind,
        "bounds": (head[12:15], head[15:18]),
        "compressed": [entry[0] for entry in entries if entry[1]],
        "entities": [
            {"id": row[0], "parent": row[1], "name": text(row[2]), "meshes": row[3:5]}
            for row in rows(2, "<6I6f6f16f")
        ],
        "meshes": [_mesh(row, text, chunks) for row in rows(3, "<8I6Q6f")],
        "materials": [_material(row, text, version) for row in rows(4, MATERIAL[version])],
        "textures": [
            {"name": text(row[0]), "uri": text(row[1]), "format": row[2], "flags": row[3]}
            | {"size": row[4:6], "mips": row[6]}
            for row in rows(5, "<8I")
        ],
    }
    counts = [len(found[key]) for key in ("meshes", "materials", "textures", "entities")]
    assert list(head[6:10]) == counts
    return found


def _mesh(row: tuple, text, chunks: dict) -> dict:
    entity, name, material, index_type, vertices, indices, stride, flags = row[:8]
    vertex_start, index_start, vertex_size, index_size, gpu, reserved = row[8:14]
    width = {1: 2, 2: 4}[index_type]
    assert (stride, flags, reserved) == (32, 0, 0)
    assert (vertex_size, index_size) == (32 * vertices, width * indices)
    assert gpu == vertex_size + index_size
    data = chunks[6][0][vertex_start : vertex_start + vertex_size]
    columns = [struct.unpack_from("<3fII4e4B", data, 32 * n) for n in range(vertices)]
    raw = chunks[7][0][index_start : index_start + index_size]
    corners = np.frombuffer(raw, f"<u{width}").reshape(-1, 3).astype(int)
    assert corners.max() < vertices
    position = np.array([one[:3] for one in columns])
    assert np.array_equal(position.min(axis=0), row[14:17])
    assert np.array_equal(position.max(axis=0), row[17:20])
    return {
        "entity": entity,
        "name": text(name),
        "material": None if material == NONE else material,
        "index_type": index_type,
        "position": position,
        "normal": np.array([_direction(one[3]) for one in columns])[:, :3],
        "tangent": np.array([_direction(one[4]) for one in columns]),
        "uv": np.array([one[5:7] for one in columns]),
        "uv1": np.array([one[7:9] for one in columns]),
        "color": np.array([one[9:13] for one in columns]),
        "triangles": corners,
    }


def _direction(word: int) -> tuple[float, float, float, float]:
    fields = [(word >> shift) & 0x3FF for shift in (0, 10, 20)]
    x, y, z = ((one - 1024 if one >= 512 else one) / 511 for one in fields)
    return x, y, z, {0: 0.0, 1: 1.0, 3: -1.0}[word >> 30]


def _material(row: tuple, text, version: int) -> dict:
    textures = row[14:20]
    found = {
        "name": text(row[0]),
        "flags": row[1],
        "color": row[2:6],
        "emissive": row[6:9],
        "normal_scale": row[9],
        "metallic": row[10],
        "roughness": row[11],
        "occlusion": row[12],
        "cutoff": row[13],
        "textures": {s: t for s, t in zip(SLOTS, textures, strict=True) if t != NONE},
        "reserved": row[-2:],
    }
    return found | ({"height": row[20:25]} if version == 4 else {})


def corners_of(found: dict) -> np.ndarray:
    """All triangles of a file as (n, 3 corners, 3)."""
    return np.concatenate([mesh["position"][mesh["triangles"]] for mesh in found["meshes"]])


def area(corners: np.ndarray) -> float:
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return float(np.linalg.norm(normal, axis=1).sum() / 2)
