"""KAC 1.0, the mesh container of the Kelpo renderer: a model with its textures in one file."""

from __future__ import annotations

from collections.abc import Iterable

from encoders.kit.image.import_option import IMAGE_IMPORT
from encoders.kit.mesh.import_option import FLIP_V, MESH_IMPORT, SHADING, double_sided
from encoders.kit.option import Choice, Flag, Number, Option, chosen
from encoders.kit.plan import (
    Asset,
    Budget,
    Family,
    Kind,
    Node,
    Place,
    Reader,
    Settings,
    Surveys,
    Target,
)
from encoders.kit.source.outline import outline_model
from encoders.kit.source.registry import model_suffixes
from encoders.kit.source.shown_triangles import TRIANGLE_LIMIT, check_shown_triangles
from encoders.kit.source.source_input import plan_inputs

# The texture slots of a material that a KAC file can hold.
SLOTS = ("alpha", "base_color")
OPTIONS = {
    "texture_size": Option(
        Number(2, 256, whole=True),
        256,
        "the longest side of a texture; sides become powers of two",
    ),
    "filter": Option(
        Choice(("linear", "nearest")),
        None,
        "how textures are read between texels; the source says it where this does not",
    ),
    "wrap": Option(
        Choice(("repeat", "clamp")),
        None,
        "how textures are read beyond their edges; the source says it where this does not",
    ),
    **SHADING,
    "mirror": Option(
        Flag(),
        False,
        "turn z around, because Kelpo's view is left-handed and sources are not",
        example=True,
    ),
    "overflow": Option(
        Choice(("error", "split")),
        "error",
        "what to do with a model that one file cannot hold: refuse it, or write several files",
    ),
}
# Only those that a manifest sets become params.
IMPORT_OPTIONS = {
    **MESH_IMPORT,
    **TRIANGLE_LIMIT,
    **FLIP_V,
    **double_sided(None, "; if not given, only fronts are kept, with a warning"),
    **IMAGE_IMPORT,
}


def plan(asset: Asset, surveys: Surveys, settings: Settings) -> Iterable[Node]:
    """Plan the node of a model; it reads the images that the model's triangles show."""
    del settings
    check_shown_triangles(asset.source, surveys, asset.options)
    outline = outline_model(asset.source, surveys)
    # Images inside a GLB come with the model; only files are inputs of their own.
    images = [image.name for image in outline.images(SLOTS) if not image.is_inside]
    files = plan_inputs(asset.name, [*outline.files, *images], surveys, asset.options)
    params = {"source": asset.source, **{name: asset.options[name] for name in OPTIONS}}
    place: Place = f"{asset.place}.kac"
    if asset.options["overflow"] == "split":
        place = Family(f"{asset.place}_", ".kac", alone=f"{asset.place}.kac")
    yield from files.nodes
    yield Node(
        asset.name,
        "encoders.kac.node_mesh:encode_mesh",
        files.inputs,
        {**params, **chosen(asset.options, IMPORT_OPTIONS)},
        {"kac": place},
    )


TARGET = Target(
    kinds={"mesh": Kind(model_suffixes(), {**OPTIONS, **IMPORT_OPTIONS})},
    plan=plan,
    budget=Budget("files", (".kac",)),
    readers=(
        Reader(
            ".kac",
            b"KAC ",
            "encoders.kac.view:decode_kac",
            exports={
                "obj": "encoders.kac.view:export_obj",
                "extract": "encoders.kac.view:extract_textures",
            },
            view="encoders.kac.scene_view:view_kac",
        ),
    ),
)
