"""Emberware Z: clips, meshes, skeletons, textures and sounds as loose files, and a game's ROM.

The declaration: kinds with their suffixes and options, the manifest's tables, and the readers.
"""

from __future__ import annotations

from encoders.emberware.plan import check_formats, plan_asset, plan_rom
from encoders.emberware.profile import PROFILES, ROM_LIMIT_MIB
from encoders.kit.image.import_option import IMAGE_IMPORT
from encoders.kit.mesh.import_option import MESH_IMPORT, SHADING, double_sided
from encoders.kit.option import Choice, Either, Flag, Number, Option, Several, Text
from encoders.kit.plan import ANY, Budget, Importer, Kind, Reader, Table, Target
from encoders.kit.source.registry import (
    image_suffixes,
    model_suffixes,
    rigged_suffixes,
    sound_suffixes,
    tracker_suffixes,
)
from encoders.kit.source.shown_triangles import TRIANGLE_LIMIT

FILLED = Text(r"[\s\S]+", "a text that is not empty")
# The ROM's file name, so it has to be valid on every file system.
SAFE_ID = Text(
    r'(?=.{1,200}$)[^/\\:*?"<>|\x00-\x1f\x7f]*[^/\\:*?"<>|\x00-\x1f\x7f. ]',
    'a name without / \\ : * ? " < > | that does not end in a dot or a space',
)
PATH = Text(
    r"(?!/)(?!.:)(?!(?:.*/)?\.\.(?:/|$))[^\\\x00]+", "a path inside the project, written with /"
)
CHOSEN = Either((Number(0, 65535, whole=True), FILLED))
SKIN = Option(Either((Number(0, 65535, whole=True), Text())), "", "name or index of the skin")
BONES = Option(
    Choice(("skin", "nodes")), "skin", "what the bones are: the skin's joints, or nodes with a mesh"
)
FORMAT = Text(
    r"auto|POS(_UV)?(_COLOR)?(_NORMAL(_TANGENT)?)?(_SKINNED)?",
    '"auto", or such as "POS_UV_NORMAL_SKINNED"',
)

MESH_OPTIONS = {
    "mesh": Option(CHOSEN, "*", "name or index of one mesh; else the whole scene"),
    "vertex_format": Option(FORMAT, "auto", "what a vertex holds"),
    "flip_v": Option(Either((Flag(), Choice(("auto",)))), "auto", "whether v is turned over"),
    "weld": Option(Flag(), True, "whether equal corners of an OBJ share a vertex"),
    "skin": SKIN,
    "bones": BONES,
    **MESH_IMPORT,
    **TRIANGLE_LIMIT,
    **SHADING,
    **double_sided(False),
}
ANIMATION_OPTIONS = {
    "clips": Option(Either((CHOSEN, Several(CHOSEN))), "*", "names or indices of clips"),
    "frame_rate": Option(Number(0.001, 1000), 30, "frames a second"),
    "space": Option(Choice(("model", "local")), "model", "whether parents are composed"),
    "include_last_frame": Option(Flag(), False, "whether the last key is a frame"),
    "id_prefix": Option(Text(), None, "what stands before clips' names, instead of the id and _"),
    "skin": SKIN,
    "bones": BONES,
    "skeleton": Option(PATH, None, "the file whose skin the clips move, by names of joints"),
    "bone_prefix": Option(Text(), "", "a prefix that names of joints are compared without"),
}
GAME = {
    "id": Option(SAFE_ID, None, "what the ROM is called", required=True, example="my-game"),
    "title": Option(FILLED, None, "the game's title", required=True, example="My game"),
    "author": Option(FILLED, None, "who made it", required=True, example="Your name"),
    "version": Option(FILLED, None, "the game's version", required=True, example="0.1.0"),
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
PREFIXES = (".ewz", ".ewzx", ".nczx")
# Sources that are already in the console's format.
MADE = {kind: tuple(f"{prefix}{kind}" for prefix in PREFIXES) for kind in ("mesh", "skel", "anim")}
# The decoder and the exports of each loose file (functions of view.py), and its view.
LOOSE: dict[str, tuple[str, dict[str, str], str]] = {
    "anim": ("decode_clip_file", {}, "view_clip"),
    "skel": ("decode_skeleton_file", {}, "view_skeleton"),
    "mesh": ("decode_mesh_file", {"obj": "encoders.emberware.view:export_obj"}, "view_mesh"),
    "tex": ("decode_texture_file", {}, "view_texture"),
    "snd": (
        "decode_sound_file",
        {"extract": "encoders.emberware.view:extract_sound_file"},
        "view_sound",
    ),
}
ROM_READERS = tuple(
    Reader(
        suffix,
        magic,
        "encoders.emberware.view:decode_rom_file",
        exports={"extract": "encoders.emberware.view:extract_rom_file"},
        view="encoders.emberware.scene_view:view_rom",
    )
    for magic, suffix in ((b"EWZ\0", ".ewz"), (b"EWZX", ".ewzx"), (b"NCZX", ".nczx"))
)
LOOSE_READERS = tuple(
    Reader(
        f"{prefix}{kind}",
        b"",
        f"encoders.emberware.view:{decode}",
        exports=exports,
        view=f"encoders.emberware.scene_view:{view}",
    )
    for prefix in PREFIXES
    for kind, (decode, exports, view) in LOOSE.items()
)
TARGET = Target(
    kinds={
        "mesh": Kind((*model_suffixes(), *MADE["mesh"]), MESH_OPTIONS),
        "skeleton": Kind((*rigged_suffixes(), *MADE["skel"]), {"skin": SKIN, "bones": BONES}),
        "animation": Kind(
            (*rigged_suffixes(), *MADE["anim"]), ANIMATION_OPTIONS, source_options=("skeleton",)
        ),
        "texture": Kind(
            image_suffixes(),
            {
                "format": Option(
                    Choice(("rgba8", "bc7", "bc5")),
                    "rgba8",
                    "how pixels are stored; bc5 is for normal maps, nczx only",
                ),
                **IMAGE_IMPORT,
            },
        ),
        "sound": Kind(
            sound_suffixes(),
            {
                "quality": Option(
                    Choice(("default", "best")),
                    "default",
                    "best takes the nearest codes, which the console's own encoder does not",
                )
            },
        ),
        "tracker": Kind(
            tracker_suffixes(),
            {
                "patterns": Option(
                    Flag(), True, "whether the ROM gets the song, or only its sounds"
                ),
                "sound_ids": Option(
                    Choice(("name", "number")),
                    "name",
                    "what sounds are called by: names in the module, or their numbers",
                ),
            },
            needs=("profile", "nczx"),
        ),
        "data": Kind((ANY,)),
    },
    plan=plan_asset,
    check=check_formats,
    link=plan_rom,
    charts={"encoders.emberware.node_rom:encode_rom": "encoders.emberware.chart:chart_rom"},
    name_parts=1,
    budget=Budget("ROM", tuple(f".{one.suffix}" for one in PROFILES.values()), made_of_others=True),
    options={
        "profile": Option(Choice(tuple(PROFILES)), "ewz", "which console"),
        "loose_files": Option(
            Flag(), True, "whether each asset is a file by itself too, beside the ROM"
        ),
    },
    tables={"game": Table(GAME)},
    readers=(*ROM_READERS, *LOOSE_READERS),
    commands={
        "import-ember": Importer(
            convert="encoders.emberware.ember_manifest:convert_ember",
            output="manifests/emberware.toml",
            purpose="write a manifest from an ember.toml or nether.toml",
            description="Paths in the file are relative to it; it must lie inside the project.",
        )
    },
)
