"""KAC 1.0 files: the tables, the value between them, the writer, the reader and the validator.

The rule: what the reader accepts loads in Kelpo and keeps to the specification. Kelpo's own loader
checks next to nothing and reads wild memory, so every count, index and size is checked here, on
the way in and on the way out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.layout.table import Layout, Row
from encoders.kit.layout.type import F32, U16, U32, Bits, Const, magic, raw

# fmt: off
HEADER = Layout("KAC 1.0 file format header", 8,
    Row(0x00, "segment_identifier",  magic(b"KAC ")),
    Row(0x04, "file_format_version", Const(F32, 1.0)),
)
SEGMENT = Layout("KAC 1.0 segment", 8,
    Row(0x00, "segment_identifier", raw(4), "four letters, padded with blanks"),
    Row(0x04, "n",                  U32,    "number of entries that follow"),
)
NORMAL = Layout("KAC 1.0 NORM normal", 12,
    Row(0x00, "normal", F32[3], "x, y, z"),
)
UV = Layout("KAC 1.0 UV coordinates", 8,
    Row(0x00, "coordinates", F32[2], "u, v; v = 0 is the first row of the texture"),
)
VERTEX = Layout("KAC 1.0 VERT coordinates", 12,
    Row(0x00, "coordinates", F32[3], "x, y, z"),
)
TRIANGLE = Layout("KAC 1.0 3MSH triangle", 20,
    Row(0x00, "material_idx",   U16),
    Row(0x02, "indexed_vertex", U16[3, 3], "for each corner: vertex, normal, uv"),
)
MATERIAL = Layout("KAC 1.0 MATE material", 6,
    Row(0x00, "color",    Bits(U16, (("r", 4), ("g", 4), ("b", 4), ("a", 4)))),
    Row(0x02, "metadata", Bits(U32, (
        ("texture_idx", 16), ("has_texture", 1), ("has_smooth_shading", 1), ("_padding", 14),
    ))),
)
TEXTURE = Layout("KAC 1.0 TXTR texture metadata", 20,
    Row(0x00, "parameters",      Bits(U32, (
        ("side_length", 16), ("sample_linearly", 1), ("clamp_uv", 1), ("_padding", 14),
    ))),
    Row(0x04, "pixel_data_hash", raw(16), "first half of the SHA-256 of mip level 0"),
)
TEXEL = Layout("KAC 1.0 TXTR pixel", 2,
    Row(0x00, "pixel", Bits(U16, (("r", 5), ("g", 5), ("b", 5), ("a", 1)))),
)
# fmt: on

TEXTURES = b"TXTR"
# The order in which they are written; between the header and TXTR any order can be read.
ENTRIES = {b"NORM": NORMAL, b"UV  ": UV, b"VERT": VERTEX, b"3MSH": TRIANGLE, b"MATE": MATERIAL}
ARRAYS = {b"NORM": "normals", b"UV  ": "UV coordinates", b"VERT": "vertices", b"MATE": "materials"}
CORNER_INDICES = (b"VERT", b"NORM", b"UV  ")
COUNT_LIMIT = 65536
SIDES = tuple(1 << level for level in range(9))
# The loader keeps offsets in signed 32-bit numbers.
SIZE_LIMIT_BYTES = 1 << 31

Columns = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Texture:
    """One texture: its flags, and the texels of all its mip levels as they are stored."""

    side_length: int
    sample_linearly: bool
    clamp_uv: bool
    texels: bytes
    pixel_data_hash: bytes = b""

    @property
    def true_hash(self) -> bytes:
        """What the hash has to be: half a SHA-256 of all of level 0."""
        return hashlib.sha256(self.texels[: 2 * self.side_length**2]).digest()[:16]

    def levels(self) -> list[bytes]:
        """Cut the texels into mip levels, the largest first."""
        sides = [side for side in reversed(SIDES) if side <= self.side_length]
        ends = np.cumsum([2 * side * side for side in sides]).tolist()
        return [self.texels[e - 2 * s * s : e] for s, e in zip(sides, ends, strict=True)]


@dataclass(frozen=True, eq=False)
class Kac:
    """A whole file. Arrays have an entry a row; `materials` has the columns of MATERIAL.

    `corners` (triangles, 3, 3) holds vertex, normal and uv for each corner, as the file does.
    """

    normals: npt.NDArray[np.float32]
    uvs: npt.NDArray[np.float32]
    vertices: npt.NDArray[np.float32]
    material_idx: npt.NDArray[np.integer]
    corners: npt.NDArray[np.integer]
    materials: Columns
    textures: tuple[Texture, ...] = field(default=())

    def counts(self) -> dict[bytes, int]:
        """Say how many entries each segment has."""
        return {
            b"NORM": len(self.normals),
            b"UV  ": len(self.uvs),
            b"VERT": len(self.vertices),
            b"3MSH": len(self.material_idx),
            b"MATE": len(self.materials["r"]),
            TEXTURES: len(self.textures),
        }


def texture_size_bytes(side: int) -> int:
    """Give the size of a texture's record: metadata and all its mip levels."""
    return TEXTURE.size + 2 * (4 * side * side - 1) // 3


def pack_kac(kac: Kac, name: str) -> bytes:
    """Write a file, or refuse what no loader could take."""
    counts = kac.counts()
    size = HEADER.size + SEGMENT.size * len(counts)
    size += sum(layout.size * counts[key] for key, layout in ENTRIES.items())
    size += sum(texture_size_bytes(texture.side_length) for texture in kac.textures)
    if size >= SIZE_LIMIT_BYTES:
        facts = {"file": name, "bytes": size, "allowed": f"less than {SIZE_LIMIT_BYTES}"}
        raise EncodeError("the file would be too large", facts, "Cut the model into several.")
    validate(kac, name)
    columns: dict[bytes, Mapping[str, object]] = {
        b"NORM": {"normal": kac.normals},
        b"UV  ": {"coordinates": kac.uvs},
        b"VERT": {"coordinates": kac.vertices},
        b"3MSH": {"material_idx": kac.material_idx, "indexed_vertex": kac.corners},
        b"MATE": kac.materials,
    }
    parts = [HEADER.pack({})]
    for key, layout in ENTRIES.items():
        parts += [_head(key, counts[key]), layout.pack(columns[key], counts[key])]
    parts.append(_head(TEXTURES, counts[TEXTURES]))
    for texture in kac.textures:
        parts += [_texture_head(texture), texture.texels]
    return b"".join(parts)


def _head(key: bytes, count: int) -> bytes:
    return SEGMENT.pack({"segment_identifier": key, "n": count})


def _texture_head(texture: Texture) -> bytes:
    return TEXTURE.pack(
        {
            "side_length": texture.side_length,
            "sample_linearly": int(texture.sample_linearly),
            "clamp_uv": int(texture.clamp_uv),
            "pixel_data_hash": texture.true_hash,
        }
    )


def unpack_kac(data: bytes, name: str) -> Kac:
    """Read a file, refusing what Kelpo would refuse, misread or crash on."""
    if len(data) >= SIZE_LIMIT_BYTES:
        raise EncodeError("the file is too large", {"file": name, "bytes": len(data)})
    HEADER.unpack(data, 1, 0, name)
    found, offset = _unpack_segments(data, name)
    textures = _unpack_textures(data, offset, name)
    kac = Kac(
        normals=found[b"NORM"]["normal"],
        uvs=found[b"UV  "]["coordinates"],
        vertices=found[b"VERT"]["coordinates"],
        material_idx=found[b"3MSH"]["material_idx"],
        corners=found[b"3MSH"]["indexed_vertex"],
        materials=found[b"MATE"],
        textures=textures,
    )
    validate(kac, name)
    return kac


def _unpack_segments(data: bytes, name: str) -> tuple[dict[bytes, Columns], int]:
    """Read the segments before TXTR, and say where that begins."""
    found: dict[bytes, Columns] = {}
    offset = HEADER.size
    while data[offset : offset + 4] != TEXTURES:
        head = SEGMENT.unpack_one(data, offset, name)
        key = head["segment_identifier"].tobytes()
        facts = {"file": name, "offset": offset, "found": repr(key.decode("latin-1"))}
        if key not in ENTRIES:
            raise EncodeError("unknown segment", facts)
        if key in found:
            raise EncodeError("a segment is there twice", facts)
        if key in ARRAYS and head["n"] > COUNT_LIMIT:
            raise _too_many(name, key, head["n"])
        found[key] = ENTRIES[key].unpack(data, head["n"], offset + SEGMENT.size, name)
        offset += SEGMENT.size + head["n"] * ENTRIES[key].size
    missing = [key.decode() for key in ENTRIES if key not in found]
    if missing:
        raise EncodeError("a segment is missing", {"file": name, "missing": ", ".join(missing)})
    return found, offset


def _unpack_textures(data: bytes, offset: int, name: str) -> tuple[Texture, ...]:
    count = SEGMENT.unpack_one(data, offset, name)["n"]
    offset += SEGMENT.size
    textures = []
    for number in range(count):
        head = TEXTURE.unpack_one(data, offset, name)
        side = head["side_length"]
        _check_side(side, number, name)
        end = offset + texture_size_bytes(side)
        if end > len(data):
            facts = {"file": name, "texture": number, "bytes": len(data), "needed": end}
            raise EncodeError("the file is too short", facts)
        texels = data[offset + TEXTURE.size : end]
        flags = bool(head["sample_linearly"]), bool(head["clamp_uv"])
        textures.append(Texture(side, *flags, texels, head["pixel_data_hash"].tobytes()))
        offset = end
    if offset != len(data):
        facts = {"file": name, "bytes": len(data), "end of the last texture": offset}
        raise EncodeError("there is something behind the last texture", facts)
    return tuple(textures)


def validate(kac: Kac, name: str) -> None:
    """Refuse counts out of range, indices that lead nowhere and textures of a wrong size."""
    counts = kac.counts()
    for key in ENTRIES:
        if counts[key] == 0:
            facts = {"file": name, "segment": key.decode(), "allowed": "at least 1"}
            raise EncodeError("a segment is empty", facts)
    for key in (*ARRAYS, TEXTURES):
        if counts[key] > COUNT_LIMIT:
            raise _too_many(name, key, counts[key])
    for number, key in enumerate(CORNER_INDICES):
        _check_index(kac.corners[:, :, number], counts[key], f"{key.decode().strip()} index", name)
    _check_index(kac.material_idx, counts[b"MATE"], "material index", name)
    textured = kac.materials["texture_idx"][kac.materials["has_texture"] == 1]
    _check_index(textured, counts[TEXTURES], "texture index", name)
    for number, texture in enumerate(kac.textures):
        _check_side(texture.side_length, number, name)


def _too_many(name: str, key: bytes, count: int) -> EncodeError:
    facts = {"file": name, "array": ARRAYS.get(key, "textures"), "count": count}
    return EncodeError("too many entries in an array", {**facts, "limit": COUNT_LIMIT})


def _check_index(indices: npt.NDArray[np.integer], count: int, kind: str, name: str) -> None:
    if indices.size and int(indices.max()) >= count:
        facts = {"file": name, "index": int(indices.max()), "allowed": f"below {count}"}
        raise EncodeError(f"a {kind} leads nowhere", facts)


def _check_side(side: int, number: int, name: str) -> None:
    if side not in SIDES:
        facts = {"file": name, "texture": number, "side": side}
        allowed = "a power of two from 1 to 256"
        raise EncodeError(
            "a texture has a size that no loader takes", {**facts, "allowed": allowed}
        )
