"""What `doit inspect` shows of `.untold` files and scene manifests, and the export to OBJ."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.kit.error import EncodeError
from encoders.kit.plan import Siblings
from encoders.untold.format.layout import (
    ALPHA_MODES,
    ANIMATION,
    FILE_TYPES,
    NONE,
    SLOTS,
    TEXTURE_FORMATS,
    VERTEX,
    VERTEX_LIMIT,
)
from encoders.untold.format.reader import unpack_untold
from encoders.untold.format.untold_file import (
    EntityRecord,
    MaterialRecord,
    MeshRecord,
    TextureReference,
    UntoldFile,
)
from encoders.untold.mesh.vertex import PLUS, unpack_direction
from encoders.untold.rig_view import describe_rig
from encoders.untold.texture.utex import unpack_utex

LEVELS = ("lod_levels", "hlod_levels")
# Names in an OBJ file end with their line, and a backslash there would join the next one to it.
BREAKS_LINE = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]|\\(?=\s*$)")
# The keys of a tile without which the engine rejects the manifest.
REQUIRED = ("tile_id", "path_relative_to_manifest", "file_size_bytes", "bounds", "center")


def decode_untold(data: bytes, name: str) -> dict[str, Any]:
    """Describe a file: counts, entities, meshes, materials, textures, vertices, indices."""
    file = unpack_untold(data, name)
    if file.file_type == ANIMATION:
        head = {"format": f"untold {file.version}", "type": FILE_TYPES[ANIMATION]}
        return {**head, "bytes": len(data), **describe_rig(file)}
    return {
        "format": f"untold {file.version}",
        "type": FILE_TYPES[file.file_type],
        "bytes": len(data),
        "triangles": file.triangle_count,
        "vertices": file.vertex_count,
        "bounds": _box(file.world_bounds),
        "entities": [_describe_entity(entity) for entity in file.entities],
        "meshes": [_describe_mesh(mesh) for mesh in file.meshes],
        "materials": [_describe_material(material) for material in file.materials],
        "textures": [_describe_texture(texture) for texture in file.textures],
        "VERTEX_DATA": [_columns(mesh) for mesh in file.meshes],
        "INDEX_DATA": [mesh.indices.tolist() for mesh in file.meshes],
        **describe_rig(file),
    }


def _number(reference: int) -> int | None:
    return None if reference == NONE else reference


def _box(box: npt.NDArray[np.float32]) -> dict[str, list[float]]:
    low, high = box.tolist()
    return {"min": low, "max": high}


def _describe_entity(entity: EntityRecord) -> dict[str, Any]:
    return {
        "id": entity.entity_id,
        "name": entity.name,
        "parent": _number(entity.parent),
        "meshes": list(range(entity.first_mesh, entity.first_mesh + entity.mesh_count)),
    }


def _describe_texture(texture: TextureReference) -> dict[str, Any]:
    return {
        "uri": texture.uri,
        "format": TEXTURE_FORMATS[texture.format],
        "flags": texture.flags,
        "width": texture.width,
        "height": texture.height,
        "mips": texture.mip_count,
    }


def _describe_mesh(mesh: MeshRecord) -> dict[str, Any]:
    return {
        "name": mesh.name,
        "entity": mesh.entity_id,
        "material": _number(mesh.material),
        "vertices": mesh.vertex_count,
        "triangles": len(mesh.indices) // 3,
        **_box(mesh.bounds),
    }


def _describe_material(material: MaterialRecord) -> dict[str, Any]:
    textures = {
        slot: index for slot, index in zip(SLOTS, material.textures, strict=True) if index != NONE
    }
    return {
        "name": material.name,
        "alpha": ALPHA_MODES[material.alpha_mode],
        "base_color": list(material.base_color_factor),
        "emissive": list(material.emissive_factor),
        "metallic": material.metallic_factor,
        "roughness": material.roughness_factor,
        "normal_scale": material.normal_scale,
        "occlusion_strength": material.occlusion_strength,
        "alpha_cutoff": material.alpha_cutoff,
        "textures": textures,
    }


def _columns(mesh: MeshRecord) -> dict[str, Any]:
    stored = VERTEX.unpack(mesh.vertices, mesh.vertex_count)
    # Validated before: the field is PLUS or MINUS.
    sign = np.where(stored["tangent_w"] == PLUS, 1, -1)
    return {
        "position": stored["position"].tolist(),
        "normal": _direction(stored, "normal").tolist(),
        "tangent": np.column_stack([_direction(stored, "tangent"), sign]).tolist(),
        "uv0": stored["uv0"].tolist(),
        "uv1": stored["uv1"].tolist(),
        "color0": stored["color0"].tolist(),
    }


def _direction(stored: dict[str, npt.NDArray[Any]], field: str) -> npt.NDArray[np.float64]:
    return unpack_direction(np.stack([stored[f"{field}_{axis}"] for axis in "xyz"], axis=1))


def export_obj(data: bytes, name: str) -> dict[str, bytes]:
    """Export the geometry as an OBJ file with an object for each mesh."""
    file = unpack_untold(data, name)
    lines: list[str] = []
    # OBJ counts vertices from 1, over all objects.
    start = 1
    for number, mesh in enumerate(file.meshes):
        lines += _obj_lines(file, mesh, number, start)
        start += mesh.vertex_count
    return {"mesh.obj": "\n".join([*lines, ""]).encode()}


def _obj_lines(file: UntoldFile, mesh: MeshRecord, number: int, start: int) -> Iterable[str]:
    stored = VERTEX.unpack(mesh.vertices, mesh.vertex_count)
    yield f"o {_obj_name(mesh.name) or f'mesh_{number}'}"
    yield from _rows("v", stored["position"])
    yield from _rows("vt", stored["uv0"])
    yield from _rows("vn", _direction(stored, "normal"))
    if mesh.material != NONE:
        material = _obj_name(file.materials[mesh.material].name)
        yield f"usemtl {material or f'material_{mesh.material}'}"
    for corners in (mesh.indices.astype(np.int64).reshape(-1, 3) + start).tolist():
        yield " ".join(["f", *(f"{corner}/{corner}/{corner}" for corner in corners)])


def _obj_name(name: str | None) -> str:
    """Return a name that fits on one line, whatever the source called it."""
    return BREAKS_LINE.sub("_", name or "").strip()


def _rows(keyword: str, values: npt.NDArray[Any]) -> Iterable[str]:
    return (" ".join([keyword, *(f"{one:.9g}" for one in row)]) for row in values.tolist())


def decode_scene(data: bytes, name: str, siblings: Siblings) -> dict[str, Any]:
    """Validate a scene: every file of the manifest, with its size, bounds and textures."""
    document = _manifest(data, name)
    checked = _SceneCheck(name, siblings)
    shared = document.get("shared_bucket")
    tiles = [*document["tiles"], *([shared] if shared else [])]
    found = [checked.tile(tile) for tile in tiles]
    return {
        "format": f"scene manifest {document['version']}",
        "tiles": len(document["tiles"]),
        "shared": int(bool(shared)),
        "files": len(checked.files),
        "bytes": sum(checked.files.values()),
        "textures": len(checked.textures),
        "triangles": sum(one["triangles"] for one in found),
        "vertices": sum(one["vertices"] for one in found),
        "streaming_defaults": document["streaming_defaults"],
        "warnings": checked.warnings,
        "tile": found,
    }


def _manifest(data: bytes, name: str) -> dict[str, Any]:
    """Decode a manifest; refuse one that the engine would refuse."""
    try:
        document: Any = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise EncodeError("the file is no JSON", {"file": name, "reason": error}) from error
    # The engine rejects the whole manifest if one of these is missing or of another type.
    kinds: dict[str, type] = {"version": int, "streaming_defaults": dict, "tiles": list}
    for key, kind in kinds.items():
        if not isinstance(document, dict) or not isinstance(document.get(key), kind):
            raise EncodeError("the file is no scene manifest", {"file": name, "missing": key})
    defaults = document["streaming_defaults"]
    for key in ("streaming_radius", "unload_radius", "priority"):
        # The engine decodes the priority as an integer: 10.0 would fail.
        allowed = (int,) if key == "priority" else (int, float)
        if not isinstance(defaults.get(key), allowed):
            raise EncodeError("a required key is missing", {"file": name, "key": key})
    found: dict[str, Any] = document
    return found


class _SceneCheck:
    """The files of a scene while they are validated."""

    def __init__(self, name: str, siblings: Siblings) -> None:
        self.name, self.siblings = name, siblings
        self.files: dict[str, int] = {}
        self.textures: set[str] = set()
        self.warnings: list[str] = []

    def tile(self, tile: Any) -> dict[str, Any]:
        """Validate an entry of the manifest and all its levels, and describe it."""
        self._check_keys(tile)
        path = tile["path_relative_to_manifest"]
        file = self._file(path)
        if self.files[path] != tile["file_size_bytes"]:
            sizes = {"manifest": tile["file_size_bytes"], "file size": self.files[path]}
            raise self._error("a size is not that of the file", path, sizes)
        box = _box(file.world_bounds)
        # Exact: JSON keeps every digit of a float.
        if tile["bounds"] != box:
            facts = {"manifest": tile["bounds"], "file bounds": box}
            raise self._error("bounds are not those of the file", path, facts)
        middle = [(one + other) / 2 for one, other in zip(box["min"], box["max"], strict=True)]
        if tile["center"] != middle:
            raise self._error("a centre is not that of the bounds", path, {"found": tile["center"]})
        levels = [path for key in LEVELS for path in self._level_paths(tile, key)]
        for level in levels:
            self._level(level, file)
        if file.vertex_count > VERTEX_LIMIT:
            self.warnings.append(f"{path}: more than {VERTEX_LIMIT:,} vertices")
        return {
            "tile_id": tile["tile_id"],
            "bytes": self.files[path],
            "triangles": file.triangle_count,
            "vertices": file.vertex_count,
            "levels": len(levels),
        }

    def _check_keys(self, tile: Any) -> None:
        missing = [key for key in REQUIRED if not isinstance(tile, dict) or key not in tile]
        if missing:
            facts = {"file": self.name, "missing": ", ".join(missing)}
            raise EncodeError("a tile lacks a required key", facts)
        if not isinstance(tile["path_relative_to_manifest"], str):
            facts = {"file": self.name, "tile": tile["tile_id"]}
            raise EncodeError("a path is no text", facts)
        # The engine budgets its memory by this, as an integer. In Python, True is one as well.
        if isinstance(tile["file_size_bytes"], bool) or not isinstance(
            tile["file_size_bytes"], int
        ):
            facts = {"file": self.name, "tile": tile["tile_id"]}
            raise EncodeError("a file size is not a whole number", facts)

    def _level_paths(self, tile: dict[str, Any], key: str) -> list[str]:
        """Return the paths of a tile's levels, or refuse a list that the engine cannot decode."""
        levels = tile.get(key, [])
        records = levels if isinstance(levels, list) else [levels]
        paths = [one.get("path") if isinstance(one, dict) else None for one in records]
        if not isinstance(levels, list) or not all(isinstance(path, str) for path in paths):
            facts = {"file": self.name, "tile": tile["tile_id"], "key": key}
            raise EncodeError("the levels of a tile are no list of files", facts)
        return [str(path) for path in paths]

    def _level(self, path: str, full: UntoldFile) -> None:
        file = self._file(path)
        outside = (file.world_bounds[0] < full.world_bounds[0]) | (
            file.world_bounds[1] > full.world_bounds[1]
        )
        if outside.any():
            raise self._error("a level reaches out of its tile's bounds", path, {})

    def _file(self, path: str) -> UntoldFile:
        data = self.siblings(path)
        if data is None:
            raise self._error("a file is missing", path, {})
        self.files[path] = len(data)
        file = unpack_untold(data, path)
        for texture in file.textures:
            # URIs are relative to the tile, not to the manifest.
            self._texture(posixpath.join(posixpath.dirname(path), str(texture.uri)))
        return file

    def _texture(self, path: str) -> None:
        if path in self.textures:
            return
        data = self.siblings(path)
        if data is None:
            raise self._error("a texture is missing", path, {})
        if path.endswith(".utex"):
            unpack_utex(data, path)
        self.textures.add(path)

    def _error(self, problem: str, path: str, facts: dict[str, Any]) -> EncodeError:
        return EncodeError(problem, {"file": path, "named in": self.name, **facts})
