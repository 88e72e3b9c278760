"""Emberware Z: clips, meshes, skeletons, textures and sounds as loose files, and the ROM of a game.

A glTF file is first cut into parts, so that an edit of one clip makes that clip again and the ROM,
nothing else. Only what the survey says is known here; nothing is decoded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from encoders.emberware.plan import plan_asset
from encoders.emberware.profile import KIND_LISTS, PROFILES, ROM_LIMIT_MIB
from encoders.kit.option import Choice, Either, Flag, Number, Option, Several, Text, Value
from encoders.kit.plan import (
    ANY,
    Asset,
    Kind,
    Node,
    Params,
    Product,
    Reader,
    Settings,
    Source,
    Table,
    Target,
)
from encoders.kit.source.registry import (
    gltf_suffixes,
    image_suffixes,
    model_suffixes,
    sound_suffixes,
)

FILLED = Text(r"(?s).+", "a text that is not empty")
SAFE_ID = Text(
    r'(?=.{1,200}$)[^/\\:*?"<>|\x00-\x1f\x7f]*[^/\\:*?"<>|\x00-\x1f\x7f. ]',
    'a name without / \\ : * ? " < > | that does not end in a dot or a space',
)
PATH = Text(
    r"(?!/)(?!.:)(?!(?:.*/)?\.\.(?:/|$))[^\\\x00]+", "a path inside the project, written with /"
)
CHOSEN = Either((Number(0, 65535, whole=True), FILLED))
SKIN = Option(Either((Number(0, 65535, whole=True), Text())), "", "name or index of the skin")
FORMAT = Text(
    r"auto|POS(_UV)?(_COLOR)?(_NORMAL)?(_SKINNED)?", '"auto", or such as "POS_UV_NORMAL_SKINNED"'
)

MESH_OPTIONS = {
    "mesh": Option(CHOSEN, "*", "name or index of one mesh; else the whole scene"),
    "vertex_format": Option(FORMAT, "auto", "what a vertex holds"),
    "flip_v": Option(Either((Flag(), Choice(("auto",)))), "auto", "whether v is turned over"),
    "weld": Option(Flag(), True, "whether equal corners of an OBJ share a vertex"),
    "skin": SKIN,
}
ANIMATION_OPTIONS = {
    "clips": Option(Either((CHOSEN, Several(CHOSEN))), "*", "names or indices of clips"),
    "frame_rate": Option(Number(0.001, 1000), 30, "frames a second"),
    "space": Option(Choice(("model", "local")), "model", "whether parents are composed"),
    "include_last_frame": Option(Flag(), False, "whether the last key is a frame"),
    "id_prefix": Option(Text(), None, "what stands before clips' names, instead of the id and _"),
    "skin": SKIN,
}
GAME = {
    "id": Option(SAFE_ID, None, "what the ROM is called", required=True),
    "title": Option(FILLED, None, "the game's title", required=True),
    "author": Option(FILLED, None, "who made it", required=True),
    "version": Option(FILLED, None, "the game's version", required=True),
    "description": Option(Text(), "", "a few words"),
    "tags": Option(Several(Text()), [], "words to find it by"),
    "platform_game_id": Option(Text(), None, "the platform's number of the game"),
    "platform_author_id": Option(Text(), None, "the platform's number of the author"),
    "created_at": Option(Text(), "2025-12-13T00:00:00+00:00", "a date; never the clock"),
    "tool_version": Option(Text(), "0.1.0", "what the metadata says made it"),
    "render_mode": Option(Number(0, 3, whole=True), None, "how the console draws"),
    "default_resolution": Option(Text(), None, "such as 640x480"),
    "target_fps": Option(Number(1, 1000, whole=True), None, "frames a second"),
    "tick_rate": Option(Choice((30, 60, 120)), 60, "ticks a second, nczx only"),
    "max_players": Option(Number(1, 4, whole=True), 4, "players, nczx only"),
    "netplay": Option(Flag(), True, "whether it can be played over a network, nczx only"),
    "wasm": Option(PATH, None, "the game's code"),
    "thumbnail": Option(PATH, None, "a PNG or JPEG"),
    "screenshots": Option(Several(PATH), [], "PNGs or JPEGs"),
    "rom_limit_mib": Option(Number(1, 512, whole=True), ROM_LIMIT_MIB, "how large the ROM may be"),
}
FILES = ("wasm", "thumbnail", "screenshots")


def link(_assets: Sequence[Asset], nodes: Sequence[Node], settings: Settings) -> Iterator[Node]:
    """Plan the ROM, which stands on all assets."""
    game = settings.tables["game"][0]
    profile = str(settings.options["profile"])
    contents: dict[str, list[Value]] = {kind: [] for kind in KIND_LISTS}
    inputs: dict[str, Source | Product] = {}
    for node in nodes:
        if "id" not in node.params:
            continue
        kind = str(node.params["kind"])
        role = "samples" if kind == "sound" else "file"
        inputs[f"{kind}/{len(contents[kind]):05}"] = Product(node.name, role)
        contents[kind].append({"id": str(node.params["id"]), "node": node.name})
    inputs |= _game_files(game)
    params: Params = {
        "profile": profile,
        "game": {key: value for key, value in game.items() if key not in FILES},
        "files": {key: game[key] for key in FILES},
        "assets": {kind: entries for kind, entries in contents.items() if entries},
        "limit": {"rom_mib": game["rom_limit_mib"]},
    }
    file = f"{game['id']}.{PROFILES[profile].suffix}"
    name = re.sub("=", "%3D", file)
    yield Node(name, "encoders.emberware.rom:encode_rom", inputs, params, {"rom": file})


def _game_files(game: Params) -> dict[str, Source | Product]:
    found: dict[str, Source | Product] = {}
    for key in ("wasm", "thumbnail"):
        if game[key] is not None:
            found[key] = Source(str(game[key]))
    screenshots = game["screenshots"]
    assert isinstance(screenshots, list)
    return found | {f"screenshot/{i}": Source(str(one)) for i, one in enumerate(screenshots)}


PREFIXES = (".ewz", ".ewzx", ".nczx")
MADE = {kind: tuple(f"{prefix}{kind}" for prefix in PREFIXES) for kind in ("mesh", "skel", "anim")}
LOOSE: dict[str, tuple[str, dict[str, str]]] = {
    "anim": ("clip:decode_clip_file", {}),
    "skel": ("skeleton:decode_skeleton_file", {}),
    "mesh": ("mesh:decode_mesh_file", {"obj": "encoders.emberware.mesh_export:export_obj"}),
    "tex": (
        "texture:decode_texture_file",
        {"render": "encoders.emberware.texture:render_texture_file"},
    ),
    "snd": ("sound:decode_sound_file", {"extract": "encoders.emberware.sound:extract_sound_file"}),
}
ROM_READERS = tuple(
    Reader(
        suffix,
        magic,
        "encoders.emberware.rom_file:decode_rom_file",
        exports={"extract": "encoders.emberware.rom_file:extract_rom_file"},
    )
    for magic, suffix in ((b"EWZ\0", ".ewz"), (b"EWZX", ".ewzx"), (b"NCZX", ".nczx"))
)
LOOSE_READERS = tuple(
    Reader(f"{prefix}{kind}", b"", f"encoders.emberware.{decode}", exports=exports)
    for prefix in PREFIXES
    for kind, (decode, exports) in LOOSE.items()
)
TARGET = Target(
    kinds={
        "mesh": Kind((*model_suffixes(), *MADE["mesh"]), MESH_OPTIONS),
        "skeleton": Kind((*gltf_suffixes(), *MADE["skel"]), {"skin": SKIN}),
        "animation": Kind((*gltf_suffixes(), *MADE["anim"]), ANIMATION_OPTIONS),
        "texture": Kind(
            image_suffixes(),
            {"format": Option(Choice(("rgba8", "bc7")), "rgba8", "how pixels are stored")},
        ),
        "sound": Kind(sound_suffixes()),
        "data": Kind((ANY,)),
    },
    plan=plan_asset,
    link=link,
    options={"profile": Option(Choice(tuple(PROFILES)), "ewz", "which console")},
    tables={"game": Table(GAME)},
    readers=(*ROM_READERS, *LOOSE_READERS),
)
