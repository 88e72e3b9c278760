"""What a scene's sources hold, as far as surveys tell: objects, materials, images.

No arrays: this is read when a build is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from encoders.kit.plan import Surveys
from encoders.kit.source.reference import resolve_reference
from encoders.untold.grid import Box
from encoders.untold.texture_request import Request, embedded_name, requests_of

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
class Thing:
    """An object of a scene; the box is None where only decoding could tell it."""

    source: int
    key: str
    name: str
    box: Box | None
    materials: tuple[int, ...]


@dataclass
class Origin:
    """A source of the scene: what it needs to be read, its materials and its images."""

    path: str
    files: list[str]
    things: list[Thing] = field(default_factory=list)
    # For each material, which request each slot of its record is.
    materials: list[dict[str, Request]] = field(default_factory=list)
    # What an OBJ file calls its materials; those of glTF go by number.
    names: list[str] = field(default_factory=list)
    embedded: set[int] = field(default_factory=set)
    # Where the source names an image, for saying that it is missing.
    named_in: dict[str, tuple[str, str]] = field(default_factory=dict)

    def used_materials(self) -> set[int]:
        """Say which materials its things have; the images of others are not needed."""
        return {number for thing in self.things for number in thing.materials}


def survey_origin(number: int, path: str, surveys: Surveys) -> Origin:
    """Say what a source holds, before it is decoded."""
    survey: Any = surveys[path]
    if path.lower().endswith(".obj"):
        return _obj_origin(number, path, survey, surveys)
    return _gltf_origin(number, path, survey)


def _gltf_origin(number: int, path: str, survey: Mapping[str, Any]) -> Origin:
    outside = {image["uri"] for image in survey["images"] if image["uri"]}
    refs = [ref for ref in survey["refs"] if ref not in outside]
    origin = Origin(path, [path, *(resolve_reference(path, ref) for ref in refs)])
    for node in survey["nodes"]:
        if node["mesh"] is not None and survey["meshes"][node["mesh"]]["triangles"]:
            # Where the joints of a skin rest is bulk data.
            box = None if node["skin"] is not None else _box(node["bounds"])
            materials = tuple(survey["mesh_materials"][node["mesh"]])
            thing = Thing(number, str(node["index"]), node["name"], box, materials)
            origin.things.append(thing)
    used = origin.used_materials()
    for index, surface in enumerate(survey["surfaces"]):
        images = _gltf_images(origin, survey, index) if index in used else {}
        origin.materials.append(requests_of(images))
        origin.embedded |= {
            image
            for slot, image in surface.items()
            if images.get(slot) == embedded_name(path, image)
        }
    return origin


def _gltf_images(origin: Origin, survey: Mapping[str, Any], index: int) -> dict[str, str]:
    """Name the images of a material's slots, and note where they are named."""
    found = {}
    for slot, image in survey["surfaces"][index].items():
        uri = survey["images"][image]["uri"]
        name = resolve_reference(origin.path, uri) if uri else embedded_name(origin.path, image)
        where = f"{origin.path}, materials[{index}], {slot} texture"
        origin.named_in.setdefault(name, (survey["materials"][index], where))
        found[slot] = name
    return found


def _obj_origin(number: int, path: str, survey: Mapping[str, Any], surveys: Surveys) -> Origin:
    libraries = [resolve_reference(path, ref) for ref in survey["libraries"]]
    origin = Origin(path, [path, *libraries])
    origin.names = [name for name in survey["materials"] if name]
    numbers = {"": -1, **{name: index for index, name in enumerate(origin.names)}}
    for part, names in zip(survey["parts"], survey["part_materials"], strict=True):
        key = f"{part['object']}\n{part['group']}"
        label = "_".join(one for one in (part["object"], part["group"]) if one)
        materials = tuple(sorted(numbers[name] for name in names))
        origin.things.append(Thing(number, key, label, _box(part["bounds"]), materials))
    used = origin.used_materials()
    for index, name in enumerate(origin.names):
        images = _mtl_images(origin, libraries, surveys, name) if index in used else {}
        origin.materials.append(requests_of(images))
    return origin


def _mtl_images(
    origin: Origin, libraries: list[str], surveys: Surveys, name: str
) -> dict[str, str]:
    """Name the images of a material's slots; of those of one name the first library's holds."""
    there = set(surveys)
    for library in libraries:
        surfaces: Any = surveys[library]["surfaces"] if library in there else {}
        if name not in surfaces:
            continue
        found = {}
        for slot, (uri, place) in surfaces[name].items():
            if slot in SLOTS:
                found[slot] = resolve_reference(library, uri)
                origin.named_in.setdefault(found[slot], (name, f"{library}, {place}"))
        return found
    return {}


def _box(bounds: Mapping[str, Any] | None) -> Box | None:
    return None if bounds is None else Box(tuple(bounds["min"]), tuple(bounds["max"]))
