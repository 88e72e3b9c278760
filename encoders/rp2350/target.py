"""RP2350 firmware assets: a flat folder of Rust files, and data that they include.

One node for each texture, each mesh and each shared palette, and one for `mod.rs`, which includes
all of them. Names of files and constants follow from the source's path alone; two assets with one
name are refused.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence

from encoders.kit.error import EncodeError
from encoders.kit.image.import_option import IMAGE_IMPORT, POWER_OF_TWO
from encoders.kit.mesh.import_option import MESH_IMPORT, SHADING, double_sided
from encoders.kit.option import Choice, Flag, Number, Option, Text, Value, chosen
from encoders.kit.plan import (
    Asset,
    Budget,
    Family,
    Kind,
    Node,
    Params,
    Place,
    Product,
    Reader,
    Settings,
    Source,
    Survey,
    Surveys,
    Target,
)
from encoders.kit.source.outline import outline_model
from encoders.kit.source.registry import image_suffixes, model_suffixes
from encoders.kit.source.shown_triangles import TRIANGLE_LIMIT, check_shown_triangles
from encoders.kit.source.source_input import plan_inputs
from encoders.rp2350.identifier import (
    MODULE_FILE,
    file_base,
    identify_asset,
    identify_palette,
    lost_name,
    refuse_collisions,
)
from encoders.rp2350.side import MAX_SIDE, MIN_SIDE

# The role that lists the wrapper files of an asset for `mod.rs`.
INCLUDES = "includes"
BC1_OPTIONS = ("alpha_cutoff", "quality")
INDEXED = "indexed8"
WITH_BC1 = "format", ("bc1", "auto")
PALETTE = {
    "palette": Option(
        Text("[a-z][a-z0-9_]*", "a name of lower-case letters, digits and _"),
        None,
        "in indexed8, the palette that the texture shares with others of the same name",
        needs=("format", (INDEXED,)),
    ),
}
PACK = {
    "pack": Option(
        Flag(), False, "whether all patches are one data file and one Rust file", example=True
    )
}
# Only those that a manifest sets become params.
MESH_IMPORT_OPTIONS = {**MESH_IMPORT, **TRIANGLE_LIMIT, **double_sided(False), **PACK}
TEXTURE_IMPORT_OPTIONS = {**IMAGE_IMPORT, **PALETTE}
# Every few triangles become two files, and no console of this kind shows a hundred thousand.
TRIANGLE_SHARE = 0.25


def suggest_size(survey: Survey) -> Params | None:
    """Return the options without which a picture of this size is refused; None if none helps."""
    # Only here, because planning must not import numpy.
    from encoders.kit.image.import_image import imported_size

    sides = [int(str(survey[side])) for side in ("width", "height") if survey.get(side)]
    fits = all(MIN_SIDE <= side <= MAX_SIDE and not side & (side - 1) for side in sides)
    if fits:
        return {}
    options: Params = {"max_size": MAX_SIDE, "scale_to": POWER_OF_TWO}
    return options if min(imported_size(sides[0], sides[-1], options)) >= MIN_SIDE else None


TEXTURE = Kind(
    image_suffixes(),
    {
        "format": Option(
            Choice(("rgba4444", "bc1", INDEXED, "auto")),
            "rgba4444",
            "how texels are stored; `auto` takes BC1 where every texel is opaque",
        ),
        "mipmaps": Option(Flag(), False, "whether halved levels follow, until one side is 1"),
        "alpha_cutoff": Option(
            Number(0, 255, whole=True),
            128,
            "in BC1, texels with less alpha than this are holes",
            needs=WITH_BC1,
        ),
        "quality": Option(
            Choice(("default", "best")),
            "default",
            "in BC1, how long to search for block colours",
            needs=WITH_BC1,
        ),
        **PALETTE,
        **IMAGE_IMPORT,
    },
    suggest=suggest_size,
)
MESH = Kind(
    model_suffixes(),
    {
        "patch_size": Option(Number(3, 16, whole=True), 16, "the most vertices in a patch"),
        "entry_limit": Option(Number(3, 48, whole=True), 48, "the most strip entries in a patch"),
        "strip": Option(Flag(), True, "whether triangles are joined to strips"),
        "flip_v": Option(Flag(), False, "whether v is stored as 1 - v, for UVs with v upwards"),
        "generate_normals": Option(
            Flag(), True, "whether corners without a normal get a computed one instead of zeros"
        ),
        **PACK,
        **SHADING,
        **MESH_IMPORT_OPTIONS,
    },
)


def plan(asset: Asset, surveys: Surveys, settings: Settings) -> Iterable[Node]:
    """Plan the node of a texture or a mesh, and one that converts the mesh where that is needed."""
    del settings
    if not asset.kinds:  # the manifest asks for a kind that the file does not have
        return []
    identifier = identify_asset(asset)
    params = _params(asset, identifier)
    if asset.kind == "texture":
        is_indexed = params["format"] == INDEXED
        return [_indexed_node(asset) if is_indexed else _texture_node(asset, params)]
    check_shown_triangles(asset.source, surveys, asset.options, TRIANGLE_SHARE)
    # Images and materials hold no geometry.
    buffers = outline_model(asset.source, surveys).buffers
    files = plan_inputs(
        asset.name, (asset.source, *buffers), surveys, asset.options, TRIANGLE_SHARE
    )
    outputs = _mesh_outputs(file_base(identifier), bool(asset.options["pack"]))
    node = Node(asset.name, "encoders.rp2350.node_mesh:encode_mesh", files.inputs, params, outputs)
    return [*files.nodes, node]


def _mesh_outputs(base: str, is_packed: bool) -> dict[str, Place]:
    if is_packed:
        return {"descriptor": f"{base}.rs", "data": f"{base}_patches.bin", INCLUDES: None}
    return {
        "descriptor": f"{base}.rs",
        "wrapper": Family(f"{base}_patch", ".rs"),
        "data": Family(f"{base}_patch", ".bin"),
        INCLUDES: None,
    }


def _params(asset: Asset, identifier: str) -> dict[str, Value]:
    """Return the options of an asset; of import options only those that are set."""
    imports = TEXTURE_IMPORT_OPTIONS if asset.kind == "texture" else MESH_IMPORT_OPTIONS
    own = {name: value for name, value in asset.options.items() if name not in imports}
    lost = lost_name(asset)
    return {
        "identifier": identifier,
        "source": asset.source,
        **own,
        **chosen(asset.options, imports),
        **({"lost_name": lost} if lost else {}),
    }


def _texture_node(asset: Asset, params: Params) -> Node:
    base = file_base(str(params["identifier"]))
    outputs: dict[str, Place] = {"wrapper": f"{base}.rs", INCLUDES: None}
    if params["format"] == "auto":
        # Only the pixels decide which file there will be: bc/1 or rgba/4444.
        outputs |= {"bc": Family(f"{base}_bc", ".bin"), "rgba": Family(f"{base}_rgba", ".bin")}
    else:
        outputs["data"] = f"{base}_{params['format']}.bin"
    # Options that do not matter are no parameters: changing them must not build the texture again.
    without = {"palette", *(BC1_OPTIONS if params["format"] == "rgba4444" else ())}
    params = {name: value for name, value in params.items() if name not in without}
    inputs = {"source": Source(asset.source)}
    return Node(asset.name, "encoders.rp2350.node_texture:encode_texture", inputs, params, outputs)


def _indexed_node(asset: Asset) -> Node:
    """Plan an indexed texture, which reads the palette that it shares or makes its own."""
    identifier, palette = identify_asset(asset), str(asset.options["palette"] or "")
    base = file_base(identifier)
    inputs: dict[str, Source | Product] = {"source": Source(asset.source)}
    outputs: dict[str, Place] = {"wrapper": f"{base}.rs", "data": f"{base}_{INDEXED}.bin"}
    lost = lost_name(asset)
    params: dict[str, Value] = {"identifier": identifier, **_picture(asset)}
    params |= {"lost_name": lost} if lost else {}
    if palette:
        inputs["palette"] = Product(_palette_node_name(palette), "data")
        params["palette_identifier"] = identify_palette(palette)
    else:
        outputs["palette"] = f"{base}_palette.bin"
    encoder = "encoders.rp2350.node_indexed:encode_indexed"
    return Node(asset.name, encoder, inputs, params, outputs | {INCLUDES: None})


def _picture(asset: Asset) -> dict[str, Value]:
    """Return what decides the pixels of an indexed texture."""
    return {"source": asset.source, **chosen(asset.options, IMAGE_IMPORT)}


def _palette_node_name(palette: str) -> str:
    # By its file, like the module: assets are called by their sources.
    return f"{file_base(identify_palette(palette))}.rs"


def _palette_node(palette: str, members: Sequence[Asset]) -> Node:
    """Plan a palette that several textures share."""
    members = sorted(members, key=lambda asset: asset.name)
    base = file_base(identify_palette(palette))
    return Node(
        _palette_node_name(palette),
        "encoders.rp2350.node_indexed:encode_palette",
        {str(number): Source(asset.source) for number, asset in enumerate(members)},
        {"identifier": identify_palette(palette), "members": [_picture(one) for one in members]},
        {"wrapper": f"{base}.rs", "data": f"{base}.bin", INCLUDES: None},
        stands_on=tuple(asset.name for asset in members),
    )


def _refuse_mipmaps(indexed: Sequence[Asset]) -> None:
    """Refuse mip levels of indexed textures, which the hardware does not have."""
    wrong = [asset.source for asset in indexed if asset.options["mipmaps"]]
    if wrong:
        facts = {"textures": ", ".join(wrong), "format": INDEXED}
        hint = "Set `mipmaps = false` for them, or another format."
        raise EncodeError("indexed textures have no mip levels", facts, hint)


def _palettes_of_folders(indexed: Sequence[Asset]) -> dict[str, Value]:
    """Return the palettes that the textures of each folder use."""
    found: dict[str, set[str]] = {}
    for asset in indexed:
        shared = str(asset.options["palette"] or "")
        name = identify_palette(shared) if shared else f"{identify_asset(asset)}_PALETTE"
        found.setdefault(posixpath.dirname(asset.source), set()).add(name)
    palettes: dict[str, Value] = {}
    for folder, names in sorted(found.items()):
        palettes[folder] = [*sorted(names)]
    return palettes


def link(assets: Sequence[Asset], nodes: Sequence[Node], settings: Settings) -> Iterable[Node]:
    """Plan shared palettes, and `mod.rs`, which reads the list of wrapper files of every node."""
    # As in `plan`: other assets have no files and no identifier.
    made = [asset for asset in assets if asset.kinds]
    indexed = [one for one in made if one.options.get("format") == INDEXED]
    groups: dict[str, list[Asset]] = {}
    for asset in indexed:
        groups.setdefault(str(asset.options["palette"] or ""), []).append(asset)
    groups.pop("", None)  # those that share none
    refuse_collisions(made, {asset.name for asset in indexed}, sorted(groups))
    _refuse_mipmaps(indexed)
    palettes = [_palette_node(name, members) for name, members in sorted(groups.items())]
    yield from palettes
    kinds = {asset.name: asset.kind for asset in made}
    inputs = {
        f"{kinds[node.name]}/{node.params['identifier']}": Product(node.name, INCLUDES)
        for node in nodes
        if INCLUDES in node.outputs
    }
    inputs |= {
        f"palette/{one.params['identifier']}": Product(one.name, INCLUDES) for one in palettes
    }
    params: dict[str, Value] = {"source_root": settings.source_root}
    if indexed:
        params["palettes"] = _palettes_of_folders(indexed)
    outputs: dict[str, Place] = {"module": MODULE_FILE}
    yield Node(MODULE_FILE, "encoders.rp2350.node_module:encode_module", inputs, params, outputs)


TARGET = Target(
    kinds={"texture": TEXTURE, "mesh": MESH},
    plan=plan,
    link=link,
    # What `include_bytes!` puts into the firmware; the Rust modules are code.
    budget=Budget("flash", (".bin",)),
    name_parts=2,  # folder and file
    readers=(
        # The longer suffixes first: a `.bin` without one of them is a patch.
        *(
            Reader(
                f"{suffix}.bin",
                b"",
                f"encoders.rp2350.view:decode_{kind}",
                needs_siblings=True,
                view=f"encoders.rp2350.scene_view:view_{kind}",
            )
            for suffix, kind in (
                ("_rgba4444", "texture"),
                ("_bc1", "texture"),
                ("_indexed8", "indices"),
                ("_palette", "palette"),
                ("_patches", "pack"),
                ("", "patch"),
            )
        ),
        Reader(
            ".rs",
            b"",
            "encoders.rp2350.view:decode_rust",
            needs_siblings=True,
            exports={"obj": "encoders.rp2350.view:export_obj"},
            view="encoders.rp2350.scene_view:view_rust",
        ),
    ),
)
