"""The ROM's reader and validator.

A file does not say which layout it has, so those with its magic bytes are tried in turn. Refused
are files that the console's loader refuses, and also those whose assets a game would fail to load
later: a size that does not follow from the counts, or two assets with the same id.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from encoders.emberware.codec.bitcode_column import Cursor
from encoders.emberware.format.clip import BONE
from encoders.emberware.format.rom import LAYOUTS, ROM_VERSION, RomLayout
from encoders.emberware.format.texture import bc7_size
from encoders.emberware.format.vertex import FORMATS, ROM_FORMATS, stride_of
from encoders.emberware.profile import WASM_MAGIC
from encoders.kit.error import EncodeError

REQUIRED_METADATA = ("id", "title", "author", "version")

Fields = dict[str, Any]


def unpack_rom(data: bytes, name: str) -> tuple[RomLayout, Fields]:
    """Return the layout of a ROM and its decoded value."""
    layouts = [layout for layout in LAYOUTS.values() if data.startswith(layout.magic)]
    if not layouts:
        facts = {"file": name, "found": data[:4].hex(" ") or "an empty file"}
        raise EncodeError("not a ROM", facts | {"allowed": "EWZ\\0, EWZX or NCZX"})
    undecodable, invalid = [], []
    for layout in layouts:
        try:
            value = _unpack(data, layout, name)
        except EncodeError as error:
            undecodable.append(error)
            continue
        try:
            check_rom(value, layout, name)
        except EncodeError as error:
            invalid.append(error)
            continue
        return layout, value
    # A layout that decodes all bytes is likely the right one, so its error says most.
    raise [*invalid, *undecodable][0]


def _unpack(data: bytes, layout: RomLayout, name: str) -> Fields:
    """Decode a ROM of a known layout down to its last byte."""
    cursor = Cursor(memoryview(data), name, len(layout.magic))
    value = layout.rom.read(cursor, 1)[0]
    if cursor.offset != len(data):
        raise cursor.fault("the file goes on behind its end", {"bytes": len(data)})
    return value


def check_rom(value: Fields, layout: RomLayout, name: str) -> None:
    """Refuse a ROM that the loader would refuse, or with an asset that a game could not load."""
    # The console's loader accepts version 0 as well.
    if value["version"] > ROM_VERSION:
        raise EncodeError("unknown ROM version", {"file": name, "version": value["version"]})
    for key in REQUIRED_METADATA:
        if not value["metadata"][key]:
            raise EncodeError(f"game has no {key}", {"file": name})
    if not value["code"].startswith(WASM_MAGIC):
        found = value["code"][:4].hex(" ")
        raise EncodeError("game code is not WebAssembly", {"file": name, "found": found})
    for key, assets in (value["data_pack"] or {}).items():
        seen: set[str] = set()
        for asset in assets:
            fits = SIZES.get(key, _always)(asset, layout)
            if not fits or asset["id"] in seen:
                facts = {"file": name, "list": key, "id": asset["id"]}
                problem = "two assets have the same id" if fits else "asset does not fit its counts"
                raise EncodeError(problem, facts)
            seen.add(asset["id"])


def _always(_asset: Fields, _layout: RomLayout) -> bool:
    return True


def _texture_fits(asset: Fields, layout: RomLayout) -> bool:
    width, height = asset["width"], asset["height"]
    # BC5 has blocks of 16 bytes like BC7.
    is_raw = layout.texture_formats[asset["format"]] == "Rgba8"
    size = width * height * 4 if is_raw else bc7_size(width, height)
    return len(asset["data"]) == size


def _mesh_fits(asset: Fields, layout: RomLayout) -> bool:
    form = asset["format"]
    # Tangents came with the newest layout.
    limit = ROM_FORMATS if layout.has_netplay else FORMATS
    indices = asset["index_data"]
    return (
        form < limit
        and len(asset["vertex_data"]) == asset["vertex_count"] * stride_of(form)
        and len(indices) == asset["index_count"]
        and (not len(indices) or int(indices.max()) < asset["vertex_count"])
    )


def _skeleton_fits(asset: Fields, _layout: RomLayout) -> bool:
    matrices = asset["inverse_bind_matrices"]
    values = [value for matrix in matrices for row in matrix.values() for value in row]
    return 1 <= asset["bone_count"] == len(matrices) and all(map(math.isfinite, values))


def _keyframes_fit(asset: Fields, _layout: RomLayout) -> bool:
    size = asset["bone_count"] * asset["frame_count"] * BONE.size
    # Unlike loose files, keyframes in a ROM must have exactly this size for the console.
    return bool(len(asset["data"]) == size > 0)


def _font_fits(asset: Fields, _layout: RomLayout) -> bool:
    size = asset["atlas_width"] * asset["atlas_height"] * 4
    return bool(len(asset["atlas_data"]) == size)


# Whether the sizes of an asset follow from its counts, by the data pack's list.
SIZES: Mapping[str, Callable[[Fields, RomLayout], bool]] = {
    "textures": _texture_fits,
    "meshes": _mesh_fits,
    "skeletons": _skeleton_fits,
    "keyframes": _keyframes_fit,
    "fonts": _font_fits,
}
