"""The target `untold`: UntoldEngine scenes as tiles with LODs, and models with skins and clips."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from encoders.kit.image.import_option import IMAGE_IMPORT
from encoders.kit.mesh.import_option import FLIP_V, MESH_IMPORT, SHADING, SUBDIVIDE
from encoders.kit.option import Choice, Either, Flag, Number, Option, Several, Text
from encoders.kit.plan import (
    FILE,
    Asset,
    Budget,
    Kind,
    Node,
    Params,
    Reader,
    Settings,
    Survey,
    Surveys,
    Target,
)
from encoders.kit.source.registry import format_of, gltf_suffixes, image_suffixes, model_suffixes
from encoders.kit.source.shown_triangles import TRIANGLE_LIMIT
from encoders.untold.plan import check_lods, plan_scene
from encoders.untold.plan_model import plan_model

OPTIONS = {
    "tile_size": Option(
        Either((Several(Number(0.01, 1e6), 3, 3), Choice(("auto",)))),
        [25, 10000, 25],
        "the size of a tile in metres along x, y and z, or one that fits the number of objects",
    ),
    "lods": Option(
        Several(Number(0.001, 1), 0, 8),
        [0.5, 0.2],
        "the share of a tile's triangles that each of its LODs keeps",
    ),
    "hlod": Option(
        Number(0, 1), 0.1, "the share of a tile's triangles that its HLOD keeps; 0 makes none"
    ),
    "clip": Option(
        Flag(),
        True,
        "whether objects are cut at the borders of tiles; otherwise the tile in which an object's "
        "middle lies has all of it",
    ),
    **SHADING,
    "compression": Option(
        Choice(("none", "lz4", "zstd")),
        "none",
        "how vertices and indices are compressed; no engine released so far reads zstd, "
        'which needs `pip install "cartwright-build[zstd]"`',
    ),
    "format_version": Option(
        Choice((1, 4)), 1, "1 loads everywhere; 4 is for newer engines, which show emissive light"
    ),
    "textures": Option(
        Choice(("png", "astc")),
        "png",
        "image files, or `.utex` files with ASTC blocks and all mip levels, which need "
        '`pip install "cartwright-build[astc]"`',
    ),
    "hashed_names": Option(
        Flag(),
        False,
        "whether file names hold a digest of the content, for servers whose answers are cached",
    ),
    "double_sided": Option(
        Either((Choice(("source",)), Flag())),
        "source",
        "true gives every triangle a back; the format cannot say that a material is double-sided",
    ),
    **MESH_IMPORT,
    **TRIANGLE_LIMIT,
    **FLIP_V,
    **IMAGE_IMPORT,
}

CLIP_CHOICE = Either((Text(), Number(0, 1 << 20, whole=True)))
MODEL_OPTIONS = {
    "clips": Option(
        Either((CLIP_CHOICE, Several(CLIP_CHOICE))),
        "*",
        "names or indices of the clips that become files; `*` means all",
    ),
    "clip_files": Option(
        Flag(), True, "whether clips are files of their own; otherwise the model's file holds them"
    ),
    "frame_rate": Option(
        Number(0.001, 1000), 30, "how often clips are sampled, in frames a second"
    ),
    "lights": Option(
        Flag(), True, "whether lights and cameras of a glTF, FBX or USD source come along"
    ),
    **SHADING,
    **SUBDIVIDE,
    "compression": Option(
        Choice(("none", "lz4")), "none", "how vertices and indices are compressed"
    ),
    **{key: OPTIONS[key] for key in ("format_version", "textures", "double_sided")},
    **TRIANGLE_LIMIT,
    **FLIP_V,
    **IMAGE_IMPORT,
}

PICTURE_SURVEY = "encoders.untold.scene.picture_survey"


def _survey_function(suffix: str) -> str:
    """Name the survey that tells equal pictures in files of this suffix."""
    form = format_of(f"x{suffix}")
    if form is not None and form.layers:
        return f"{PICTURE_SURVEY}:survey_composed_pictures"
    if form is not None and form.convert:
        return f"{PICTURE_SURVEY}:survey_converted_pictures"
    return f"{PICTURE_SURVEY}:survey_gltf_pictures"


def plan(asset: Asset, surveys: Surveys, settings: Settings) -> Iterable[Node]:
    """Plan a scene or a model."""
    function = plan_scene if asset.kind == "scene" else plan_model
    return function(asset, surveys, settings)


def suggest_scene(survey: Survey) -> Params | None:
    """Return no options, and None for a character: tiles do not move."""
    return None if survey.get("skins") else {}


def check(
    assets: Sequence[Asset], settings: Settings, exists: Callable[[str], bool]
) -> Iterable[tuple[Asset | None, str, str]]:
    """Yield the scenes whose LODs do not get smaller."""
    del settings, exists
    for asset in assets:
        problem = check_lods(asset) if asset.kind == "scene" else ""
        if problem:
            yield asset, "lods", problem


def suggest_model(survey: Survey) -> Params | None:
    """Return no options for a character, and None for everything else."""
    return {} if survey.get("skins") else None


TARGET = Target(
    kinds={
        "scene": Kind(model_suffixes(), OPTIONS, table="scene", suggest=suggest_scene),
        "model": Kind(model_suffixes(), MODEL_OPTIONS, table="model", suggest=suggest_model),
    },
    plan=plan,
    check=check,
    # The engine streams tiles one by one, so each has to fit.
    budget=Budget("a tile", (".untold",), per=FILE),
    surveys={
        **dict.fromkeys(image_suffixes(), f"{PICTURE_SURVEY}:survey_picture"),
        **{suffix: _survey_function(suffix) for suffix in gltf_suffixes()},
    },
    readers=(
        Reader(
            ".untold",
            b"UNTOLD\0\0",
            "encoders.untold.view:decode_untold",
            exports={"obj": "encoders.untold.view:export_obj"},
            view="encoders.untold.picture.scene_view:view_untold",
        ),
        Reader(
            ".utex",
            b"UTEX\0\0\0\0",
            "encoders.untold.texture.utex:decode_utex",
            view="encoders.untold.picture.scene_view:view_utex",
        ),
        Reader(
            ".json",
            b"",
            "encoders.untold.view:decode_scene",
            needs_siblings=True,
            view="encoders.untold.picture.scene_view:view_scene",
        ),
        Reader(
            ".untoldanim",
            b"UNTOLD\0\0",
            "encoders.untold.view:decode_untold",
            view="encoders.untold.picture.clip_view:view_clip",
        ),
        Reader(
            ".untoldpack",
            b"",
            "encoders.untold.picture.pack_view:decode_pack",
            needs_siblings=True,
            view="encoders.untold.picture.clip_view:view_pack",
        ),
    ),
    charts={
        "encoders.untold.node_manifest:encode_manifest": "encoders.untold.chart:chart_manifest"
    },
)
