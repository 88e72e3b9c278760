"""ROMs read back: every byte accounted for, and everything checked that the console checks.

A file does not say which layout it has, so those of its magic bytes are tried in turn. Beside
what the loader refuses, a ROM is refused whose assets the console would fail to load later: a
size that does not fit its counts, or two assets of one id.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from encoders.emberware.clip import BONE
from encoders.emberware.clip import HEADER as CLIP_HEADER
from encoders.emberware.column import Cursor
from encoders.emberware.mesh import HEADER as MESH_HEADER
from encoders.emberware.profile import WASM_MAGIC
from encoders.emberware.schema import EWZ, LAYOUTS, RomLayout
from encoders.emberware.skeleton import HEADER as SKELETON_HEADER
from encoders.emberware.skeleton import MATRIX
from encoders.emberware.sound import write_wav
from encoders.emberware.texture import HEADER as TEXTURE_HEADER
from encoders.emberware.texture import bc7_size, draw_png
from encoders.emberware.vertex import stride_of
from encoders.kit.error import EncodeError

ROM_VERSION = 1
TANGENT = 16
NEEDED = ("id", "title", "author", "version")

Value = dict[str, Any]


def unpack_rom(data: bytes, name: str) -> tuple[RomLayout, Value]:
    """Return a ROM's layout and its value."""
    layouts = [layout for layout in LAYOUTS.values() if data.startswith(layout.magic)]
    if not layouts:
        facts = {"file": name, "found": data[:4].hex(" ") or "an empty file"}
        raise EncodeError("not a ROM", facts | {"allowed": "EWZ\\0, EWZX or NCZX"})
    garbled, unfit = [], []
    for layout in layouts:
        try:
            value = _unpack(data, layout, name)
        except EncodeError as error:
            garbled.append(error)
            continue
        try:
            check_rom(value, layout, name)
        except EncodeError as error:
            unfit.append(error)
            continue
        return layout, value
    # A layout in which all bytes make sense is likely the right one.
    raise [*unfit, *garbled][0]


def _unpack(data: bytes, layout: RomLayout, name: str) -> Value:
    cursor = Cursor(memoryview(data), name, len(layout.magic))
    value = layout.rom.read(cursor, 1)[0]
    if cursor.place != len(data):
        raise cursor.fault("the file goes on behind its end", {"bytes": len(data)})
    return value


def check_rom(value: Value, layout: RomLayout, name: str) -> None:
    """Refuse what the loader refuses, and what a game would fail to load."""
    if value["version"] > ROM_VERSION:
        raise EncodeError("unknown ROM version", {"file": name, "version": value["version"]})
    for key in NEEDED:
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


def _always(_asset: Value, _layout: RomLayout) -> bool:
    return True


def _texture_fits(asset: Value, layout: RomLayout) -> bool:
    width, height = asset["width"], asset["height"]
    is_raw = layout.texture_formats[asset["format"]] == "Rgba8"
    size = width * height * 4 if is_raw else bc7_size(width, height)
    return len(asset["data"]) == size


def _mesh_fits(asset: Value, layout: RomLayout) -> bool:
    form = asset["format"]
    limit = 2 * TANGENT if layout.has_netplay else TANGENT
    stride = stride_of(form % TANGENT) + (4 if form & TANGENT else 0)
    indices = asset["index_data"]
    return (
        form < limit
        and len(asset["vertex_data"]) == asset["vertex_count"] * stride
        and len(indices) == asset["index_count"]
        and (not len(indices) or int(indices.max()) < asset["vertex_count"])
    )


def _skeleton_fits(asset: Value, _layout: RomLayout) -> bool:
    matrices = asset["inverse_bind_matrices"]
    values = [value for matrix in matrices for row in matrix.values() for value in row]
    return 1 <= asset["bone_count"] == len(matrices) and all(map(math.isfinite, values))


def _keyframes_fit(asset: Value, _layout: RomLayout) -> bool:
    size = asset["bone_count"] * asset["frame_count"] * BONE.size
    return bool(len(asset["data"]) == size > 0)


def _font_fits(asset: Value, _layout: RomLayout) -> bool:
    size = asset["atlas_width"] * asset["atlas_height"] * 4
    return bool(len(asset["atlas_data"]) == size)


SIZES: Mapping[str, Callable[[Value, RomLayout], bool]] = {
    "textures": _texture_fits,
    "meshes": _mesh_fits,
    "skeletons": _skeleton_fits,
    "keyframes": _keyframes_fit,
    "fonts": _font_fits,
}


def decode_rom_file(data: bytes, name: str) -> Value:
    """Show a ROM: its layout and counts, its metadata, then all content, bytes in hexadecimal."""
    layout, value = unpack_rom(data, name)
    pack = value["data_pack"] or {}
    for texture in pack.get("textures", ()):
        texture["format"] = layout.texture_formats[texture["format"]]
    shown: Value = {
        "layout": layout.name,
        "bytes": len(data),
        "code_bytes": len(value["code"]),
        "counts": {key: len(pack.get(key, ())) for key in layout.lists},
    }
    return {**shown, **_plain(value)}


def _plain(value: Any) -> Any:
    """Give bytes as hexadecimal text and arrays as lists."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, bytes):
        return value.hex()
    return value.tolist() if hasattr(value, "tolist") else value


def extract_rom_file(data: bytes, name: str) -> dict[str, bytes]:
    """Give everything in a ROM as files, assets in the form in which they lie beside it."""
    layout, value = unpack_rom(data, name)
    prefix = "ewz" if layout.magic == EWZ else layout.magic.decode().lower()
    metadata = json.dumps(_plain(value["metadata"]), indent=1, ensure_ascii=False)
    files = {"metadata.json": metadata.encode(), "game.wasm": value["code"]}
    pictures = {"thumbnail": value["thumbnail"]}
    pictures |= {f"screenshot{i}": one for i, one in enumerate(value["screenshots"])}
    files |= {f"{key}.{_suffix(one)}": one for key, one in pictures.items() if one is not None}
    for key, assets in (value["data_pack"] or {}).items():
        for asset in assets:
            for suffix, content in EXTRACTORS[key](asset).items():
                files[f"{key}/{_file_name(asset['id'])}.{suffix.format(prefix)}"] = content
    return files


def _suffix(picture: bytes) -> str:
    return "jpg" if picture.startswith(b"\xff\xd8") else "png"


def _file_name(asset_id: str) -> str:
    """Spell an id so that every file system takes it, and different ids stay different."""
    return re.sub(r"[^\w .-]|^\.|[. ]$", lambda found: f"%{ord(found[0]):02X}", asset_id) or "%"


def _texture_files(asset: Value) -> dict[str, bytes]:
    width, height, pixels = asset["width"], asset["height"], asset["data"]
    files = {"{}tex": TEXTURE_HEADER.pack({"width": width, "height": height}) + pixels}
    if pixels and asset["format"] == 0:
        files["png"] = draw_png(pixels, width, height, asset["id"])
    return files


def _mesh_files(asset: Value) -> dict[str, bytes]:
    header = {key: asset[key] for key in ("vertex_count", "index_count", "format")}
    indices = asset["index_data"].astype("<u2").tobytes()
    return {"{}mesh": MESH_HEADER.pack(header) + asset["vertex_data"] + indices}


def _skeleton_files(asset: Value) -> dict[str, bytes]:
    rows = [[one[f"row{r}"] for r in range(3)] for one in asset["inverse_bind_matrices"]]
    count = asset["bone_count"]
    names = ("column0", "column1", "column2", "translation")
    columns = {name: [[row[c] for row in one] for one in rows] for c, name in enumerate(names)}
    return {"{}skel": SKELETON_HEADER.pack({"bone_count": count}) + MATRIX.pack(columns, count)}


def _keyframes_files(asset: Value) -> dict[str, bytes]:
    header = {key: asset[key] for key in ("bone_count", "frame_count")}
    return {"{}anim": CLIP_HEADER.pack(header) + asset["data"]}


def _font_files(asset: Value) -> dict[str, bytes]:
    numbers = {key: one for key, one in asset.items() if key != "atlas_data"}
    files = {"json": json.dumps(numbers, indent=1, ensure_ascii=False).encode()}
    if asset["atlas_data"]:
        size = asset["atlas_width"], asset["atlas_height"]
        files["png"] = draw_png(asset["atlas_data"], *size, asset["id"])
    return files


EXTRACTORS: Mapping[str, Callable[[Value], dict[str, bytes]]] = {
    "textures": _texture_files,
    "meshes": _mesh_files,
    "skeletons": _skeleton_files,
    "keyframes": _keyframes_files,
    "fonts": _font_files,
    "sounds": lambda asset: {"wav": write_wav(asset["data"])},
    "data": lambda asset: {"bin": asset["data"]},
    "trackers": lambda asset: {"it" if asset.get("format") else "xm": asset["pattern_data"]},
}
