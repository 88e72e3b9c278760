"""The checks that hold for every KAC 1.0 file, written or read."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from encoders.kac.format import (
    ARRAYS,
    CORNER_INDICES,
    COUNT_LIMIT,
    ENTRIES,
    SIDES,
    TEXTURES,
    KacFile,
)
from encoders.kit.error import EncodeError


def validate(kac: KacFile, name: str) -> None:
    """Refuse counts out of range, indices without an entry and invalid texture sizes."""
    counts = kac.counts()
    # Kelpo loads nothing from a file with an empty segment, and reports success.
    for key in ENTRIES:
        if counts[key] == 0:
            facts = {"file": name, "segment": key.decode(), "allowed": "at least 1"}
            raise EncodeError("a segment is empty", facts)
    # Triangles are not limited: nothing indexes them.
    for key in (*ARRAYS, TEXTURES):
        if counts[key] > COUNT_LIMIT:
            raise too_many(name, key, counts[key])
    for number, key in enumerate(CORNER_INDICES):
        _check_index(kac.corners[:, :, number], counts[key], f"{key.decode().strip()} index", name)
    _check_index(kac.material_idx, counts[b"MATE"], "material index", name)
    # The index of a material without a texture is ignored.
    textured = kac.materials["texture_idx"][kac.materials["has_texture"] == 1]
    _check_index(textured, counts[TEXTURES], "texture index", name)
    for number, texture in enumerate(kac.textures):
        check_side(texture.side_length, number, name)


def too_many(name: str, key: bytes, count: int) -> EncodeError:
    """Return the error for a segment with more entries than indices can reach."""
    facts = {"file": name, "array": ARRAYS.get(key, "textures"), "count": count}
    return EncodeError("too many entries in an array", {**facts, "limit": COUNT_LIMIT})


def _check_index(indices: npt.NDArray[np.integer], count: int, kind: str, name: str) -> None:
    if indices.size and int(indices.max()) >= count:
        facts = {"file": name, "index": int(indices.max()), "allowed": f"below {count}"}
        raise EncodeError(f"a {kind} leads nowhere", facts)


def check_side(side: int, number: int, name: str) -> None:
    """Refuse a texture side that is not a power of two from 1 to 256."""
    if side not in SIDES:
        facts = {"file": name, "texture": number, "side": side}
        allowed = "a power of two from 1 to 256"
        raise EncodeError(
            "a texture has a size that no loader takes", {**facts, "allowed": allowed}
        )
