"""The target `splashpack`: PlayStation scenes in one file, with textures placed in VRAM.

Textures and meshes are encoded independently of each other. The layout needs only the sizes of
textures; the scene's own node brings the bytes together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
from encoders.kit.source.registry import model_suffixes
from encoders.splashpack.plan import SCENE_IMPORT, plan_scene

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
            Text(r".+", "a glob"), "", "which images: a glob on a name or a path", required=True
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
        # None where a row says nothing, so that it leaves what an earlier row says.
        **{key: replace(option, default=None) for key, option in IMAGE_IMPORT.items()},
    },
    repeated=True,
)


def plan(asset: Asset, surveys: Surveys, settings: Settings) -> Iterable[Node]:
    """Plan the nodes of one scene; scenes share no nodes."""
    return plan_scene(asset, surveys, settings)


def link(assets: Sequence[Asset], nodes: Sequence[Node], settings: Settings) -> Iterable[Node]:
    """Refuse areas outside of VRAM; there are no nodes beside those of the scenes."""
    del assets, nodes
    for key, rectangles in settings.tables["vram"][0].items():
        for x, y, width, height in cast(list[list[int]], rectangles):
            # Options allow each number up to 1024; only together they may leave VRAM.
            if x + width > 1024 or y + height > 512 or not width or not height:
                found = f"x {x}, y {y}, {width} x {height}"
                facts = {"key": f"vram.{key}", "found": found, "VRAM": "1024 x 512 words"}
                raise EncodeError("an area does not lie in VRAM", facts)
    return []


TARGET = Target(
    kinds={"scene": SCENE},
    plan=plan,
    link=link,
    # The texels and palettes that a scene uploads.
    budget=Budget("VRAM", roles=("words", "palette"), per=ASSET),
    tables={"vram": VRAM, "texture": TEXTURE},
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
    ),
)
