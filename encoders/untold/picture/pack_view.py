"""What `doit inspect` shows of `.untoldpack` files: every model that they list, validated."""

from __future__ import annotations

import json
import posixpath
from typing import Any

from encoders.kit.error import EncodeError
from encoders.kit.plan import Siblings
from encoders.untold.format.reader import unpack_untold
from encoders.untold.node_pack import VERSION


def decode_pack(data: bytes, name: str, siblings: Siblings) -> dict[str, Any]:
    """Validate a pack: its keys, every model file and all their textures."""
    document = _document(data, name)
    models = [_model(one, name, siblings) for one in document["models"]]
    return {
        "format": f"untoldpack {document['formatVersion']}",
        "source": document["sourceAsset"],
        "models": models,
    }


def _document(data: bytes, name: str) -> dict[str, Any]:
    try:
        document: Any = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise EncodeError("the file is no JSON", {"file": name, "reason": error}) from error
    kinds: dict[str, type] = {"formatVersion": int, "sourceAsset": str, "models": list}
    for key, kind in kinds.items():
        if not isinstance(document, dict) or not isinstance(document.get(key), kind):
            raise EncodeError("the file is no pack", {"file": name, "missing": key})
    found: dict[str, Any] = document
    if found["formatVersion"] != VERSION:
        facts = {"file": name, "found": found["formatVersion"], "allowed": VERSION}
        raise EncodeError("the version of the pack is not supported", facts)
    return found


def _model(one: Any, name: str, siblings: Siblings) -> dict[str, Any]:
    keys = ("displayName", "path", "transform")
    if not isinstance(one, dict) or any(key not in one for key in keys):
        facts = {"file": name, "needed": ", ".join(keys)}
        raise EncodeError("a model of the pack lacks a key", facts)
    path = one["path"]
    if not isinstance(path, str) or not _is_matrix(one["transform"]):
        facts = {"file": name, "model": one["displayName"]}
        raise EncodeError("a model of the pack has no path or no transform", facts)
    data = siblings(path)
    if data is None:
        raise EncodeError("a file is missing", {"file": path, "named in": name})
    file = unpack_untold(data, path)
    for texture in file.textures:
        # URIs are relative to the model, not to the pack.
        uri = posixpath.join(posixpath.dirname(path), str(texture.uri))
        if siblings(uri) is None:
            raise EncodeError("a texture is missing", {"file": uri, "named in": path})
    return {
        "name": one["displayName"],
        "path": path,
        "transform": one["transform"],
        "bytes": len(data),
        "triangles": file.triangle_count,
        "joints": sum(len(skeleton.joints) for skeleton in file.skeletons),
    }


def _is_matrix(rows: Any) -> bool:
    """Tell whether a value is four rows of four numbers."""
    if not isinstance(rows, list) or len(rows) != 4:
        return False
    return all(
        isinstance(row, list)
        and len(row) == 4
        and all(isinstance(one, int | float) and not isinstance(one, bool) for one in row)
        for row in rows
    )
