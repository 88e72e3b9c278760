"""The target `splashpack`: PlayStation scenes, with textures placed in VRAM.

Textures and meshes are encoded independently of each other. The layout needs only the sizes of
textures; the scene's own node brings the bytes together.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import cast

from encoders.kit.error import EncodeError
from encoders.kit.image.import_option import IMAGE_IMPORT
from encoders.kit.mesh.import_option import SHADING
from encoders.kit.option import Choice, Either, Flag, Number, Option, Several, Text
from encoders.kit.plan import (
    ASSET,
    Asset,
    Budget,
    Kind,
    Node,
    Reader,
    Settings,
    Surveys,
    Table,
    Target,
)
from encoders.kit.source.registry import model_suffixes, sound_suffixes
from encoders.splashpack.plan import ONLY_V20, SCENE_IMPORT, plan_scene, sound_id, warn_of_rows

SOUND_LIMIT = 32  # what the runtime keeps; it ignores the rest in silence
PATH = Text(
    r"(?!/)(?!.:)(?!(?:.*/)?\.\.(?:/|$))[^\\\x00*?\[\]]+",
    "the path of one file inside the project, written with /",
)
FILE_STEM = Text(r"[^/\\\0-\x1f.\s][^/\\\0-\x1f]*", "a name without / or \\")
COORDINATE = Number(-1e9, 1e9)
# x, y, width, height.
RECTANGLE = Several(Number(0, 1024, whole=True), 4, 4)
SCENE = Kind(
    model_suffixes(),
    {
        "scale": Option(
            Number(0.001, 1_000_000), 100, "how many units of the source make 1.0 on the console"
        ),
        **SHADING,
        "tile_limit": Option(
            Number(1, 4096, whole=True),
            64,
            "into how many repeats of its texture a triangle may be cut",
        ),
        **SCENE_IMPORT,
        "files": Option(
            FILE_STEM, None, "what the files are called, such as `scene_0`; the name, if not given"
        ),
        "clear_color": Option(
            Several(Number(0, 255, whole=True), 3, 3),
            [0, 0, 0],
            "red, green, blue of the screen behind the scene, and of its fog; version 20 only",
        ),
        "fog": Option(
            Number(0, 10, whole=True), 0, "how dense the fog is; 0 is none; version 20 only"
        ),
        "collider": Option(
            Either((Flag(), Several(Text(r".+", "a glob")))),
            False,
            "whether the boxes of objects are solid: all, or those whose names match; version 20 "
            "only",
        ),
    },
    table="scene",
)
VRAM = Table(
    {
        "framebuffers": Option(
            Several(RECTANGLE),
            [[0, 0, 320, 240], [0, 256, 320, 240]],
            "x, y, width, height of the areas that are shown, in words",
        ),
        "reserved": Option(
            Several(RECTANGLE),
            [[960, 464, 64, 48]],
            "x, y, width, height of other areas to keep free; the system font's, if not given",
        ),
    }
)
TEXTURE = Table(
    {
        "match": Option(
            Text(r".+", "a glob"),
            "",
            "which images: a glob on a name or a path",
            required=True,
            example="*",
        ),
        "bpp": Option(
            Choice((4, 8, 16, "auto")),
            None,
            "bits of a texel; `auto` takes 4 where that loses nothing, else 8 (8, if not given)",
        ),
        "dither": Option(
            Either((Flag(), Number(0, 1))),
            None,
            "how much of lost colours is mixed from neighbours: 0 to 1, true is 0.75 (false, if "
            "not given)",
        ),
        "palette": Option(
            Text(r"[\w+-][\w.+-]*", "letters, digits, _ . + -"),
            None,
            "the palette that the texture shares with others of the same name in its scene; all of "
            "them need the same `bpp`",
            example="props",
        ),
        # None where a row says nothing, so that it leaves what an earlier row says.
        **{key: replace(option, default=None) for key, option in IMAGE_IMPORT.items()},
        # A page of the VRAM holds no larger ones.
        "max_size": replace(IMAGE_IMPORT["max_size"], default=None, example=256),
    },
    repeated=True,
)
CAMERA = Table(
    {
        "position": Option(
            Several(COORDINATE, 3, 3), None, "x, y, z of the eye, in units and axes of the sources"
        ),
        "rotation": Option(
            Several(Number(-360, 360), 3, 3),
            None,
            "degrees by which it looks up, turns right and leans right; at first it looks along +z",
        ),
        "walk": Option(
            Flag(), False, "whether the pad moves it over a flat floor as large as the scene"
        ),
        "height": Option(Number(0, 1e6), 1.8, "of the eye above that floor, in units"),
    }
)
SOUND = Table(
    {
        "source": Option(PATH, "", "a sound file", required=True),
        "id": Option(
            Text(r"[^\0]+", "a name"), None, "what scripts call it; the file's stem, if not given"
        ),
        "loop": Option(Flag(), False, "whether it repeats from its beginning"),
        "rate": Option(
            Number(1000, 48000, whole=True),
            None,
            "samples a second; the file's own up to 44,100, if not given",
        ),
    },
    repeated=True,
)


def plan(asset: Asset, surveys: Surveys, settings: Settings) -> Iterable[Node]:
    """Plan the nodes of one scene; scenes share no nodes."""
    return plan_scene(asset, surveys, settings)


def link(assets: Sequence[Asset], nodes: Sequence[Node], settings: Settings) -> Iterable[Node]:
    """Refuse settings that no scene can have; there are no nodes beside those of the scenes."""
    del nodes
    _check_areas(settings)
    if settings.options["version"] == 1:
        _refuse_new_keys(assets, settings)
    _check_sounds([sound_id(row) for row in settings.tables["sound"]])
    return []


def _check_areas(settings: Settings) -> None:
    for key, rectangles in settings.tables["vram"][0].items():
        for x, y, width, height in cast(list[list[int]], rectangles):
            # Options allow each number up to 1024; only together they may leave VRAM.
            if x + width > 1024 or y + height > 512 or not width or not height:
                found = f"x {x}, y {y}, {width} x {height}"
                facts = {"key": f"vram.{key}", "found": found, "VRAM": "1024 x 512 words"}
                raise EncodeError("an area does not lie in VRAM", facts)


def _refuse_new_keys(assets: Sequence[Asset], settings: Settings) -> None:
    """Refuse keys that version 1 has no place for: they would be ignored in silence."""
    given = ["[[sound]]"] * bool(settings.tables["sound"])
    camera = settings.tables["camera"][0]
    given += ["[camera]"] * any(camera[key] != one.default for key, one in CAMERA.options.items())
    for key in ONLY_V20:
        usual = SCENE.options[key].default
        given += [f"scene.{key}"] * any(asset.options[key] != usual for asset in assets)
    if given:
        facts = {"found": ", ".join(given), "version": 1}
        raise EncodeError("these keys need version 20", facts, "Write `version = 20` at the top.")


def _check_sounds(ids: Sequence[str]) -> None:
    if len(ids) > SOUND_LIMIT:
        facts = {"[[sound]]": len(ids), "allowed": SOUND_LIMIT}
        raise EncodeError("there are more sounds than the runtime keeps", facts)
    for one in ids:
        if ids.count(one) > 1 or len(one.encode()) > 255:
            allowed = "255 bytes, and another one for each sound"
            problem = "an id of a sound is too long, or given twice"
            raise EncodeError(problem, {"id": one, "allowed": allowed})


def check(
    assets: Sequence[Asset], settings: Settings, exists: Callable[[str], bool]
) -> Iterable[tuple[Asset | None, str, str]]:
    """Yield the rows of `[[sound]]` whose file is not there or no sound."""
    del assets
    suffixes = sound_suffixes()
    for number, row in enumerate(settings.tables["sound"], 1):
        source = posixpath.normpath(str(row["source"]))
        if not exists(source):
            yield None, f"sound[{number}].source", f'found "{source}"; there is no such file'
        elif posixpath.splitext(source)[1].lower() not in suffixes:
            said = f'found "{source}"; allowed: {", ".join(suffixes)}'
            yield None, f"sound[{number}].source", said


TARGET = Target(
    kinds={"scene": SCENE},
    plan=plan,
    check=check,
    warn=warn_of_rows,
    link=link,
    # The texels and palettes that a scene uploads.
    budget=Budget("VRAM", roles=("words", "palette"), per=ASSET),
    options={
        "version": Option(
            Choice((1, 20)), 1, "of the format: 20 is for runtimes from April 2026 on"
        )
    },
    tables={"vram": VRAM, "texture": TEXTURE, "camera": CAMERA, "sound": SOUND},
    readers=(
        Reader(
            ".splashpack",
            b"SP\x01\x00",
            "encoders.splashpack.view:decode_splashpack",
            exports={
                "obj": "encoders.splashpack.view:export_obj",
                "extract": "encoders.splashpack.view:extract_pictures",
            },
            view="encoders.splashpack.scene_view:view_splashpack",
        ),
        Reader(
            ".splashpack",
            b"SP\x14\x00",
            "encoders.splashpack.v20.view:decode_scene",
            needs_siblings=True,
            exports={
                "obj": "encoders.splashpack.v20.view:export_obj",
                "extract": "encoders.splashpack.v20.view:extract_scene",
            },
            view="encoders.splashpack.scene_view:view_scene20",
        ),
        Reader(
            ".vram",
            b"VR",
            "encoders.splashpack.v20.view:decode_vram",
            view="encoders.splashpack.scene_view:view_vram",
        ),
        Reader(
            ".spu",
            b"SA",
            "encoders.splashpack.v20.view:decode_spu",
            exports={"extract": "encoders.splashpack.v20.view:extract_spu"},
            view="encoders.splashpack.scene_view:view_spu",
        ),
    ),
    charts={
        "encoders.splashpack.node_layout:encode_layout": "encoders.splashpack.chart:chart_layout",
        "encoders.splashpack.node_texture:encode_texture": (
            "encoders.splashpack.chart:chart_palette"
        ),
    },
)
