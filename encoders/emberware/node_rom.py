"""The ROM node: code, metadata and all assets as one file.

The bytes are those that the console's own packer would write for the same assets, except for the
date: `created_at` comes from the manifest, never from the clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import xxhash

from encoders.emberware.format.clip import CLIP_HEADER, unpack_clip_header
from encoders.emberware.format.mesh import MESH_HEADER, unpack_mesh
from encoders.emberware.format.rom import LAYOUTS, ROM_VERSION, RomLayout, pack_rom
from encoders.emberware.format.skeleton import unpack_skeleton
from encoders.emberware.format.texture import TEXTURE_HEADER, unpack_texture
from encoders.emberware.format.vertex import ROM_FORMATS
from encoders.emberware.picture import warn_of_pictures
from encoders.emberware.profile import EMPTY_WASM, KIND_LISTS, PROFILES, WASM_MAGIC
from encoders.emberware.rom_budget import check_budget
from encoders.emberware.rom_music import pack_music
from encoders.kit.error import EncodeError
from encoders.kit.plan import REPORT, WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.content import content_warning, image_format
from encoders.kit.warning import grouped

TICK_RATES = (30, 60, 120)
WASM, THUMBNAIL, SCREENSHOT = "wasm", "thumbnail", "screenshot/"
# Kinds that depend on one another: music plays sounds.
MUSIC_KINDS = ("sound", "tracker")
PICTURE_FORMATS = ("PNG", "JPEG")
TEXTURE_NUMBERS = {"rgba8": 0, "bc7": 1, "bc5": 2}
# Keys of `[game]` that only layouts with netplay hold, and their defaults.
NETPLAY = {"tick_rate": 60, "max_players": 4, "netplay": True}
# Keys of `[game]` that are copied into the metadata.
METADATA = (
    "id", "title", "author", "version", "description", "tags", "platform_game_id",
    "platform_author_id", "created_at", "tool_version", "render_mode", "default_resolution",
    "target_fps",
)  # fmt: skip

Fields = dict[str, Any]


def encode_rom(inputs: Inputs, params: Params) -> Outputs:
    """Pack all assets into a ROM, and report how much space each kind takes."""
    game, files = _table(params["game"]), _table(params["files"])
    profile = PROFILES[str(params["profile"])]
    layout = LAYOUTS[profile.layout]
    warnings: list[str] = []
    code = _code(inputs, files, warnings)
    if not layout.has_netplay:
        unused = [key for key, usual in NETPLAY.items() if game[key] != usual]
        warnings += [
            grouped("feature", f"`{key}` in [game] has no place in this profile's ROM")
            for key in unused
        ]
    pack = _data_pack(inputs, params)
    value = {
        "version": ROM_VERSION,
        "metadata": _metadata(game, layout, code),
        "code": code,
        # A data pack is optional, but where there is one it has all lists of its layout.
        "data_pack": _with_all_lists(pack, layout) if pack else None,
        "thumbnail": _picture(inputs, THUMBNAIL, files["thumbnail"], warnings),
        "screenshots": [
            _picture(inputs, f"{SCREENSHOT}{number}", name, warnings)
            for number, name in enumerate(files["screenshots"])
        ],
    }
    rom = pack_rom(layout, value)
    report, more = check_budget(value, len(rom), profile, _table(params["limit"]))
    warnings += more + warn_of_pictures(params)
    outputs = {"rom": rom, REPORT: "\n".join(report).encode()}
    return outputs | {WARNINGS: "\n".join(warnings).encode()}


def _table(value: object) -> Fields:
    assert isinstance(value, dict)
    return value


def _metadata(game: Fields, layout: RomLayout, code: bytes) -> Fields:
    found = {key: game[key] for key in METADATA}
    if layout.has_netplay:
        found["netplay"] = {
            "console_type": 0,
            "tick_rate": TICK_RATES.index(game["tick_rate"]),
            # There is no flag for "no netplay"; one player means the same.
            "max_players": game["max_players"] if game["netplay"] else 1,
            "rom_hash": xxhash.xxh3_64_intdigest(code),
        }
    return found


def _code(inputs: Inputs, files: Fields, warnings: list[str]) -> bytes:
    """Return the game's code, or an empty module with a warning."""
    name = files["wasm"]
    if name is None:
        warnings.append(
            grouped(
                "missing", "no `wasm` in [game]: the ROM holds an empty module, which does nothing"
            )
        )
        return EMPTY_WASM
    code = inputs.get(WASM)
    # A missing input file is left out of the inputs, so it is reported here.
    if code is None:
        hint = "Build the game's code first, or mend `wasm` in [game]."
        raise EncodeError("game code not found", {"file": name}, hint)
    if not code.startswith(WASM_MAGIC):
        facts = {"file": name, "found": code[:4].hex(" ") or "an empty file"}
        raise EncodeError("game code is not WebAssembly", facts | {"allowed": "00 61 73 6d"})
    return code


def _picture(inputs: Inputs, role: str, name: str | None, warnings: list[str]) -> bytes | None:
    """Return a thumbnail or screenshot, or refuse one that is missing or neither PNG nor JPEG."""
    if name is None:
        return None
    data = inputs.get(role)
    if data is None:
        raise EncodeError("picture not found", {"file": name}, "Add it, or mend it in [game].")
    form = image_format(data, name).name
    if form not in PICTURE_FORMATS:
        facts = {"file": name, "found": form, "allowed": ", ".join(PICTURE_FORMATS)}
        raise EncodeError("picture is of a format that the console does not show", facts)
    said = content_warning(data, name)
    warnings += [said] if said else []
    return data


def _data_pack(inputs: Inputs, params: Params) -> dict[str, list[Fields]]:
    """Return the data pack's lists that have assets, in the order of the manifest."""
    pack: dict[str, list[Fields]] = {}
    assets = _table(params["assets"])
    for kind, entries in assets.items():
        _check_ids(kind, entries)
        if kind in MUSIC_KINDS:
            continue
        convert = CONVERTERS[kind]
        pack[KIND_LISTS[kind]] = [
            {
                "id": entry["id"],
                **convert(inputs[f"{kind}/{number:05}"], entry["node"]),
                **_stated_format(entry),
            }
            for number, entry in enumerate(entries)
        ]
    lists = pack_music(inputs, *(assets.get(kind, ()) for kind in MUSIC_KINDS))
    named = zip(MUSIC_KINDS, lists, strict=True)
    return pack | {KIND_LISTS[kind]: entries for kind, entries in named if entries}


def _stated_format(entry: Fields) -> Fields:
    """Return the format of a texture that its file can't tell."""
    return {"format": TEXTURE_NUMBERS[entry["format"]]} if "format" in entry else {}


def _with_all_lists(pack: dict[str, list[Fields]], layout: RomLayout) -> Fields:
    return {name: pack.get(name, []) for name in layout.lists}


def _check_ids(kind: str, entries: Sequence[Fields]) -> None:
    """Refuse two assets of one kind with the same id: the console would find only one of them."""
    for asset_id, count in Counter(entry["id"] for entry in entries).items():
        if count > 1:
            nodes = ", ".join(entry["node"] for entry in entries if entry["id"] == asset_id)
            facts = {"kind": kind, "id": asset_id, "made by": nodes}
            raise EncodeError("two assets have the same id", facts, "Give one of them an `id`.")


# The converters check an asset's loose file and return its fields in the ROM, without the id. Large
# contents are views of the input, so that packing copies them once.


def _texture(data: bytes, name: str) -> Fields:
    found = unpack_texture(data, name)
    return {
        "width": found["width"],
        "height": found["height"],
        "format": TEXTURE_NUMBERS[found["format"]],
        "data": memoryview(data)[TEXTURE_HEADER.size :],
    }


def _mesh(data: bytes, name: str) -> Fields:
    found = unpack_mesh(data, name, ROM_FORMATS)
    end = MESH_HEADER.size + len(found["vertex_data"])
    return found | {"vertex_data": memoryview(data)[MESH_HEADER.size : end]}


def _skeleton(data: bytes, name: str) -> Fields:
    matrices = unpack_skeleton(data, name)
    rows = [{f"row{r}": matrix[r] for r in range(3)} for matrix in matrices]
    return {"bone_count": len(matrices), "inverse_bind_matrices": rows}


def _keyframes(data: bytes, name: str) -> Fields:
    bones, frames = unpack_clip_header(data, name)
    body = memoryview(data)[CLIP_HEADER.size :]
    return {"bone_count": bones, "frame_count": frames, "data": body}


def _data(data: bytes, _name: str) -> Fields:
    return {"data": data}


CONVERTERS: dict[str, Callable[[bytes, str], Fields]] = {
    "texture": _texture,
    "mesh": _mesh,
    "skeleton": _skeleton,
    "animation": _keyframes,
    "data": _data,
}
