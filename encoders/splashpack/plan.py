"""The nodes of a scene: embedded images, textures, meshes, the layout, and the scene itself.

What depends on content (which images a scene uses, and how) comes from surveys. This is imported
whenever a build is loaded, so it must not import numpy.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from encoders.kit.error import EncodeError
from encoders.kit.image.import_option import IMAGE_IMPORT
from encoders.kit.mesh.import_option import FLIP_V, MESH_IMPORT, double_sided
from encoders.kit.option import Value, chosen
from encoders.kit.plan import Asset, Node, Params, Product, Settings, Source, Surveys
from encoders.kit.source.outline import Outline, outline_model
from encoders.kit.source.shown_triangles import TRIANGLE_LIMIT, check_shown_triangles
from encoders.kit.source.source_input import plan_inputs
from encoders.splashpack.scene.texture_request import (
    TextureRequest,
    alpha_threshold,
    request_texture,
)

# The maps of a material that a texture is made from.
SLOTS = ("base_color", "alpha")
DEFAULT = {"bpp": 8, "dither": False}
# Options of a texture that say nothing of the picture whose colours a palette has to show.
UNLIKE_PICTURE = ("bpp", "dither", "palette")
IMPORT_DEFAULT = {key: option.default for key, option in IMAGE_IMPORT.items()}
# The same for every target, but said of sources: a scene may have several.
SCENE_IMPORT = {
    **MESH_IMPORT,
    **TRIANGLE_LIMIT,
    "pivot": replace(
        MESH_IMPORT["pivot"],
        doc="the point that becomes the origin: x y z or, for a scene of one source, the middle of "
        "the bounds or of their bottom",
    ),
    "triangles": replace(
        MESH_IMPORT["triangles"], doc="simplify each source to at most so many triangles"
    ),
    "simplify": replace(
        MESH_IMPORT["simplify"], doc="simplify each source to this part of its triangles"
    ),
    **FLIP_V,
    **double_sided("source"),
}
# Keys of a scene that its own node reads, not its meshes.
FILES = "files"
ONLY_V20 = ("clear_color", "fog", "collider")
# The runtime of version 20 draws nothing beyond this depth.
FAR_V20 = 16384
NAMES_SHOWN = 4  # of textures, in a warning
Input = Source | Product


@dataclass(frozen=True)
class EmbeddedImage:
    """An image inside a source: its number and its name there."""

    source: str
    number: int
    name: str

    @property
    def label(self) -> str:
        """The part of a task's name that stands for the image."""
        return _task_part(self.name) or f"{_stem(self.source)}.{self.number}"


@dataclass
class SceneInputs:
    """What a scene reads: the files and missing images of each source, and texture requests.

    `embedded` are the images inside of sources, by their names.
    """

    files: dict[str, dict[str, Input]] = field(default_factory=dict)
    missing: dict[str, list[str]] = field(default_factory=dict)
    requests: set[TextureRequest] = field(default_factory=set)
    embedded: dict[str, EmbeddedImage] = field(default_factory=dict)
    conversions: list[Node] = field(default_factory=list)


def plan_scene(asset: Asset, surveys: Surveys, settings: Settings) -> Iterable[Node]:
    """Plan all nodes of a scene, each after those that it reads."""
    _check_pivot(asset)
    for source in asset.sources:
        check_shown_triangles(source, surveys, asset.options)
    scene = _scene_inputs(asset, surveys)
    existing = [one for one in sorted(scene.requests) if _exists(one, scene, surveys)]
    images = _image_nodes(asset, scene, existing)
    textures, palettes = _texture_nodes(asset, scene, existing, images, settings)
    version = settings.options.get("version", 1)
    meshes = [*_mesh_nodes(asset, scene, {} if version == 1 else {"far": FAR_V20})]
    yield from scene.conversions
    yield from images.values()
    yield from palettes
    yield from textures.values()
    yield from meshes
    inputs, layout = _layout_node(asset, textures, meshes, settings)
    yield layout
    inputs = {**inputs, "layout": Product(layout.name, "layout")}
    if version == 1:
        yield _scene_node(asset, inputs, layout)
        return
    sounds = _sound_nodes(asset, settings.tables["sound"])
    yield from sounds.values()
    yield _scene_node20(asset, inputs, layout, sounds, settings)


def warn_of_rows(
    assets: Sequence[Asset], surveys: Surveys, settings: Settings
) -> Iterable[tuple[str, str]]:
    """Yield the rows of `[[texture]]` that match no texture of any scene."""
    rows = settings.tables["texture"]
    if not rows:
        return
    try:
        textures = [one for asset in assets for one in _texture_names(asset, surveys)]
    except EncodeError:  # a scene that cannot be planned says so; which textures it has is unknown
        return
    names = {name for known in textures for name in known}
    shown = ", ".join(sorted({min(known, key=len) for known in textures})[:NAMES_SHOWN])
    found = f"; there are, for example, {shown}" if shown else ""
    for number, row in enumerate(rows, 1):
        if not any(fnmatchcase(name, str(row["match"])) for name in names):
            yield f"texture[{number}].match", f'"{row["match"]}" matches no texture{found}'


def _texture_names(asset: Asset, surveys: Surveys) -> Iterable[set[str]]:
    """Yield for each texture of a scene the names by which a row of `[[texture]]` may mean it."""
    scene = _scene_inputs(asset, surveys)
    images = {name for one in scene.requests for name in (one.color, one.alpha) if name}
    return (_known_names(image, scene) for image in images)


def _scene_inputs(asset: Asset, surveys: Surveys) -> SceneInputs:
    scene = SceneInputs()
    for source in asset.sources:
        _add_source(scene, source, asset, surveys)
    return scene


def _check_pivot(asset: Asset) -> None:
    """Refuse a pivot that would move the sources of a scene apart."""
    pivot = asset.options["pivot"]
    if pivot in ("center", "bottom") and len(asset.sources) > 1:
        facts = {"scene": asset.id, "pivot": pivot, "sources": len(asset.sources)}
        hint = "Give it as x, y and z, such as `pivot = [10, 0, 5]`."
        raise EncodeError("several sources have no common pivot of this kind", facts, hint)


def _add_source(scene: SceneInputs, source: str, asset: Asset, surveys: Surveys) -> None:
    """Add the files of a source and the texture requests of its materials."""
    outline = outline_model(source, surveys)
    files = plan_inputs(asset.name, outline.files, surveys, asset.options)
    requests = _requests(outline)
    inside = {one.name: one for one in outline.images(SLOTS) if one.is_inside}
    scene.embedded |= {
        name: EmbeddedImage(source, one.number, one.label) for name, one in inside.items()
    }
    names = {name for one in requests for name in (one.color, one.alpha) if name}
    missing = [name for name in sorted(names - inside.keys()) if not _has(surveys, name)]
    # A missing image is an input as well, so that the node is rebuilt when the file appears.
    scene.files[source] = files.inputs | {path: Source(path) for path in missing}
    scene.conversions += files.nodes
    scene.missing[source] = missing
    scene.requests |= requests


def _has(surveys: Surveys, path: str) -> bool:
    try:
        return path in surveys
    except EncodeError:  # it exists but is damaged: the node that decodes it reports that
        return True


def _requests(outline: Outline) -> set[TextureRequest]:
    """Return the texture requests of the materials that triangles use."""
    found: set[TextureRequest] = set()
    for number in outline.shown_materials():
        material = outline.materials[number]
        images = {slot: one.name for slot, one in material.images.items()}
        alpha = material.alpha_mode, material.alpha_cutoff, material.alpha
        request = request_texture(images, alpha_threshold(*alpha))
        found |= {request} if request else set()
    return found


def _exists(request: TextureRequest, scene: SceneInputs, surveys: Surveys) -> bool:
    names = [name for name in (request.color, request.alpha) if name]
    return all(name in scene.embedded or _has(surveys, name) for name in names)


def _image_nodes(
    asset: Asset, scene: SceneInputs, requests: Sequence[TextureRequest]
) -> dict[str, Node]:
    """Plan a node for each source with embedded images, so that a texture reads only its own."""
    wanted: dict[str, set[int]] = {}
    for one in requests:
        # Only glTF has images inside, and it has no separate alpha map.
        if one.color in scene.embedded:
            image = scene.embedded[one.color]
            wanted.setdefault(image.source, set()).add(image.number)
    # Two sources may have the same stem.
    names = _distinct(f"{asset.name}/images/{_stem(source)}" for source in sorted(wanted))
    return {
        source: Node(
            name,
            "encoders.splashpack.node_images:encode_images",
            scene.files[source],
            {"source": source, "images": list[Value](sorted(wanted[source]))},
            {f"image{number}": None for number in sorted(wanted[source])},
        )
        for source, name in zip(sorted(wanted), names, strict=True)
    }


def _texture_nodes(
    asset: Asset,
    scene: SceneInputs,
    requests: Sequence[TextureRequest],
    images: Mapping[str, Node],
    settings: Settings,
) -> tuple[dict[str, Node], list[Node]]:
    """Plan a node for each texture, by its key, and one for each palette that textures share."""
    names = _distinct(f"{asset.name}/texture/{_label(one, scene)}" for one in requests)
    nodes: dict[str, Node] = {}
    groups: dict[str, list[Node]] = {}
    for one, name in zip(requests, names, strict=True):
        inputs = {
            slot: _image_input(image, scene, images)
            for slot, image in (("color", one.color), ("alpha", one.alpha))
            if image
        }
        params: dict[str, Value] = {"color": one.color, "alpha": one.alpha}
        params["threshold"] = one.threshold
        params |= _options(one, scene, settings.tables["texture"])
        node = Node(
            name,
            "encoders.splashpack.node_texture:encode_texture",
            inputs,
            params,
            {"size": None, "words": None, "palette": None},
        )
        if group := str(params.get("palette", "")):
            groups.setdefault(group, []).append(node)
            shared = Product(_palette_name(asset, group), "shared")
            node = replace(node, inputs={**inputs, "shared": shared})
        nodes[one.key] = node
    return nodes, [_palette_node(asset, name, group) for name, group in sorted(groups.items())]


def _palette_name(asset: Asset, name: str) -> str:
    return f"{asset.name}/palette/{name}"


def _palette_node(asset: Asset, name: str, members: Sequence[Node]) -> Node:
    """Plan the palette that textures share; it reads what they read."""
    depths = {one.params["bpp"] for one in members}
    if len(depths) > 1 or 16 in depths:
        found = ", ".join(f"{one.name} {one.params['bpp']}" for one in members)
        facts = {"scene": asset.id, "palette": name, "bpp": found}
        hint = "Give all of them the same `bpp`, 4, 8 or `auto`, or other palettes."
        raise EncodeError("textures of these depths cannot share a palette", facts, hint)
    inputs = {
        f"{slot}/{number:05}": image
        for number, one in enumerate(members)
        for slot, image in one.inputs.items()
    }
    # How a texture is dithered is no matter of its palette.
    pictures: list[Value] = [
        {key: value for key, value in one.params.items() if key not in UNLIKE_PICTURE}
        for one in members
    ]
    return Node(
        _palette_name(asset, name),
        "encoders.splashpack.node_palette:encode_palette",
        inputs,
        {"bpp": depths.pop(), "members": pictures},
        {"shared": None},
    )


def _image_input(image: str, scene: SceneInputs, images: Mapping[str, Node]) -> Input:
    if image not in scene.embedded:
        return Source(image)
    embedded = scene.embedded[image]
    return Product(images[embedded.source].name, f"image{embedded.number}")


def _options(
    request: TextureRequest, scene: SceneInputs, rows: Sequence[Params]
) -> dict[str, Value]:
    """Return what `[[texture]]` says of a texture; of the rows that match, later ones win."""
    options: dict[str, Value] = {**DEFAULT, **IMPORT_DEFAULT, "palette": None}
    for name in (request.alpha, request.color):
        # The alpha map comes first, so that a row for the colour image wins.
        known = _known_names(name, scene)
        for row in rows:
            if any(fnmatchcase(one, str(row["match"])) for one in known):
                options |= {key: row[key] for key in options if row[key] is not None}
    shared = {"palette": options["palette"]} if options["palette"] else {}
    return {key: options[key] for key in DEFAULT} | shared | chosen(options, IMAGE_IMPORT)


def _known_names(image: str, scene: SceneInputs) -> set[str]:
    """Return what `match` may call an image: its path, its file or its stem, or its name inside."""
    if image in scene.embedded:
        return {image, scene.embedded[image].name, scene.embedded[image].label}
    return {image, posixpath.basename(image), _stem(image)} - {""}


def _mesh_nodes(asset: Asset, scene: SceneInputs, more: Params) -> Iterator[Node]:
    names = _distinct(f"{asset.name}/mesh/{_stem(source)}" for source in asset.sources)
    others = {*SCENE_IMPORT, *ONLY_V20, FILES}
    own = {key: value for key, value in asset.options.items() if key not in others} | {**more}
    for source, name in zip(asset.sources, names, strict=True):
        missing: list[Value] = [*scene.missing[source]]
        yield Node(
            name,
            "encoders.splashpack.node_mesh:encode_mesh",
            scene.files[source],
            {"source": source, "missing": missing, **own, **chosen(asset.options, SCENE_IMPORT)},
            {"objects": None, "triangles": None, "uses": None},
        )


def _layout_node(
    asset: Asset, textures: Mapping[str, Node], meshes: Sequence[Node], settings: Settings
) -> tuple[dict[str, Input], Node]:
    """Plan the layout of the scene; return what links it, but for the layout itself."""
    # Both need the areas: the layout to keep clear of them, the picture to show them.
    params = {"scene": asset.id, **settings.tables["vram"][0]}
    inputs = _products(textures, meshes, ("size",), ("uses",))
    layout = f"{asset.name}/layout"
    encoder = "encoders.splashpack.node_layout:encode_layout"
    rest = _products(textures, meshes, ("words", "palette"), ("objects", "triangles"))
    return {**inputs, **rest}, Node(layout, encoder, inputs, params, {"layout": None})


def _scene_node(asset: Asset, inputs: Mapping[str, Input], layout: Node) -> Node:
    """Plan the node that links everything to a file of version 1."""
    place = asset.options.get(FILES) or asset.place
    return Node(
        asset.name,
        "encoders.splashpack.node_link:encode_scene",
        inputs,
        layout.params,
        {"pack": f"{place}.splashpack", "picture": f"{place}.vram.png"},
    )


def _sound_nodes(asset: Asset, rows: Sequence[Params]) -> dict[str, Node]:
    """Plan a node for each `[[sound]]`, by its id; every scene holds all of them."""
    ids = [sound_id(row) for row in rows]
    names = _distinct(f"{asset.name}/sound/{_task_part(one)}" for one in ids)
    return {
        one: Node(
            name,
            "encoders.splashpack.node_sound:encode_sound",
            {"sound": Source(str(row["source"]))},
            {key: row[key] for key in ("source", "loop", "rate")},
            {"clip": None, "about": None},
        )
        for one, name, row in zip(ids, names, rows, strict=True)
    }


def sound_id(row: Params) -> str:
    """Return the name by which scripts play a sound: its `id`, or its file's stem."""
    return str(row["id"] or _stem(str(row["source"])))


def _scene_node20(
    asset: Asset,
    inputs: Mapping[str, Input],
    layout: Node,
    sounds: Mapping[str, Node],
    settings: Settings,
) -> Node:
    """Plan the node that links everything to the three files of version 20."""
    place = asset.options.get(FILES) or asset.place
    clips: dict[str, Input] = {}
    for number, node in enumerate(sounds.values()):
        clips |= {f"{role}/{number:05}": Product(node.name, role) for role in ("about", "clip")}
    own = {key: asset.options[key] for key in ("scale", *ONLY_V20)}
    camera: dict[str, Value] = {"camera": dict(settings.tables["camera"][0])}
    names: dict[str, Value] = {"sources": [*map(_stem, asset.sources)], "sounds": [*sounds]}
    return Node(
        asset.name,
        "encoders.splashpack.node_link20:encode_scene20",
        {**inputs, **clips},
        {**layout.params, **own, **camera, **names},
        {"pack": f"{place}.splashpack", "vram": f"{place}.vram", "spu": f"{place}.spu"},
    )


def _products(
    textures: Mapping[str, Node],
    meshes: Sequence[Node],
    of_textures: Sequence[str],
    of_meshes: Sequence[str],
) -> dict[str, Input]:
    """Return outputs of texture nodes by key, and outputs of mesh nodes by number."""
    found: dict[str, Input] = {}
    for key, node in textures.items():
        found |= {f"{role}/{key}": Product(node.name, role) for role in of_textures}
    for number, node in enumerate(meshes):
        # Padded, so that the sorted inputs are in the order of the sources.
        found |= {f"{role}/{number:05}": Product(node.name, role) for role in of_meshes}
    return found


def _label(request: TextureRequest, scene: SceneInputs) -> str:
    if request.color in scene.embedded:
        return scene.embedded[request.color].label
    return _stem(request.image)


def _task_part(name: str) -> str:
    """Return a name as a part of a task's name."""
    return re.sub(r"[^\w.+-]+", "_", name)


def _stem(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0]


def _distinct(names: Iterable[str]) -> list[str]:
    """Return names that doit accepts, with a number added to those that occur again."""
    found: dict[str, None] = {}
    for name in names:
        # doit reads `name=value` on the command line as a variable.
        plain = name.replace("=", "%3D")
        number, unique = 2, plain
        while unique in found:
            unique, number = f"{plain}.{number}", number + 1
        found[unique] = None
    return list(found)
