"""What planning knows of a scene's sources: objects, materials and images, from surveys alone.

This is imported whenever a build is loaded, so it must not import numpy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from encoders.kit.plan import Surveys
from encoders.kit.source.reference import resolve_reference
from encoders.untold.grid import Box
from encoders.untold.texture_request import TextureRequest, embedded_name, texture_requests

# The maps of a source's material that become textures.
SLOTS = (
    "alpha",
    "base_color",
    "emissive",
    "metallic",
    "metallic_roughness",
    "normal",
    "occlusion",
    "roughness",
)


@dataclass(frozen=True)
class SceneObject:
    """An object of a scene; `box` is None where only decoding could tell the bounds."""

    source: int
    key: str
    name: str
    box: Box | None
    materials: tuple[int, ...]


@dataclass
class SceneSource:
    """A source of the scene: the files needed to decode it, its objects, materials and images."""

    path: str
    files: list[str]
    objects: list[SceneObject] = field(default_factory=list)
    # For each material, the texture request of each slot of its record.
    materials: list[dict[str, TextureRequest]] = field(default_factory=list)
    # The names of materials in an OBJ file; those of glTF go by number.
    names: list[str] = field(default_factory=list)
    # The numbers of the images inside of the source that are used.
    embedded: set[int] = field(default_factory=set)
    # Material and place where each image is named, for the error if it is missing.
    named_in: dict[str, tuple[str, str]] = field(default_factory=dict)

    def used_materials(self) -> set[int]:
        """Return the materials that objects have; the images of others are not needed."""
        return {number for one in self.objects for number in one.materials}


def describe_source(number: int, path: str, surveys: Surveys) -> SceneSource:
    """Describe a source from its survey."""
    survey: Any = surveys[path]
    if path.lower().endswith(".obj"):
        return _describe_obj(number, path, survey, surveys)
    return _describe_gltf(number, path, survey)


def _describe_gltf(number: int, path: str, survey: Mapping[str, Any]) -> SceneSource:
    outside = {image["uri"] for image in survey["images"] if image["uri"]}
    refs = [ref for ref in survey["refs"] if ref not in outside]
    source = SceneSource(path, [path, *(resolve_reference(path, ref) for ref in refs)])
    for node in survey["nodes"]:
        if node["mesh"] is not None and survey["meshes"][node["mesh"]]["triangles"]:
            # The bounds of a skinned mesh depend on its joints, which surveys do not read.
            box = None if node["skin"] is not None else _box(node["bounds"])
            materials = tuple(survey["mesh_materials"][node["mesh"]])
            one = SceneObject(number, str(node["index"]), node["name"], box, materials)
            source.objects.append(one)
    used = source.used_materials()
    for index, surface in enumerate(survey["surfaces"]):
        images = _gltf_images(source, survey, index) if index in used else {}
        source.materials.append(texture_requests(images))
        source.embedded |= {
            image
            for slot, image in surface.items()
            if images.get(slot) == embedded_name(path, image)
        }
    return source


def _gltf_images(source: SceneSource, survey: Mapping[str, Any], index: int) -> dict[str, str]:
    """Return the image of each slot of a material, and note where it is named."""
    found = {}
    for slot, image in survey["surfaces"][index].items():
        uri = survey["images"][image]["uri"]
        name = resolve_reference(source.path, uri) if uri else embedded_name(source.path, image)
        where = f"{source.path}, materials[{index}], {slot} texture"
        source.named_in.setdefault(name, (survey["materials"][index], where))
        found[slot] = name
    return found


def _describe_obj(
    number: int, path: str, survey: Mapping[str, Any], surveys: Surveys
) -> SceneSource:
    libraries = [resolve_reference(path, ref) for ref in survey["libraries"]]
    source = SceneSource(path, [path, *libraries])
    source.names = [name for name in survey["materials"] if name]
    numbers = {"": -1, **{name: index for index, name in enumerate(source.names)}}
    for part, names in zip(survey["parts"], survey["part_materials"], strict=True):
        key = f"{part['object']}\n{part['group']}"
        label = "_".join(one for one in (part["object"], part["group"]) if one)
        materials = tuple(sorted(numbers[name] for name in names))
        source.objects.append(SceneObject(number, key, label, _box(part["bounds"]), materials))
    used = source.used_materials()
    for index, name in enumerate(source.names):
        images = _mtl_images(source, libraries, surveys, name) if index in used else {}
        source.materials.append(texture_requests(images))
    return source


def _mtl_images(
    source: SceneSource, libraries: list[str], surveys: Surveys, name: str
) -> dict[str, str]:
    """Return the image of each slot of a material; the first library that has it wins."""
    there = set(surveys)
    for library in libraries:
        surfaces: Any = surveys[library]["surfaces"] if library in there else {}
        if name not in surfaces:
            continue
        found = {}
        for slot, (uri, place) in surfaces[name].items():
            if slot in SLOTS:
                found[slot] = resolve_reference(library, uri)
                source.named_in.setdefault(found[slot], (name, f"{library}, {place}"))
        return found
    return {}


def _box(bounds: Mapping[str, Any] | None) -> Box | None:
    return None if bounds is None else Box(tuple(bounds["min"]), tuple(bounds["max"]))
