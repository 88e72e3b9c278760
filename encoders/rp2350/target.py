"""RP2350 firmware assets: a flat folder of Rust files, and data that they include.

One node for each texture and each mesh, and one for `mod.rs`, which includes all of them. Names of
files and constants follow from the source's path alone; two assets with one name are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from encoders.kit.image.import_option import IMAGE_IMPORT
from encoders.kit.mesh.import_option import MESH_IMPORT, SHADING, double_sided
from encoders.kit.option import Choice, Flag, Number, Option, Value, chosen
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
    lost_name,
    refuse_collisions,
)

# The role that lists the wrapper files of an asset for `mod.rs`.
INCLUDES = "includes"
BC1_OPTIONS = ("alpha_cutoff", "quality")
# Only those that a manifest sets become params.
MESH_IMPORT_OPTIONS = {**MESH_IMPORT, **TRIANGLE_LIMIT, **double_sided(False)}
# Every few triangles become two files, and no console of this kind shows a hundred thousand.
TRIANGLE_SHARE = 0.25

TEXTURE = Kind(
    image_suffixes(),
    {
        "format": Option(
            Choice(("rgba4444", "bc1", "auto")),
            "rgba4444",
            "how texels are stored; `auto` takes BC1 where every texel is opaque",
        ),
        "mipmaps": Option(Flag(), False, "whether halved levels follow, until one side is 1"),
        "alpha_cutoff": Option(
            Number(0, 255, whole=True), 128, "in BC1, texels with less alpha than this are holes"
        ),
        "quality": Option(
            Choice(("default", "best")), "default", "in BC1, how long to search for block colours"
        ),
        **IMAGE_IMPORT,
    },
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
        return [_texture_node(asset, params)]
    check_shown_triangles(asset.source, surveys, asset.options, TRIANGLE_SHARE)
    # Images and materials hold no geometry.
    buffers = outline_model(asset.source, surveys).buffers
    files = plan_inputs(asset.name, (asset.source, *buffers), surveys)
    base = file_base(identifier)
    outputs: dict[str, Place] = {
        "descriptor": f"{base}.rs",
        "wrapper": Family(f"{base}_patch", ".rs"),
        "data": Family(f"{base}_patch", ".bin"),
        INCLUDES: None,
    }
    node = Node(asset.name, "encoders.rp2350.node_mesh:encode_mesh", files.inputs, params, outputs)
    return [*files.nodes, node]


def _params(asset: Asset, identifier: str) -> dict[str, Value]:
    """Return the options of an asset; of import options only those that are set."""
    imports = IMAGE_IMPORT if asset.kind == "texture" else MESH_IMPORT_OPTIONS
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
    if params["format"] == "rgba4444":
        params = {name: value for name, value in params.items() if name not in BC1_OPTIONS}
    inputs = {"source": Source(asset.source)}
    return Node(asset.name, "encoders.rp2350.node_texture:encode_texture", inputs, params, outputs)


def link(assets: Sequence[Asset], nodes: Sequence[Node], settings: Settings) -> Iterable[Node]:
    """Plan `mod.rs`, which reads the list of wrapper files of every node."""
    # As in `plan`: other assets have no files and no identifier.
    made = [asset for asset in assets if asset.kinds]
    refuse_collisions(made)
    kinds = {asset.name: asset.kind for asset in made}
    inputs = {
        f"{kinds[node.name]}/{node.params['identifier']}": Product(node.name, INCLUDES)
        for node in nodes
        if INCLUDES in node.outputs
    }
    params = {"source_root": settings.source_root}
    outputs: dict[str, Place] = {"module": MODULE_FILE}
    yield Node(MODULE_FILE, "encoders.rp2350.node_module:encode_module", inputs, params, outputs)


TARGET = Target(
    kinds={"texture": TEXTURE, "mesh": MESH},
    plan=plan,
    link=link,
    # What `include_bytes!` puts into the firmware; the Rust modules are code.
    budget=Budget("flash", (".bin",)),
    readers=(
        # The longer suffixes first: a `.bin` without one of them is a patch.
        *(
            Reader(
                f"_{form}.bin",
                b"",
                "encoders.rp2350.view:decode_texture",
                needs_siblings=True,
                view="encoders.rp2350.scene_view:view_texture",
            )
            for form in ("rgba4444", "bc1")
        ),
        Reader(
            ".bin",
            b"",
            "encoders.rp2350.view:decode_patch",
            needs_siblings=True,
            view="encoders.rp2350.scene_view:view_patch",
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
