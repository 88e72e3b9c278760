"""The writer of KAC 1.0 files."""

from __future__ import annotations

from collections.abc import Mapping

from encoders.kac.format import (
    ENTRIES,
    HEADER,
    SEGMENT,
    SIZE_LIMIT_BYTES,
    TEXTURE,
    TEXTURES,
    KacFile,
    KacTexture,
    texture_size_bytes,
)
from encoders.kac.validate import validate
from encoders.kit.error import EncodeError


def pack_kac(kac: KacFile, name: str) -> bytes:
    """Encode a file, or refuse one that Kelpo could not load."""
    counts = kac.counts()
    size = HEADER.size + SEGMENT.size * len(counts)
    size += sum(layout.size * counts[key] for key, layout in ENTRIES.items())
    size += sum(texture_size_bytes(texture.side_length) for texture in kac.textures)
    # Before anything is packed, so that a model far too large takes no memory.
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


def _texture_head(texture: KacTexture) -> bytes:
    return TEXTURE.pack(
        {
            "side_length": texture.side_length,
            "sample_linearly": int(texture.sample_linearly),
            "clamp_uv": int(texture.clamp_uv),
            # Over the stored bytes of level 0; Kelpo ignores it, other tools may not.
            "pixel_data_hash": texture.true_hash,
        }
    )
