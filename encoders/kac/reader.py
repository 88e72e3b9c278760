"""The reader of KAC 1.0 files.

Kelpo's own loader checks almost nothing and reads past its buffers, so every count, index and size
is checked here: a file that is accepted follows the specification and loads in Kelpo.
"""

from __future__ import annotations

from encoders.kac.format import (
    ARRAYS,
    COUNT_LIMIT,
    ENTRIES,
    HEADER,
    SEGMENT,
    SIZE_LIMIT_BYTES,
    TEXTURE,
    TEXTURES,
    Columns,
    KacFile,
    KacTexture,
    texture_size_bytes,
)
from encoders.kac.validate import check_side, too_many, validate
from encoders.kit.error import EncodeError


def unpack_kac(data: bytes, name: str) -> KacFile:
    """Decode a file, or refuse one that Kelpo would refuse, misread or crash on."""
    if len(data) >= SIZE_LIMIT_BYTES:
        raise EncodeError("the file is too large", {"file": name, "bytes": len(data)})
    HEADER.unpack(data, 1, 0, name)
    found, offset = _unpack_segments(data, name)
    textures = _unpack_textures(data, offset, name)
    kac = KacFile(
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
    """Decode the segments before TXTR; also return the offset of TXTR."""
    found: dict[bytes, Columns] = {}
    offset = HEADER.size
    # Kelpo finds nothing behind TXTR, so that has to be the last segment.
    while data[offset : offset + 4] != TEXTURES:
        head = SEGMENT.unpack_one(data, offset, name)
        key = head["segment_identifier"].tobytes()
        facts = {"file": name, "offset": offset, "found": repr(key.decode("latin-1"))}
        if key not in ENTRIES:
            raise EncodeError("unknown segment", facts)
        # Kelpo would take the last one without a word.
        if key in found:
            raise EncodeError("a segment is there twice", facts)
        # Before unpacking, which would only say that the file is too short.
        if key in ARRAYS and head["n"] > COUNT_LIMIT:
            raise too_many(name, key, head["n"])
        found[key] = ENTRIES[key].unpack(data, head["n"], offset + SEGMENT.size, name)
        offset += SEGMENT.size + head["n"] * ENTRIES[key].size
    missing = [key.decode() for key in ENTRIES if key not in found]
    if missing:
        raise EncodeError("a segment is missing", {"file": name, "missing": ", ".join(missing)})
    return found, offset


def _unpack_textures(data: bytes, offset: int, name: str) -> tuple[KacTexture, ...]:
    count = SEGMENT.unpack_one(data, offset, name)["n"]
    offset += SEGMENT.size
    textures = []
    for number in range(count):
        head = TEXTURE.unpack_one(data, offset, name)
        side = head["side_length"]
        check_side(side, number, name)
        end = offset + texture_size_bytes(side)
        if end > len(data):
            facts = {"file": name, "texture": number, "bytes": len(data), "needed": end}
            raise EncodeError("the file is too short", facts)
        # The size of a record follows from its side: all levels down to 1 x 1.
        texels = data[offset + TEXTURE.size : end]
        flags = bool(head["sample_linearly"]), bool(head["clamp_uv"])
        textures.append(KacTexture(side, *flags, texels, head["pixel_data_hash"].tobytes()))
        offset = end
    # There is no padding and no end marker in KAC 1.0.
    if offset != len(data):
        facts = {"file": name, "bytes": len(data), "end of the last texture": offset}
        raise EncodeError("there is something behind the last texture", facts)
    return tuple(textures)
