"""The nodes of one scene: images taken out of sources, textures, meshes, a layout, a link.

Nothing heavy is imported here. What depends on content - which images a scene reads and how -
comes from surveys.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from encoders.kit.error import EncodeError
from encoders.kit.option import Value
from encoders.kit.plan import Asset, Node, Params, Product, Settings, Source, Surveys
from encoders.kit.source.outline import Outline, outline_model
from encoders.kit.source.source_input import plan_inputs
from encoders.splashpack.reading import Reading, read_images

# The maps of a material that a texture is made from.
SLOTS = ("base_color", "alpha")
DEFAULT = {"bpp": 8, "dither": False}
Input = Source | Product


@dataclass(frozen=True)
class Inside:
    """An image that lies in a source: which one it is, and what it is called there."""

    source: str
    number: int
    name: str

    @property
    def label(self) -> str:
        """What a task can be called of it."""
        return re.sub(r"[^\w.+-]+", "_", self.name) or f"{_stem(self.source)}.{self.number}"


@dataclass
class Scene:
    """What a scene's sources come to: their files, and the images that it reads."""

    files: dict[str, dict[str, Input]] = field(default_factory=dict)
    missing: dict[str, list[str]] = field(default_factory=dict)
    readings: set[Reading] = field(default_factory=set)
    inside: dict[str, Inside] = field(default_factory=dict)
    conversions: list[Node] = field(default_factory=list)


def plan_scene(asset: Asset, surveys: Surveys, settings: Settings) -> Iterable[Node]:
    """Plan every node of a scene, those that others stand on first."""
    scene = Scene()
    for source in asset.sources:
        _add_source(scene, source, asset.name, surveys)
    there = [one for one in sorted(scene.readings) if _is_there(one, scene, surveys)]
    images = _image_nodes(asset, scene, there)
    textures = _texture_nodes(asset, scene, there, images, settings)
    meshes = [*_mesh_nodes(asset, scene)]
    yield from scene.conversions
    yield from images.values()
    yield from textures.values()
    yield from meshes
    yield from _joining_nodes(asset, textures, meshes, settings)


def _add_source(scene: Scene, source: str, asset: str, surveys: Surveys) -> None:
    """Follow a source to its files and to the images of its materials."""
    outline = outline_model(source, surveys)
    files = plan_inputs(asset, outline.files)
    readings = _readings(outline)
    inside = {one.name: one for one in outline.images(SLOTS) if one.is_inside}
    scene.inside |= {name: Inside(source, one.number, one.label) for name, one in inside.items()}
    names = {name for one in readings for name in (one.color, one.alpha) if name}
    missing = [name for name in sorted(names - inside.keys()) if not _has(surveys, name)]
    # An absent image is an input, so that its coming is noticed.
    scene.files[source] = files.inputs | {path: Source(path) for path in missing}
    scene.conversions += files.nodes
    scene.missing[source] = missing
    scene.readings |= readings


def _has(surveys: Surveys, path: str) -> bool:
    try:
        return path in surveys
    except EncodeError:  # it is there, and whoever decodes it will say what is wrong with it
        return True


def _readings(outline: Outline) -> set[Reading]:
    """Find the ways in which triangles of a source read images."""
    found: set[Reading] = set()
    for number in outline.shown_materials():
        material = outline.materials[number]
        images = {slot: one.name for slot, one in material.images.items()}
        mode, cutoff = material.alpha_mode, material.alpha_cutoff
        reading = read_images(images, mode, cutoff, material.alpha)
        found |= {reading} if reading else set()
    return found


def _is_there(reading: Reading, scene: Scene, surveys: Surveys) -> bool:
    names = [name for name in (reading.color, reading.alpha) if name]
    return all(name in scene.inside or _has(surveys, name) for name in names)


def _image_nodes(asset: Asset, scene: Scene, readings: Sequence[Reading]) -> dict[str, Node]:
    """Plan a node for each source with images inside, so that each texture reads its own alone."""
    wanted: dict[str, set[int]] = {}
    for one in readings:
        if one.color in scene.inside:
            image = scene.inside[one.color]
            wanted.setdefault(image.source, set()).add(image.number)
    names = _distinct(f"{asset.name}/images/{_stem(source)}" for source in sorted(wanted))
    return {
        source: Node(
            name,
            "encoders.splashpack.image:encode_images",
            scene.files[source],
            {"source": source, "images": list[Value](sorted(wanted[source]))},
            {f"image{number}": None for number in sorted(wanted[source])},
        )
        for source, name in zip(sorted(wanted), names, strict=True)
    }


def _texture_nodes(
    asset: Asset,
    scene: Scene,
    readings: Sequence[Reading],
    images: Mapping[str, Node],
    settings: Settings,
) -> dict[str, Node]:
    names = _distinct(f"{asset.name}/texture/{_label(one, scene)}" for one in readings)
    nodes = {}
    for one, name in zip(readings, names, strict=True):
        inputs = {
            slot: _image_input(image, scene, images)
            for slot, image in (("color", one.color), ("alpha", one.alpha))
            if image
        }
        params: dict[str, Value] = {"color": one.color, "alpha": one.alpha}
        params["threshold"] = one.threshold
        nodes[one.key] = Node(
            name,
            "encoders.splashpack.texture:encode_texture",
            inputs,
            {**params, **_options(one, scene, settings.tables["texture"])},
            {"shape": None, "words": None, "palette": None},
        )
    return nodes


def _image_input(image: str, scene: Scene, images: Mapping[str, Node]) -> Input:
    if image not in scene.inside:
        return Source(image)
    inside = scene.inside[image]
    return Product(images[inside.source].name, f"image{inside.number}")


def _options(reading: Reading, scene: Scene, rows: Sequence[Params]) -> dict[str, Value]:
    """Give the depth and dithering of a texture; of rows that match, later ones win."""
    options: dict[str, Value] = dict(DEFAULT)
    for name in (reading.alpha, reading.color):
        known = {name, posixpath.basename(name), _stem(name)} - {""}
        if name in scene.inside:
            known = {name, scene.inside[name].name, scene.inside[name].label}
        for row in rows:
            if any(fnmatchcase(one, str(row["match"])) for one in known):
                options |= {key: row[key] for key in DEFAULT if row[key] is not None}
    return options


def _mesh_nodes(asset: Asset, scene: Scene) -> Iterator[Node]:
    names = _distinct(f"{asset.name}/mesh/{_stem(source)}" for source in asset.sources)
    for source, name in zip(asset.sources, names, strict=True):
        missing: list[Value] = [*scene.missing[source]]
        yield Node(
            name,
            "encoders.splashpack.mesh:encode_mesh",
            scene.files[source],
            {"source": source, "missing": missing, **asset.options},
            {"objects": None, "triangles": None, "uses": None},
        )


def _joining_nodes(
    asset: Asset, textures: Mapping[str, Node], meshes: Sequence[Node], settings: Settings
) -> Iterator[Node]:
    """Plan what a scene's textures and meshes come together in: the layout, then the link."""
    params = {"scene": asset.id, **settings.tables["vram"][0]}
    inputs = _products(textures, meshes, ("shape",), ("uses",))
    layout = f"{asset.name}/layout"
    encoder = "encoders.splashpack.layout:encode_layout"
    yield Node(layout, encoder, inputs, params, {"layout": None})
    rest = _products(textures, meshes, ("words", "palette"), ("objects", "triangles"))
    yield Node(
        asset.name,
        "encoders.splashpack.link:encode_scene",
        {**inputs, **rest, "layout": Product(layout, "layout")},
        params,
        {"pack": f"{asset.place}.splashpack", "picture": f"{asset.place}.vram.png"},
    )


def _products(
    textures: Mapping[str, Node],
    meshes: Sequence[Node],
    of_textures: Sequence[str],
    of_meshes: Sequence[str],
) -> dict[str, Input]:
    """Name roles of textures by their keys, and roles of meshes by their numbers."""
    found: dict[str, Input] = {}
    for key, node in textures.items():
        found |= {f"{role}/{key}": Product(node.name, role) for role in of_textures}
    for number, node in enumerate(meshes):
        found |= {f"{role}/{number:05}": Product(node.name, role) for role in of_meshes}
    return found


def _label(reading: Reading, scene: Scene) -> str:
    if reading.color in scene.inside:
        return scene.inside[reading.color].label
    return _stem(reading.image)


def _stem(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0]


def _distinct(names: Iterable[str]) -> list[str]:
    """Spell names so that doit can have them and no two are alike."""
    found: dict[str, None] = {}
    for name in names:
        plain = name.replace("=", "%3D")
        number, unique = 2, plain
        while unique in found:
            unique, number = f"{plain}.{number}", number + 1
        found[unique] = None
    return list(found)
