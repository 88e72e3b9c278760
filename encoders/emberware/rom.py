"""The ROM: code, metadata and all assets as one serialised value behind four magic bytes.

The same assets give the same bytes, and those are the bytes that the console's own packer would
write: columns in canonical form, fields in the order of the layout, no clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xxhash

from encoders.emberware.budget import check_budget
from encoders.emberware.clip import HEADER as CLIP_HEADER
from encoders.emberware.clip import unpack_header
from encoders.emberware.mesh import HEADER as MESH_HEADER
from encoders.emberware.mesh import unpack_mesh
from encoders.emberware.profile import EMPTY_WASM, KIND_LISTS, PROFILES, WASM_MAGIC
from encoders.emberware.schema import LAYOUTS, RomLayout
from encoders.emberware.skeleton import unpack_skeleton
from encoders.emberware.texture import HEADER as TEXTURE_HEADER
from encoders.emberware.texture import unpack_texture
from encoders.kit.error import EncodeError
from encoders.kit.plan import REPORT, WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.content import image_format

ROM_VERSION = 1
TICK_RATES = (30, 60, 120)
WASM, THUMBNAIL, SCREENSHOT = "wasm", "thumbnail", "screenshot/"
PICTURE_FORMATS = ("PNG", "JPEG")
TEXTURE_NUMBERS = {"rgba8": 0, "bc7": 1}
# Keys of `[game]` that only layouts with netplay hold, and their defaults.
NETPLAY = {"tick_rate": 60, "max_players": 4, "netplay": True}
# Keys of `[game]` that go into the metadata as they are.
METADATA = (
    "id", "title", "author", "version", "description", "tags", "platform_game_id",
    "platform_author_id", "created_at", "tool_version", "render_mode", "default_resolution",
    "target_fps",
)  # fmt: skip

Value = dict[str, Any]


def encode_rom(inputs: Inputs, params: Params) -> Outputs:
    """Link all assets into a ROM, and report how its bytes are spent."""
    game, files = _table(params["game"]), _table(params["files"])
    profile = PROFILES[str(params["profile"])]
    layout = LAYOUTS[profile.layout]
    warnings: list[str] = []
    code = _code(inputs, files, warnings)
    if not layout.has_netplay:
        unused = [key for key, usual in NETPLAY.items() if game[key] != usual]
        warnings += [f"`{key}` in [game] has no place in this profile's ROM" for key in unused]
    pack = _data_pack(inputs, params)
    value = {
        "version": ROM_VERSION,
        "metadata": _metadata(game, layout, code),
        "code": code,
        "data_pack": _with_all_lists(pack, layout) if pack else None,
        "thumbnail": _picture(inputs, THUMBNAIL, files["thumbnail"]),
        "screenshots": [
            _picture(inputs, f"{SCREENSHOT}{number}", name)
            for number, name in enumerate(files["screenshots"])
        ],
    }
    rom = pack_rom(layout, value)
    report, more = check_budget(value, len(rom), profile, _table(params["limit"]))
    warnings += more
    outputs = {"rom": rom, REPORT: "\n".join(report).encode()}
    return outputs | {WARNINGS: "\n".join(warnings).encode()}


def pack_rom(layout: RomLayout, value: Mapping[str, Any]) -> bytes:
    """Return the file of a ROM's value."""
    return b"".join([layout.magic, *layout.rom.write([value])])


def _table(value: object) -> Value:
    assert isinstance(value, dict)
    return value


def _metadata(game: Value, layout: RomLayout, code: bytes) -> Value:
    found = {key: game[key] for key in METADATA}
    if layout.has_netplay:
        found["netplay"] = {
            "console_type": 0,
            "tick_rate": TICK_RATES.index(game["tick_rate"]),
            "max_players": game["max_players"] if game["netplay"] else 1,
            "rom_hash": xxhash.xxh3_64_intdigest(code),
        }
    return found


def _code(inputs: Inputs, files: Value, warnings: list[str]) -> bytes:
    """Return the game's code, or an empty module with a warning."""
    name = files["wasm"]
    if name is None:
        warnings.append("no `wasm` in [game]: the ROM holds an empty module, which does nothing")
        return EMPTY_WASM
    code = inputs.get(WASM)
    if code is None:
        hint = "Build the game's code first, or mend `wasm` in [game]."
        raise EncodeError("game code not found", {"file": name}, hint)
    if not code.startswith(WASM_MAGIC):
        facts = {"file": name, "found": code[:4].hex(" ") or "an empty file"}
        raise EncodeError("game code is not WebAssembly", facts | {"allowed": "00 61 73 6d"})
    return code


def _picture(inputs: Inputs, role: str, name: str | None) -> bytes | None:
    if name is None:
        return None
    data = inputs.get(role)
    if data is None:
        raise EncodeError("picture not found", {"file": name}, "Add it, or mend it in [game].")
    form = image_format(data, name).name
    if form not in PICTURE_FORMATS:
        facts = {"file": name, "found": form, "allowed": ", ".join(PICTURE_FORMATS)}
        raise EncodeError("picture is of a format that the console does not show", facts)
    return data


def _data_pack(inputs: Inputs, params: Params) -> dict[str, list[Value]]:
    """Return the assets by list, in the order of the manifest."""
    pack: dict[str, list[Value]] = {}
    for kind, entries in _table(params["assets"]).items():
        make = MAKERS[kind]
        _check_ids(kind, entries)
        pack[KIND_LISTS[kind]] = [
            {"id": entry["id"], **make(inputs[f"{kind}/{number:05}"], entry["node"])}
            for number, entry in enumerate(entries)
        ]
    return pack


def _with_all_lists(pack: dict[str, list[Value]], layout: RomLayout) -> Value:
    return {name: pack.get(name, []) for name in layout.lists}


def _check_ids(kind: str, entries: Sequence[Value]) -> None:
    """Refuse two assets of one kind and id: the console would find only one of them."""
    for asset_id, count in Counter(entry["id"] for entry in entries).items():
        if count > 1:
            nodes = ", ".join(entry["node"] for entry in entries if entry["id"] == asset_id)
            facts = {"kind": kind, "id": asset_id, "made by": nodes}
            raise EncodeError("two assets have the same id", facts, "Give one of them an `id`.")


def _texture(data: bytes, name: str) -> Value:
    found = unpack_texture(data, name)
    return {
        "width": found["width"],
        "height": found["height"],
        "format": TEXTURE_NUMBERS[found["format"]],
        "data": memoryview(data)[TEXTURE_HEADER.size :],
    }


def _mesh(data: bytes, name: str) -> Value:
    found = unpack_mesh(data, name)
    end = MESH_HEADER.size + len(found["vertex_data"])
    return found | {"vertex_data": memoryview(data)[MESH_HEADER.size : end]}


def _skeleton(data: bytes, name: str) -> Value:
    matrices = unpack_skeleton(data, name)
    rows = [{f"row{r}": matrix[r] for r in range(3)} for matrix in matrices]
    return {"bone_count": len(matrices), "inverse_bind_matrices": rows}


def _keyframes(data: bytes, name: str) -> Value:
    bones, frames = unpack_header(data, name)
    body = memoryview(data)[CLIP_HEADER.size :]
    return {"bone_count": bones, "frame_count": frames, "data": body}


def _sound(data: bytes, _name: str) -> Value:
    return {"data": np.frombuffer(data, "<i2")}


def _data(data: bytes, _name: str) -> Value:
    return {"data": data}


MAKERS: dict[str, Callable[[bytes, str], Value]] = {
    "texture": _texture,
    "mesh": _mesh,
    "skeleton": _skeleton,
    "animation": _keyframes,
    "sound": _sound,
    "data": _data,
}
